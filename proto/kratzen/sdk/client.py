"""The link to the arena: dials, reads, answers, and dials again when the link is lost.

One task reads the stream into a queue, because to time out a read would end the call; the
bot decides in the same thread, one request after the other. What the bot knows lives in
`Conversation`; nothing here looks into a message but for the arena's last word.
"""

import asyncio
import os
import random
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

# What goes wrong is told in sentences of our own, and gRPC's lines beside them, for which it must not
# have been imported yet, help nobody. Who wants them sets the variable.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc
import grpc.aio

from kratzen.sdk import encode
from kratzen.sdk.bot import Bot
from kratzen.sdk.conversation import Conversation
from kratzen.v1 import bot_pb2, bot_pb2_grpc

SDK: Final = "kratzen-python/1"

HOLD_S: Final = 0.005
"""Answers go together only while making them all took no longer than this."""
MAX_ANSWERS_A_MESSAGE: Final = 64
"""With notes of full length, as many stay below the 64 KiB that the arena takes."""

FIRST_DELAY_S: Final = 0.1
LONGEST_DELAY_S: Final = 2.0
LAST_WORDS_S: Final = 1.0
"""How long the arena may take to end the stream after its Goodbye."""

_KEEPALIVE: Final = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Without this a ping may stay unanswered for a minute, whatever the line above says.
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
_NO_PROXY: Final = (("grpc.enable_http_proxy", 0),)
_PROXY_VARIABLES: Final = ("grpc_proxy", "https_proxy", "http_proxy")

_FINAL_STATUSES: Final = (
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.ABORTED,
)
"""Statuses that another try would not change."""

_WRONG_NAME: Final = "Hostname Verification Check failed"
"""What gRPC says when a certificate is trusted, and is another host's."""

_WHY_NO_LINK: Final = (
    ("Connection refused", "nothing listens there"),
    ("Domain name not found", "there is no host of that name"),
    ("WRONG_VERSION_NUMBER", "it does not speak TLS, and KRATZEN_CA asks for it"),
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not among those of KRATZEN_CA"),
)
"""What stands in gRPC's words for why there is no link, and what it means."""

_GOOD_ENDS: Final = (
    bot_pb2.GOODBYE_REASON_FINISHED,
    bot_pb2.GOODBYE_REASON_LEFT,
    bot_pb2.GOODBYE_REASON_STOPPING,
)

_Call: TypeAlias = grpc.aio.StreamStreamCall[bot_pb2.PlayRequest, bot_pb2.PlayResponse]
_Arrivals: TypeAlias = asyncio.Queue[bot_pb2.PlayResponse | None]
"""What was read, in order; None is the end of the stream."""


class SettingsError(Exception):
    """The environment does not say where the arena is, or who the bot is."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the arena is and how to reach it.

    Attributes:
        address: host:port, or `unix:` and a path.
        token: who the bot is; never shown.
        roots: certificates to trust, PEM; None for a plain-text link.
    """

    address: str
    token: str = field(repr=False)
    roots: bytes | None = None

    @property
    def is_local(self) -> bool:
        """Whether the arena is on this machine, where no proxy has a place."""
        host = self.address.rpartition(":")[0].strip("[]")
        return self.address.startswith("unix:") or host in ("localhost", "::1") or host.startswith("127.")


@dataclass(frozen=True, slots=True)
class End:
    """How a stream ended: whether to dial again, whether all is well, and a sentence for people."""

    again: bool
    well: bool
    sentence: str


def run(bot: Bot) -> None:
    """Play until the arena says that there is no more to play.

    The environment says where: `KRATZEN_ADDRESS` (host:port, or `unix:` and a path) and
    `KRATZEN_TOKEN`; `KRATZEN_CA` names a file of certificates to trust, and makes the link TLS.

    Raises:
        SystemExit: 1 when the arena will not have the bot, 2 when the environment is
            incomplete, 130 after Ctrl-C; a line on stderr says why. What the bot raises comes
            out as it is.
    """
    try:
        settings = settings_from(os.environ)
    except SettingsError as error:
        _say(f"{bot.name}: {error}")
        raise SystemExit(2) from None
    try:
        end = asyncio.run(play(bot, settings))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    if not end.well:
        _say(f"{bot.name}: {end.sentence}")
        raise SystemExit(1)


def settings_from(environment: Mapping[str, str]) -> Settings:
    """What the environment says.

    Raises:
        SettingsError: a variable is missing, or names a file that cannot be read.
    """
    address = environment.get("KRATZEN_ADDRESS", "")
    token = environment.get("KRATZEN_TOKEN", "")
    if not address:
        raise SettingsError("KRATZEN_ADDRESS is not set: it says where the arena is, such as 127.0.0.1:7373")
    if not token:
        raise SettingsError("KRATZEN_TOKEN is not set: it is what `kratzen bots add` printed")
    authority = environment.get("KRATZEN_CA")
    return Settings(address, token, _roots(authority) if authority else None)


def _roots(file: str) -> bytes:
    try:
        roots = Path(file).read_bytes()
    except OSError as error:
        raise SettingsError(f"KRATZEN_CA = {file}: {error.strerror}") from None
    if b"CERTIFICATE-----" not in roots:
        raise SettingsError(f"KRATZEN_CA = {file}: there is no certificate (PEM) in this file")
    return roots


