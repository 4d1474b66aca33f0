from arena.clock import US_PER_SECOND, ManualTime
from arena.pace import Pace
from arena.results import SlotCounts
from arena.tally import Tally
from tests.arena.sessions import Table, play


def finish(tally: Tally, pace: Pace, time: ManualTime, *, after_s: int) -> None:
    """Count a session in that ended so much later."""
    time.advance_us(after_s * US_PER_SECOND)
    tally.add(play(Table()).result)
    pace.session_finished()


def test_the_time_in_which_bots_start_makes_nothing_slow() -> None:
    """Decisions a second and the time left count from when the bots were there to the latest end."""
    time, tally = ManualTime(), Tally(SlotCounts(finished=0, void=1, open=3))
    pace = Pace(time, tally)
    time.advance_us(60 * US_PER_SECOND)
    assert (pace.decisions_per_second, pace.remaining_ms) == (0, None)
    pace.begin()
    time.advance_us(US_PER_SECOND)
    assert (pace.decisions_per_second, pace.remaining_ms) == (0, None)
    finish(tally, pace, time, after_s=1)
    assert pace.decisions_per_second == tally.decision_count / 2
    assert pace.remaining_ms == 4000
    time.advance_us(3 * US_PER_SECOND)
    assert pace.decisions_per_second == tally.decision_count / 2
    assert pace.remaining_ms == 1000
    time.advance_us(3 * US_PER_SECOND)
    assert pace.remaining_ms == 0


def test_what_was_played_before_a_stop_does_not_count() -> None:
    """A tournament that is gone on with has a pace of its own."""
    before = play(Table()).result
    time, tally = ManualTime(), Tally(SlotCounts(finished=1, void=0, open=2), [before])
    pace = Pace(time, tally)
    pace.begin()
    finish(tally, pace, time, after_s=1)
    assert pace.decisions_per_second == tally.decision_count / 2
    assert pace.remaining_ms == 1000
