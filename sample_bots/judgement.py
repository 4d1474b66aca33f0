"""What hands and cards are worth by rule of thumb, to a player who sees the table and remembers nothing.

The figures come from a count over some ten thousand hands in deals where nobody may fold. Nothing here
knows requests, clocks or chance.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from engine.actions import Call
from engine.cards import PACK_SIZE, Card, Rank, rank_of
from engine.rules import PenaltyMode
from engine.trick import TRUMPS, CardOrder, beats, card_order
from engine.view import View

TRUMP_TRICKS: Final = (1.35, 1.05, 0.85, 0.75, 0.65, 0.6, 0.55, 0.5, 0.5)
"""Tricks that a trump is good for, the highest first. That one clears the way for others too."""

PLAIN_TRICKS: Final = {Rank.ACE: 0.65, Rank.KING: 0.2}
"""Tricks that a plain card is good for; the others hardly win any."""

FEW_RIVALS: Final = 2
FEW_RIVALS_FACTOR: Final = 1.2
"""Against so few a card wins that much more often."""


def order_of(view: View) -> CardOrder:
    """What beats what under the present trumps, which are known."""
    assert view.trump is not None
    return card_order(view.trump, view.ruleset.weli_rank)


@cache
def tricks_by_card(order: CardOrder) -> tuple[float, ...]:
    """The tricks that each card is good for, by card index."""
    tricks = [PLAIN_TRICKS.get(rank, 0.0) if (rank := rank_of(card)) else 0.0 for card in range(PACK_SIZE)]
    trumps = [card for card in range(PACK_SIZE) if order.suits[card] == TRUMPS]
    for card, worth in zip(reversed(weakest_first(trumps, order)), TRUMP_TRICKS, strict=True):
        tricks[card] = worth
    return tuple(tricks)


def likely_tricks(hand: Iterable[Card], order: CardOrder, rival_count: int) -> float:
    """The tricks that a hand is good for against so many others."""
    worth = tricks_by_card(order)
    tricks = sum([worth[card] for card in hand])
    return tricks * FEW_RIVALS_FACTOR if rival_count <= FEW_RIVALS else tricks


def weakest_first(cards: Iterable[Card], order: CardOrder) -> list[Card]:
    """Cards in the order in which one would give them up: plain before trumps, low before high."""
    return sorted(cards, key=order.strengths.__getitem__)


def is_bettler(view: View) -> bool:
    """Whether this seat has promised to take no trick."""
    return (view.seat, Call.BETTLER) in view.declarations


def share_of(view: View) -> int:
    """Chips that a trick earns, as the pot stands."""
    return view.pot // view.ruleset.hand_size


def penalty_of(view: View) -> int:
    """Chips that a failure costs this seat, as the pot stands."""
    ruleset = view.ruleset
    due = 2 * ruleset.ante if ruleset.penalty is PenaltyMode.DOUBLE_ANTE else view.pot
    if view.seat == view.striker:
        due *= ruleset.striker_penalty_factor
    return due if ruleset.penalty_limit is None else min(due, ruleset.penalty_limit)


def quick_card(
    cards: Sequence[Card],
    led: Card | None,
    best: Card | None,
    order: CardOrder,
    *,
    is_last: bool,
    is_bettler: bool,
) -> Card:
    """A card that is seldom bad, found at once.

    The strongest is led. A trick that can be won is taken: cheaply by the last to play and by a ruff,
    otherwise with the best. What cannot win is thrown from the bottom. A bettler does the opposite.

    Args:
        cards: the legal ones.
        led: the first card of the trick; None for the leader.
        best: the card that wins the trick so far; None for the leader.
        order: the cards under the present trumps.
        is_last: whether this card completes the trick.
        is_bettler: whether the player wants no trick.
    """
    ascending = weakest_first(cards, order)
    if led is None or best is None:
        return ascending[0 if is_bettler else -1]
    if is_bettler:
        losing = [card for card in ascending if not beats(card, best, order)]
        return losing[-1] if losing else ascending[-1 if is_last else 0]
    winning = [card for card in ascending if beats(card, best, order)]
    if not winning:
        return ascending[0]
    is_ruff = order.suits[winning[0]] != order.suits[led]
    return winning[0 if is_last or is_ruff else -1]
