"""The build digests of the bots that an arena starts, read from their files while the arena goes on.

A file may be large, or be one that gives nothing (a pipe, a share that hangs): whoever waits for the
digests may stop waiting at any time, and the arena may end.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from arena.account import Account
from arena.bot_command import CommandError, command_digest
from arena.hosted import HostError

T = TypeVar("T")


async def local_digests(account: Account, bot_folder: Path) -> dict[str, str]:
    """Build digests of the bots that are started here, which must be what they were; reads their files.

    Cancelled, it is over at once, and the reading soon is too.

    Raises:
        HostError: a file cannot be read, or a bot is another one by now.
    """
    given_up = threading.Event()
    try:
        return await _on_own_thread(lambda: _read_digests(account, bot_folder, given_up.is_set))
    finally:
        given_up.set()


async def _on_own_thread(call: Callable[[], T]) -> T:
    """Make a call on a thread of its own: no pool's, since the process waits for those before it ends."""
    outcome: Future[T] = Future()
    # From here on a waiter that goes away leaves it to be set all the same.
    outcome.set_running_or_notify_cancel()

    def work() -> None:
        try:
            outcome.set_result(call())
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            outcome.set_exception(error)

    threading.Thread(target=work, name="digests", daemon=True).start()
    return await asyncio.wrap_future(outcome)


def _read_digests(account: Account, bot_folder: Path, is_given_up: Callable[[], bool]) -> dict[str, str]:
    digests = {}
    for bot in account.local_bots:
        assert bot.command is not None
        try:
            digests[bot.name] = command_digest(bot.command, bot_folder, is_given_up)
        except CommandError as error:
            raise HostError(f"bot {bot.name} {error}") from None
        if bot.name in account.seen and account.seen[bot.name][1] != digests[bot.name]:
            raise HostError(
                f"bot {bot.name} has changed since this tournament began: bring back what it was, or begin "
                "a new tournament"
            )
    return digests
