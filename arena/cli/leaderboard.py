"""`kratzen leaderboard`: the table of a run, finished or not."""

from pathlib import Path

import click

from arena.cli.errors import CommandFailed
from arena.cli.inputs import json_option
from arena.cli.output import print_json
from arena.cli.tables import console_for_data, leaderboard_json, print_leaderboard
from arena.store import StoreError, StoreReader


@click.command(epilog="Example: kratzen leaderboard runs/quickstart-20261129T120000 --json")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@json_option
def leaderboard(folder: Path, *, as_json: bool) -> None:
    """Show the table of the run in DIR: ratings, chips with their error bars, faults, times."""
    try:
        with StoreReader.open(folder) as store:
            if as_json:
                print_json(leaderboard_json(store))
                return
            print_leaderboard(store, console_for_data())
            counts = store.slot_counts()
    except StoreError as error:
        raise CommandFailed(str(error)) from None
    if counts.finished < counts.total:
        click.echo(f"{counts.finished} of {counts.total} sessions, {counts.void} void", err=True)
