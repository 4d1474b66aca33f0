"""Reading a store: no lock, no change, at any time.

Rows come back as the values of `arena.results` and `arena.ledger`. Replays are found through
the database and checked against it byte by byte before anybody sees them.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

import msgspec
from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, Table, func, select

from arena.faults import Fault, FaultCause
from arena.frame import FrameError, unpack_frame
from arena.ledger import AttemptEntry, BotEnd, BotEntry, SlotEntry, TournamentFacts, TournamentState
from arena.ratings import NEW, Rating, RatingStep
from arena.results import (
    AttemptEnd,
    BlockResult,
    SeatResult,
    SessionResult,
    SlotCounts,
    SlotState,
    count_slots,
)
from arena.store import schema
from arena.store.database import DATABASE_NAME, open_reader, transaction
from arena.store.errors import DamagedFrameError, StoreError
from arena.store.parts import FramePlace, part_name, read_bytes

_LABEL: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")
_ID_PREFIX: Final = re.compile(r"[0-9a-f]{1,32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """A finished session as it is stored.

    Attributes:
        result: what it gave.
        attempt: number of the attempt that gave it.
        frame: where its replay lies.
        play_sha256: hex, of its replay without what may differ between two runs.
        started_at_us: microseconds since 1970, UTC.
        ended_at_us: likewise.
    """

    result: SessionResult
    attempt: int
    frame: FramePlace
    play_sha256: str
    started_at_us: int
    ended_at_us: int

    @property
    def label(self) -> str:
        """The slot as people write it, `7.2`."""
        return f"{self.result.block}.{self.result.session}"

    @property
    def where(self) -> str:
        """Part and session, for messages."""
        return f"{part_name(self.frame.part)} (part {self.frame.part}), session {self.label}"


class StoreReader:
    """One tournament's store, to be read."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder = folder
        self._engine = engine

    @classmethod
    def open(cls, folder: Path, *, url: str | None = None) -> Self:
        """Open the store in a folder.

        Args:
            folder: of the tournament.
            url: of the database when it is not the SQLite file in the folder.

        Raises:
            StoreError: there is none, or a newer program wrote it.
        """
        check_present(folder, url)
        reader = cls(folder, open_reader(folder, url))
        try:
            reader.check_format()
        except StoreError:
            reader.close()
            raise
        return reader

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def check_format(self) -> None:
        """Raise StoreError when the store is empty, of a newer format or no store at all."""
        with self._connection() as connection:
            found = _format(connection)
        if found == 0:
            raise StoreError(f"the store in {self.folder} is empty: its tournament was never begun")
        if found > schema.STORE_FORMAT:
            raise StoreError(
                f"the store in {self.folder} is of format {found}, and this program reads up to format "
                f"{schema.STORE_FORMAT}: open it with a newer kratzen"
            )

    # ------------------------------------------------------------------- the tournament

    def facts(self) -> TournamentFacts:
        """What the tournament was made from."""
        with self._connection() as connection:
            row = connection.execute(select(schema.tournament)).one()
        return TournamentFacts(
            name=row.name,
            spec=row.spec,
            seed=bytes.fromhex(row.seed),
            ante=row.ante,
            timed=row.timed,
            created_at_us=row.created_at_us,
            state=TournamentState(row.state),
        )

    def bots(self) -> tuple[BotEntry, ...]:
        """The bots in the order in which they were entered."""
        with self._connection() as connection:
            return _bots(connection)

    def bot_ends(self) -> tuple[BotEnd, ...]:
        """Every end of a bot that was to be started again, or would have been, by bot and in order."""
        table = schema.bot_ends
        with self._connection() as connection:
            if _format(connection) < schema.FORMAT_WITH_BOT_ENDS:
                return ()
            rows = connection.execute(select(table).order_by(table.c.bot, table.c.number)).all()
        return tuple([BotEnd(bot=row.bot, kind=row.kind, sentence=row.sentence) for row in rows])

    def slots(self) -> tuple[SlotEntry, ...]:
        """The whole schedule in order."""
        table, tried = schema.slots, schema.attempts
        count = (
            select(func.count())
            .where(tried.c.block == table.c.block, tried.c.session == table.c.session)
            .scalar_subquery()
        )
        query = select(table, count.label("attempts")).order_by(table.c.block, table.c.session)
        with self._connection() as connection:
            return tuple([_slot(row) for row in connection.execute(query)])

    def slot_counts(self) -> SlotCounts:
        """How many slots are finished, void and open; together they are the whole schedule."""
        with self._connection() as connection:
            states = connection.execute(select(schema.slots.c.state)).scalars().all()
        return count_slots([SlotState(state) for state in states])

    def attempts(self) -> tuple[AttemptEntry, ...]:
        """Every attempt that was recorded, finished ones too, by slot and number."""
        table = schema.attempts
        query = select(table).order_by(table.c.block, table.c.session, table.c.attempt)
        with self._connection() as connection:
            rows = connection.execute(query).all()
        return tuple(
            [
                AttemptEntry(
                    block=row.block,
                    session=row.session,
                    attempt=row.attempt,
                    ending=AttemptEnd(row.ending),
                    why=row.why,
                    started_at_us=row.started_at_us,
                    ended_at_us=row.ended_at_us,
                )
                for row in rows
            ]
        )

    # ------------------------------------------------------------------- results

    def sessions(self) -> tuple[SessionEntry, ...]:
        """Every finished session in schedule order."""
        with self._connection() as connection:
            return session_entries(connection)

    def results(self) -> tuple[SessionResult, ...]:
        """The results of every finished session in schedule order."""
        return tuple([entry.result for entry in self.sessions()])

    def block_results(self) -> tuple[BlockResult, ...]:
        """Every block that is over, in schedule order."""
        with self._connection() as connection:
            return block_results(connection)

    def rating_steps(self) -> tuple[RatingStep, ...]:
        """Every rating step that is due, in schedule order."""
        with self._connection() as connection:
            rows = connection.execute(select(schema.ratings).order_by(schema.ratings.c.block)).all()
        steps: dict[int, dict[str, Rating]] = {}
        for row in rows:
            steps.setdefault(row.block, {})[row.bot] = Rating(row.mu, row.sigma)
        return tuple([RatingStep(block, after) for block, after in steps.items()])

    def ratings(self) -> dict[str, Rating]:
        """Every bot's rating after the last rating step; a new bot's before the first."""
        with self._connection() as connection:
            return latest_ratings(connection)

    def find(self, text: str) -> SessionEntry:
        """The finished session that people mean: `7.2`, its id, or the beginning of its id.

        Raises:
            StoreError: there is none, or the beginning fits several.
        """
        condition = _meant(text)
        with self._connection() as connection:
            found = connection.execute(
                select(schema.sessions.c.block, schema.sessions.c.session).where(condition).limit(2)
            ).all()
            if len(found) == 1:
                block, session = found[0]
                return session_entries(connection, block=block, session=session)[0]
        what = "several sessions have ids that begin so" if found else "there is none among the finished ones"
        raise StoreError(
            f"no session {text!r} in {self.folder}: {what}; `kratzen replay list` shows them all"
        )

    # ------------------------------------------------------------------- replays

    def frame(self, entry: SessionEntry) -> bytes:
        """The packed replay of a session, the very bytes that were stored.

        Raises:
            DamagedFrameError: they are not there any more.
        """
        place = entry.frame
        where = entry.where
        try:
            frame = read_bytes(self.folder, place)
        except OSError as error:
            raise DamagedFrameError(f"{where}: the file cannot be read: {error.strerror}") from error
        if len(frame) < place.length:
            raise DamagedFrameError(f"{where}: the file ends {place.length - len(frame)} bytes too early")
        if sha256(frame).hexdigest() != place.sha256:
            raise DamagedFrameError(
                f"{where}: the {place.length} bytes from {place.offset} on are not those that were stored"
            )
        return frame

    def replay(self, entry: SessionEntry) -> bytes:
        """The replay of a session as text; DamagedFrameError as `frame`."""
        try:
            return unpack_frame(self.frame(entry))
        except FrameError as error:
            raise DamagedFrameError(f"{entry.where}: {error}") from error

    # ------------------------------------------------------------------- inside

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        with transaction(self._engine, f"in {self.folder}") as connection:
            yield connection


