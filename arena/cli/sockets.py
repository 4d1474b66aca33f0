"""The folder of an arena's socket: made for its time, and what killed arenas left of theirs removed."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "kratzen-sock-"
SOCKET: Final = "arena.sock"


@contextmanager
def socket_folder() -> Iterator[Path]:
    """A new folder among those for temporary files, locked for as long as this process has it."""
    remove_left_over()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield Path(folder)
        finally:
            os.close(lock)


def remove_left_over() -> None:
    """Remove the folders whose arenas are gone: killed, they could not do it themselves."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        # One that has no socket yet may be just about to be locked. Others' folders cannot be opened.
        if (folder / SOCKET).is_socket():
            with suppress(OSError):
                _remove_unless_locked(folder)


def _remove_unless_locked(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.getuid():
            shutil.rmtree(folder)
    finally:
        os.close(lock)
