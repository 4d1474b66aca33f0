"""Limits of an arena as those outside meet them: the real server on loopback, real calls."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2

from arena.auth import AdminPass, new_token, token_hash
from arena.cli.building import OpenArena, Site, open_arena
from arena.config import parse_tournament
from arena.door import DoorLimits
from arena.guests import GUEST_MESSAGE_BYTES
from arena.lag import Heartbeat
from arena.link import LinkLimits
from arena.store import Registry
from kratzen.v1 import admin_pb2, admin_pb2_grpc, bot_pb2, bot_pb2_grpc
from tests.arena.bots import LinkedBot
from tests.arena.halls import FILE, NAMES, file_with

ADMIN_TOKEN: Final = new_token()
CHECK: Final = "/grpc.health.v1.Health/Check"
WATCH: Final = "/grpc.health.v1.Health/Watch"
REFLECTION: Final = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
PATIENCE_S: Final = 30.0
"""For what this arena does at once, on a machine that is busy."""
NOTHING_READ: Final = "nothing was read for 200 ms: read what is sent as it comes"
HELLO: Final = bot_pb2.PlayRequest(
    hello=bot_pb2.Hello(protocol_version=1, bot_name="raw", bot_version="1", max_sessions=64)
)
OTHER_HELLO: Final = bot_pb2.PlayRequest(
    hello=bot_pb2.Hello(protocol_version=1, bot_name="raw", bot_version="2", max_sessions=64)
)
STRAY: Final = bot_pb2.Answer(session_id="none", request_id=1)
LONG: Final = FILE.replace("deals = 2", "deals = 1000")
"""A tournament that goes on for longer than any test here."""


class Call(Protocol):
    """A call whose answers are read one by one."""

    async def read(self) -> Any:  # noqa: ANN401 - whatever the method answers
        """The next, or EOF."""

    async def write(self, message: object) -> None:
        """Say more, on a bot's stream."""

    async def done_writing(self) -> None:
        """Say no more."""

    async def initial_metadata(self) -> object:
        """Comes when the arena has let the call in, or refused it."""

    def cancel(self) -> bool:
        """Leave."""


class Arena:
    """An arena that listens on loopback, and calls to it."""

    def __init__(self, arena: OpenArena, channel: grpc.aio.Channel) -> None:
        self.hall = arena.hall
        self.lobby = arena.lobby
        self.door = arena.door
        self._channel = channel
        self._admin = (("authorization", f"Bearer {ADMIN_TOKEN}"),)

    async def play(self, text: str, names: Sequence[str] = NAMES) -> tuple[str, str]:
        """Start a tournament with bots that answer at once; its id, and that of a session."""
        for name in names:
            await self.hall.add_bot(name)
            LinkedBot(self.lobby.member(name), max_sessions=64)
        status = await self.hall.create(parse_tournament(file_with(text=text)), "")
        its_id = status.tournament_id
        await self.hall.start(its_id)
        hosted = self.hall._running[its_id]
        async with asyncio.timeout(PATIENCE_S):
            async for _ in self.hall.watch(its_id):
                if hosted.tables:
                    break
        return its_id, next(iter(hosted.tables))

    async def watch(self, its_id: str) -> Call:
        """A call that watches a tournament; nothing of it is read yet."""
        stub: Any = admin_pb2_grpc.TournamentServiceStub(self._channel)
        request = admin_pb2.WatchTournamentRequest(tournament_id=its_id)
        call = stub.WatchTournament(request, metadata=self._admin)
        return await _answered(call)

    async def watch_session(self, its_id: str, session_id: str) -> Call:
        """A call that watches a session; nothing of it is read yet."""
        stub: Any = admin_pb2_grpc.ReplayServiceStub(self._channel)
        request = admin_pb2.WatchSessionRequest(tournament_id=its_id, session_id=session_id)
        call = stub.WatchSession(request, metadata=self._admin)
        return await _answered(call)

    async def bot(self, token: str, *messages: bot_pb2.PlayRequest) -> Call:
        """A bot's stream, on which these messages were sent; nothing of it is read yet."""
        stub: Any = bot_pb2_grpc.BotServiceStub(self._channel)
        call = stub.Play(metadata=(("authorization", f"Bearer {token}"),))
        with suppress(grpc.aio.AioRpcError):
            for message in messages:
                await call.write(message)
        return await _answered(call)

    def headers_alone(self, method: str, token: str | None = None) -> Call:
        """A call of any method whose request is never sent."""
        stub: Any = self._channel.stream_stream(method)
        call: Call = stub(metadata=() if token is None else (("authorization", f"Bearer {token}"),))
        return call

    async def guest(self, method: str, data: bytes) -> Call:
        """A call without a token that says one thing."""
        call = self.headers_alone(method)
        await call.write(data)
        return call