async def play(bot: Bot, settings: Settings) -> End:
    """Dial as often as it takes, and play; the end that is the last one is returned."""
    conversation = Conversation(bot)
    # A generator of its own: the bot's is the bot's.
    chance = random.Random()  # noqa: S311 - it spreads the returns of bots after a restart
    delay_s, said = FIRST_DELAY_S, ""
    while True:
        end = await play_one_stream(bot, conversation, settings)
        if not end.again:
            return end
        if conversation.welcome is not None:
            delay_s = FIRST_DELAY_S
        if end.sentence != said:
            said = end.sentence
            _say(f"{bot.name}: {said}; trying again")
        await asyncio.sleep(delay_s * chance.uniform(0.5, 1.0))
        delay_s = min(2 * delay_s, LONGEST_DELAY_S)


async def play_one_stream(bot: Bot, conversation: Conversation, settings: Settings) -> End:
    """One call, from Hello to its end."""
    async with _channel(settings) as channel:
        call: _Call = bot_pb2_grpc.BotServiceStub(channel).Play(
            metadata=(("authorization", f"Bearer {settings.token}"),)
        )
        arrivals: _Arrivals = asyncio.Queue()
        reader = asyncio.create_task(_read(call, arrivals))
        conversation.opened()
        try:
            await call.write(encode.hello_of(bot, SDK))
            await _converse(call, conversation, arrivals)
            await asyncio.wait([reader], timeout=LAST_WORDS_S)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            # The stream ended while something was written; its status says why.
            pass
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            call.cancel()
        if conversation.goodbye is not None:
            return _end_by_goodbye(conversation.goodbye)
        return _end_by_status(await call.code(), await call.details(), settings)


def _channel(settings: Settings) -> grpc.aio.Channel:
    options = _KEEPALIVE + _NO_PROXY if settings.is_local else _KEEPALIVE
    if settings.roots is None:
        return grpc.aio.insecure_channel(settings.address, options)
    credentials = grpc.ssl_channel_credentials(settings.roots)
    return grpc.aio.secure_channel(settings.address, credentials, options)


async def _read(call: _Call, arrivals: _Arrivals) -> None:
    try:
        async for response in call:
            arrivals.put_nowait(response)
    except grpc.aio.AioRpcError:
        # Not lost: the call's status is looked at when the conversation is over.
        pass
    finally:
        arrivals.put_nowait(None)


async def _converse(call: _Call, conversation: Conversation, arrivals: _Arrivals) -> None:
    """Take in and answer until the arena says goodbye or the stream ends."""
    response = await arrivals.get()
    while response is not None:
        conversation.take(response, time.monotonic())
        if conversation.goodbye is not None:
            return
        if arrivals.empty():
            await _answer(call, conversation, arrivals)
        if conversation.leave():
            await call.write(bot_pb2.PlayRequest(goodbye=bot_pb2.Goodbye()))
        response = await arrivals.get()


async def _answer(call: _Call, conversation: Conversation, arrivals: _Arrivals) -> None:
    """Answer what is owed, together where that holds nothing up, until something new arrives."""
    answers: list[bot_pb2.Answer] = []
    begun_s = 0.0
    while conversation.owes and arrivals.empty():
        if not answers:
            begun_s = time.monotonic()
        answers.append(conversation.answer_next())
        taken_s = time.monotonic() - begun_s
        if taken_s > HOLD_S or len(answers) == MAX_ANSWERS_A_MESSAGE:
            await _send(call, answers)
            answers = []
    if answers:
        await _send(call, answers)


async def _send(call: _Call, answers: list[bot_pb2.Answer]) -> None:
    await call.write(bot_pb2.PlayRequest(answers=bot_pb2.Answers(answers=answers)))


def _end_by_goodbye(goodbye: bot_pb2.Goodbye) -> End:
    return End(again=goodbye.come_back, well=goodbye.reason in _GOOD_ENDS, sentence=goodbye.detail)


def _end_by_status(code: grpc.StatusCode, details: str | None, settings: Settings) -> End:
    if code is grpc.StatusCode.OK:
        return End(again=False, well=True, sentence="the arena ended the stream")
    sentence = f"{code.name}: {details or 'no details'}"
    proxies = [name for name in _PROXY_VARIABLES if os.environ.get(name)]
    if code is grpc.StatusCode.UNAVAILABLE:
        sentence = f"no arena at {settings.address}: {_why_no_link(details or 'no details', settings)}"
        if _WRONG_NAME in sentence:
            sentence = f"the certificate of the arena at {settings.address} is another host's: dial its name"
        elif proxies and not settings.is_local:
            sentence += f" (by the proxy that {proxies[0]} names)"
    return End(again=code not in _FINAL_STATUSES, well=False, sentence=sentence)


def _why_no_link(details: str, settings: Settings) -> str:
    if "Socket closed" in details and settings.roots is None:
        return "it ended the link without a word, as one with TLS does: KRATZEN_CA names its certificate"
    return next((why for said, why in _WHY_NO_LINK if said in details), details)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
