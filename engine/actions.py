"""What a player may answer, and the set of answers that are legal (`rules.md` §13).

Actions are a closed union of frozen values. A `Legal` set can be iterated in canonical
order, counted, and asked for membership; the arena judges an answer by exactly the set
that the bot was sent.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import comb
from typing import Final, TypeAlias

from engine.cards import PACK_SIZE, Card, Seat, Suit


class DecisionKind(StrEnum):
    """The six questions the game asks."""

    TRUMP = "trump"
    BID = "bid"
    DECLARE = "declare"
    EXCHANGE = "exchange"
    DISCARD = "discard"
    PLAY = "play"


# Read once: Python 3.11 takes long to read a member from its enum.
_EXCHANGE: Final = DecisionKind.EXCHANGE


class Contract(StrEnum):
    """The bids of the auction, low to high (`rules.md` §7); `WEITER` is a pass."""

    WEITER = "weiter"
    WEITER_ODER = "weiter-oder"
    ODER = "oder"
    SCHLAGEN = "schlagen"


CONTRACTS_UPWARDS: Final = tuple(Contract)


class Call(StrEnum):
    """The declarations, in canonical order (`rules.md` §8)."""

    FOLD = "fold"
    PLAY = "play"
    BETTLER = "bettler"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class NameTrump:
    """The dealer's choice of trumps after a turned Weli (`rules.md` §5.3)."""

    suit: Suit


@dataclass(frozen=True, slots=True)
class Bid:
    """One word of the auction (`rules.md` §7)."""

    contract: Contract


@dataclass(frozen=True, slots=True)
class Declare:
    """Fold, play, promise no trick, or claim the last word (`rules.md` §8)."""

    call: Call


@dataclass(frozen=True, slots=True)
class Exchange:
    """Cards to swap with the stock, in index order; none is an answer too (`rules.md` §9)."""

    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Discard:
    """Cards to lay away, in index order (`rules.md` §5.7)."""

    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Play:
    """A card to a trick (`rules.md` §10)."""

    card: Card


Action: TypeAlias = NameTrump | Bid | Declare | Exchange | Discard | Play
ListedAction: TypeAlias = NameTrump | Bid | Declare | Play
"""The actions whose legal answers are few enough to be listed."""

PLAYS: Final = tuple(Play(card) for card in range(PACK_SIZE))
"""The one `Play` of every card, by index."""

BIDS: Final = {contract: Bid(contract) for contract in Contract}
DECLARES: Final = {call: Declare(call) for call in Call}

KINDS: Final[dict[type[Action], DecisionKind]] = {
    NameTrump: DecisionKind.TRUMP,
    Bid: DecisionKind.BID,
    Declare: DecisionKind.DECLARE,
    Exchange: DecisionKind.EXCHANGE,
    Discard: DecisionKind.DISCARD,
    Play: DecisionKind.PLAY,
}


def _is_well_typed(action: object) -> bool:
    """Whether an action of a list holds a value of its type.

    Equality would not tell: 1.0 equals 1, and the text "fold" equals `Call.FOLD`.
    """
    if isinstance(action, Play):
        return type(action.card) is int
    if isinstance(action, Declare):
        return type(action.call) is Call
    if isinstance(action, Bid):
        return type(action.contract) is Contract
    return isinstance(action, NameTrump) and type(action.suit) is Suit


@dataclass(slots=True)
class Listed:
    """Legal answers that are listed one by one, in canonical order.

    Nobody changes one. It is not frozen because one is made for nearly every card that is
    played, and that would double the time it takes.
    """

    kind: DecisionKind
    actions: tuple[ListedAction, ...]

    def __iter__(self) -> Iterator[Action]:
        return iter(self.actions)

    def __len__(self) -> int:
        return len(self.actions)

    def __contains__(self, action: object) -> bool:
        # Nearly always it is the very object, and comparing every other one with it would take long.
        for legal in self.actions:
            if legal is action:
                return True
        return _is_well_typed(action) and action in self.actions

    def sole(self) -> Action | None:
        """The one answer that is legal; None when there are more."""
        return self.actions[0] if len(self.actions) == 1 else None


@dataclass(frozen=True, slots=True)
class Subsets:
    """Legal answers that are the subsets of a hand, from `least` to `most` cards.

    `hand` is in index order. Iteration is by size, then lexicographic; membership is
    decided without building the subsets.
    """

    kind: DecisionKind
    hand: tuple[Card, ...]
    least: int
    most: int

    def __iter__(self) -> Iterator[Action]:
        make = Exchange if self.kind is _EXCHANGE else Discard
        for size in range(self.least, self.most + 1):
            for cards in combinations(self.hand, size):
                yield make(cards)

    def __len__(self) -> int:
        return sum(comb(len(self.hand), size) for size in range(self.least, self.most + 1))

    def sole(self) -> Action | None:
        """The one answer that is legal; None when there are more."""
        is_sole = self.least == self.most and self.most in (0, len(self.hand))
        return next(iter(self)) if is_sole else None

    def __contains__(self, action: object) -> bool:
        if type(action) is not (Exchange if self.kind is _EXCHANGE else Discard):
            return False
        cards = action.cards
        if type(cards) is not tuple or not self.least <= len(cards) <= self.most:
            return False
        # Cards of the hand, each once and in its order; True is no card, though it equals 1.
        chosen = tuple([card for card in self.hand if card in cards])
        return cards == chosen and set(map(type, cards)) <= {int}


Legal: TypeAlias = Listed | Subsets


@dataclass(slots=True)
class Decision:
    """One question: which seat is asked, and what it may answer. Never fewer than two answers.

    Like `Listed` not frozen, and never changed.
    """

    seat: Seat
    legal: Legal

    @property
    def kind(self) -> DecisionKind:
        """The kind of question."""
        return self.legal.kind
