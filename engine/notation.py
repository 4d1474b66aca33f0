"""Actions as text and back (`rules.md` §13), and cards as people like to see them (`rules.md` §1).

Parse and format stand side by side and are exact inverses. A text that cannot be read is a
`NotationError`; whether an action is allowed now is not this file's question. What is shown
to people is never stored: files hold the canonical notation alone.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, assert_never

from engine.actions import (
    Action,
    Bid,
    Call,
    Contract,
    DecisionKind,
    Declare,
    Discard,
    Exchange,
    NameTrump,
    Play,
)
from engine.cards import (
    SUIT_LETTERS,
    WELI,
    Card,
    Rank,
    Suit,
    card_text,
    cards_text,
    parse_card,
    parse_suit,
)
from engine.errors import NotationError


def action_text(action: Action) -> str:
    """The canonical text of an action: `trump E`, `bid oder`, `fold`, `exchange E7 L8`, `card HO`."""
    match action:
        case NameTrump(suit):
            return f"trump {SUIT_LETTERS[suit]}"
        case Bid(contract):
            return f"bid {contract.value}"
        case Declare(call):
            return call.value
        case Exchange(cards):
            return f"exchange {cards_text(cards)}".rstrip()
        case Discard(cards):
            return f"discard {cards_text(cards)}".rstrip()
        case Play(card):
            return f"card {card_text(card)}"
        case _:
            assert_never(action)


def parse_action(text: str) -> Action:
    """The action that a canonical text names; the inverse of `action_text`.

    Raises:
        NotationError: it names none.
    """
    head, *words = text.split(" ")
    reader = _READERS.get(head)
    if reader is None:
        raise NotationError(f"no action {text!r}: it begins with one of {', '.join(_READERS)}")
    return reader(text, words)


def _one(text: str, words: list[str]) -> str:
    if len(words) != 1:
        raise NotationError(f"no action {text!r}: exactly one word follows the first")
    return words[0]


def _read_bid(text: str, words: list[str]) -> Action:
    try:
        return Bid(Contract(_one(text, words)))
    except ValueError:
        raise NotationError(f"no bid {text!r}: a bid is one of {', '.join(Contract)}") from None


def _read_call(text: str, words: list[str]) -> Action:
    if words:
        raise NotationError(f"no action {text!r}: nothing follows a declaration")
    return Declare(Call(text))


def _read_cards(words: list[str]) -> tuple[Card, ...]:
    return tuple([parse_card(word) for word in words])


_READERS: Final[dict[str, Callable[[str, list[str]], Action]]] = {
    DecisionKind.TRUMP.value: lambda text, words: NameTrump(parse_suit(_one(text, words))),
    DecisionKind.BID.value: _read_bid,
    **{call.value: _read_call for call in Call},
    DecisionKind.EXCHANGE.value: lambda _text, words: Exchange(_read_cards(words)),
    DecisionKind.DISCARD.value: lambda _text, words: Discard(_read_cards(words)),
    "card": lambda text, words: Play(parse_card(_one(text, words))),
}


# ------------------------------------------------------------------------ cards for people


class CardStyle(StrEnum):
    """How cards are shown to people."""

    CANONICAL = "canonical"
    """As in files: `EA`, `ST`, `S6`."""
    FRENCH = "french"
    """French suits, rank first: `A♣`, `10♦`, `6♦` or `Joker`."""
    FRENCH_ASCII = "french-ascii"
    """The same where the signs cannot be written: `AC`, `10D`."""


class Language(StrEnum):
    """Languages in which cards have names."""

    ENGLISH = "en"
    GERMAN = "de"


JOKER: Final = "Joker"
"""The Weli of a French-suited pack under `weli_as_joker`."""

_FRENCH_RANKS: Final = ("7", "8", "9", "10", "J", "Q", "K", "A")
# Acorns are clubs, Leaves spades, Hearts hearts, Bells diamonds (`rules.md` §1).
_SUIT_SIGNS: Final = {
    CardStyle.CANONICAL: SUIT_LETTERS,
    CardStyle.FRENCH: "♣♠♥♦",
    CardStyle.FRENCH_ASCII: "CSHD",
}
_FRENCH_SUITS: Final = ("Clubs", "Spades", "Hearts", "Diamonds")

_SUIT_NAMES: Final = {
    Language.ENGLISH: ("Acorns", "Leaves", "Hearts", "Bells"),
    Language.GERMAN: ("Eichel", "Laub", "Herz", "Schellen"),
}
_RANK_NAMES: Final = {
    Language.ENGLISH: ("Seven", "Eight", "Nine", "Ten", "Unter", "Ober", "King", "Ace"),
    Language.GERMAN: ("Sieben", "Acht", "Neun", "Zehn", "Unter", "Ober", "König", "Sau"),
}


def show_card(card: Card, style: CardStyle, *, weli_as_joker: bool = False) -> str:
    """A card as people see it; `weli_as_joker` is the option of that name and concerns French suits."""
    if style is CardStyle.CANONICAL:
        return card_text(card)
    suit, rank = divmod(card, len(Rank))
    signs = _SUIT_SIGNS[style]
    if card == WELI:
        return JOKER if weli_as_joker else f"6{signs[Suit.BELLS]}"
    return _FRENCH_RANKS[rank] + signs[suit]


def show_suit(suit: Suit, style: CardStyle) -> str:
    """A suit's name in the pack of a style: `Acorns`, or `Clubs` for both French ones."""
    return _SUIT_NAMES[Language.ENGLISH][suit] if style is CardStyle.CANONICAL else _FRENCH_SUITS[suit]


def suit_name(suit: Suit, language: Language) -> str:
    """A suit's name: `Acorns`, `Eichel`."""
    return _SUIT_NAMES[language][suit]


def card_name(card: Card, language: Language) -> str:
    """A card's name: `Ace of Acorns`, `Eichel-Sau`; the Weli is the Weli in both."""
    if card == WELI:
        return "Weli"
    suit, rank = divmod(card, len(Rank))
    suit_name, rank_name = _SUIT_NAMES[language][suit], _RANK_NAMES[language][rank]
    return f"{rank_name} of {suit_name}" if language is Language.ENGLISH else f"{suit_name}-{rank_name}"
