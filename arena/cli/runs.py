"""The folder of a run: where it lies, and its store made from a tournament file or opened again."""

from pathlib import Path

from arena.cli.errors import CommandFailed
from arena.clock import SystemTime
from arena.config import TournamentFile, tournament_values
from arena.hosted import create_store, file_of
from arena.store import Store


def folder_for(name: str) -> Path:
    """A folder for a new run, `runs/NAME-TIME` with the time in UTC."""
    stamp = SystemTime().utc_text()[:19].replace("-", "").replace(":", "")
    return Path("runs") / f"{name}-{stamp}"


def create_run(folder: Path, tournament: TournamentFile) -> Store:
    """A new run in a folder that has none.

    Args:
        folder: made if need be.
        tournament: its seed is set.

    Raises:
        ScheduleError: no schedule can be made of it.
        StoreError: the folder has a run already, or cannot be written.
    """
    return create_store(folder, tournament, SystemTime().utc_text())


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
    if wanted.tournament.seed is None and kept.tournament.seed is not None:
        wanted = wanted.with_seed(kept.tournament.seed)
    if tournament_values(wanted) != tournament_values(kept):
        raise CommandFailed(
            f"{folder} is the run of another tournament file or seed: go on with the one it was made from"
        )
