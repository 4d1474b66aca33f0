"""What one seat may know, as a type of its own (`rules.md` §6).

A view is built from nothing, field by field, out of what the seat may see; nothing hidden
is copied and then blanked. It holds the running deal from its start, so that a player
without memory is a correct player.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from engine.actions import Action, Call, Contract, Decision, DecisionKind, Discard, Exchange, Legal
from engine.cards import PACK_SIZE, Card, Seat, Suit
from engine.deal import PHASES, Deal, exchange_turns, first_leader
from engine.events import (
    AntesPaid,
    CardsDealt,
    CutMade,
    DealBegan,
    DealSettled,
    Decided,
    Event,
    Exchanged,
    SessionEnded,
    StrikerFixed,
    TrickTaken,
)
from engine.pack import Pack
from engine.rules import Contracts, DealKind, Ruleset, SessionOptions


@dataclass(frozen=True, slots=True)
class ExchangeSeen:
    """A turn of the exchange as everybody sees it: card counts, and the cards drawn face up."""

    seat: Seat
    laid_count: int
    face_up: tuple[Card, ...]
    bonus_count: int
    paid: int


class View(NamedTuple):
    """Everything that `seat` may know of the running deal.

    Tuples named in the plural of a seat's thing (`stacks`, `hand_sizes`, `tricks_won`,
    `antes`) are indexed by seat. Chips are whole numbers. `hand` is in index order.
    """

    seat: Seat
    ruleset: Ruleset
    options: SessionOptions
    deal: int
    """Number of the deal in its session, from 0."""
    tie_break: bool
    base_kind: DealKind
    """The kind as the deal began."""
    kind: DealKind
    """The kind it is played as."""
    first_dealer: Seat
    """Before the cut moved the deal."""
    dealer: Seat
    seats: tuple[Seat, ...]
    """The seats dealt in."""
    stacks: tuple[int, ...]
    pot: int
    antes: tuple[int, ...]
    cuts: tuple[CutMade, ...]
    turned: tuple[Card, ...]
    """The turn-up, one or two cards; the last one fixed trumps unless it is the Weli."""
    trump: Suit | None
    """None while the dealer has trumps to name."""
    bids: tuple[tuple[Seat, Contract], ...]
    contract: Contract | None
    auction_turned: tuple[Card, ...]
    striker: Seat | None
    """None until the auction is over."""
    declarations: tuple[tuple[Seat, Call], ...]
    active: tuple[Seat, ...]
    """The seats that have not folded, ascending."""
    hand: tuple[Card, ...]
    hand_sizes: tuple[int, ...]
    """Cards in each hand; a folded hand keeps its size."""
    stock_size: int
    exchanges: tuple[ExchangeSeen, ...]
    own_exchanges: tuple[Exchanged, ...]
    """This seat's own turns, with the cards."""
    laid_away: tuple[Card, ...]
    """What this seat laid away outside the exchange."""
    tricks: tuple[TrickTaken, ...]
    """The complete tricks of the deal."""
    trick: tuple[tuple[Seat, Card], ...]
    """The trick on the table, the leader's card first; empty before a lead."""
    tricks_won: tuple[int, ...]


# ------------------------------------------------------------------- events, as seen


@dataclass(frozen=True, slots=True)
class DealtSeen:
    """The deal as `seat` sees it: its own hand, what was turned, everybody's hand size."""

    dealer: Seat
    hand: tuple[Card, ...]
    hand_sizes: tuple[int, ...]
    turned: tuple[Card, ...]
    trump: Suit | None
    kind: DealKind


@dataclass(frozen=True, slots=True)
class ActionSeen:
    """A decision that everybody hears: trumps named, a bid, a declaration, a card played.

    For an exchange and for cards laid away `action` is None to others and `card_count`
    says how many cards it was. Whether it was forced stays untold.
    """

    seat: Seat
    action: Action | None
    card_count: int


SeenEvent: TypeAlias = (
    DealBegan
    | AntesPaid
    | CutMade
    | DealtSeen
    | ActionSeen
    | StrikerFixed
    | ExchangeSeen
    | Exchanged
    | TrickTaken
    | DealSettled
    | SessionEnded
)
"""What a seat may hear. `Exchanged`, with its cards, is only ever told to the seat that exchanged."""


