"""A hall with a registry on the disk and bots on links without a wire: a long-lived arena in one loop."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

from arena.auth import TokenRing
from arena.clock import SystemTime
from arena.config import parse_tournament
from arena.hall import Hall
from arena.hosted import Dial, Premises
from arena.lag import Heartbeat
from arena.ledger import TournamentState
from arena.lobby import Lobby
from arena.messages import Request
from arena.runner import Clockwork
from arena.status import TournamentStatus
from arena.store import Registry
from engine.actions import Action
from tests.arena.bots import LinkedBot, first_legal

P = ParamSpec("P")
T = TypeVar("T")

NAMES = ("alice", "bob", "carol", "dave")

FILE = """
[tournament]
name = "weekly"
seed = 7
table_size = 4
blocks_per_group = 2
sessions_at_once = 1
[rules]
muss_after = "normal_failure"
[session]
deals = 2
[clock]
timed = false
join_ms = 0
"""


def file_with(names: tuple[str, ...] = NAMES, text: str = FILE) -> str:
    """The tournament file of bots that dial in."""
    return text + "".join([f'[[bots]]\nname = "{name}"\n' for name in names])


class TestHall:
    """A hall, and bots that come and go."""

    __test__ = False

    def __init__(self, hall: Hall, premises: Premises) -> None:
        self.hall = hall
        self.premises = premises

    async def register(self, names: tuple[str, ...] = NAMES) -> None:
        """Register bots that do not come yet."""
        for name in names:
            await self.hall.add_bot(name)

    def come(
        self, name: str, script: Callable[[Request], Action | None] = first_legal, version: str = "1"
    ) -> LinkedBot:
        """Have a bot come."""
        return LinkedBot(self.premises.lobby.member(name), script, version=version)

    def all_come(
        self,
        first: Callable[[Request], Action | None],
        others: Callable[[Request], Action | None] = first_legal,
    ) -> LinkedBot:
        """Have all of `NAMES` come, the first of them with a script of its own; that one."""
        bot = self.come(NAMES[0], first)
        for name in NAMES[1:]:
            self.come(name, others)
        return bot

    async def versions_written(self) -> None:
        """Wait until the registry has the versions of all bots that came."""
        roster = self.hall._roster
        assert roster is not None
        await roster.close()

    async def create(self, text: str | None = None) -> str:
        """Enter a tournament; its id."""
        status = await self.hall.create(parse_tournament(file_with() if text is None else text), "")
        assert status.state is TournamentState.CREATED
        return status.tournament_id

    async def play(self, tournament_id: str) -> TournamentStatus:
        """Start a tournament and wait for its end."""
        await self.hall.start(tournament_id)
        return await self.end_of(tournament_id)

    async def end_of(self, tournament_id: str) -> TournamentStatus:
        """The status that a running tournament is left in."""
        latest = [status async for status in self.hall.watch(tournament_id)][-1]
        # The play itself ends a moment later, with its store closed.
        await asyncio.gather(*self.hall._plays.values())
        return latest


class HeldDisk(ThreadPoolExecutor):
    """The thread of a disk that takes its time for as long as it is held.

    Attributes:
        asked: set once a call waits for it.
        waiting: calls that were made since it was held.
    """

    def __init__(self) -> None:
        super().__init__(1)
        self.asked = asyncio.Event()
        self.waiting = 0

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a call made, after those before it."""
        self.waiting += 1
        self.asked.set()
        return super().submit(fn, *args, **kwargs)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Do nothing more until the end of the block."""
        let_go = threading.Event()
        self.submit(let_go.wait)
        self.waiting = 0
        self.asked.clear()
        try:
            yield
        finally:
            let_go.set()


@asynccontextmanager
async def open_hall(folder: Path, executor: Executor | None = None) -> AsyncIterator[TestHall]:
    """A hall on a data folder, closed at the end; `executor` is its disk's thread, if not a plain one."""
    time = SystemTime()
    with executor or ThreadPoolExecutor(1) as disk, Registry.open(folder) as registry:
        premises = Premises(
            lobby=Lobby(time, arena_version="0"),
            tokens=TokenRing(),
            clockwork=Clockwork(time, Heartbeat(time.now_us())),
            disk=disk,
            dial=Dial("127.0.0.1:1", "unix:none"),
            stop_grace_s=0,
        )
        hall = Hall(premises, registry)
        await hall.open()
        try:
            yield TestHall(hall, premises)
        finally:
            await hall.close()


def last_legal(request: Request) -> Action:
    """The last legal answer, with which a bot bids, plays and exchanges all it can."""
    return list(request.legal)[-1]


class Hesitant:
    """A script that answers so many requests, and then none until it goes on."""

    def __init__(self, answers: int, script: Callable[[Request], Action] = first_legal) -> None:
        self.stuck = asyncio.Event()
        self._script = script
        self._left: float = answers
        self._unanswered: list[Request] = []

    def __call__(self, request: Request) -> Action | None:
        """What the script says, as long as there are answers left."""
        if self._left <= 0:
            self._unanswered.append(request)
            self.stuck.set()
            return None
        self._left -= 1
        return self._script(request)

    def go_on(self, bot: LinkedBot) -> None:
        """Answer what was left open, and everything from here on."""
        self._left = math.inf
        for request in self._unanswered:
            bot.answer(request)
