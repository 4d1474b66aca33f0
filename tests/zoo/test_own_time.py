"""What a bot does with its own time is charged to it, and that alone: loading, standing still (F5, F6)."""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from arena.clock import ClockSettings
from arena.faults import FaultCause
from arena.lag import BEAT_US, Heartbeat
from arena.link import Link, Stream
from arena.messages import ArenaMessage, Request
from arena.record import DecisionRecord, Origin
from arena.referee import Timing
from arena.runner import SessionRunner
from kratzen.sdk.client import Settings
from tests.figures import Figure
from tests.zoo import pauses, test_clocks
from tests.zoo.runs import Kept, Run, seated, tournament_file
from tests.zoo.small_arena import CALM, GOOD, Outcome, Setting, bad_name, small_arena
from tests.zoo.test_clocks import LIMIT_MS, SMALL, Beats, SlowStarter, see_that_half_the_limit_is_in_time

US_PER_S: Final = 1_000_000

# ------------------------------------------------------------------ cold starts

LOADS_MS: Final = (0, 5000, 9500, 10_500, 20_000)
JOIN_MS: Final = 10_000


@pytest.mark.soak
async def test_the_join_limit_of_ten_seconds_decides_alone(
    monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    """A hundred starts each: half a second under the limit is in, half a second over it is out (T07)."""
    # All tables begin at once, however late the arena is.
    monkeypatch.setattr(Heartbeat, "is_late", False)
    rounds, each = 10, 10
    for _ in range(rounds):
        for load_ms, outcome in await play_with_slow_starters(each):
            causes = [fault.cause for fault in outcome.bad.faults]
            assert causes == ([] if load_ms < JOIN_MS else [FaultCause.NO_HANDSHAKE])
            assert outcome.faults_of_good == []
    figure("F6", f"n = {rounds * each} starts each of {LOADS_MS} ms against {JOIN_MS} ms")


async def play_with_slow_starters(each: int) -> list[tuple[int, Outcome]]:
    """Tables whose bots begin to load all together, so many for each time; what was played, by the time."""
    tables = each * len(LOADS_MS)
    load_ms = {table: LOADS_MS[table % len(LOADS_MS)] for table in range(1, tables + 1)}
    setting = Setting(clock=replace(CALM, join_ms=JOIN_MS), tables=tables, at_once=tables)
    async with small_arena(setting) as arena:
        arena.seat_good_bots()
        assert await arena.arena.lobby.wait_for(GOOD, 30) == ()
        for table, wait_ms in load_ms.items():
            arena.seat(SlowStarter(arena.settings(bad_name(table)), wait_ms).run())
        return [(load_ms[outcome.result.block], outcome) for outcome in await arena.play()]


@pytest.mark.nightly
async def test_processes_that_have_just_started_are_in_time(tmp_path: Path, figure: Figure) -> None:
    """Under the clocks that a file has which names none, no first decision is late (T10)."""
    rounds, tables = 5, 10
    for _ in range(rounds):
        async with small_arena(Setting(clock=ClockSettings(), tables=tables)) as arena:
            arena.seat_good_bots()
            async with arena.processes(("python", "-m", "sample_bots.random_bot"), tmp_path):
                outcomes = await arena.play()
        assert [outcome.bad.faults for outcome in outcomes] == [()] * tables
    figure("F6", f"n = {rounds * tables} processes that had just started, 0 time-outs")


# ------------------------------------------------------------------ a bot's own pause


@pytest.mark.nightly
@pytest.mark.alone
async def test_a_bot_is_charged_its_own_pause_in_full(figure: Figure) -> None:
    """A process that stands still for 200 ms at every request, as a collector would have it (F6)."""
    setting = Setting(tables=4)
    async with small_arena(setting) as arena:
        arena.seat_good_bots()
        bots = [asyncio.create_task(pause_at_requests(arena.settings(name))) for name in setting.bad_names]
        outcomes = {outcome.result.block: outcome for outcome in await arena.play()}
        paused_s = await asyncio.gather(*bots)
    taken = [
        (record, pause_s)
        for table, pauses_s in enumerate(paused_s, start=1)
        for record, pause_s in zip(asked_of_bad(outcomes[table]), pauses_s, strict=True)
    ]
    assert all(record.origin is Origin.ASKED for record, _ in taken)
    # What passed is charged, but for what the arena itself was late by.
    assert all(record.charged_us + record.lag_us >= pause_s * US_PER_S for record, pause_s in taken)
    over_us = sorted(int(record.charged_us - pause_s * US_PER_S) for record, pause_s in taken)
    lag_us = max(record.lag_us for record, _ in taken)
    figure(
        "F6",
        f"n = {len(taken)} pauses of a bot, charged beyond them {over_us[0]} to {over_us[-1]} us; "
        f"lag of the arena {lag_us} us at most",
    )


def asked_of_bad(outcome: Outcome) -> list[DecisionRecord]:
    """The decisions that the bad bot was asked for, in order."""
    return [record for record in outcome.decisions_of_bad if record.request_id]


async def pause_at_requests(settings: Settings) -> list[float]:
    """Run a bot that stops itself at every request, let it go on after 200 ms; how long each pause was."""
    where = {"KRATZEN_ADDRESS": settings.address, "KRATZEN_TOKEN": settings.token}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sample_bots.faulty", "stops_itself"),
        env={**os.environ, **where},
        stderr=asyncio.subprocess.DEVNULL,
    )
    paused_s = []
    while await pauses.stands_still(process.pid):
        paused_s.append(await pauses.go_on_after(process.pid, 0.2))
    await process.wait()
    return paused_s


