"""Every value of every option, played once by the four sample bots over gRPC without a fault."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest

from arena.cli.building import OpenArena, Site, open_arena
from arena.clock import ClockSettings
from arena.commitment import commitment
from arena.launcher import BotStart, Launcher
from arena.record import SeatInfo, SessionHeader
from arena.referee import Referee
from arena.results import AttemptEnd, SessionResult
from arena.runner import SessionRunner
from engine.rules import OptionTrial, every_option_value, make_session_options
from tests.figures import Figure

BOTS = ("random", "cautious", "counting", "sampling")
AT_ONCE = 4


@asynccontextmanager
async def sample_bots(folder: Path) -> AsyncIterator[OpenArena]:
    """An arena with the four sample bots as processes of their own, all there."""
    async with (
        open_arena(Site(address="127.0.0.1:0")) as arena,
        Launcher(log_folder=folder, tournament_folder=folder) as launcher,
    ):
        for number, name in enumerate(BOTS, start=1):
            words = ("python", "-m", f"sample_bots.{name}_bot")
            token = arena.tokens.issue(name)
            await launcher.start(
                BotStart(number=number, name=name, words=words, address=arena.address, token=token)
            )
        assert await arena.lobby.wait_for(BOTS, timeout_s=30) == ()
        yield arena


async def play(arena: OpenArena, trial: OptionTrial, number: int) -> SessionResult:
    """Play one value; the bots move on by a seat with every session."""
    seed = sha256(f"matrix/{number}".encode()).digest()
    at = number % len(BOTS)
    seating = BOTS[at:] + BOTS[:at]
    header = SessionHeader(
        tournament="rules-matrix",
        block=number,
        session=1,
        session_id=seed.hex()[:32],
        ruleset=trial.ruleset,
        options=make_session_options(trial.ruleset, {"players": len(BOTS), "deals": 3}),
        seats=tuple([SeatInfo(name, "1", "") for name in seating]),
        clock=ClockSettings(move_ms=10_000),
        commitment=commitment(seed, seed),
    )
    referee = Referee(header, seed, seed)
    seats = [arena.lobby.member(name).sit(referee, seat) for seat, name in enumerate(seating)]
    runner = SessionRunner(referee, seats, arena.clockwork)
    runner.open()
    played = await runner.play()
    runner.close(AttemptEnd.FINISHED)
    return played.result


async def play_all(arena: OpenArena) -> list[tuple[OptionTrial, SessionResult]]:
    """Play every value, a few at a time."""
    waiting: Iterator[tuple[int, OptionTrial]] = zip(count(1), every_option_value(), strict=False)
    results = []

    async def work() -> None:
        for number, trial in waiting:
            results.append((trial, await play(arena, trial, number)))

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return results


@pytest.mark.slow
async def test_the_sample_bots_play_every_value_of_every_option(tmp_path: Path, figure: Figure) -> None:
    """No strike, no illegal answer, no forfeit, with either preset as the base."""
    async with sample_bots(tmp_path) as arena:
        results = await play_all(arena)
    assert len(results) == len(every_option_value())
    faults = [
        f"{trial.option} = {trial.value}: {seat.bot} {fault.cause} {fault.detail}"
        for trial, result in results
        for seat in result.seats
        for fault in seat.faults
    ]
    assert faults == []
    asked = sum(seat.asked_count for _, result in results for seat in result.seats)
    figure("rules", f"n = {len(results)} values of options, {asked} decisions, 0 faults")
