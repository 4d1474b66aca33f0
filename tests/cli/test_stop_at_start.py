"""A stop while bots are just being started: nobody waits for their files, or for a start that hangs."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

import pytest

from arena import launcher
from arena.admin import AdminError
from arena.config import parse_tournament
from arena.ledger import TournamentState
from arena.refusals import RefusedError
from arena.store import StoreReader
from tests.arena.halls import open_hall
from tests.arena.served import KRATZEN, LIMIT_S, end, environment, served
from tests.cli.calling import HEAD

STOP_S: Final = 5

BOTS: Final = "".join(
    [f'[[bots]]\nname = "{name}"\ncommand = "python -m endless"\n' for name in ("ada", "bea", "cleo", "dora")]
)

SAYS_NOTHING: Final = """
import sys
open({pipe!r}, "w").close()
sys.stdin.read()
"""
"""A supervisor that never says whether its bot started; it ends with its arena, as it should."""


@pytest.fixture
def endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the module `endless` that gives nothing for as long as it is held open for writing."""
    (tmp_path / "endless").mkdir()
    os.mkfifo(tmp_path / "endless" / "weights.py")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "endless" / "weights.py"


@contextmanager
def being_read(file: Path) -> Iterator[None]:
    """From when somebody reads the file, who gets nothing, until the end of the block."""
    with file.open("wb"):
        yield


def test_a_run_that_reads_its_bots_files_stops_in_time(endless: Path, tmp_path: Path) -> None:
    """SIGTERM: out in 5 s with its exit code and how to go on, though a file is not at its end (F9)."""
    (tmp_path / "t.toml").write_text(HEAD + BOTS)
    process = subprocess.Popen(
        [KRATZEN, "run", tmp_path / "t.toml", "--out", tmp_path / "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        with being_read(endless):
            began_s = monotonic()
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, monotonic() - began_s < STOP_S) == (143, True)
    finally:
        end(process)
    assert "Traceback" not in said
    assert "8 sessions left; go on with: kratzen run " in said
    with StoreReader.open(tmp_path / "run") as store:
        assert (store.facts().state, store.slot_counts().open) == (TournamentState.CREATED, 8)


def test_an_arena_that_reads_its_bots_files_stops_in_time(endless: Path, tmp_path: Path) -> None:
    """SIGTERM: out in 5 s with 0, and who asked for the start is told why there is none (F9)."""
    with served(tmp_path / "data") as arena, arena.client() as client, ThreadPoolExecutor(1) as aside:
        its_id = client.create_tournament(HEAD + BOTS, str(tmp_path)).tournament_id
        asked = aside.submit(client.start_tournament, its_id)
        with being_read(endless):
            began_s = monotonic()
            code, said = arena.stop()
            assert (code, monotonic() - began_s < STOP_S) == (0, True)
        assert "Traceback" not in said
        with pytest.raises(AdminError, match="the arena is stopping"):
            asked.result(LIMIT_S)


def test_a_start_that_takes_too_long_can_be_stopped(endless: Path, tmp_path: Path) -> None:
    """Who asked for it is told, and what waited for it goes on."""
    with served(tmp_path / "data") as arena, arena.client() as client, ThreadPoolExecutor(2) as aside:
        its_id = client.create_tournament(HEAD + BOTS, str(tmp_path)).tournament_id
        asked = aside.submit(client.start_tournament, its_id)
        with being_read(endless):
            added = aside.submit(client.register_bot, "alice")
            assert client.stop_tournament(its_id).state is TournamentState.CREATED
            assert added.result(LIMIT_S)
        with pytest.raises(AdminError, match=f"tournament {its_id} was stopped before it began"):
            asked.result(LIMIT_S)


async def test_a_start_that_hangs_is_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What watches over a bot does not say that it started: the arena stops all the same, in time."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "says_nothing.py").write_text(SAYS_NOTHING.format(pipe=str(pipe)))
    monkeypatch.setattr(launcher, "SUPERVISOR", tmp_path / "says_nothing.py")
    async with open_hall(tmp_path / "data") as arena:
        names = ("ada", "bea", "cleo", "dora")
        local = "".join([f'[[bots]]\nname = "{name}"\ncommand = "true"\n' for name in names])
        status = await arena.hall.create(parse_tournament(HEAD + local), str(tmp_path))
        starting = asyncio.create_task(arena.hall.start(status.tournament_id))
        await asyncio.to_thread(pipe.read_text)
        async with asyncio.timeout(STOP_S):
            assert await arena.hall.close() == ()
        with pytest.raises(RefusedError, match="the arena is stopping"):
            await starting
