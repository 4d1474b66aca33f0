"""`kratzen bots`: who may dial in to an arena, over gRPC or in the data folder of one that does not run."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from arena.cli.errors import CommandFailed
from arena.cli.remote import connected, remote_options
from arena.cli.status_tables import bots_table
from arena.cli.tables import console_for_data
from arena.clock import SystemTime
from arena.enrolment import enrol, strike_off
from arena.refusals import RefusedError
from arena.status import BotStatus
from arena.store import Registry, RegistryBot, StoreError, StoreLockedError

_name = click.argument("name")
_data = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Work on this data folder, of an arena that does not run, instead.",
)


@click.group(epilog="Example: kratzen bots add alice")
def bots() -> None:
    """Register bots that dial in from elsewhere, and revoke them.

    The arena's admin token is taken from KRATZEN_ADMIN_TOKEN.
    """


@bots.command(epilog="Example: kratzen bots add alice")
@_name
@remote_options
@_data
def add(name: str, address: str, ca: Path | None, data: Path | None) -> None:
    """Register the bot NAME and print its token, which is shown this once."""
    if data is None:
        with connected(address, ca) as arena:
            token = arena.register_bot(name)
    else:
        with _registry(data) as registry:
            token = enrol(registry, name, SystemTime().utc_text())
    click.echo(token)
    click.echo(
        f"this is the token of {name}, which is not shown again: its author sets KRATZEN_TOKEN to it, and "
        "KRATZEN_ADDRESS to where the arena is",
        err=True,
    )


@bots.command(epilog="Example: kratzen bots revoke alice")
@_name
@remote_options
@_data
def revoke(name: str, address: str, ca: Path | None, data: Path | None) -> None:
    """Make the token of the bot NAME invalid; it is withdrawn from what it plays in."""
    tournament_ids: tuple[str, ...] = ()
    if data is None:
        with connected(address, ca) as arena:
            tournament_ids = arena.revoke_bot(name)
    else:
        with _registry(data) as registry:
            strike_off(registry, name, SystemTime().utc_text())
    click.echo(f"bot {name} is revoked", err=True)
    for tournament_id in tournament_ids:
        click.echo(f"it was withdrawn from tournament {tournament_id}", err=True)


@bots.command("list", epilog="Example: kratzen bots list --json")
@remote_options
@_data
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_bots(address: str, ca: Path | None, data: Path | None, *, as_json: bool) -> None:
    """List the bots that are registered, and those that were."""
    if data is None:
        with connected(address, ca) as arena:
            entries = arena.bots()
    else:
        with _registry(data) as registry:
            entries = tuple([_at_rest(bot) for bot in registry.bots()])
    if as_json:
        click.echo(json.dumps([asdict(entry) for entry in entries], indent=2))
    else:
        console_for_data().print(bots_table(entries))


@contextmanager
def _registry(data: Path) -> Iterator[Registry]:
    """The registry of a data folder; CommandFailed for whatever is wrong with it or refused."""
    try:
        with Registry.open(data) as registry:
            yield registry
    except StoreLockedError as error:
        raise CommandFailed(f"{error} - or leave --data out, and the arena that runs does it") from None
    except (StoreError, RefusedError) as error:
        raise CommandFailed(str(error)) from None


def _at_rest(bot: RegistryBot) -> BotStatus:
    return BotStatus(
        name=bot.name, registered_at_us=bot.added_at_us, revoked_at_us=bot.revoked_at_us, is_there=False
    )
