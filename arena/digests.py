"""The build digests of the bots that an arena starts, read from their files while the arena goes on.

A file may be large, or be one that gives nothing (a pipe, a share that hangs): whoever waits for the
digests may stop waiting at any time, and the arena may end.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from arena.account import Account
from arena.aside import on_own_thread
from arena.bot_command import CommandError, command_digest
from arena.hosted import HostError


async def local_digests(account: Account, bot_folder: Path) -> dict[str, str]:
    """Build digests of the bots that are started here, which must be what they were; reads their files.

    Cancelled, it is over at once, and the reading soon is too.

    Raises:
        HostError: a file cannot be read, or a bot is another one by now.
    """
    given_up = threading.Event()
    try:
        return await on_own_thread(lambda: _read_digests(account, bot_folder, given_up.is_set))
    finally:
        given_up.set()


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
