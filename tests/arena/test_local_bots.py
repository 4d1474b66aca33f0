"""Bots that the arena starts and that end: started again so often, over all runs of a tournament."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from arena.clock import SystemTime
from arena.faults import FaultCause
from arena.launcher import MAX_RESTARTS, BotStart, ExitKind, ExitReport, Launcher, LaunchError
from arena.lobby import Lobby
from arena.local_bots import GivenUp, LocalBots
from arena.store import StoreError
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
    failed: list[tuple[str, Exception]] = field(default_factory=list)
    has_failed: asyncio.Event = field(default_factory=asyncio.Event)
    before_keeping: Callable[[], None] = lambda: None

    async def keep_end(self, name: str, report: ExitReport) -> None:
        """Keep it."""
        assert name == NAME
        self.before_keeping()
        self.kept.append(report)

    def fail(self, name: str, error: Exception) -> None:
        """Note it."""
        self.failed.append((name, error))
        self.has_failed.set()

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
    bots = LocalBots(
        launcher,
        lobby,
        watch.give_up,
        on_failed=watch.fail,
        keep_end=watch.keep_end,
        before={NAME: before},
    )
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


async def failure_of(folder: Path, watch: Watch) -> Exception:
    """Why a bot is not kept going; it is neither given up nor gone."""
    async with running(folder, watch) as (_, lobby):
        await asyncio.wait_for(watch.has_failed.wait(), PATIENCE_S)
        assert lobby.member(NAME).gone is None
    assert watch.given_up == []
    ((name, error),) = watch.failed
    assert name == NAME
    return error


async def test_a_bot_that_the_arena_cannot_start_again_is_told_of(tmp_path: Path) -> None:
    """Without a folder for its log there is no second start: that is said with the reason."""
    folder, watch = tmp_path / "logs", Watch()

    def take_the_folder_away() -> None:
        shutil.rmtree(folder)
        folder.touch()

    watch.before_keeping = take_the_folder_away
    error = await failure_of(folder, watch)
    assert isinstance(error, LaunchError)
    assert str(error) == f"the supervisor of bot crash cannot be started: {folder}: File exists"


async def test_an_end_that_cannot_be_kept_is_told_of(tmp_path: Path) -> None:
    """A full disk, and whatever else fails, is said; the bot is not started again as if nothing were."""
    full, watch = StoreError("the disk is full"), Watch()

    def fail() -> None:
        raise full

    watch.before_keeping = fail
    assert await failure_of(tmp_path, watch) is full
    assert watch.kept == []