# ------------------------------------------------------------------ the arena's time

STANDS_STILL: Final = """
import asyncio, os, signal
from arena.lobby import Lobby

wait_for = Lobby.wait_for

def stand_still_in_a_moment(*arguments, **options):
    Lobby.wait_for = wait_for
    asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGSTOP)
    return wait_for(*arguments, **options)

Lobby.wait_for = stand_still_in_a_moment
"""
"""An arena that stops itself soon after it has begun to wait for its bots."""


async def test_an_arena_that_stands_still_takes_nothing_from_the_join_limit(
    tmp_path: Path, figure: Figure
) -> None:
    """Bots that dial while it does so, for longer than the limit, are in: no attempt lacks one (F6, T02)."""
    file = tournament_file(tmp_path, blocks=1, deals=1, clock="join_ms = 1000")
    run = await Run.start(file, tmp_path / "run", broken=STANDS_STILL)
    assert await pauses.stands_still(run.process.pid)
    async with seated(run.bots()):
        paused_s = await pauses.go_on_after(run.process.pid, 1.2)
        assert await run.wait() == 0, run.lines
    kept = Kept.of(tmp_path / "run")
    assert set(kept.attempt_ends) == {"finished"}
    assert kept.fault_count == 0
    figure("F6", f"n = 1 pause of {paused_s:.1f} s across a join limit of 1 s, nobody absent")


@pytest.mark.nightly
async def test_an_arena_that_charges_its_own_time_is_found(
    monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    """Where its lag is charged and six tenths of the limit more, half of it is too late: F5 can fail."""
    honest = SessionRunner._timing

    def greedy(*arguments: Any) -> Timing:  # noqa: ANN401 - whatever it takes
        timing = honest(*arguments)
        return replace(timing, charged_us=timing.charged_us + timing.lag_us + LIMIT_MS * 600)

    monkeypatch.setattr(SessionRunner, "_timing", greedy)
    with pytest.raises(AssertionError, match=r"Judged\(bot="):
        await see_that_half_the_limit_is_in_time(SMALL, figure)


@pytest.mark.nightly
async def test_a_request_that_was_never_sent_is_found(
    monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    """Where a bot is timed out for a request that did not leave the arena, no journal has it: F5 can fail."""
    whole, lost = Link.take_batch, list[Request]()

    def lossy(link: Link, stream: Stream, now_us: int, *, spared_us: int = 0) -> tuple[ArenaMessage, ...]:
        batch = whole(link, stream, now_us, spared_us=spared_us)
        if not lost:
            lost.extend([message for message in batch if isinstance(message, Request)])
            return tuple([message for message in batch if not isinstance(message, Request)])
        return batch

    monkeypatch.setattr(Link, "take_batch", lossy)
    with pytest.raises(AssertionError, match="was never sent what it is judged for"):
        await see_that_half_the_limit_is_in_time(SMALL, figure)


@pytest.mark.nightly
async def test_an_arena_that_does_not_say_that_it_is_late_is_found(
    monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    """Where every beat is too late and the arena takes no notice of it: F5 can fail."""
    monkeypatch.setattr(Heartbeat, "is_late", False)
    monkeypatch.setattr(test_clocks, "LATE_US", -BEAT_US)
    beats = Beats(monkeypatch)
    logs = await see_that_half_the_limit_is_in_time(SMALL, figure)
    with pytest.raises(AssertionError, match="arena late"):
        beats.judge(logs, lambda *_: None)
