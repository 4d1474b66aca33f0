"""Trick play: what beats what, what must be played, who wins (`rules.md` §1, §10).

One table of strengths serves the legal cards and the winner alike, so that the two cannot
disagree. Nothing here knows seats in play order, chips or phases.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

from engine.cards import PACK_SIZE, Card, Rank, Suit
from engine.rules import WeliRank

TRUMPS: Final = 4
"""The suit number of every trump, the Weli included."""

TRUMP_STRENGTH: Final = 16
"""Every trump is at least this strong, every plain card weaker."""


@dataclass(frozen=True, slots=True)
class CardOrder:
    """What the 33 cards are in play under one trump suit.

    `suits[card]` is the suit a card belongs to (0..3, or `TRUMPS`); `strengths[card]`
    orders the cards of one suit, and every trump above every plain card.
    """

    suits: tuple[int, ...]
    strengths: tuple[int, ...]


@cache
def card_order(trump: Suit, weli_rank: WeliRank) -> CardOrder:
    """The order of the cards when `trump` is the trump suit (`rules.md` §1)."""
    suits, strengths = [], []
    for card in range(PACK_SIZE - 1):
        suit, rank = divmod(card, 8)
        is_trump = suit == trump
        suits.append(TRUMPS if is_trump else suit)
        # Doubled, so that the Weli finds a place between two ranks.
        strengths.append(TRUMP_STRENGTH + 2 * rank if is_trump else rank)
    ace = TRUMP_STRENGTH + 2 * Rank.ACE
    return CardOrder((*suits, TRUMPS), (*strengths, ace + 1 if weli_rank is WeliRank.TOP else ace - 1))


def strongest(trick: tuple[tuple[int, Card], ...], order: CardOrder) -> tuple[int, Card]:
    """The play that wins a trick as it lies: (seat, card). The trick is not empty."""
    best = trick[0]
    for play in trick[1:]:
        if beats(play[1], best[1], order):
            best = play
    return best


def beats(card: Card, best: Card, order: CardOrder) -> bool:
    """Whether `card`, played later, beats the best card of a trick so far."""
    suit = order.suits[card]
    return (suit == TRUMPS or suit == order.suits[best]) and order.strengths[card] > order.strengths[best]


def legal_cards(
    hand: tuple[Card, ...], led: Card | None, best: Card | None, order: CardOrder, *, must_head: bool
) -> tuple[Card, ...]:
    """The cards of a hand that may be played, in index order (`rules.md` §10).

    Args:
        hand: in index order.
        led: the first card of the trick; None for the leader.
        best: the card that wins the trick so far; None for the leader.
        order: the cards under the present trumps.
        must_head: whether plain suits too must be headed.
    """
    if led is None or best is None:
        return hand
    suits, strengths = order.suits, order.strengths
    suit, top = suits[led], strengths[best]
    trumped = top >= TRUMP_STRENGTH
    candidates = tuple([card for card in hand if suits[card] == suit])
    if candidates:
        # A plain suit that has been ruffed can no longer be headed in that suit.
        if suit != TRUMPS and (trumped or not must_head):
            return candidates
    else:
        candidates = tuple([card for card in hand if suits[card] == TRUMPS])
    higher = tuple([card for card in candidates if strengths[card] > top])
    return higher or candidates or hand
