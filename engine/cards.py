"""The 33 cards: numbers, suits, ranks and their canonical text (`rules.md` §1).

A card is its index: `suit * 8 + rank` for 0..31, and 32 for the Weli. Nothing here knows
trumps: what a card is worth in a trick is `engine.trick`'s to say.
"""

from enum import IntEnum
from typing import Final, TypeAlias

from engine.errors import NotationError

Card: TypeAlias = int
"""A card's index, 0..32."""

Seat: TypeAlias = int
"""A place at the table, 0..players-1, clockwise (`rules.md` §2)."""


class Suit(IntEnum):
    """The four suits, in the order that breaks ties (`rules.md` §1)."""

    ACORNS = 0
    LEAVES = 1
    HEARTS = 2
    BELLS = 3


class Rank(IntEnum):
    """The eight ranks of a suit, low to high. The Weli has none."""

    SEVEN = 0
    EIGHT = 1
    NINE = 2
    TEN = 3
    UNTER = 4
    OBER = 5
    KING = 6
    ACE = 7


PACK_SIZE: Final = 33
WELI: Final[Card] = 32
SUIT_LETTERS: Final = "ELHS"
RANK_LETTERS: Final = "789TUOKA"

CARD_TEXTS: Final[tuple[str, ...]] = (*(s + r for s in SUIT_LETTERS for r in RANK_LETTERS), "S6")
"""The canonical text of every card, by index."""

_SUITS: Final = (*[suit for suit in Suit for _ in Rank], None)
_RANKS: Final = (*[rank for _ in Suit for rank in Rank], None)
_CARDS: Final = {text: card for card, text in enumerate(CARD_TEXTS)}


def suit_of(card: Card) -> Suit | None:
    """The suit printed on a card; None for the Weli, which is only ever a trump."""
    return _SUITS[card]


def rank_of(card: Card) -> Rank | None:
    """The rank printed on a card; None for the Weli."""
    return _RANKS[card]


def card_text(card: Card) -> str:
    """The canonical text of a card: `EA`, `ST`, `S6`."""
    return CARD_TEXTS[card]


def parse_card(text: str) -> Card:
    """The card that a canonical text names; the inverse of `card_text`.

    Raises:
        NotationError: the text is not one of the 33.
    """
    try:
        return _CARDS[text]
    except KeyError:
        raise NotationError(
            f"no card {text!r}: a card is a suit letter of {SUIT_LETTERS} and a rank of {RANK_LETTERS}, or S6"
        ) from None


def cards_text(cards: tuple[Card, ...]) -> str:
    """Several cards, one space between."""
    return " ".join([CARD_TEXTS[card] for card in cards])


def parse_suit(text: str) -> Suit:
    """The suit that a letter of `ELHS` names.

    Raises:
        NotationError: it is none of the four.
    """
    index = SUIT_LETTERS.find(text) if len(text) == 1 else -1
    if index < 0:
        raise NotationError(f"no suit {text!r}: a suit is one letter of {SUIT_LETTERS}")
    return Suit(index)
