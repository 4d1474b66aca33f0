"""A bot that follows the advice given to beginners, and remembers nothing.

Fold with fewer than two likely tricks; count who is in; chase a fat pot; draw trumps early as the
striker; keep the Weli for a trick that matters; in a Muss see to one trick first.
"""

from collections.abc import Iterable
from typing import Final

from engine.actions import (
    PLAYS,
    Action,
    Bid,
    Call,
    Contract,
    DecisionKind,
    Declare,
    Legal,
    Listed,
    NameTrump,
    Subsets,
)
from engine.cards import WELI, Card, Rank, Suit, rank_of
from engine.rules import DealKind, ExchangeMode, OderMeaning
from engine.trick import TRUMPS, card_order, strongest
from engine.view import View
from kratzen.sdk import Bot, Request, run
from sample_bots.basics import answer_with, cards_of
from sample_bots.judgement import (
    is_bettler,
    likely_tricks,
    order_of,
    penalty_of,
    quick_card,
    share_of,
    weakest_first,
)

TRICKS_TO_PLAY: Final = 2.0
"""Likely tricks that it takes to play against four in a usual pot."""

FULL_TABLE: Final = 4
TRICKS_A_RIVAL: Final = 0.5
"""Likely tricks that each rival short of a full table saves."""

USUAL_POT: Final = 2
"""A pot that is worth so many penalties is nothing special."""
TRICKS_A_POT: Final = 0.5
"""Likely tricks that each further pot of that size saves."""

FEWEST_TRICKS: Final = 0.5
"""With less nobody should play, whatever is to be won."""

SURE_STRIKER: Final = 1.0
"""Likely tricks above the quota that it takes to outbid others."""

BETTER_SUIT: Final = 0.25
"""Likely tricks that other trumps must promise to a dealer who may have to strike anyway."""

SECOND_EXCHANGE: Final = 0.5
"""Likely tricks that another exchange is good for."""

NEW_CARD: Final = 0.25
"""Tricks that a card from the stock is good for."""


