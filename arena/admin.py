"""The client that commands manage a running arena with: values in, values out, errors as one sentence.

Synchronous, since a command has nothing else to do meanwhile.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self, TypeVar

import grpc

from arena.address import host_of, is_loopback
from arena.status import BotStatus, Leaderboard, ReplayStatus, TournamentStatus, Verdict
from arena.text import escape
from arena.wire import admin as wire
from kratzen.v1 import admin_pb2, admin_pb2_grpc

CALL_LIMIT_S: Final = 30.0
"""An arena that has not answered by then will not; stopping takes seconds."""
START_LIMIT_S: Final = 600.0
"""The same for a start, for which every file that a bot's command names is read."""

_KEEPALIVE: Final = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Without this a ping may stay unanswered for a minute, whatever the line above says.
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
"""So that who follows an arena that vanished without a word is told, and not left waiting."""

_WRONG_NAME: Final = "Hostname Verification Check failed"
"""What gRPC says when a certificate is trusted, and is another host's."""

_WHY_NO_LINK: Final = (
    ("Connection refused", "nothing listens there"),
    ("Domain name not found", "there is no host of that name"),
    ("WRONG_VERSION_NUMBER", "it does not speak TLS: leave out --ca and KRATZEN_CA"),
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not among those to trust (--ca, KRATZEN_CA)"),
)
"""What stands in gRPC's words for why there is no link, and what it means."""

A = TypeVar("A")
Q = TypeVar("Q")
T = TypeVar("T")


class AdminFailure(StrEnum):
    """Why the arena did not do what it was asked."""

    REFUSED = "refused"
    UNKNOWN = "unknown"
    NO_ARENA = "no_arena"
    BROKEN = "broken"


_FAILURES: Final = {
    grpc.StatusCode.INVALID_ARGUMENT: AdminFailure.REFUSED,
    grpc.StatusCode.NOT_FOUND: AdminFailure.UNKNOWN,
    grpc.StatusCode.ALREADY_EXISTS: AdminFailure.REFUSED,
    grpc.StatusCode.FAILED_PRECONDITION: AdminFailure.REFUSED,
    grpc.StatusCode.RESOURCE_EXHAUSTED: AdminFailure.REFUSED,
    grpc.StatusCode.UNAUTHENTICATED: AdminFailure.REFUSED,
    grpc.StatusCode.UNAVAILABLE: AdminFailure.NO_ARENA,
    grpc.StatusCode.DEADLINE_EXCEEDED: AdminFailure.NO_ARENA,
}
"""The statuses that say more than that something is broken."""


class AdminError(Exception):
    """The arena did not do what it was asked; the message is one sentence for people."""

    def __init__(self, failure: AdminFailure, sentence: str) -> None:
        super().__init__(sentence)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class ArenaAddress:
    """Where an arena is and how to reach it.

    Attributes:
        address: host:port, or `unix:` and a path.
        token: its admin token, or empty for one that needs none; never shown.
        roots: certificates to trust, PEM; None for plain text.
    """

    address: str
    token: str = ""
    roots: bytes | None = None


