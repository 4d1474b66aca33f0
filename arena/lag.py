"""How late the arena's own event loop is, so that no bot is charged for it.

A heartbeat that is due at fixed times: when it comes late, whatever waited in between was
late as well. What a crowded machine does to the threads of the transport it cannot see; for
that it is told how long the loop's own thread had to wait for a processor. `Heartbeat` is
the arithmetic, handed its times; `beat_forever` the task. `Alarm` and `limited` are how
anything waits for others without holding a pause against them.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, NoReturn

from arena.clock import LATE_US, US_PER_SECOND, Patience, Time

BEAT_US: Final = 10_000

WINDOW_BEATS: Final = 500
"""Beats by which it is judged whether the loop is late: about five seconds."""

PAUSE_US: Final = BEAT_US
"""A beat that is late by as much as the time between two says that the arena stood still or could not
keep up, not just that it was busy."""

IN_TIME_US: Final = 5_000
"""A beat that is no later shows that the loop had dealt with all that had come before."""

MOST_DOUBT_US: Final = 500_000
"""More time than this nobody gains by an arena or a machine that has too much to do."""

_ENOUGH_BEATS: Final = 100
"""Of so many, one may be late."""

_KEPT_PAUSES: Final = 4096

_KEPT_WAITS: Final = 6000
"""Beats of a minute."""


class Heartbeat:
    """What the beats so far say about lateness.

    Short lateness delays what arrives while it lasts, and is forgotten soon after. A pause may
    have kept a request from its bot as well as an answer from us, and nobody can tell which:
    all of it counts for whoever was being waited for.
    """

    def __init__(self, now_us: int, waited_us: int = 0) -> None:
        """Begin; the arguments are those of `beat`."""
        self._last_us = now_us
        self._late_us = 0
        """By how much the last beat was late, unless that was a pause."""
        self._window: deque[int] = deque(maxlen=WINDOW_BEATS)
        self._pauses: deque[tuple[int, int]] = deque(maxlen=_KEPT_PAUSES)
        self._waits: deque[tuple[int, int]] = deque([(now_us, waited_us)], _KEPT_WAITS)
        self._in_time_us = now_us
        """When the last beat came that was in time."""

    @property
    def p99_us(self) -> int:
        """99 of the last 100 beats were no later than this; 0 before the first."""
        ordered = sorted(self._window)
        return ordered[-(-len(ordered) * 99 // 100) - 1] if ordered else 0

    @property
    def is_late(self) -> bool:
        """Whether the loop has more to do than it can in time: the arena takes on less then.

        Of fewer beats than a hundred nothing is said: one of them alone would do.
        """
        return len(self._window) >= _ENOUGH_BEATS and self.p99_us > LATE_US

    def beat(self, now_us: int, waited_us: int = 0) -> None:
        """A beat, `BEAT_US` after the last if all is well.

        Args:
            now_us: when it comes.
            waited_us: how long the loop's thread had to wait for a processor up to now, since it began.
        """
        self._waits.append((now_us, waited_us))
        due_us = self._last_us + BEAT_US
        self._late_us = max(0, now_us - due_us)
        self._window.append(self._late_us)
        if self._late_us <= IN_TIME_US:
            self._in_time_us = now_us
        if self._late_us >= PAUSE_US:
            self._pauses.append((due_us, now_us))
            self._late_us = 0
        self._last_us = now_us

    def lag_us(self, since_us: int, at_us: int) -> int:
        """How much of the time from `since_us` to `at_us`, when something is dealt with, was the arena's own.

        A beat that is overdue speaks for itself; shortly after a late beat the loop is still
        working off what had piled up with it.
        """
        due_us = self._last_us + BEAT_US
        if at_us < due_us:
            lag_us = _overlap_us(self._last_us - self._late_us, self._last_us, since_us, at_us)
        else:
            lag_us = _overlap_us(due_us, at_us, since_us, at_us)
        for begin_us, end_us in reversed(self._pauses):
            if end_us <= since_us:
                break
            lag_us += _overlap_us(begin_us, end_us, since_us, at_us)
        return lag_us

    def doubt_us(self, since_us: int, at_us: int) -> int:
        """How long what is dealt with at `at_us`, and was waited for since, may have waited here unseen.

        An answer that had come before a beat in time was dealt with by then: since that, it may have been
        among all that the loop was busy with. And before, it passed through threads of the transport, which
        wait for a processor as the loop's own thread does. While the loop is late, what is handed from one
        to the other may be as late as a beat. It is all this together, up to `MOST_DOUBT_US`.
        """
        busy_us = max(0, at_us - max(since_us, self._in_time_us) - BEAT_US - IN_TIME_US)
        late_us = self.p99_us if self.is_late else 0
        return min(busy_us + self._waited_us(since_us) + late_us, MOST_DOUBT_US)

    def _waited_us(self, since_us: int) -> int:
        """How long the loop's thread had to wait for a processor, from the beat before to the last one."""
        latest_us = first_us = self._waits[-1][1]
        for at_us, waited_us in reversed(self._waits):
            first_us = waited_us
            if at_us <= since_us:
                break
        return latest_us - first_us

    def spared_us(self, since_us: int, at_us: int) -> int:
        """By how much a limit from `since_us` on is longer at `at_us`, since the arena was late meanwhile.

        A pause is noticed by the first beat that does not come, and may have begun a whole beat before: a
        limit that ran out in between was not seen to run out.
        """
        lag_us = self.lag_us(since_us, at_us)
        return min(lag_us + BEAT_US, at_us - since_us) if lag_us >= PAUSE_US else lag_us


def _overlap_us(begin_us: int, end_us: int, since_us: int, at_us: int) -> int:
    return max(0, min(end_us, at_us) - max(begin_us, since_us))


async def beat_forever(heartbeat: Heartbeat, time: Time, waited_us: Callable[[], int] = int) -> NoReturn:
    """Beat until cancelled; `waited_us` says how long this thread had to wait for a processor so far."""
    while True:
        await asyncio.sleep(BEAT_US / US_PER_SECOND)
        heartbeat.beat(time.now_us(), waited_us())


class Alarm:
    """Rings once a limit is over, for which what the arena itself was late by does not count."""

    def __init__(
        self, patience: Patience, limit_us: int, ring: Callable[[], None], *, since_us: int | None = None
    ) -> None:
        """Set it, from `since_us` on or from now; it rings at once when the limit is over already."""
        self._patience = patience
        self._limit_us = limit_us
        self._ring = ring
        self._since_us = patience.time.now_us() if since_us is None else since_us
        self._next_look: asyncio.TimerHandle | None = None
        self._look()

    def cancel(self) -> None:
        """Have it not ring any more."""
        if self._next_look is not None:
            self._next_look.cancel()

    def _look(self) -> None:
        left_us = self._patience.left_us(self._limit_us, self._since_us)
        if left_us > 0:
            loop = asyncio.get_running_loop()
            self._next_look = loop.call_later(left_us / US_PER_SECOND, self._look)
        else:
            self._ring()


@asynccontextmanager
async def limited(patience: Patience, limit_us: int, *, since_us: int | None = None) -> AsyncIterator[None]:
    """Run the block for so long at the most, from `since_us` on or from now, as an `Alarm` counts.

    Raises:
        TimeoutError: the limit was over before the block was.
    """
    async with asyncio.timeout(None) as timeout:
        alarm = Alarm(patience, limit_us, lambda: timeout.reschedule(0), since_us=since_us)
        try:
            yield
        finally:
            alarm.cancel()
