"""The check of a bot that is started for it, in an arena that lasts as long as the check."""

import asyncio
import tempfile
from pathlib import Path

import click

from arena.bot_command import absolute_words
from arena.check import Checker, Entrance, ProcessEnd
from arena.cli.building import Site, open_arena
from arena.cli.early import EndedAtOnce
from arena.cli.errors import CommandFailed
from arena.cli.logs import log_to
from arena.cli.signals import EXIT_BY_SIGNAL, stopped_by_signals
from arena.cli.verdicts import VerdictReport
from arena.faults import FaultCause
from arena.launcher import BotProcess, BotStart, ExitKind, ExitReport, Launcher, LaunchError
from arena.lobby import Member
from arena.seats import Gone

BOT_NAME = "bot"


class StartedBot:
    """The bot that is checked: a process of ours, and its member in the lobby."""

    def __init__(self, member: Member, process: BotProcess) -> None:
        self.member = member
        self.process = process
        self._watch = asyncio.create_task(self._notice_end())

    async def end(self, limit_s: float) -> ProcessEnd | None:
        """How it ended; None when it has not within `limit_s`."""
        try:
            async with asyncio.timeout(limit_s):
                report = await self.process.wait()
        except TimeoutError:
            return None
        code = report.code if report.kind is ExitKind.EXITED else None
        return ProcessEnd(code, report.sentence)

    async def stop(self) -> ExitReport:
        """End it, if it has not ended by itself."""
        self._watch.cancel()
        return await self.process.stop()

    async def _notice_end(self) -> None:
        report = await self.process.wait()
        self.member.leave_for_good(Gone(FaultCause.EXITED, report.sentence))


def check_started(command: tuple[str, ...], report: VerdictReport, *, deterministic: bool) -> int:
    """Start the bot, take it through all steps and end it; the exit code.

    Raises:
        CommandFailed: it cannot be started, or a signal came.
    """
    try:
        # Until the signals are looked after in there.
        with EndedAtOnce():
            ended = asyncio.run(_check_until_signal(command, report, deterministic=deterministic))
    except LaunchError as error:
        raise CommandFailed(str(error)) from None
    code = report.close(ended.last_lines)
    if not (report.as_json or report.has_passed):
        _print_output(ended)
    return code


async def _check_until_signal(
    command: tuple[str, ...], report: VerdictReport, *, deterministic: bool
) -> ExitReport:
    """Check the bot unless a signal comes: then it is ended, and the command with the signal's exit code."""
    came: list[str] = []

    def stop(signal: str) -> None:
        came.append(signal)
        check.cancel()

    with stopped_by_signals(stop), tempfile.TemporaryDirectory(prefix="kratzen-check-") as folder:
        # What the arena logs is no part of the output.
        log_to(Path(folder))
        check = asyncio.create_task(_check(command, Path(folder), report, deterministic=deterministic))
        await asyncio.wait([check])
    if came and check.cancelled():
        raise CommandFailed("interrupted", EXIT_BY_SIGNAL[came[0]])
    return check.result()


async def _check(
    command: tuple[str, ...], folder: Path, report: VerdictReport, *, deterministic: bool
) -> ExitReport:
    """Start arena and bot, and take the bot through all steps; how it ended."""
    here = Path.cwd()
    async with (
        open_arena(Site(address="127.0.0.1:0")) as arena,
        Launcher(log_folder=folder, tournament_folder=here) as launcher,
    ):
        start = BotStart(
            number=1,
            name=BOT_NAME,
            words=absolute_words(command, here),
            address=arena.address,
            token=arena.tokens.issue(BOT_NAME),
        )
        process = await launcher.start(start)
        if not process.is_started:
            raise CommandFailed(f"the bot {(await process.wait()).sentence}")
        started = StartedBot(arena.lobby.member(BOT_NAME), process)
        checker = Checker(
            started.member,
            arena.clockwork,
            process=started,
            entrance=Entrance(arena.address, arena.door),
            deterministic=deterministic,
        )
        async for verdict in checker.run():
            report.add(verdict)
        return await started.stop()


def _print_output(ended: ExitReport) -> None:
    """The last that the bot printed."""
    if ended.last_lines:
        click.echo("the last that the bot printed:", err=True)
    for line in ended.last_lines:
        click.echo(f"  {line}", err=True)
