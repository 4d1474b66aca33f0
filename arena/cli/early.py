"""The first moments of `kratzen`, in which Ctrl-C, SIGTERM and a closed terminal just end it.

What is imported then is large, and an interrupt in the middle of it could surface anywhere, as any
error. Nothing has begun yet that would need an end of its own. This file imports next to nothing
itself, since what comes before its first line cannot be helped.
"""

import os
import signal

HANG_UP = getattr(signal, "SIGHUP", None)
"""What comes when the terminal is closed, once or twice; Windows has none."""


def ending_signals() -> tuple[signal.Signals, ...]:
    """Those that ask us to end. A closed terminal does not where the caller ignores it, as `nohup` does."""
    asking = (signal.SIGINT, signal.SIGTERM)
    if HANG_UP is None or signal.getsignal(HANG_UP) is signal.SIG_IGN:
        return asking
    return (*asking, HANG_UP)


class EndedAtOnce:
    """While the block runs, a signal is the end of the process, with that signal's exit code."""

    def __enter__(self) -> None:
        self._before = {}
        for number in ending_signals():
            try:
                self._before[number] = signal.signal(number, _end)
            except ValueError:
                # Signals are the main thread's, and this is another.
                return

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _end(number: int, frame: object) -> None:
    del frame

    def leave(*_: object) -> None:
        # As a shell has it, and `errors` too.
        os._exit(128 + number)

    # A terminal that was stopped may not take the word: another signal is the end then, or a second's time.
    for other in ending_signals():
        signal.signal(other, leave)
    if hasattr(signal, "alarm"):
        signal.signal(signal.SIGALRM, leave)
        signal.alarm(1)
    try:  # noqa: SIM105 - contextlib would be one import more
        os.write(2, b"kratzen: interrupted\n")
    except OSError:
        # Nobody reads it, as when the terminal is gone.
        pass
    leave()


def main() -> None:
    """Run `kratzen`, which is loaded here."""
    with EndedAtOnce():
        from arena.cli.main import main as run_kratzen  # noqa: PLC0415  so that it can be interrupted

    run_kratzen()