def _meant(text: str) -> ColumnElement[bool]:
    """The condition on a session that people's text for it means; StoreError when it means none."""
    table = schema.sessions
    label = _LABEL.fullmatch(text)
    if label is not None:
        return (table.c.block == int(label[1])) & (table.c.session == int(label[2]))
    if _ID_PREFIX.fullmatch(text):
        return table.c.session_id.startswith(text)
    raise StoreError(
        f"no session {text!r}: allowed is block and session (7.2), or an id or its beginning (3f2a)"
    )


def check_present(folder: Path, url: str | None) -> None:
    """Raise StoreError when a folder holds no tournament."""
    if not folder.is_dir():
        raise StoreError(f"there is no folder {folder}")
    if url is None and not (folder / DATABASE_NAME).is_file():
        raise StoreError(f"{folder} holds no tournament: there is no {DATABASE_NAME} in it")


# --------------------------------------------------------------------------- rows as values


def session_entries(
    connection: Connection, *, block: int | None = None, session: int | None = None
) -> tuple[SessionEntry, ...]:
    """The finished sessions in schedule order: all, those of a block, or one."""

    def chosen(query: Select[Any], table: Table) -> Select[Any]:
        if block is not None:
            query = query.where(table.c.block == block)
        if session is not None:
            query = query.where(table.c.session == session)
        return query.order_by(*table.primary_key.columns)

    faults: dict[tuple[int, int, int], list[Fault]] = {}
    for row in connection.execute(chosen(select(schema.faults), schema.faults)):
        fault = Fault(row.seat, FaultCause(row.cause), row.deal, row.request_id, row.detail)
        faults.setdefault((row.block, row.session, row.seat), []).append(fault)
    seats: dict[tuple[int, int], list[SeatResult]] = {}
    for row in connection.execute(chosen(select(schema.seats), schema.seats)):
        seat = _seat(row, tuple(faults.get((row.block, row.session, row.seat), ())))
        seats.setdefault((row.block, row.session), []).append(seat)
    tried = schema.attempts
    joined = select(schema.sessions, tried.c.started_at_us, tried.c.ended_at_us).join(tried)
    return tuple(
        [
            _entry(row, tuple(seats[row.block, row.session]))
            for row in connection.execute(chosen(joined, schema.sessions))
        ]
    )


