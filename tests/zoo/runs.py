"""`kratzen run` as its user has it: a process of its own, to which the bots of the test dial in."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from arena.store import StoreReader
from kratzen.sdk.client import Settings
from kratzen.sdk.conversation import Conversation
from kratzen.v1 import bot_pb2
from sample_bots.faulty import RawBot
from sample_bots.random_bot import RandomBot

KRATZEN: Final = Path(sys.executable).with_name("kratzen")
BOTS: Final = ("ada", "bea", "cleo", "dora")
PATIENCE_S: Final = 40

_STARTED: Final[list[asyncio.subprocess.Process]] = []
_MAIN: Final = "from arena.cli.main import main; main()"
_TOKEN: Final = re.compile(r"waiting for (\S+): KRATZEN_ADDRESS=(\S+) KRATZEN_TOKEN=(\S+)")


def tournament_file(
    folder: Path,
    *,
    local: Sequence[str] = (),
    names: Sequence[str] = BOTS,
    blocks: int = 4,
    deals: int = 4,
    at_once: int = 4,
    preset: str = "salzburg",
    clock: str = "move_ms = 20000",
) -> Path:
    """A tournament at tables of four; the local bots are started by the arena, the others dial in."""
    entries = [
        f'[[bots]]\nname = "{name}"\n'
        + ('command = "python -m sample_bots.random_bot"\n' if name in local else "")
        for name in names
    ]
    file = folder / "zoo.toml"
    file.write_text(
        f"""
[tournament]
name = "zoo"
seed = 1
table_size = 4
blocks = {blocks}
sessions_at_once = {at_once}
[rules]
preset = "{preset}"
[session]
deals = {deals}
[clock]
{clock}
"""
        + "".join(entries)
    )
    return file


class PatientBot(RawBot):
    """Plays as the random sample bot does, each answer `after_s` later; from `holding` on not at all.

    Attributes:
        is_welcome: set once the arena has let it in.
        asked_count: requests so far.
        told: sessions whose result it was told as final.
        on_request: called with every request, before it is dealt with.
    """

    name = "patient"
    max_sessions = 64

    def __init__(self, settings: Settings, *, after_s: float = 0) -> None:
        super().__init__(settings)
        self.is_welcome = asyncio.Event()
        self.asked_count = 0
        self.told: set[str] = set()
        self.holding = False
        self.on_request: Callable[[], None] = lambda: None
        self.on_end: Callable[[], None] = lambda: None
        self._after_s = after_s
        self._conversation = Conversation(RandomBot(), complain=lambda _: None)

    async def heard(self, response: bot_pb2.PlayResponse) -> None:
        """Let the SDK's conversation decide."""
        self._conversation.take(response, 0.0)
        if response.HasField("welcome"):
            self.is_welcome.set()
        for end in response.session_ends:
            if end.ending == bot_pb2.ATTEMPT_END_FINISHED:
                self.told.add(end.session_id)
                self.on_end()
        for _ in response.requests:
            self.asked_count += 1
            self.on_request()
        while self._conversation.owes and not self.holding:
            answer = self._conversation.answer_next()
            if self._after_s:
                await asyncio.sleep(self._after_s)
            self.answered(answer)
            await self.write(
                bot_pb2.PlayRequest(answers=bot_pb2.Answers(answers=[answer])).SerializeToString()
            )

    def answered(self, answer: bot_pb2.Answer) -> None:
        """An answer is about to be sent."""


@asynccontextmanager
async def seated(bots: Iterable[RawBot]) -> AsyncIterator[None]:
    """Have bots run for the time of the block."""
    tasks = [asyncio.create_task(bot.run()) for bot in bots]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def asked_again(bots: Sequence[PatientBot], count: int) -> None:
    """Wait until the bots together were asked so often again."""
    due = sum(bot.asked_count for bot in bots) + count
    enough = asyncio.Event()

    def look() -> None:
        if sum(bot.asked_count for bot in bots) >= due:
            enough.set()

    for bot in bots:
        bot.on_request = look
    await enough.wait()


@dataclass(slots=True)
class Run:
    """A run that was started. Its bots that dial in have settings here, in the order of the file."""

    process: asyncio.subprocess.Process
    lines: list[str] = field(default_factory=list)
    settings: dict[str, Settings] = field(default_factory=dict)
    _reader: asyncio.Task[None] | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    async def start(
        cls, file: Path, out: Path, *options: str, remote: Sequence[str] = BOTS, broken: str = ""
    ) -> "Run":
        """Start, and wait until the arena waits for the bots that dial in.

        `broken` is Python that breaks a property on purpose, so that a test of it must fail, or has the
        arena stop itself at a moment that a test cannot see.
        """
        program = [KRATZEN] if not broken else [sys.executable, "-c", f"{broken}\n{_MAIN}"]
        process = await asyncio.create_subprocess_exec(
            *program,
            "run",
            file,
            "--out",
            out,
            *options,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        run = cls(process)
        _STARTED.append(process)
        waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        run._reader = asyncio.create_task(run._read(len(remote), waits))
        await asyncio.wait_for(waits, PATIENCE_S)
        return run

    async def wait_for_line(self, text: str) -> None:
        """Wait until it has said something on stderr."""
        async with asyncio.timeout(PATIENCE_S):
            while not any(text in line for line in self.lines):
                self._news.clear()
                await self._news.wait()

    async def wait(self) -> int:
        """Its exit code."""
        code = await asyncio.wait_for(self.process.wait(), PATIENCE_S)
        assert self._reader is not None
        await self._reader
        return code

    async def _read(self, count: int, waits: "asyncio.Future[None]") -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            text = line.decode()
            self.lines.append(text)
            self._news.set()
            if found := _TOKEN.search(text):
                self.settings[found[1]] = Settings(found[2], found[3])
                if len(self.settings) == count and not waits.done():
                    waits.set_result(None)
        if not waits.done():
            waits.set_exception(RuntimeError("".join(self.lines)))

    def bots(self, *, after_s: float = 0) -> list[PatientBot]:
        """A bot for everybody who dials in."""
        return [PatientBot(settings, after_s=after_s) for settings in self.settings.values()]


def end_all_runs() -> None:
    """Kill what a test that failed has left running."""
    while _STARTED:
        process = _STARTED.pop()
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a store has: the play of every session, its chips and faults, and the ratings."""

    digests: dict[tuple[int, int], str]
    chips: dict[tuple[int, int], tuple[tuple[str, int], ...]]
    fault_count: int
    ratings: object
    session_ids: frozenset[str]
    attempt_ends: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path) -> "Kept":
        """Read it."""
        with StoreReader.open(folder) as store:
            entries = store.sessions()
            results = [entry.result for entry in entries]
            return cls(
                digests={(e.result.block, e.result.session): e.play_sha256 for e in entries},
                chips={
                    (result.block, result.session): tuple([(seat.bot, seat.chips) for seat in result.seats])
                    for result in results
                },
                fault_count=sum(len(seat.faults) for result in results for seat in result.seats),
                ratings=store.ratings(),
                session_ids=frozenset(result.session_id for result in results),
                attempt_ends=tuple([str(attempt.ending) for attempt in store.attempts()]),
            )
