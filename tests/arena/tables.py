"""Sessions to referee, seats with a script, and a time that stands still: for the arena's tests."""

import asyncio
import heapq
from collections.abc import Awaitable, Callable

from arena.clock import ClockSettings, ManualTime
from arena.commitment import commitment
from arena.lag import BEAT_US, Heartbeat
from arena.messages import Answer, ArenaMessage, Rejected, Request, Unreadable
from arena.record import SeatInfo, SessionHeader
from arena.referee import Referee
from arena.runner import Clockwork
from arena.seats import Arrived, Reply, Seat
from engine.actions import Action, Play
from engine.rules import make_ruleset, make_session_options

SEED = bytes(range(32))
NONCE = bytes(32)

Script = Callable[[Request], Action | Unreadable]


def header(
    *, deals: int = 2, clock: ClockSettings | None = None, preset: str = "tavern", **options: object
) -> SessionHeader:
    """The facts of a session of four bots, a to d by seat."""
    ruleset = make_ruleset(preset, {"muss_after": "normal_failure", **options})
    return SessionHeader(
        tournament="test",
        block=1,
        session=1,
        session_id="0" * 32,
        ruleset=ruleset,
        options=make_session_options(ruleset, {"players": 4, "deals": deals}),
        seats=tuple([SeatInfo(bot, "1", "") for bot in "abcd"]),
        clock=ClockSettings() if clock is None else clock,
        commitment=commitment(NONCE, SEED),
    )


def referee(**changes: object) -> Referee:
    """A referee of `header(**changes)`."""
    return Referee(header(**changes), SEED, NONCE)  # type: ignore[arg-type]  # passed on as they are


def first_legal(request: Request) -> Action:
    """The first legal answer."""
    return next(iter(request.legal))


def illegal(request: Request) -> Action:
    """A card that the seat does not hold."""
    return Play(next(card for card in range(33) if card not in request.view.hand))


async def _let_arrive() -> None:
    """Let whatever is on its way between two ends in this process arrive."""
    for _ in range(6):
        await asyncio.sleep(0)


class TableTime(ManualTime):
    """A time that moves on when everybody waits: to the next thing that is due, or to the end of a wait.

    Its event loop is never late, unless `stall_us` says how late it is next, and its thread waits for a
    processor as many of a hundred microseconds as `waits_percent` says.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stall_us = 0
        self.waits_percent = 0
        self.heartbeat = Heartbeat(0)
        self._waited_us = 0
        self._beat_us = BEAT_US
        """When the next beat is due."""
        self._due: list[tuple[int, int, Callable[[], None]]] = []

    def clockwork(self) -> Clockwork:
        """What a runner measures and waits with at this table."""
        return Clockwork(self, self.heartbeat, self.wait)

    def call_at(self, at_us: int, call: Callable[[], None]) -> None:
        """Let something happen at a moment to come."""
        heapq.heappush(self._due, (at_us, len(self._due), call))

    async def wait(self, reply: asyncio.Future[Reply], timeout_us: int | None) -> None:
        """Move on to whichever comes first: something due, or the end of the wait."""
        await _let_arrive()
        end_us = None if timeout_us is None else self.now_us() + timeout_us
        while not reply.done() and (self._due or end_us is not None):
            at_us = self._due[0][0] if self._due else None
            if at_us is None or (end_us is not None and end_us < at_us):
                assert end_us is not None
                self._move_to(end_us)
                return
            self._move_to(at_us)
            heapq.heappop(self._due)[2]()
            await _let_arrive()

    def _move_to(self, at_us: int) -> None:
        while self._beat_us <= at_us:
            self.advance_us(max(0, self._beat_us - self.now_us()))
            self._waited_us += BEAT_US * self.waits_percent // 100
            self.heartbeat.beat(self.now_us(), self._waited_us)
            self._beat_us = self.now_us() + BEAT_US
        self.advance_us(max(0, at_us - self.now_us()) + self.stall_us)
        self.stall_us = 0


class ScriptedSeat(Seat):
    """Answers by a script, after a time that the script's author chose; keeps what it was told."""

    def __init__(self, time: TableTime, script: Script = first_legal, *, after_us: int = 0) -> None:
        self.told: list[ArenaMessage] = []
        self.rejections: list[Rejected] = []
        self.requests: list[Request] = []
        self.script = script
        self.after_us = after_us
        self._time = time

    def decide(self, request: Request) -> Awaitable[Reply]:
        """Answer in `after_us`; never, if the clock is out before."""
        self.requests.append(request)
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        answer = Answer(request.session_id, request.request_id, self.script(request))
        self._time.call_at(self._time.now_us() + self.after_us, lambda: self._arrive(reply, answer))
        return reply

    def reject(self, rejected: Rejected) -> None:
        """Keep a rejection."""
        self.rejections.append(rejected)

    def tell(self, message: ArenaMessage) -> None:
        """Keep what was told."""
        self.told.append(message)

    def _arrive(self, reply: asyncio.Future[Reply], answer: Answer) -> None:
        if not reply.done():
            reply.set_result(Arrived(answer, self._time.now_us()))
