"""The answer for a seat that gave none, worked out by hand from the rules' words (`rules.md` §13)."""

from dataclasses import replace

import pytest

from engine.actions import Call, DecisionKind, Declare, Legal, Listed
from engine.deal import Deal
from engine.fallback import fallback
from engine.notation import action_text
from engine.rules import SALZBURG, TAVERN, DealKind, ExchangeMode, WeliRank
from engine.view import view_of
from tests.engine.positions import answer, deal_with

NO_CUT = replace(SALZBURG, cut_ritual=False)


def chosen(deal: Deal, kind: DecisionKind, legal: Legal | None = None) -> str:
    """The text of the fallback for whoever is asked, which is a question of this kind."""
    assert deal.decision is not None
    assert deal.decision.kind is kind
    view = view_of(deal, deal.decision.seat)
    return action_text(fallback(view, legal or deal.decision.legal))


@pytest.mark.parametrize(
    ("hand", "named"),
    [
        ("E7 E8 HK HA SA", "trump E"),
        ("L7 L8 HK HA EA", "trump L"),
        ("E7 E8 LO LK LA", "trump L"),
        ("EA LA HA S7 S8", "trump S"),
        ("EA LA H7 HK SA", "trump H"),
    ],
)
def test_the_longest_suit_is_named(hand: str, named: str) -> None:
    """Trumps are the suit of most cards, the first of equals; what the cards are worth does not matter."""
    assert chosen(deal_with(TAVERN, {0: hand}, "S6"), DecisionKind.TRUMP) == named


def test_nothing_is_bid() -> None:
    """In the auction the fallback passes, whatever was bid before."""
    deal = deal_with(NO_CUT, {0: "LA LK LO LU"}, "S8")
    assert chosen(deal, DecisionKind.BID) == "bid weiter"
    answer(deal, "bid weiter-oder")
    assert chosen(deal, DecisionKind.BID) == "bid weiter"


def test_a_hand_is_folded() -> None:
    """Who may fold does, also with the best of hands and when asked for the last word."""
    deal = deal_with(replace(TAVERN, last_say=True, bettler=True), {1: "LA S6 LK LO LU"}, "L8")
    assert chosen(deal, DecisionKind.DECLARE) == "fold"
    answer(deal, "last", "play")
    assert chosen(deal, DecisionKind.DECLARE) == "fold"


def test_a_hand_that_cannot_be_folded_is_played() -> None:
    """Where folding is not among the answers it is play, and never a promise."""
    deal = deal_with(TAVERN, {}, "L8")
    legal = Listed(DecisionKind.DECLARE, (Declare(Call.PLAY), Declare(Call.BETTLER)))
    assert chosen(deal, DecisionKind.DECLARE, legal) == "play"


@pytest.mark.parametrize("mode", [ExchangeMode.PAID, ExchangeMode.FREE])
def test_nothing_is_exchanged(mode: ExchangeMode) -> None:
    """No card is swapped, free or not."""
    deal = deal_with(replace(TAVERN, exchange=mode), {1: "E7 E8 H7 H8 S7"}, "L8")
    answer(deal, "play", "play")
    assert chosen(deal, DecisionKind.EXCHANGE) == "exchange"


@pytest.mark.parametrize(
    ("hand", "laid"),
    [
        ("E7 LK LA S8", "discard E7 S8"),
        ("E9 L9 S9 SK", "discard E9 L9"),
        ("EA HT HO HK", "discard EA H9"),
        ("EK LA S7 HA", "discard EK S7"),
        ("HT HU HO HA", "discard H9 HT"),
    ],
)
def test_the_cheapest_two_are_laid_away(hand: str, laid: str) -> None:
    """Plain cards before trumps, the lowest rank first, then the lowest index; named in index order."""
    deal = deal_with(NO_CUT, {0: hand}, "S6 H9", kind=DealKind.MUSS)
    assert chosen(deal, DecisionKind.DISCARD) == laid


@pytest.mark.parametrize(
    ("hand", "card"),
    [
        ("EA LK H9 S9 S6", "card H9"),
        ("L7 E8 HA S7 S6", "card S7"),
        ("E7 H7 S7 SA LA", "card E7"),
        ("L9 LT LU LA S6", "card L9"),
    ],
)
def test_the_cheapest_card_is_led(hand: str, card: str) -> None:
    """Plain cards before trumps, by rank, then by index, where every card may be played."""
    deal = deal_with(TAVERN, {1: hand}, "L8", kind=DealKind.MUSS)
    assert chosen(deal, DecisionKind.PLAY) == card


@pytest.mark.parametrize(("weli_rank", "card"), [(WeliRank.SECOND, "card S6"), (WeliRank.TOP, "card LA")])
def test_the_weli_ranks_as_in_trumps(weli_rank: WeliRank, card: str) -> None:
    """Of the Weli and the Ace of trumps, which alone beat the King, the lower one is played."""
    ruleset = replace(TAVERN, weli_rank=weli_rank)
    deal = deal_with(ruleset, {1: "LK", 2: "L7 LA S6 E7 E8"}, "L8", kind=DealKind.MUSS)
    answer(deal, "card LK")
    assert chosen(deal, DecisionKind.PLAY) == card
