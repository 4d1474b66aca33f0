"""Makes every write of this process take its time: of a run that is to be played on a slow disk (F9)."""

import os
import sqlite3
import time
from typing import Final

from sqlalchemy import Connection, Engine, event

WRITE_S: Final = 0.5


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
