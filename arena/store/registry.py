"""What a long-lived arena keeps beside its tournaments: bots, admin token, which tournaments there are.

Tokens are kept as SHA-256 hashes alone. A bot's name is its key: the rule for names
(`arena.text.is_bot_name`) leaves none that another one equals once letter case, invisible
characters and look-alikes of other scripts are taken away. What a tournament gave is in its
own store.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    Row,
    Table,
    Text,
    func,
    insert,
    select,
    update,
)

from arena.store.database import sqlite_writer, transaction
from arena.store.errors import StoreError
from arena.store.lock import take_lock
from arena.store.schema import insert_once
from arena.store.writer import utc_us

REGISTRY_NAME: Final = "registry.sqlite"
LOCK_NAME: Final = "arena.lock"
TOURNAMENTS_NAME: Final = "tournaments"
"""The folder with a folder for each tournament, named by its number."""

REGISTRY_FORMAT: Final = 1
"""The version of these tables; a registry says which one it has."""

_metadata: Final = MetaData()

_arena: Final = Table(
    "arena",
    _metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    Column("admin_hash", Text),
    CheckConstraint("id = 1", name="one_arena"),
)

_bots: Final = Table(
    "bots",
    _metadata,
    Column("name", Text, primary_key=True),
    Column("token_hash", Text, nullable=False),
    Column("added_at_us", BigInteger, nullable=False),
    Column("revoked_at_us", BigInteger),
)

_versions: Final = Table(
    "versions",
    _metadata,
    Column("name", Text, ForeignKey(_bots.c.name), primary_key=True),
    Column("version", Text, primary_key=True),
    Column("build_digest", Text, nullable=False),
    Column("first_seen_at_us", BigInteger, nullable=False),
    Column("revoked_at_us", BigInteger),
)

_tournaments: Final = Table(
    "tournaments",
    _metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("bot_folder", Text, nullable=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryVersion:
    """A version that a bot has come as.

    Attributes:
        version: as the bot gave it.
        build_digest: likewise, when it first came.
        first_seen_at_us: microseconds since 1970, UTC.
        is_revoked: whether it is not let in any more.
    """

    version: str
    build_digest: str
    first_seen_at_us: int
    is_revoked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """That a bot came as a version.

    Attributes:
        bot: its name.
        version: as the bot gave it.
        build_digest: likewise.
        at: UTC, ISO 8601.
    """

    bot: str
    version: str
    build_digest: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryBot:
    """A bot that was registered.

    Attributes:
        name: its name.
        token_hash: SHA-256 of its token, 32 bytes.
        added_at_us: microseconds since 1970, UTC.
        revoked_at_us: likewise; None while its token is valid.
        versions: in the order of their first coming.
    """

    name: str
    token_hash: bytes
    added_at_us: int
    revoked_at_us: int | None
    versions: tuple[RegistryVersion, ...]

    @property
    def is_valid(self) -> bool:
        """Whether it may come."""
        return self.revoked_at_us is None

    @property
    def barred_versions(self) -> frozenset[str]:
        """The versions that are not let in any more."""
        return frozenset([version.version for version in self.versions if version.is_revoked])


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryTournament:
    """A tournament that was entered.

    Attributes:
        number: from 1; none is used twice.
        bot_folder: beside which the files of its bots lie, as text; may be empty.
    """

    number: int
    bot_folder: str


class Registry:
    """The registry in a data folder, which is this process's alone while it is open.

    Use it from one thread at a time.
    """

    def __init__(self, folder: Path, engine: Engine, lock: int) -> None:
        self.folder = folder
        self._engine = engine
        self._lock = lock

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether a folder is the data folder of an arena."""
        return (folder / REGISTRY_NAME).is_file()

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the registry of a data folder; both are made if need be.

        Raises:
            StoreLockedError: another arena has the folder.
            StoreError: the folder cannot be written, or a newer program wrote it.
        """
        lock = take_lock(folder, LOCK_NAME)
        registry = cls(folder, sqlite_writer(folder / REGISTRY_NAME), lock)
        try:
            registry._set_up()
        except BaseException:
            registry.close()
            raise
        return registry

    def close(self) -> None:
        """Let go of the database and of the folder."""
        self._engine.dispose()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ------------------------------------------------------------------- the admin

    def admin_hash(self) -> bytes | None:
        """SHA-256 of the admin token, 32 bytes; None before there was one."""
        with self._connection() as connection:
            text = connection.execute(select(_arena.c.admin_hash)).scalar_one()
        return None if text is None else bytes.fromhex(text)

    def set_admin_hash(self, hashed: bytes) -> None:
        """Keep the hash of a new admin token; the one before is no longer valid."""
        with self._connection() as connection:
            connection.execute(update(_arena).values(admin_hash=hashed.hex()))

    # ------------------------------------------------------------------- bots

    def bots(self) -> tuple[RegistryBot, ...]:
        """Every bot that was ever registered, by name."""
        with self._connection() as connection:
            rows = connection.execute(select(_bots).order_by(_bots.c.name)).all()
            versions = connection.execute(select(_versions).order_by(_versions.c.first_seen_at_us)).all()
        by_name: dict[str, list[Row[Any]]] = {row.name: [] for row in rows}
        for version in versions:
            by_name[version.name].append(version)
        return tuple([_bot(row, by_name[row.name]) for row in rows])

    def bot(self, name: str) -> RegistryBot | None:
        """The bot of that name, or None."""
        of_it = select(_versions).where(_versions.c.name == name)
        with self._connection() as connection:
            row = connection.execute(select(_bots).where(_bots.c.name == name)).one_or_none()
            versions = connection.execute(of_it.order_by(_versions.c.first_seen_at_us)).all()
        return None if row is None else _bot(row, versions)

    def put_bot(self, name: str, token_hash: bytes, at: str) -> None:
        """Register a bot, or one that was revoked again, with a new token; `at` is UTC, ISO 8601."""
        with self._connection() as connection:
            values = {"token_hash": token_hash.hex(), "added_at_us": utc_us(at), "revoked_at_us": None}
            if not insert_once(connection, _bots, name=name, **values):
                connection.execute(update(_bots).where(_bots.c.name == name).values(**values))

    def revoke_bot(self, name: str, at: str) -> None:
        """Make a bot's token invalid for good; `at` is UTC, ISO 8601."""
        with self._connection() as connection:
            connection.execute(update(_bots).where(_bots.c.name == name).values(revoked_at_us=utc_us(at)))

    def see_versions(self, sightings: Iterable[Sighting]) -> None:
        """Write down the versions that bots have come as, where they are new, all in one go."""
        with self._connection() as connection:
            for seen in sightings:
                insert_once(
                    connection,
                    _versions,
                    name=seen.bot,
                    version=seen.version,
                    build_digest=seen.build_digest,
                    first_seen_at_us=utc_us(seen.at),
                )

    def revoke_version(self, name: str, version: str, at: str) -> None:
        """Let a version of a bot not in any more; `at` is UTC, ISO 8601."""
        with self._connection() as connection:
            connection.execute(
                update(_versions)
                .where(_versions.c.name == name, _versions.c.version == version)
                .values(revoked_at_us=utc_us(at))
            )

    # ------------------------------------------------------------------- tournaments

    def tournaments(self) -> tuple[RegistryTournament, ...]:
        """Every tournament that was entered, in that order."""
        with self._connection() as connection:
            rows = connection.execute(select(_tournaments).order_by(_tournaments.c.number)).all()
        return tuple([RegistryTournament(number=row.number, bot_folder=row.bot_folder) for row in rows])

    def next_number(self) -> int:
        """A number for the next tournament: no entry and no folder has had it."""
        with self._connection() as connection:
            last = connection.execute(select(func.max(_tournaments.c.number))).scalar() or 0
        folders = [path.name for path in self._tournaments_folder.glob("[1-9]*") if path.name.isdecimal()]
        return max([last, *map(int, folders)]) + 1

    def put_tournament(self, tournament: RegistryTournament) -> None:
        """Enter a tournament, once its store has been made."""
        with self._connection() as connection:
            connection.execute(
                insert(_tournaments).values(number=tournament.number, bot_folder=tournament.bot_folder)
            )

    def tournament_folder(self, number: int) -> Path:
        """Where a tournament's store lies."""
        return self._tournaments_folder / str(number)

    # ------------------------------------------------------------------- inside

    @property
    def _tournaments_folder(self) -> Path:
        return self.folder / TOURNAMENTS_NAME

    def _set_up(self) -> None:
        with self._connection() as connection:
            _metadata.create_all(connection)
            insert_once(connection, _arena, id=1, format=REGISTRY_FORMAT)
            found = connection.execute(select(_arena.c.format)).scalar_one()
        if found > REGISTRY_FORMAT:
            raise StoreError(
                f"the registry in {self.folder} is of format {found}, and this program reads up to format "
                f"{REGISTRY_FORMAT}: open it with a newer kratzen"
            )

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        with transaction(self._engine, f"in {self.folder}") as connection:
            yield connection


def _bot(row: Row[Any], versions: Iterable[Row[Any]]) -> RegistryBot:
    return RegistryBot(
        name=row.name,
        token_hash=bytes.fromhex(row.token_hash),
        added_at_us=row.added_at_us,
        revoked_at_us=row.revoked_at_us,
        versions=tuple(
            [
                RegistryVersion(
                    version=version.version,
                    build_digest=version.build_digest,
                    first_seen_at_us=version.first_seen_at_us,
                    is_revoked=version.revoked_at_us is not None,
                )
                for version in versions
            ]
        ),
    )
