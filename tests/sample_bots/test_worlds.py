"""Worlds for the sampling bot: unlike the real one, but not for the seat that imagines them."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from engine.cards import card_text
from engine.rules import PRESETS, DealKind
from engine.view import view_of
from sample_bots.memory import possible_cards
from sample_bots.worlds import hidden_hands, worlds
from tests.engine.playing import CASES, Case, generator
from tests.engine.positions import deal_with
from tests.sample_bots.asking import positions

WORLDS = 2
"""For each decision."""


@given(CASES, st.integers(0, 3))
def test_a_world_is_what_the_seat_sees(case: Case, first: int) -> None:
    """Under any options a world has every card once, looks the same to the seat, and is possible."""
    for session, view in islice(positions(case), first, None, 4):
        assert session.decision is not None
        possible = possible_cards(view)
        for world in islice(worlds(view, session.decision.legal, generator(first)), WORLDS):
            world.check_cards()
            assert view_of(world, view.seat) == view
            assert world.decision == session.decision
            for seat, cards_held in possible.items():
                assert cards_held.issuperset(world.hands[seat])


def test_worlds_differ_and_repeat() -> None:
    """One world after the other deals other cards; the same generator deals the same ones again."""
    deal = deal_with(PRESETS["tavern"], {1: "LA LK"}, "L8")
    assert deal.decision is not None
    view, legal = view_of(deal, 1), deal.decision.legal
    first, again = [
        [world.hands for world in islice(worlds(view, legal, generator(1)), 20)] for _ in range(2)
    ]
    assert first == again
    assert len({tuple(hands) for hands in first}) == 20


def test_a_shown_trump_stays_where_it_went() -> None:
    """The turned trump that the dealer took is in the dealer's hand in every world until it is played."""
    deal = deal_with(PRESETS["salzburg"], {0: "LA L9"}, "LK", kind=DealKind.MUSS)
    view = view_of(deal, 1)
    (dealer,) = [hand for hand in hidden_hands(view) if hand.seat == 0]
    assert [card_text(card) for card in dealer.shown] == ["LK"]
