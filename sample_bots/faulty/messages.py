"""Behaviours of messages: no message, the wrong one, too large, too many."""

import random
from typing import Final

from kratzen.v1 import bot_pb2
from sample_bots.faulty.raw import RawBot, answers_to

HUGE_BYTES: Final = 5 * 1024 * 1024
CHATTER_MESSAGES: Final = 10_000
UNKNOWN_FIELD: Final = b"\x7a\x05later"
"""Field 15 with five letters in it, which no version of the protocol knows."""


class RandomBytes(RawBot):
    """Sends random bytes when it is asked."""

    name = "random_bytes"
    follows = "protocol"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Send what is no message."""
        await self.write(random.Random(request.request_id).randbytes(64))  # noqa: S311 - noise, not secrecy


class WrongKind(RawBot):
    """Says Hello again when it is asked: a good message in the wrong place."""

    name = "wrong_kind"
    follows = "protocol"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Say Hello on a stream that has heard it."""
        await self.say_hello()


class UnknownFields(RawBot):
    """Answers well, with a field that a later version might have: no fault."""

    name = "unknown_fields"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Answer, and more."""
        await self.write(answers_to(request).SerializeToString() + UNKNOWN_FIELD)


class HugeMessage(RawBot):
    """Answers with a note of 5 MiB."""

    name = "huge_message"
    follows = "flood"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Send a good answer that is too large."""
        message = answers_to(request)
        message.answers.answers[0].note = "x" * HUGE_BYTES
        await self.write(message.SerializeToString())


class Chatter(RawBot):
    """Sends 10,000 messages that answer nothing when it is asked."""

    name = "chatter"
    follows = "flood"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Say nothing, often."""
        nothing = bot_pb2.PlayRequest(answers=bot_pb2.Answers()).SerializeToString()
        for _ in range(CHATTER_MESSAGES):
            await self.write(nothing)
        await self.answer(request)


BEHAVIOURS: Final = (RandomBytes, WrongKind, UnknownFields, HugeMessage, Chatter)
