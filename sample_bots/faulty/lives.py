"""Behaviours of a bot's life and of its link: not there, silent, gone, back again, twice at once."""

import asyncio
import os
import signal
from typing import ClassVar, Final

import grpc

from kratzen.sdk.client import Settings
from kratzen.v1 import bot_pb2
from sample_bots.faulty.raw import RawBot

EXIT_CODE: Final = 3
RETURNS: Final = 50


class NeverConnects(RawBot):
    """Runs and never dials."""

    name = "never_connects"
    follows = "no_handshake"

    async def run(self) -> None:
        """Wait for nothing."""
        await asyncio.Event().wait()


class NoHello(RawBot):
    """Opens its stream and says nothing."""

    name = "no_hello"
    follows = "no_handshake"

    async def opened(self) -> None:
        """Say nothing."""


class WrongVersion(RawBot):
    """Speaks another version of the protocol."""

    name = "wrong_version"
    follows = "no_handshake"

    async def opened(self) -> None:
        """Say Hello in a version that does not exist."""
        await self.say_hello(protocol_version=99)


class WrongToken(RawBot):
    """Shows a token that is not its own."""

    name = "wrong_token"
    follows = "no_handshake"

    def __init__(self, settings: Settings) -> None:
        super().__init__(Settings(settings.address, "kratzen_" + "0" * 43))

    async def opened(self) -> None:
        """Wait for what follows from the token alone; gRPC would forget it for a word that comes too late."""


class HelloThenSilence(RawBot):
    """Says Hello and never answers."""

    name = "hello_then_silence"
    follows = "timeout"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Say nothing."""


class ExitsBeforeTurn(RawBot):
    """Exits as soon as a session begins."""

    name = "exits_before_turn"
    follows = "exited"

    async def started(self, start: bot_pb2.SessionStart) -> None:
        """Exit."""
        raise SystemExit(EXIT_CODE)


class ExitsDuringTurn(RawBot):
    """Exits when it is asked."""

    name = "exits_during_turn"
    follows = "exited"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Exit."""
        raise SystemExit(EXIT_CODE)


class ExitsAfterTurn(RawBot):
    """Answers once and exits."""

    name = "exits_after_turn"
    follows = "exited"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Answer, then exit."""
        await self.answer(request)
        raise SystemExit(EXIT_CODE)


class StopsItself(RawBot):
    """Stops its own process (SIGSTOP) when it is asked; the link stays up."""

    name = "stops_itself"
    follows = "timeout"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Stop until somebody lets the process go on."""
        os.kill(os.getpid(), signal.SIGSTOP)
        await self.answer(request)


class HalfCloses(RawBot):
    """Closes its side of the stream when it is asked, and reads on."""

    name = "half_closes"
    follows = "disconnected"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Promise to say nothing more."""
        assert self._call is not None
        await self._call.done_writing()


class Cancels(RawBot):
    """Cancels the call when it is asked."""

    name = "cancels"
    follows = "disconnected"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Cancel."""
        assert self._call is not None
        self._call.cancel()


class ReconnectsOften(Cancels):
    """Drops its link 50 times when it is asked, comes back each time, and answers then."""

    name = "reconnects_often"
    follows = ""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._returns = 0

    async def run(self) -> None:
        """Play on as many streams as it takes."""
        await self.converse()
        while self.status is not None and self.status[0] is grpc.StatusCode.CANCELLED:
            await self.converse()

    async def asked(self, request: bot_pb2.Request) -> None:
        """Drop the link, until it was done often enough."""
        if self._returns == RETURNS:
            await self.answer(request)
        else:
            self._returns += 1
            await super().asked(request)


class TwoAtOnce(RawBot):
    """Runs twice with one token; the stream that says Hello last takes over.

    Attributes:
        twin: the other one.
    """

    name = "two_at_once"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.twin = RawBot(settings)

    async def run(self) -> None:
        """Play, and have another one play."""
        await asyncio.gather(self.converse(), self.twin.converse())


class NeverReads(RawBot):
    """Says Hello and reads nothing of what it is sent."""

    name = "never_reads"
    follows = "not_reading"
    # As little as possible waits on this side, so that the arena sees it soon.
    options: ClassVar[tuple[tuple[str, int], ...]] = (
        *RawBot.options,
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", 1),
    )

    async def run(self) -> None:
        """Say Hello, then wait for nothing."""
        async with self.dialled():
            await self.opened()
            await asyncio.Event().wait()


BEHAVIOURS: Final = (
    NeverConnects,
    NoHello,
    WrongVersion,
    WrongToken,
    HelloThenSilence,
    ExitsBeforeTurn,
    ExitsDuringTurn,
    ExitsAfterTurn,
    StopsItself,
    HalfCloses,
    Cancels,
    ReconnectsOften,
    TwoAtOnce,
    NeverReads,
)
