"""What a tournament has written down: what counts once it is to stop, and how long it may take."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from arena.books import CALLS_AFTER_GRACE, Books, TakenBackError
from arena.clock import ManualTime
from arena.ledger import Attempt
from arena.results import AttemptEnd, SlotState
from arena.schedule import Plan, round_robin
from tests.arena.bots import MemoryLedger

LIMIT_S = 10
"""What is waited for is there by then, or never."""


def attempt(session: int) -> Attempt:
    """A first attempt that came to nothing."""
    return Attempt(
        block=1,
        session=session,
        attempt=1,
        ending=AttemptEnd.BOTS_ABSENT,
        why="",
        started_at="2026-11-29T10:00:00+00:00",
        ended_at="2026-11-29T10:00:01+00:00",
    )


class HeldLedger(MemoryLedger):
    """Has begun with the first write once `begun` is set, and goes on when `is_free` is."""

    def __init__(self) -> None:
        super().__init__(
            round_robin(Plan(bots=tuple("abcd"), table_size=4, seed=bytes(32), blocks_per_group=1))
        )
        self.begun, self.is_free = threading.Event(), threading.Event()
        self.before_writing = self._hold

    def _hold(self) -> None:
        self.begun.set()
        assert self.is_free.wait(LIMIT_S)


@dataclass
class Desk:
    """Books, and what they are kept with."""

    disk: ThreadPoolExecutor
    time: ManualTime = field(default_factory=ManualTime)
    ledger: HeldLedger = field(default_factory=HeldLedger)

    def __post_init__(self) -> None:
        self.books = Books(self.ledger, self.disk, self.time)

    def record(self, session: int) -> "asyncio.Task[tuple[SlotState, ...]]":
        """Have a failed attempt recorded."""
        return asyncio.create_task(self.books.record_failed([attempt(session)]))


@pytest.fixture
def desk() -> Iterator[Desk]:
    """Nothing is written yet."""
    with ThreadPoolExecutor(1) as disk:
        yield Desk(disk)


async def test_what_the_disk_has_begun_with_is_kept_and_what_waits_is_taken_back(desk: Desk) -> None:
    """When the books are closed; what comes afterwards is not taken either, but whatever must be kept is."""
    first, second = desk.record(1), desk.record(2)
    await asyncio.to_thread(desk.ledger.begun.wait, LIMIT_S)
    desk.books.close()
    third = desk.record(3)
    desk.ledger.is_free.set()
    assert await first == (SlotState.OPEN,)
    for taken_back in (second, third):
        with pytest.raises(TakenBackError):
            await taken_back
    assert await desk.books.keep(lambda ledger: ledger.record_attempts([attempt(4)])) == (SlotState.OPEN,)
    assert list(desk.ledger.attempt_ends) == [(1, 1), (1, 4)]


async def test_who_no_longer_waits_for_it_takes_nothing_back(desk: Desk) -> None:
    """A task that is cancelled while the disk has something else to do: what it recorded is written."""
    first, second = desk.record(1), desk.record(2)
    await asyncio.to_thread(desk.ledger.begun.wait, LIMIT_S)
    second.cancel()
    desk.ledger.is_free.set()
    await first
    await desk.books.keep(lambda ledger: ledger.bots())
    assert second.cancelled()
    assert list(desk.ledger.attempt_ends) == [(1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("disk_ms", "left_s", "in_all_s"), [(0, 3, 3), (5, 2.97, 3), (250, 1.5, 3), (500, 0, 3), (800, 0, 4.8)]
)
async def test_the_slower_the_disk_the_shorter_the_grace(
    desk: Desk, disk_ms: int, left_s: float, in_all_s: float
) -> None:
    """With the calls allowed for it takes 3 s up to half a second a call, then as long as those calls."""
    await desk.books.keep(lambda _: desk.time.advance_us(disk_ms * 1000))
    assert desk.books.grace_left_s(3) == pytest.approx(left_s)
    assert left_s + CALLS_AFTER_GRACE * disk_ms / 1000 == pytest.approx(in_all_s)


async def test_a_disk_that_was_slow_once_is_forgiven(desk: Desk) -> None:
    """After eleven quick calls three quarters of what it took are forgotten."""
    await desk.books.keep(lambda _: desk.time.advance_us(400_000))
    assert desk.books.grace_left_s(3) == pytest.approx(0.6)
    for _ in range(11):
        await desk.books.keep(lambda ledger: ledger.bots())
    assert desk.books.grace_left_s(3) > 3 - 2.4 / 4
