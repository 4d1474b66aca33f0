"""The answer that is played for a seat that gave none (`rules.md` §13).

It needs no more than a seat may know, so that a bot can use it as well as the arena.
"""

from engine.actions import (
    PLAYS,
    Action,
    Bid,
    Call,
    Contract,
    DecisionKind,
    Declare,
    Discard,
    Exchange,
    Legal,
    Listed,
    NameTrump,
    Play,
    Subsets,
)
from engine.cards import Card, Suit, suit_of
from engine.trick import card_order
from engine.view import View


def fallback(view: View, legal: Legal) -> Action:
    """The fallback for the seat of `view`, asked to choose from `legal`; always a legal answer."""
    match legal:
        case Subsets(DecisionKind.DISCARD, hand, least):
            return Discard(tuple(sorted(_cheapest_first(view, hand)[:least])))
        case Subsets():
            return Exchange(())
        case Listed(DecisionKind.TRUMP):
            return NameTrump(_longest_suit(view.hand))
        case Listed(DecisionKind.BID):
            return Bid(Contract.WEITER)
        case Listed(DecisionKind.DECLARE):
            fold = Declare(Call.FOLD)
            return fold if fold in legal else Declare(Call.PLAY)
        case _:
            cards = tuple([action.card for action in legal if isinstance(action, Play)])
            return PLAYS[_cheapest_first(view, cards)[0]]


def _longest_suit(hand: tuple[Card, ...]) -> Suit:
    """The suit of which a hand holds most cards; the lowest suit index on a tie."""
    suits = [suit_of(card) for card in hand]
    return max(Suit, key=lambda suit: (suits.count(suit), -suit))


def _cheapest_first(view: View, cards: tuple[Card, ...]) -> list[Card]:
    """Cards in the order in which they are given up: plain before trumps, by rank, then index."""
    assert view.trump is not None
    # Trumps are stronger than every plain card, so that the strength alone puts them last.
    strengths = card_order(view.trump, view.ruleset.weli_rank).strengths
    return sorted(cards, key=lambda card: (strengths[card], card))