async def _answered(call: Call) -> Call:
    """A call once the arena has let it in, or refused it."""
    await call.initial_metadata()
    return call


@asynccontextmanager
async def arena_at(
    folder: Path,
    *,
    link: LinkLimits | None = None,
    door: DoorLimits | None = None,
    has_token: bool = True,
) -> AsyncIterator[Arena]:
    """An arena with these limits, and a channel to it that takes little before it is read."""
    site = Site(
        address="127.0.0.1:0",
        admin=AdminPass(token_hash(ADMIN_TOKEN) if has_token else None),
        link=link or LinkLimits(),
        door=door or DoorLimits(),
    )
    options = (("grpc.http2.lookahead_bytes", 1024), ("grpc.http2.bdp_probe", 0))
    with Registry.open(folder) as registry:
        async with (
            open_arena(site, registry) as arena,
            grpc.aio.insecure_channel(arena.address, options) as channel,
        ):
            try:
                yield Arena(arena, channel)
            finally:
                await arena.hall.close()


async def end_of(call: Call) -> tuple[grpc.StatusCode, str]:
    """Read a call to its end; the status and the text that it ends with."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                if await call.read() is grpc.aio.EOF:
                    return grpc.StatusCode.OK, ""
            except grpc.aio.AioRpcError as error:
                return error.code(), error.details() or ""


async def let_in(call: Callable[[], Awaitable[Call]], within_s: float) -> Call:
    """Call again and again until the arena has a place for the call, and answers."""
    async with asyncio.timeout(within_s):
        while True:
            tried = await call()
            with suppress(grpc.aio.AioRpcError):
                await tried.read()
                return tried


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Watchers are told without a pause, so that what they leave unread grows at once."""
    monkeypatch.setattr("arena.hall.WATCH_INTERVAL_S", 0)
    monkeypatch.setattr("arena.hall.WATCH_LONGEST_S", 0)
    monkeypatch.setattr("arena.hall.TABLE_INTERVAL_S", 0)


STOOD_STILL_US: Final = 400_000
LIMIT_MS: Final = 200


