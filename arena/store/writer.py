"""Writing a store: one arena at a time, one transaction a session.

A session's replay is on the disk before its transaction is committed, so that whatever the
database says is there is there. The transaction that leaves a block without an open slot
closes the block and takes every rating step that is due with it.
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

import msgspec
from sqlalchemy import Connection, Engine, func, select, update

from arena.clock import US_PER_SECOND
from arena.frame import pack_frame
from arena.ledger import Attempt, BotEnd, BotEntry, TournamentState
from arena.ratings import next_step
from arena.replay import parse_ends
from arena.results import AttemptEnd, SessionResult, SlotState, block_result, slot_state
from arena.schedule import Block
from arena.store import schema
from arena.store.database import open_writer
from arena.store.errors import StoreConflictError, StoreError
from arena.store.lock import take_lock
from arena.store.parts import FramePlace, Tail, append, cut_off
from arena.store.reader import (
    StoreReader,
    bot_entry,
    check_present,
    latest_ratings,
    read_block_result,
    session_entries,
)

LOCK_NAME: Final = "store.lock"


class Store(StoreReader):
    """One tournament's store, to be written; it is an `arena.ledger.Ledger`.

    Write from one thread at a time; others may read.

    Attributes:
        notes: what was not as it should be when it was opened, in sentences.
    """

    def __init__(self, folder: Path, engine: Engine, lock: int) -> None:
        super().__init__(folder, engine)
        self._lock = lock
        self.notes: tuple[str, ...] = ()

    @classmethod
    def create(
        cls,
        folder: Path,
        *,
        name: str,
        spec: str,
        seed: bytes,
        ante: int,
        timed: bool,
        bots: Sequence[str],
        blocks: Sequence[Block],
        created_at: str,
        url: str | None = None,
        replace_unplayed: bool = False,
    ) -> Self:
        """Make the store of a new tournament, and its folder if need be.

        Args:
            folder: of the tournament; it holds no other.
            name: of the tournament.
            spec: its file with every default filled in, as JSON text.
            seed: 32 bytes.
            ante: chips.
            timed: whether a clock runs.
            bots: names, in the order to show them in.
            blocks: the whole schedule.
            created_at: UTC, ISO 8601.
            url: of the database when it is not to be an SQLite file in the folder.
            replace_unplayed: whether a tournament at which no attempt was made gives way to this one.

        Raises:
            StoreError: the folder cannot be written or holds a tournament already.
        """
        engine = open_writer(folder, url)
        store = cls(folder, engine, take_lock(folder, LOCK_NAME))
        try:
            store._fill(
                {
                    "id": 1,
                    "format": schema.STORE_FORMAT,
                    "name": name,
                    "spec": spec,
                    "seed": seed.hex(),
                    "ante": ante,
                    "timed": timed,
                    "created_at_us": utc_us(created_at),
                    "state": TournamentState.CREATED,
                },
                bots,
                blocks,
                replace_unplayed=replace_unplayed,
            )
            store._mend()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open(cls, folder: Path, *, url: str | None = None) -> Self:
        """Open a store to go on with its tournament.

        What a crash left behind the last session that counts is put aside first; `notes` tells.

        Raises:
            StoreLockedError: another arena has it.
            StoreError: there is none, or the folder cannot be written.
        """
        check_present(folder, url)
        engine = open_writer(folder, url)
        store = cls(folder, engine, take_lock(folder, LOCK_NAME))
        try:
            store.check_format()
            store._upgrade()
            store._mend()
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Let go of the database and of the lock."""
        super().close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    # ------------------------------------------------------------------- the ledger

    def set_state(self, state: TournamentState) -> None:
        """Write down what the tournament is doing."""
        with self._connection() as connection:
            connection.execute(update(schema.tournament).values(state=state))

    def see_bot(self, bot: str, version: str, build_digest: str) -> BotEntry:
        """Write down what a bot is when it is first seen; what the tournament keeps to is returned."""
        table = schema.bots
        with self._connection() as connection:
            connection.execute(
                update(table)
                .where(table.c.bot == bot, table.c.version.is_(None))
                .values(version=version, build_digest=build_digest)
            )
            return bot_entry(connection.execute(select(table).where(table.c.bot == bot)).one())

    def record_bot_end(self, end: BotEnd, ended_at: str) -> None:
        """Record an end of a bot that the arena had started; `ended_at` is UTC, ISO 8601."""
        table = schema.bot_ends
        with self._connection() as connection:
            before = connection.execute(select(func.count()).where(table.c.bot == end.bot)).scalar_one()
            connection.execute(
                table.insert().values(
                    bot=end.bot,
                    number=before + 1,
                    kind=end.kind,
                    sentence=end.sentence,
                    ended_at_us=utc_us(ended_at),
                )
            )

    def record_session(self, result: SessionResult, replay: bytes) -> bool:
        """Record a finished session with its replay, close its block if it was the last.

        Args:
            result: what it gave.
            replay: its text; attempt and times are taken from it.

        Returns:
            False when the same result was there already, so that nothing was written.

        Raises:
            StoreConflictError: the slot has a different result or is void.
            StoreError: it could not be written and does not count; it may be tried again.
        """
        header, end = parse_ends(replay)
        if (header.block, header.session) != (result.block, result.session):
            raise ValueError(
                f"the replay of {header.block}.{header.session} came with the result of {_label(result)}"
            )
        with self._connection() as connection:
            state = _slot_state(connection, result.block, result.session)
            if state is SlotState.FINISHED:
                self._check_same(connection, result, end.play_sha256)
                return False
            if state is SlotState.VOID:
                raise StoreConflictError(f"session {_label(result)} is void: no result is taken for it")
            place = self._append(connection, pack_frame(replay))
            attempt = Attempt(
                block=result.block,
                session=result.session,
                attempt=header.attempt,
                ending=AttemptEnd.FINISHED,
                why="",
                started_at=header.started_at,
                ended_at=end.ended_at,
            )
            _insert_attempt(connection, attempt)
            _insert_session(connection, result, attempt.attempt, place, end.play_sha256)
            _set_slot_state(connection, result.block, result.session, SlotState.FINISHED)
            _close_block(connection, result.block)
        return True

    def record_attempts(self, attempts: Sequence[Attempt]) -> tuple[SlotState, ...]:
        """Record attempts without a result; the states of their slots afterwards are returned."""
        if any(attempt.ending is AttemptEnd.FINISHED for attempt in attempts):
            raise ValueError("a finished attempt is recorded with its session")
        states = []
        with self._connection() as connection:
            for attempt in attempts:
                _insert_attempt(connection, attempt)
                states.append(_judge_slot(connection, attempt.block, attempt.session))
                _close_block(connection, attempt.block)
        return tuple(states)

    def withdraw(self, bot: str, why: str, running: Collection[tuple[int, int]] = ()) -> None:
        """Take a bot out: its open slots become void, but for those that are being played."""
        with self._connection() as connection:
            connection.execute(update(schema.bots).where(schema.bots.c.bot == bot).values(withdrawn=why))
            table = schema.slots
            query = select(table).where(table.c.state == SlotState.OPEN)
            touched = set()
            for row in connection.execute(query).all():
                if bot in _names(row.seating) and (row.block, row.session) not in running:
                    _set_slot_state(connection, row.block, row.session, SlotState.VOID)
                    touched.add(row.block)
            for block in sorted(touched):
                _close_block(connection, block)

    # ------------------------------------------------------------------- inside

    def _fill(
        self,
        facts: dict[str, object],
        bots: Sequence[str],
        blocks: Sequence[Block],
        *,
        replace_unplayed: bool,
    ) -> None:
        """Make the tables and the schedule, all or nothing."""
        with self._connection() as connection:
            schema.metadata.create_all(connection)
            if replace_unplayed and _is_unplayed(connection):
                for table in reversed(schema.metadata.sorted_tables):
                    connection.execute(table.delete())
            if not schema.insert_once(connection, schema.tournament, **facts):
                raise StoreError(
                    f"{self.folder} holds a tournament already: go on with it by --resume, or choose another "
                    "folder"
                )
            connection.execute(
                schema.bots.insert(), [{"bot": bot, "position": at} for at, bot in enumerate(bots)]
            )
            connection.execute(
                schema.blocks.insert(),
                [{"block": block.number, "bots": _json(block.group)} for block in blocks],
            )
            connection.execute(
                schema.slots.insert(),
                [
                    {
                        "block": slot.block,
                        "session": slot.session,
                        "seating": _json(slot.seating),
                        "state": SlotState.OPEN,
                    }
                    for block in blocks
                    for slot in block.slots
                ],
            )

    def _upgrade(self) -> None:
        """Make the tables that a store of an older format lacks."""
        table = schema.tournament
        with self._connection() as connection:
            if connection.execute(select(table.c.format)).scalar_one() < schema.STORE_FORMAT:
                schema.metadata.create_all(connection)
                connection.execute(update(table).values(format=schema.STORE_FORMAT))

    def _mend(self) -> None:
        """Put aside what lies beyond the last frame that counts in each part."""
        table = schema.sessions
        end = func.max(table.c.frame_offset + table.c.frame_length)
        with self._connection() as connection:
            ends = {
                row[0]: row[1] for row in connection.execute(select(table.c.part, end).group_by(table.c.part))
            }
        try:
            self.notes = tuple(cut_off(self.folder, ends))
        except OSError as error:
            raise StoreError(f"the replays in {self.folder} cannot be mended: {error.strerror}") from error

    def _append(self, connection: Connection, frame: bytes) -> FramePlace:
        table = schema.sessions
        last = connection.execute(
            select(table.c.part, table.c.frame_offset + table.c.frame_length)
            .order_by(table.c.part.desc(), table.c.frame_offset.desc())
            .limit(1)
        ).first()
        try:
            return append(self.folder, Tail(1, 0) if last is None else Tail(*last), frame)
        except OSError as error:
            raise StoreError(
                f"a replay cannot be written in {self.folder}: {error.strerror}; its session does not count"
            ) from error

    def _check_same(self, connection: Connection, result: SessionResult, play_sha256: str) -> None:
        (stored,) = session_entries(connection, block=result.block, session=result.session)
        if _play_of(stored.result) != _play_of(result) or stored.play_sha256 != play_sha256:
            raise StoreConflictError(
                f"session {_label(result)} has another result already: the second one is not taken"
            )


