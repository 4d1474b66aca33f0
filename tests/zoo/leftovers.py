"""What a test leaves behind in its own process: tasks, descriptors, children."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import psutil

from tests.zoo.small_arena import Setting, small_arena

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


async def until(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> bool:
    """Let others go on until something holds; whether it did within the time."""
    try:
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110 - what the system does gives no sign
                await asyncio.sleep(0)
    except TimeoutError:
        return condition()
    return True


def resident_bytes() -> int:
    """What this process has in memory, once what is no longer needed is gone."""
    gc.collect()
    return psutil.Process().memory_info().rss


@asynccontextmanager
async def nothing_left_over() -> AsyncIterator[None]:
    """Fails when the block leaves tasks, descriptors or children behind."""
    # The first arena of a process has gRPC open what it keeps for good.
    async with small_arena(Setting()):
        pass
    gc.collect()
    await until(lambda: len(Census.now().tasks) == 1)
    before = Census.now()
    yield

    def is_all_gone() -> bool:
        # Calls and channels are parts of circles that only the collector undoes.
        gc.collect()
        return Census.now() == before

    assert await until(is_all_gone), f"before: {before}, now: {Census.now()}"