@pytest.fixture
def waited_us(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long the arena waited whenever it looked, if it stood still for the first `STOOD_STILL_US`."""
    waited_us: list[int] = []

    def spared_us(heartbeat: Heartbeat, since_us: int, at_us: int) -> int:
        del heartbeat
        waited_us.append(at_us - since_us)
        return min(at_us - since_us, STOOD_STILL_US)

    monkeypatch.setattr(Heartbeat, "spared_us", spared_us)
    return waited_us


# ------------------------------------------------------------------ those who watch


@pytest.mark.usefixtures("hurried")
async def test_who_watches_a_tournament_and_reads_nothing_is_dropped(tmp_path: Path) -> None:
    """Its place is another's within 5 s of the bound; who reads stays (F8)."""
    link, door = LinkLimits(unread_ms=200), DoorLimits(max_watchers=1)
    async with arena_at(tmp_path, link=link, door=door) as arena:
        its_id, _ = await arena.play(LONG)
        unread = await arena.watch(its_id)
        reader = await let_in(lambda: arena.watch(its_id), 5)
        for _ in range(200):
            assert (await reader.read()).tournament.tournament_id == its_id
        reader.cancel()
        code, said = await end_of(unread)
        assert (code, said) == (grpc.StatusCode.RESOURCE_EXHAUSTED, NOTHING_READ)


@pytest.mark.usefixtures("hurried")
async def test_who_watches_is_not_dropped_for_what_the_arena_was_late_by(
    tmp_path: Path, waited_us: list[int]
) -> None:
    """The time in which something must be read is longer by that."""
    link, door = LinkLimits(unread_ms=LIMIT_MS), DoorLimits(max_watchers=1)
    async with arena_at(tmp_path, link=link, door=door) as arena:
        its_id, _ = await arena.play(LONG)
        unread = await arena.watch(its_id)
        (await let_in(lambda: arena.watch(its_id), PATIENCE_S)).cancel()
        code, said = await end_of(unread)
        assert (code, said) == (grpc.StatusCode.RESOURCE_EXHAUSTED, NOTHING_READ)
        assert max(waited_us) >= STOOD_STILL_US + LIMIT_MS * 1000


@pytest.mark.usefixtures("hurried")
async def test_who_watches_a_session_and_reads_nothing_is_dropped(tmp_path: Path) -> None:
    """The bound on events is looked at when something is read; time runs whether anything is or not (F8)."""
    link, door = LinkLimits(unread_ms=200), DoorLimits(max_watchers=1)
    async with arena_at(tmp_path, link=link, door=door) as arena:
        its_id, session_id = await arena.play(LONG)
        unread = await arena.watch_session(its_id, session_id)
        (await let_in(lambda: arena.watch(its_id), 5)).cancel()
        code, said = await end_of(unread)
        assert (code, said) == (grpc.StatusCode.RESOURCE_EXHAUSTED, NOTHING_READ)


async def test_watchers_are_bounded(tmp_path: Path) -> None:
    """The one above the limit is refused with the limit, and is let in when another has left."""
    async with arena_at(tmp_path, door=DoorLimits(max_watchers=1)) as arena:
        its_id, session_id = await arena.play(LONG)
        first = await arena.watch(its_id)
        await first.read()
        for second in (await arena.watch(its_id), await arena.watch_session(its_id, session_id)):
            code, said = await end_of(second)
            assert (code, said.partition(":")[0]) == (
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "1 are watching, as many as this arena takes",
            )
        first.cancel()
        (await let_in(lambda: arena.watch(its_id), PATIENCE_S)).cancel()


# ------------------------------------------------------------------ those with a wrong token


async def test_headers_alone_are_refused_and_counted(tmp_path: Path) -> None:
    """Who never sends the request of an admin's call is refused as soon as its token is seen to be wrong."""
    methods = [
        f"/{service.full_name}/{method.name}"
        for service in admin_pb2.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    ]
    async with arena_at(tmp_path, door=DoorLimits(free_failures=len(methods))) as arena:
        for count, method in enumerate(methods, start=1):
            code, said = await end_of(arena.headers_alone(method, new_token()))
            assert (code, "admin token" in said) == (grpc.StatusCode.UNAUTHENTICATED, True), method
            assert arena.door.failures("ipv4:127.0.0.1") == count


# ------------------------------------------------------------------ those without a token


@pytest.mark.parametrize("method", [CHECK, WATCH, REFLECTION])
async def test_a_request_without_a_token_is_not_waited_for_long(tmp_path: Path, method: str) -> None:
    """Who never ends it is told so, and has a place of its address no longer."""
    async with arena_at(tmp_path, door=DoorLimits(guest_ms=200, max_guests_per_address=1)) as arena:
        for _ in range(2):
            assert await end_of(arena.headers_alone(method)) == (
                grpc.StatusCode.DEADLINE_EXCEEDED,
                "this arena listened for 200 ms: be quicker",
            )


async def test_a_request_is_not_waited_for_long_where_nobody_needs_a_token(tmp_path: Path) -> None:
    """The arena of a single run lets everybody look, and listens no longer to them."""
    door = DoorLimits(guest_ms=200, max_guests_per_address=1)
    async with arena_at(tmp_path, door=door, has_token=False) as arena:
        code, _ = await end_of(arena.headers_alone("/kratzen.v1.TournamentService/GetTournament"))
        assert code is grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize(
    ("door", "said"),
    [
        (DoorLimits(max_guests=2), "this arena listens to 2 calls without a token already: try again"),
        (
            DoorLimits(max_guests_per_address=2),
            "this arena listens to 2 calls of this address already: try again",
        ),
    ],
)
async def test_requests_without_a_token_are_few_at_one_time(
    tmp_path: Path, door: DoorLimits, said: str
) -> None:
    """Each may have gRPC gather a message as large as it takes at all."""
    async with arena_at(tmp_path, door=door) as arena:
        calls = [arena.headers_alone(method) for method in (CHECK, CHECK, REFLECTION)]
        ends = [asyncio.create_task(end_of(call)) for call in calls]
        async with asyncio.timeout(PATIENCE_S):
            (refused,), _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        assert refused.result() == (grpc.StatusCode.RESOURCE_EXHAUSTED, said)
        for call in calls:
            call.cancel()
        await asyncio.gather(*ends, return_exceptions=True)


@pytest.mark.parametrize("method", [CHECK, WATCH, REFLECTION])
@pytest.mark.parametrize(
    ("data", "ended"),
    [
        (
            bytes(GUEST_MESSAGE_BYTES + 1),
            (grpc.StatusCode.RESOURCE_EXHAUSTED, "a message of 65537 bytes came, allowed are 65536"),
        ),
        (b"\xff", (grpc.StatusCode.INVALID_ARGUMENT, "what came is no request of this call")),
    ],
)
async def test_what_is_said_without_a_token_is_small_and_makes_sense(
    tmp_path: Path, method: str, data: bytes, ended: tuple[grpc.StatusCode, str]
) -> None:
    """Anything else is refused with the reason."""
    async with arena_at(tmp_path) as arena:
        assert await end_of(await arena.guest(method, data)) == ended


async def test_who_says_nothing_at_all_is_told_that_a_request_was_wanted(tmp_path: Path) -> None:
    """A call that is closed by its caller before its request has none."""
    async with arena_at(tmp_path) as arena:
        call = arena.headers_alone(CHECK)
        await call.done_writing()
        assert await end_of(call) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            "this call takes a request, and none came",
        )


