"""How the arena ends a call of gRPC: with a status and a sentence, which its caller may read or leave.

Whether a call is to be ended, and why, is for those to say who serve it.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import grpc
import grpc.aio

LAST_WORD_S: Final = 1.0
"""What a caller that does not read gets to take the status of its call."""


def refuse(context: grpc.aio.ServicerContext[Any, Any], status: grpc.StatusCode, sentence: str) -> None:
    """Have a call to which nothing was sent end with a status, once its handler returns, as it must now.

    `abort` would do the same by an exception, whose traceback is garbage that goes round in a circle:
    with a thousand a second of them the collector stands in everybody's way.
    """
    context.set_code(status)
    context.set_details(sentence)


async def end_call(
    context: grpc.aio.ServicerContext[Any, Any], status: grpc.StatusCode, sentence: str
) -> None:
    """End a call with a status; nobody waits for a caller to read it who has read nothing so far.

    gRPC sends a status after what was sent before, and keeps it, with the little that waits, until
    that is read or the connection is gone.
    """
    try:
        async with asyncio.timeout(LAST_WORD_S):
            await context.abort(status, sentence)
    except TimeoutError:
        raise asyncio.CancelledError from None


@contextmanager
def caller_may_leave() -> Iterator[None]:
    """Around what is sent: a call that was cancelled meanwhile ends, since nobody is there to hear more."""
    try:
        yield
    except grpc.aio.InternalError:
        raise asyncio.CancelledError from None
