"""What the arena sends, from messages to bytes.

Everything that waits for a bot becomes one `PlayResponse`. A view is written once a decision
and an event once a seat, so what many of them share (cards played, tricks, events that every
seat hears alike) is made once and copied.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, assert_never

from arena.clock import ClockSettings
from arena.messages import (
    ArenaMessage,
    Goodbye,
    Rejected,
    Request,
    SeedReveal,
    SessionNews,
    SessionOver,
    SessionStart,
    Welcome,
)
from engine.actions import (
    Action,
    Bid,
    Call,
    Contract,
    DecisionKind,
    Declare,
    Discard,
    Exchange,
    Legal,
    Listed,
    NameTrump,
    Play,
)
from engine.cards import Card, Seat, Suit
from engine.events import (
    AntesPaid,
    CutEffect,
    CutMade,
    DealBegan,
    DealSettled,
    Exchanged,
    ExchangeSeen,
    SessionEnded,
    StrikerFixed,
    TrickTaken,
)
from engine.rules import MAX_PLAYERS, DealKind, Ruleset, SessionOptions
from engine.view import ActionSeen, DealtSeen, SeenEvent, View
from kratzen.v1 import bot_pb2, game_pb2

_CARDS: Final = tuple(game_pb2.Card.values()[1:])
"""The number of each card on the wire, by index."""
_SUITS: Final = tuple(game_pb2.Suit.values()[1:])
_CONTRACTS: Final = {c: game_pb2.Contract.Value(f"CONTRACT_{c.name}") for c in Contract}
_CALLS: Final = {call: game_pb2.Call.Value(f"CALL_{call.name}") for call in Call}
_DEAL_KINDS: Final = {kind: game_pb2.DealKind.Value(f"DEAL_KIND_{kind.name}") for kind in DealKind}
_DECISION_KINDS: Final = {k: game_pb2.DecisionKind.Value(f"DECISION_KIND_{k.name}") for k in DecisionKind}
_CUT_EFFECTS: Final = {effect: game_pb2.CutEffect.Value(f"CUT_EFFECT_{effect.name}") for effect in CutEffect}

_PLAYS: Final = tuple([game_pb2.Action(play=number) for number in _CARDS])
"""The action of playing each card, by index; copied into messages, never changed."""

_CARDS_PLAYED: Final = tuple(
    [tuple([game_pb2.CardPlayed(seat=seat, card=c) for c in _CARDS]) for seat in range(MAX_PLAYERS)]
)
"""Each card played by each seat, by seat and index; copied into messages, never changed."""


def encode(batch: Iterable[ArenaMessage]) -> bytes:
    """The bytes of one `PlayResponse` that says all of a batch.

    A bot takes them in the order of the message's fields: sessions that start, events,
    rejections, requests, sessions that end, seeds. Within one session that is the order of
    a batch too, since a `Link` takes back a request that is over before it was sent.
    """
    response = bot_pb2.PlayResponse()
    for message in batch:
        _add(response, message)
    return response.SerializeToString()


def _add(response: bot_pb2.PlayResponse, message: ArenaMessage) -> None:
    match message:
        case Request():
            _add_request(response, message)
        case SessionNews():
            events = [event_message(event) for event in message.events]
            response.events.append(bot_pb2.Events(session_id=message.session_id, events=events))
        case Rejected():
            response.rejected.append(_rejected(message))
        case SessionStart():
            response.session_starts.append(_session_start(message))
        case SessionOver():
            response.session_ends.append(_session_end(message))
        case SeedReveal(session_id, seed, nonce):
            response.seed_reveals.append(bot_pb2.SeedReveal(session_id=session_id, seed=seed, nonce=nonce))
        case Welcome():
            response.welcome.CopyFrom(_welcome(message))
        case Goodbye(reason, come_back, detail):
            number = bot_pb2.GoodbyeReason.Value(f"GOODBYE_REASON_{reason.name}")
            response.goodbye.CopyFrom(bot_pb2.Goodbye(reason=number, come_back=come_back, detail=detail))
        case _:
            assert_never(message)


# ------------------------------------------------------------------ a decision


# A request is written in place: a message that is made first and then added is copied by way of
# its bytes, which costs as much again.


def _add_request(response: bot_pb2.PlayResponse, request: Request) -> None:
    wired = response.requests.add(
        session_id=request.session_id,
        request_id=request.request_id,
        seat=request.seat,
        time_left_ms=request.time_left_ms,
        bank_ms=request.bank_ms,
    )
    _write_legal(wired.legal, request.legal)
    _write_view(wired.view, request.view)


def _write_legal(wired: game_pb2.Legal, legal: Legal) -> None:
    wired.kind = _DECISION_KINDS[legal.kind]
    if isinstance(legal, Listed):
        wired.actions.extend([_action(action) for action in legal.actions])
    else:
        wired.hand.extend(_cards(legal.hand))
        wired.least = legal.least
        wired.most = legal.most


def _action(action: Action) -> game_pb2.Action:
    match action:
        case Play():
            return _PLAYS[action.card]
        case Declare():
            return game_pb2.Action(declare=_CALLS[action.call])
        case Exchange():
            return game_pb2.Action(exchange=game_pb2.Cards(cards=_cards(action.cards)))
        case Discard():
            return game_pb2.Action(discard=game_pb2.Cards(cards=_cards(action.cards)))
        case Bid():
            return game_pb2.Action(bid=_CONTRACTS[action.contract])
        case NameTrump():
            return game_pb2.Action(trump=_SUITS[action.suit])
        case _:
            assert_never(action)


def _write_view(wired: game_pb2.View, view: View) -> None:
    wired.seat = view.seat
    wired.deal = view.deal
    wired.tie_break = view.tie_break
    wired.base_kind = _DEAL_KINDS[view.base_kind]
    wired.kind = _DEAL_KINDS[view.kind]
    wired.first_dealer = view.first_dealer
    wired.dealer = view.dealer
    wired.seats.extend(view.seats)
    wired.stacks.extend(view.stacks)
    wired.pot = view.pot
    wired.antes.extend(view.antes)
    wired.cuts.extend([_cut(cut) for cut in view.cuts])
    wired.turned.extend(_cards(view.turned))
    wired.trump = _suit(view.trump)
    wired.bids.extend([game_pb2.BidMade(seat=seat, contract=_CONTRACTS[c]) for seat, c in view.bids])
    wired.contract = _contract(view.contract)
    wired.auction_turned.extend(_cards(view.auction_turned))
    if view.striker is not None:
        wired.striker = view.striker
    wired.declarations.extend(
        [game_pb2.CallMade(seat=seat, call=_CALLS[call]) for seat, call in view.declarations]
    )
    wired.active.extend(view.active)
    wired.hand.extend(_cards(view.hand))
    wired.hand_sizes.extend(view.hand_sizes)
    wired.stock_size = view.stock_size
    wired.exchanges.extend([_exchange_seen(swap) for swap in view.exchanges])
    wired.own_exchanges.extend([_exchanged(swap) for swap in view.own_exchanges])
    wired.laid_away.extend(_cards(view.laid_away))
    wired.tricks.extend([_trick(trick) for trick in view.tricks])
    wired.trick.extend(_played(view.trick))
    wired.tricks_won.extend(view.tricks_won)


def _cards(cards: Sequence[Card]) -> list[game_pb2.Card.ValueType]:
    return [_CARDS[card] for card in cards]


def _suit(suit: Suit | None) -> game_pb2.Suit.ValueType:
    return game_pb2.SUIT_UNSPECIFIED if suit is None else _SUITS[suit]


def _contract(contract: Contract | None) -> game_pb2.Contract.ValueType:
    return game_pb2.CONTRACT_UNSPECIFIED if contract is None else _CONTRACTS[contract]


def _played(cards: Sequence[tuple[Seat, Card]]) -> list[game_pb2.CardPlayed]:
    return [_CARDS_PLAYED[seat][card] for seat, card in cards]


def _cut(cut: CutMade) -> game_pb2.CutMade:
    return game_pb2.CutMade(
        dealer=cut.dealer, shown=_cards(cut.shown), effect=_CUT_EFFECTS[cut.effect], paid=cut.paid
    )


def _exchange_seen(swap: ExchangeSeen) -> game_pb2.ExchangeSeen:
    return game_pb2.ExchangeSeen(
        seat=swap.seat,
        laid_count=swap.laid_count,
        face_up=_cards(swap.face_up),
        bonus_count=swap.bonus_count,
        paid=swap.paid,
    )


def _exchanged(swap: Exchanged) -> game_pb2.Exchanged:
    return game_pb2.Exchanged(
        seat=swap.seat,
        laid=_cards(swap.laid),
        drawn=_cards(swap.drawn),
        face_up=_cards(swap.face_up),
        bonus=_cards(swap.bonus),
        paid=swap.paid,
        stock_left=swap.stock_left,
    )


@lru_cache(maxsize=1024)
def _trick(trick: TrickTaken) -> game_pb2.TrickTaken:
    return game_pb2.TrickTaken(leader=trick.leader, cards=_played(trick.cards), winner=trick.winner)


# ------------------------------------------------------------------ events


@lru_cache(maxsize=1024)
def event_message(event: SeenEvent) -> game_pb2.Event:  # noqa: PLR0911 C901 - one row a kind of event
    """What happened, as a seat or somebody who watches may hear it."""
    match event:
        case ActionSeen():
            return game_pb2.Event(action_seen=_action_seen(event))
        case TrickTaken():
            return game_pb2.Event(trick_taken=_trick(event))
        case DealBegan():
            return game_pb2.Event(deal_began=_deal_began(event))
        case AntesPaid(paid):
            return game_pb2.Event(antes_paid=game_pb2.AntesPaid(paid=paid))
        case CutMade():
            return game_pb2.Event(cut_made=_cut(event))
        case DealtSeen():
            return game_pb2.Event(cards_dealt=_cards_dealt(event))
        case StrikerFixed():
            return game_pb2.Event(striker_fixed=_striker_fixed(event))
        case ExchangeSeen():
            return game_pb2.Event(exchange_seen=_exchange_seen(event))
        case Exchanged():
            return game_pb2.Event(exchanged=_exchanged(event))
        case DealSettled():
            return game_pb2.Event(deal_settled=_deal_settled(event))
        case SessionEnded():
            return game_pb2.Event(play_ended=_play_ended(event))
        case _:
            assert_never(event)


def _action_seen(event: ActionSeen) -> game_pb2.ActionSeen:
    action = None if event.action is None else _action(event.action)
    return game_pb2.ActionSeen(seat=event.seat, action=action, card_count=event.card_count)


def _deal_began(event: DealBegan) -> game_pb2.DealBegan:
    return game_pb2.DealBegan(
        deal=event.deal,
        dealer=event.dealer,
        kind=_DEAL_KINDS[event.kind],
        tie_break=event.tie_break,
        seats=event.seats,
    )


def _cards_dealt(event: DealtSeen) -> game_pb2.CardsDealt:
    return game_pb2.CardsDealt(
        dealer=event.dealer,
        hand=_cards(event.hand),
        hand_sizes=event.hand_sizes,
        turned=_cards(event.turned),
        trump=_suit(event.trump),
        kind=_DEAL_KINDS[event.kind],
    )


def _striker_fixed(event: StrikerFixed) -> game_pb2.StrikerFixed:
    return game_pb2.StrikerFixed(
        striker=event.striker,
        contract=_contract(event.contract),
        turned=_cards(event.turned),
        trump=_suit(event.trump),
        kind=_DEAL_KINDS[event.kind],
    )


def _deal_settled(event: DealSettled) -> game_pb2.DealSettled:
    return game_pb2.DealSettled(
        active=event.active,
        tricks_won=event.tricks_won,
        pot_before=event.pot_before,
        bonuses=event.bonuses,
        shares=event.shares,
        remainder=event.remainder,
        penalties=event.penalties,
        failed=event.failed,
        pot=event.pot,
        stacks=event.stacks,
        next_kind=game_pb2.DEAL_KIND_UNSPECIFIED if event.next_kind is None else _DEAL_KINDS[event.next_kind],
    )


def _play_ended(event: SessionEnded) -> game_pb2.PlayEnded:
    return game_pb2.PlayEnded(
        ending=game_pb2.PlayEnding.Value(f"PLAY_ENDING_{event.ending.name}"),
        stacks=event.stacks,
        places=event.places,
        pot_left=event.pot_left,
        tied=event.tied,
        tie_break_played=event.tie_break_played,
    )


# ------------------------------------------------------------------ a session, a link


def _session_start(start: SessionStart) -> bot_pb2.SessionStart:
    return bot_pb2.SessionStart(
        session_id=start.session_id,
        ruleset=ruleset_message(start.ruleset),
        options=session_options_message(start.options),
        seats=[bot_pb2.SeatLabel(name=label.name, version=label.version) for label in start.seats],
        seat=start.seat,
        clock=_clock(start.clock),
        commitment=start.commitment,
        first_request_id=start.first_request_id,
    )


def ruleset_message(rules: Ruleset) -> game_pb2.Ruleset:
    """Rules, every option spelled out."""
    return game_pb2.Ruleset(
        hand_size=rules.hand_size,
        ante=rules.ante,
        ante_from=game_pb2.AnteFrom.Value(f"ANTE_FROM_{rules.ante_from.name}"),
        cut_ritual=rules.cut_ritual,
        turn_up_to_dealer=rules.turn_up_to_dealer,
        contracts=game_pb2.Contracts.Value(f"CONTRACTS_{rules.contracts.name}"),
        oder=game_pb2.OderMeaning.Value(f"ODER_MEANING_{rules.oder.name}"),
        last_say=rules.last_say,
        exchange=game_pb2.ExchangeMode.Value(f"EXCHANGE_MODE_{rules.exchange.name}"),
        exchange_limit=rules.exchange_limit,
        exchange_fee=rules.exchange_fee,
        first_lead=game_pb2.FirstLead.Value(f"FIRST_LEAD_{rules.first_lead.name}"),
        must_head=rules.must_head,
        weli_rank=game_pb2.WeliRank.Value(f"WELI_RANK_{rules.weli_rank.name}"),
        weli_as_joker=rules.weli_as_joker,
        striker_quota=rules.striker_quota,
        seven_muss_striker_quota=rules.seven_muss_striker_quota,
        muss_pays=rules.muss_pays,
        short_players_collect=rules.short_players_collect,
        penalty=game_pb2.PenaltyMode.Value(f"PENALTY_MODE_{rules.penalty.name}"),
        striker_penalty_factor=rules.striker_penalty_factor,
        penalty_limit=rules.penalty_limit,
        muss_after=game_pb2.MussAfter.Value(f"MUSS_AFTER_{rules.muss_after.name}"),
        remainder=game_pb2.RemainderTo.Value(f"REMAINDER_TO_{rules.remainder.name}"),
        bettler=rules.bettler,
        bettler_bonus=rules.bettler_bonus,
        weli_cut=game_pb2.WeliCut.Value(f"WELI_CUT_{rules.weli_cut.name}"),
    )


def session_options_message(options: SessionOptions) -> game_pb2.SessionOptions:
    """The frame of a session."""
    return game_pb2.SessionOptions(
        players=options.players,
        stack=options.stack,
        deals=options.deals,
        target=options.target,
        tie_break=options.tie_break,
    )


def _clock(clock: ClockSettings) -> bot_pb2.Clock:
    return bot_pb2.Clock(
        timed=clock.timed,
        move_ms=clock.move_ms,
        bank_ms=clock.bank_ms,
        increment_ms=clock.increment_ms,
        first_answer_ms=clock.first_answer_ms,
        join_ms=clock.join_ms,
        max_strikes=clock.max_strikes,
    )


def _rejected(rejected: Rejected) -> bot_pb2.Rejected:
    return bot_pb2.Rejected(
        session_id=rejected.session_id,
        request_id=rejected.request_id,
        reason=bot_pb2.RejectReason.Value(f"REJECT_REASON_{rejected.reason.name}"),
        detail=rejected.detail,
        tries_left=rejected.tries_left,
        time_left_ms=rejected.time_left_ms,
    )


def _session_end(over: SessionOver) -> bot_pb2.SessionEnd:
    return bot_pb2.SessionEnd(
        session_id=over.session_id,
        ending=bot_pb2.AttemptEnd.Value(f"ATTEMPT_END_{over.ending.name}"),
        places=over.places,
        stacks=over.stacks,
        forfeited=over.forfeited,
    )


def _welcome(welcome: Welcome) -> bot_pb2.Welcome:
    return bot_pb2.Welcome(
        protocol_version=welcome.protocol_version,
        arena_version=welcome.arena_version,
        bot_name=welcome.bot_name,
        keepalive_interval_ms=welcome.keepalive_interval_ms,
        max_message_bytes=welcome.max_message_bytes,
        max_answers_per_second=welcome.max_answers_per_second,
        max_tries=welcome.max_tries,
        max_note_length=welcome.max_note_length,
        max_sessions=welcome.max_sessions,
    )
