"""`kratzen tournament`: tournaments of an arena that runs elsewhere or in another window."""

import json
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live

from arena.admin import AdminClient
from arena.cli.errors import EXIT_FAILED, CommandFailed
from arena.cli.inputs import json_option, read_tournament_file
from arena.cli.output import print_json
from arena.cli.remote import linked, remote_options
from arena.cli.status_tables import (
    print_status,
    status_line,
    status_picture,
    status_values,
    tournaments_table,
)
from arena.cli.tables import console_for_data, print_table
from arena.status import TournamentStatus
from arena.text import escape

_id = click.argument("tournament_id", metavar="ID")


@click.group(epilog="Example: kratzen tournament create league.toml")
def tournament() -> None:
    """Create, start, watch and stop tournaments of a running arena.

    Bots with a command in the file are started by the arena; the others dial in with the
    tokens of `kratzen bots add`. The arena's admin token is taken from KRATZEN_ADMIN_TOKEN.
    """


@tournament.command(epilog="Example: kratzen tournament create league.toml --start")
@click.argument("file", type=click.Path(path_type=Path))
@remote_options
@click.option(
    "--bot-folder",
    help="Folder on the arena's machine with the files of bots that it starts.  [default: that of FILE]",
)
@click.option("--start", "is_started", is_flag=True, help="Start it, too.")
@json_option
def create(
    file: Path, address: str, ca: Path | None, bot_folder: str | None, *, is_started: bool, as_json: bool
) -> None:
    """Enter the tournament of FILE and print its id.

    docs/tournament-file.md has every key of FILE.
    """
    text, _ = read_tournament_file(file)
    folder = str(file.absolute().parent) if bot_folder is None else bot_folder
    with linked(address, ca) as arena:
        status = arena.create_tournament(text.decode("utf-8-sig"), _sendable(folder))
        if is_started:
            status = arena.start_tournament(status.tournament_id)
    if as_json:
        print_json(status_values(status))
    else:
        click.echo(escape(status.tournament_id))
        _say(status)
        if not is_started:
            click.echo(f"start it with: kratzen tournament start {status.tournament_id}", err=True)


@tournament.command(epilog="Example: kratzen tournament start 3")
@_id
@remote_options
@click.option("--follow", is_flag=True, help="Show how it goes until it is over.")
def start(tournament_id: str, address: str, ca: Path | None, *, follow: bool) -> int:
    """Start the tournament ID, or go on with it after a stop."""
    with linked(address, ca) as arena:
        _say(arena.start_tournament(tournament_id))
        return _follow(arena, tournament_id, as_json=False) if follow else 0


@tournament.command(
    short_help="Stop a tournament, which can be gone on with.", epilog="Example: kratzen tournament stop 3"
)
@_id
@remote_options
def stop(tournament_id: str, address: str, ca: Path | None) -> None:
    """Stop the tournament ID: sessions in flight get up to 3 s, the rest is played after the next start."""
    with linked(address, ca) as arena:
        status = arena.stop_tournament(tournament_id)
    _say(status)
    click.echo(f"go on with: kratzen tournament start {tournament_id}", err=True)


@tournament.command(epilog="Example: kratzen tournament status 3 --follow")
@_id
@remote_options
@click.option("--follow", is_flag=True, help="Show how it goes until it is over.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: one document, or with --follow a line each."
)
def status(tournament_id: str, address: str, ca: Path | None, *, follow: bool, as_json: bool) -> int:
    """Show how the tournament ID stands: its bots, its leaderboard."""
    with linked(address, ca) as arena:
        code = _follow(arena, tournament_id, as_json=as_json) if follow else 0
        if follow and as_json:
            return code
        standing, board = arena.tournament(tournament_id), arena.leaderboard(tournament_id)
    if as_json:
        print_json(status_values(standing, board))
    else:
        print_status(standing, board, console_for_data())
    return code


@tournament.command("list", epilog="Example: kratzen tournament list --json")
@remote_options
@json_option
def list_tournaments(address: str, ca: Path | None, *, as_json: bool) -> None:
    """List all tournaments, the newest first."""
    with linked(address, ca) as arena:
        entries = arena.tournaments()
    if as_json:
        print_json([status_values(entry) for entry in entries])
    else:
        print_table(tournaments_table(entries), console_for_data())


def _follow(arena: AdminClient, tournament_id: str, *, as_json: bool) -> int:
    """Show every status until the tournament runs no longer; 1 when it stopped by itself."""
    console = Console(stderr=True, highlight=False)
    shown = latest = None
    with Live(console=console, transient=True, auto_refresh=False) as live:
        for latest in arena.watch_tournament(tournament_id):
            if as_json:
                click.echo(json.dumps(status_values(latest)))
            elif console.is_terminal:
                live.update(status_picture(latest), refresh=True)
            elif shown is None or (latest.state, latest.counts) != (shown.state, shown.counts):
                console.print(status_line(latest), soft_wrap=True)
                shown = latest
    return EXIT_FAILED if latest is not None and latest.failure else 0


def _say(status: TournamentStatus) -> None:
    Console(stderr=True, highlight=False).print(status_line(status), soft_wrap=True)


def _sendable(folder: str) -> str:
    """A folder's name as a message can hold it."""
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise CommandFailed(
            "the name of the bots' folder is no UTF-8 text: give another one with --bot-folder"
        ) from None
    return folder
