"""Rules of thumb about cards and chips."""

import pytest
from hypothesis import given

from engine.actions import Call, DecisionKind
from engine.cards import Suit, card_text
from engine.events import DealSettled
from engine.rules import WeliRank
from engine.trick import card_order
from sample_bots.judgement import (
    likely_tricks,
    penalty_of,
    quick_card,
    tricks_by_card,
    weakest_first,
)
from tests.engine.playing import CASES, Case
from tests.engine.positions import cards
from tests.sample_bots.asking import positions

LEAVES = card_order(Suit.LEAVES, WeliRank.SECOND)


@pytest.mark.parametrize("weli_rank", WeliRank)
def test_a_stronger_card_is_never_worth_less(weli_rank: WeliRank) -> None:
    """Among trumps, and in a plain suit, tricks that a card is good for grow with its strength."""
    order = card_order(Suit.BELLS, weli_rank)
    worth = tricks_by_card(order)
    trumps = weakest_first(cards("S7 S8 S9 ST SU SO SK SA S6"), order)
    plain = cards("E7 E8 E9 ET EU EO EK EA")
    for ascending in (trumps, plain):
        assert [worth[card] for card in ascending] == sorted([worth[card] for card in ascending])
    assert min(worth[card] for card in trumps) > 0 == worth[plain[0]]


def test_few_rivals_leave_more_tricks() -> None:
    """The same hand is good for more tricks against two others than against three."""
    hand = cards("LK EA E9 H7")
    assert likely_tricks(hand, LEAVES, 2) > likely_tricks(hand, LEAVES, 3)


@pytest.mark.parametrize(
    ("legal", "trick", "is_last", "is_bettler", "played"),
    [
        ("E9 EA L7", "", False, False, "L7"),
        ("E9 EA L7", "", False, True, "E9"),
        ("E8 EK EA", "ET", False, False, "EA"),
        ("E8 EK EA", "ET", True, False, "EK"),
        ("E8 E9", "ET", False, False, "E8"),
        ("L8 LA", "ET", False, False, "L8"),
        ("LO LA", "LT", False, False, "LA"),
        ("H8 SK", "ET", True, False, "H8"),
        ("E8 E9 EK", "ET", False, True, "E9"),
        ("EK EA", "ET", False, True, "EK"),
        ("EK EA", "ET", True, True, "EA"),
    ],
)
def test_quick_card(legal: str, trick: str, is_last: bool, is_bettler: bool, played: str) -> None:
    """Leaves are trumps: tricks are taken cheaply where that is safe, and shunned by a bettler."""
    led = cards(trick)[0] if trick else None
    card = quick_card(cards(legal), led, led, LEAVES, is_last=is_last, is_bettler=is_bettler)
    assert card_text(card) == played


@given(CASES)
def test_the_penalty_is_what_the_settlement_takes(case: Case) -> None:
    """What a player fears before the settlement is what it pays when it fails, unless it has not as much."""
    feared: dict[int, int] = {}
    told = 0
    for session, view in positions(case):
        settled = [event for event in session.events[told:] if isinstance(event, DealSettled)]
        told = len(session.events)
        for event in settled:
            for seat in feared.keys() & set(event.failed):
                assert event.penalties[seat] == feared[seat] or event.stacks[seat] == 0
        if settled:
            feared = {}
        decision = session.decision
        is_bettler = (view.seat, Call.BETTLER) in view.declarations
        if decision is not None and decision.kind is DecisionKind.PLAY and not is_bettler:
            feared[view.seat] = penalty_of(view)
