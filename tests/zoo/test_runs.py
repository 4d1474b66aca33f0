"""`kratzen run` killed, stopped, stopped twice, held still: nothing is lost, it ends in time (F1, F6, F9)."""

import asyncio
import signal
from pathlib import Path
from random import Random
from time import monotonic
from typing import Final

import grpc
import psutil
import pytest

from kratzen.v1 import bot_pb2
from tests.figures import Figure
from tests.zoo import pauses
from tests.zoo.runs import (
    BOTS,
    PATIENCE_S,
    Kept,
    PatientBot,
    Run,
    asked_again,
    seated,
    tournament_file,
)
from tests.zoo.slow_disk import FAILURE_IS_WRITTEN

STOP_LIMIT_S: Final = 5
"""A run that is told to stop has ended by then (E19)."""

EXIT_CODES: Final = {signal.SIGTERM: 143, signal.SIGINT: 130}


async def play_to_the_end(file: Path, out: Path, *options: str) -> Kept:
    """Run without disturbance, or go on so; what is kept then."""
    run = await Run.start(file, out, *options)
    async with seated(run.bots()):
        assert await run.wait() == 0, run.lines
    return Kept.of(out)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """What the tournament of these tests comes to when nobody disturbs it."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    kept = asyncio.run(play_to_the_end(tournament_file(folder), folder / "run"))
    assert len(kept.digests) == 16
    assert kept.fault_count == 0
    return kept


def same_in_the_end(kept: Kept, uninterrupted: Kept) -> bool:
    """Whether every session, chip and rating is what it would have been."""
    return (kept.digests, kept.chips, kept.ratings, kept.fault_count) == (
        uninterrupted.digests,
        uninterrupted.chips,
        uninterrupted.ratings,
        0,
    )


async def killed(run: Run, bots: list[PatientBot], *, after: int, at_an_end: bool) -> set[str]:
    """Kill a run once a bot was asked so often, or told the end of a session; what all were told."""
    due = asyncio.Event()

    def look() -> None:
        if bots[0].asked_count >= after:
            due.set()

    for bot in bots:
        if at_an_end:
            bot.on_end = look
        else:
            bot.on_request = look
    async with seated(bots):
        over = asyncio.ensure_future(run.wait())
        await asyncio.wait([over, asyncio.ensure_future(due.wait())], return_when=asyncio.FIRST_COMPLETED)
        if run.process.returncode is None:
            run.process.kill()
        await over
    return set.union(*[bot.told for bot in bots])


@pytest.mark.parametrize("kills", [3, pytest.param(60, marks=pytest.mark.nightly)])
async def test_a_run_that_is_killed_goes_on_to_the_same_end(
    kills: int, tmp_path: Path, uninterrupted: Kept, figure: Figure
) -> None:
    """Kill -9 at random moments, every third as a result was told: none is lost, doubled or changed (F1)."""
    chance, count = Random(1), 0  # noqa: S311 - the same moments every time
    while count < kills:
        folder = tmp_path / str(count)
        folder.mkdir()
        file, told, options = tournament_file(folder), set[str](), list[str]()
        while count < kills and len(told) < len(uninterrupted.digests):
            run = await Run.start(file, folder / "run", *options)
            told |= await killed(run, run.bots(), after=chance.randint(1, 60), at_an_end=count % 3 == 2)
            assert told <= Kept.of(folder / "run").session_ids
            options = ["--resume"]
            count += 1
        assert same_in_the_end(await play_to_the_end(file, folder / "run", "--resume"), uninterrupted)
    figure("F1", f"n = {kills} kills, 0 sessions lost, doubled or changed, 0 faults")


async def stopped(file: Path, out: Path, number: signal.Signals) -> tuple[float, set[str]]:
    """Stop a run while decisions are open: how long it took to end, in seconds, and what bots were told."""
    run = await Run.start(file, out)
    bots = run.bots()
    async with seated(bots):
        await hold_all(bots, after=20)
        began_s = monotonic()
        run.process.send_signal(number)
        assert await run.wait() == EXIT_CODES[number]
        taken_s = monotonic() - began_s
    for bot in bots:
        assert bot.goodbye is not None
        assert bot.goodbye.reason == bot_pb2.GOODBYE_REASON_STOPPING
        assert bot.goodbye.come_back
        assert bot.status is not None
        assert bot.status[0] is grpc.StatusCode.UNAVAILABLE
        assert "resumed" in bot.status[1]
    assert any("--resume" in line for line in run.lines)
    return taken_s, set.union(*[bot.told for bot in bots])


@pytest.mark.parametrize("number", EXIT_CODES, ids=lambda number: number.name)
async def test_a_run_that_is_stopped_ends_in_time_and_goes_on_to_the_same_end(
    number: signal.Signals, tmp_path: Path, uninterrupted: Kept, figure: Figure
) -> None:
    """Whatever is owed: every bot is told why, the exit code is the signal's, it can be resumed (F9, T13)."""
    file, out = tournament_file(tmp_path), tmp_path / "run"
    taken_s, told = await stopped(file, out, number)
    assert taken_s <= STOP_LIMIT_S
    kept = Kept.of(out)
    assert told <= kept.session_ids
    assert "operator_stop" in kept.attempt_ends
    assert same_in_the_end(await play_to_the_end(file, out, "--resume"), uninterrupted)
    figure("F9", f"n = 1 stop, ended in {taken_s:.2f} s")


