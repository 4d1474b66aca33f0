"""What can be known of the hidden hands."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given

from engine.cards import Card, Suit
from engine.rules import PRESETS, DealKind, Ruleset, WeliRank
from engine.trick import beats, card_order, legal_cards
from engine.view import view_of
from sample_bots.memory import chance_to_win, possible_cards
from tests.engine.playing import CASES, Case
from tests.engine.positions import answer, cards, deal_with
from tests.sample_bots.asking import positions

TAVERN = PRESETS["tavern"]
HEADING = replace(TAVERN, must_head=True)
LEAVES = card_order(Suit.LEAVES, WeliRank.SECOND)


@given(CASES)
def test_what_a_player_holds_is_never_ruled_out(case: Case) -> None:
    """Under any options the cards in a hidden hand are all among those thought possible."""
    for session, view in positions(case):
        for seat, possible in possible_cards(view).items():
            assert possible.issuperset(session.deal.hands[seat])


@pytest.mark.parametrize(
    ("ruleset", "lead", "hand", "played", "absent", "present"),
    [
        (TAVERN, "HT", "HK H8 E8 L9 S9", "card H8", "", "HU HK LA S6"),
        (HEADING, "HT", "H8 H7 E8 L9 S9", "card H8", "HU HO HK", "H7 LA S6"),
        (TAVERN, "HT", "L9 LT E8 S8 S9", "card L9", "H7 HU", "LA S6 E8"),
        (TAVERN, "HT", "E8 EK S8 S9 SU", "card EK", "H7 HU L7 LA S6", "E8 SK"),
        (TAVERN, "LT", "L9 L7 E8 S8 S9", "card L9", "LU LO LK LA S6", "L7 HU"),
        (TAVERN, "LT", "E8 EK S8 S9 SU", "card EK", "L7 LA S6", "H7 E7"),
    ],
)
def test_a_play_tells_what_its_player_lacks(
    ruleset: Ruleset, lead: str, hand: str, played: str, absent: str, present: str
) -> None:
    """Leaves are trumps; what would have made the card that was played illegal is ruled out, and no more."""
    own = "HA H9 EA SA ET"
    deal = deal_with(ruleset, {1: lead, 2: hand, 0: own}, "L8", kind=DealKind.MUSS)
    answer(deal, f"card {lead}", played)
    possible = possible_cards(view_of(deal, 0))[2]
    assert possible.isdisjoint(cards(absent))
    assert possible.issuperset(cards(present))


def test_own_and_played_cards_are_nobodys() -> None:
    """Cards that lie open, or in the player's own hand, are not thought to be elsewhere."""
    own = "HA H9 EA SA ET"
    deal = deal_with(TAVERN, {1: "HT", 2: "HK H8", 0: own}, "L8", kind=DealKind.MUSS)
    answer(deal, "card HT", "card HK")
    for possible in possible_cards(view_of(deal, 0)).values():
        assert possible.isdisjoint(cards(f"HT HK L8 {own}"))


def beaten_by(hand: tuple[Card, ...], card: Card, led: Card) -> bool:
    """Whether a player with this hand can beat `card`, which wins the trick that `led` began."""
    return any(beats(reply, card, LEAVES) for reply in legal_cards(hand, led, card, LEAVES, must_head=False))


@pytest.mark.parametrize("card", ["LA", "S6", "LK", "EA", "EK", "E9", "S7"])
def test_the_chance_of_a_lead_is_that_of_all_hands(card: str) -> None:
    """Against one rival the chance to win is the share of its possible hands that cannot beat the card."""
    hand = f"{card} H7 H8 H9 HT"
    deal = deal_with(TAVERN, {1: hand}, "L8", kind=DealKind.MUSS)
    view = view_of(deal, 1)
    (led,) = cards(card)
    rival = frozenset(cards("LA LO L7 S6 EK ET E7 SK S9 HA HO".replace(f"{card} ", "")))
    hands = list(combinations(sorted(rival), 5))
    unbeaten = [cards_held for cards_held in hands if not beaten_by(cards_held, led, led)]
    assert chance_to_win(view, led, {2: rival}) == pytest.approx(len(unbeaten) / len(hands))


def test_the_chance_against_several_is_that_against_each() -> None:
    """Rivals multiply; who has played to the trick already counts no more."""
    deal = deal_with(TAVERN, {1: "EK H7", 2: "E9 E8", 0: "EA ET"}, "L8", kind=DealKind.MUSS)
    view = view_of(deal, 1)
    (king,) = cards("EK")
    possible = possible_cards(view)
    against = {seat: chance_to_win(view, king, {seat: held}) for seat, held in possible.items()}
    assert chance_to_win(view, king, possible) == pytest.approx(against[2] * against[0])
    answer(deal, "card EK", "card E9")
    ace, ten = cards("EA ET")
    view = view_of(deal, 0)
    assert chance_to_win(view, ace, possible_cards(view)) == 1.0
    assert chance_to_win(view, ten, possible_cards(view)) == 0.0
