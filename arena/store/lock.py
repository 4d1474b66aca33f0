"""One arena a folder: a lock that the operating system lets go of, however the process ends."""

import fcntl
import os
from pathlib import Path

from arena.store.errors import StoreError, StoreLockedError


def take_lock(folder: Path, name: str) -> int:
    """Make a folder, if need be, and take its lock.

    The lock is let go by closing what is returned, or by the end of the process.

    Raises:
        StoreLockedError: another process has it; the message names it.
        StoreError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"the folder {folder} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise StoreLockedError(
            f"{folder} is in use by another arena (process {holder}): stop that one, or choose another folder"
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor
