"""What happened at the table, as the engine tells it (`rules.md` §5 to §12).

Events are the whole truth: hands and laid-away cards stand in them open. What one seat
may hear of them is `engine.view`'s to say. Tuples of chips are indexed by seat, one entry
for every seat of the table; a seat that took no part has 0.
"""

from enum import StrEnum
from typing import NamedTuple, TypeAlias

from engine.actions import Action, Contract
from engine.cards import Card, Seat, Suit
from engine.rules import DealKind


class CutEffect(StrEnum):
    """What the cards shown in the cut did (`rules.md` §5.2)."""

    DEAL = "deal"
    WELI = "weli"
    SPRUNG = "sprung"
    HUPF_LEFT = "hupf_left"
    HUPF_RIGHT = "hupf_right"
    ACE_SEVEN = "ace_seven"


class SessionEnding(StrEnum):
    """Why a session is over; the first that holds (`rules.md` §12)."""

    DEALS = "deals"
    TARGET = "target"
    BUST = "bust"


class DealBegan(NamedTuple):
    """A deal begins. `dealer` is the seat before any cut moves the deal; `seats` are dealt in."""

    deal: int
    dealer: Seat
    kind: DealKind
    tie_break: bool
    seats: tuple[Seat, ...]


class AntesPaid(NamedTuple):
    """The antes of step 1, chips by seat."""

    paid: tuple[int, ...]


class CutMade(NamedTuple):
    """One cut of the ritual: the dealer of that moment, the one or two cards shown, chips by seat."""

    dealer: Seat
    shown: tuple[Card, ...]
    effect: CutEffect
    paid: tuple[int, ...]


class CardsDealt(NamedTuple):
    """The hands by seat before the dealer takes what was turned; empty for a seat that watches.

    `dealer` is the seat that really dealt. `trump` is None while the dealer has trumps to
    name; `kind` is a Seven Muss when a Seven fixed them.
    """

    dealer: Seat
    hands: tuple[tuple[Card, ...], ...]
    turned: tuple[Card, ...]
    trump: Suit | None
    kind: DealKind


class Decided(NamedTuple):
    """A seat's decision, `forced` when it was the only legal answer and nobody was asked."""

    seat: Seat
    action: Action
    forced: bool


class StrikerFixed(NamedTuple):
    """Striker and trumps are settled. `contract` is None when nobody was to speak (`rules.md` §7).

    `turned` are the cards that the contract turned from the stock.
    """

    striker: Seat
    contract: Contract | None
    turned: tuple[Card, ...]
    trump: Suit
    kind: DealKind


class ExchangeSeen(NamedTuple):
    """A turn of the exchange as everybody sees it: card counts, and the cards drawn face up."""

    seat: Seat
    laid_count: int
    face_up: tuple[Card, ...]
    bonus_count: int
    paid: int


class Exchanged(NamedTuple):
    """One turn of the exchange, empty ones too (`rules.md` §9).

    `drawn` are the cards in order, those of `face_up` included; `bonus` the extra cards;
    `paid` in chips; `stock_left` counts cards.
    """

    seat: Seat
    laid: tuple[Card, ...]
    drawn: tuple[Card, ...]
    face_up: tuple[Card, ...]
    bonus: tuple[Card, ...]
    paid: int
    stock_left: int

    def as_seen(self) -> ExchangeSeen:
        """What everybody sees of it."""
        return ExchangeSeen(self.seat, len(self.laid), self.face_up, len(self.bonus), self.paid)


class TrickTaken(NamedTuple):
    """A trick is complete: cards in the order in which they were played, the leader's first."""

    leader: Seat
    cards: tuple[tuple[Seat, Card], ...]
    winner: Seat


class DealSettled(NamedTuple):
    """The settlement (`rules.md` §11). `pot_before` is P; `next_kind` None after a tie-break deal.

    `bonuses`, `shares`, `penalties` and `stacks` are chips by seat; `remainder` is what the
    striker took of the chips that did not divide.
    """

    active: tuple[Seat, ...]
    tricks_won: tuple[int, ...]
    pot_before: int
    bonuses: tuple[int, ...]
    shares: tuple[int, ...]
    remainder: int
    penalties: tuple[int, ...]
    failed: tuple[Seat, ...]
    pot: int
    stacks: tuple[int, ...]
    next_kind: DealKind | None


class SessionEnded(NamedTuple):
    """The session is over (`rules.md` §12).

    `places` by seat, from 1, equal ones shared; `tied` the seats that had the most chips
    together before any tie-break, or empty; `pot_left` belongs to nobody.
    """

    ending: SessionEnding
    stacks: tuple[int, ...]
    places: tuple[int, ...]
    pot_left: int
    tied: tuple[Seat, ...]
    tie_break_played: bool


Event: TypeAlias = (
    DealBegan
    | AntesPaid
    | CutMade
    | CardsDealt
    | Decided
    | StrikerFixed
    | Exchanged
    | TrickTaken
    | DealSettled
    | SessionEnded
)
