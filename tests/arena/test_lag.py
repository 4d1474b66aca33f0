"""How late the arena was, as its heartbeat tells."""

import pytest

from arena.clock import LATE_US
from arena.lag import BEAT_US, IN_TIME_US, MOST_DOUBT_US, PAUSE_US, Heartbeat

SHORT_US = PAUSE_US - 1
LONG_US = 2_000_000


def late_by(late_us: int) -> Heartbeat:
    """A heartbeat from 0 whose first beat came so late."""
    heartbeat = Heartbeat(0)
    heartbeat.beat(BEAT_US + late_us)
    return heartbeat


def test_a_loop_that_beats_in_time_is_not_late() -> None:
    """Between beats that come when they are due there is no lag."""
    heartbeat = late_by(0)
    assert heartbeat.lag_us(0, BEAT_US) == 0
    assert heartbeat.lag_us(0, 2 * BEAT_US) == 0


def test_a_beat_that_is_overdue_tells_the_lag_before_it_comes() -> None:
    """Something dealt with first after a stall waited as long as the beat did, if it was there so long."""
    heartbeat = Heartbeat(0)
    assert heartbeat.lag_us(0, BEAT_US + LONG_US) == LONG_US
    assert heartbeat.lag_us(BEAT_US + 5, BEAT_US + LONG_US) == LONG_US - 5


def test_right_after_a_late_beat_the_loop_still_works_off_what_waited() -> None:
    """A short lag holds until the next beat is due, and then no longer."""
    heartbeat = late_by(SHORT_US)
    assert heartbeat.lag_us(0, BEAT_US + SHORT_US + 1) == SHORT_US
    assert heartbeat.lag_us(0, 2 * BEAT_US + SHORT_US) == 0


def test_a_short_lag_is_forgotten_after_a_beat_in_time() -> None:
    """Nothing is left uncharged for a stall that is over."""
    heartbeat = late_by(SHORT_US)
    heartbeat.beat(2 * BEAT_US + SHORT_US)
    assert heartbeat.lag_us(0, 2 * BEAT_US + SHORT_US + 1) == 0


@pytest.mark.parametrize("late_us", [SHORT_US, LONG_US])
def test_what_began_after_a_lag_lost_nothing_to_it(late_us: int) -> None:
    """A request that was handed over once the loop was back is charged in full."""
    heartbeat = late_by(late_us)
    back_us = BEAT_US + late_us
    assert heartbeat.lag_us(back_us, back_us + 5) == 0
    assert heartbeat.lag_us(back_us - 3, back_us + 5) == 3


