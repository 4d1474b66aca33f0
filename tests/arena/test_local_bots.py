"""Bots that the arena starts and that end: started again so often, over all runs of a tournament."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from arena.clock import SystemTime
from arena.faults import FaultCause
from arena.launcher import MAX_RESTARTS, BotStart, ExitKind, ExitReport, Launcher
from arena.lobby import Lobby
from arena.local_bots import GivenUp, LocalBots
from tests.arena.bots import LinkedBot

PATIENCE_S = 30
NAME = "crash"
ENDS_AT_ONCE = (sys.executable, "-c", "raise SystemExit(3)")


@dataclass
class Watch:
    """What is told of the bots of one run."""

    kept: list[ExitReport] = field(default_factory=list)
    given_up: list[GivenUp] = field(default_factory=list)
    is_given_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def keep_end(self, name: str, report: ExitReport) -> None:
        """Keep it."""
        assert name == NAME
        self.kept.append(report)

    def give_up(self, bot: GivenUp) -> None:
        """Note it."""
        self.given_up.append(bot)
        self.is_given_up.set()


@asynccontextmanager
async def running(
    folder: Path, watch: Watch, before: Sequence[ExitReport] = (), *, says_hello: bool = True
) -> AsyncIterator[tuple[LocalBots, Lobby]]:
    """A run with one bot, whose process ends at once; its link, if there is one, is the test's own."""
    lobby = Lobby(SystemTime(), arena_version="0")
    if says_hello:
        LinkedBot(lobby.member(NAME))
    launcher = Launcher(log_folder=folder, tournament_folder=folder)
    bots = LocalBots(launcher, lobby, watch.give_up, keep_end=watch.keep_end, before={NAME: before})
    start = BotStart(number=1, name=NAME, words=ENDS_AT_ONCE, address="127.0.0.1:1", token="none")  # noqa: S106
    try:
        await bots.start([start])
        yield bots, lobby
    finally:
        await bots.stop()


def an_end(folder: Path) -> ExitReport:
    """An end that was kept."""
    return ExitReport(kind=ExitKind.EXITED, sentence="exited with code 3", log=folder / "01-crash.log")


async def test_every_end_is_kept_until_a_bot_is_given_up(tmp_path: Path) -> None:
    """After three restarts the bot has gone for good, and all four ends are known."""
    watch = Watch()
    async with running(tmp_path, watch) as (bots, lobby):
        await asyncio.wait_for(watch.is_given_up.wait(), PATIENCE_S)
        assert len(bots.restarts[NAME]) == MAX_RESTARTS + 1
        gone = lobby.member(NAME).gone
    assert gone is not None
    assert (gone.cause, gone.detail) == (FaultCause.EXITED, "exited with code 3")
    assert [report.sentence for report in watch.kept] == ["exited with code 3"] * (MAX_RESTARTS + 1)
    assert [bot.was_there for bot in watch.given_up] == [True]


async def test_the_limit_is_that_of_all_runs_together(tmp_path: Path) -> None:
    """With two restarts behind it there is one left, and the ends of both runs are reported."""
    watch = Watch()
    async with running(tmp_path, watch, [an_end(tmp_path)] * 2) as (bots, _):
        await asyncio.wait_for(watch.is_given_up.wait(), PATIENCE_S)
        assert len(bots.restarts[NAME]) == MAX_RESTARTS + 1
    assert len(watch.kept) == 2


async def test_a_bot_that_was_given_up_in_an_earlier_run_is_not_started(tmp_path: Path) -> None:
    """It has gone for good from the start, for the reason that it had, and that is no failure of the run."""
    watch = Watch()
    before = [an_end(tmp_path)] * (MAX_RESTARTS + 1)
    async with running(tmp_path, watch, before, says_hello=False) as (bots, lobby):
        gone = lobby.member(NAME).gone
        assert bots.restarts[NAME] == tuple(before)
    assert gone is not None
    assert gone.detail == "exited with code 3"
    assert [(bot.report, bot.was_there) for bot in watch.given_up] == [(before[-1], True)]
    assert watch.kept == []
    assert await asyncio.to_thread(os.listdir, tmp_path) == []


async def test_an_end_before_hello_is_not_kept(tmp_path: Path) -> None:
    """The bot is given up at once: it uses up no restart, so that the run can be tried again."""
    watch = Watch()
    async with running(tmp_path, watch, says_hello=False):
        await asyncio.wait_for(watch.is_given_up.wait(), PATIENCE_S)
    assert [bot.was_there for bot in watch.given_up] == [False]
    assert watch.kept == []
