"""What strangers with wrong tokens cost those who have a right one (F12f)."""

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict, WrappedLogger

from arena.clock import ClockSettings
from arena.record import Origin
from engine.events import Decided
from tests.figures import Figure, Ratio
from tests.zoo import metronomes
from tests.zoo.small_arena import CALM, GOOD, Outcome, Setting, small_arena
from tests.zoo.strangers import ADDRESS
from tests.zoo.test_clocks import percentile

CALLS_A_SECOND: Final = 1000
THINKING_MS: Final = 50
"""What a good bot takes for a decision by itself."""
WITHIN: Final = 1.1
ENOUGH: Final = 400
"""Calls that leave more behind than everything else that goes on meanwhile."""
SETTING: Final = Setting(clock=CALM, tables=16, at_once=16, deals=2, is_one_bot=True)
BESIDE: Final = Setting(
    clock=ClockSettings(bank_ms=0, first_answer_ms=0), tables=4, at_once=4, is_one_bot=True
)
"""A few tables, long enough to be disturbed, whose bots have no time but that of each decision."""


@dataclass
class Windows:
    """What was measured in all windows of a kind."""

    latency_us: list[int] = field(default_factory=list)
    p99s_us: list[int] = field(default_factory=list)
    """Of each window."""
    made: int = 0
    ended: int = 0
    calling_us: int = 0

    def add(self, outcomes: list[Outcome]) -> None:
        """Take in the decisions of a window: from handing over to arrival, whoever was late."""
        before = len(self.latency_us)
        for outcome in outcomes:
            for step in outcome.replay.steps:
                record = step.decision
                if isinstance(step.event, Decided) and record and record.origin is not Origin.FORCED:
                    assert record.origin is Origin.ASKED
                    self.latency_us.append(record.charged_us + record.lag_us)
        self.p99s_us.append(percentile(self.latency_us[before:], 99))

    def add_calls(self, made: int, ended: int, calling_us: int) -> None:
        """Take in what the strangers counted."""
        self.made += made
        self.ended += ended
        self.calling_us += calling_us

    @property
    def p99_us(self) -> int:
        """Of the decisions' latency."""
        return percentile(self.latency_us, 99)

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.made * 1_000_000 / self.calling_us

    def __str__(self) -> str:
        said = f"p99 {self.p99_us / 1000:.1f} ms, p50 {percentile(self.latency_us, 50) / 1000:.1f} ms"
        return f"{said}, {self.rate:.0f} calls a second" if self.made else said


@dataclass(frozen=True, slots=True)
class Strangers:
    """A process of strangers that has been started."""

    process: asyncio.subprocess.Process

    @asynccontextmanager
    async def calling(self, what: str, windows: Windows) -> AsyncIterator[None]:
        """They call for the time of the block."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n".encode())
        yield
        self.process.stdin.write(b"halt\n")
        windows.add_calls(*json.loads(await self.process.stdout.readline()))


@asynccontextmanager
async def strangers_outside(address: str) -> AsyncIterator[Strangers]:
    """Strangers who know where the arena is."""
    pipe, port = asyncio.subprocess.PIPE, address.rpartition(":")[2]
    words = ("-m", "tests.zoo.strangers", port, str(CALLS_A_SECOND))
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    try:
        yield Strangers(process)
    finally:
        process.stdin.close()
        assert await process.wait() == 0


@pytest.mark.parametrize("what", ["tokens", "admin"])
async def test_a_refused_call_leaves_little_for_the_collector(what: str) -> None:
    """An exception with its traceback takes 27 objects that only the collector can clear away, a status 5."""
    calls, enough = Windows(), asyncio.Event()

    def look(logger: WrappedLogger, method: str, entry: EventDict) -> EventDict:
        if entry.get("count", 0) >= ENOUGH:
            enough.set()
        return entry

    with capture_logs([look]):
        async with small_arena(SETTING) as arena, strangers_outside(arena.arena.address) as strangers:
            gc.collect()
            gc.disable()
            try:
                async with strangers.calling(what, calls):
                    await asyncio.wait_for(enough.wait(), 30)
                left_over = gc.collect()
            finally:
                gc.enable()
    assert calls.ended == calls.made >= ENOUGH
    assert left_over < 10 * calls.made


async def test_good_bots_are_in_time_beside_wrong_tokens() -> None:
    """With 1000 of them a second no decision is over its limit, the arena's own lag counted (F12f)."""
    calls = Windows()
    names = (*GOOD, *BESIDE.bad_names)
    with capture_logs() as logs:
        async with small_arena(BESIDE) as arena, strangers_outside(arena.arena.address) as strangers:
            orchestra = await metronomes.start(arena, dict.fromkeys(names, THINKING_MS))
            assert await arena.arena.lobby.wait_for(names, 30) == ()
            async with strangers.calling("tokens", calls):
                outcomes = await arena.play_tables()
            arena.say_goodbye()
            await orchestra.journals()
    calls.add(outcomes)
    assert [fault for each in outcomes for seat in each.result.seats for fault in seat.faults] == []
    assert max(calls.latency_us) <= BESIDE.clock.move_ms * 1000
    assert calls.ended == calls.made >= ENOUGH
    assert max(entry["count"] for entry in logs if entry.get("address") == f"ipv4:{ADDRESS}") >= ENOUGH


