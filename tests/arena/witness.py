"""A socket that processes of a test connect to, so that their lives are seen without waiting for time.

A connection ends when nobody holds it any more, however its holder ended, and whoever its parent is by
then: its end is the proof that a process is gone.
"""

import contextlib
import socket
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

PATIENCE_S: Final = 30
"""For what must happen, but need not be fast."""

PREAMBLE: Final = """
import os, signal, socket, sys

def meet(name):
    witness = socket.socket(socket.AF_UNIX)
    witness.connect(sys.argv[1])
    witness.sendall(f"{name} {os.getpid()}".encode().ljust(64))
    return witness
"""
"""What a program of `script` begins with."""


class Witness:
    """Listens at `path`; keeps what connected, by name."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "witness"
        self.pids: dict[str, int] = {}
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.settimeout(PATIENCE_S)
        self._listening.bind(str(self.path))
        self._listening.listen(100)
        self._met: dict[str, socket.socket] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.close()
        for connection in self._met.values():
            connection.close()

    def script(self, body: str) -> tuple[str, ...]:
        """The command of a Python program; `meet(name)` in it connects and returns the connection."""
        return (sys.executable, "-I", "-S", "-c", PREAMBLE + body, str(self.path))

    def meet(self, *names: str) -> None:
        """Wait until processes of exactly these names have connected."""
        for _ in names:
            connection, _ = self._listening.accept()
            connection.settimeout(PATIENCE_S)
            name, pid = connection.recv(64, socket.MSG_WAITALL).decode().split()
            self._met[name] = connection
            self.pids[name] = int(pid)
        assert set(names) <= set(self._met)

    def say(self, name: str) -> None:
        """Send one byte to a process, which may be waiting for it."""
        self._met[name].sendall(b"!")

    def hears_the_end(self, within_s: float = PATIENCE_S) -> None:
        """Wait until every connection has ended; TimeoutError when one has not."""
        until = time.monotonic() + within_s
        for connection in self._met.values():
            connection.settimeout(max(0.001, until - time.monotonic()))
            # Reset instead of closed: it ended with something unread.
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""
