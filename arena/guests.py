"""Calls that need no token, as health checking and reflection: how much strangers may say, and how long.

gRPC has one limit for the messages of all calls, that of organisers with a tournament, and hands a call
that takes a single request over once that is there. So here such a call is handed over at its headers,
as one that takes a stream of requests is, and its request is read with everything bounded: how many are
read at one time, for how long, and how large they may be. What is asked is answered by others.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2

from arena.auth import service_of
from arena.calls import caller_may_leave, end_call, refuse
from arena.clock import US_PER_MS, Patience
from arena.door import Door, address_of
from arena.lag import limited

GUEST_MESSAGE_BYTES: Final = 64 * 1024
"""Far more than any of these calls has to say."""

# The type that gRPC has for it knows no handlers that wait.
_Handler: TypeAlias = Any
_Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
_Requests: TypeAlias = AsyncIterator[bytes]


class _NotHeardError(Exception):
    """What a stranger said is not answered; status and sentence say why."""

    def __init__(self, status: grpc.StatusCode, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class GuestGate(grpc.aio.ServerInterceptor):
    """Has the calls of some services listened to within bounds.

    A single request is bounded until it is there, and a stream of them until the call is over.
    """

    def __init__(self, services: Iterable[str], door: Door, patience: Patience) -> None:
        """Stand before services, which are given by their full names."""
        self._services = frozenset(services)
        self._door = door
        self._patience = patience

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[_Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> _Handler | None:
        """Hand a call on, with bounds where it needs some."""
        handler = await continuation(handler_call_details)
        if handler is None or service_of(handler_call_details.method) not in self._services:
            return handler
        if handler.request_streaming:
            return grpc.stream_stream_rpc_method_handler(
                partial(self._converse, handler), None, handler.response_serializer
            )
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(
                partial(self._tell, handler), None, handler.response_serializer
            )
        return grpc.stream_unary_rpc_method_handler(
            partial(self._answer, handler), None, handler.response_serializer
        )

    async def _answer(self, handler: _Handler, requests: _Requests, context: _Context) -> object:
        """A call with one request and one answer."""
        del requests
        try:
            request = await self._heard(handler, context)
        except _NotHeardError as why:
            refuse(context, why.status, str(why))
            return None
        return await handler.unary_unary(request, context)

    async def _tell(self, handler: _Handler, requests: _Requests, context: _Context) -> None:
        """A call with one request and many answers, which its handler writes by itself."""
        del requests
        try:
            request = await self._heard(handler, context)
        except _NotHeardError as why:
            refuse(context, why.status, str(why))
        else:
            await handler.unary_stream(request, context)

    async def _converse(self, handler: _Handler, requests: _Requests, context: _Context) -> None:
        """A call in which many requests are answered one by one."""
        try:
            async with self._listening(context):
                with caller_may_leave():
                    async for response in handler.stream_stream(_read(handler, requests), context):
                        await context.write(response)
        except _NotHeardError as why:
            await end_call(context, why.status, str(why))

    async def _heard(self, handler: _Handler, context: _Context) -> object:
        """The one request of a call."""
        async with self._listening(context):
            data = await context.read()
        if data is grpc.aio.EOF:
            raise _NotHeardError(grpc.StatusCode.INVALID_ARGUMENT, "this call takes a request, and none came")
        return _understood(handler, data)

    @asynccontextmanager
    async def _listening(self, context: _Context) -> AsyncIterator[None]:
        """Around what takes one of the places for strangers, and must be over in time."""
        address, limit_ms = address_of(context.peer()), self._door.limits.guest_ms
        too_many = self._door.enter_guest(address)
        if too_many is not None:
            raise _NotHeardError(grpc.StatusCode.RESOURCE_EXHAUSTED, too_many)
        try:
            async with limited(self._patience, limit_ms * US_PER_MS):
                yield
        except TimeoutError:
            raise _NotHeardError(
                grpc.StatusCode.DEADLINE_EXCEEDED, f"this arena listened for {limit_ms} ms: be quicker"
            ) from None
        finally:
            self._door.leave_guest(address)


async def _read(handler: _Handler, requests: _Requests) -> AsyncIterator[object]:
    """What is said, message by message."""
    async for data in requests:
        yield _understood(handler, data)


def _understood(handler: _Handler, data: bytes) -> object:
    """What a message says; _NotHeardError when it is too large, or no request of this call."""
    if len(data) > GUEST_MESSAGE_BYTES:
        raise _NotHeardError(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f"a message of {len(data)} bytes came, allowed are {GUEST_MESSAGE_BYTES}",
        )
    try:
        return handler.request_deserializer(data)
    except DecodeError:
        raise _NotHeardError(
            grpc.StatusCode.INVALID_ARGUMENT, "what came is no request of this call"
        ) from None


class BoundedHealth(health.aio.HealthServicer):
    """Health checking, with a bound on those who watch."""

    def __init__(self, door: Door) -> None:
        super().__init__()
        self._door = door

    async def Watch(  # noqa: N802 - the names of methods are the protocol's
        self, request: health_pb2.HealthCheckRequest, context: _Context
    ) -> None:
        """The health of a service, whenever it changes."""
        too_many = self._door.enter_health_watcher()
        if too_many is not None:
            refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, too_many)
            return
        try:
            with caller_may_leave():
                await super().Watch(request, context)
        finally:
            self._door.leave_health_watcher()
