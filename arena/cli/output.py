"""Where output goes: a terminal, a file or a pipe, in whatever encoding and for as long as it is read.

Loaded for every command, `--help` too: only light modules may be imported here.
"""

import codecs
import io
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TextIO

import click

_ERRORS: Final = "kratzen.plain"

_PLAIN: Final[Mapping[str, str]] = {
    "±": "+/-",
    "−": "-",
    "–": "-",
    "×": "x",
    "…": "...",
    "“": '"',
    "”": '"',
    "§": "section ",
    "♣": "C",
    "♠": "S",
    "♥": "H",
    "♦": "D",
    "ä": "ae",
    "ö": "oe",
    "ü": "ue",
}
"""What our own texts have beyond ASCII, for terminals and files that cannot take it."""


def open_closed_streams() -> None:
    """Have stdin, stdout and stderr lead to nowhere where they were closed by whoever called us (`>&-`).

    Else the first files that are opened would take their numbers, and get what others print there.
    """
    for number, (name, mode) in enumerate([("stdin", "r"), ("stdout", "w"), ("stderr", "w")]):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for good


def write_plainly_where_needed() -> None:
    """Let stdout and stderr write what their encoding lacks in plain letters, so that nothing ever fails."""
    codecs.register_error(_ERRORS, _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)


def drop_stdout() -> None:
    """Write to nowhere from here on, so that what is still in the buffer can fail no more."""
    out = _descriptor(sys.stdout)
    if out is not None:
        drop(out)


def drop_live_streams() -> None:
    """Write to nowhere what would go to a terminal or a pipe: with the terminal its readers are gone.

    A file still gets what is to come.
    """
    for stream in (sys.stdout, sys.stderr):
        descriptor = _descriptor(stream)
        if descriptor is not None and not stat.S_ISREG(os.fstat(descriptor).st_mode):
            drop(descriptor)


def _descriptor(stream: TextIO) -> int | None:
    """Its number, None when there is none, it is no file, or it is closed."""
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def drop(descriptor: int) -> None:
    """Have a descriptor lead to nowhere from here on."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """End the block early when nobody reads our output any more, as with `head`; what follows goes on."""
    try:
        yield
    except (BrokenPipeError, SystemExit):
        # rich makes the one out of the other.
        drop_stdout()


def print_json(document: object) -> None:
    """Print one JSON document, in ASCII, which every encoding of the output can take."""
    click.echo(json.dumps(document, indent=2))


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    odd = error.object[error.start : error.end]
    return "".join([_PLAIN.get(char) or _escaped(char) for char in odd]), error.end


def _escaped(char: str) -> str:
    return char.encode("ascii", "backslashreplace").decode("ascii")
