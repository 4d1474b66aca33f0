"""From the text of one line of a replay to what it is, or to what is wrong with it, in a sentence.

Lines come here that were edited, or written by a newer program; how a text is cut into lines is
`arena.replay_stream`'s, what they say `arena.replay_lines`'s, whether it is true `arena.replay_verify`'s.
"""

from collections.abc import Callable
from typing import Final, Literal, TypeVar

import msgspec

from arena.replay_lines import FORMAT, VERSION, AnyEventLine, HeaderLine, ResultLine

R = TypeVar("R")


class ReplayError(ValueError):
    """A replay that cannot be read: which line, counted from 1, and why."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line
        self.why = why


class ReplayVersionError(ReplayError):
    """A replay, or a line of it, in a version that this program does not read."""

    def __init__(self, line: int, what: str, version: int) -> None:
        super().__init__(
            line,
            f"the {what} is of format version {version}, and this program reads version {VERSION}: "
            "open it with the kratzen that wrote it, or a newer one",
        )
        self.version = version


class _FormatProbe(msgspec.Struct):
    """As much of a first line as every version of the format has."""

    format: Literal["kratzen-replay"]
    version: int


class _LineProbe(msgspec.Struct):
    """As much of a line as every version of every kind of line has."""

    t: str
    v: int


_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_DECODE_FORMAT: Final = msgspec.json.Decoder(_FormatProbe).decode
_DECODE_PROBE: Final = msgspec.json.Decoder(_LineProbe).decode
_DECODE_HEADER: Final = msgspec.json.Decoder(HeaderLine).decode
_DECODE_EVENT: Final[Callable[[bytes], AnyEventLine]] = msgspec.json.Decoder(AnyEventLine).decode
_DECODE_RESULT: Final = msgspec.json.Decoder(ResultLine).decode

_RESULT: Final = ResultLine.__struct_config__.tag


def read_first(text: bytes) -> HeaderLine:
    """Read a first line.

    Raises:
        ReplayVersionError: it is of another version.
        ReplayError: it is none.
    """
    try:
        probe = _DECODE_FORMAT(text)
    except _UNREADABLE as error:
        raise ReplayError(1, f"this is no replay of format {FORMAT}: {error}") from None
    if probe.version != VERSION:
        raise ReplayVersionError(1, "replay", probe.version)
    return _read(_DECODE_HEADER, 1, text)


def read_event(number: int, text: bytes) -> AnyEventLine:
    """Read a line between the first and the last; errors as those of `read_first`."""
    return _read(_DECODE_EVENT, number, text)


def read_last(number: int, text: bytes) -> ResultLine:
    """Read a last line; errors as those of `read_first`."""
    probe = _probe(text)
    if probe is not None and probe.v == VERSION and probe.t != _RESULT:
        raise ReplayError(
            number, f"the replay ends with this line, of kind {probe.t!r}, and not with its {_RESULT}"
        )
    return _read(_DECODE_RESULT, number, text)


def check_whole(number: int, text: bytes) -> None:
    """Raise ReplayError when a line is none of any kind, as the first part of one that was broken in two."""
    try:
        _DECODE_PROBE(text)
    except _UNREADABLE as error:
        raise _error(number, text, error) from None


def _read(decode: Callable[[bytes], R], number: int, text: bytes) -> R:
    if not text:
        raise ReplayError(number, "the line is empty")
    try:
        return decode(text)
    except _UNREADABLE as error:
        raise _error(number, text, error) from None


def _error(number: int, text: bytes, error: Exception) -> ReplayError:
    """What is wrong with a line that was not what it has to be."""
    probe = _probe(text)
    if probe is not None and probe.v != VERSION:
        return ReplayVersionError(number, "line", probe.v)
    return ReplayError(number, f"the line cannot be read: {error}")


def _probe(text: bytes) -> _LineProbe | None:
    """Kind and version of a line that is of any version; None for what is none."""
    try:
        return _DECODE_PROBE(text)
    except _UNREADABLE:
        return None