@pytest.mark.nightly
@pytest.mark.parametrize("number", EXIT_CODES, ids=lambda number: number.name)
async def test_every_stop_ends_in_time(number: signal.Signals, tmp_path: Path, figure: Figure) -> None:
    """Ten of ten, and nothing that was told is lost."""
    all_s = []
    for count in range(10):
        folder = tmp_path / str(count)
        folder.mkdir()
        taken_s, told = await stopped(tournament_file(folder), folder / "run", number)
        assert told <= Kept.of(folder / "run").session_ids
        all_s.append(taken_s)
    assert max(all_s) <= STOP_LIMIT_S
    figure("F9", f"n = {len(all_s)} stops, ended in {max(all_s):.2f} s at most")


async def hold_all(bots: list[PatientBot], *, after: int) -> None:
    """Have every bot answer nothing more once the first was asked so often; wait until a decision is open."""
    held = asyncio.Event()

    def look() -> None:
        if sum(bot.asked_count for bot in bots) >= after:
            for bot in bots:
                bot.holding = True
            held.set()

    for bot in bots:
        bot.on_request = look
    await asyncio.wait_for(held.wait(), 40)


async def test_a_second_signal_ends_a_run_at_once_and_loses_nothing(tmp_path: Path) -> None:
    """The first one waits for open decisions; after the second the process is gone (F9)."""
    run = await Run.start(tournament_file(tmp_path), tmp_path / "run")
    bots = run.bots()
    async with seated(bots):
        await hold_all(bots, after=60)
        run.process.send_signal(signal.SIGINT)
        await run.wait_for_line("once more to stop at once")
        began_s = monotonic()
        run.process.send_signal(signal.SIGINT)
        assert await run.wait() == EXIT_CODES[signal.SIGINT]
        assert monotonic() - began_s <= 1
    assert set.union(*[bot.told for bot in bots]) <= Kept.of(tmp_path / "run").session_ids


@pytest.mark.nightly
@pytest.mark.parametrize("holding", [True, False])
async def test_a_stop_is_in_time_on_a_slow_disk(
    holding: bool, tmp_path: Path, uninterrupted: Kept, figure: Figure
) -> None:
    """Each write takes half a second and sixteen sessions are in flight, or wait to be written (F9)."""
    file, out = tournament_file(tmp_path, at_once=16), tmp_path / "run"
    run = await Run.start(file, out, broken="from tests.zoo.slow_disk import slow_down; slow_down()")
    bots = run.bots()
    is_told = asyncio.Event()
    bots[0].on_end = is_told.set
    async with seated(bots):
        await asyncio.wait_for(is_told.wait(), PATIENCE_S)
        for bot in bots:
            bot.holding = holding
        began_s = monotonic()
        run.process.terminate()
        assert await run.wait() == EXIT_CODES[signal.SIGTERM]
        taken_s = monotonic() - began_s
    assert taken_s <= STOP_LIMIT_S
    kept = Kept.of(out)
    assert set.union(*[bot.told for bot in bots]) <= kept.session_ids
    assert "operator_stop" in kept.attempt_ends
    assert same_in_the_end(await play_to_the_end(file, out, "--resume"), uninterrupted)
    figure("F9", f"n = 1 stop on a disk that takes 0.5 s for a write, ended in {taken_s:.2f} s")


@pytest.mark.nightly
async def test_a_stop_is_in_time_on_a_slow_disk_with_failed_attempts(tmp_path: Path, figure: Figure) -> None:
    """Sixteen sessions lack the same two bots, which went away; what waits becomes one write (F9)."""
    file, out = tournament_file(tmp_path, at_once=16, clock="join_ms = 5000"), tmp_path / "run"
    slowed = "from tests.zoo.slow_disk import slow_down, tell_of_failures; slow_down(); tell_of_failures()"
    run = await Run.start(file, out, broken=slowed)
    bots = run.bots()
    async with seated(bots[:2]):
        for bot in bots[:2]:
            await asyncio.wait_for(bot.is_welcome.wait(), PATIENCE_S)
    async with seated(bots[2:]):
        await run.wait_for_line(FAILURE_IS_WRITTEN)
        began_s = monotonic()
        run.process.terminate()
        assert await run.wait() == EXIT_CODES[signal.SIGTERM]
        taken_s = monotonic() - began_s
    assert taken_s <= STOP_LIMIT_S
    ends = Kept.of(out).attempt_ends
    assert set(ends) == {"bots_absent"}
    # An arena that is late itself, as on a busy machine, takes on half of them.
    assert len(ends) in {8, 16}
    figure("F9", f"n = 1 stop with {len(ends)} failed attempts, 0.5 s for a write, ended in {taken_s:.2f} s")


