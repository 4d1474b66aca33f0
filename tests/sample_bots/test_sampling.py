"""The sampling bot: its answers, its effort, its clock."""

import time
from dataclasses import replace

import pytest

from engine.actions import Action
from engine.deal import Deal
from engine.notation import action_text
from engine.rules import PRESETS, DealKind
from engine.view import View
from sample_bots.counting_bot import CountingBot
from sample_bots.sampling_bot import SamplingBot
from tests.engine.positions import answer, deal_with
from tests.sample_bots.asking import request_for

TAVERN, SALZBURG = PRESETS["tavern"], PRESETS["salzburg"]


class Counted(SamplingBot):
    """Counts the deals that it plays out."""

    count = 0

    def play_out(self, deal: Deal, action: Action, view: View) -> int:
        """One more."""
        self.count += 1
        return super().play_out(deal, action, view)


@pytest.mark.parametrize(("hand", "called"), [("LA LK LO EA E9", "play"), ("E7 E8 H8 H9 S7", "fold")])
def test_clear_hands(hand: str, called: str) -> None:
    """A hand that must win is played and one that cannot is folded, with a note of the chips in view."""
    deal = deal_with(replace(TAVERN, penalty_limit=20), {1: hand}, "L8", players=4)
    action, note = SamplingBot().decide(request_for(deal))
    assert action_text(action) == called
    assert "chips in" in note


@pytest.mark.parametrize(("texts", "playouts"), [((), 80), (("play", "play"), 75)])
def test_the_effort_is_fixed(texts: tuple[str, ...], playouts: int) -> None:
    """The number of deals follows from the number of answers alone; asked again, it does the same again."""
    deal = deal_with(TAVERN, {1: "LA LK E7 H8 S9"}, "L8")
    answer(deal, *texts)
    bot = Counted()
    first = bot.decide(request_for(deal))
    assert bot.count == playouts
    assert bot.decide(request_for(deal)) == first
    assert bot.count == 2 * playouts


def test_two_requests_are_sampled_apart() -> None:
    """The deals that are tried follow from the request, so that another one meets other deals."""
    deal = deal_with(TAVERN, {1: "LA LK EA E9 H8"}, "L8")
    notes = {SamplingBot().decide(request_for(deal, request_id))[1] for request_id in range(1, 6)}
    assert len(notes) > 1


def test_a_clock_that_leaves_time_changes_nothing() -> None:
    """With time enough the answer and its note are those of a bot without a clock."""
    deal = deal_with(SALZBURG, {1: "L9 EA E7 H8"}, "LK", kind=DealKind.MUSS)
    hour_s = 3600
    timed = request_for(deal, time_left_ms=hour_s * 1000, deadline_s=time.monotonic() + hour_s)
    assert SamplingBot().decide(timed) == SamplingBot().decide(request_for(deal))


@pytest.mark.parametrize(("time_left_ms", "until_deadline_s"), [(10_000, 0.1), (10_000, -5.0), (20, 0.001)])
def test_a_clock_that_runs_out_is_answered_by_the_book(time_left_ms: int, until_deadline_s: float) -> None:
    """When no more than the reserve is left nothing is tried: the counting bot's answer is given at once."""
    deal = deal_with(TAVERN, {1: "LA LK E7 H8 S9"}, "L8")
    deadline_s = time.monotonic() + until_deadline_s
    bot = Counted()
    action, note = bot.decide(request_for(deal, time_left_ms=time_left_ms, deadline_s=deadline_s))
    assert bot.count == 0
    assert action == CountingBot().decide(request_for(deal))
    assert note == "no time to try it"
