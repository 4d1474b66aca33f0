"""What a tournament keeps of itself, as values, and the book it is kept in.

`Ledger` is what a running tournament needs of a store; `arena.store` is one. Times are UTC
in ISO 8601 on the way in and microseconds since 1970 on the way out. Nothing here knows
databases or files.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from arena.ratings import Rating
from arena.results import AttemptEnd, BlockResult, SessionResult, SlotState


class TournamentState(StrEnum):
    """What a tournament is doing; only for show, since what is left to play follows from its slots."""

    CREATED = "created"
    RUNNING = "running"
    STOPPED = "stopped"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentFacts:
    """What a tournament was made from.

    Attributes:
        name: as its file has it.
        spec: its whole file with every default filled in, as JSON text.
        seed: 32 bytes.
        ante: chips.
        timed: whether a clock runs; without one nothing is rated.
        created_at_us: microseconds since 1970, UTC.
        state: what it was last known to do.
    """

    name: str
    spec: str
    seed: bytes
    ante: int
    timed: bool
    created_at_us: int
    state: TournamentState


@dataclass(frozen=True, slots=True, kw_only=True)
class BotEntry:
    """A bot of the tournament.

    Attributes:
        bot: its name.
        version: as it was first seen, None before that.
        build_digest: likewise.
        withdrawn: why it no longer takes part, None while it does.
    """

    bot: str
    version: str | None
    build_digest: str | None
    withdrawn: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BotEnd:
    """An end of a bot's process that the arena, which had started it, did not wish.

    Attributes:
        bot: its name.
        kind: why it ended, one of `launcher.ExitKind`.
        sentence: the same for people, as the end of a sentence that begins with the bot's name.
    """

    bot: str
    kind: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotEntry:
    """A slot of the schedule and what became of it.

    Attributes:
        block: number of the block, from 1.
        session: number within the block, from 1.
        seating: names by seat.
        state: open, finished or void.
        attempts: how many were recorded; the next one has this number plus 1.
    """

    block: int
    session: int
    seating: tuple[str, ...]
    state: SlotState
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt at a slot that gave no result, to be recorded.

    Attributes:
        block: number of the block, from 1.
        session: number within the block, from 1.
        attempt: its number, from 1.
        ending: why it ended; not `FINISHED`.
        why: a sentence with the details, may be empty.
        started_at: UTC, ISO 8601.
        ended_at: UTC, ISO 8601.
    """

    block: int
    session: int
    attempt: int
    ending: AttemptEnd
    why: str
    started_at: str
    ended_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEntry:
    """An attempt as it was recorded, finished ones too; times in microseconds since 1970, UTC."""

    block: int
    session: int
    attempt: int
    ending: AttemptEnd
    why: str
    started_at_us: int
    ended_at_us: int


class Ledger(Protocol):
    """The book of one tournament, written by one coordinator; every method may wait for a disk.

    What a method wrote is safe when it returns. After an error nothing of it was written, and
    it may be called again with the same arguments.
    """

    def facts(self) -> TournamentFacts:
        """What the tournament was made from."""
        ...

    def slots(self) -> tuple[SlotEntry, ...]:
        """The whole schedule in order."""
        ...

    def results(self) -> tuple[SessionResult, ...]:
        """Every finished session in schedule order."""
        ...

    def block_results(self) -> tuple[BlockResult, ...]:
        """Every block that is over, in schedule order."""
        ...

    def ratings(self) -> dict[str, Rating]:
        """Every bot's rating after the last rating step; a new bot's before the first."""
        ...

    def bots(self) -> tuple[BotEntry, ...]:
        """The bots in the order in which they were entered."""
        ...

    def see_bot(self, bot: str, version: str, build_digest: str) -> BotEntry:
        """Write down what a bot is when it is first seen; what the tournament keeps to is returned."""
        ...

    def record_session(self, result: SessionResult, replay: bytes) -> bool:
        """Record a finished session with its replay, close its block if it was the last.

        Returns:
            False when the same result was there already, so that nothing was written.
        """
        ...

    def record_attempts(self, attempts: Sequence[Attempt]) -> tuple[SlotState, ...]:
        """Record attempts without a result; the states of their slots afterwards are returned."""
        ...

    def withdraw(self, bot: str, why: str, running: Collection[tuple[int, int]] = ()) -> None:
        """Take a bot out: its open slots become void, but for those that are being played.

        Args:
            bot: its name.
            why: a sentence.
            running: block and session of the slots that are being played out.
        """
        ...

    def set_state(self, state: TournamentState) -> None:
        """Write down what the tournament is doing."""
        ...
