"""Where a tournament is kept: a database of results, and files of replays beside it.

A session counts once its transaction is committed; its replay is on the disk before that.
One arena writes, held off from others by a lock on the folder; anybody may read. Reading
order: `schema`, `parts`, `database`, `lock`, `reader`, `writer`, `audit`; `registry` is what a
long-lived arena keeps beside its tournaments.
"""

from arena.store.audit import check_session
from arena.store.errors import DamagedFrameError, StoreConflictError, StoreError, StoreLockedError
from arena.store.parts import FramePlace
from arena.store.reader import SessionEntry, StoreReader
from arena.store.registry import Registry, RegistryBot, RegistryTournament, RegistryVersion, Sighting
from arena.store.writer import Store

__all__ = [
    "DamagedFrameError",
    "FramePlace",
    "Registry",
    "RegistryBot",
    "RegistryTournament",
    "RegistryVersion",
    "SessionEntry",
    "Sighting",
    "Store",
    "StoreConflictError",
    "StoreError",
    "StoreLockedError",
    "StoreReader",
    "check_session",
]
