"""Ctrl-C and SIGTERM: the first one asks for an orderly end, the second one ends the process."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import click

from arena.cli.errors import EXIT_INTERRUPTED, EXIT_TERMINATED
from arena.tournament import STOP_GRACE_S

EXIT_BY_SIGNAL: Final = {"SIGINT": EXIT_INTERRUPTED, "SIGTERM": EXIT_TERMINATED}


def say_stopping(how_to_go_on: str) -> None:
    """Say what the first signal brings about, and how to go on: after a second one nothing is said."""
    grace = f"{STOP_GRACE_S:g} s"
    click.echo(
        f"stopping: sessions in flight get {grace}; once more to stop at once; {how_to_go_on}", err=True
    )


@contextmanager
def stopped_by_signals(stop: Callable[[str], None]) -> Iterator[None]:
    """While the block runs, call `stop` with the name of the first signal; the second one is the end."""
    stopped = False

    def on_signal(name: str) -> None:
        nonlocal stopped
        if stopped:
            # What was reported is on disk, and the supervisors end the bots when we are gone.
            os._exit(EXIT_BY_SIGNAL[name])
        stopped = True
        stop(name)

    loop = asyncio.get_running_loop()
    for name in EXIT_BY_SIGNAL:
        loop.add_signal_handler(signal.Signals[name], on_signal, name)
    try:
        yield
    finally:
        for name in EXIT_BY_SIGNAL:
            loop.remove_signal_handler(signal.Signals[name])
