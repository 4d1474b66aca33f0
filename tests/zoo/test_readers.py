"""Streams that nobody reads, that are cancelled, that carry a million messages (F8, G02, G06, G07, G10)."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from time import monotonic
from typing import Final

import psutil
import pytest

from arena.faults import FaultCause
from arena.link import LinkLimits
from kratzen.sdk.client import Settings
from sample_bots.faulty import ZOO, RawBot
from tests.figures import Figure
from tests.zoo.leftovers import nothing_left_over
from tests.zoo.runs import PatientBot, Run, seated, tournament_file
from tests.zoo.small_arena import CALM, GOOD, Outcome, Setting, small_arena
from tests.zoo.test_clocks import percentile

BYTES_A_STREAM = 512
"""What a stream that was cancelled may cost for good; a leak that the library is known for sets the floor."""


class Quitter(RawBot):
    """Cancels its call at a random moment of its first steps."""

    name = "quitter"

    def __init__(self, settings: Settings, chance: Random) -> None:
        super().__init__(settings)
        self._chance = chance

    async def opened(self) -> None:
        """Say Hello or not, wait a little or not, cancel."""
        assert self._call is not None
        if self._chance.random() < 0.8:
            await self.say_hello()
        for _ in range(self._chance.randrange(5)):
            await asyncio.sleep(0)
        self._call.cancel()


async def test_streams_that_are_cancelled_leave_nothing(
    caplog: pytest.LogCaptureFixture, figure: Figure
) -> None:
    """Not a task, not a descriptor, not an error in the log, whatever the moment; and the arena stops."""
    rounds, at_once = 20, 20
    async with nothing_left_over():
        async with small_arena(Setting()) as arena:
            settings = [arena.settings(f"quitter{number}") for number in range(at_once)]
            await quit_often(settings, rounds)
            began_s = monotonic()
        assert monotonic() - began_s <= 5
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    figure("F8", f"n = {rounds * at_once} streams opened and cancelled, nothing left")


@pytest.mark.parametrize(
    "streams",
    [
        pytest.param(20_000, marks=pytest.mark.nightly),
        pytest.param(100_000, marks=pytest.mark.soak),
    ],
)
async def test_streams_that_are_cancelled_cost_no_memory(
    streams: int, tmp_path: Path, figure: Figure
) -> None:
    """The arena's process is as large afterwards as it was once it was warm."""
    run = await Run.start(tournament_file(tmp_path, clock="join_ms = 3600000"), tmp_path / "run")
    settings, arena = list(run.settings.values()), psutil.Process(run.process.pid)
    await quit_often(settings, 500)
    before = arena.memory_info().rss
    await quit_often(settings, streams // len(settings))
    bytes_each = (arena.memory_info().rss - before) / streams
    run.process.kill()
    await run.wait()
    figure("F8", f"n = {streams} streams opened and cancelled, {bytes_each:.0f} bytes each")
    assert bytes_each <= BYTES_A_STREAM


async def quit_often(settings: Sequence[Settings], rounds: int) -> None:
    """Have bots come and go, all of them in every round."""
    chance = Random(1)  # noqa: S311 - the same moments every time
    for _ in range(rounds):
        await asyncio.gather(*(Quitter(each, chance).converse() for each in settings))


MOVE_MS: Final = 2000
"""What a bot that is dropped would still have had."""


async def test_a_bot_that_reads_nothing_is_dropped_in_time() -> None:
    """The stream is closed as soon as the bound is passed, though the bot is still owed time to think."""
    async with nothing_left_over():
        outcome, taken_s = await play_with_one_that_reads_nothing(LinkLimits(unread_ms=300))
    assert taken_s <= 5
    assert [fault.cause for fault in outcome.bad.faults] == [FaultCause.NOT_READING]
    assert outcome.faults_of_good == []


@pytest.mark.nightly
async def test_a_link_without_a_limit_keeps_a_bot_that_reads_nothing(figure: Figure) -> None:
    """Where a batch may wait for ever that bot is there to the end: the test above can fail."""
    outcome, taken_s = await play_with_one_that_reads_nothing(LinkLimits(unread_ms=3_600_000))
    assert taken_s >= MOVE_MS / 1000
    assert [fault.cause for fault in outcome.bad.faults] == [FaultCause.TIMEOUT]
    figure("F8", "n = 1 bot that reads nothing, there to the end, as must be")


async def play_with_one_that_reads_nothing(limits: LinkLimits) -> tuple[Outcome, float]:
    """What was played, and after how many seconds the link of that bot was closed."""
    clock = replace(CALM, move_ms=MOVE_MS, max_strikes=1)
    async with small_arena(Setting(clock=clock, limits=limits)) as arena:
        arena.seat_good_bots()
        presence = arena.presence("bad1")
        assert await arena.arena.lobby.wait_for(GOOD, 30) == ()
        arena.seat(ZOO["never_reads"](arena.settings("bad1")).run())
        playing = asyncio.create_task(arena.play())
        await asyncio.wait_for(presence.wait(), 30)
        began_s = monotonic()
        await asyncio.wait_for(presence.is_over.wait(), 30)
        taken_s = monotonic() - began_s
        (outcome,) = await playing
        return outcome, taken_s


@pytest.mark.nightly
async def test_bots_that_read_nothing_slow_nobody(figure: Figure) -> None:
    """Four of them beside sixty tables: nobody else is at fault; what the others' decisions took is told."""
    p99_us = {}
    for name in ("never_reads", "unknown_fields"):
        outcomes = await play_beside(name)
        assert [fault for outcome in outcomes for fault in outcome.faults_of_good] == []
        p99_us[name] = percentile(
            [
                us
                for outcome in outcomes
                for seat in outcome.result.seats
                if seat.bot in GOOD
                for us in seat.decision_us
            ],
            99,
        )
    figure("F8", f"p99 of the others' decisions in us, with and without 4 that read nothing: {p99_us}")


async def play_beside(name: str) -> list[Outcome]:
    """Sixty tables, four of which have a bot of this behaviour."""
    setting = Setting(clock=replace(CALM, move_ms=6000, max_strikes=1), tables=64, at_once=16)
    async with small_arena(setting) as arena:
        arena.seat_good_bots()
        assert await arena.arena.lobby.wait_for(GOOD, 30) == ()
        for number, bad in enumerate(setting.bad_names):
            behaviour = name if number % 16 == 0 else "unknown_fields"
            arena.seat(ZOO[behaviour](arena.settings(bad)).run())
        return await arena.play()


@pytest.mark.soak
async def test_memory_does_not_grow_with_messages(tmp_path: Path, figure: Figure) -> None:
    """An arena that has sent and got a million messages more has grown by less than a megabyte (G10)."""
    run = await Run.start(tournament_file(tmp_path, blocks=12_000, deals=4), tmp_path / "run")
    bots = run.bots()
    arena = psutil.Process(run.process.pid)
    async with seated(bots):
        marks: list[tuple[int, int]] = []
        for asked in (200_000, 700_000):
            await asked_in_all(bots, asked)
            marks.append((asked, arena.memory_info().rss))
        run.process.kill()
        await run.wait()
    (first, first_bytes), (last, last_bytes) = marks
    messages = 2 * (last - first)
    slope = (last_bytes - first_bytes) / messages
    figure("F8", f"n = {messages} messages, {slope:.2f} bytes each")
    assert slope < 1


async def asked_in_all(bots: list[PatientBot], count: int) -> None:
    """Wait until the bots were asked so often."""
    enough = asyncio.Event()

    def look() -> None:
        if sum(bot.asked_count for bot in bots) >= count:
            enough.set()

    for bot in bots:
        bot.on_request = look
    await enough.wait()
