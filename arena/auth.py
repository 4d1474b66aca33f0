"""Tokens: who may speak for which bot, and how a call without a right one is turned away.

A token is a fixed prefix, so that a scan finds one that leaked, and 256 random bits. Only
its SHA-256 is kept. Whose name a token gives is looked up by that hash; the comparison of
secrets themselves takes the same time whatever they are. Tokens are never logged.
"""

import asyncio
import secrets
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final

import grpc
import grpc.aio
import structlog

from arena.clock import MS_PER_SECOND, Time
from arena.door import Door, address_of

log = structlog.get_logger()

TOKEN_PREFIX: Final = "kratzen_"  # noqa: S105  the prefix is public, that is its use
_SCHEME: Final = "Bearer "
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


def authorization_of(context: grpc.aio.ServicerContext[Any, Any]) -> str | None:
    """The `authorization` that a call came with."""
    for key, value in context.invocation_metadata() or ():
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
        """Have a call end with UNAUTHENTICATED, once its handler returns, which it must do now.

        `abort` would do the same by an exception, whose traceback is garbage that goes round in a circle:
        with a thousand a second of them the collector stands in everybody's way.
        """
        await self.hold_back(context)
        context.set_code(grpc.StatusCode.UNAUTHENTICATED)
        context.set_details(sentence)

    async def hold_back(self, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        """Count a wrong token, and let its caller wait when there were many."""
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
