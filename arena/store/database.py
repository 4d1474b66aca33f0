"""Opening the database: SQLite in the tournament's folder, or another server by URL.

SQLite runs in WAL mode, so that readers and the one writer do not wait for each other, and
with synchronous=FULL, so that what was committed outlives the machine's power.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, NullPool, Pool, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from arena.store.errors import StoreError

DATABASE_NAME: Final = "store.sqlite"

_BUSY_TIMEOUT_S: Final = 30.0
"""How long a connection waits for another one's lock before it gives up."""


def open_writer(folder: Path, url: str | None) -> Engine:
    """The engine of the one writer; StoreError when the URL cannot be used."""
    return sqlite_writer(folder / DATABASE_NAME) if url is None else _by_url(url)


def sqlite_writer(path: Path) -> Engine:
    """The engine of the one writer of an SQLite file, which is made if need be."""
    # Connections stay open: the last one that closes would move the whole log into the database.
    engine = _sqlite(f"{path.absolute().as_uri()}?mode=rwc", QueuePool)
    event.listen(engine, "connect", _set_up_writer)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def open_reader(folder: Path, url: str | None) -> Engine:
    """An engine that cannot write; StoreError when the URL cannot be used."""
    if url is not None:
        return _by_url(url)
    path = (folder / DATABASE_NAME).absolute()
    # A folder that cannot be written has no room for the files beside a WAL database. If there are
    # none, nobody writes, and the database can be read as it lies there.
    is_still = not os.access(folder, os.W_OK) and not path.with_name(f"{DATABASE_NAME}-wal").exists()
    engine = _sqlite(f"{path.as_uri()}?mode=ro{'&immutable=1' if is_still else ''}", NullPool)
    event.listen(engine, "begin", _begin)
    return engine


@contextmanager
def transaction(engine: Engine, what: str) -> Iterator[Connection]:
    """One transaction: committed at the end, rolled back by any exception.

    Args:
        engine: from `open_writer` or `open_reader`.
        what: the store, for messages.

    Raises:
        StoreError: the database failed; nothing of the transaction is in it.
    """
    try:
        with engine.begin() as connection:
            yield connection
    except SQLAlchemyError as error:
        why = getattr(error, "orig", None) or error
        raise StoreError(f"the store {what} cannot be used: {why}") from error


def _sqlite(uri: str, pool: type[Pool]) -> Engine:
    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            uri, uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )

    return create_engine("sqlite://", creator=connect, poolclass=pool)


def _by_url(url: str) -> Engine:
    try:
        if make_url(url).get_backend_name() != "postgresql":
            raise StoreError("the store's URL cannot be used: it begins with postgresql+psycopg://")
        return create_engine(url)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise StoreError(f"the store's URL cannot be used: {error}") from error


def _set_up_writer(connection: sqlite3.Connection, record: Any) -> None:  # noqa: ANN401 - SQLAlchemy's own
    del record
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")
