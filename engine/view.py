"""What one seat may know, as a type of its own (`rules.md` §6).

A view is built from nothing, field by field, out of what the seat may see; nothing hidden
is copied and then blanked. It holds the running deal from its start, so that a player
without memory is a correct player.
"""

from typing import NamedTuple, TypeAlias

from engine.actions import Action, Call, Contract, Discard, Exchange
from engine.cards import Card, Seat, Suit
from engine.deal import Deal
from engine.events import (
    AntesPaid,
    CardsDealt,
    CutMade,
    DealBegan,
    DealSettled,
    Decided,
    Event,
    Exchanged,
    ExchangeSeen,
    SessionEnded,
    StrikerFixed,
    TrickTaken,
)
from engine.rules import DealKind, Ruleset, SessionOptions


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


class DealtSeen(NamedTuple):
    """The deal as `seat` sees it: its own hand, what was turned, everybody's hand size."""

    dealer: Seat
    hand: tuple[Card, ...]
    hand_sizes: tuple[int, ...]
    turned: tuple[Card, ...]
    trump: Suit | None
    kind: DealKind


class ActionSeen(NamedTuple):
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
    # The fields in their order, in two parts, because Python makes a tuple of more than 30 by way of
    # a list. `tuple.__new__` does what `View(...)` does, where passing the arguments doubles the time.
    before_play = (
        seat,
        deal.ruleset,
        deal.options,
        deal.number,
        deal.tie_break,
        deal.base_kind,
        deal.kind,
        deal.first_dealer,
        deal.dealer,
        deal.seats,
        deal.stacks,
        deal.pot,
        deal.antes,
        deal.cuts,
        deal.turned,
        deal.trump,
        deal.bids,
        deal.contract,
        deal.auction_turned,
        deal.striker,
        deal.declarations,
        deal.active,
    )
    cards = (
        deal.hands[seat],
        tuple(deal.hand_sizes),
        len(deal.stock),
        deal.exchanges_seen,
        tuple([swap for swap in deal.exchanges if swap.seat == seat]) if deal.exchanges else (),
        deal.discards[seat],
        deal.tricks,
        deal.trick,
        tuple(deal.tricks_won),
    )
    return tuple.__new__(View, before_play + cards)


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
            return event if actor == seat else event.as_seen()
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
            return event.as_seen()
        case _:
            return event
