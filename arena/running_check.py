"""A check that runs by itself: whoever listens may go away, and the arena may end it.

What is asked in a check is `check`'s to know; here is only when it begins and when it is over.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

from arena.check import Checker
from arena.status import Verdict


class RunningCheck:
    """One check, as a task that begins at once."""

    def __init__(self, checker: Checker, on_over: Callable[[], object]) -> None:
        """Begin; `on_over` is called once the bot is asked nothing more and sits in none of its sessions."""
        self._found: asyncio.Queue[Verdict | None] = asyncio.Queue()
        """The verdicts that nobody has heard yet; None is the end."""
        self._task = asyncio.create_task(self._run(checker))
        self._task.add_done_callback(lambda _: on_over())

    async def verdicts(self) -> AsyncIterator[Verdict]:
        """The verdicts as they come, until the check is over or was ended."""
        while (verdict := await self._found.get()) is not None:
            yield verdict
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.result()

    async def end(self) -> None:
        """Break the check off, unless it is over, and wait until the bot is out of its sessions."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self, checker: Checker) -> None:
        try:
            async for verdict in checker.run():
                self._found.put_nowait(verdict)
        finally:
            self._found.put_nowait(None)
