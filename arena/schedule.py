"""What a tournament plays: its blocks, who sits where in each of their sessions, and from which seeds.

A schedule follows from the tournament's plan alone, never from time, results or worker. Bots
are names here; nothing knows how they are reached, and nothing knows what was played.
"""

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, permutations
from math import comb, factorial
from typing import Final, Protocol, assert_never

from arena.balance import Draws, Group, balanced_chairs, balanced_groups, spread_out, varied_neighbours

MOST_BLOCKS: Final = 20_000
MOST_SESSIONS: Final = 200_000
"""A longer schedule is refused: it would take minutes to make and months to play."""


class ScheduleError(ValueError):
    """A plan that no schedule can be made of; `key` is the field of `Plan` that the message is about."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class Rotations(StrEnum):
    """Which seatings of a group a block plays, all with the same cards."""

    CYCLIC = "cyclic"
    """Everyone moves on by one chair from session to session: n sessions for n bots."""
    ALL = "all"
    """Every seating: n! sessions, one cyclic turn after the other."""
    NONE = "none"
    """One session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything a schedule follows from.

    Attributes:
        bots: the names; their order has no effect.
        table_size: bots at a table.
        seed: the tournament's 32 bytes.
        rotations: the seatings of a block.
        blocks_per_group: blocks of every group of `table_size` bots; without effect beside `blocks`.
        blocks: blocks in all, balanced over the bots; None for those of every group.
    """

    bots: tuple[str, ...]
    table_size: int
    seed: bytes
    rotations: Rotations = Rotations.CYCLIC
    blocks_per_group: int = 1
    blocks: int | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """One place in the schedule, for one session.

    Attributes:
        block: number of the block, from 1.
        session: number within the block, from 1.
        seating: names by seat.
    """

    block: int
    session: int
    seating: tuple[str, ...]

    @property
    def label(self) -> str:
        """The slot as people write it, `7.2`."""
        return slot_label(self.block, self.session)


@dataclass(frozen=True, slots=True)
class Block:
    """The sessions of one group with the same cards.

    Attributes:
        number: from 1.
        group: the names, as they sit in the first session.
        slots: by session.
    """

    number: int
    group: tuple[str, ...]
    slots: tuple[Slot, ...]


class Format(Protocol):
    """How a tournament makes its blocks."""

    def __call__(self, plan: Plan) -> tuple[Block, ...]:
        """The schedule of the plan; ScheduleError when there can be none."""
        ...


# --------------------------------------------------------------------------- round robin


def round_robin(plan: Plan) -> tuple[Block, ...]:
    """Every group of the bots with each other, or a balanced part of all groups.

    The same plan gives the same schedule, in whatever order the bots are listed. The blocks
    stand in an order in which bots play and pairs meet evenly from the start.

    Raises:
        ScheduleError: too few bots, a bot twice, no blocks or more than `MOST_BLOCKS`.
    """
    check_plan(plan)
    names = sorted(plan.bots, key=lambda name: _derived(plan.seed, "order", name))
    if plan.blocks is None:
        groups = list(combinations(range(len(names)), plan.table_size)) * plan.blocks_per_group
    else:
        draws = Draws(_derived(plan.seed, "groups", str(plan.blocks)))
        groups = balanced_groups(len(names), plan.table_size, plan.blocks, draws)
    seatings = _first_seatings(spread_out(groups, len(names)), plan)
    return tuple(
        _block(number, tuple(names[bot] for bot in seating), plan.rotations)
        for number, seating in enumerate(seatings, start=1)
    )


FORMATS: Final[Mapping[str, Format]] = {"round_robin": round_robin}
"""By the text that a tournament file uses."""


def block_count(plan: Plan) -> int:
    """How many blocks `round_robin` makes of the plan, without making them."""
    if plan.blocks is not None:
        return plan.blocks
    return comb(len(plan.bots), plan.table_size) * plan.blocks_per_group


def sessions_per_block(plan: Plan) -> int:
    """How many slots every block of the plan has."""
    match plan.rotations:
        case Rotations.CYCLIC:
            return plan.table_size
        case Rotations.ALL:
            return factorial(plan.table_size)
        case Rotations.NONE:
            return 1
        case _ as never:
            assert_never(never)


def check_plan(plan: Plan) -> None:
    """Refuse a plan that `round_robin` can make nothing of.

    Raises:
        ScheduleError: as `round_robin`; the message is a sentence for people.
    """
    size = plan.table_size
    twice = [name for name, count in Counter(plan.bots).items() if count > 1]
    if twice:
        raise ScheduleError("bots", f"{twice[0]} is there twice, allowed is each name once")
    if len(plan.bots) < size:
        raise ScheduleError(
            "bots", f"there are {len(plan.bots)} for tables of {size}, allowed is {size} or more"
        )
    blocks, sessions = block_count(plan), block_count(plan) * sessions_per_block(plan)
    if blocks < 1 or blocks > MOST_BLOCKS or sessions > MOST_SESSIONS:
        key, hint = "blocks", ""
        if plan.blocks is None:
            key, hint = "blocks_per_group", "; blocks asks for a balanced part of all groups"
        raise ScheduleError(
            key,
            f"makes {blocks} blocks with {sessions} sessions, "
            f"allowed is 1 to {MOST_BLOCKS} blocks and up to {MOST_SESSIONS} sessions{hint}",
        )


def _first_seatings(groups: Sequence[Group], plan: Plan) -> list[Group]:
    """The seating of each block's first session; the others follow from it."""
    drawn = [
        Draws(_derived(plan.seed, "seating", str(number))).shuffled(group)
        for number, group in enumerate(groups, start=1)
    ]
    match plan.rotations:
        case Rotations.CYCLIC:
            return varied_neighbours(drawn)
        case Rotations.ALL:
            return drawn
        case Rotations.NONE:
            return balanced_chairs(drawn)
        case _ as never:
            assert_never(never)


