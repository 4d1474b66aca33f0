"""Calls of an organiser who goes away while the arena is at them: what was begun is carried through."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import grpc
import grpc.aio
import pytest
from structlog.testing import capture_logs

from arena.admin_services import register
from arena.changes import Changes
from arena.clock import Patience, SystemTime
from arena.door import Door, DoorLimits
from arena.ledger import TournamentState
from arena.messages import Goodbye, GoodbyeReason
from arena.refusals import Refusal, RefusedError
from kratzen.v1 import admin_pb2, admin_pb2_grpc
from tests.arena.bots import LinkedBot
from tests.arena.halls import HeldDisk, Hesitant, TestHall, file_with, open_hall

LIMIT_S = 20

T = TypeVar("T")

_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"


class _Call(Protocol):
    """A call that was made."""

    def cancel(self) -> bool:
        """Go away."""
        ...


class _Ends(grpc.aio.ServerInterceptor):
    """Tells when the arena's part of a call is over."""

    def __init__(self) -> None:
        self.over = asyncio.Event()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler:
        """Have `over` set at the end of the call, which takes one message and gives one."""
        handler = await continuation(handler_call_details)
        assert handler is not None
        answer: Any = handler.unary_unary

        async def serve(request: object, context: object) -> object:
            try:
                return await answer(request, context)
            finally:
                self.over.set()

        return grpc.unary_unary_rpc_method_handler(
            serve, handler.request_deserializer, handler.response_serializer
        )


class _Served:
    """A hall whose admin services are served, on a disk that can be held."""

    def __init__(self, arena: TestHall, disk: HeldDisk, ends: _Ends, channel: grpc.aio.Channel) -> None:
        self.arena = arena
        self.bots = admin_pb2_grpc.RegistryServiceStub(channel)
        self.tournaments = admin_pb2_grpc.TournamentServiceStub(channel)
        self._disk = disk
        self._ends = ends

    async def cancel(self, method: Callable[[T], _Call], request: T) -> None:
        """Make a call and cancel it while it waits for the disk; then let all of it come to its end."""
        with self._disk.held():
            call = method(request)
            async with asyncio.timeout(LIMIT_S):
                await self._disk.asked.wait()
                call.cancel()
                await self._ends.over.wait()
        await self.arena.hall._changes.settle()


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[_Served]:
    """A hall on a data folder, with its admin services."""
    disk, ends = HeldDisk(), _Ends()
    async with open_hall(folder, disk) as arena:
        server = grpc.aio.server(interceptors=(ends,))
        port = server.add_insecure_port("127.0.0.1:0")
        patience = Patience(SystemTime())
        register(
            server, arena.hall, Door(DoorLimits()), patience=patience, unread_ms=1000, is_token_needed=True
        )
        await server.start()
        try:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                yield _Served(arena, disk, ends, channel)
        finally:
            await server.stop(None)


def goodbyes(bot: LinkedBot) -> list[GoodbyeReason]:
    """Why a bot was sent away."""
    bot.read()
    return [message.reason for message in bot.heard_of(Goodbye) if isinstance(message, Goodbye)]


async def test_a_bot_whose_registration_was_cancelled_is_known(tmp_path: Path) -> None:
    """It is listed and may come; its token is lost, so that it is revoked and registered again."""
    async with served(tmp_path) as desk:
        await desk.cancel(desk.bots.RegisterBot, admin_pb2.RegisterBotRequest(name="alice"))
        assert [bot.name for bot in await desk.arena.hall.bots()] == ["alice"]
        with pytest.raises(RefusedError, match="bot alice is not connected"):
            await anext(desk.arena.hall.check_bot("alice"))
        await desk.arena.hall.revoke_bot("alice")
        assert await desk.arena.hall.add_bot("alice")


async def test_a_cancelled_revocation_sends_the_bot_away(tmp_path: Path) -> None:
    """What the list says is so: its token is void, and its stream is closed."""
    async with served(tmp_path) as desk:
        token = await desk.arena.hall.add_bot("alice")
        alice = desk.arena.come("alice")
        await desk.arena.versions_written()
        await desk.cancel(desk.bots.RevokeBot, admin_pb2.RevokeBotRequest(name="alice"))
        (listed,) = await desk.arena.hall.bots()
        assert (listed.revoked_at_us is not None, listed.is_there) == (True, False)
        assert goodbyes(alice) == [GoodbyeReason.REVOKED]
        assert desk.arena.premises.tokens.bot_of(f"Bearer {token}") is None


