"""`kratzen bot check`: puts a bot to the question, one that is started here or is connected to an arena."""

import shlex
from pathlib import Path

import click
from click.core import ParameterSource

from arena.admin import AdminError, AdminFailure
from arena.cli.early import EndedAtOnce
from arena.cli.errors import CommandFailed
from arena.cli.inputs import json_option
from arena.cli.name_or_command import NameOrCommand, name_or_command
from arena.cli.remote import linked, remote_options
from arena.cli.verdicts import VerdictReport
from arena.text import escape, is_bot_name


@click.group(epilog="Example: kratzen bot check -- python my_bot.py")
def bot() -> None:
    """Try a bot before it plays for anything."""


@bot.command(
    cls=NameOrCommand,
    short_help="Put a bot to the question, step by step.",
    epilog="Example: kratzen bot check --deterministic -- python my_bot.py",
)
@click.option("--deterministic", is_flag=True, help="Ask for the same play from the same session too.")
@remote_options
@json_option
@name_or_command
@click.pass_context
def check(
    context: click.Context,
    name: str | None,
    command: tuple[str, ...],
    address: str,
    ca: Path | None,
    *,
    deterministic: bool,
    as_json: bool,
) -> int:
    """Does the bot keep the contract? COMMAND starts it, as in a tournament file.

    With NAME instead, as in `kratzen bot check alice`, it is the bot of that name that is connected to
    an arena that runs. It was started elsewhere and stays connected, so that its exit and its output
    are not looked at. The arena's admin token is taken from KRATZEN_ADMIN_TOKEN.

    Every step has a name and a verdict: hello, each option of the rules, the end of a session,
    several sessions at once, a rejected answer, a request that was too late, one that came twice,
    a lost link, a thousand decisions for speed, the exit. A step that fails shows what was sent,
    what came back, and the last that the bot printed; one that could tell nothing new is skipped.
    """
    report = VerdictReport(as_json=as_json)
    if name is not None:
        return _check_connected(name, address, ca, report, deterministic=deterministic)
    for option in ("address", "ca"):
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{option} goes with the name of a bot: a command is started here")
    # Starting a bot takes a whole arena, which is a second's work to load.
    with EndedAtOnce():
        from arena.cli.started_bot import check_started  # noqa: PLC0415

    return check_started(command, report, deterministic=deterministic)


def _check_connected(
    name: str, address: str, ca: Path | None, report: VerdictReport, *, deterministic: bool
) -> int:
    """Have the arena check the bot of that name; the exit code."""
    if not is_bot_name(name):
        raise CommandFailed(f"{escape(name)} is no bot's name: {_as_command(name)}")
    with linked(address, ca) as arena:
        try:
            for verdict in arena.check_bot(name, deterministic=deterministic):
                report.add(verdict)
        except AdminError as error:
            if report.is_empty and error.failure in (AdminFailure.UNKNOWN, AdminFailure.NO_ARENA):
                raise AdminError(error.failure, f"{error} ({_as_command(name)})") from None
            raise
    return report.close()


def _as_command(word: str) -> str:
    """How a word that stands for a name is given as a command; the end of a sentence."""
    return f"a command is given after two dashes: kratzen bot check -- {escape(shlex.quote(word))}"
