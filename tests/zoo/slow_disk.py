"""Makes every write of this process take its time: of a run that is to be played on a slow disk (F9)."""

import os
import sqlite3
import sys
import time
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, Engine, event

from arena.ledger import Attempt
from arena.results import SlotState
from arena.store import Store

WRITE_S: Final = 0.5

FAILURE_IS_WRITTEN: Final = "a failed attempt is being written"


def slow_down() -> None:
    """Have what must be on the disk take `WRITE_S` longer: a sync of a file, a transaction that wrote."""
    sync = os.fsync

    def slow_sync(file: int) -> None:
        time.sleep(WRITE_S)
        sync(file)

    def slow_commit(connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        changes = driver.total_changes
        if changes != connection.info.get("changes", 0):
            connection.info["changes"] = changes
            time.sleep(WRITE_S)

    os.fsync = slow_sync  # type: ignore[assignment]
    event.listen(Engine, "commit", slow_commit)


def tell_of_failures() -> None:
    """Have it said on stderr when failed attempts are being written."""
    record_attempts = Store.record_attempts

    def told(store: Store, attempts: Sequence[Attempt]) -> tuple[SlotState, ...]:
        sys.stderr.write(f"{FAILURE_IS_WRITTEN}\n")
        return record_attempts(store, attempts)

    Store.record_attempts = told  # type: ignore[assignment, method-assign]
