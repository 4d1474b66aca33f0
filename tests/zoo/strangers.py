"""Callers with wrong tokens, many a second, in a process of their own that costs next to nothing.

    python -m tests.zoo.strangers PORT CALLS_A_SECOND

reads from stdin, line by line, what to call (`tokens`, `admin` or `health`) and then `halt`, again and
again, and writes for each how many calls it made, how many were ended, and in how many microseconds. It
ends with its stdin. The calls are frames of HTTP/2 written by hand: a client of gRPC would take as much
of the machine as the arena that it is to disturb.
"""

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from arena.auth import TOKEN_PREFIX
from arena.clock import SystemTime
from sample_bots.faulty.raw import PLAY

ADDRESS: Final = "127.0.0.2"
"""Where they call from: another address than that of good bots."""
CONNECTIONS: Final = 16
"""So many that the calls that are held back are fewer than a connection takes."""
BEAT_S: Final = 0.001
LAST_WORDS_S: Final = 10.0
"""What calls that are held back get to be refused after the halt."""

TIME: Final = SystemTime()

_DATA, _HEADERS, _RESET, _SETTINGS, _PING = 0, 1, 3, 4, 6
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_FRAME_HEAD_BYTES: Final = 9
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame of HTTP/2 (RFC 9113, 4.1)."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def field(name: str, value: str) -> bytes:
    """A header field in plain letters, which nobody has to remember (RFC 7541, 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def head(path: str, **more: str) -> bytes:
    """The header of a call."""
    fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "arena", "te": "trailers"}
    fields |= {"content-type": "application/grpc", **more}
    return b"".join([field(name, value) for name, value in fields.items()])


def bearer() -> str:
    """A token that nobody has."""
    return f"Bearer {TOKEN_PREFIX}{secrets.token_urlsafe(32)}"


def wrong_token(stream: int) -> bytes:
    """A call of `Play` that waits for its answer."""
    return frame(_HEADERS, _END_HEADERS, stream, head(PLAY, authorization=bearer()))


def wrong_admin(stream: int) -> bytes:
    """A call that only the admin may make."""
    return _question(stream, head("/kratzen.v1.RegistryService/ListBots", authorization=bearer()))


def health_check(stream: int) -> bytes:
    """A call that needs no token."""
    return _question(stream, head("/grpc.health.v1.Health/Check"))


def _question(stream: int, header: bytes) -> bytes:
    """A call with its message, which is empty."""
    return frame(_HEADERS, _END_HEADERS, stream, header) + frame(_DATA, _END_STREAM, stream, bytes(5))


CALLS: Final = {b"tokens\n": wrong_token, b"admin\n": wrong_admin, b"health\n": health_check}


@dataclass(slots=True)
class Count:
    """What was done so far."""

    made: int = 0
    ended: int = 0


class Connection(asyncio.Protocol):
    """One connection, on which calls are made and their ends counted."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._stream = 1
        self._unread = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to speak HTTP/2."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(_PREFACE + frame(_SETTINGS, 0, 0))

    def data_received(self, data: bytes) -> None:
        """Take the frames that have arrived whole."""
        self._unread += data
        while len(self._unread) >= _FRAME_HEAD_BYTES:
            end = _FRAME_HEAD_BYTES + int.from_bytes(self._unread[:3], "big")
            if len(self._unread) < end:
                return
            kind, flags = self._unread[3], self._unread[4]
            self._heard(kind, flags, self._unread[_FRAME_HEAD_BYTES:end])
            self._unread = self._unread[end:]

    def call(self, make: Callable[[int], bytes]) -> None:
        """Make one call."""
        self._write(make(self._stream))
        self._stream += 2
        self._count.made += 1

    def close(self) -> None:
        """Hang up."""
        assert self._transport is not None
        self._transport.close()

    def _heard(self, kind: int, flags: int, payload: bytes) -> None:
        """Count a call that ended, and be polite otherwise."""
        # A reset with a code is an end too: of a call that was more than its connection takes.
        if (kind == _HEADERS and flags & _END_STREAM) or (kind == _RESET and any(payload)):
            self._count.ended += 1
        elif kind in (_SETTINGS, _PING) and not flags & _ACK:
            self._write(frame(kind, _ACK, 0, payload if kind == _PING else b""))

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)


@asynccontextmanager
async def connections(port: int, count: Count) -> AsyncIterator[list[Connection]]:
    """Connections to a port of this machine, for the time of the block."""
    loop, opened = asyncio.get_running_loop(), []
    try:
        for _ in range(CONNECTIONS):
            _, connection = await loop.create_connection(
                lambda: Connection(count), "127.0.0.1", port, local_addr=(ADDRESS, 0)
            )
            opened.append(connection)
        yield opened
    finally:
        for connection in opened:
            connection.close()


async def call_until(
    halt: asyncio.Future[bytes], make: Callable[[int], bytes], port: int, per_second: int
) -> tuple[int, int, int]:
    """Call at that rate until the halt: calls made and ended, and microseconds."""
    count = Count()
    async with connections(port, count) as opened:
        began_us = now_us = TIME.now_us()
        while not halt.done():
            for _ in range(count.made, (now_us - began_us) * per_second // 1_000_000):
                opened[count.made % CONNECTIONS].call(make)
            await asyncio.sleep(BEAT_S)
            now_us = TIME.now_us()
        # What is held back comes late, and a connection tells of each end by itself.
        while count.ended < count.made and TIME.now_us() - now_us < LAST_WORDS_S * 1_000_000:  # noqa: ASYNC110
            await asyncio.sleep(BEAT_S)
    return count.made, count.ended, now_us - began_us


async def main(port: int, per_second: int) -> None:
    """Call what and when it is said."""
    said = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(said), sys.stdin)
    while what := await said.readline():
        halt = asyncio.ensure_future(said.readline())
        sys.stdout.write(json.dumps(await call_until(halt, CALLS[what], port, per_second)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
