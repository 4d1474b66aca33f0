"""An arena that listens on loopback in this process, and bots of the SDK that dial in to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from arena.admin import AdminClient, ArenaAddress
from arena.auth import AdminPass, token_hash
from arena.cli.building import OpenArena, Site, open_arena
from arena.lobby import Member
from arena.store import Registry
from engine.actions import Action
from kratzen.sdk import Bot, Request
from kratzen.sdk.client import Settings, play
from tests.logs import logging_to

ADMIN_TOKEN: Final = "kratzen_admin"  # noqa: S105  of an arena that is gone with its test


class FirstLegal(Bot):
    """Plays the first legal answer."""

    name = "first"

    def decide(self, request: Request) -> Action:
        """The first one."""
        return next(iter(request.legal))


class Opened:
    """A running arena, and the bots that were made to dial in."""

    def __init__(self, arena: OpenArena) -> None:
        self.hall = arena.hall
        self.address = arena.address
        self._lobby = arena.lobby
        self._playing: list[asyncio.Task[object]] = []

    def client(self) -> AdminClient:
        """A client of it. What it asks must be asked in another thread."""
        return AdminClient(ArenaAddress(self.address, ADMIN_TOKEN))

    async def dial_in(self, name: str, bot: Bot | None = None) -> Member:
        """Register a bot and have it dial in; its member, once it is there."""
        token = await self.hall.add_bot(name)
        playing = play(bot or FirstLegal(), Settings(self.address, token))
        self._playing.append(asyncio.create_task(playing))
        member = self._lobby.member(name)
        await member.there.wait()
        return member

    async def close(self) -> None:
        """End every bot, and then the arena."""
        for playing in self._playing:
            playing.cancel()
        await asyncio.gather(*self._playing, return_exceptions=True)
        await self.hall.close()


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Opened]:
    """An arena on a data folder, which its log is in too, closed at the end."""
    site = Site(address="127.0.0.1:0", admin=AdminPass(token_hash(ADMIN_TOKEN)))
    with Registry.open(folder) as registry, logging_to(folder):
        async with open_arena(site, registry) as arena:
            running = Opened(arena)
            try:
                yield running
            finally:
                await running.close()
