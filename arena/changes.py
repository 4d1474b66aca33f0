"""Calls that change something, carried through whoever asked for them.

Who asks over a network may go away at any moment. What it asked for is begun by then, perhaps
written down already, and half of it is what nobody asked for. What a change does is not known here.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog

log = structlog.get_logger()

T = TypeVar("T")


class Changes:
    """The changes that were begun and are not over."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def carry(self, change: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make a change; who is cancelled while it waits for that stops waiting, and the change goes on."""
        task = asyncio.create_task(change())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_tell_nobody)
            raise

    async def settle(self) -> None:
        """Wait until all that was begun is over, however it ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)


def _tell_nobody(change: asyncio.Task[Any]) -> None:
    """Say in the log what became of a change that nobody waits for."""
    if change.cancelled():
        return
    error = change.exception()
    if error is None:
        log.info("change carried through after its caller had left")
    else:
        log.warning("change failed after its caller had left", why=str(error), exc_info=error)
