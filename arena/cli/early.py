"""The first moments of `kratzen`, in which Ctrl-C and SIGTERM just end it.

What is imported then is large, and an interrupt in the middle of it could surface anywhere, as any
error. Nothing has begun yet that would need an end of its own. This file imports nothing that is
large itself.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from arena.cli.errors import EXIT_INTERRUPTED, EXIT_TERMINATED

_EXIT_CODES = {signal.SIGINT: EXIT_INTERRUPTED, signal.SIGTERM: EXIT_TERMINATED}


@contextmanager
def ended_at_once() -> Iterator[None]:
    """While the block runs, a signal is the end of the process, with that signal's exit code."""
    if threading.current_thread() is not threading.main_thread():
        # Signals are the main thread's.
        yield
        return
    before = {number: signal.signal(number, _end) for number in _EXIT_CODES}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    os.write(2, b"kratzen: interrupted\n")
    os._exit(_EXIT_CODES[signal.Signals(number)])


def main() -> None:
    """Run `kratzen`, which is loaded here."""
    with ended_at_once():
        from arena.cli.main import main as run_kratzen  # noqa: PLC0415  so that it can be interrupted

    run_kratzen()