@pytest.mark.nightly
async def test_a_run_that_waits_for_its_sessions_is_found(tmp_path: Path, figure: Figure) -> None:
    """Where sessions get all the time that they want, a stop is not in time: the tests above can fail."""
    broken = "import arena.tournament; arena.tournament.STOP_GRACE_S = 3600"
    run = await Run.start(tournament_file(tmp_path), tmp_path / "run", broken=broken)
    bots = run.bots()
    async with seated(bots):
        await hold_all(bots, after=20)
        run.process.terminate()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run.process.wait(), STOP_LIMIT_S)
        run.process.kill()
        await run.wait()
    figure("F9", f"n = 1 stop, not ended after {STOP_LIMIT_S} s, as must be")


async def test_a_run_that_is_stopped_while_it_waits_for_bots_ends_in_time(tmp_path: Path) -> None:
    """Nobody has dialled in, and nobody is waited for any longer (F9)."""
    run = await Run.start(tournament_file(tmp_path), tmp_path / "run")
    began_s = monotonic()
    run.process.terminate()
    assert await run.wait() == EXIT_CODES[signal.SIGTERM]
    assert monotonic() - began_s <= STOP_LIMIT_S


async def test_a_run_that_is_killed_leaves_no_process(tmp_path: Path, uninterrupted: Kept) -> None:
    """The bots that it started end with it, and it goes on to the same end with new ones (F1, E16)."""
    file = tournament_file(tmp_path, local=BOTS[:2])
    run = await Run.start(file, tmp_path / "run", remote=BOTS[2:])
    bots = run.bots()
    async with seated(bots):
        await hold_all(bots, after=20)
        started = psutil.Process(run.process.pid).children(recursive=True)
        # A supervisor and a bot for each of the two.
        assert len(started) >= 4
        run.process.kill()
        await run.wait()
        _, alive = await asyncio.to_thread(psutil.wait_procs, started, timeout=5)
        assert alive == []
    run = await Run.start(file, tmp_path / "run", "--resume", remote=BOTS[2:])
    async with seated(run.bots()):
        assert await run.wait() == 0, run.lines
    kept = Kept.of(tmp_path / "run")
    assert (kept.chips, kept.fault_count) == (uninterrupted.chips, 0)


async def play_with_pauses(folder: Path, count: int, *, broken: str = "") -> Kept:
    """Stop an arena for 2 s, again and again, while decisions of less than 2 s are open."""
    clock = "move_ms = 1500\nbank_ms = 0\nfirst_answer_ms = 0\nmax_strikes = 1000"
    file = tournament_file(folder, blocks=count, deals=3, clock=clock)
    run = await Run.start(file, folder / "run", broken=broken)
    bots = run.bots(after_s=0.02)
    async with seated(bots):
        for number in range(count):
            # An arena that hardly ever runs cannot tell a bot that is gone from one that it did not hear.
            await asyncio.wait_for(asked_again(bots, 40), PATIENCE_S)
            asked = asyncio.Event()
            bots[number % 4].on_request = asked.set
            await asyncio.wait_for(asked.wait(), PATIENCE_S)
            await pauses.hold_still(run.process.pid, 2)
        assert await run.wait() == 0, run.lines
    return Kept.of(folder / "run")


@pytest.mark.parametrize("count", [2, pytest.param(20, marks=pytest.mark.nightly)])
async def test_an_arena_that_stands_still_charges_nobody(count: int, tmp_path: Path, figure: Figure) -> None:
    """No time-out follows from a pause longer than the limit: the time was not the bots' (F6, T02)."""
    kept = await play_with_pauses(tmp_path, count)
    assert kept.fault_count == 0
    figure("F6", f"n = {count} pauses of 2 s, {len(kept.digests)} sessions, 0 time-outs")


@pytest.mark.nightly
async def test_the_pauses_are_felt_by_an_arena_that_charges_its_own_time(
    tmp_path: Path, figure: Figure
) -> None:
    """Without the heartbeat the same pauses give time-outs: the test above can fail."""
    broken = "import arena.lag; arena.lag.Heartbeat.lag_us = lambda *_: 0"
    kept = await play_with_pauses(tmp_path, 5, broken=broken)
    assert kept.fault_count > 0
    figure("F6", f"n = 5 pauses, {kept.fault_count} time-outs, as must be")


@pytest.mark.nightly
async def test_a_result_that_is_told_before_it_is_kept_is_found(tmp_path: Path, figure: Figure) -> None:
    """With a store that writes nothing, a run that is killed has told what it does not have."""
    broken = "import arena.store.writer as w; w.Store.record_session = lambda *_: True"
    run = await Run.start(tournament_file(tmp_path), tmp_path / "run", broken=broken)
    told = await killed(run, run.bots(), after=0, at_an_end=True)
    kept = Kept.of(tmp_path / "run")
    assert not told <= kept.session_ids
    figure("F1", f"n = 1 kill, {len(told - kept.session_ids)} of {len(told)} results lost, as must be")
