"""The folder of a run: where it lies, and its store made from a tournament file or opened again."""

from collections.abc import Mapping
from pathlib import Path

from arena.account import create_store, file_of, schedule_of
from arena.cli.errors import CommandFailed
from arena.clock import SystemTime
from arena.config import TournamentFile, tournament_values
from arena.schedule import tournament_seed
from arena.store import Store


def folder_for(name: str) -> Path:
    """A folder for a new run, `runs/NAME-TIME` with the time in UTC."""
    stamp = SystemTime().utc_text()[:19].replace("-", "").replace(":", "")
    return Path("runs") / f"{name}-{stamp}"


def create_run(folder: Path, tournament: TournamentFile) -> Store:
    """A new run in a folder that has none, or one that failed before its first session.

    Args:
        folder: made if need be.
        tournament: its seed is set.

    Raises:
        ScheduleError: no schedule can be made of it.
        StoreError: the folder has a run already, or cannot be written.
    """
    blocks = schedule_of(tournament)
    return create_store(folder, tournament, blocks, SystemTime().utc_text(), replace_unplayed=True)


def open_run(folder: Path, tournament: TournamentFile) -> Store:
    """The run in a folder, to go on with it; it must be that of the same tournament file.

    Raises:
        StoreError: there is no run, or another arena has it.
        CommandFailed: the file is another one by now.
    """
    store = Store.open(folder)
    try:
        _check_same(file_of(store.facts()), tournament, folder)
    except BaseException:
        store.close()
        raise
    return store


def _check_same(kept: TournamentFile, wanted: TournamentFile, folder: Path) -> None:
    kept_seed, seed = kept.tournament.seed, wanted.tournament.seed
    assert kept_seed is not None, "a run has a seed"
    if seed is None or tournament_seed(seed) == tournament_seed(kept_seed):
        wanted = wanted.with_seed(kept_seed)
    difference = _difference(tournament_values(kept), tournament_values(wanted))
    if difference is not None:
        raise CommandFailed(
            f"{folder} is the run of another tournament: {difference}; go on with the file and the options "
            "that it was begun with, or begin a new run"
        )


def _difference(kept: Mapping[str, object], wanted: Mapping[str, object]) -> str | None:
    """The first key whose value is another one, with both; None when there is none."""
    for key, was in kept.items():
        value = wanted[key]
        if isinstance(was, dict) and isinstance(value, dict):
            inner = _difference(was, value)
            if inner is not None:
                return f"{key}.{inner}"
        elif isinstance(was, list) and was != value:
            return f"{key} are not the same"
        elif was != value:
            return f"{key} was {was!r} and is {value!r}"
    return None
