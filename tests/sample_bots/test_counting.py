"""The counting bot remembers what has gone, and weighs chips."""

from dataclasses import replace

import pytest

from engine.notation import action_text
from engine.rules import PRESETS, DealKind
from sample_bots.cautious_bot import CautiousBot
from sample_bots.counting_bot import CountingBot, chance_of_no_trick
from tests.engine.positions import answer, deal_with
from tests.sample_bots.asking import request_for

TAVERN = PRESETS["tavern"]


def test_a_king_is_high_once_its_ace_is_gone() -> None:
    """Of two Kings the one is led whose Ace has been played, which the cautious bot does not know."""
    deal = deal_with(
        TAVERN, {1: "LA HK SK E7 E8", 2: "HA SU S9 E9 ET", 0: "L9 L7 HU HT EU"}, "L8", kind=DealKind.MUSS
    )
    answer(deal, "card LA", "card HA", "card L9")
    question = request_for(deal)
    assert action_text(CautiousBot().decide(question)) == "card SK"
    assert action_text(CountingBot().decide(question)) == "card HK"


@pytest.mark.parametrize(("limit", "called"), [(None, "fold"), (1, "play")])
def test_a_small_penalty_is_worth_the_risk(limit: int | None, called: str) -> None:
    """The same hand plays when a failure costs little and folds when it costs much."""
    ruleset = replace(TAVERN, penalty_limit=limit)
    deal = deal_with(ruleset, {1: "L7 E7 H8 H9 HT"}, "L8", players=4)
    assert action_text(CountingBot().decide(request_for(deal))) == called


def test_more_likely_tricks_leave_less_to_fear() -> None:
    """The chance to take no trick falls from certain towards none."""
    chances = [chance_of_no_trick(tricks / 4) for tricks in range(16)]
    assert chances[0] == 1.0
    assert chances == sorted(chances, reverse=True)
    assert chances[-1] < 0.01