# --------------------------------------------------------------- from the truth to a seat


def view_of(deal: Deal, seat: Seat) -> View:
    """What `seat` may know of a deal at this moment (`rules.md` §6)."""
    return View(
        seat=seat,
        ruleset=deal.ruleset,
        options=deal.options,
        deal=deal.number,
        tie_break=deal.tie_break,
        base_kind=deal.base_kind,
        kind=deal.kind,
        first_dealer=deal.first_dealer,
        dealer=deal.dealer,
        seats=deal.seats,
        stacks=deal.stacks,
        pot=deal.pot,
        antes=deal.antes,
        cuts=deal.cuts,
        turned=deal.turned,
        trump=deal.trump,
        bids=deal.bids,
        contract=deal.contract,
        auction_turned=deal.auction_turned,
        striker=deal.striker,
        declarations=deal.declarations,
        active=deal.active,
        hand=deal.hands[seat],
        hand_sizes=tuple([len(hand) for hand in deal.hands]),
        stock_size=len(deal.stock),
        exchanges=tuple([_exchange_seen(swap) for swap in deal.exchanges]),
        own_exchanges=tuple([swap for swap in deal.exchanges if swap.seat == seat]),
        laid_away=deal.discards[seat],
        tricks=deal.tricks,
        trick=deal.trick,
        tricks_won=tuple(deal.tricks_won),
    )


def seen_by(event: Event, seat: Seat) -> SeenEvent:
    """What `seat` hears of an event (`rules.md` §6)."""
    match event:
        case CardsDealt(dealer, hands, turned, trump, kind):
            return DealtSeen(dealer, hands[seat], tuple([len(hand) for hand in hands]), turned, trump, kind)
        case Decided(actor, Exchange(cards) | Discard(cards) as action, _):
            return ActionSeen(actor, action if actor == seat else None, len(cards))
        case Decided(actor, action, _):
            return ActionSeen(actor, action, 0)
        case Exchanged(actor):
            return event if actor == seat else _exchange_seen(event)
        case _:
            return event


def seen_by_all(event: Event) -> SeenEvent:
    """What everybody may hear of an event, and so somebody who only watches: no hand, no card laid away."""
    match event:
        case CardsDealt(dealer, hands, turned, trump, kind):
            return DealtSeen(dealer, (), tuple([len(hand) for hand in hands]), turned, trump, kind)
        case Decided(actor, Exchange(cards) | Discard(cards), _):
            return ActionSeen(actor, None, len(cards))
        case Decided(actor, action, _):
            return ActionSeen(actor, action, 0)
        case Exchanged():
            return _exchange_seen(event)
        case _:
            return event


def _exchange_seen(swap: Exchanged) -> ExchangeSeen:
    return ExchangeSeen(swap.seat, len(swap.laid), swap.face_up, len(swap.bonus), swap.paid)


# ------------------------------------------------------------------- deals as imagined


def unseen_cards(view: View) -> tuple[Card, ...]:
    """The cards that the seat cannot place, in index order: in other hands, the stock, or laid away."""
    seen = {*view.hand, *view.laid_away, *view.auction_turned}
    seen.update([card for swap in view.own_exchanges for card in swap.laid])
    seen.update([card for trick in view.tricks for _, card in trick.cards])
    seen.update([card for _, card in view.trick])
    if not view.ruleset.turn_up_to_dealer:
        seen.update(view.turned)
    return tuple([card for card in range(PACK_SIZE) if card not in seen])


