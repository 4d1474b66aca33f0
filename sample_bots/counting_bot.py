"""A bot that remembers what was played, and weighs chips where the cautious one counts tricks."""

from math import exp
from typing import Final

from engine.cards import Card
from engine.view import View
from kratzen.sdk import run
from sample_bots.cautious_bot import CautiousBot
from sample_bots.judgement import (
    is_bettler,
    likely_tricks,
    order_of,
    penalty_of,
    share_of,
    tricks_by_card,
)
from sample_bots.memory import chance_to_win, possible_cards

RIVALS_ARE_GOOD: Final = 0.9
"""Those who did not fold hold better cards than the rest: a hand is good for so much of its likely tricks."""

WORTH_KEEPING: Final = 0.4
"""How much of the tricks that a card is good for counts against playing it now."""


class CountingBot(CautiousBot):
    """Plays as the cautious bot does, but knows what is out and what a decision is worth."""

    name = "counting"
    version = "1"

    def is_worth_playing(self, view: View) -> bool:
        """Whether the shares to be won outweigh the penalty to be feared."""
        tricks = RIVALS_ARE_GOOD * likely_tricks(view.hand, order_of(view), len(view.active) - 1)
        return tricks * share_of(view) > chance_of_no_trick(tricks) * penalty_of(view)

    def card(self, view: View, cards: list[Card]) -> Card:
        """The card whose chance to take this trick most exceeds what it is good for later."""
        if is_bettler(view):
            return super().card(view, cards)
        order, possible = order_of(view), possible_cards(view)
        worth = tricks_by_card(order)
        return max(
            cards,
            key=lambda card: (
                chance_to_win(view, card, possible) - WORTH_KEEPING * worth[card],
                -order.strengths[card],
            ),
        )


def chance_of_no_trick(tricks: float) -> float:
    """The chance that a hand good for so many tricks takes none: a curve laid through counted deals."""
    return exp(-(tricks**1.5))


if __name__ == "__main__":
    run(CountingBot())
