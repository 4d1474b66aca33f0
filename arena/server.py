"""The gRPC edge of the arena: moves messages between streams and the lobby, decides nothing.

One reader task a stream and one writer; what a message means is the link's to say, how it
looks on the wire is `arena.wire`'s.
"""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from arena import wire
from arena.auth import Porter, TokenRing, authorization_of
from arena.calls import caller_may_leave, end_call, refuse
from arena.clock import US_PER_MS
from arena.guests import BoundedHealth
from arena.lag import Alarm, limited
from arena.link import CloseStatus, Stream
from arena.lobby import Lobby, Member

GRPC_MESSAGE_BYTES: Final = 8 * 1024 * 1024
"""What gRPC itself refuses. It then cuts the call and says nothing to us, so that the size that bots are
held to is checked here: an arena that sees the message can say whose fault it was."""

STOP_GRACE_S: Final = 1.0
"""What streams get to send their last words when the server stops."""

_BIND_ERRORS: Final = {
    errno.EADDRINUSE: "it is in use",
    errno.EADDRNOTAVAIL: "it is no address of this machine",
    errno.EACCES: "this user may not (a port below 1024?)",
}

OPEN_SERVICES: Final = (health.SERVICE_NAME, reflection.SERVICE_NAME)
"""What answers without a token."""

MAX_STREAMS_A_CONNECTION: Final = 128
PING_LIMIT_MS: Final = 10_000
"""A peer that has not answered a ping by then is gone."""
HANDSHAKE_LIMIT_MS: Final = 10_000
"""A connection that has not begun to speak HTTP/2 by then is closed."""
IDLE_LIMIT_MS: Final = 60_000
"""A connection without a call is closed after so long."""


@dataclass(frozen=True, slots=True)
class Tls:
    """What the server shows of itself: certificate (with those above it) and private key, PEM."""

    certificate: bytes
    key: bytes


class ServerError(Exception):
    """The server cannot start; the message is one sentence for people."""


def _options(lobby: Lobby, max_connections: int) -> list[tuple[str, int]]:
    return [
        # Without this a port that another gRPC server holds is shared silently.
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", GRPC_MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", lobby.limits.keepalive_interval_ms),
        ("grpc.keepalive_timeout_ms", PING_LIMIT_MS),
        # Without this a ping may stay unanswered for a minute, whatever the line above says.
        ("grpc.http2.ping_timeout_ms", PING_LIMIT_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        # Clients in other languages ping quiet streams every 10 s; the default would cut them off.
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
        ("grpc.max_allowed_incoming_connections", max_connections),
        ("grpc.max_concurrent_streams", MAX_STREAMS_A_CONNECTION),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_LIMIT_MS),
        ("grpc.max_connection_idle_ms", IDLE_LIMIT_MS),
    ]


def _why_not(address: str) -> str:
    """Why an address cannot be listened on, which gRPC does not say: by another try."""
    if address.startswith("unix:"):
        return "its file is in use, or cannot be made"
    host, _, port = address.rpartition(":")
    try:
        places = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
        for family, kind, protocol, _, place in places:
            with socket.socket(family, kind, protocol) as listener:
                listener.bind(place)
    except socket.gaierror:
        return "there is no host of that name"
    except OSError as error:
        return _BIND_ERRORS.get(error.errno or 0, str(error))
    return "it is in use, or no address of this machine"


def _deadline_note(context: grpc.aio.ServicerContext[bytes, bytes]) -> str:
    """What is to be said when a new stream is lost one day: that it has a deadline, if it has one."""
    left_s: float | None = context.time_remaining()
    return "" if left_s is None else "its call had a deadline, and needs none"