class AdminClient:
    """A link to an arena; a context manager."""

    def __init__(self, arena: ArenaAddress) -> None:
        self._arena = arena
        # A proxy has no place between two programs of one machine.
        no_proxy = (("grpc.enable_http_proxy", 0),) if is_loopback(arena.address) else ()
        options = (*_KEEPALIVE, *no_proxy)
        if arena.roots is None:
            self._channel = grpc.insecure_channel(arena.address, options)
        else:
            credentials = grpc.ssl_channel_credentials(arena.roots)
            self._channel = grpc.secure_channel(arena.address, credentials, options)
        self._metadata = (("authorization", f"Bearer {arena.token}"),) if arena.token else ()
        self._registry = admin_pb2_grpc.RegistryServiceStub(self._channel)
        self._tournaments = admin_pb2_grpc.TournamentServiceStub(self._channel)
        self._leaderboards = admin_pb2_grpc.LeaderboardServiceStub(self._channel)
        self._replays = admin_pb2_grpc.ReplayServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the link."""
        self._channel.close()

    # ------------------------------------------------------------------ bots

    def register_bot(self, name: str) -> str:
        """Register a bot; its token."""
        return self._ask(self._registry.RegisterBot, admin_pb2.RegisterBotRequest(name=name)).token

    def revoke_bot(self, name: str, version: str | None = None) -> tuple[str, ...]:
        """Revoke a bot, or one version of it; the tournaments that it was withdrawn from."""
        request = admin_pb2.RevokeBotRequest(name=name, version=version)
        return tuple(self._ask(self._registry.RevokeBot, request).tournament_ids)

    def bots(self) -> tuple[BotStatus, ...]:
        """All bots that were ever registered, by name."""

        def page(token: str) -> tuple[list[BotStatus], str]:
            answer = self._ask(self._registry.ListBots, admin_pb2.ListBotsRequest(page_token=token))
            return [self._read(wire.read_bot, bot) for bot in answer.bots], answer.next_page_token

        return _all_pages(page)

    def check_bot(self, name: str, *, deterministic: bool = False) -> Generator[Verdict]:
        """Check a bot that is connected; what each step finds, as it comes. To close it ends the check."""
        request = admin_pb2.CheckBotRequest(name=name, deterministic=deterministic)
        with closing(self._listen(self._registry.CheckBot, request)) as answers:
            for answer in answers:
                yield self._read(wire.read_verdict, answer.verdict)

    # ------------------------------------------------------------------ tournaments

    def create_tournament(self, toml: str, bot_folder: str) -> TournamentStatus:
        """Enter the tournament of a file's text; `bot_folder` as in the request."""
        request = admin_pb2.CreateTournamentRequest(toml=toml, bot_folder=bot_folder)
        return self._read(wire.read_status, self._ask(self._tournaments.CreateTournament, request).tournament)

    def start_tournament(self, tournament_id: str) -> TournamentStatus:
        """Start a tournament, or go on with it."""
        request = admin_pb2.StartTournamentRequest(tournament_id=tournament_id)
        answer = self._ask(self._tournaments.StartTournament, request, START_LIMIT_S)
        return self._read(wire.read_status, answer.tournament)

    def stop_tournament(self, tournament_id: str) -> TournamentStatus:
        """Stop a running tournament, and wait until it is written down."""
        request = admin_pb2.StopTournamentRequest(tournament_id=tournament_id)
        return self._read(wire.read_status, self._ask(self._tournaments.StopTournament, request).tournament)

    def tournament(self, tournament_id: str) -> TournamentStatus:
        """How a tournament stands."""
        request = admin_pb2.GetTournamentRequest(tournament_id=tournament_id)
        return self._read(wire.read_status, self._ask(self._tournaments.GetTournament, request).tournament)

    def watch_tournament(self, tournament_id: str) -> Iterator[TournamentStatus]:
        """How a tournament stands, now and as it changes, until it runs no longer."""
        request = admin_pb2.WatchTournamentRequest(tournament_id=tournament_id)
        for answer in self._listen(self._tournaments.WatchTournament, request):
            yield self._read(wire.read_status, answer.tournament)

    def tournaments(self) -> tuple[TournamentStatus, ...]:
        """All tournaments, the newest first, without their bots."""

        def page(token: str) -> tuple[list[TournamentStatus], str]:
            request = admin_pb2.ListTournamentsRequest(page_token=token)
            answer = self._ask(self._tournaments.ListTournaments, request)
            return [
                self._read(wire.read_status, entry) for entry in answer.tournaments
            ], answer.next_page_token

        return _all_pages(page)

    def leaderboard(self, tournament_id: str) -> Leaderboard:
        """The table of a tournament as it stands."""
        request = admin_pb2.GetLeaderboardRequest(tournament_id=tournament_id)
        return self._read(wire.read_leaderboard, self._ask(self._leaderboards.GetLeaderboard, request))

    # ------------------------------------------------------------------ replays

    def replays(self, tournament_id: str) -> tuple[ReplayStatus, ...]:
        """The sessions of a tournament, in the order of its schedule."""

        def page(token: str) -> tuple[list[ReplayStatus], str]:
            request = admin_pb2.ListReplaysRequest(tournament_id=tournament_id, page_token=token)
            answer = self._ask(self._replays.ListReplays, request)
            return [self._read(wire.read_replay, entry) for entry in answer.replays], answer.next_page_token

        return _all_pages(page)

    def replay(self, tournament_id: str, session: str) -> bytes:
        """The replay of a finished session as text; `session` is an id, the beginning of one, or `7.2`."""
        request = admin_pb2.FetchReplayRequest(tournament_id=tournament_id, session=session)
        return b"".join([answer.data for answer in self._listen(self._replays.FetchReplay, request)])

    # ------------------------------------------------------------------ inside

    def _ask(
        self, method: "grpc.UnaryUnaryMultiCallable[Q, A]", request: Q, limit_s: float = CALL_LIMIT_S
    ) -> A:
        try:
            return method(request, timeout=limit_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._error(error) from None

    def _listen(self, method: "grpc.UnaryStreamMultiCallable[Q, A]", request: Q) -> Generator[A]:
        call = method(request, metadata=self._metadata)
        try:
            yield from call
        except grpc.RpcError as error:
            raise self._error(error) from None
        finally:
            call.cancel()

    def _read(self, reader: Callable[[Q], T], message: Q) -> T:
        """What a message says; AdminError when the arena uses a word that this program does not know."""
        try:
            return reader(message)
        except KeyError as error:
            raise AdminError(
                AdminFailure.BROKEN,
                f"the arena at {self._arena.address} says something that this kratzen does not know (value "
                f"{error} of an enum): install the version of kratzen that the arena has",
            ) from None

    def _error(self, error: grpc.RpcError) -> AdminError:
        assert isinstance(error, grpc.Call)
        code, details = error.code(), escape(error.details() or "no details")
        failure = _FAILURES.get(code, AdminFailure.BROKEN)
        if _WRONG_NAME in details:
            host = host_of(self._arena.address)
            return AdminError(
                failure,
                f"the certificate of the arena at {self._arena.address} is not one for {host}: dial a "
                "name that is in it, or have one made with that name",
            )
        if failure is AdminFailure.NO_ARENA:
            why = self._why_no_link(details)
            return AdminError(failure, f"no answer from an arena at {self._arena.address}: {why}")
        if failure is AdminFailure.BROKEN:
            return AdminError(failure, f"the arena at {self._arena.address} failed ({code.name}): {details}")
        return AdminError(failure, details)

    def _why_no_link(self, details: str) -> str:
        if "Socket closed" in details and self._arena.roots is None:
            return (
                "it ended the link without a word, as one with TLS does: name its certificate by --ca or "
                "KRATZEN_CA"
            )
        return next((why for said, why in _WHY_NO_LINK if said in details), details)


def _all_pages(page: Callable[[str], tuple[list[T], str]]) -> tuple[T, ...]:
    """Every entry of a paged list; `page` takes a token and gives entries and the next token."""
    entries, token = page("")
    while token:
        more, token = page(token)
        entries += more
    return tuple(entries)
