"""A replay read line by line from pieces of its text, so that none fills the memory, whatever it holds.

The first thing that is wrong ends the reading: a text may have been cut off, or saved by another
program. What is in a line is `arena.replay_reading`'s; where the pieces come from (a text, a frame,
a file) is the caller's to know.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from arena.replay_lines import AnyEventLine, HeaderLine, ResultLine
from arena.replay_reading import ReplayError, check_whole, read_event, read_first, read_last

Pieces: TypeAlias = Callable[[], Iterable[bytes]]
"""The pieces of a text, from its beginning each time that they are asked for."""

PIECE_BYTES: Final = 64 * 1024
MAX_LINE_BYTES: Final = 4 * 2**20
"""The last line is the longest, with all faults of a session: some 60,000 of them fit."""
MAX_LINES: Final = 2**20
"""No line has fewer than 64 bytes, and what a frame may unpack to is so many times that. Where a session
ends is known only once it is played again; this is for the lines before that."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The first line of a replay and its last, with the number of that, counted from 1."""

    first_text: bytes
    first: HeaderLine
    last_number: int
    last_text: bytes
    last: ResultLine


def pieces_of(text: bytes) -> Pieces:
    """A text that is in the memory, piece by piece."""
    return lambda: (text[start : start + PIECE_BYTES] for start in range(0, len(text), PIECE_BYTES))


def read_ends(pieces: Pieces) -> Ends:
    """Read the first and the last line, and pass over the others.

    Raises:
        ReplayVersionError: it, or a line that is read, is of another version.
        ReplayError: a line is missing, cut off, too long or none of its kind.
    """
    lines = _lines(pieces())
    first_text = next(lines, b"")
    first = read_first(first_text)
    # Of the others nothing is kept but their number, and the one before the last.
    kept = deque(enumerate(islice(lines, MAX_LINES), start=2), maxlen=2)
    if not kept:
        raise ReplayError(2, "there is none: the replay ends after its first line")
    number, last_text = kept[-1]
    if number > MAX_LINES:
        raise ReplayError(number, f"no session has more than {MAX_LINES} lines")
    try:
        last = read_last(number, last_text)
    except ReplayError:
        # A last line that was broken in two is at fault where it begins.
        if len(kept) > 1:
            check_whole(*kept[0])
        raise
    return Ends(first_text, first, number, last_text, last)


def read_events(pieces: Pieces, last_number: int) -> Iterator[tuple[int, bytes, AnyEventLine]]:
    """The lines between the first and the last: number, text, what it is; errors as those of `read_ends`."""
    for number, text in enumerate(_lines(pieces()), start=1):
        if 1 < number < last_number:
            yield number, text, read_event(number, text)


# ------------------------------------------------------------------------- pieces to lines

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_NUL, _CR = b"\0", b"\r"
"""Bytes that stand in no replay, since JSON writes control codes in letters."""


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, without their newlines."""
    number, rest = 1, b""
    for piece in pieces:
        text = rest + piece
        is_foreign = _NUL in text or _CR in text
        *whole, rest = text.split(b"\n")
        for line in whole:
            if number == 1 or is_foreign:
                _check(number, line)
            yield line
            number += 1
        if len(rest) > MAX_LINE_BYTES:
            _check(number, rest)
            raise ReplayError(number, f"the line is longer than {MAX_LINE_BYTES} bytes")
    if rest:
        _check(number, rest)
        raise ReplayError(number, "the line is cut off: it does not end with a newline")
    if number == 1:
        raise ReplayError(1, "there is none: the replay is empty")


def _check(number: int, text: bytes) -> None:
    """Raise ReplayError when a line has what a replay does not have; and what that tells."""
    if number == 1 and text.startswith(_BYTE_ORDER_MARK):
        raise ReplayError(number, "the line begins with a byte order mark, which a replay does not have")
    if _NUL in text:
        raise ReplayError(number, "the line has a NUL byte in it: the replay is damaged, or no text in UTF-8")
    if _CR in text[:-1]:
        raise ReplayError(
            number, "the line has a carriage return (CR) in it, and the lines of a replay end in LF alone"
        )
    if text.endswith(_CR):
        raise ReplayError(
            number, "the line ends in CRLF, as on Windows, and the lines of a replay end in LF alone"
        )
