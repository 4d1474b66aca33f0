"""A seat's clock, and the one place that reads a real one.

`SeatClock` is arithmetic on microseconds that were handed in. `Time` is what the arena
asks for the present; every test that needs a time-out hands in a `ManualTime`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeAlias

MS_PER_SECOND: Final = 1000
US_PER_MS: Final = 1000
US_PER_SECOND: Final = 1_000_000

LATE_US: Final = 20_000
"""More than this that the arena is itself late by is worth telling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSettings:
    """The clocks of a tournament (the design's section on clocks).

    Attributes:
        move_ms: time for each decision.
        bank_ms: time for a whole session, spent when a decision overruns `move_ms`.
        increment_ms: added to the bank at the start of every deal but the first.
        first_answer_ms: added to a seat's first asked decision of a session.
        join_ms: time to be there, from the offer of a session.
        max_strikes: the strike with this number forfeits the session.
        timed: False when nothing runs out (`--no-timeout`); such sessions are not rated.
    """

    move_ms: int = 1000
    bank_ms: int = 10_000
    increment_ms: int = 0
    first_answer_ms: int = 5000
    join_ms: int = 30_000
    max_strikes: int = 5
    timed: bool = True


class Time(Protocol):
    """The present, as the arena asks for it."""

    def now_us(self) -> int:
        """Microseconds of a clock that never goes back; only differences mean something."""
        ...

    def utc_text(self) -> str:
        """The present in UTC, ISO 8601 with offset, to the millisecond."""
        ...


class SystemTime:
    """The machine's clocks: monotonic for limits, UTC for stamps.

    A wall clock that is put back does not put stamps in the wrong order: they stand still until
    it has caught up.
    """

    def __init__(self) -> None:
        self._latest = datetime.min.replace(tzinfo=UTC)

    def now_us(self) -> int:
        """Microseconds since some moment of the machine's own."""
        return time.monotonic_ns() // 1000

    def utc_text(self) -> str:
        """The present in UTC, ISO 8601 with offset, to the millisecond."""
        self._latest = max(self._latest, datetime.now(UTC))
        return self._latest.isoformat(timespec="milliseconds")


class ManualTime:
    """A clock that stands still until it is told to go on; for tests."""

    def __init__(self, start_us: int = 0) -> None:
        self._now_us = start_us

    def now_us(self) -> int:
        """Microseconds since the start value."""
        return self._now_us

    def utc_text(self) -> str:
        """The time since 2000-01-01, in UTC."""
        moment = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=self._now_us)
        return moment.isoformat(timespec="milliseconds")

    def advance_us(self, by_us: int) -> None:
        """Let time pass."""
        if by_us < 0:
            raise ValueError("time does not go back")
        self._now_us += by_us


Spared: TypeAlias = Callable[[int, int], int]
"""How much of the time from one moment to another, in microseconds, is held against nobody."""


def nothing_spared(since_us: int, at_us: int) -> int:
    """What is spared where the arena is never late."""
    del since_us, at_us
    return 0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long others are waited for: by the arena's clock, less what the arena was late by itself."""

    time: Time
    spared_us: Spared = nothing_spared

    def left_us(self, limit_us: int, since_us: int) -> int:
        """What is left of a limit that runs since a moment; 0 or less: it is over."""
        now_us = self.time.now_us()
        return limit_us - (now_us - since_us) + self.spared_us(since_us, now_us)


class SeatClock:
    """The clock of one seat in one session: what it may still use, and what it has used."""

    def __init__(self, settings: ClockSettings) -> None:
        self._settings = settings
        self._bank_us = settings.bank_ms * US_PER_MS
        self._first = True

    @property
    def bank_us(self) -> int:
        """What is left of the bank, never below 0."""
        return self._bank_us

    def free_us(self) -> int:
        """What the next decision may take before the bank is touched."""
        first_ms = self._settings.first_answer_ms if self._first else 0
        return (self._settings.move_ms + first_ms) * US_PER_MS

    def allowance_us(self) -> int:
        """What the next decision may take in all; an answer that took exactly this is in time."""
        return self.free_us() + self._bank_us

    def answered(self, charged_us: int) -> None:
        """Book an answer that took `charged_us`, 0..`allowance_us()`: what is over comes out of the bank."""
        over_us = max(0, charged_us - self.free_us())
        self._bank_us = max(0, self._bank_us - over_us)
        self._first = False

    def ran_out(self) -> None:
        """Book a time-out: the bank is empty from here on."""
        self._bank_us = 0
        self._first = False

    def deal_began(self) -> None:
        """A deal after the first begins: the increment goes into the bank."""
        self._bank_us += self._settings.increment_ms * US_PER_MS
