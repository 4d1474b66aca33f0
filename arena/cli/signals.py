"""Ctrl-C, SIGTERM and a closed terminal: the first one asks for an orderly end, a second ends the process.

A terminal that is closed (SIGHUP) says so once or twice, and may be closed while we stop: that is never
taken for the second.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import click

from arena.cli.early import HANG_UP, ending_signals
from arena.cli.errors import EXIT_HUNG_UP, EXIT_INTERRUPTED, EXIT_TERMINATED
from arena.cli.outlets import end_output
from arena.cli.output import drop_live_streams
from arena.tournament import STOP_GRACE_S

EXIT_BY_SIGNAL: Final = {
    "SIGINT": EXIT_INTERRUPTED,
    "SIGTERM": EXIT_TERMINATED,
    "SIGHUP": EXIT_HUNG_UP,
}


def say_stopping(how_to_go_on: str) -> None:
    """Say what the first signal brings about, and how to go on: after a second one nothing is said."""
    grace = f"up to {STOP_GRACE_S:g} s"
    with suppress(OSError):  # The terminal may be gone.
        click.echo(
            f"stopping: sessions in flight get {grace}; once more to stop at once; {how_to_go_on}", err=True
        )


@contextmanager
def stopped_by_signals(stop: Callable[[str], None]) -> Iterator[None]:
    """While the block runs, call `stop` with the name of the first signal.

    After that a second one is the end, in the block and after it, whatever the process waits for: the loop,
    which may stand still, is only needed for the first.
    """
    is_stopped = False
    loop = asyncio.get_running_loop()

    def on_first(number: int) -> None:
        stop(signal.Signals(number).name)
        if number == HANG_UP:
            drop_live_streams()

    def on_signal(number: int, frame: object) -> None:
        nonlocal is_stopped
        del frame
        if not is_stopped:
            is_stopped = True
            end_output()
            loop.call_soon_threadsafe(on_first, number)
        elif number == HANG_UP:
            drop_live_streams()
        else:
            # What was reported is on disk, and the supervisors end the bots when we are gone.
            os._exit(EXIT_BY_SIGNAL[signal.Signals(number).name])

    before = {number: signal.getsignal(number) for number in ending_signals()}
    for number in before:
        # Only by a handler of its own does a signal wake the loop, wherever that waits.
        loop.add_signal_handler(number, _wake)
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, on_signal if is_stopped else handler)


def _wake() -> None:
    """What the loop does of a signal by itself: it goes on."""
