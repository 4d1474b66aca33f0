"""`kratzen bots`: who may dial in to an arena, over gRPC or in the data folder of one that does not run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import click

from arena.cli.inputs import json_option
from arena.cli.output import print_json
from arena.cli.remote import linked, remote_options
from arena.cli.status_tables import bots_table
from arena.cli.tables import console_for_data, print_table
from arena.status import BotStatus
from arena.text import escape

_name = click.argument("name")
_data = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Work on this data folder, of an arena that does not run, instead.",
)


class Desk(Protocol):
    """Where bots are registered: at a running arena, or in a folder."""

    def register_bot(self, name: str) -> str:
        """Register a bot; its token."""
        ...

    def revoke_bot(self, name: str, version: str | None) -> tuple[str, ...]:
        """Revoke a bot, or one version of it; the running tournaments that it was withdrawn from."""
        ...

    def bots(self) -> tuple[BotStatus, ...]:
        """All bots that were ever registered, by name."""
        ...


@contextmanager
def _desk(address: str, ca: Path | None, data: Path | None, *, may_be_new: bool = False) -> Iterator[Desk]:
    """The desk that is asked for; CommandFailed for whatever is wrong with it or refused there."""
    if data is None:
        with linked(address, ca) as arena:
            yield arena
    else:
        # The database takes a second to load, and the usual desk needs none.
        from arena.cli.folder_desk import open_folder  # noqa: PLC0415

        with open_folder(data, may_be_new=may_be_new) as folder:
            yield folder


@click.group(epilog="Example: kratzen bots add alice")
def bots() -> None:
    """Register bots that dial in from elsewhere, and revoke them.

    The arena's admin token is taken from KRATZEN_ADMIN_TOKEN.
    """


@bots.command(short_help="Register a bot and print its token.", epilog="Example: kratzen bots add alice")
@_name
@remote_options
@_data
def add(name: str, address: str, ca: Path | None, data: Path | None) -> None:
    """Register the bot NAME and print its token, which is shown this once."""
    with _desk(address, ca, data, may_be_new=True) as desk:
        token = desk.register_bot(name)
    click.echo(token)
    click.echo(
        f"this is the token of {name}, which is not shown again: its author sets KRATZEN_TOKEN to it, and "
        "KRATZEN_ADDRESS to where the arena is",
        err=True,
    )


@bots.command(short_help="Let a bot in no more.", epilog="Example: kratzen bots revoke alice")
@_name
@click.option("--version", help="Only this version of it; another one may come with the same token.")
@remote_options
@_data
def revoke(name: str, version: str | None, address: str, ca: Path | None, data: Path | None) -> None:
    """Let the bot NAME in no more: its token is invalid, and it is withdrawn from what it plays in."""
    with _desk(address, ca, data) as desk:
        tournament_ids = desk.revoke_bot(name, version)
    click.echo(f"bot {name} is revoked", err=True)
    for tournament_id in tournament_ids:
        click.echo(f"it was withdrawn from tournament {escape(tournament_id)}", err=True)


@bots.command("list", epilog="Example: kratzen bots list --json")
@remote_options
@_data
@json_option
def list_bots(address: str, ca: Path | None, data: Path | None, *, as_json: bool) -> None:
    """List the bots that are registered, and those that were."""
    with _desk(address, ca, data) as desk:
        entries = desk.bots()
    if as_json:
        print_json([asdict(entry) for entry in entries])
    else:
        print_table(bots_table(entries), console_for_data())
