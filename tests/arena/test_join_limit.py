"""The join limit on its edge, in a time that the test moves: nobody waits for real."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import pytest

from arena.clock import ManualTime
from arena.lobby import Lobby
from tests.arena.bots import LinkedBot

JOIN_S = 30.0
MICROSECOND_S = 1e-6

T = TypeVar("T")


class ManualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time stands still while there is anything to do, and then goes to what is due."""

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now_s

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._now_s = max(self._now_s, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def run_in_manual_time(work: Coroutine[object, object, T]) -> T:
    """Run something to its end in a loop of its own."""
    loop = ManualLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


async def absent_when_one_comes_at(come_s: float) -> tuple[tuple[str, ...], float]:
    """Who is absent when the second of two bots comes at a moment, and when that was known."""
    lobby, loop = Lobby(ManualTime(), arena_version="0"), asyncio.get_running_loop()
    LinkedBot(lobby.member("early"))
    loop.call_at(come_s, lambda: LinkedBot(lobby.member("late")))
    return await lobby.wait_for(("early", "late"), JOIN_S), loop.time()


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
    assert known_s == min(come_s, JOIN_S)