def utc_us(text: str) -> int:
    """Microseconds since 1970 of a time in ISO 8601 with an offset; ValueError when it is none."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"the time {text!r} has no offset from UTC")
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * US_PER_SECOND + since.microseconds


# --------------------------------------------------------------------------- rows


def _is_unplayed(connection: Connection) -> bool:
    """Whether a tournament of this program's format is there, and no attempt was made at any of its slots."""
    formats = connection.execute(select(schema.tournament.c.format)).scalars().all()
    attempt_count = connection.execute(select(func.count()).select_from(schema.attempts)).scalar_one()
    return formats == [schema.STORE_FORMAT] and attempt_count == 0


def _json(names: Sequence[str] | Sequence[int]) -> str:
    return msgspec.json.encode(names).decode()


def _names(text: str) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])


def _label(result: SessionResult) -> str:
    return f"{result.block}.{result.session}"


def _play_of(result: SessionResult) -> SessionResult:
    """A result without what may differ between two runs of the same play."""
    seats = [
        replace(seat, decision_us=(), faults=tuple([replace(fault, detail="") for fault in seat.faults]))
        for seat in result.seats
    ]
    return replace(result, seats=tuple(seats))


def _slot_state(connection: Connection, block: int, session: int) -> SlotState:
    table = schema.slots
    query = select(table.c.state).where(table.c.block == block, table.c.session == session)
    state = connection.execute(query).scalar()
    if state is None:
        raise StoreError(f"there is no session {block}.{session} in the schedule")
    return SlotState(state)


