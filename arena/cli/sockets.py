"""The folder of an arena's socket: made for its time, and what killed arenas left of theirs removed."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from arena.cli.errors import CommandFailed

PREFIX: Final = "kratzen-sock-"
SOCKET: Final = "arena.sock"


SHORT_PLACE: Final = Path("/tmp")  # noqa: S108 - the folder in it gets a name of its own, and is ours alone
"""Where it is made when the path of the usual place is too long for a socket's."""
MAX_SOCKET_BYTES: Final = 107
"""The longest path that Linux takes for a socket (`sun_path`)."""
_RANDOM_LENGTH: Final = 8
"""What `tempfile` makes a name different by."""


@contextmanager
def socket_folder() -> Iterator[Path]:
    """A new folder among those for temporary files, locked for as long as this process has it.

    Raises:
        CommandFailed: there is no place for it.
    """
    remove_left_over()
    with _new_folder() as folder:
        lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield Path(folder)
        finally:
            os.close(lock)


def _new_folder() -> "tempfile.TemporaryDirectory[str]":
    usual = Path(tempfile.gettempdir())
    longest = usual / f"{PREFIX}{'x' * _RANDOM_LENGTH}" / SOCKET
    if len(os.fsencode(longest)) <= MAX_SOCKET_BYTES:
        return tempfile.TemporaryDirectory(prefix=PREFIX)
    try:
        return tempfile.TemporaryDirectory(prefix=PREFIX, dir=SHORT_PLACE)
    except OSError as error:
        raise CommandFailed(
            f"the arena's socket has no place: {usual} (TMPDIR) is too long a path for one, and "
            f"{SHORT_PLACE} cannot be used ({error.strerror}): set TMPDIR to a shorter path"
        ) from None


def remove_left_over() -> None:
    """Remove the folders whose arenas are gone: killed, they could not do it themselves."""
    for place in {Path(tempfile.gettempdir()), SHORT_PLACE}:
        for folder in place.glob(f"{PREFIX}*"):
            # One that has no socket yet may be just about to be locked. Others' folders cannot be opened.
            with suppress(OSError):
                if (folder / SOCKET).is_socket():
                    _remove_unless_locked(folder)


def _remove_unless_locked(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.getuid():
            shutil.rmtree(folder)
    finally:
        os.close(lock)
