"""The admin services: what organisers ask over gRPC, handed to the hall, and its answers back.

Reads the request, writes the answer; what may be done is the hall's to say. Who calls has been let in
by the `AdminGate` before.
A method that tells much writes by itself, since every message has a time limit; gRPC takes that
as well as one that yields, but the generated types do not know it (`override`).
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final, TypeAlias, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from arena.calls import caller_may_leave, end_call, refuse
from arena.clock import US_PER_MS, Patience
from arena.config import TournamentFile, parse_tournament, read_tournament
from arena.door import Door
from arena.hall import Hall
from arena.lag import limited
from arena.refusals import Refusal, RefusedError
from arena.sections import ConfigError
from arena.store import StoreError
from arena.wire import admin as wire
from kratzen.v1 import admin_pb2, admin_pb2_grpc

PAGE_SIZE: Final = 500
"""Entries of a list in one message."""
PAGE_BYTES: Final = 2 * 1024 * 1024
"""Of a list's entries in one message, which stays far below the 4 MiB that clients take.

An entry that is larger has a message to itself; that of a bot with `link.MAX_VERSIONS` is not.
"""
PIECE_BYTES: Final = 128 * 1024
"""Of a replay in one message."""

SERVICE_NAMES: Final = tuple(
    [service.full_name for service in admin_pb2.DESCRIPTOR.services_by_name.values()]
)

_STATUSES: Final = {
    Refusal.BAD_INPUT: grpc.StatusCode.INVALID_ARGUMENT,
    Refusal.UNKNOWN: grpc.StatusCode.NOT_FOUND,
    Refusal.ALREADY: grpc.StatusCode.ALREADY_EXISTS,
    Refusal.NOT_NOW: grpc.StatusCode.FAILED_PRECONDITION,
    Refusal.TOO_SLOW: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
_LOOK_ONLY: Final = "an arena of `kratzen run` can be looked at, but not changed, from outside"
_STOPPING: Final = "the arena stops: tournaments can be gone on with once it is there again"
_CHECK_ENDED: Final = "the arena stops, which ends the check: begin another one once it is there again"

T = TypeVar("T")
M = TypeVar("M", bound=Message)

_Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
_ListRequest: TypeAlias = (
    admin_pb2.ListBotsRequest | admin_pb2.ListTournamentsRequest | admin_pb2.ListReplaysRequest
)


class _Desk:
    """What all services do before and after: tell looking from changing, and turn errors into statuses."""

    def __init__(
        self, hall: Hall, door: Door, patience: Patience, unread_ms: int, *, is_token_needed: bool
    ) -> None:
        self.hall = hall
        self.is_token_needed = is_token_needed
        """Where the admin token is not needed, everybody may look."""
        self._door = door
        self._patience = patience
        self._unread_ms = unread_ms

    async def look(self, context: _Context, ask: Callable[[], Awaitable[T]]) -> T:
        """Answer a call that changes nothing."""
        async with self._errors_as_statuses(context):
            return await ask()

    async def change(self, context: _Context, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Answer a call that changes something, which is done whether or not its caller waits for it."""
        await self.check_token_is_needed(context)
        return await self.look(context, lambda: self.hall.carry(ask))

    async def check_token_is_needed(self, context: _Context) -> None:
        """Turn a call away that not everybody may make, where everybody may call."""
        if not self.is_token_needed:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, _LOOK_ONLY)

    async def watch(
        self, context: _Context, messages: AsyncIterator[object], stopping: str = _STOPPING
    ) -> None:
        """A call that goes on and on: one of a limited number, and told when the arena stops."""
        too_many = self._door.enter_watcher()
        if too_many is not None:
            refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, too_many)
            return
        try:
            await self.tell(context, messages)
        finally:
            self._door.leave_watcher()
        if self.hall.is_closing:
            await end_call(context, grpc.StatusCode.UNAVAILABLE, stopping)

    async def tell(self, context: _Context, messages: AsyncIterator[object]) -> None:
        """Send message after message; who reads nothing for too long is dropped."""
        with caller_may_leave():
            # By itself, so that a call of which nothing is read can be ended while its first message hangs.
            await context.send_initial_metadata(())
            async with self._errors_as_statuses(context):
                async for message in messages:
                    await self._send(context, message)

    async def _send(self, context: _Context, message: object) -> None:
        try:
            async with limited(self._patience, self._unread_ms * US_PER_MS):
                await context.write(message)
        except TimeoutError:
            raise RefusedError(
                Refusal.TOO_SLOW, f"nothing was read for {self._unread_ms} ms: read what is sent as it comes"
            ) from None

    @asynccontextmanager
    async def _errors_as_statuses(self, context: _Context) -> AsyncIterator[None]:
        try:
            yield
        except RefusedError as error:
            await end_call(context, _STATUSES[error.refusal], str(error))
        except StoreError as error:
            await context.abort(grpc.StatusCode.INTERNAL, str(error))
        except ConfigError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))