def _set_slot_state(connection: Connection, block: int, session: int, state: SlotState) -> None:
    table = schema.slots
    connection.execute(
        update(table).where(table.c.block == block, table.c.session == session).values(state=state)
    )


def _insert_attempt(connection: Connection, attempt: Attempt) -> None:
    is_new = schema.insert_once(
        connection,
        schema.attempts,
        block=attempt.block,
        session=attempt.session,
        attempt=attempt.attempt,
        ending=attempt.ending,
        why=attempt.why,
        started_at_us=utc_us(attempt.started_at),
        ended_at_us=utc_us(attempt.ended_at),
    )
    if not is_new:
        raise StoreConflictError(
            f"attempt {attempt.attempt} at session {attempt.block}.{attempt.session} is recorded already"
        )


def _judge_slot(connection: Connection, block: int, session: int) -> SlotState:
    """Work out a slot's state from its attempts and its bots, and write it down."""
    tried, slots, bots = schema.attempts, schema.slots, schema.bots
    ends = connection.execute(
        select(tried.c.ending).where(tried.c.block == block, tried.c.session == session)
    ).scalars()
    seating = connection.execute(
        select(slots.c.seating).where(slots.c.block == block, slots.c.session == session)
    ).scalar_one()
    gone = connection.execute(select(bots.c.bot).where(bots.c.withdrawn.is_not(None))).scalars()
    withdrawn = not set(_names(seating)).isdisjoint(gone)
    state = slot_state([AttemptEnd(end) for end in ends], withdrawn=withdrawn)
    _set_slot_state(connection, block, session, state)
    return state


