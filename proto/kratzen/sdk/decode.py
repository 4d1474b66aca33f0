"""What the arena sends, from protobuf messages to the engine's values.

The rules are sent once a session; the views built here hold them again.
"""

from collections.abc import Iterable
from typing import Final, assert_never

from engine.actions import (
    PLAYS,
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
    ListedAction,
    NameTrump,
    Subsets,
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
    SessionEnding,
    StrikerFixed,
    TrickTaken,
)
from engine.rules import (
    AnteFrom,
    Contracts,
    DealKind,
    ExchangeMode,
    FirstLead,
    MussAfter,
    OderMeaning,
    PenaltyMode,
    RemainderTo,
    Ruleset,
    SessionOptions,
    WeliCut,
    WeliRank,
)
from engine.view import ActionSeen, DealtSeen, SeenEvent, View
from kratzen.sdk.bot import MS_PER_SECOND, Clock, Ending, Rejection, Request, Session
from kratzen.v1 import bot_pb2, game_pb2

_SUITS: Final = {game_pb2.Suit.Value(f"SUIT_{suit.name}"): suit for suit in Suit}
_CONTRACTS: Final = {game_pb2.Contract.Value(f"CONTRACT_{c.name}"): c for c in Contract}
_CALLS: Final = {game_pb2.Call.Value(f"CALL_{call.name}"): call for call in Call}
_DEAL_KINDS: Final = {game_pb2.DealKind.Value(f"DEAL_KIND_{kind.name}"): kind for kind in DealKind}
_DECISION_KINDS: Final = {game_pb2.DecisionKind.Value(f"DECISION_KIND_{k.name}"): k for k in DecisionKind}
_CUT_EFFECTS: Final = {game_pb2.CutEffect.Value(f"CUT_EFFECT_{effect.name}"): effect for effect in CutEffect}


# ------------------------------------------------------------------ a decision


def request_from(request: bot_pb2.Request, session: Session, now_s: float) -> Request:
    """A decision of `session` that arrived at the moment `now_s` of `time.monotonic()`."""
    time_left_ms = request.time_left_ms if request.HasField("time_left_ms") else None
    return Request(
        session_id=request.session_id,
        request_id=request.request_id - session.first_request_id + 1,
        view=view_from(request.view, session.ruleset, session.options),
        legal=legal_from(request.legal),
        time_left_ms=time_left_ms,
        bank_ms=request.bank_ms if request.HasField("bank_ms") else None,
        deadline_s=None if time_left_ms is None else now_s + time_left_ms / MS_PER_SECOND,
    )


def legal_from(legal: game_pb2.Legal) -> Legal:
    """The set of legal answers."""
    kind = _DECISION_KINDS[legal.kind]
    if kind is DecisionKind.EXCHANGE or kind is DecisionKind.DISCARD:
        return Subsets(kind, _cards(legal.hand), legal.least, legal.most)
    if kind is DecisionKind.PLAY:
        return Listed(kind, tuple([PLAYS[action.play - 1] for action in legal.actions]))
    return Listed(kind, tuple([_word(action) for action in legal.actions]))


def _word(action: game_pb2.Action) -> ListedAction:
    """An action that names no cards."""
    kind = action.WhichOneof("action")
    if kind == "declare":
        return Declare(_CALLS[action.declare])
    if kind == "bid":
        return Bid(_CONTRACTS[action.bid])
    return NameTrump(_SUITS[action.trump])


def _action(action: game_pb2.Action) -> Action:
    kind = action.WhichOneof("action")
    if kind == "play":
        return PLAYS[action.play - 1]
    if kind == "exchange":
        return Exchange(_cards(action.exchange.cards))
    if kind == "discard":
        return Discard(_cards(action.discard.cards))
    return _word(action)


def view_from(view: game_pb2.View, ruleset: Ruleset, options: SessionOptions) -> View:
    """What the seat may know, with the rules of its session."""
    return View(
        seat=view.seat,
        ruleset=ruleset,
        options=options,
        deal=view.deal,
        tie_break=view.tie_break,
        base_kind=_DEAL_KINDS[view.base_kind],
        kind=_DEAL_KINDS[view.kind],
        first_dealer=view.first_dealer,
        dealer=view.dealer,
        seats=tuple(view.seats),
        stacks=tuple(view.stacks),
        pot=view.pot,
        antes=tuple(view.antes),
        cuts=tuple([_cut(cut) for cut in view.cuts]),
        turned=_cards(view.turned),
        trump=_SUITS.get(view.trump),
        bids=tuple([(bid.seat, _CONTRACTS[bid.contract]) for bid in view.bids]),
        contract=_CONTRACTS.get(view.contract),
        auction_turned=_cards(view.auction_turned),
        striker=view.striker if view.HasField("striker") else None,
        declarations=tuple([(made.seat, _CALLS[made.call]) for made in view.declarations]),
        active=tuple(view.active),
        hand=_cards(view.hand),
        hand_sizes=tuple(view.hand_sizes),
        stock_size=view.stock_size,
        exchanges=tuple([_exchange_seen(swap) for swap in view.exchanges]),
        own_exchanges=tuple([_exchanged(swap) for swap in view.own_exchanges]),
        laid_away=_cards(view.laid_away),
        tricks=tuple([_trick(trick) for trick in view.tricks]),
        trick=_played(view.trick),
        tricks_won=tuple(view.tricks_won),
    )


