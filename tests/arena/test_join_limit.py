"""The join limit on its edge, in a time that the test moves: nobody waits for real."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import pytest

from arena.clock import US_PER_SECOND, ManualTime
from arena.lag import BEAT_US, Alarm, Heartbeat, beat_forever, limited
from arena.lobby import Lobby
from tests.arena.bots import LinkedBot

JOIN_S = 30.0
MICROSECOND_S = 1e-6
BEAT_S = BEAT_US / US_PER_SECOND
PAUSE_S = 10.0

T = TypeVar("T")


class LoopTime(ManualTime):
    """The time of a `ManualLoop`, as the arena asks for it."""

    def __init__(self) -> None:
        super().__init__()
        self.heartbeat = Heartbeat(0)

    def now_us(self) -> int:
        """Microseconds since the loop was made."""
        return round(asyncio.get_running_loop().time() * US_PER_SECOND)


class ManualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time stands still while there is anything to do, and then goes to what is due."""

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now_s

    def stand_still(self, for_s: float) -> None:
        """Let time pass in which nothing is done."""
        self._now_s += for_s

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._now_s = max(self._now_s, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def run_in_manual_time(work: Coroutine[object, object, T], *, pause_at_s: float | None = None) -> T:
    """Run something to its end in a loop of its own, which stands still for `PAUSE_S` at some moment."""
    loop = ManualLoop()
    if pause_at_s is not None:
        loop.call_at(pause_at_s, loop.stand_still, PAUSE_S)
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


async def absent_when_one_comes_at(come_s: float) -> tuple[tuple[str, ...], float]:
    """Who is absent when the second of two bots comes at a moment, and when that was known."""
    time, loop = LoopTime(), asyncio.get_running_loop()
    lobby = Lobby(time, arena_version="0", spared_us=time.heartbeat.spared_us)
    beat = asyncio.create_task(beat_forever(time.heartbeat, time))
    LinkedBot(lobby.member("early"))
    loop.call_at(come_s, lambda: LinkedBot(lobby.member("late")))
    try:
        return await lobby.wait_for(("early", "late"), JOIN_S), loop.time()
    finally:
        beat.cancel()


@pytest.mark.parametrize(
    ("come_s", "absent"),
    [
        (0.0, ()),
        (JOIN_S - MICROSECOND_S, ()),
        (JOIN_S + MICROSECOND_S, ("late",)),
        (10 * JOIN_S, ("late",)),
    ],
)
def test_a_microsecond_decides(come_s: float, absent: tuple[str, ...]) -> None:
    """A bot is in when it comes before the limit, and absent when it comes after it; nobody waits longer."""
    found, known_s = run_in_manual_time(absent_when_one_comes_at(come_s))
    assert found == absent
    assert known_s == pytest.approx(min(come_s, JOIN_S), abs=MICROSECOND_S)


@pytest.mark.parametrize("pause_at_s", [0.0, 25.0, JOIN_S - 0.001])
@pytest.mark.parametrize("before_s", [PAUSE_S - 0.002, MICROSECOND_S])
def test_a_pause_of_the_arena_is_not_taken_from_the_limit(pause_at_s: float, before_s: float) -> None:
    """Who comes while it stands still, or afterwards within what was left of the limit, is in."""
    come_s = JOIN_S + PAUSE_S - before_s
    found, _ = run_in_manual_time(absent_when_one_comes_at(come_s), pause_at_s=pause_at_s)
    assert found == ()


def test_after_a_pause_the_limit_holds_all_the_same() -> None:
    """Who comes a beat after what was left of it is absent, and that is known by then."""
    come_s = JOIN_S + PAUSE_S + BEAT_S + MICROSECOND_S
    found, known_s = run_in_manual_time(absent_when_one_comes_at(come_s), pause_at_s=25.0)
    assert found == ("late",)
    assert JOIN_S + PAUSE_S <= known_s <= JOIN_S + PAUSE_S + BEAT_S + MICROSECOND_S


async def absent_from_an_offer(since_us: int) -> tuple[tuple[str, ...], float]:
    """Who is absent from an offer of a moment that may be past, when nobody comes; when that was known."""
    lobby, loop = Lobby(LoopTime(), arena_version="0"), asyncio.get_running_loop()
    return await lobby.wait_for(("late",), JOIN_S, since_us=since_us), loop.time()


@pytest.mark.parametrize("past_s", [0, 1, 30, 31])
def test_a_limit_that_runs_already_is_not_begun_anew(past_s: int) -> None:
    """What is left of it is waited for, which may be nothing."""
    absent, known_s = run_in_manual_time(absent_from_an_offer(-past_s * US_PER_SECOND))
    assert absent == ("late",)
    assert known_s == max(0, JOIN_S - past_s)


async def rung_at(*, cancelled: bool) -> list[float]:
    """When an alarm for `JOIN_S` rings, if it is not cancelled."""
    time, loop, rung = LoopTime(), asyncio.get_running_loop(), list[float]()
    patience = Lobby(time, arena_version="0", spared_us=time.heartbeat.spared_us).patience
    beat = asyncio.create_task(beat_forever(time.heartbeat, time))
    alarm = Alarm(patience, int(JOIN_S) * US_PER_SECOND, lambda: rung.append(loop.time()))
    if cancelled:
        alarm.cancel()
    over = asyncio.Event()
    loop.call_at(2 * JOIN_S, over.set)
    await over.wait()
    beat.cancel()
    return rung


def test_an_alarm_rings_once_and_later_by_what_the_arena_was_late_by() -> None:
    """The time for Hello is over when the bot has had all of it."""
    (at_s,) = run_in_manual_time(rung_at(cancelled=False), pause_at_s=25.0)
    assert JOIN_S + PAUSE_S <= at_s <= JOIN_S + PAUSE_S + BEAT_S + MICROSECOND_S


def test_an_alarm_that_was_cancelled_does_not_ring() -> None:
    """Nor after a pause."""
    assert run_in_manual_time(rung_at(cancelled=True), pause_at_s=25.0) == []


async def is_in_time(takes_s: float) -> bool:
    """Whether something that takes so long is done within `JOIN_S`."""
    time, loop, done = LoopTime(), asyncio.get_running_loop(), asyncio.Event()
    patience = Lobby(time, arena_version="0", spared_us=time.heartbeat.spared_us).patience
    beat = asyncio.create_task(beat_forever(time.heartbeat, time))
    loop.call_at(takes_s, done.set)
    try:
        async with limited(patience, int(JOIN_S) * US_PER_SECOND):
            await done.wait()
    except TimeoutError:
        return False
    finally:
        beat.cancel()
    return True


@pytest.mark.parametrize(
    ("takes_s", "pause_at_s", "in_time"),
    [(29, None, True), (31, None, False), (31, 25.0, True), (39, 25.0, True), (41, 25.0, False)],
)
def test_what_is_limited_has_its_time_without_the_pauses(
    takes_s: float, pause_at_s: float | None, in_time: bool
) -> None:
    """A batch that was not taken while the arena stood still is not held against who reads."""
    assert run_in_manual_time(is_in_time(takes_s), pause_at_s=pause_at_s) is in_time
