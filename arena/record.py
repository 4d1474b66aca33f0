"""What is kept of a session beside the engine's own events, as values.

Who sat where and under which clocks, how each decision came about, what was refused, and
what the end revealed. The runner fills these in, a replay holds them; how they are written
is `arena.replay_lines`'s to say. Text of bots has been cleaned before it gets here.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from arena.clock import ClockSettings
from arena.faults import Fault, FaultCause
from arena.messages import RejectReason
from engine.cards import Seat
from engine.rules import Ruleset, SessionOptions


@dataclass(frozen=True, slots=True)
class SeatInfo:
    """The bot at a seat: name, version and build digest (which may be empty)."""

    bot: str
    version: str
    build_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHeader:
    """The facts of a session that stand before its first event.

    Attributes:
        tournament: its name.
        block: number of the block, from 1.
        session: number within the block, from 1.
        session_id: 32 hex digits.
        ruleset: with every option.
        options: the frame of the session.
        seats: who sits where, indexed by seat.
        clock: the clocks.
        commitment: SHA-256(nonce ‖ seed), 32 bytes, as the bots were told.
        attempt: number of this attempt at the slot, from 1.
        started_at: UTC, ISO 8601.
        host: what it was played on, in a few words; may be empty.
    """

    tournament: str
    block: int
    session: int
    session_id: str
    ruleset: Ruleset
    options: SessionOptions
    seats: tuple[SeatInfo, ...]
    clock: ClockSettings
    commitment: bytes
    attempt: int = 1
    started_at: str = ""
    host: str = ""


class Origin(StrEnum):
    """How a decision came about."""

    ASKED = "asked"
    FORCED = "forced"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that used up a try: why it was refused, and what it was, as text."""

    reason: RejectReason
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """How one decision came about.

    Attributes:
        origin: asked, forced, or the fallback's.
        cause: why the fallback was played; None otherwise, and for a seat that has forfeited
            and is no longer asked.
        request_id: of the request, None when nobody was asked.
        refused: the answers before it that used up a try.
        charged_us: microseconds charged to the bot's clock.
        lag_us: microseconds that the arena itself was late by, not charged.
        note: the bot's own remark, or empty.
    """

    origin: Origin
    cause: FaultCause | None = None
    request_id: int | None = None
    refused: tuple[Refusal, ...] = ()
    charged_us: int = 0
    lag_us: int = 0
    note: str = ""


FORCED: Final = DecisionRecord(origin=Origin.FORCED)
"""The record of every decision that nobody was asked because it had one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrayAnswer:
    """An answer that fitted no open request: late, repeated or to a request never made.

    Attributes:
        seat: of the bot that sent it.
        reason: why it was refused.
        request_id: the request it named; 0 or less for one of an earlier attempt at the session, whose
            last request is 0.
        answer: what it was, as text.
        late_us: microseconds after the request was over, None when it was not, or never was open.
    """

    seat: Seat
    reason: RejectReason
    request_id: int
    answer: str
    late_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayEnd:
    """What the last line of a replay says; tuples are indexed by seat, `faults` is in order.

    Attributes:
        deals: deals played, the tie-break included.
        places: of the session; who forfeited is behind all who did not.
        chips: stacks at the end less stacks at the start.
        forfeited: which seats forfeited.
        strikes: of each seat.
        faults: of all seats.
        pot_left: chips that belong to nobody.
        seed: 32 bytes, from which every card followed.
        nonce: 32 bytes; with the seed it gives the commitment.
        play_sha256: hex, over the lines before without `run`.
        sha256: hex, over the lines before as they stand.
        ended_at: UTC, ISO 8601.
        stray_counts: answers of each seat that fitted no open request.
        stray: the first of them.
    """

    deals: int
    places: tuple[int, ...]
    chips: tuple[int, ...]
    forfeited: tuple[bool, ...]
    strikes: tuple[int, ...]
    faults: tuple[Fault, ...]
    pot_left: int
    seed: bytes
    nonce: bytes
    play_sha256: str
    sha256: str
    ended_at: str
    stray_counts: tuple[int, ...]
    stray: tuple[StrayAnswer, ...]