class BotServer:
    """Serves `kratzen.v1.BotService`, health and reflection, and what is added to these.

    Made inside the running event loop.
    """

    def __init__(
        self,
        lobby: Lobby,
        tokens: TokenRing,
        porter: Porter,
        gates: Sequence[grpc.aio.ServerInterceptor] = (),
    ) -> None:
        """Set up.

        Args:
            lobby: where the bots come in.
            tokens: what they come in with.
            porter: turns away who has none, and counts who has.
            gates: see every call before it is served.
        """
        self._lobby = lobby
        self._tokens = tokens
        self._porter = porter
        self._checker = BoundedHealth(porter.door)
        self._server = grpc.aio.server(
            interceptors=gates, options=_options(lobby, porter.door.limits.max_connections)
        )
        self._names = [wire.BOT_SERVICE]
        play: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(self._play)
        handler = grpc.method_handlers_generic_handler(wire.BOT_SERVICE, {wire.PLAY: play})
        self._server.add_generic_rpc_handlers((handler,))
        health_pb2_grpc.add_HealthServicer_to_server(self._checker, self._server)

    def add(self, names: Sequence[str], register: Callable[[grpc.aio.Server], None]) -> None:
        """Serve more, before `start`: the full names of the services, and what registers them."""
        self._names += names
        register(self._server)

    def listen(self, address: str, tls: Tls | None = None) -> str:
        """Bind an address, before `start`; what bots dial is returned, its port filled in.

        Args:
            address: `host:port`, port 0 for one that is free, or `unix:path`.
            tls: for an encrypted link; plain text without.

        Raises:
            ServerError: the address cannot be listened on.
        """
        try:
            if tls is None:
                port = self._server.add_insecure_port(address)
            else:
                credentials = grpc.ssl_server_credentials([(tls.key, tls.certificate)])
                port = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise ServerError(f"cannot listen on {address}: {_why_not(address)}") from error
        return address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"

    async def start(self) -> None:
        """Begin to serve."""
        names = (*self._names, *OPEN_SERVICES)
        reflection.enable_server_reflection(names, self._server)
        await self._server.start()
        for name in ("", *self._names):
            await self._checker.set(name, health_pb2.HealthCheckResponse.SERVING)

    async def stop(self) -> None:
        """Stop serving; streams that are still up get a moment, then they are cut."""
        await self._checker.enter_graceful_shutdown()
        await self._server.stop(STOP_GRACE_S)

    async def _play(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> None:
        """One stream of one bot, from its first message to its last."""
        with caller_may_leave():
            await self._admit(requests, context)

    async def _admit(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> None:
        name = self._tokens.bot_of(authorization_of(context.invocation_metadata()))
        if name is None:
            await self._porter.refuse_token(
                context,
                "no valid token: send the metadata `authorization: Bearer TOKEN` with the bot's own token",
            )
            return
        too_many = self._porter.door.enter(name)
        if too_many is not None:
            self._lobby.member(name).refused(too_many)
            refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, too_many)
            return
        try:
            await self._converse(self._lobby.member(name), requests, context)
        finally:
            self._porter.door.leave(name)

    async def _converse(
        self,
        member: Member,
        requests: AsyncIterator[bytes],
        context: grpc.aio.ServicerContext[bytes, bytes],
    ) -> None:
        # By itself, so that a stream of which nothing is read can be ended while its first batch hangs.
        await context.send_initial_metadata(())
        wake = asyncio.Event()
        stream = member.link.open(wake.set)
        note = _deadline_note(context)
        reader = asyncio.create_task(self._read(member, stream, requests, note))
        # The writer looks up when the bot has closed its side, so that the call can end.
        reader.add_done_callback(lambda _: wake.set())
        hello_us = self._lobby.limits.hello_ms * US_PER_MS
        hello_limit = Alarm(self._lobby.patience, hello_us, lambda: member.hello_expired(stream))
        try:
            await self._write(member, stream, wake, reader, context)
        finally:
            hello_limit.cancel()
            reader.cancel()
            member.lost(stream, note)
        closing = stream.closing
        if closing is not None and closing.status is not CloseStatus.OK:
            await end_call(context, grpc.StatusCode[closing.status.name], closing.goodbye.detail)

    async def _read(self, member: Member, stream: Stream, requests: AsyncIterator[bytes], note: str) -> None:
        max_bytes = self._lobby.limits.max_message_bytes
        async for data in requests:
            if len(data) > max_bytes:
                member.too_large(stream, len(data))
                continue
            try:
                message = wire.decode(data)
            except wire.WireError as error:
                member.garbled(stream, str(error))
            else:
                member.received(stream, message)
        member.lost(stream, note)

    async def _write(
        self,
        member: Member,
        stream: Stream,
        wake: asyncio.Event,
        reader: asyncio.Task[None],
        context: grpc.aio.ServicerContext[bytes, bytes],
    ) -> None:
        """Send what waits, all of it as one message, until the stream is to end."""
        unread_ms = self._lobby.limits.unread_ms
        while not stream.done and not reader.done():
            batch = member.take_batch(stream)
            if not batch:
                await wake.wait()
                wake.clear()
                continue
            try:
                async with limited(self._lobby.patience, unread_ms * US_PER_MS):
                    await context.write(wire.encode(batch))
            except TimeoutError:
                member.stalled(stream, f"nothing was read for {unread_ms} ms: read while you think")
                return
