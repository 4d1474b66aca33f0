"""A wire that can be spoilt: a proxy between a bot and the arena that delays, narrows, stops or cuts."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Carrying: TypeAlias = Coroutine[None, None, None]

_CHUNK: Final = 4096

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client says before its first frame."""
_HEAD: Final = 9
"""Bytes of a frame before what it carries: three of them its length, then its type and its flags."""
_PING: Final = 6
_ACK: Final = 1


class Pings:
    """Counts the pings that one side sends; its answers to pings are none."""

    def __init__(self) -> None:
        self.count = 0
        self._news = asyncio.Event()

    def add(self, count: int) -> None:
        """Some more were seen."""
        self.count += count
        self._news.set()

    async def more(self, count: int) -> None:
        """Wait until so many more were seen."""
        due = self.count + count
        while self.count < due:
            self._news.clear()
            await self._news.wait()


class Frames:
    """The HTTP/2 frames in one direction of a connection, which comes in pieces."""

    def __init__(self, preface: bytes = b"") -> None:
        self._pending = b""
        self._skip = len(preface)

    def pings_in(self, data: bytes) -> int:
        """How many pings the next piece completes the heads of."""
        self._pending += data
        count = 0
        while len(self._pending) >= self._skip + _HEAD:
            head = self._pending[self._skip : self._skip + _HEAD]
            self._pending = self._pending[self._skip + _HEAD :]
            self._skip = int.from_bytes(head[:3], "big")
            count += head[3] == _PING and not head[4] & _ACK
        return count


@dataclass(slots=True)
class Wire:
    """One proxy, for every connection that is made through it.

    Attributes:
        address: what bots dial.
        delay_s: by how much everything comes later, in each direction.
        bytes_per_s: what gets through, in each direction; 0: anything.
        pings_of_bot: what the bot's side pinged, whether it got through or not.
        pings_of_arena: the same of the other side.
    """

    address: str
    delay_s: float = 0
    bytes_per_s: int = 0
    pings_of_bot: Pings = field(default_factory=Pings)
    pings_of_arena: Pings = field(default_factory=Pings)
    _open: asyncio.Event = field(default_factory=asyncio.Event)
    _pairs: set[asyncio.StreamWriter] = field(default_factory=set)

    def stop(self) -> None:
        """From here on nothing gets through, and nobody is told: a black hole."""
        self._open.clear()

    def free(self) -> None:
        """Let it through again, what was held back as well."""
        self._open.set()

    def cut(self) -> None:
        """Reset every connection."""
        for writer in self._pairs:
            writer.transport.abort()
        self._pairs.clear()

    def carry_from_bot(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Carrying:
        """What the bot sends, until its end."""
        return self._carry(reader, writer, Frames(_PREFACE), self.pings_of_bot)

    def carry_from_arena(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Carrying:
        """What the arena sends, until its end."""
        return self._carry(reader, writer, Frames(), self.pings_of_arena)

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, frames: Frames, pings: Pings
    ) -> None:
        self._pairs.add(writer)
        with suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                pings.add(frames.pings_in(data))
                wait_s = self.delay_s + (len(data) / self.bytes_per_s if self.bytes_per_s else 0)
                if wait_s:
                    await asyncio.sleep(wait_s)
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
        self._pairs.discard(writer)


@asynccontextmanager
async def wire_to(target: str) -> AsyncIterator[Wire]:
    """A proxy to `host:port`, for the time of the block."""
    host, _, port = target.rpartition(":")
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        tasks.add(asyncio.create_task(wire.carry_from_bot(reader, far_writer)))
        tasks.add(asyncio.create_task(wire.carry_from_arena(far_reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    wire = Wire(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
    wire.free()
    try:
        yield wire
    finally:
        server.close()
        wire.cut()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