def imagine(view: View, legal: Legal, hands: Sequence[tuple[Card, ...]], stock: Sequence[Card]) -> Deal:
    """A deal that stands at the decision that `view.seat` is asked, to be played on.

    Args:
        view: what the seat knows.
        legal: what it was asked to choose from.
        hands: by seat, each in index order; the seat's own is that of the view.
        stock: the cards face down, the top one first.

    Raises:
        ValueError: hands and stock do not fit the view.
    """
    _check_fit(view, hands, stock)
    deal = Deal.__new__(Deal)
    deal.ruleset, deal.options, deal.number, deal.tie_break = (
        view.ruleset,
        view.options,
        view.deal,
        view.tie_break,
    )
    deal.base_kind, deal.kind = view.base_kind, view.kind
    deal.first_dealer, deal.dealer, deal.seats = view.first_dealer, view.dealer, view.seats
    deal.stacks, deal.pot, deal.antes, deal.cuts = view.stacks, view.pot, view.antes, view.cuts
    deal.events, deal.pack, deal.stock, deal.hands = [], (), tuple(stock), list(hands)
    deal.discards = [view.laid_away if seat == view.seat else () for seat in range(len(hands))]
    deal.turned, deal.trump, deal.bids, deal.contract = view.turned, view.trump, view.bids, view.contract
    deal.auction_turned, deal.striker = view.auction_turned, view.striker
    deal.declarations, deal.active = view.declarations, view.active
    deal.exchanges = tuple([_exchanged(swap) for swap in view.exchanges])
    deal.tricks, deal.trick, deal.tricks_won = view.tricks, view.trick, list(view.tricks_won)
    deal.next_kind = None
    deal.packs = _no_more_packs
    deal.has_swapped = legal.kind is DecisionKind.DISCARD and bool(view.exchanges)
    phase, queue = _standing(deal, legal.kind)
    deal.phase, deal.queue = PHASES[phase], queue
    deal.decision = Decision(view.seat, legal)
    return deal


def _check_fit(view: View, hands: Sequence[tuple[Card, ...]], stock: Sequence[Card]) -> None:
    if tuple([len(hand) for hand in hands]) != view.hand_sizes or len(stock) != view.stock_size:
        raise ValueError(f"hands of {view.hand_sizes} cards and a stock of {view.stock_size} are needed")
    if hands[view.seat] != view.hand:
        raise ValueError(f"seat {view.seat} holds the hand of its view")
    cards = [card for hand in hands for card in hand] + list(stock)
    if len(set(cards)) != len(cards):
        raise ValueError("a card lies in two places")


def _exchanged(swap: ExchangeSeen) -> Exchanged:
    """A turn of the exchange with what everybody knows of it; who lays what away matters no more."""
    return Exchanged(swap.seat, (), (), swap.face_up, (), swap.paid, 0)


def _no_more_packs(pack_number: int) -> tuple[Pack, int]:
    raise ValueError(f"an imagined deal has no pack {pack_number}: its cards are dealt")


def _standing(deal: Deal, kind: DecisionKind) -> tuple[str, tuple[Seat, ...]]:
    """The phase of a decision, and the seats that it will still ask."""
    match kind:
        case DecisionKind.TRUMP:
            return "trumps", (deal.dealer,)
        case DecisionKind.BID:
            return "auction", _still_to_bid(deal)
        case DecisionKind.DECLARE:
            return "declarations", _still_to_declare(deal)
        case DecisionKind.EXCHANGE | DecisionKind.DISCARD if (
            kind is DecisionKind.EXCHANGE or deal.has_swapped
        ):
            # A seat that has swapped lays away in the same turn, which is not over before.
            return "exchange", exchange_turns(deal)[len(deal.exchanges) - deal.has_swapped :]
        case DecisionKind.EXCHANGE | DecisionKind.DISCARD:
            return "laying_away", (deal.dealer,)
        case DecisionKind.PLAY:
            return "play", _still_to_play(deal)


def _still_to_bid(deal: Deal) -> tuple[Seat, ...]:
    alone = deal.ruleset.contracts is Contracts.DEALER
    speakers = (deal.dealer,) if alone else deal.clockwise_from(deal.dealer)
    return speakers[len(deal.bids) :]


def _still_to_declare(deal: Deal) -> tuple[Seat, ...]:
    order = [seat for seat in deal.forehand_order if seat != deal.striker]
    claimed = [seat for seat, call in deal.declarations if call is Call.LAST]
    spoken = {seat for seat, call in deal.declarations if call is not Call.LAST}
    waiting = [seat for seat in claimed if seat not in spoken]
    return tuple([seat for seat in order if seat not in spoken and seat not in claimed] + waiting)


def _still_to_play(deal: Deal) -> tuple[Seat, ...]:
    order = [seat for seat in deal.forehand_order if seat in deal.active]
    leader = deal.trick[0][0] if deal.trick else None
    if leader is None:
        leader = deal.tricks[-1].winner if deal.tricks else first_leader(deal)
    at = order.index(leader)
    return tuple(order[at:] + order[:at])[len(deal.trick) :]
