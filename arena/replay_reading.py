"""From the text of a replay to its lines, or to what is wrong with it: which line, and why in a sentence.

Files come here that were cut off, edited, saved by other programs or written by newer ones.
What the lines say is `arena.replay_lines`'s; whether it is true is `arena.replay_verify`'s.
"""

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class ReplayLines:
    """A replay cut into lines: the texts as they stand, and what they are."""

    texts: tuple[bytes, ...]
    first: HeaderLine
    events: tuple[AnyEventLine, ...]
    last: ResultLine


def read_lines(text: bytes) -> ReplayLines:
    """Cut a replay into typed lines.

    Raises:
        ReplayVersionError: it, or a line of it, is of another version.
        ReplayError: a line is missing, cut off or none of its kind.
    """
    texts = _cut(text)
    first = _read_first(texts[0])
    events = tuple([_read(_DECODE_EVENT, number, text) for number, text in enumerate(texts[1:-1], start=2)])
    return ReplayLines(tuple(texts), first, events, _read_last(texts))


def read_ends(text: bytes) -> tuple[HeaderLine, int, ResultLine]:
    """The first line, the number of the last, and the last; errors as those of `read_lines`."""
    texts = _cut(text)
    return _read_first(texts[0]), len(texts), _read_last(texts)


# ------------------------------------------------------------------------- the text as a whole

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_FOREIGN: Final = (
    (b"\0", "the line has a NUL byte in it: the replay is damaged, or no text in UTF-8"),
    (b"\r\n", "the line ends in CRLF, as on Windows, and the lines of a replay end in LF alone"),
    (b"\r", "the line has a carriage return (CR) in it, and the lines of a replay end in LF alone"),
)
"""Bytes that stand in no replay, since JSON writes control codes in letters; and what they tell."""


def _cut(text: bytes) -> list[bytes]:
    if not text:
        raise ReplayError(1, "there is none: the replay is empty")
    if text.startswith(_BYTE_ORDER_MARK):
        raise ReplayError(1, "the line begins with a byte order mark, which a replay does not have")
    for foreign, why in _FOREIGN:
        at = text.find(foreign)
        if at >= 0:
            raise ReplayError(text.count(b"\n", 0, at) + 1, why)
    *texts, rest = text.split(b"\n")
    if rest:
        raise ReplayError(len(texts) + 1, "the line is cut off: it does not end with a newline")
    if len(texts) == 1:
        raise ReplayError(2, "there is none: the replay ends after its first line")
    if b"" in texts:
        raise ReplayError(texts.index(b"") + 1, "the line is empty")
    return texts


# ------------------------------------------------------------------------- its lines


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


def _read_first(text: bytes) -> HeaderLine:
    try:
        probe = _DECODE_FORMAT(text)
    except _UNREADABLE as error:
        raise ReplayError(1, f"this is no replay of format {FORMAT}: {error}") from None
    if probe.version != VERSION:
        raise ReplayVersionError(1, "replay", probe.version)
    return _read(_DECODE_HEADER, 1, text)


def _read_last(texts: list[bytes]) -> ResultLine:
    number, text = len(texts), texts[-1]
    probe = _probe(text)
    if probe is not None and probe.v == VERSION and probe.t != _RESULT:
        raise ReplayError(
            number, f"the replay ends with this line, of kind {probe.t!r}, and not with its {_RESULT}"
        )
    return _read(_DECODE_RESULT, number, text)


def _read(decode: Callable[[bytes], R], number: int, text: bytes) -> R:
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