class RegistryService(admin_pb2_grpc.RegistryServiceServicer):
    """The bots that may dial in."""

    def __init__(self, desk: _Desk) -> None:
        self._desk = desk

    async def RegisterBot(  # noqa: N802 - the names of methods are the protocol's
        self, request: admin_pb2.RegisterBotRequest, context: _Context
    ) -> admin_pb2.RegisterBotResponse:
        """Register a bot."""
        token = await self._desk.change(context, lambda: self._desk.hall.add_bot(request.name))
        return admin_pb2.RegisterBotResponse(token=token)

    async def ListBots(  # noqa: N802
        self, request: admin_pb2.ListBotsRequest, context: _Context
    ) -> admin_pb2.ListBotsResponse:
        """All bots that were ever registered."""
        bots = await self._desk.look(context, self._desk.hall.bots)
        page, token = await _page(bots, wire.write_bot, request, context)
        return admin_pb2.ListBotsResponse(bots=page, next_page_token=token)

    async def RevokeBot(  # noqa: N802
        self, request: admin_pb2.RevokeBotRequest, context: _Context
    ) -> admin_pb2.RevokeBotResponse:
        """Let a bot, or one version of it, in no more."""
        version = request.version if request.HasField("version") else None
        withdrawn_from = await self._desk.change(
            context, lambda: self._desk.hall.revoke_bot(request.name, version)
        )
        return admin_pb2.RevokeBotResponse(tournament_ids=withdrawn_from)

    async def CheckBot(  # type: ignore[override]  # noqa: N802
        self, request: admin_pb2.CheckBotRequest, context: _Context
    ) -> None:
        """What each step of a bot's check finds; the check ends with the call."""
        desk = self._desk
        await desk.check_token_is_needed(context)
        check = desk.hall.check_bot(request.name, deterministic=request.deterministic)
        async with aclosing(check) as verdicts:
            await desk.watch(
                context,
                (
                    admin_pb2.CheckBotResponse(verdict=wire.write_verdict(verdict))
                    async for verdict in verdicts
                ),
                _CHECK_ENDED,
            )


class TournamentService(admin_pb2_grpc.TournamentServiceServicer):
    """The tournaments of the arena."""

    def __init__(self, desk: _Desk) -> None:
        self._desk = desk

    async def CreateTournament(  # noqa: N802
        self, request: admin_pb2.CreateTournamentRequest, context: _Context
    ) -> admin_pb2.CreateTournamentResponse:
        """Enter a tournament."""
        hall = self._desk.hall
        status = await self._desk.change(context, lambda: hall.create(_file_in(request), request.bot_folder))
        return admin_pb2.CreateTournamentResponse(tournament=wire.write_status(status))

    async def StartTournament(  # noqa: N802
        self, request: admin_pb2.StartTournamentRequest, context: _Context
    ) -> admin_pb2.StartTournamentResponse:
        """Start a tournament, or go on with it."""
        status = await self._desk.change(context, lambda: self._desk.hall.start(request.tournament_id))
        return admin_pb2.StartTournamentResponse(tournament=wire.write_status(status))

    async def StopTournament(  # noqa: N802
        self, request: admin_pb2.StopTournamentRequest, context: _Context
    ) -> admin_pb2.StopTournamentResponse:
        """Stop a running tournament."""
        status = await self._desk.change(context, lambda: self._desk.hall.stop(request.tournament_id))
        return admin_pb2.StopTournamentResponse(tournament=wire.write_status(status))

    async def GetTournament(  # noqa: N802
        self, request: admin_pb2.GetTournamentRequest, context: _Context
    ) -> admin_pb2.GetTournamentResponse:
        """How a tournament stands."""
        status = await self._desk.look(context, lambda: self._desk.hall.status(request.tournament_id))
        return admin_pb2.GetTournamentResponse(tournament=wire.write_status(status))

    async def WatchTournament(  # type: ignore[override]  # noqa: N802
        self, request: admin_pb2.WatchTournamentRequest, context: _Context
    ) -> None:
        """How a tournament stands, again and again; a watcher that reads slowly misses what is in between."""
        desk = self._desk
        statuses = desk.hall.watch(request.tournament_id)
        await desk.watch(
            context,
            (
                admin_pb2.WatchTournamentResponse(tournament=wire.write_status(status))
                async for status in statuses
            ),
        )

    async def ListTournaments(  # noqa: N802
        self, request: admin_pb2.ListTournamentsRequest, context: _Context
    ) -> admin_pb2.ListTournamentsResponse:
        """All tournaments, page by page."""
        tournaments = await self._desk.look(context, self._desk.hall.tournaments)
        page, token = await _page(tournaments, wire.write_status, request, context)
        return admin_pb2.ListTournamentsResponse(tournaments=page, next_page_token=token)