def block_results(connection: Connection) -> tuple[BlockResult, ...]:
    """The results of the blocks that are over, in schedule order."""
    table = schema.blocks
    query = select(table.c.result).where(table.c.result.is_not(None)).order_by(table.c.block)
    return tuple([read_block_result(text) for text in connection.execute(query).scalars()])


def read_block_result(text: str) -> BlockResult:
    """The result of a block out of its column."""
    return msgspec.json.decode(text, type=BlockResult)


def latest_ratings(connection: Connection) -> dict[str, Rating]:
    """Every bot's rating after the last step, by name in the order of entry."""
    table = schema.ratings
    last = select(table.c.bot, func.max(table.c.block).label("block")).group_by(table.c.bot).subquery()
    query = select(table).join(last, (table.c.bot == last.c.bot) & (table.c.block == last.c.block))
    rated = {row.bot: Rating(row.mu, row.sigma) for row in connection.execute(query)}
    return {entry.bot: rated.get(entry.bot, NEW) for entry in _bots(connection)}


def _format(connection: Connection) -> int:
    """The format of the store, 0 for one that is empty."""
    return connection.execute(select(schema.tournament.c.format)).scalar() or 0


def _bots(connection: Connection) -> tuple[BotEntry, ...]:
    rows = connection.execute(select(schema.bots).order_by(schema.bots.c.position))
    return tuple([bot_entry(row) for row in rows])


def bot_entry(row: Row[Any]) -> BotEntry:
    """A row of the bots."""
    return BotEntry(bot=row.bot, version=row.version, build_digest=row.build_digest, withdrawn=row.withdrawn)


def _slot(row: Row[Any]) -> SlotEntry:
    return SlotEntry(
        block=row.block,
        session=row.session,
        seating=msgspec.json.decode(row.seating, type=tuple[str, ...]),
        state=SlotState(row.state),
        attempts=row.attempts,
    )


def _seat(row: Row[Any], faults: tuple[Fault, ...]) -> SeatResult:
    return SeatResult(
        bot=row.bot,
        seat=row.seat,
        stack=row.stack,
        chips=row.chips,
        place=row.place,
        forfeited=row.forfeited,
        strikes=row.strikes,
        faults=faults,
        asked_count=row.asked_count,
        decision_us=msgspec.json.decode(row.decision_us, type=tuple[int, ...]),
    )


def _entry(row: Row[Any], seats: tuple[SeatResult, ...]) -> SessionEntry:
    return SessionEntry(
        result=SessionResult(
            block=row.block,
            session=row.session,
            session_id=row.session_id,
            deals=row.deals,
            pot_left=row.pot_left,
            seats=seats,
        ),
        attempt=row.attempt,
        frame=FramePlace(row.part, row.frame_offset, row.frame_length, row.frame_sha256),
        play_sha256=row.play_sha256,
        started_at_us=row.started_at_us,
        ended_at_us=row.ended_at_us,
    )
