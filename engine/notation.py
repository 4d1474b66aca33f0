"""Actions as text and back (`rules.md` §13), and cards as people like to see them.

Parse and format stand side by side and are exact inverses. A text that cannot be read is a
`NotationError`; whether an action is allowed now is not this file's question.
"""

from collections.abc import Callable
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
from engine.cards import SUIT_LETTERS, Card, card_text, cards_text, parse_card, parse_suit
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
