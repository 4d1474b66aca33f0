"""A session's replay as text: writing it line by line, and reading it back.

A replay is JSON Lines: one first line, the engine's events in order, one last line. The
lines themselves are `arena.replay_lines`'s, and read by `arena.replay_stream`; whether a
replay is true is `arena.replay_verify`'s to say. No files and no compression here.
"""

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from arena.record import FORCED, DecisionRecord, ReplayEnd, SessionHeader, StrayAnswer
from arena.replay_lines import (
    AnyEventLine,
    AnyLine,
    DecisionLine,
    HeaderLine,
    ResultLine,
    event_line,
    line_text,
    without_run,
)
from arena.replay_reading import ReplayError
from arena.replay_stream import pieces_of, read_ends, read_events
from arena.results import SessionResult
from engine.events import DealBegan, Decided, Event

KEPT_STRAYS: Final = 8
"""Answers of each seat that fitted no open request and are kept as evidence; all are counted."""


class ReplayWriter:
    """Writes one replay as its session is played; what is written follows from what is handed in alone."""

    def __init__(self, header: SessionHeader) -> None:
        self._header = header
        self._deal = 0
        self._lines: list[bytes] = []
        self._play = sha256()
        self._stray: list[StrayAnswer] = []
        self._stray_counts: Counter[int] = Counter()
        self._append(HeaderLine.of(header))

    def event(self, event: Event, decision: DecisionRecord | None = None) -> bytes:
        """Write what happened.

        Args:
            event: the next of the engine's events.
            decision: how it came about, for a `Decided` that was not forced.

        Returns:
            The line that was written, newline included, for those who watch.
        """
        if isinstance(event, DealBegan):
            self._deal = event.deal
        if isinstance(event, Decided) and event.forced:
            decision = FORCED
        return self._append(event_line(self._deal, event, decision))

    def stray(self, answer: StrayAnswer) -> None:
        """Note an answer that fitted no open request; it will stand in the last line."""
        if self._stray_counts[answer.seat] < KEPT_STRAYS:
            self._stray.append(answer)
        self._stray_counts[answer.seat] += 1

    def close(self, result: SessionResult, *, seed: bytes, nonce: bytes, ended_at: str = "") -> bytes:
        """Write the last line; the whole text is returned.

        Args:
            result: of the session, forfeits counted.
            seed: 32 bytes.
            nonce: 32 bytes; with the seed it gives the header's commitment.
            ended_at: UTC, ISO 8601.
        """
        end = ReplayEnd(
            deals=result.deals,
            places=tuple([seat.place for seat in result.seats]),
            chips=tuple([seat.chips for seat in result.seats]),
            forfeited=tuple([seat.forfeited for seat in result.seats]),
            strikes=tuple([seat.strikes for seat in result.seats]),
            faults=tuple([fault for seat in result.seats for fault in seat.faults]),
            pot_left=result.pot_left,
            seed=seed,
            nonce=nonce,
            play_sha256=self._play.hexdigest(),
            sha256=sha256(b"".join(self._lines)).hexdigest(),
            ended_at=ended_at,
            stray_counts=tuple([self._stray_counts[seat.seat] for seat in result.seats]),
            stray=tuple(self._stray),
        )
        self._append(ResultLine.of(end))
        return b"".join(self._lines)

    def _append(self, line: AnyLine) -> bytes:
        text = line_text(line)
        self._lines.append(text + b"\n")
        self._play.update(without_run(text) + b"\n")
        return self._lines[-1]


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a replay; `decision` says how it came about, for a `Decided` and only for that."""

    deal: int
    event: Event
    decision: DecisionRecord | None


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay as values: the facts before, what happened in order, the end."""

    header: SessionHeader
    steps: tuple[Step, ...]
    end: ReplayEnd


def parse(text: bytes) -> Replay:
    """Read a replay; whether it is true is not asked.

    Raises:
        ReplayVersionError: it is of a version that this program does not read.
        ReplayError: a line cannot be read; the error names it.
    """
    pieces = pieces_of(text)
    ends = read_ends(pieces)
    header, end = ends_of(ends.first, ends.last_number, ends.last)
    steps = tuple([_step(number, line) for number, _, line in read_events(pieces, ends.last_number)])
    return Replay(header, steps, end)


def parse_ends(text: bytes) -> tuple[SessionHeader, ReplayEnd]:
    """Read the first and the last line alone, with the errors of `parse`."""
    ends = read_ends(pieces_of(text))
    return ends_of(ends.first, ends.last_number, ends.last)


def ends_of(first: HeaderLine, last_number: int, last: ResultLine) -> tuple[SessionHeader, ReplayEnd]:
    """What the first and the last line say, checked against each other; ReplayError names the line."""
    try:
        header = first.header()
    except ValueError as error:
        raise ReplayError(1, str(error)) from None
    try:
        end = last.end()
    except ValueError as error:
        raise ReplayError(last_number, str(error)) from None
    if len(end.places) != len(header.seats):
        raise ReplayError(last_number, f"there are {len(end.places)} places for {len(header.seats)} seats")
    return header, end


def _step(number: int, line: AnyEventLine) -> Step:
    try:
        record = line.record() if isinstance(line, DecisionLine) else None
        return Step(line.deal, line.event(), record)
    except ValueError as error:
        raise ReplayError(number, str(error)) from None
