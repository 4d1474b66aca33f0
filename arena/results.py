"""Results as values: how an attempt ended, what a session gave, and what a block counts as.

A block is what a result counts as; `block_result` makes one out of its sessions. Nothing here
knows how a session was played, how bots are rated, or where results are kept.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from arena.faults import Fault

SPOILED_ATTEMPTS: Final = 3
"""As many attempts that the bots' absence or the arena's own errors spoiled make a slot void for good."""


class AttemptEnd(StrEnum):
    """Why an attempt to play a slot ended; only `FINISHED` gives a result."""

    FINISHED = "finished"
    OPERATOR_STOP = "operator_stop"
    ARENA_ERROR = "arena_error"
    BOTS_ABSENT = "bots_absent"

    @property
    def sentence(self) -> str:
        """The same for people."""
        match self:
            case AttemptEnd.FINISHED:
                return "The session was played to its end."
            case AttemptEnd.OPERATOR_STOP:
                return "The operator stopped the arena; the session will be played again from its start."
            case AttemptEnd.ARENA_ERROR:
                return "The arena or its host failed; nobody is charged for it."
            case AttemptEnd.BOTS_ABSENT:
                return "Two or more bots were not there in time; the session was not played."
            case _ as never:
                assert_never(never)

    @property
    def spoils(self) -> bool:
        """Whether it counts towards the attempts after which the slot is void; a stop does not."""
        return self in (AttemptEnd.ARENA_ERROR, AttemptEnd.BOTS_ABSENT)


class SlotState(StrEnum):
    """What has become of a place in the schedule; every slot is in exactly one of these."""

    OPEN = "open"
    FINISHED = "finished"
    VOID = "void"


def slot_state(attempts: Iterable[AttemptEnd], *, withdrawn: bool = False) -> SlotState:
    """The state of a slot after these attempts.

    Args:
        attempts: how each attempt ended.
        withdrawn: whether a bot of the slot no longer takes part; a finished slot stays finished.
    """
    ends = list(attempts)
    if AttemptEnd.FINISHED in ends:
        return SlotState.FINISHED
    if withdrawn or sum(end.spoils for end in ends) >= SPOILED_ATTEMPTS:
        return SlotState.VOID
    return SlotState.OPEN


@dataclass(frozen=True, slots=True)
class SlotCounts:
    """How many slots are in each state; `total` stays the same from the first session to the last."""

    finished: int
    void: int
    open: int

    @property
    def total(self) -> int:
        """All slots of the schedule."""
        return self.finished + self.void + self.open


def count_slots(states: Iterable[SlotState]) -> SlotCounts:
    """Count the slots of a schedule by state."""
    counts = Counter(states)
    return SlotCounts(
        finished=counts[SlotState.FINISHED], void=counts[SlotState.VOID], open=counts[SlotState.OPEN]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatResult:
    """What a finished session gave one bot.

    Attributes:
        bot: its name.
        seat: 0..n-1.
        stack: chips at the end.
        chips: `stack` less the stack at the start.
        place: 1 for the first; equal results share a place. Who forfeited is behind all who did not.
        forfeited: whether it reached the limit of strikes, or was not there.
        strikes: decisions that the fallback made for it.
        faults: what it did wrong, in order.
        asked_count: decisions that it was asked.
        decision_us: charged microseconds of each asked decision, in order.
    """

    bot: str
    seat: int
    stack: int
    chips: int
    place: int
    forfeited: bool
    strikes: int
    faults: tuple[Fault, ...]
    asked_count: int
    decision_us: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResult:
    """A finished session of a slot.

    Attributes:
        block: number of the block, from 1.
        session: number within the block, from 1.
        session_id: 32 hex digits.
        deals: deals played, the tie-break included.
        pot_left: chips that belong to nobody at the end.
        seats: by seat.
    """

    block: int
    session: int
    session_id: str
    deals: int
    pot_left: int
    seats: tuple[SeatResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockEntry:
    """What a block gave one bot.

    Attributes:
        bot: its name.
        chips: stacks at the end less stacks at the start, over the finished sessions.
        place: 1 for the first; equal chips share a place. Who forfeited a session is behind all who did not.
        forfeited_sessions: how many sessions it forfeited.
        strikes: over all sessions.
    """

    bot: str
    chips: int
    place: int
    forfeited_sessions: int
    strikes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockResult:
    """The result of a block whose slots are all finished or void.

    Attributes:
        block: number of the block, from 1.
        deals: deals played in all its finished sessions together; every bot of the block sat in all of them.
        ante: chips.
        void_count: slots that stay without a result.
        timed: whether a clock ran.
        entries: one for each bot of the block, by place, then name.
    """

    block: int
    deals: int
    ante: int
    void_count: int
    timed: bool
    entries: tuple[BlockEntry, ...]

    @property
    def averaged(self) -> bool:
        """Whether its chips count: with a void slot not every bot sat where every other sat."""
        return self.void_count == 0

    @property
    def rated(self) -> bool:
        """Whether its places count for the ratings."""
        return self.averaged and self.timed


def places(keys: Sequence[tuple[float, ...]]) -> tuple[int, ...]:
    """1 + the number of those ahead, for each; the smaller key is ahead, equal keys share a place."""
    return tuple(1 + sum(other < key for other in keys) for key in keys)


def places_after_forfeits(engine_places: Sequence[int], forfeited: Sequence[bool]) -> tuple[int, ...]:
    """The places of a session, by seat: who forfeited goes behind all others, whatever the chips.

    Args:
        engine_places: as the game gives them (`rules.md` §12), by seat.
        forfeited: by seat.
    """
    return places([(int(out), place) for place, out in zip(engine_places, forfeited, strict=True)])


def block_result(
    block: int,
    group: Sequence[str],
    sessions: Sequence[SessionResult],
    *,
    slot_count: int,
    ante: int,
    timed: bool = True,
) -> BlockResult:
    """Combine the finished sessions of a block; the slots without one are void.

    Args:
        block: number of the block, from 1.
        group: names of its bots.
        sessions: its finished sessions, in any order.
        slot_count: sessions that the schedule has for the block.
        ante: chips.
        timed: whether a clock ran.

    Raises:
        ValueError: a session of another block or of other bots, or one that is there twice.
    """
    _check_sessions(block, group, sessions, slot_count)
    seats = {bot: [seat for result in sessions for seat in result.seats if seat.bot == bot] for bot in group}
    chips = {bot: sum(seat.chips for seat in seats[bot]) for bot in group}
    forfeits = {bot: sum(seat.forfeited for seat in seats[bot]) for bot in group}
    place_of = dict(zip(group, places([(int(forfeits[bot] > 0), -chips[bot]) for bot in group]), strict=True))
    entries = [
        BlockEntry(
            bot=bot,
            chips=chips[bot],
            place=place_of[bot],
            forfeited_sessions=forfeits[bot],
            strikes=sum(seat.strikes for seat in seats[bot]),
        )
        for bot in sorted(group, key=lambda name: (place_of[name], name))
    ]
    return BlockResult(
        block=block,
        deals=sum(result.deals for result in sessions),
        ante=ante,
        void_count=slot_count - len(sessions),
        timed=timed,
        entries=tuple(entries),
    )


def _check_sessions(
    block: int, group: Sequence[str], sessions: Sequence[SessionResult], slot_count: int
) -> None:
    if len(set(group)) != len(group):
        raise ValueError(f"block {block}: a bot is there twice in {', '.join(group)}")
    numbers = [result.session for result in sessions]
    if len(set(numbers)) != len(numbers) or not set(numbers) <= set(range(1, slot_count + 1)):
        raise ValueError(f"block {block}: sessions {numbers}: allowed is each of 1 to {slot_count} once")
    for result in sessions:
        if result.block != block:
            raise ValueError(f"session {result.block}.{result.session} does not belong to block {block}")
        if sorted(seat.bot for seat in result.seats) != sorted(group):
            raise ValueError(f"session {block}.{result.session} was not played by {', '.join(group)}")