def _cards(numbers: Iterable[int]) -> tuple[Card, ...]:
    """Cards by index; the number on the wire is one more."""
    return tuple([number - 1 for number in numbers])


def _played(cards: Iterable[game_pb2.CardPlayed]) -> tuple[tuple[Seat, Card], ...]:
    return tuple([(played.seat, played.card - 1) for played in cards])


def _trick(trick: game_pb2.TrickTaken) -> TrickTaken:
    return TrickTaken(trick.leader, _played(trick.cards), trick.winner)


def _cut(cut: game_pb2.CutMade) -> CutMade:
    return CutMade(cut.dealer, _cards(cut.shown), _CUT_EFFECTS[cut.effect], tuple(cut.paid))


def _exchange_seen(swap: game_pb2.ExchangeSeen) -> ExchangeSeen:
    return ExchangeSeen(swap.seat, swap.laid_count, _cards(swap.face_up), swap.bonus_count, swap.paid)


def _exchanged(swap: game_pb2.Exchanged) -> Exchanged:
    return Exchanged(
        seat=swap.seat,
        laid=_cards(swap.laid),
        drawn=_cards(swap.drawn),
        face_up=_cards(swap.face_up),
        bonus=_cards(swap.bonus),
        paid=swap.paid,
        stock_left=swap.stock_left,
    )


# ------------------------------------------------------------------ events


def events_from(events: bot_pb2.Events) -> tuple[SeenEvent, ...]:
    """What happened at a table; kinds of event that this SDK does not know are left out."""
    return tuple([_event(event) for event in events.events if event.WhichOneof("event") is not None])


def _event(event: game_pb2.Event) -> SeenEvent:  # noqa: PLR0911 C901 - one row a kind of event
    kind = event.WhichOneof("event")
    assert kind is not None
    match kind:
        case "action_seen":
            return _action_seen(event.action_seen)
        case "trick_taken":
            return _trick(event.trick_taken)
        case "deal_began":
            return _deal_began(event.deal_began)
        case "antes_paid":
            return AntesPaid(tuple(event.antes_paid.paid))
        case "cut_made":
            return _cut(event.cut_made)
        case "cards_dealt":
            return _cards_dealt(event.cards_dealt)
        case "striker_fixed":
            return _striker_fixed(event.striker_fixed)
        case "exchange_seen":
            return _exchange_seen(event.exchange_seen)
        case "exchanged":
            return _exchanged(event.exchanged)
        case "deal_settled":
            return _deal_settled(event.deal_settled)
        case "play_ended":
            return _play_ended(event.play_ended)
        case _:
            assert_never(kind)


def _action_seen(event: game_pb2.ActionSeen) -> ActionSeen:
    action = _action(event.action) if event.HasField("action") else None
    return ActionSeen(event.seat, action, event.card_count)


def _deal_began(event: game_pb2.DealBegan) -> DealBegan:
    return DealBegan(event.deal, event.dealer, _DEAL_KINDS[event.kind], event.tie_break, tuple(event.seats))


def _cards_dealt(event: game_pb2.CardsDealt) -> DealtSeen:
    return DealtSeen(
        dealer=event.dealer,
        hand=_cards(event.hand),
        hand_sizes=tuple(event.hand_sizes),
        turned=_cards(event.turned),
        trump=_SUITS.get(event.trump),
        kind=_DEAL_KINDS[event.kind],
    )


def _striker_fixed(event: game_pb2.StrikerFixed) -> StrikerFixed:
    return StrikerFixed(
        striker=event.striker,
        contract=_CONTRACTS.get(event.contract),
        turned=_cards(event.turned),
        trump=_SUITS[event.trump],
        kind=_DEAL_KINDS[event.kind],
    )


def _deal_settled(event: game_pb2.DealSettled) -> DealSettled:
    return DealSettled(
        active=tuple(event.active),
        tricks_won=tuple(event.tricks_won),
        pot_before=event.pot_before,
        bonuses=tuple(event.bonuses),
        shares=tuple(event.shares),
        remainder=event.remainder,
        penalties=tuple(event.penalties),
        failed=tuple(event.failed),
        pot=event.pot,
        stacks=tuple(event.stacks),
        next_kind=_DEAL_KINDS.get(event.next_kind),
    )


