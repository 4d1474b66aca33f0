"""What a test leaves behind in its own process: tasks, descriptors, children, errors in the log."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from ctypes import CDLL
from dataclasses import dataclass
from time import monotonic
from typing import Final

import psutil
from structlog.processors import format_exc_info
from structlog.testing import capture_logs
from structlog.typing import EventDict

from tests.zoo.small_arena import Setting, small_arena

_M_MMAP_THRESHOLD: Final = -3
"""Of glibc's malloc.h."""

PATIENCE_S: Final = 10
"""For what is on its way out and needs the machine's attention."""


@dataclass(frozen=True, slots=True)
class Census:
    """What there is now."""

    tasks: frozenset[str]
    descriptor_count: int
    children: tuple[int, ...]

    @classmethod
    def now(cls) -> "Census":
        """Count."""
        process = psutil.Process()
        tasks = [getattr(task.get_coro(), "__qualname__", repr(task)) for task in asyncio.all_tasks()]
        children = [child.pid for child in process.children(recursive=True)]
        return cls(frozenset(tasks), process.num_fds(), tuple(children))


async def others_end() -> None:
    """Wait for all other tasks to end, and for the children that are on their way out."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=PATIENCE_S)
    children = psutil.Process().children(recursive=True)
    await asyncio.to_thread(psutil.wait_procs, children, PATIENCE_S)


async def comes_back_to(before: Census) -> bool:
    """Whether what there was before is what there is, or will be within the time."""
    # Calls and channels are parts of circles that only the collector undoes.
    gc.collect()
    await others_end()
    deadline_s = monotonic() + PATIENCE_S
    while Census.now() != before and monotonic() < deadline_s:
        # Threads of gRPC close what its channels held open, and give no sign of it.
        await asyncio.to_thread(gc.collect)
    return Census.now() == before


def give_back_large_blocks() -> None:
    """Have the allocator give back every large block at once.

    Otherwise it learns from the first of them to keep such blocks, in as many heaps as there are threads,
    and the process grows for a while (by 50 MiB under messages of 5 MiB) though nothing is kept on purpose.
    """
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 128 * 1024)


def resident_bytes() -> int:
    """What this process has in memory, once what is no longer needed is gone, of the allocator too."""
    gc.collect()
    trim = getattr(CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return psutil.Process().memory_info().rss


class _Errors(logging.Handler):
    """Keeps the errors that libraries and asyncio log, as text."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.texts.append(self.format(record))


@contextmanager
def no_error_logged() -> Iterator[list[EventDict]]:
    """Fails when an error is logged in the block, by whomever.

    The arena has a log of its own, which goes nowhere that pytest looks: what it says comes out here.
    """
    errors, root = _Errors(), logging.getLogger()
    root.addHandler(errors)
    try:
        with capture_logs([format_exc_info]) as entries:
            yield entries
    finally:
        root.removeHandler(errors)
    of_arena = [entry for entry in entries if entry["log_level"] in ("error", "critical")]
    assert not of_arena, of_arena
    assert not errors.texts, errors.texts


@asynccontextmanager
async def nothing_left_over() -> AsyncIterator[list[EventDict]]:
    """Fails when the block leaves tasks, descriptors or children behind, or an error in the log.

    Yields:
        What the arena logs meanwhile.
    """
    # The first arena of a process has gRPC open what it keeps for good.
    async with small_arena(Setting()):
        pass
    gc.collect()
    await others_end()
    before = Census.now()
    with no_error_logged() as entries:
        yield entries
        # Of a task that failed it is logged when the task is collected.
        assert await comes_back_to(before), f"before: {before}, now: {Census.now()}"
