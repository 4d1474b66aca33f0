"""Which version and build of each bot a tournament is played by: what it saw first, and keeps to.

That is the ledger's to say and not the bot's last Hello's: the bot may have come as another one
before it was pinned, and been sent away since.
"""

import asyncio
from collections.abc import Iterable, Mapping

from arena.books import Books
from arena.ledger import BotEntry
from arena.lobby import Member
from arena.messages import Hello
from arena.record import SeatInfo


class Identities:
    """What the bots of one tournament are."""

    def __init__(self, books: Books, digests: Mapping[str, str]) -> None:
        """Set up.

        Args:
            books: where it is written down when a bot is first seen.
            digests: build digests of the bots that the arena starts; the others say theirs in Hello.
        """
        self._books = books
        self._digests = digests
        self._known: dict[str, tuple[str, str]] = {}
        """Version and build digest, as the ledger has them, of the bots that were ever seen."""
        self._seeing = asyncio.Lock()
        """What a bot is, is written down once, however many sessions it begins at the same time."""

    def know(self, bots: Iterable[BotEntry]) -> None:
        """Keep to what the ledger says of bots that were seen before."""
        self._known = {bot.bot: _seen(bot) for bot in bots if bot.version is not None}

    async def of(self, member: Member) -> SeatInfo:
        """What a bot is, which is written down if it is there for the first time; no other is let in then."""
        name, hello = member.name, member.hello
        if hello is None:
            version, digest = self._known.get(name, ("", self._digests.get(name, "")))
            return SeatInfo(name, version, digest)
        if name not in self._known:
            await self._see(name, hello)
        version, digest = self._known[name]
        member.pin(version, None if name in self._digests else digest)
        return SeatInfo(name, version, digest)

    async def _see(self, name: str, hello: Hello) -> None:
        digest = self._digests.get(name, hello.build_digest)
        async with self._seeing:
            if name not in self._known:
                seen = await self._books.keep(lambda ledger: ledger.see_bot(name, hello.bot_version, digest))
                self._known[name] = _seen(seen)


def _seen(bot: BotEntry) -> tuple[str, str]:
    return bot.version or "", bot.build_digest or ""
