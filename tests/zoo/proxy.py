"""A wire that can be spoilt: a proxy between a bot and the arena that delays, narrows, stops or cuts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

_CHUNK: Final = 4096


@dataclass(slots=True)
class Wire:
    """One proxy, for every connection that is made through it.

    Attributes:
        address: what bots dial.
        delay_s: by how much everything comes later, in each direction.
        bytes_per_s: what gets through, in each direction; 0: anything.
    """

    address: str
    delay_s: float = 0
    bytes_per_s: int = 0
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

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one direction until its end."""
        self._pairs.add(writer)
        with suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
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
        for pair in ((reader, far_writer), (far_reader, writer)):
            tasks.add(asyncio.create_task(wire.carry(*pair)))

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
