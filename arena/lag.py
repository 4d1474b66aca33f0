"""How late the arena's own event loop is, so that no bot is charged for it.

A heartbeat that is due at fixed times: when it comes late, whatever waited in between was
late as well. What a crowded machine does to the threads of the transport it cannot see; for
that it is told how long the loop's own thread had to wait for a processor. `Heartbeat` is
the arithmetic, handed its times; `beat_forever` the task.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, NoReturn

from arena.clock import US_PER_SECOND, Time

BEAT_US: Final = 10_000

WINDOW_BEATS: Final = 500
"""Beats by which it is judged whether the loop is late: about five seconds."""

LATE_US: Final = 20_000
"""When 1 beat in 100 is later than this, the arena takes on less."""

PAUSE_US: Final = BEAT_US
"""A beat that is late by as much as the time between two says that the arena stood still or could not
keep up, not just that it was busy."""

MOST_DOUBT_US: Final = 500_000
"""More time than this nobody gains by a machine that is crowded."""

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

    @property
    def p99_us(self) -> int:
        """99 of the last 100 beats were no later than this; 0 before the first."""
        ordered = sorted(self._window)
        return ordered[-(-len(ordered) * 99 // 100) - 1] if ordered else 0

    @property
    def is_late(self) -> bool:
        """Whether the loop has more to do than it can in time."""
        return self.p99_us > LATE_US

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

    def doubt_us(self, since_us: int) -> int:
        """How long something that was waited for since then may have waited for a processor, unseen.

        That is how long the loop's thread did, from the beat before to the last one, up to `MOST_DOUBT_US`.
        """
        latest_us = first_us = self._waits[-1][1]
        for at_us, waited_us in reversed(self._waits):
            first_us = waited_us
            if at_us <= since_us:
                break
        return min(latest_us - first_us, MOST_DOUBT_US)


def _overlap_us(begin_us: int, end_us: int, since_us: int, at_us: int) -> int:
    return max(0, min(end_us, at_us) - max(begin_us, since_us))


async def beat_forever(heartbeat: Heartbeat, time: Time, waited_us: Callable[[], int] = int) -> NoReturn:
    """Beat until cancelled; `waited_us` says how long this thread had to wait for a processor so far."""
    while True:
        await asyncio.sleep(BEAT_US / US_PER_SECOND)
        heartbeat.beat(time.now_us(), waited_us())
