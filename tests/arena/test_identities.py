"""Which version and build of a bot a tournament is played by, whoever came in between."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from arena.books import Books
from arena.clock import SystemTime
from arena.identities import Identities
from arena.ledger import BotEntry
from arena.lobby import Lobby
from arena.record import SeatInfo
from tests.arena.bots import LinkedBot, MemoryLedger

LIMIT_S = 10
"""What is waited for is there by then, or never."""

ALICE = BotEntry(bot="alice", version="1", build_digest="d1", withdrawn=None)


class CountingLedger(MemoryLedger):
    """Counts how often it is told of a bot."""

    def __init__(self) -> None:
        super().__init__(())
        self.told_of: list[str] = []

    def see_bot(self, bot: str, version: str, build_digest: str) -> BotEntry:
        """Count."""
        self.told_of.append(bot)
        return super().see_bot(bot, version, build_digest)


@dataclass
class Entrance:
    """Bots that come, and the books that know them."""

    disk: ThreadPoolExecutor
    ledger: CountingLedger = field(default_factory=CountingLedger)
    lobby: Lobby = field(default_factory=lambda: Lobby(SystemTime(), arena_version="0"))

    def identities(self, digests: dict[str, str] | None = None) -> Identities:
        """Those of a tournament that knows nobody yet."""
        return Identities(Books(self.ledger, self.disk, SystemTime()), digests or {})


@pytest.fixture
def entrance() -> Iterator[Entrance]:
    """Nobody was seen yet."""
    with ThreadPoolExecutor(1) as disk:
        yield Entrance(disk)


async def test_a_bot_that_came_as_another_build_is_not_what_the_tournament_keeps_to(
    entrance: Entrance,
) -> None:
    """It came before a tournament went on that had seen another, and was sent away: that one is let in."""
    member = entrance.lobby.member("alice")
    LinkedBot(member, build="d2")
    identities = entrance.identities()
    identities.know([ALICE])
    member.pin("1", "d1")
    assert await identities.of(member) == SeatInfo("alice", "1", "d1")
    LinkedBot(member, build="d2")
    assert not member.is_there
    LinkedBot(member, build="d1")
    assert member.is_there


async def test_what_the_ledger_has_of_a_bot_counts_when_it_is_seen(entrance: Entrance) -> None:
    """Version and build are those that it keeps to, and a bot that is another one has to go."""
    entrance.ledger.seen = (ALICE,)
    member = entrance.lobby.member("alice")
    LinkedBot(member, version="2", build="d2")
    assert await entrance.identities().of(member) == SeatInfo("alice", "1", "d1")
    assert not member.is_there


async def test_a_bot_that_the_arena_starts_has_the_digest_of_its_files(entrance: Entrance) -> None:
    """Before it was there too; what it says of its build decides nothing."""
    identities = entrance.identities({"alice": "files"})
    member = entrance.lobby.member("alice")
    assert await identities.of(member) == SeatInfo("alice", "", "files")
    LinkedBot(member, build="d2")
    assert await identities.of(member) == SeatInfo("alice", "1", "files")
    assert member.is_there


async def test_a_bot_is_written_down_once_however_many_sessions_begin_together(entrance: Entrance) -> None:
    """All of them wait for the one write."""
    member = entrance.lobby.member("alice")
    LinkedBot(member)
    identities = entrance.identities()
    seats = await asyncio.gather(*[identities.of(member) for _ in range(16)])
    assert set(seats) == {SeatInfo("alice", "1", "")}
    assert entrance.ledger.told_of == ["alice"]


async def test_a_known_bot_does_not_wait_while_another_is_written_down(entrance: Entrance) -> None:
    """The disk is busy with bob, whom nobody saw before; a session of alice begins meanwhile."""
    identities = entrance.identities()
    identities.know([ALICE])
    members = [entrance.lobby.member(name) for name in ("alice", "bob")]
    for member in members:
        LinkedBot(member, build="d1")
    is_free = threading.Event()
    entrance.disk.submit(is_free.wait, LIMIT_S)
    bob = asyncio.create_task(identities.of(members[1]))
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(LIMIT_S / 2):
            assert await identities.of(members[0]) == SeatInfo("alice", "1", "d1")
        assert not bob.done()
    finally:
        is_free.set()
    assert await bob == SeatInfo("bob", "1", "d1")
