"""Trick play: what beats what, what must be played, who wins (`rules.md` §1, §10).

One table of strengths serves the legal cards and the winner alike, so that the two cannot
disagree. Nothing here knows seats in play order, chips or phases.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from engine.cards import PACK_SIZE, Card, Rank, Suit
from engine.rules import WeliRank

TRUMPS: Final = 4
"""The suit number of every trump, the Weli included."""

TRUMP_STRENGTH: Final = 16
"""Every trump is at least this strong, every plain card weaker."""


Duties: TypeAlias = tuple[frozenset[Card], ...]
"""What a seat owes a trick: a card of the first of these sets of which it holds one, else any card."""


@dataclass(frozen=True, slots=True, eq=False)
class CardOrder:
    """What the 33 cards are in play under one trump suit; `card_order` makes the one of each kind.

    `suits[card]` is the suit a card belongs to (0..3, or `TRUMPS`); `strengths[card]`
    orders the cards of one suit, and every trump above every plain card;
    `beaten_by[card]` are the cards that take a trick from it when they are played later;
    `duties[must_head][suit led][best card]` is what `legal_cards` goes by.
    """

    suits: tuple[int, ...]
    strengths: tuple[int, ...]
    beaten_by: tuple[frozenset[Card], ...]
    duties: tuple[tuple[tuple[Duties, ...], ...], ...]


@cache
def card_order(trump: Suit | None, weli_rank: WeliRank) -> CardOrder:
    """The order of the cards under a trump suit; None when the Weli is the only trump (`rules.md` §1)."""
    suits: list[int] = []
    strengths: list[int] = []
    for card in range(PACK_SIZE - 1):
        suit, rank = divmod(card, 8)
        is_trump = suit == trump
        suits.append(TRUMPS if is_trump else suit)
        # Doubled, so that the Weli finds a place between two ranks.
        strengths.append(TRUMP_STRENGTH + 2 * rank if is_trump else rank)
    suits.append(TRUMPS)
    ace = TRUMP_STRENGTH + 2 * Rank.ACE
    strengths.append(ace + 1 if weli_rank is WeliRank.TOP else ace - 1)
    beaten_by = _beaten_by(suits, strengths)
    duties = tuple([_duties(suits, beaten_by, must_head) for must_head in (False, True)])
    return CardOrder(tuple(suits), tuple(strengths), beaten_by, duties)


def _beaten_by(suits: list[int], strengths: list[int]) -> tuple[frozenset[Card], ...]:
    def beats_it(card: Card, best: Card) -> bool:
        return suits[card] in (suits[best], TRUMPS) and strengths[card] > strengths[best]

    cards = range(PACK_SIZE)
    return tuple([frozenset([card for card in cards if beats_it(card, best)]) for best in cards])


def _duties(
    suits: list[int], beaten_by: tuple[frozenset[Card], ...], must_head: bool
) -> tuple[tuple[Duties, ...], ...]:
    """By the suit led and the best card so far: follow, else trump; and in doing so head, where one must."""
    cards = range(PACK_SIZE)
    of_suit = [frozenset([card for card in cards if suits[card] == suit]) for suit in range(TRUMPS + 1)]
    trumps = of_suit[TRUMPS]
    trumping = [(trumps & beaten_by[best], trumps) for best in cards]

    def owed(suit: int, best: Card) -> Duties:
        if suit == TRUMPS:
            return trumping[best]
        # A plain suit that has been ruffed can no longer be headed in that suit.
        heading = (of_suit[suit] & beaten_by[best],) if must_head and best not in trumps else ()
        return (*heading, of_suit[suit], *trumping[best])

    return tuple([tuple([owed(suit, best) for best in cards]) for suit in range(TRUMPS + 1)])


NO_TRUMPS: Final = card_order(None, WeliRank.SECOND)
"""The order of the cards while no suit is trumps."""


def strongest(trick: tuple[tuple[int, Card], ...], order: CardOrder) -> tuple[int, Card]:
    """The play that wins a trick as it lies: (seat, card). The trick is not empty."""
    best = trick[0]
    for play in trick[1:]:
        if beats(play[1], best[1], order):
            best = play
    return best


def beats(card: Card, best: Card, order: CardOrder) -> bool:
    """Whether `card`, played later, beats the best card of a trick so far."""
    return card in order.beaten_by[best]


def legal_cards(
    hand: tuple[Card, ...], led: Card | None, best: Card | None, order: CardOrder, must_head: bool
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
    for duty in order.duties[must_head][order.suits[led]][best]:
        if not duty.isdisjoint(hand):
            # A comprehension is a call of its own in Python 3.11, and this is asked for most cards.
            legal: tuple[Card, ...] = ()
            for card in hand:
                if card in duty:
                    legal += (card,)
            return legal
    return hand