def test_a_pause_counts_for_all_that_was_waited_for_meanwhile() -> None:
    """However long it takes to work off what piled up, or to send what was held back."""
    heartbeat = late_by(LONG_US)
    now_us = BEAT_US + LONG_US
    for _ in range(100):
        now_us += BEAT_US
        heartbeat.beat(now_us)
    assert heartbeat.lag_us(0, now_us) == LONG_US
    assert heartbeat.lag_us(BEAT_US + LONG_US // 2, now_us) == LONG_US // 2


def test_a_decision_of_minutes_is_spared_every_pause() -> None:
    """Many pauses ago was still within it."""
    heartbeat, now_us = Heartbeat(0), 0
    for _ in range(3000):
        now_us += BEAT_US + PAUSE_US
        heartbeat.beat(now_us)
    assert heartbeat.lag_us(0, now_us) == 3000 * PAUSE_US
    assert heartbeat.lag_us(now_us - 2 * (BEAT_US + PAUSE_US), now_us) == 2 * PAUSE_US


def test_pauses_add_up() -> None:
    """An arena that is throttled again and again does not charge any of it."""
    heartbeat, now_us = Heartbeat(0), 0
    for _ in range(10):
        now_us += BEAT_US + PAUSE_US
        heartbeat.beat(now_us)
    assert heartbeat.lag_us(0, now_us) == 10 * PAUSE_US


def test_one_late_beat_in_a_hundred_is_borne_and_two_are_not() -> None:
    """The arena takes on less once 1 beat in 100 is more than 20 ms late."""
    for late_beats, is_late in ((1, False), (2, True)):
        heartbeat, now_us = Heartbeat(0), 0
        for number in range(100):
            now_us += BEAT_US + (LATE_US + 1 if number < late_beats else 0)
            heartbeat.beat(now_us)
        assert heartbeat.is_late is is_late


def test_an_arena_that_has_just_begun_is_not_late() -> None:
    """Without a beat there is nothing to judge by, and with a few of them not enough: one says nothing."""
    heartbeat = Heartbeat(0)
    assert heartbeat.p99_us == 0
    heartbeat.beat(BEAT_US + LATE_US + 1)
    assert not heartbeat.is_late
    for number in range(1, 100):
        heartbeat.beat((number + 1) * (BEAT_US + LATE_US + 1))
        assert heartbeat.is_late is (number == 99)


def test_what_the_loop_waited_for_a_processor_is_open_to_doubt() -> None:
    """As the kernel counts it, from the beat before something was handed over until the last one."""
    heartbeat = Heartbeat(0, 700)
    for number, waited_us in enumerate((700, 800, 3_800, 3_900), start=1):
        heartbeat.beat(number * BEAT_US, waited_us)
    assert heartbeat.doubt_us(0, 4 * BEAT_US) == 3_200
    assert heartbeat.doubt_us(2 * BEAT_US, 4 * BEAT_US) == 3_100
    assert heartbeat.doubt_us(3 * BEAT_US - 1, 4 * BEAT_US) == 3_100
    assert heartbeat.doubt_us(3 * BEAT_US, 4 * BEAT_US) == 100
    assert heartbeat.doubt_us(5 * BEAT_US, 5 * BEAT_US) == 0


def test_doubt_has_a_limit() -> None:
    """However crowded a machine is, nobody gains more by it."""
    heartbeat = Heartbeat(0)
    heartbeat.beat(BEAT_US, 10 * MOST_DOUBT_US)
    assert heartbeat.doubt_us(0, BEAT_US) == MOST_DOUBT_US


def test_a_pause_makes_a_limit_longer_by_what_nobody_saw_of_it_too() -> None:
    """It may have begun a beat before one was missed: who is waited for gets that beat."""
    heartbeat = late_by(LONG_US)
    now_us = BEAT_US + LONG_US
    assert heartbeat.spared_us(0, now_us) == LONG_US + BEAT_US
    assert heartbeat.spared_us(now_us, now_us + 5) == 0
    # Never more than has passed: where there is no time to come, a pause gives none.
    assert heartbeat.spared_us(now_us - PAUSE_US, now_us) == PAUSE_US


def test_a_short_lag_makes_a_limit_longer_by_no_more_than_itself() -> None:
    """An arena that is busy does not wait a beat more for everybody."""
    assert late_by(SHORT_US).spared_us(0, BEAT_US + SHORT_US + 1) == SHORT_US


def test_what_a_loop_that_is_behind_is_busy_with_is_open_to_doubt() -> None:
    """An answer may have come right after the last beat in time, or after its request was handed over."""
    heartbeat, now_us = Heartbeat(0), BEAT_US
    heartbeat.beat(now_us)
    for _ in range(9):
        now_us += BEAT_US + IN_TIME_US + 1
        heartbeat.beat(now_us)
    assert heartbeat.doubt_us(0, now_us) == 8 * (BEAT_US + IN_TIME_US) + 9
    assert heartbeat.doubt_us(now_us - 50_000, now_us) == 50_000 - BEAT_US - IN_TIME_US
    heartbeat.beat(now_us + BEAT_US + IN_TIME_US)
    assert heartbeat.doubt_us(0, now_us + 2 * (BEAT_US + IN_TIME_US)) == 0


def test_while_the_loop_is_late_a_beat_more_is_open_to_doubt() -> None:
    """So late as the beats are that are late: of ten in a hundred, 30 ms."""
    heartbeat, now_us = Heartbeat(0), 0
    for number in range(100):
        now_us += BEAT_US + (30_000 if number < 10 else 0)
        heartbeat.beat(now_us)
    assert heartbeat.doubt_us(now_us - BEAT_US, now_us) == 30_000