class LeaderboardService(admin_pb2_grpc.LeaderboardServiceServicer):
    """The tables of tournaments."""

    def __init__(self, desk: _Desk) -> None:
        self._desk = desk

    async def GetLeaderboard(  # noqa: N802
        self, request: admin_pb2.GetLeaderboardRequest, context: _Context
    ) -> admin_pb2.GetLeaderboardResponse:
        """The leaderboard of a tournament."""
        board = await self._desk.look(context, lambda: self._desk.hall.leaderboard(request.tournament_id))
        return wire.write_leaderboard(board)


class ReplayService(admin_pb2_grpc.ReplayServiceServicer):
    """The replays of tournaments."""

    def __init__(self, desk: _Desk) -> None:
        self._desk = desk

    async def ListReplays(  # noqa: N802
        self, request: admin_pb2.ListReplaysRequest, context: _Context
    ) -> admin_pb2.ListReplaysResponse:
        """The sessions of a tournament, page by page."""
        replays = await self._desk.look(context, lambda: self._desk.hall.replays(request.tournament_id))
        if not self._desk.is_token_needed:
            # Everybody may be a bot, which must not learn which sessions have the same cards.
            replays = tuple([replay for replay in replays if replay.is_open])
        page, token = await _page(replays, wire.write_replay, request, context)
        return admin_pb2.ListReplaysResponse(replays=page, next_page_token=token)

    async def FetchReplay(  # type: ignore[override]  # noqa: N802
        self, request: admin_pb2.FetchReplayRequest, context: _Context
    ) -> None:
        """The replay of a session, piece by piece."""
        text = await self._desk.look(
            context, lambda: self._desk.hall.replay(request.tournament_id, request.session)
        )
        await self._desk.tell(context, _pieces(text))

    async def WatchSession(  # type: ignore[override]  # noqa: N802
        self, request: admin_pb2.WatchSessionRequest, context: _Context
    ) -> None:
        """What everybody may see of a session, as it happens."""
        desk = self._desk
        await desk.check_token_is_needed(context)
        news = desk.hall.watch_session(request.tournament_id, request.session_id)
        await desk.watch(context, (wire.write_events(events) async for events in news))


def register(
    server: grpc.aio.Server,
    hall: Hall,
    door: Door,
    *,
    patience: Patience,
    unread_ms: int,
    is_token_needed: bool,
) -> None:
    """Have a server serve all of them, `SERVICE_NAMES`; who reads nothing for `unread_ms` is dropped."""
    desk = _Desk(hall, door, patience, unread_ms, is_token_needed=is_token_needed)
    admin_pb2_grpc.add_RegistryServiceServicer_to_server(RegistryService(desk), server)
    admin_pb2_grpc.add_TournamentServiceServicer_to_server(TournamentService(desk), server)
    admin_pb2_grpc.add_LeaderboardServiceServicer_to_server(LeaderboardService(desk), server)
    admin_pb2_grpc.add_ReplayServiceServicer_to_server(ReplayService(desk), server)


async def _pieces(text: bytes) -> AsyncIterator[admin_pb2.FetchReplayResponse]:
    for start in range(0, len(text), PIECE_BYTES):
        yield admin_pb2.FetchReplayResponse(data=text[start : start + PIECE_BYTES])


def _file_in(request: admin_pb2.CreateTournamentRequest) -> TournamentFile:
    """The tournament of a request; ConfigError when it is none."""
    if request.WhichOneof("source") == "spec":
        return read_tournament(wire.read_spec(request.spec))
    return parse_tournament(request.toml)


async def _page(
    entries: Sequence[T],
    write: Callable[[T], M],
    request: _ListRequest,
    context: _Context,
) -> tuple[Sequence[M], str]:
    """The part of a list that is asked for, and the token of the next; a token is where a page begins."""
    if request.page_token and not request.page_token.isdecimal():
        await context.abort(
            grpc.StatusCode.INVALID_ARGUMENT,
            "page_token: allowed is the next_page_token of the page before, or nothing for the first page",
        )
    start = int(request.page_token or 0)
    size = request.page_size if 0 < request.page_size < PAGE_SIZE else PAGE_SIZE
    page = _written(entries[start : start + size], write)
    end = start + len(page)
    return page, str(end) if end < len(entries) else ""


def _written(entries: Sequence[T], write: Callable[[T], M]) -> Sequence[M]:
    """As many of the entries as go into one message; at least one, if there is any."""
    page: list[M] = []
    size_bytes = 0
    for entry in entries:
        message = write(entry)
        size_bytes += message.ByteSize()
        if page and size_bytes > PAGE_BYTES:
            break
        page.append(message)
    return page