def _block(number: int, first: tuple[str, ...], rotations: Rotations) -> Block:
    seatings = enumerate(_seatings(first, rotations), start=1)
    return Block(number, first, tuple(Slot(number, session, seating) for session, seating in seatings))


def _seatings(first: tuple[str, ...], rotations: Rotations) -> list[tuple[str, ...]]:
    match rotations:
        case Rotations.CYCLIC:
            return _turns(first)
        case Rotations.ALL:
            return [turn for others in permutations(first[1:]) for turn in _turns((first[0], *others))]
        case Rotations.NONE:
            return [first]
        case _ as never:
            assert_never(never)


def _turns(seating: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [seating[start:] + seating[:start] for start in range(len(seating))]


# --------------------------------------------------------------------------- seeds and ids


def tournament_seed(value: str | int) -> bytes:
    """The 32 bytes of a tournament: 64 hex digits as they are, any other text or number hashed (SHA-256).

    A number is the same seed as its decimal text.
    """
    text = str(value)
    if re.fullmatch(r"[0-9a-fA-F]{64}", text):
        return bytes.fromhex(text)
    return hashlib.sha256(text.encode()).digest()


def block_seed(seed: bytes, block: int) -> bytes:
    """The 32 bytes that all sessions of a block are dealt from (`rules.md` §4)."""
    return _derived(seed, "block", str(block))


def session_id(seed: bytes, block: int, session: int) -> str:
    """The id of a slot's session, 32 hex digits; it shows neither block nor session."""
    return _derived(seed, "session", slot_label(block, session)).hex()[:32]


def session_nonce(seed: bytes, block: int, session: int) -> bytes:
    """The 32 bytes that the commitment to a session's seed is made with."""
    return _derived(seed, "nonce", slot_label(block, session))


def slot_label(block: int, session: int) -> str:
    """A slot as people write it, `7.2`."""
    return f"{block}.{session}"


def _derived(seed: bytes, purpose: str, what: str) -> bytes:
    return hmac.digest(seed, f"kratzen/{purpose}/1/{what}".encode(), "sha256")
