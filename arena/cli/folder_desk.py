"""Registering bots in the data folder of an arena that does not run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arena.cli.errors import CommandFailed
from arena.clock import SystemTime
from arena.enrolment import bar_version, bot_status, enrol, strike_off
from arena.refusals import RefusedError
from arena.status import BotStatus
from arena.store import Registry, StoreError, StoreLockedError


class FolderDesk:
    """A registry that nobody else has open."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._time = SystemTime()

    def register_bot(self, name: str) -> str:
        """Register a bot; its token."""
        return enrol(self._registry, name, self._time.utc_text())

    def revoke_bot(self, name: str, version: str | None) -> tuple[str, ...]:
        """Revoke a bot, or one version of it; nothing runs that it could be withdrawn from."""
        if version is None:
            strike_off(self._registry, name, self._time.utc_text())
        else:
            bar_version(self._registry, name, version, self._time.utc_text())
        return ()

    def bots(self) -> tuple[BotStatus, ...]:
        """All bots that were ever registered, by name."""
        return tuple([bot_status(bot, is_there=False) for bot in self._registry.bots()])


@contextmanager
def open_folder(data: Path, *, may_be_new: bool) -> Iterator[FolderDesk]:
    """The desk of a data folder; CommandFailed for whatever is wrong with it or refused."""
    if not (may_be_new or Registry.is_in(data)):
        raise CommandFailed(f"{data} is no data folder of an arena: `kratzen serve --data` makes one")
    try:
        with Registry.open(data) as registry:
            yield FolderDesk(registry)
    except StoreLockedError as error:
        raise CommandFailed(f"{error} - or leave --data out, and the arena that runs does it") from None
    except (StoreError, RefusedError) as error:
        raise CommandFailed(str(error)) from None
