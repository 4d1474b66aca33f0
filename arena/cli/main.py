"""The entry of `kratzen`: which commands there are, and how every one of them ends.

Commands are loaded when they are called, so that `--help` is as quick as click itself: no
module with gRPC, the database or tables may be imported here.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Final, NoReturn

import click
from click.exceptions import NoSuchCommand

from arena.cli.early import HANG_UP, EndedAtOnce, ending_signals
from arena.cli.errors import (
    EXIT_FAILED,
    EXIT_HUNG_UP,
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    EXIT_USAGE,
    CommandFailed,
)
from arena.cli.outlets import end_output, open_outlets
from arena.cli.output import (
    drop_live_streams,
    drop_stdout,
    open_closed_streams,
    write_plainly_where_needed,
)
from arena.text import escape

# gRPC hooks into forks unless told otherwise before its import; the arena starts bots.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
# What goes wrong is told in sentences of our own; gRPC's lines beside them help nobody.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


TRACE_SWITCH: Final = "KRATZEN_ALLOW_TRACE"


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """Where a command lives, its line in `kratzen --help`, and whether it opens a server or a channel."""

    module: str
    summary: str
    has_tokens: bool = True


COMMANDS: Final = {
    "run": LazyCommand("arena.cli.run", "Play a tournament here, with the bots of its file."),
    "bot": LazyCommand("arena.cli.bot", "Check whether a bot keeps the contract."),
    "serve": LazyCommand("arena.cli.serve", "Run an arena for bots that dial in from elsewhere."),
    "bots": LazyCommand("arena.cli.bots", "Register and revoke the bots of a running arena."),
    "tournament": LazyCommand("arena.cli.tournament", "Create, start, watch and stop its tournaments."),
    "leaderboard": LazyCommand("arena.cli.leaderboard", "Show the table of a run.", has_tokens=False),
    "replay": LazyCommand(
        "arena.cli.replay", "List, show, verify and export the sessions of a run.", has_tokens=False
    ),
    "rules": LazyCommand("arena.cli.rules", "Show the rulesets and what tells them apart.", has_tokens=False),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        with EndedAtOnce():
            command = getattr(import_module(COMMANDS[cmd_name].module), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or say which ones its name is like; one with tokens only where none is printed."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        if args[0] in COMMANDS and COMMANDS[args[0]].has_tokens:
            check_traces()
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; once it is interrupted, nobody waits for output that is not taken."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # Here and not later: click itself has something to print then.
            end_output()
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "KRATZEN"},
    epilog="Example: kratzen run tournaments/quickstart.toml",
)
@click.version_option(version("kratzen"), prog_name="kratzen")
def kratzen() -> None:
    """A bot arena for Kratzen, the Austrian trick-taking card game."""


def check_traces(environment: Mapping[str, str] = os.environ) -> None:
    """Raise CommandFailed when gRPC is to print what it carries, which tokens are part of."""
    if environment.get("GRPC_TRACE") and not environment.get(TRACE_SWITCH):
        raise CommandFailed(
            "GRPC_TRACE is set, by which gRPC prints the tokens of bots: unset it, or set "
            f"{TRACE_SWITCH}=1 as well to accept that"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `kratzen` and leave with its exit code."""
    open_closed_streams()
    open_outlets()
    write_plainly_where_needed()
    # Until a command has its own way to stop: as for Ctrl-C, everything that is open is closed.
    for number in ending_signals():
        if number != signal.SIGINT:
            signal.signal(number, _terminate)
    code = exit_code(arguments)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    if code in (EXIT_HUNG_UP, EXIT_INTERRUPTED, EXIT_TERMINATED):
        _leave_at_once(code)
    sys.exit(code)


class _Terminated(KeyboardInterrupt):
    """SIGTERM came, or the terminal was closed."""

    def __init__(self, *, hung_up: bool) -> None:
        super().__init__()
        self.outcome = ("hung up", EXIT_HUNG_UP) if hung_up else ("terminated", EXIT_TERMINATED)


def _terminate(number: int, frame: object) -> NoReturn:
    del frame
    if number == HANG_UP:
        signal.signal(number, signal.SIG_IGN)  # A second one must not disturb the end.
        drop_live_streams()
    raise _Terminated(hung_up=number == HANG_UP)


def _leave_at_once(code: int) -> NoReturn:
    """End the process as it is: what is to be kept is kept by now, and every folder and stream is closed.

    To tidy up takes an interpreter a second on a busy machine, of the five that a stop has.
    """
    os._exit(code)


def exit_code(arguments: Sequence[str] | None = None) -> int:
    """Run `kratzen`; every way to fail ends in one sentence on stderr and its code."""
    try:
        result = kratzen.main(arguments, prog_name="kratzen", standalone_mode=False)
    except SystemExit:
        # So click and rich end when nobody reads our output any more, as with `head`: nothing is left to say.
        drop_stdout()
        return 0
    except click.UsageError as error:
        error.show()
        return EXIT_USAGE
    except (CommandFailed, click.ClickException, click.Abort, KeyboardInterrupt, OSError) as error:
        sentence, code = _told(error)
        # What a path or a bot may have brought in controls no terminal.
        click.echo("kratzen: " + "\n".join(map(escape, sentence.split("\n"))), err=True)
        return code
    return result if isinstance(result, int) else 0


def _told(error: BaseException) -> tuple[str, int]:
    """What to say of an error, and the exit code it gives."""
    match error:
        case CommandFailed():
            return str(error), error.exit_code
        case click.ClickException():
            return error.format_message(), error.exit_code
        case OSError():
            # It may well be stdout that cannot be written, and it would fail again at the end.
            drop_stdout()
            where = "" if error.filename is None else f"{error.filename}: "
            return f"{where}{error.strerror or error}", EXIT_FAILED
        # click makes an error of its own out of what a signal raised.
        case BaseException(__cause__=_Terminated() as ended) | (_Terminated() as ended):
            return ended.outcome
        case _:
            return "interrupted", EXIT_INTERRUPTED