async def test_who_watches_the_health_is_bounded_and_may_stay(tmp_path: Path) -> None:
    """Its request takes the place of a stranger for a moment only; the one above the limit is refused."""
    door = DoorLimits(max_health_watchers=1, max_guests=1, guest_ms=200)
    async with arena_at(tmp_path, door=door) as arena:
        first = await arena.guest(WATCH, b"")
        serving = health_pb2.HealthCheckResponse.FromString(await first.read())
        assert serving.status == health_pb2.HealthCheckResponse.SERVING
        assert await end_of(await arena.guest(WATCH, b"")) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "1 are watching its health, as many as this arena takes: use Check",
        )
        assert (await end_of(arena.headers_alone(CHECK)))[0] is grpc.StatusCode.DEADLINE_EXCEEDED
        unknown = health_pb2.HealthCheckRequest(service="nobody").SerializeToString()
        assert (await end_of(await arena.guest(CHECK, unknown)))[0] is grpc.StatusCode.NOT_FOUND
        first.cancel()
        again = await let_in(lambda: _begun(arena, WATCH), PATIENCE_S)
        again.cancel()


async def _begun(arena: Arena, method: str) -> Call:
    return await _answered(await arena.guest(method, b""))


# ------------------------------------------------------------------ those who play


async def test_the_time_for_hello_is_longer_by_what_the_arena_was_late_by(
    tmp_path: Path, waited_us: list[int]
) -> None:
    """A bot that says nothing is dropped when it has had all of its time."""
    async with arena_at(tmp_path, link=LinkLimits(hello_ms=LIMIT_MS)) as arena:
        token = await arena.hall.add_bot("alice")
        code, said = await end_of(await arena.bot(token))
        assert (code, said) == (
            grpc.StatusCode.DEADLINE_EXCEEDED,
            "no Hello came within 200 ms of opening the stream",
        )
        assert max(waited_us) >= STOOD_STILL_US + LIMIT_MS * 1000


