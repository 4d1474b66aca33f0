"""Terminals and pipes, which may be closed or take nothing, and keep no command from its end by that.

Loaded for every command, `--help` too: only light modules may be imported here.
"""

import errno
import io
import os
import stat
import sys
import threading
from queue import SimpleQueue
from typing import Any, ClassVar, Final

from arena.cli.output import drop

LOOK_UP_S: Final = 0.25
"""How often who waits for an outlet looks up whether the command is to end."""
LOOKS_AT_END: Final = 2
"""So many looks the outlet still gets then."""


class _Piece:
    """What is to be written, and what came of it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.is_over = threading.Event()
        self.count = 0
        self.error: OSError | None = None


class Outlet(io.FileIO):
    """A terminal or a pipe that is written to on a thread of its own.

    Who writes waits until that is done, but only for a moment once the command is to end: a terminal that
    was stopped (Ctrl-S) or a pipe that nobody reads may take nothing for ever. What it does not take is
    lost then.
    """

    is_ending: ClassVar[bool] = False
    """Whether the command is to end."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._pieces: SimpleQueue[_Piece] = SimpleQueue()
        self._is_given_up = False
        self._is_terminal = self.isatty()
        # The process does not wait for a daemon before it ends.
        threading.Thread(target=self._write_pieces, name="outlet", daemon=True).start()

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - anything that has bytes, as FileIO takes it
        """Write, and return how many bytes were taken: all of them from when the outlet was given up."""
        if self._is_given_up:
            return len(data)
        if sys.is_finalizing():
            # The thread is gone by now.
            return self._take(data)
        piece = _Piece(bytes(data))
        self._pieces.put(piece)
        looks = 0
        while not piece.is_over.wait(LOOK_UP_S):
            looks += Outlet.is_ending
            if looks == LOOKS_AT_END:
                self._is_given_up = True
                return len(data)
        if piece.error is not None:
            raise piece.error
        return piece.count

    def _write_pieces(self) -> None:
        while True:
            piece = self._pieces.get()
            try:
                piece.count = self._take(piece.data)
            except OSError as error:
                piece.error = error
            piece.is_over.set()

    def _take(self, data: Any) -> int:  # noqa: ANN401 - as for `write`
        """Write; a terminal that is gone says EIO, before or after the signal that tells of it."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno != errno.EIO or not self._is_terminal:
                raise
            drop(self.fileno())
            return len(data)


def open_outlets() -> None:
    """Have stdout and stderr written through outlets where they are terminals, pipes or sockets."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and _may_be_stuck(stream):
            text = io.TextIOWrapper(
                io.BufferedWriter(Outlet(stream.fileno())),
                stream.encoding,
                stream.errors,
                # One that keeps nothing back (PYTHONUNBUFFERED) is to keep back no line.
                line_buffering=stream.line_buffering or stream.write_through,
            )
            setattr(sys, name, text)


def end_output() -> None:
    """From here on nobody waits for an outlet for more than a moment; may be called whatever is going on."""
    Outlet.is_ending = True


def _may_be_stuck(stream: io.TextIOWrapper) -> bool:
    mode = os.fstat(stream.fileno()).st_mode
    return stream.isatty() or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
