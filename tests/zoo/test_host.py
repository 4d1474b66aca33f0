"""What happens around an arena: a disk that stands still, packed bombs, two loops (G17, G20, X16)."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Final

import grpc
import grpc.aio
import pytest

from arena.results import SessionResult
from engine.actions import Action
from kratzen.sdk import Request
from kratzen.sdk.client import Settings, play
from sample_bots.faulty.raw import PLAY, Call, RawBot
from sample_bots.random_bot import RandomBot
from tests.arena.served import Served, served
from tests.zoo.small_arena import GOOD, Setting, ZooLedger, small_arena, tournament_of

PATIENCE_S: Final = 30
MIB: Final = 1024 * 1024


class HeldUpLedger(ZooLedger):
    """Its first result waits for a disk until the test lets it go."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting.blocks)
        self.waits = threading.Event()
        self.free = threading.Event()

    def record_session(self, result: SessionResult, replay: bytes) -> bool:
        """Keep it once the disk is there."""
        self.waits.set()
        assert self.free.wait(PATIENCE_S), "nobody went on playing while the disk stood still"
        return super().record_session(result, replay)


async def test_a_disk_that_stands_still_holds_no_session_up() -> None:
    """While a result waits to be kept, the other tables are asked and answer (G20)."""
    setting = Setting(tables=4, at_once=4)
    ledger = HeldUpLedger(setting)
    asked_meanwhile = 0

    class Counting(RandomBot):
        """Lets the disk go once others have played on for a while."""

        def decide(self, request: Request) -> Action:
            """Count, and decide as ever."""
            nonlocal asked_meanwhile
            asked_meanwhile += ledger.waits.is_set()
            if asked_meanwhile == 5:
                ledger.free.set()
            return super().decide(request)

    async with small_arena(setting) as arena:
        for name in (*GOOD, *setting.bad_names):
            arena.seat(play(Counting(), arena.settings(name)))
        with ThreadPoolExecutor(1) as disk:
            await tournament_of(setting, arena.arena, ledger, disk).run()
    assert len(ledger.outcomes) == 4
    assert asked_meanwhile >= 5


class Bomb(RawBot):
    """Sends many zeros, which take next to nothing on the way."""

    name = "bomb"

    def __init__(self, settings: Settings, size: int) -> None:
        super().__init__(settings)
        self._size = size
        self.sent_s = 0.0
        """When all of it was on its way; packing it is the bomb's own business."""

    @asynccontextmanager
    async def dialled(self) -> AsyncIterator[Call]:
        """A stream whose messages are packed."""
        options = (*self.options, ("grpc.max_send_message_length", -1))
        gzip = grpc.Compression.Gzip
        async with grpc.aio.insecure_channel(self._settings.address, options, compression=gzip) as channel:
            metadata = (("authorization", f"Bearer {self._settings.token}"),)
            self._call = channel.stream_stream(PLAY)(metadata=metadata, compression=gzip)
            yield self._call

    async def opened(self) -> None:
        """Say Hello and send it."""
        await self.say_hello()
        try:
            await self.write(bytes(self._size))
        finally:
            self.sent_s = monotonic()


@pytest.fixture(scope="module")
def arena_outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An arena in a process of its own, so that what is measured there is the arena's."""
    with served(tmp_path_factory.mktemp("host")) as arena:
        yield arena


def memory_kib(process: int, field: str) -> int:
    """A line of what the kernel says of a process's memory: `VmRSS` for now, `VmHWM` for its peak."""
    said = Path(f"/proc/{process}/status").read_text()
    return int(said.partition(f"{field}:")[2].split()[0])


def forget_peak(process: int) -> None:
    """Have the peak of a process's memory count from now on (proc(5), clear_refs)."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


@pytest.mark.alone
@pytest.mark.parametrize("mib", [1, 7, 64])
async def test_a_message_is_measured_once_it_is_unpacked(arena_outside: Served, mib: int) -> None:
    """However small it travelled: it is refused within 1 s, and takes up little at no time (X16, F12e).

    One of 64 MiB is more than gRPC unpacks, one of 7 MiB less, and above what the arena takes.
    """
    with arena_outside.client() as client:
        token = client.register_bot(f"bomb-{mib}")
    bot = Bomb(Settings(arena_outside.address, token), mib * MIB)
    process = arena_outside.process.pid
    forget_peak(process)
    before = memory_kib(process, "VmRSS")
    await asyncio.wait_for(bot.converse(), PATIENCE_S)
    took_s = monotonic() - bot.sent_s
    assert bot.status is not None
    assert bot.status[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert took_s <= 1
    assert (memory_kib(process, "VmHWM") - before) * 1024 <= 64 * MIB


TWO_LOOPS: Final = """
import asyncio, sys, threading
from kratzen.sdk.client import Settings, play
from sample_bots.random_bot import RandomBot

def run(token):
    asyncio.run(play(RandomBot(), Settings(sys.argv[1], token)))

threads = [threading.Thread(target=run, args=(token,)) for token in sys.argv[2:]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


async def test_bots_may_share_a_process_in_threads_of_their_own() -> None:
    """Two event loops side by side play to the end, and say nothing on stderr (G17)."""
    setting = Setting()
    async with small_arena(setting) as arena:
        names = (*GOOD, *setting.bad_names)
        tokens = [arena.settings(name).token for name in names]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", TWO_LOOPS, arena.arena.address, *tokens), stderr=subprocess.PIPE
        )
        (outcome,) = await arena.play()
        _, said = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert (process.returncode, said.decode()) == (0, "")
    assert outcome.bad.faults == ()
    assert outcome.faults_of_good == []
