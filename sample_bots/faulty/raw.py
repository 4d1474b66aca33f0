"""A bot that speaks the protocol by hand, so that others can be made from it that speak it badly.

It plays well itself. What it does when something happens is a method each; a bad bot overrides
one of them.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final, TypeAlias

import grpc
import grpc.aio

from kratzen.sdk.client import Settings
from kratzen.v1 import bot_pb2, game_pb2

PLAY: Final = "/kratzen.v1.BotService/Play"

Call: TypeAlias = "grpc.aio.StreamStreamCall[Any, Any]"
"""A stream of bytes in both directions: what is in them is this package's business."""

Arrivals: TypeAlias = "asyncio.Queue[bytes | None]"
"""What was read, in order; None is the end."""


class RawBot:
    """Says Hello, and answers every request at once with a legal answer.

    Attributes:
        name: on the command line.
        follows: the cause of the fault that the arena books, or empty when there is no fault.
        max_sessions: how many sessions it will play at once; it deals with one request after another.
        options: of the gRPC channel.
        goodbye: the arena's last word, if it was heard.
        status: how the last stream ended, as gRPC says it: code and details.
        deadline_s: of the next stream as gRPC has it; None, as it should be, for none.
    """

    name: ClassVar[str] = "well_behaved"
    follows: ClassVar[str] = ""
    max_sessions: ClassVar[int] = 1
    options: ClassVar[tuple[tuple[str, int], ...]] = (("grpc.enable_http_proxy", 0),)

    def __init__(self, settings: Settings) -> None:
        self.goodbye: bot_pb2.Goodbye | None = None
        self.status: tuple[grpc.StatusCode, str] | None = None
        self.deadline_s: float | None = None
        self._settings = settings
        self._call: Call | None = None
        self._requests: dict[str, bot_pb2.Request] = {}
        """The last request of each session."""

    # -------------------------------------------------------------- what bad bots override

    async def run(self) -> None:
        """Play until the stream ends."""
        await self.converse()

    async def opened(self) -> None:
        """The stream is open."""
        await self.say_hello()

    async def heard(self, response: bot_pb2.PlayResponse) -> None:
        """The arena said something: all of one message."""
        for start in response.session_starts:
            await self.started(start)
        for rejected in response.rejected:
            if rejected.tries_left:
                await self.asked(self._requests[rejected.session_id])
        for request in response.requests:
            self._requests[request.session_id] = request
            await self.asked(request)

    async def started(self, start: bot_pb2.SessionStart) -> None:
        """A session begins, or is offered again."""

    async def asked(self, request: bot_pb2.Request) -> None:
        """The bot is to decide."""
        await self.answer(request)

    # -------------------------------------------------------------- what they say

    async def say_hello(self, *, protocol_version: int = 1) -> None:
        """Say who this is."""
        hello = bot_pb2.Hello(
            protocol_version=protocol_version,
            bot_name=self.name,
            bot_version="1",
            sdk="raw",
            max_sessions=self.max_sessions,
        )
        await self.write(bot_pb2.PlayRequest(hello=hello).SerializeToString())

    async def answer(
        self,
        request: bot_pb2.Request,
        action: game_pb2.Action | None = None,
        *,
        request_id: int | None = None,
    ) -> None:
        """Answer, with another action or under another id if one is given."""
        await self.write(answers_to(request, action, request_id=request_id).SerializeToString())

    async def write(self, data: bytes) -> None:
        """Send any bytes as one message."""
        assert self._call is not None
        await self._call.write(data)

    # -------------------------------------------------------------- how it works

    async def converse(self) -> None:
        """One stream, from the dialling to its end."""
        async with self.dialled() as call:
            arrivals: Arrivals = asyncio.Queue()
            # It reads on while the bot thinks or writes, so that the end is always seen.
            reader = asyncio.create_task(_read(call, arrivals))
            try:
                await self.opened()
                while (data := await arrivals.get()) is not None:
                    response = bot_pb2.PlayResponse.FromString(data)
                    if response.HasField("goodbye"):
                        self.goodbye = response.goodbye
                    await self.heard(response)
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                # The arena ended it while something was written.
                await reader
            finally:
                reader.cancel()
            self.status = (await call.code(), await call.details() or "")

    @asynccontextmanager
    async def dialled(self) -> AsyncIterator[Call]:
        """A stream with the bot's token, on which nothing was said yet."""
        async with grpc.aio.insecure_channel(self._settings.address, self.options) as channel:
            metadata = (("authorization", f"Bearer {self._settings.token}"),)
            self._call = channel.stream_stream(PLAY)(metadata=metadata, timeout=self.deadline_s)
            yield self._call


async def _read(call: Call, arrivals: Arrivals) -> None:
    try:
        async for data in call:
            arrivals.put_nowait(data)
    except (grpc.aio.AioRpcError, asyncio.CancelledError):
        # The status is looked at when the conversation is over.
        pass
    finally:
        arrivals.put_nowait(None)


def answers_to(
    request: bot_pb2.Request, action: game_pb2.Action | None = None, *, request_id: int | None = None
) -> bot_pb2.PlayRequest:
    """The message with one answer: a legal one, under the id of the request, unless told otherwise."""
    answer = bot_pb2.Answer(
        session_id=request.session_id,
        request_id=request.request_id if request_id is None else request_id,
        action=legal_answer(request.legal) if action is None else action,
    )
    return bot_pb2.PlayRequest(answers=bot_pb2.Answers(answers=[answer]))


def legal_answer(legal: game_pb2.Legal) -> game_pb2.Action:
    """A legal answer: to play rather than to fold, as few cards as allowed, else the first of the list."""
    if legal.kind == game_pb2.DECISION_KIND_EXCHANGE:
        return game_pb2.Action(exchange=game_pb2.Cards(cards=legal.hand[: legal.least]))
    if legal.kind == game_pb2.DECISION_KIND_DISCARD:
        return game_pb2.Action(discard=game_pb2.Cards(cards=legal.hand[: legal.least]))
    play = game_pb2.Action(declare=game_pb2.CALL_PLAY)
    return play if play in legal.actions else legal.actions[0]
