"""The folder of an arena's socket: there for its time, and gone after a kill at the next start."""

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.cli import sockets
from arena.cli.errors import CommandFailed
from arena.cli.sockets import MAX_SOCKET_BYTES, PREFIX, SOCKET, remove_left_over, socket_folder
from tests.arena.served import served


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for temporary files of this test alone, with a short path as it is usual."""
    with tempfile.TemporaryDirectory(dir=sockets.SHORT_PLACE) as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setattr(sockets, "SHORT_PLACE", Path(folder))
        yield Path(folder)


def make_long(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another place for temporary files, in the one of before, whose path is too long for a socket's."""
    place = temporary / ("long" * 25)
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


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


def test_a_path_that_is_too_long_for_a_socket_is_no_hindrance(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is made in a place with a shorter path, and is gone after its time there too."""
    place = make_long(temporary, monkeypatch)
    with socket_folder() as folder:
        make_socket(folder)
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == [place]


@pytest.mark.parametrize("over", [0, 1])
def test_the_longest_path_is_used(over: int, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the byte: one that just fits takes the socket, one more is a byte too many."""
    with socket_folder() as folder:
        room = MAX_SOCKET_BYTES - len(str(folder / SOCKET)) - 1
    place = temporary / ("x" * (room + over))
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with socket_folder() as folder:
        make_socket(folder)
        assert folder.parent == (temporary if over else place)


def test_what_a_killed_arena_left_in_the_short_place_is_removed(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By any arena, whatever its own place is."""
    left = temporary / f"{PREFIX}dead"
    left.mkdir()
    make_socket(left)
    make_long(temporary, monkeypatch)
    remove_left_over()
    assert not left.exists()


def test_no_place_at_all_is_told(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one is too long, the other is not there: the sentence names both, and what to do."""
    place = make_long(temporary, monkeypatch)
    monkeypatch.setattr(sockets, "SHORT_PLACE", temporary / "none")
    with pytest.raises(CommandFailed) as told, socket_folder():
        pass
    assert str(told.value) == (
        f"the arena's socket has no place: {place} (TMPDIR) is too long a path for one, and "
        f"{temporary / 'none'} cannot be used (No such file or directory): set TMPDIR to a shorter path"
    )


def test_an_arena_listens_whatever_the_length_of_tmpdir(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A TMPDIR that no socket fits in."""
    monkeypatch.setenv("TMPDIR", str(make_long(temporary, monkeypatch)))
    with served(temporary / "data") as arena, arena.client() as client:
        assert client.bots() == ()