async def test_a_cancelled_revocation_withdraws_the_bot_from_its_tournament(tmp_path: Path) -> None:
    """The slots of a bot that is to play no more are void, whoever waits for that."""
    async with served(tmp_path) as desk:
        await desk.arena.register()
        hesitant = Hesitant(1)
        desk.arena.all_come(hesitant)
        tournament_id = await desk.arena.create()
        await desk.arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        await desk.arena.versions_written()
        await desk.cancel(desk.bots.RevokeBot, admin_pb2.RevokeBotRequest(name="alice"))
        end = await desk.arena.end_of(tournament_id)
        assert (end.counts.finished, end.counts.void, end.counts.open) == (1, 7, 0)


async def test_a_cancelled_revocation_of_a_version_sends_that_away(tmp_path: Path) -> None:
    """It is let in no more, and another version is."""
    async with served(tmp_path) as desk:
        await desk.arena.hall.add_bot("alice")
        old = desk.arena.come("alice", version="1")
        await desk.arena.versions_written()
        await desk.cancel(desk.bots.RevokeBot, admin_pb2.RevokeBotRequest(name="alice", version="1"))
        assert goodbyes(old) == [GoodbyeReason.REVOKED]
        assert goodbyes(desk.arena.come("alice", version="1")) == [GoodbyeReason.REFUSED]
        assert goodbyes(desk.arena.come("alice", version="2")) == []


async def test_a_tournament_whose_entry_was_cancelled_is_listed(tmp_path: Path) -> None:
    """At once, and not only once the arena was started again."""
    async with served(tmp_path) as desk:
        await desk.arena.register()
        request = admin_pb2.CreateTournamentRequest(toml=file_with())
        await desk.cancel(desk.tournaments.CreateTournament, request)
        (listed,) = await desk.arena.hall.tournaments()
        assert (listed.tournament_id, listed.state) == ("1", TournamentState.CREATED)


async def test_a_tournament_whose_start_was_cancelled_runs(tmp_path: Path) -> None:
    """Its store is in use by nobody but its own play, and is let go at the end."""
    async with served(tmp_path) as desk:
        await desk.arena.register()
        tournament_id = await desk.arena.create()
        hesitant = Hesitant(1)
        alice = desk.arena.all_come(hesitant)
        await desk.arena.versions_written()
        request = admin_pb2.StartTournamentRequest(tournament_id=tournament_id)
        await desk.cancel(desk.tournaments.StartTournament, request)
        assert (await desk.arena.hall.status(tournament_id)).state is TournamentState.RUNNING
        await hesitant.stuck.wait()
        await desk.arena.hall.stop(tournament_id)
        hesitant.go_on(alice)
        assert (await desk.arena.play(tournament_id)).state is TournamentState.FINISHED


async def test_a_tournament_whose_stop_was_cancelled_stops(tmp_path: Path) -> None:
    """And can be gone on with."""
    async with served(tmp_path) as desk:
        await desk.arena.register()
        hesitant = Hesitant(1)
        desk.arena.all_come(hesitant)
        tournament_id = await desk.arena.create()
        await desk.arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        request = admin_pb2.StopTournamentRequest(tournament_id=tournament_id)
        await desk.cancel(desk.tournaments.StopTournament, request)
        assert (await desk.arena.hall.status(tournament_id)).state is TournamentState.STOPPED


async def test_the_arena_closes_once_what_was_begun_is_over(tmp_path: Path) -> None:
    """A registration that waits for the disk is in the registry afterwards; nothing is begun any more."""
    disk = HeldDisk()
    async with open_hall(tmp_path, disk) as arena:
        with disk.held():
            adding = asyncio.create_task(arena.hall.carry(lambda: arena.hall.add_bot("alice")))
            await disk.asked.wait()
            adding.cancel()
            closing = asyncio.create_task(arena.hall.close())
            await asyncio.wait([adding])
            with pytest.raises(RefusedError, match="the arena is stopping"):
                await arena.hall.carry(lambda: arena.hall.add_bot("bob"))
            assert not closing.done()
        await closing
        assert [bot.name for bot in await arena.hall.bots()] == ["alice"]


async def _fail(release: asyncio.Event) -> None:
    await release.wait()
    raise RefusedError(Refusal.UNKNOWN, "there is no such bot")


async def test_a_change_that_fails_when_nobody_waits_is_logged() -> None:
    """The log says that it failed, and why; who settles hears nothing of it."""
    changes, release = Changes(), asyncio.Event()
    asked = asyncio.create_task(changes.carry(lambda: _fail(release)))
    await asyncio.sleep(0)
    asked.cancel()
    await asyncio.wait([asked])
    release.set()
    with capture_logs() as logs:
        await changes.settle()
    assert [(line["event"], line["why"]) for line in logs] == [
        ("change failed after its caller had left", "there is no such bot")
    ]
