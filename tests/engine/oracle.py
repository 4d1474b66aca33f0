"""The rules of play once more, word by word and slowly, on canonical texts (`rules.md` §1, §10).

Written from the rules and sharing nothing with `engine.trick`: no strengths, no card numbers.
Here a trick is won and a card is legal because the sentence that says so is found to hold.
"""

from dataclasses import dataclass

PLAIN_ORDER = "789TUOKA"
TRUMP_ORDERS = {"second": "789TUOK6A", "top": "789TUOKA6"}


@dataclass(frozen=True)
class Oracle:
    """What may be played and who wins, under one trump suit and two options."""

    trump: str
    weli_rank: str
    must_head: bool

    def is_trump(self, card: str) -> bool:
        """The Weli is always a trump."""
        return card == "S6" or card[0] == self.trump

    def is_higher_trump(self, card: str, other: str) -> bool:
        """Whether one trump stands above another."""
        order = TRUMP_ORDERS[self.weli_rank]
        return order.index(card[1]) > order.index(other[1])

    def winner(self, trick: list[str]) -> str:
        """The highest trump, or else the highest card of the suit led."""
        trumps = [card for card in trick if self.is_trump(card)]
        best = trumps[0] if trumps else trick[0]
        for card in trumps or trick:
            if trumps:
                best = card if self.is_higher_trump(card, best) else best
            elif card[0] == trick[0][0]:
                best = card if PLAIN_ORDER.index(card[1]) > PLAIN_ORDER.index(best[1]) else best
        return best

    def legal(self, hand: list[str], trick: list[str]) -> list[str]:
        """What may be played to a trick; all of the hand may be led."""
        if not trick:
            return hand
        trumps = [card for card in hand if self.is_trump(card)]
        trumps_on_trick = [card for card in trick if self.is_trump(card)]
        if self.is_trump(trick[0]):
            return self._trumps(trumps, trumps_on_trick) or hand
        following = [card for card in hand if card[0] == trick[0][0] and card != "S6"]
        if following:
            if self.must_head and not trumps_on_trick:
                best = self.winner(trick)
                heading = [
                    card for card in following if PLAIN_ORDER.index(card[1]) > PLAIN_ORDER.index(best[1])
                ]
                return heading or following
            return following
        return self._trumps(trumps, trumps_on_trick) or hand

    def _trumps(self, trumps: list[str], on_trick: list[str]) -> list[str]:
        """Trumps must be played, higher ones than all on the trick if there are any."""
        higher = [card for card in trumps if all(self.is_higher_trump(card, other) for other in on_trick)]
        return higher or trumps
