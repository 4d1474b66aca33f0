"""The cautious bot does what the advice says."""

from dataclasses import replace

import pytest

from engine.cards import Seat
from engine.deal import Deal
from engine.notation import action_text
from engine.rules import PRESETS, DealKind, ExchangeMode, FirstLead
from sample_bots.cautious_bot import CautiousBot
from tests.engine.positions import answer, deal_with
from tests.sample_bots.asking import request_for

TAVERN, SALZBURG = PRESETS["tavern"], PRESETS["salzburg"]
TWO_TRICKS = "LA LU E7 H8 H9"
"""With leaves as trumps; worth just two."""
ONE_TRICK = "LT EA E7 H8 H9"


def choice(deal: Deal) -> str:
    """What the bot answers where the deal stands."""
    return action_text(CautiousBot().decide(request_for(deal)))


@pytest.mark.parametrize(
    ("hand", "players", "pot", "called"),
    [
        ("LU E7 H8 H9 HT", 5, 0, "fold"),
        (ONE_TRICK, 5, 0, "fold"),
        (TWO_TRICKS, 5, 0, "play"),
        (ONE_TRICK, 3, 0, "play"),
        (ONE_TRICK, 5, 100, "play"),
        ("E7 E8 H8 H9 HT", 3, 1000, "fold"),
    ],
)
def test_folding(hand: str, players: int, pot: int, called: str) -> None:
    """It takes two likely tricks against four; fewer against fewer or for a fat pot, but never none."""
    deal = deal_with(TAVERN, {1: hand}, "L8", players=players, pot=pot)
    assert choice(deal) == called


def test_the_last_word_is_claimed() -> None:
    """Who may speak last does, and learns who is in."""
    deal = deal_with(replace(TAVERN, last_say=True), {1: TWO_TRICKS}, "L8")
    assert choice(deal) == "last"


@pytest.mark.parametrize(("bonus", "called"), [(20, "bettler"), (10, "fold")])
def test_a_hopeless_hand_promises_nothing(bonus: int, called: str) -> None:
    """A hand that can hardly win a trick is a bettler's, if the bonus is worth the risk of the pot."""
    ruleset = replace(TAVERN, bettler=True, bettler_bonus=bonus)
    assert choice(deal_with(ruleset, {1: "E7 E8 H8 H9 S7"}, "L8")) == called


@pytest.mark.parametrize(
    ("first_lead", "leader", "played"),
    [(FirstLead.STRIKER, 0, "card LU"), (FirstLead.FOREHAND, 1, "card EA")],
)
def test_leads(first_lead: FirstLead, leader: Seat, played: str) -> None:
    """The striker draws trumps and keeps the Weli; others lead a plain Ace first."""
    ruleset = replace(TAVERN, first_lead=first_lead)
    deal = deal_with(ruleset, {leader: "LU EA H8 S6 E9"}, "L8")
    answer(deal, "play", "play")
    assert choice(deal) == played


@pytest.mark.parametrize(
    ("kind", "calls", "played"),
    [(DealKind.NORMAL, ("play", "play"), "card LU"), (DealKind.MUSS, (), "card S6")],
)
def test_the_weli_waits(kind: DealKind, calls: tuple[str, ...], played: str) -> None:
    """The Weli is kept while another card will do, but in a Muss not before the first trick is won."""
    deal = deal_with(TAVERN, {1: "LT H7 H8", 2: "S6 LU E7 E8 E9"}, "L8", kind=kind)
    answer(deal, *calls, "card LT")
    assert choice(deal) == played


@pytest.mark.parametrize(("ante", "exchanged"), [(10, "exchange"), (100, "exchange E7 H8")])
def test_a_paid_exchange_must_be_worth_its_fee(ante: int, exchanged: str) -> None:
    """Cards are bought when the pot is worth it: the lowest first, never for a trump or an Ace."""
    ruleset = replace(TAVERN, exchange=ExchangeMode.PAID, ante=ante)
    deal = deal_with(ruleset, {1: "L7 EA E7 H8 H9"}, "L8")
    answer(deal, "play", "play")
    assert choice(deal) == exchanged


def test_a_free_exchange_leaves_trumps_and_aces() -> None:
    """When it costs nothing all other cards go; then the worst are laid away."""
    deal = deal_with(SALZBURG, {1: "L9 EA E7 H8", 0: "LA EO"}, "LK")
    answer(deal, "bid schlagen", "play", "play")
    assert choice(deal) == "exchange E7 H8"


def test_the_dealer_lays_the_worst_away() -> None:
    """With one card too many the lowest plain card goes."""
    deal = deal_with(SALZBURG, {0: "LA EK E8 H9"}, "LK", kind=DealKind.MUSS)
    assert choice(deal) == "discard E8"


@pytest.mark.parametrize(
    ("seat", "hand", "bid"),
    [
        (0, "L9 LU E7 H8", "bid weiter"),
        (0, "EA EK EO EU", "bid oder"),
        (1, "LA LO LU L9", "bid schlagen"),
        (1, "LA L9 E7 E8", "bid weiter"),
    ],
)
def test_bids(seat: Seat, hand: str, bid: str) -> None:
    """The dealer bids for better trumps; whoever need not strike outbids only with tricks to spare."""
    deal = deal_with(SALZBURG, {seat: hand}, "LK")
    answer(deal, *["bid weiter"] * seat)
    assert choice(deal) == bid


def test_the_longest_strongest_suit_is_named() -> None:
    """After a turned Weli the dealer names the suit that promises most tricks."""
    deal = deal_with(TAVERN, {0: "EA EK E9 H8 S7"}, "S6")
    assert choice(deal) == "trump E"


def test_a_bettler_throws_high_cards_that_lose() -> None:
    """Who promised no trick gets rid of the highest card that does not win."""
    ruleset = replace(TAVERN, bettler=True)
    deal = deal_with(ruleset, {1: "ET E9 H7", 2: "E8 EU E7 H9 HT"}, "L8")
    answer(deal, "play", "bettler", "card ET")
    assert choice(deal) == "card E8"