async def test_a_stream_from_before_its_bot_was_revoked_says_hello_in_vain(tmp_path: Path) -> None:
    """Its token was good when it was opened, and is not any more."""
    async with arena_at(tmp_path) as arena:
        opened = await arena.bot(await arena.hall.add_bot("alice"))
        await arena.hall.revoke_bot("alice")
        await opened.write(HELLO)
        assert await end_of(opened) == (
            grpc.StatusCode.UNAUTHENTICATED,
            "bot alice was revoked by the organiser",
        )
        assert not arena.lobby.member("alice").is_there


async def test_a_stream_from_before_a_version_was_revoked_does_not_live_beside_another(
    tmp_path: Path,
) -> None:
    """Whichever version says Hello on it: the bot has one stream, which the other version opened anew."""
    async with arena_at(tmp_path) as arena:
        token = await arena.hall.add_bot("alice")
        up, first, second = [await arena.bot(token, *said) for said in ([HELLO], [], [])]
        assert (await up.read()).HasField("welcome")
        await arena.hall.revoke_bot("alice", "1")
        anew = await arena.bot(token, OTHER_HELLO)
        assert (await anew.read()).HasField("welcome")
        await first.write(HELLO)
        await second.write(OTHER_HELLO)
        codes = [(await end_of(stream))[0] for stream in (up, first, second)]
        assert codes == [
            grpc.StatusCode.UNAUTHENTICATED,
            grpc.StatusCode.UNAUTHENTICATED,
            grpc.StatusCode.UNAVAILABLE,
        ]
        assert arena.lobby.member("alice").is_there
        anew.cancel()


async def test_streams_are_bounded_in_all(tmp_path: Path) -> None:
    """The stream above the limit is refused with the limit, whoever's it is."""
    async with arena_at(tmp_path, door=DoorLimits(max_streams=2)) as arena:
        tokens = [await arena.hall.add_bot(name) for name in NAMES[:3]]
        bots = [await arena.bot(token, HELLO) for token in tokens[:2]]
        for bot in bots:
            assert (await bot.read()).HasField("welcome")
        code, said = await end_of(await arena.bot(tokens[2]))
        assert (code, said) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "2 streams are open, as many as this arena takes: try again later",
        )
        for bot in bots:
            bot.cancel()


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (LinkLimits(max_answers_per_second=5), "5 answers a second"),
        (LinkLimits(max_strays_per_second=5), "5"),
    ],
)
async def test_answers_are_bounded(tmp_path: Path, limits: LinkLimits, said: str) -> None:
    """More answers in a message than may come in a second end the stream, which may be opened again."""
    flood = bot_pb2.PlayRequest(answers=bot_pb2.Answers(answers=[STRAY] * 6))
    async with arena_at(tmp_path, link=limits) as arena:
        bot = await arena.bot(await arena.hall.add_bot("alice"), HELLO, flood)
        code, detail = await end_of(bot)
        assert (code, said in detail) == (grpc.StatusCode.RESOURCE_EXHAUSTED, True), detail


async def test_a_bot_that_reads_nothing_leaves_its_place(tmp_path: Path) -> None:
    """When what waits for it is more than the limit, its stream is over, and its only place is free."""
    many = LONG.replace("sessions_at_once = 1", "sessions_at_once = 64").replace("_group = 2", "_group = 16")
    link = LinkLimits(max_pending_bytes=1000, unread_ms=500)
    async with arena_at(tmp_path, link=link, door=DoorLimits(max_streams_per_bot=1)) as arena:
        token = await arena.hall.add_bot("alice")
        unread = await arena.bot(token, HELLO)
        await arena.play(many, NAMES[1:])
        again = await let_in(lambda: arena.bot(token, HELLO), 10)
        code, said = await end_of(unread)
        assert (code, said) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "more than 1000 bytes were left unread: read while you think",
        )
        again.cancel()
