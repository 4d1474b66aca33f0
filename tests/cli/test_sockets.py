"""The folder of an arena's socket: there for its time, and gone after a kill at the next start."""

import socket
import tempfile
from pathlib import Path

import pytest

from arena.cli.sockets import PREFIX, SOCKET, remove_left_over, socket_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for temporary files of this test alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def make_socket(folder: Path) -> None:
    """A socket as an arena has it."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / SOCKET))


def test_the_folder_is_gone_after_its_time(temporary: Path) -> None:
    """With whatever is in it."""
    with socket_folder() as folder:
        make_socket(folder)
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []


def test_what_a_killed_arena_left_is_removed_by_the_next(temporary: Path) -> None:
    """A folder with a socket that nobody holds."""
    left = temporary / f"{PREFIX}dead"
    left.mkdir()
    make_socket(left)
    with socket_folder():
        assert not left.exists()


def test_nobody_elses_folder_is_removed(temporary: Path) -> None:
    """Not that of an arena that runs, nor one that is just being made, nor what only bears such a name."""
    new, strange = temporary / f"{PREFIX}new", temporary / f"{PREFIX}file"
    new.mkdir()
    strange.touch()
    with socket_folder() as running:
        make_socket(running)
        remove_left_over()
        assert (running / SOCKET).is_socket()
    assert new.exists()
    assert strange.exists()