class CautiousBot(Bot):
    """Plays by the book; the same view gets the same answer."""

    name = "cautious"
    version = "1"

    def decide(self, request: Request) -> Action:
        """The answer to a request, which follows from the view alone."""
        return self.choose(request.view, request.legal)

    def choose(self, view: View, legal: Legal) -> Action:
        """One of the legal answers."""
        match legal:
            case Subsets(DecisionKind.EXCHANGE):
                return answer_with(legal, self.cards_to_exchange(view, legal))
            case Subsets():
                return answer_with(legal, self.worst_first(view, legal.hand)[: legal.least])
            case Listed(DecisionKind.TRUMP):
                return NameTrump(max(Suit, key=lambda suit: self.tricks_under(view, suit)))
            case Listed(DecisionKind.BID, actions):
                return Bid(self.contract(view, [bid.contract for bid in actions if isinstance(bid, Bid)]))
            case Listed(DecisionKind.DECLARE, actions):
                return Declare(self.call(view, [word.call for word in actions if isinstance(word, Declare)]))
            case Listed():
                return PLAYS[self.card(view, cards_of(legal))]

    def tricks_under(self, view: View, trump: Suit) -> float:
        """The tricks that the hand is good for if this suit is trumps."""
        return likely_tricks(view.hand, card_order(trump, view.ruleset.weli_rank), len(view.seats) - 1)

    def contract(self, view: View, contracts: list[Contract]) -> Contract:
        """The bid: whoever strikes owes more than the others, so that it takes a reason."""
        assert view.trump is not None
        now = self.tricks_under(view, view.trump)
        by_suit = [self.tricks_under(view, suit) for suit in Suit]
        elsewhere = (sum(by_suit) - now) / 3
        makes_new_suit = view.ruleset.oder is OderMeaning.NEW_SUIT
        tricks = {
            Contract.SCHLAGEN: now,
            Contract.ODER: elsewhere if makes_new_suit else now + SECOND_EXCHANGE,
            Contract.WEITER_ODER: sum(by_suit) / 4,
        }
        best = max(tricks.keys() & contracts, key=lambda contract: (tricks[contract], contract), default=None)
        if best is None:
            return Contract.WEITER
        # The dealer strikes anyway when nobody bids: to him only a better hand is a reason.
        enough = now + BETTER_SUIT if view.seat == view.dealer else view.ruleset.striker_quota + SURE_STRIKER
        return best if tricks[best] >= enough else Contract.WEITER

    def call(self, view: View, calls: list[Call]) -> Call:
        """The declaration. To speak last costs nothing and tells who is in."""
        if Call.LAST in calls:
            return Call.LAST
        if Call.BETTLER in calls and self.is_hopeless(view):
            return Call.BETTLER
        return Call.PLAY if self.is_worth_playing(view) else Call.FOLD

    def is_hopeless(self, view: View) -> bool:
        """Whether the hand is bad enough to promise no trick, and the bonus worth the risk of the pot."""
        top = weakest_first(view.hand, order_of(view))[-1]
        is_low = order_of(view).strengths[top] <= Rank.TEN
        return is_low and 2 * view.ruleset.bettler_bonus >= view.pot

    def is_worth_playing(self, view: View) -> bool:
        """Whether the hand has the likely tricks that it takes."""
        rival_count = len(view.active) - 1
        tricks = likely_tricks(view.hand, order_of(view), rival_count)
        extra_pots = max(0.0, view.pot / max(1, USUAL_POT * penalty_of(view)) - 1)
        needed = TRICKS_TO_PLAY - TRICKS_A_RIVAL * (FULL_TABLE - rival_count) - TRICKS_A_POT * extra_pots
        return tricks >= max(FEWEST_TRICKS, needed)

    def cards_to_exchange(self, view: View, legal: Subsets) -> list[Card]:
        """What is given back: all but trumps and Aces, unless it costs more than a new card is worth."""
        ruleset, order = view.ruleset, order_of(view)
        gain = NEW_CARD * (share_of(view) + penalty_of(view) / 2)
        if ruleset.exchange is ExchangeMode.PAID and gain < ruleset.exchange_fee:
            return []
        if is_bettler(view):
            unwanted = [card for card in legal.hand if order.strengths[card] > Rank.TEN]
        else:
            unwanted = [c for c in legal.hand if order.suits[c] != TRUMPS and rank_of(c) is not Rank.ACE]
        return self.worst_first(view, unwanted)[: legal.most]

    def worst_first(self, view: View, cards: Iterable[Card]) -> list[Card]:
        """Cards in the order in which this player would part with them."""
        ascending = weakest_first(cards, order_of(view))
        return ascending[::-1] if is_bettler(view) else ascending

    def card(self, view: View, cards: list[Card]) -> Card:
        """The card to play, out of the legal ones."""
        order, shuns_tricks = order_of(view), is_bettler(view)
        return quick_card(
            cards if shuns_tricks else self._sensible(view, cards),
            view.trick[0][1] if view.trick else None,
            strongest(view.trick, order)[1] if view.trick else None,
            order,
            is_last=len(view.trick) == len(view.active) - 1,
            is_bettler=shuns_tricks,
        )

    def _sensible(self, view: View, cards: list[Card]) -> list[Card]:
        """The cards that the advice leaves to choose from."""
        needs_a_trick = view.kind is not DealKind.NORMAL and not view.tricks_won[view.seat]
        if not needs_a_trick:
            # The duty to overtrump brings the Weli out where it wins; until then it can wait.
            cards = [card for card in cards if card != WELI] or cards
        if view.trick or view.seat == view.striker:
            return cards
        return [card for card in cards if rank_of(card) is Rank.ACE] or cards


if __name__ == "__main__":
    run(CautiousBot())
