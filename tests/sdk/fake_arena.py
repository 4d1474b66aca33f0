"""An arena on a loopback port that says what a test's script tells it to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self, TypeAlias

import grpc
import grpc.aio

from arena import wire
from arena.messages import ArenaMessage, BotMessage
from kratzen.sdk.client import Settings

TOKEN = "kratzen_secret"  # noqa: S105 - the fake looks at it and no more


class Line:
    """One stream, from the arena's side."""

    def __init__(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> None:
        self._requests = requests
        self._context = context

    @property
    def authorization(self) -> str | bytes | None:
        """What the bot showed to be let in."""
        return dict(self._context.invocation_metadata() or ()).get("authorization")

    async def read(self) -> BotMessage:
        """The next thing that the bot says."""
        return wire.decode(await anext(self._requests))

    async def send(self, *messages: ArenaMessage) -> None:
        """Say all of this in one message."""
        await self._context.write(wire.encode(messages))

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        """End the stream with a status."""
        await self._context.abort(code, details)


Script: TypeAlias = Callable[[Line], Awaitable[None]]


class FakeArena:
    """Plays one script a stream, in order. What a script raises, `settled` raises."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self._played: list[asyncio.Future[None]] = []
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        play: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(self._play)
        handler = grpc.method_handlers_generic_handler(wire.BOT_SERVICE, {wire.PLAY: play})
        self._server.add_generic_rpc_handlers((handler,))
        self.settings = Settings(f"127.0.0.1:{self.listen('127.0.0.1:0')}", TOKEN)

    def listen(self, address: str) -> int:
        """Be there under another address too; its port, or 1 for a socket."""
        return self._server.add_insecure_port(address)

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.stop(None)

    async def settled(self) -> None:
        """All scripts were played to their end."""
        await asyncio.gather(*self._played)
        assert self._scripts == []

    async def _play(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> None:
        played: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._played.append(played)
        try:
            await self._scripts.pop(0)(Line(requests, context))
        except grpc.aio.AbortError:
            played.set_result(None)
            raise
        except BaseException as error:
            played.set_exception(error)
            raise
        played.set_result(None)
