"""The tables of one tournament's store, the same for SQLite and PostgreSQL.

Times are microseconds since 1970 in UTC; lists and results of blocks are JSON text; hashes
are hex. One database holds one tournament.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Insert,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects import postgresql, sqlite

STORE_FORMAT: Final = 2
"""The version of these tables; a store says which one it has."""

FORMAT_WITH_BOT_ENDS: Final = 2
"""The first with the table `bot_ends`, which is made when an older store is opened to be written."""

metadata: Final = MetaData()

tournament: Final = Table(
    "tournament",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("seed", Text, nullable=False),
    Column("ante", BigInteger, nullable=False),
    Column("timed", Boolean, nullable=False),
    Column("created_at_us", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    CheckConstraint("id = 1", name="one_tournament"),
)

bots: Final = Table(
    "bots",
    metadata,
    Column("bot", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("version", Text),
    Column("build_digest", Text),
    Column("withdrawn", Text),
)

bot_ends: Final = Table(
    "bot_ends",
    metadata,
    Column("bot", Text, ForeignKey(bots.c.bot), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("sentence", Text, nullable=False),
    Column("ended_at_us", BigInteger, nullable=False),
)

blocks: Final = Table(
    "blocks",
    metadata,
    Column("block", Integer, primary_key=True, autoincrement=False),
    Column("bots", Text, nullable=False),
    Column("result", Text),
)

slots: Final = Table(
    "slots",
    metadata,
    Column("block", Integer, ForeignKey(blocks.c.block), primary_key=True),
    Column("session", Integer, primary_key=True),
    Column("seating", Text, nullable=False),
    Column("state", Text, nullable=False),
)


def _of_slot() -> tuple[Column[int], Column[int], ForeignKeyConstraint]:
    """The columns that name a slot, as part of a key."""
    return (
        Column("block", Integer, primary_key=True),
        Column("session", Integer, primary_key=True),
        ForeignKeyConstraint(["block", "session"], [slots.c.block, slots.c.session]),
    )


attempts: Final = Table(
    "attempts",
    metadata,
    *_of_slot(),
    Column("attempt", Integer, primary_key=True),
    Column("ending", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("started_at_us", BigInteger, nullable=False),
    Column("ended_at_us", BigInteger, nullable=False),
)

sessions: Final = Table(
    "sessions",
    metadata,
    *_of_slot(),
    Column("session_id", Text, nullable=False, unique=True),
    Column("attempt", Integer, nullable=False),
    Column("deals", Integer, nullable=False),
    Column("pot_left", BigInteger, nullable=False),
    Column("part", Integer, nullable=False),
    Column("frame_offset", BigInteger, nullable=False),
    Column("frame_length", BigInteger, nullable=False),
    Column("frame_sha256", Text, nullable=False),
    Column("play_sha256", Text, nullable=False),
    ForeignKeyConstraint(
        ["block", "session", "attempt"], [attempts.c.block, attempts.c.session, attempts.c.attempt]
    ),
    UniqueConstraint("part", "frame_offset", name="one_frame_a_place"),
)

seats: Final = Table(
    "seats",
    metadata,
    Column("block", Integer, primary_key=True),
    Column("session", Integer, primary_key=True),
    Column("seat", Integer, primary_key=True),
    Column("bot", Text, ForeignKey(bots.c.bot), nullable=False),
    Column("stack", BigInteger, nullable=False),
    Column("chips", BigInteger, nullable=False),
    Column("place", Integer, nullable=False),
    Column("forfeited", Boolean, nullable=False),
    Column("strikes", Integer, nullable=False),
    Column("asked_count", Integer, nullable=False),
    Column("decision_us", Text, nullable=False),
    ForeignKeyConstraint(["block", "session"], [sessions.c.block, sessions.c.session]),
    Index("seats_of_bot", "bot"),
)

faults: Final = Table(
    "faults",
    metadata,
    Column("block", Integer, primary_key=True),
    Column("session", Integer, primary_key=True),
    Column("seat", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("cause", Text, nullable=False),
    Column("deal", Integer),
    Column("request_id", Integer),
    Column("detail", Text, nullable=False),
    ForeignKeyConstraint(["block", "session", "seat"], [seats.c.block, seats.c.session, seats.c.seat]),
)

ratings: Final = Table(
    "ratings",
    metadata,
    Column("block", Integer, ForeignKey(blocks.c.block), primary_key=True),
    Column("bot", Text, ForeignKey(bots.c.bot), primary_key=True),
    Column("mu", Double, nullable=False),
    Column("sigma", Double, nullable=False),
)


def insert_once(connection: Connection, table: Table, **values: object) -> bool:
    """Insert a row unless one with its key is there; whether it was inserted."""
    statement: Insert
    if connection.dialect.name == "postgresql":
        statement = postgresql.insert(table).on_conflict_do_nothing()
    else:
        statement = sqlite.insert(table).on_conflict_do_nothing()
    return connection.execute(statement.values(**values)).rowcount == 1