def _insert_session(
    connection: Connection, result: SessionResult, attempt: int, place: FramePlace, play_sha256: str
) -> None:
    is_new = schema.insert_once(
        connection,
        schema.sessions,
        block=result.block,
        session=result.session,
        session_id=result.session_id,
        attempt=attempt,
        deals=result.deals,
        pot_left=result.pot_left,
        part=place.part,
        frame_offset=place.offset,
        frame_length=place.length,
        frame_sha256=place.sha256,
        play_sha256=play_sha256,
    )
    if not is_new:
        raise StoreConflictError(f"session {_label(result)} was recorded by somebody else at the same time")
    connection.execute(schema.seats.insert(), _seat_rows(result))
    faults = _fault_rows(result)
    if faults:
        connection.execute(schema.faults.insert(), faults)


def _seat_rows(result: SessionResult) -> list[dict[str, object]]:
    return [
        {
            "block": result.block,
            "session": result.session,
            "seat": seat.seat,
            "bot": seat.bot,
            "stack": seat.stack,
            "chips": seat.chips,
            "place": seat.place,
            "forfeited": seat.forfeited,
            "strikes": seat.strikes,
            "asked_count": seat.asked_count,
            "decision_us": _json(seat.decision_us),
        }
        for seat in result.seats
    ]


def _fault_rows(result: SessionResult) -> list[dict[str, object]]:
    return [
        {
            "block": result.block,
            "session": result.session,
            "seat": seat.seat,
            "number": number,
            "cause": fault.cause,
            "deal": fault.deal,
            "request_id": fault.request_id,
            "detail": fault.detail,
        }
        for seat in result.seats
        for number, fault in enumerate(seat.faults, start=1)
    ]


def _close_block(connection: Connection, block: int) -> None:
    """Write the result of a block that has no open slot left, and the rating steps that are due."""
    slots, blocks = schema.slots, schema.blocks
    states = connection.execute(select(slots.c.state).where(slots.c.block == block)).scalars().all()
    if SlotState.OPEN in states:
        return
    row = connection.execute(select(blocks).where(blocks.c.block == block)).one()
    if row.result is not None:
        return
    facts = connection.execute(select(schema.tournament)).one()
    result = block_result(
        block,
        _names(row.bots),
        [entry.result for entry in session_entries(connection, block=block)],
        slot_count=len(states),
        ante=facts.ante,
        timed=facts.timed,
    )
    text = msgspec.json.encode(result).decode()
    connection.execute(update(blocks).where(blocks.c.block == block).values(result=text))
    _rate(connection)


def _rate(connection: Connection) -> None:
    """Take the rating steps that are due: of each block that is over, once all before it have theirs."""
    blocks, ratings = schema.blocks, schema.ratings
    done = connection.execute(select(func.max(ratings.c.block))).scalar() or 0
    latest = latest_ratings(connection)
    for row in connection.execute(select(blocks).where(blocks.c.block > done).order_by(blocks.c.block)).all():
        if row.result is None:
            return
        step = next_step(latest, read_block_result(row.result))
        latest.update(step.after)
        rows = [
            {"block": step.block, "bot": bot, "mu": rating.mu, "sigma": rating.sigma}
            for bot, rating in step.after.items()
        ]
        connection.execute(ratings.insert(), rows)
