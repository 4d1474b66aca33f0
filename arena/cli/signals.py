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
    """While the block runs, call `stop` with the name of the first signal; the second one is the end."""
    is_stopped = is_hung_up = False

    def on_signal(number: signal.Signals) -> None:
        nonlocal is_stopped, is_hung_up
        if not is_stopped:
            is_stopped = True
            stop(number.name)
        elif number != HANG_UP:
            # What was reported is on disk, and the supervisors end the bots when we are gone.
            os._exit(EXIT_BY_SIGNAL[number.name])
        if number == HANG_UP:
            is_hung_up = True
            drop_live_streams()

    loop = asyncio.get_running_loop()
    heeded = {number: signal.getsignal(number) for number in ending_signals()}
    for number in heeded:
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)
        if HANG_UP in heeded:
            # What is left to do after the block is not cut short by a second one.
            signal.signal(HANG_UP, signal.SIG_IGN if is_hung_up else heeded[HANG_UP])
