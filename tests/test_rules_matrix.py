"""Every value of every option, played by the four sample bots over gRPC without a fault.

In each session the option that is tried must show its value in what happens: a session in which
nobody could bid would prove nothing about contracts.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import count, islice
from pathlib import Path

import pytest

from arena.cli.building import OpenArena, Site, open_arena
from arena.clock import ClockSettings
from arena.commitment import commitment
from arena.launcher import BotStart, Launcher
from arena.record import SeatInfo, SessionHeader
from arena.referee import Referee
from arena.replay import parse
from arena.results import AttemptEnd, SessionResult
from arena.runner import SessionRunner
from engine.events import Event
from engine.rules import OPTIONS, OptionTrial, SessionOptions, every_option_value, make_session_options
from tests.engine.playing import Case
from tests.engine.playing import play as play_by_chance
from tests.engine.shown_options import SHOWN, is_shown
from tests.figures import Figure

KINDS = ("random", "cautious", "counting", "sampling")
BOTS = (*KINDS, "random-2", "cautious-2")
"""Enough for six seats; what follows the dash only keeps two of a kind apart."""

AT_ONCE = 4
MOST_TRIES = 30
"""Sessions in which a value may fail to show itself before the test fails."""


def kind_of(bot: str) -> str:
    """Which of the four sample bots it is."""
    return bot.partition("-")[0]


@asynccontextmanager
async def sample_bots(folder: Path) -> AsyncIterator[OpenArena]:
    """An arena with the sample bots as processes of their own, all there."""
    async with (
        open_arena(Site(address="127.0.0.1:0")) as arena,
        Launcher(log_folder=folder, tournament_folder=folder) as launcher,
    ):
        for number, name in enumerate(BOTS, start=1):
            words = ("python", "-m", f"sample_bots.{kind_of(name)}_bot")
            token = arena.tokens.issue(name)
            await launcher.start(
                BotStart(number=number, name=name, words=words, address=arena.address, token=token)
            )
        assert await arena.lobby.wait_for(BOTS, timeout_s=30) == ()
        yield arena


@dataclass(frozen=True)
class Setup:
    """A session to be played for a trial; the cards and who sits where follow from the number."""

    trial: OptionTrial
    players: int
    number: int

    @property
    def options(self) -> SessionOptions:
        """Three deals."""
        return make_session_options(self.trial.ruleset, {"players": self.players, "deals": 3})

    @property
    def seating(self) -> tuple[str, ...]:
        """The bots by seat: they move on by one with the number."""
        at = self.number % len(BOTS)
        return (*BOTS[at:], *BOTS[:at])[: self.players]

    @property
    def seed(self) -> bytes:
        """The cards."""
        return sha256(f"matrix/{self.number}".encode()).digest()

    def shows(self, events: Sequence[Event]) -> bool:
        """Whether the value that is tried can be told from what happened."""
        return is_shown(self.trial.ruleset, self.trial.option, self.trial.value, events)

    def is_likely(self) -> bool:
        """Whether the value shows itself when chance plays, which finds the cards that it takes."""
        case = Case(self.trial.ruleset, self.options, self.seed, "keen", self.number)
        return self.shows(play_by_chance(case.session(), case).events)


@dataclass(frozen=True)
class Outcome:
    """A session that was played: its result, and all that happened."""

    setup: Setup
    result: SessionResult
    events: tuple[Event, ...]


def likely_setups(trial: OptionTrial, first: int) -> Iterator[Setup]:
    """Sessions, by number from `first` on, in which the value should show itself, all of one table size."""
    players = 3 + first % 4
    setups = (Setup(trial, players, number) for number in count(first))
    return islice((setup for setup in setups if setup.is_likely()), MOST_TRIES)


async def play(arena: OpenArena, setup: Setup) -> Outcome:
    """Play one session."""
    ruleset, seed = setup.trial.ruleset, setup.seed
    header = SessionHeader(
        tournament="rules-matrix",
        block=setup.number,
        session=1,
        session_id=sha256(f"{setup.trial}".encode() + seed).hexdigest()[:32],
        ruleset=ruleset,
        options=setup.options,
        seats=tuple([SeatInfo(name, "1", "") for name in setup.seating]),
        clock=ClockSettings(move_ms=10_000),
        commitment=commitment(seed, seed),
    )
    referee = Referee(header, seed, seed)
    seats = [arena.lobby.member(name).sit(referee, seat) for seat, name in enumerate(setup.seating)]
    runner = SessionRunner(referee, seats, arena.clockwork)
    runner.open()
    played = await runner.play()
    runner.close(AttemptEnd.FINISHED)
    return Outcome(setup, played.result, tuple([step.event for step in parse(played.replay).steps]))


async def play_all(arena: OpenArena) -> list[Outcome]:
    """Play every value, a few at a time, each until it shows itself."""
    waiting: Iterator[tuple[int, OptionTrial]] = zip(count(1), every_option_value(), strict=False)
    outcomes = []

    async def work() -> None:
        for number, trial in waiting:
            for setup in likely_setups(trial, number):
                outcomes.append(await play(arena, setup))
                if setup.shows(outcomes[-1].events):
                    break

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return outcomes


def test_every_option_shows_itself_or_is_only_for_show() -> None:
    """For each option there is a way to tell its value from events, but for how the Weli is drawn."""
    assert {*SHOWN, "weli_as_joker"} == {option.name for option in OPTIONS}


@pytest.mark.slow
async def test_the_sample_bots_play_every_value_of_every_option(tmp_path: Path, figure: Figure) -> None:
    """No strike, no illegal answer, no forfeit, with either preset as the base, and each value in effect."""
    async with sample_bots(tmp_path) as arena:
        outcomes = await play_all(arena)
    trials = every_option_value()
    asked = sum(seat.asked_count for outcome in outcomes for seat in outcome.result.seats)
    figure("rules", f"n = {len(trials)} values of options in {len(outcomes)} sessions, {asked} decisions")
    faults = [
        f"{setup.trial.option} = {setup.trial.value}: {seat.bot} {fault.cause} {fault.detail}"
        for setup, result in [(outcome.setup, outcome.result) for outcome in outcomes]
        for seat in result.seats
        for fault in seat.faults
    ]
    assert faults == []
    shown = {outcome.setup.trial for outcome in outcomes if outcome.setup.shows(outcome.events)}
    assert [trial for trial in trials if trial not in shown] == []
    tried = {(trial.option, trial.value) for trial in trials}
    met = {
        (outcome.setup.trial.option, outcome.setup.trial.value, kind_of(seat.bot))
        for outcome in outcomes
        for seat in outcome.result.seats
    }
    assert met == {(*value, kind) for value in tried for kind in KINDS}
    assert {len(outcome.result.seats) for outcome in outcomes} == {3, 4, 5, 6}
