"""Streams that nobody reads, that are cancelled, that carry a million messages (F8, G02, G06, G07, G10)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from time import monotonic
from typing import Final

import psutil
import pytest

from arena.faults import FaultCause
from arena.lag import Heartbeat
from arena.link import LinkLimits
from kratzen.sdk.client import Settings
from sample_bots.faulty import ZOO, RawBot
from tests.figures import Figure
from tests.zoo.leftovers import nothing_left_over
from tests.zoo.runs import Run, asked_again, seated, tournament_file
from tests.zoo.small_arena import CALM, GOOD, Outcome, Setting, small_arena

BYTES_A_STREAM: Final = 512
"""What a stream that was cancelled may cost for good; a leak that the library is known for sets the floor."""

BYTES_A_MESSAGE: Final = 100
"""What a message may cost for good, where there are too few of them to see less."""


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


@pytest.mark.parametrize("rounds", [20, pytest.param(100, marks=pytest.mark.nightly)])
async def test_streams_that_are_cancelled_leave_nothing(rounds: int, figure: Figure) -> None:
    """Not a task, not a descriptor, not an error in the log, whatever the moment; and the arena stops."""
    at_once = 20
    async with nothing_left_over():
        async with small_arena(Setting()) as arena:
            settings = [arena.settings(f"quitter{number}") for number in range(at_once)]
            await quit_often(settings, rounds)
            began_s = monotonic()
        assert monotonic() - began_s <= 5
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


async def test_a_bot_is_not_dropped_for_what_the_arena_was_late_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an arena that stood still for 0.6 s after every batch, the bot has 0.3 s more to read it."""
    monkeypatch.setattr(Heartbeat, "spared_us", lambda _, since_us, at_us: min(at_us - since_us, 600_000))
    outcome, taken_s = await play_with_one_that_reads_nothing(LinkLimits(unread_ms=300))
    assert taken_s >= 0.6
    assert [fault.cause for fault in outcome.bad.faults] == [FaultCause.NOT_READING]


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


@pytest.mark.parametrize(
    ("messages", "most_bytes"),
    [
        pytest.param(40_000, BYTES_A_MESSAGE, marks=pytest.mark.nightly),
        pytest.param(24_000_000, 1, marks=pytest.mark.soak),
    ],
)
async def test_memory_does_not_grow_with_messages(
    messages: int, most_bytes: int, tmp_path: Path, figure: Figure
) -> None:
    """A million messages on each of 24 streams cost less than a byte each, and 100 MB in all (G10).

    Of fewer messages the allocator's own coming and going hides all but what each of them leaves behind.
    """
    grown_bytes = await play_on_many_streams(tmp_path, messages=messages)
    figure("F8", f"n = {messages} messages on 24 streams, {grown_bytes / messages:.2f} bytes each")
    assert grown_bytes / messages < most_bytes
    assert grown_bytes <= 100 * 1024**2


KEEPS_MESSAGES: Final = """
from arena import wire
kept, honest = [], wire.decode
def decode(data):
    kept.append(bytearray(1024))
    return honest(data)
wire.decode = decode
"""


@pytest.mark.nightly
async def test_an_arena_that_keeps_its_messages_is_found(tmp_path: Path, figure: Figure) -> None:
    """Where every answer leaves a kibibyte behind the process grows by more than is allowed: F8 can fail."""
    messages = 10_000
    grown_bytes = await play_on_many_streams(tmp_path, messages=messages, broken=KEEPS_MESSAGES)
    figure("F8", f"n = {messages} messages, {grown_bytes / messages:.0f} bytes each kept, as must be")
    assert grown_bytes / messages > BYTES_A_MESSAGE


async def play_on_many_streams(folder: Path, *, messages: int, broken: str = "") -> int:
    """Have 24 bots play; by how much the arena grew with so many messages to and fro, once it was warm."""
    names = [f"bot{number}" for number in range(24)]
    # In this game nobody is ever out of chips: there are more messages in it than are sent.
    file = tournament_file(folder, names=names, blocks=20_000, deals=60, at_once=24, preset="tavern")
    run = await Run.start(file, folder / "run", remote=names, broken=broken)
    bots, arena = run.bots(), psutil.Process(run.process.pid)
    async with seated(bots):
        # A request and its answer.
        await asked_again(bots, messages // 20)
        before = arena.memory_info().rss
        await asked_again(bots, messages // 2)
        grown = arena.memory_info().rss - before
        run.process.kill()
        await run.wait()
    return grown
