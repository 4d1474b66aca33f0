"""Bots that answer after a fixed time, many in one process of their own, and what they measured themselves.

    python -m tests.zoo.metronomes

reads from stdin where the arena is and who they are, and writes their journals to stdout when
the arena has said goodbye to them all; both are JSON.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from arena.clock import SystemTime
from arena.lag import Heartbeat, beat_forever
from kratzen.sdk.client import Settings
from kratzen.v1 import bot_pb2
from sample_bots.faulty import RawBot
from sample_bots.faulty.raw import answers_to
from tests.zoo.small_arena import SmallArena

Journal: TypeAlias = dict[tuple[str, int], tuple[int, int]]
"""By session and request, every one that was read: microseconds from then to having the answer ready (or to
the end of the stream), and by how many this process was late besides: when it read, and until its
transport had taken the answer."""


TIME: Final = SystemTime()
LOOK_BACK_US: Final = 500_000
"""What this process was late by in so long a time before a request was read may have kept it waiting."""


class Metronome(RawBot):
    """Answers every request a fixed time after it was read, whatever else it is asked meanwhile."""

    name = "metronome"
    max_sessions = 256
    # A connection each: they would share one otherwise, and it takes 128 calls.
    options = (*RawBot.options, ("grpc.use_local_subchannel_pool", 1))

    def __init__(self, settings: Settings, after_ms: int, heartbeat: Heartbeat) -> None:
        super().__init__(settings)
        self.journal: Journal = {}
        self._heartbeat = heartbeat
        self._after_ms = after_ms
        self._answers: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()
        self._due: list[bot_pb2.Answer] = []
        """Answers that wait for the message before theirs to be taken."""

    async def run(self) -> None:
        """Play until the stream ends; what would be answered later is not."""
        try:
            await self.converse()
        finally:
            for answer in self._answers:
                answer.cancel()
            await asyncio.gather(*self._answers, return_exceptions=True)

    async def asked(self, request: bot_pb2.Request) -> None:
        """Note it, whatever becomes of it, and begin to wait."""
        read_us = TIME.now_us()
        late_us = self._heartbeat.lag_us(read_us - LOOK_BACK_US, read_us)
        self.journal[request.session_id, request.request_id] = (0, late_us)
        self._answers.add(asyncio.create_task(self._answer_later(request, read_us, late_us)))

    async def _answer_later(self, request: bot_pb2.Request, read_us: int, late_us: int) -> None:
        key = request.session_id, request.request_id
        try:
            await asyncio.sleep(self._after_ms / 1000)
        finally:
            ready_us = TIME.now_us()
            self.journal[key] = (ready_us - read_us, late_us)
        self._due.append(answers_to(request).answers.answers[0])
        try:
            async with self._one_at_a_time:
                await self._send_what_is_due()
        finally:
            self.journal[key] = (ready_us - read_us, late_us + TIME.now_us() - ready_us)

    async def _send_what_is_due(self) -> None:
        """As one message, unless whoever wrote before has taken it along."""
        due, self._due = self._due, []
        if due:
            await self.write(bot_pb2.PlayRequest(answers=bot_pb2.Answers(answers=due)).SerializeToString())


@dataclass(frozen=True, slots=True)
class Orchestra:
    """A process of metronomes that has been started."""

    process: asyncio.subprocess.Process

    async def journals(self) -> dict[str, Journal]:
        """What each of them measured; they end with the arena."""
        assert self.process.stdout is not None
        written = json.loads(await self.process.stdout.read())
        assert await self.process.wait() == 0
        return {
            name: {(session_id, request_id): (us, late_us) for session_id, request_id, us, late_us in entries}
            for name, entries in written.items()
        }


async def start(arena: SmallArena, after_ms: Mapping[str, int]) -> Orchestra:
    """Start a process of metronomes: by name, how long each of them waits."""
    bots = {name: (arena.settings(name).token, wait_ms) for name, wait_ms in after_ms.items()}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.zoo.metronomes", stdin=pipe, stdout=pipe
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({"address": arena.arena.address, "bots": bots}).encode())
    process.stdin.write_eof()
    return Orchestra(process)


async def main() -> None:
    """Play."""
    told: Final = json.load(sys.stdin)
    heartbeat = Heartbeat(TIME.now_us())
    beat = asyncio.create_task(beat_forever(heartbeat, TIME))
    bots = {
        name: Metronome(Settings(told["address"], token), after_ms, heartbeat)
        for name, (token, after_ms) in told["bots"].items()
    }
    await asyncio.gather(*(bot.run() for bot in bots.values()))
    beat.cancel()
    journals = {name: [(*key, *entry) for key, entry in bot.journal.items()] for name, bot in bots.items()}
    json.dump(journals, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