def _play_ended(event: game_pb2.PlayEnded) -> SessionEnded:
    return SessionEnded(
        ending=SessionEnding[_bare(game_pb2.PlayEnding.Name(event.ending), "PLAY_ENDING")],
        stacks=tuple(event.stacks),
        places=tuple(event.places),
        pot_left=event.pot_left,
        tied=tuple(event.tied),
        tie_break_played=event.tie_break_played,
    )


# ------------------------------------------------------------------ a session


def session_from(start: bot_pb2.SessionStart) -> Session:
    """A session that begins, or that is offered again."""
    return Session(
        session_id=start.session_id,
        ruleset=_ruleset(start.ruleset),
        options=_options(start.options),
        names=tuple([label.name for label in start.seats]),
        seat=start.seat,
        clock=_clock(start.clock),
        commitment=start.commitment,
        first_request_id=start.first_request_id or 1,
    )


def rejection_from(rejected: bot_pb2.Rejected) -> Rejection:
    """Why an answer was not taken."""
    return Rejection(
        reason=_bare(bot_pb2.RejectReason.Name(rejected.reason), "REJECT_REASON").lower(),
        detail=rejected.detail,
        tries_left=rejected.tries_left,
        time_left_ms=rejected.time_left_ms if rejected.HasField("time_left_ms") else None,
    )


def ending_from(end: bot_pb2.SessionEnd) -> Ending:
    """How a session ended."""
    return Ending(
        reason=_bare(bot_pb2.AttemptEnd.Name(end.ending), "ATTEMPT_END").lower(),
        places=tuple(end.places),
        stacks=tuple(end.stacks),
        forfeited=tuple(end.forfeited),
    )


def _bare(name: str, enum_name: str) -> str:
    """The name of an enum's value without the enum's own in front."""
    return name.removeprefix(f"{enum_name}_")


def _ruleset(rules: game_pb2.Ruleset) -> Ruleset:
    return Ruleset(
        hand_size=rules.hand_size,
        ante=rules.ante,
        ante_from=AnteFrom[_bare(game_pb2.AnteFrom.Name(rules.ante_from), "ANTE_FROM")],
        cut_ritual=rules.cut_ritual,
        turn_up_to_dealer=rules.turn_up_to_dealer,
        contracts=Contracts[_bare(game_pb2.Contracts.Name(rules.contracts), "CONTRACTS")],
        oder=OderMeaning[_bare(game_pb2.OderMeaning.Name(rules.oder), "ODER_MEANING")],
        last_say=rules.last_say,
        exchange=ExchangeMode[_bare(game_pb2.ExchangeMode.Name(rules.exchange), "EXCHANGE_MODE")],
        exchange_limit=rules.exchange_limit,
        exchange_fee=rules.exchange_fee,
        first_lead=FirstLead[_bare(game_pb2.FirstLead.Name(rules.first_lead), "FIRST_LEAD")],
        must_head=rules.must_head,
        weli_rank=WeliRank[_bare(game_pb2.WeliRank.Name(rules.weli_rank), "WELI_RANK")],
        weli_as_joker=rules.weli_as_joker,
        striker_quota=rules.striker_quota,
        seven_muss_striker_quota=(
            rules.seven_muss_striker_quota if rules.HasField("seven_muss_striker_quota") else None
        ),
        muss_pays=rules.muss_pays,
        short_players_collect=rules.short_players_collect,
        penalty=PenaltyMode[_bare(game_pb2.PenaltyMode.Name(rules.penalty), "PENALTY_MODE")],
        striker_penalty_factor=rules.striker_penalty_factor,
        penalty_limit=rules.penalty_limit if rules.HasField("penalty_limit") else None,
        muss_after=MussAfter[_bare(game_pb2.MussAfter.Name(rules.muss_after), "MUSS_AFTER")],
        remainder=RemainderTo[_bare(game_pb2.RemainderTo.Name(rules.remainder), "REMAINDER_TO")],
        bettler=rules.bettler,
        bettler_bonus=rules.bettler_bonus,
        weli_cut=WeliCut[_bare(game_pb2.WeliCut.Name(rules.weli_cut), "WELI_CUT")],
    )


def _options(options: game_pb2.SessionOptions) -> SessionOptions:
    return SessionOptions(
        players=options.players,
        stack=options.stack,
        deals=options.deals,
        target=options.target if options.HasField("target") else None,
        tie_break=options.tie_break,
    )


def _clock(clock: bot_pb2.Clock) -> Clock:
    return Clock(
        timed=clock.timed,
        move_ms=clock.move_ms,
        bank_ms=clock.bank_ms,
        increment_ms=clock.increment_ms,
        first_answer_ms=clock.first_answer_ms,
        join_ms=clock.join_ms,
        max_strikes=clock.max_strikes,
    )
