"""How long a thread waited, as the kernel tells it."""

import asyncio
from itertools import count
from pathlib import Path

import pytest

from arena.run_queue import thread_waited_us
from tests.zoo.small_arena import Setting, small_arena


def test_the_kernel_says_how_long_a_thread_waited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Never less than before; where it says nothing there is no doubt."""
    first_us = thread_waited_us()
    assert thread_waited_us() >= first_us >= 0
    said = tmp_path / "schedstat"
    monkeypatch.setattr("arena.run_queue._SCHEDSTAT", said)
    assert thread_waited_us() == 0
    said.write_text("")
    assert thread_waited_us() == 0
    said.write_text("109022034 5041201 77\n")
    assert thread_waited_us() == 5_041


async def test_an_arena_asks_the_kernel_at_every_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it is told of its loop's thread is what bots have the benefit of the doubt for."""
    enough, told = asyncio.Event(), count(step=1000)

    def tell() -> int:
        waited_us = next(told)
        if waited_us >= 3000:
            enough.set()
        return waited_us

    monkeypatch.setattr("arena.cli.building.thread_waited_us", tell)
    async with small_arena(Setting()) as arena:
        await asyncio.wait_for(enough.wait(), 10)
        assert arena.arena.clockwork.heartbeat.doubt_us(0, 0) >= 2000