@pytest.mark.alone
@pytest.mark.parametrize("rounds", [pytest.param(8, marks=pytest.mark.nightly)])
async def test_wrong_tokens_cost_good_bots_no_time(rounds: int, figure: Figure) -> None:
    """With 1000 of them a second, the p99 of good bots' decisions is not seen to rise by over 10 % (F12f).

    A call costs gRPC a third of a millisecond before the arena has seen it, which two cores may not have
    to spare beside bots, strangers and whatever else runs. So the same number of calls that need no token
    are made too, in windows that take turns: wrong tokens may cost no more than the dearer of no calls and
    calls of that kind. As the p99 varies by some 5 % from window to window, it is the mean ratio over all
    rounds that is judged, with its 95 % interval.
    """
    quiet, disturbed, control = Windows(), Windows(), Windows()
    names = (*GOOD, *SETTING.bad_names)
    with capture_logs() as logs:
        async with small_arena(SETTING) as arena, strangers_outside(arena.arena.address) as strangers:
            orchestra = await metronomes.start(arena, dict.fromkeys(names, THINKING_MS))
            assert await arena.arena.lobby.wait_for(names, 30) == ()
            for _ in range(rounds):
                quiet.add(await arena.play_tables())
                async with strangers.calling("tokens", disturbed):
                    disturbed.add(await arena.play_tables())
                async with strangers.calling("health", control):
                    control.add(await arena.play_tables())
            arena.say_goodbye()
            await orchestra.journals()
    dearer = [max(pair) for pair in zip(quiet.p99s_us, control.p99s_us, strict=True)]
    ratio = Ratio.over(zip(disturbed.p99s_us, dearer, strict=True))
    figure(
        "F12f",
        f"n = {len(disturbed.latency_us)} decisions of bots that think {THINKING_MS} ms; "
        f"with wrong tokens: {disturbed}; without: {quiet}; with as many health checks: {control}; "
        f"p99 is {disturbed.p99_us / quiet.p99_us:.3f} of that without, "
        f"{disturbed.p99_us / control.p99_us:.3f} of that with health checks; "
        f"of the dearer, round by round, {ratio}",
    )
    assert len(quiet.latency_us) == len(disturbed.latency_us) == len(control.latency_us)
    for windows in (disturbed, control):
        assert windows.ended == windows.made
        assert windows.rate > CALLS_A_SECOND * 0.9
    counts = [entry["count"] for entry in logs if entry.get("address") == f"ipv4:{ADDRESS}"]
    assert max(counts) >= CALLS_A_SECOND
    assert ratio.low <= WITHIN
