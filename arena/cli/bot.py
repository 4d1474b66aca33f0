"""`kratzen bot check`: starts a bot, puts it to the question, prints a verdict a step."""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape as escape_markup

from arena.bot_command import CommandError, absolute_words
from arena.check import Checker
from arena.cli.building import Site, open_arena
from arena.cli.errors import EXIT_FAILED, CommandFailed
from arena.cli.tables import console_for_data
from arena.faults import FaultCause
from arena.launcher import BotProcess, BotStart, ExitKind, ExitReport, Launcher, LaunchError
from arena.lobby import Member
from arena.seats import Gone
from arena.status import Verdict

BOT_NAME = "bot"


class StartedBot:
    """The bot that is checked: a process of ours, and its member in the lobby."""

    def __init__(self, member: Member, process: BotProcess) -> None:
        self.member = member
        self.process = process
        self._watch = asyncio.create_task(self._notice_end())

    async def exit_code(self, limit_s: float) -> int | None:
        """Its exit code once it has ended by itself, at most `limit_s` from now."""
        try:
            async with asyncio.timeout(limit_s):
                report = await self.process.wait()
        except TimeoutError:
            return None
        return report.code if report.code is not None else -(report.signal or 0)

    async def stop(self) -> ExitReport:
        """End it, if it has not ended by itself."""
        self._watch.cancel()
        return await self.process.stop()

    async def _notice_end(self) -> None:
        report = await self.process.wait()
        self.member.leave_for_good(Gone(FaultCause.EXITED, report.sentence))


@click.group(epilog="Example: kratzen bot check -- python my_bot.py")
def bot() -> None:
    """Try a bot before it plays for anything."""


@bot.command(
    epilog="Example: kratzen bot check --deterministic -- python my_bot.py",
    context_settings={"ignore_unknown_options": True},
)
@click.option("--deterministic", is_flag=True, help="Ask for the same play from the same session too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def check(command: tuple[str, ...], *, deterministic: bool, as_json: bool) -> int:
    """Does the bot keep the contract? COMMAND starts it, as in a tournament file.

    Every step has a name and a verdict: hello, each option of the rules, several sessions at
    once, a rejected answer, a request that was too late, one that came twice, a lost link, a
    thousand decisions for speed, the exit. A step that fails shows what was sent, what came
    back, and the last that the bot printed.
    """
    with tempfile.TemporaryDirectory(prefix="kratzen-check-") as folder, _failures_told():
        verdicts, report = asyncio.run(
            _check(command, Path(folder), deterministic=deterministic, quiet=as_json)
        )
    if report.kind is ExitKind.NOT_STARTED:
        raise CommandFailed(f"the bot {report.sentence}")
    passed = all(verdict.passed for verdict in verdicts)
    if as_json:
        plain = {
            "passed": passed,
            "steps": [asdict(verdict) for verdict in verdicts],
            "stderr": report.last_lines,
        }
        click.echo(json.dumps(plain, indent=2))
    elif not passed:
        _print_output(report)
    return 0 if passed else EXIT_FAILED


@contextmanager
def _failures_told() -> Iterator[None]:
    try:
        yield
    except (CommandError, LaunchError) as error:
        raise CommandFailed(f"the bot {error}" if isinstance(error, CommandError) else str(error)) from None


async def _check(
    command: tuple[str, ...], folder: Path, *, deterministic: bool, quiet: bool
) -> tuple[list[Verdict], ExitReport]:
    """Start arena and bot, and take the bot through all steps."""
    console = console_for_data()
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
        started = StartedBot(arena.lobby.member(BOT_NAME), await launcher.start(start))
        checker = Checker(started.member, arena.clockwork, process=started, deterministic=deterministic)
        verdicts = []
        async for verdict in checker.run():
            verdicts.append(verdict)
            if not quiet:
                _print_verdict(console, verdict)
        return verdicts, await started.stop()


def _print_verdict(console: Console, verdict: Verdict) -> None:
    mark = "[green]pass[/green]" if verdict.passed else "[red]FAIL[/red]"
    console.print(f"{mark}  {verdict.step:<17} {escape_markup(verdict.sentence)}", soft_wrap=True)
    for line in verdict.evidence:
        console.print(f"      {escape_markup(line)}", soft_wrap=True)


def _print_output(report: ExitReport) -> None:
    """How the bot ended, if it did so by itself, and the last that it printed."""
    if report.kind is not ExitKind.STOPPED:
        click.echo(f"the bot {report.sentence}", err=True)
    if report.last_lines:
        click.echo("the last that the bot printed:", err=True)
    for line in report.last_lines:
        click.echo(f"  {line}", err=True)
