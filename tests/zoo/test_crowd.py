"""What good bots get while 50 watchers and 4 bots read nothing of what they are sent (F8, G07).

The arena is a process of its own. In windows that take turns they are there, and are not: then
nobody watches, and the four bots read, so that as much is played. The measure is the good bots' own:
from an answer until they hear of the session again, which is their next turn.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Final

import grpc
import grpc.aio
import pytest

from arena.admin import AdminClient
from kratzen.sdk.client import Settings
from kratzen.v1 import admin_pb2, bot_pb2
from sample_bots.faulty import ZOO
from tests.arena.served import Served, served
from tests.figures import Figure, Ratio
from tests.zoo.runs import BOTS, PatientBot, asked_again, seated
from tests.zoo.test_clocks import percentile

WATCHERS: Final = 50
DEAF: Final = ("deaf-a", "deaf-b", "deaf-c", "deaf-d")
WITHIN: Final = 0.05
"""By so much at most the p99 may be above that without them."""
DECISIONS: Final = 3000
"""Of the good bots together, in each window."""

LONG: Final = """
[tournament]
name = "good"
seed = 1
blocks_per_group = 1000
sessions_at_once = 4
[session]
deals = 300
[clock]
timed = false
""" + "".join([f'[[bots]]\nname = "{name}"\n' for name in BOTS])
"""Four sessions at a time, each of several windows; there is no end to them."""

FAST: Final = """
[tournament]
name = "deaf"
seed = 1
blocks_per_group = 1000
[session]
deals = 40
[clock]
move_ms = 10
bank_ms = 0
first_answer_ms = 0
join_ms = 600000
max_strikes = 1000
""" + "".join([f'[[bots]]\nname = "{name}"\n' for name in DEAF])
"""A decision every 10 ms though nobody answers."""


class TimedBot(PatientBot):
    """Notes how long it takes from an answer until it hears of the session again.

    Attributes:
        latency_us: since the list was last emptied.
    """

    name = "timed"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.latency_us: list[int] = []
        self._answered_s: dict[str, float] = {}

    async def heard(self, response: bot_pb2.PlayResponse) -> None:
        """Note, then answer."""
        now_s = monotonic()
        for events in response.events:
            if (answered_s := self._answered_s.pop(events.session_id, None)) is not None:
                self.latency_us.append(int((now_s - answered_s) * 1_000_000))
        await super().heard(response)

    def answered(self, answer: bot_pb2.Answer) -> None:
        """The clock begins."""
        self._answered_s[answer.session_id] = monotonic()


@dataclass(frozen=True, slots=True)
class Watching:
    """A call that watches: its method and its request."""

    method: str
    request: bytes


@asynccontextmanager
async def watching(arena: Served, calls: Sequence[Watching]) -> AsyncIterator[None]:
    """Watchers who read nothing, on connections of their own, for the time of the block."""
    # As little as possible is taken in unread.
    options = (
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", 1),
    )
    metadata = (("authorization", f"Bearer {arena.token}"),)
    async with AsyncExitStack() as stack:
        for each in calls:
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(arena.address, options))
            method: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(each.method)
            call = method(each.request, metadata=metadata)
            await call.initial_metadata()
            stack.callback(call.cancel)
        yield


class Arena:
    """The arena with its two tournaments, and good bots that play on and on."""

    def __init__(self, served_arena: Served, client: AdminClient, folder: Path) -> None:
        self._served = served_arena
        self._client = client
        tokens = {name: client.register_bot(name) for name in (*BOTS, *DEAF)}
        self._settings = {name: Settings(served_arena.address, token) for name, token in tokens.items()}
        self.good = [TimedBot(self._settings[name]) for name in BOTS]
        self._ids = []
        for text in (LONG, FAST):
            self._ids.append(client.create_tournament(text, str(folder)).tournament_id)
            client.start_tournament(self._ids[-1])

    async def p99_us(self, *, crowded: bool) -> int:
        """What the good bots meet in one window, with those who read nothing or without them."""
        behaviour = ZOO["never_reads" if crowded else "hello_then_silence"]
        others = [behaviour(self._settings[name]) for name in DEAF]
        calls = self._calls() if crowded else []
        async with seated(others), watching(self._served, calls):
            # Until all of them are at it.
            await asked_again(self.good, DECISIONS // 5)
            for bot in self.good:
                bot.latency_us.clear()
            await asked_again(self.good, DECISIONS)
        return percentile([us for bot in self.good for us in bot.latency_us], 99)

    def strikes_of_good(self) -> int:
        """What they were charged with in all."""
        status = self._client.tournament(self._ids[0])
        return sum(bot.tally.strike_count for bot in status.bots)

    def _calls(self) -> list[Watching]:
        """Half of them watch the tournament, half its tables."""
        tournament_id = self._ids[0]
        sessions = [replay.session_id for replay in self._client.replays(tournament_id) if replay.is_playing]
        whole = admin_pb2.WatchTournamentRequest(tournament_id=tournament_id).SerializeToString()
        calls = [Watching("/kratzen.v1.TournamentService/WatchTournament", whole)] * (WATCHERS // 2)
        for number in range(WATCHERS - len(calls)):
            request = admin_pb2.WatchSessionRequest(
                tournament_id=tournament_id, session_id=sessions[number % len(sessions)]
            )
            calls.append(Watching("/kratzen.v1.ReplayService/WatchSession", request.SerializeToString()))
        return calls


@pytest.mark.alone
@pytest.mark.parametrize(
    "windows", [pytest.param(7, marks=pytest.mark.nightly), pytest.param(200, marks=pytest.mark.soak)]
)
async def test_who_reads_nothing_slows_nobody(windows: int, tmp_path: Path, figure: Figure) -> None:
    """The p99 of the others is not seen to be more than 5 % above that without them.

    It varies by half from window to window, whoever is there. So each window is held against the one just
    before, and it is the mean of all these ratios, with its 95 % interval, that says something: seven can
    find a crowd that doubles it, and two hundred one that adds a tenth.
    """
    alone, crowded = [], []
    with served(tmp_path) as process, process.client() as client:
        arena = Arena(process, client, tmp_path)
        async with seated(arena.good):
            await asked_again(arena.good, DECISIONS)
            for _ in range(windows):
                alone.append(await arena.p99_us(crowded=False))
                crowded.append(await arena.p99_us(crowded=True))
        assert arena.strikes_of_good() == 0
    ratio = Ratio.over(zip(crowded, alone, strict=True))
    figure(
        "F8",
        f"n = {windows} windows of {DECISIONS} decisions: p99 {median(alone):.0f} us, beside {WATCHERS} "
        f"watchers and {len(DEAF)} bots that read nothing {ratio} of it",
    )
    assert ratio.low <= 1 + WITHIN
