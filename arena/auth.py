"""Tokens: who may speak for which bot, and how a call without a right one is turned away.

A token is a fixed prefix, so that a scan finds one that leaked, and 256 random bits. Only
its SHA-256 is kept. Whose name a token gives is looked up by that hash; the comparison of
secrets themselves takes the same time whatever they are. Tokens are never logged.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio
import structlog

from arena.calls import refuse
from arena.clock import MS_PER_SECOND, Time
from arena.door import Door, address_of

# Subscripted for the type checker alone.
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"

log = structlog.get_logger()

TOKEN_PREFIX: Final = "kratzen_"  # noqa: S105  the prefix is public, that is its use
_SCHEME: Final = "Bearer "
_UNKNOWN_ADMIN: Final = (
    "this needs the arena's admin token, which `kratzen serve` printed at its first start: send the metadata "
    "`authorization: Bearer TOKEN` (commands take it from KRATZEN_ADMIN_TOKEN)"
)
_LOGGED_EVERY: Final = 100
"""Of an address's wrong tokens the first is logged, and then every one of so many."""


def new_token() -> str:
    """A fresh token of 256 random bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_hash(token: str) -> bytes:
    """What is kept of a token."""
    return sha256(token.encode()).digest()


class TokenRing:
    """The tokens that are valid now, as hashes, and the bots they stand for; one token a bot."""

    def __init__(self) -> None:
        self._hashes: dict[str, bytes] = {}

    def issue(self, bot_name: str) -> str:
        """A new token for a bot; the one before is no longer valid."""
        token = new_token()
        self._hashes[bot_name] = token_hash(token)
        return token

    def admit(self, bot_name: str, hashed: bytes) -> None:
        """Make a token valid of which only the hash is known."""
        self._hashes[bot_name] = hashed

    def revoke(self, bot_name: str) -> None:
        """Make a bot's token invalid."""
        self._hashes.pop(bot_name, None)

    def bot_of(self, authorization: str | None) -> str | None:
        """The bot that an `authorization` value speaks for, or None.

        Every hash is compared, so that the time tells nothing about which one is near.
        """
        offered = _offered_hash(authorization)
        if offered is None:
            return None
        found = None
        for bot_name, hashed in self._hashes.items():
            if compare_digest(offered, hashed):
                found = bot_name
        return found


class AdminPass:
    """Whether a call may administrate: with the admin token; looking is free where there is none.

    Args:
        hashed: SHA-256 of the admin token; None for an arena that has none, as that of a single run.
    """

    def __init__(self, hashed: bytes | None) -> None:
        self._hashed = hashed

    @property
    def is_needed(self) -> bool:
        """Whether there is an admin token, without which nothing is told and nothing done."""
        return self._hashed is not None

    def admits(self, authorization: str | None) -> bool:
        """Whether an `authorization` value holds the admin token; always where there is none."""
        if self._hashed is None:
            return True
        offered = _offered_hash(authorization)
        return offered is not None and compare_digest(offered, self._hashed)


def _offered_hash(authorization: str | None) -> bytes | None:
    if authorization is None or not authorization.startswith(_SCHEME):
        return None
    return token_hash(authorization.removeprefix(_SCHEME))


# ------------------------------------------------------------------ at the door


def authorization_of(metadata: Iterable[tuple[str, str | bytes]] | None) -> str | None:
    """The `authorization` in the metadata of a call."""
    for key, value in metadata or ():
        if key == "authorization" and isinstance(value, str):
            return value
    return None


class Porter:
    """Turns away calls without a right token, the slower the more of them an address makes.

    Bots are not hurt by it: whether a token is right is found out first, and one that is right is
    never held back, wherever it comes from.
    """

    def __init__(self, door: Door, time: Time) -> None:
        self.door = door
        self._time = time

    async def refuse_token(self, context: grpc.aio.ServicerContext[Any, Any], sentence: str) -> None:
        """Count a wrong token, let its caller wait when there were many, and refuse the call."""
        address = address_of(context.peer())
        hold_ms = self.door.hold(address, self._time.now_us())
        count = self.door.failures(address)
        if count == 1 or count % _LOGGED_EVERY == 0:
            log.warning("wrong token", address=address, count=count)
        if hold_ms:
            try:
                await asyncio.sleep(hold_ms / MS_PER_SECOND)
            finally:
                self.door.release()
        refuse(context, grpc.StatusCode.UNAUTHENTICATED, sentence)


class AdminGate(grpc.aio.ServerInterceptor):
    """Lets none but the admin call some services; of other calls not even the request is read.

    They are refused by handlers that take a stream of requests, whatever the method takes: gRPC hands
    such a call over at its headers, and any other once its request is there, for which a caller could
    let it wait for ever.
    """

    def __init__(self, services: Iterable[str], admin_pass: AdminPass, porter: Porter) -> None:
        """Stand before services, which are given by their full names."""
        self._services = frozenset(services)
        self._pass = admin_pass
        self._porter = porter
        self._refusals: dict[bool, _Handler] = {
            False: grpc.stream_unary_rpc_method_handler(self._refuse),
            True: grpc.stream_stream_rpc_method_handler(self._refuse),
        }

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler:
        """Hand a call on, or have it refused."""
        handler = await continuation(handler_call_details)
        # A method that there is not has no handler, whoever calls it.
        if handler is None or service_of(handler_call_details.method) not in self._services:
            return handler
        if self._pass.admits(authorization_of(handler_call_details.invocation_metadata)):
            return handler
        return self._refusals[handler.response_streaming]

    async def _refuse(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[Any, Any]
    ) -> None:
        del requests
        await self._porter.refuse_token(context, _UNKNOWN_ADMIN)


def service_of(method: str) -> str:
    """The full name of the service of `/service/method`."""
    return method.removeprefix("/").partition("/")[0]
