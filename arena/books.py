"""The books of a running tournament: its ledger on the thread of the disk, and what still waits for that.

Every call of a ledger may wait for a disk. What is recorded here and not begun with can be taken back,
so that a stop need not wait for all of it.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any, Final, TypeVar

from arena.clock import US_PER_SECOND, Time
from arena.ledger import Attempt, Ledger
from arena.results import SlotState
from arena.runner import Played

T = TypeVar("T")

CALLS_AFTER_GRACE: Final = 6
"""So many calls of the disk are allowed for after the grace.

They are that which it is in, a withdrawal, what was broken off, the state, and two for closing the
books. With half a second a call they take the 3 s of the grace, so that nothing is left of it; on a
slower disk the stop takes as long as they do. What else the arena has to write just then comes on
top: further withdrawals, bots that are first seen, that dial in, or whose process ends.
"""


class TakenBackError(Exception):
    """What was to be recorded was taken back before the disk began with it: nothing of it is written."""


class Books:
    """One tournament's ledger, written one call after the other by a thread of its own."""

    def __init__(self, ledger: Ledger, disk: Executor, time: Time) -> None:
        """Set up.

        Args:
            ledger: where everything is kept.
            disk: one thread, on which every call of the ledger is made.
            time: by which the disk's calls are measured.
        """
        self._ledger = ledger
        self._disk = disk
        self._time = time
        self._unwritten: set[Future[Any]] = set()
        """Results and failed attempts that wait for the disk, or are being written."""
        self._is_closed = False
        self._disk_us = 0
        """What the disk takes for a call, of late."""

    async def keep(self, call: Callable[[Ledger], T]) -> T:
        """Make a call of the ledger, which is never taken back."""
        return await asyncio.wrap_future(self._on_disk(call))

    async def record(self, played: Played) -> None:
        """Have a result kept.

        Raises:
            TakenBackError: it is not kept, since the books were closed before its turn.
        """
        await self._write(lambda ledger: ledger.record_session(played.result, played.replay))

    async def record_failed(self, attempts: Sequence[Attempt]) -> tuple[SlotState, ...]:
        """Have attempts without a result kept, all in one call; the states of their slots afterwards.

        Raises:
            TakenBackError: none of them is kept, since the books were closed before their turn.
        """
        return await self._write(lambda ledger: ledger.record_attempts(attempts))

    def close(self) -> None:
        """Take back what the disk has not begun with, and let nothing more be recorded."""
        self._is_closed = True
        for future in tuple(self._unwritten):
            future.cancel()

    def grace_left_s(self, grace_s: float) -> float:
        """What is left of so many seconds of grace after a stop: the less, the slower the disk is of late."""
        return max(0.0, grace_s - CALLS_AFTER_GRACE * self._disk_us / US_PER_SECOND)

    async def _write(self, call: Callable[[Ledger], T]) -> T:
        if self._is_closed:
            raise TakenBackError
        future = self._on_disk(call)
        self._unwritten.add(future)
        written = asyncio.wrap_future(future)
        try:
            # Not awaited by itself: a task that is cancelled does not take back what it has recorded.
            await asyncio.wait([written])
        finally:
            self._unwritten.discard(future)
        if written.cancelled():
            raise TakenBackError
        return written.result()

    def _on_disk(self, call: Callable[[Ledger], T]) -> Future[T]:
        def timed() -> T:
            began_us = self._time.now_us()
            try:
                return call(self._ledger)
            finally:
                # The dearest of the last few.
                self._disk_us = max(self._time.now_us() - began_us, self._disk_us * 7 // 8)

        return self._disk.submit(timed)
