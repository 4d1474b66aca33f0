"""A small arena for each test: the real server on loopback, tables of four, a ledger in memory.

Three at a table are good: sample bots on the SDK, which answer by a rule that follows from the
request alone. The fourth is whatever the test puts there, another one at each table.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from arena.auth import AdminPass, new_token, token_hash
from arena.cli.building import OpenArena, Site, open_arena
from arena.clock import ClockSettings, Time
from arena.faults import Fault
from arena.launcher import BotStart, ExitReport, Launcher
from arena.ledger import Attempt
from arena.link import LinkLimits
from arena.local_bots import LocalBots
from arena.messages import GoodbyeReason
from arena.record import DecisionRecord
from arena.replay import Replay, parse
from arena.replay_verify import verify
from arena.results import AttemptEnd, SeatResult, SessionResult, SlotState
from arena.schedule import Block, Slot
from arena.tournament import Terms, Tournament
from engine.events import Decided
from engine.rules import make_ruleset, make_session_options
from kratzen.sdk.client import Settings, play
from sample_bots.random_bot import RandomBot
from tests.arena.bots import MemoryLedger

SEED: Final = sha256(b"363").digest()
"""By this one the bad bot of the first table is asked every kind of question."""
GOOD: Final = ("ada", "bea", "cleo")
RULESET: Final = make_ruleset("salzburg", {"muss_after": "normal_failure"})

CALM: Final = ClockSettings(move_ms=30_000, bank_ms=0, first_answer_ms=0, join_ms=30_000, max_strikes=2)
"""For faults that have nothing to do with time: nobody runs out of it, however busy the machine is."""

BRISK: Final = ClockSettings(move_ms=300, bank_ms=0, first_answer_ms=0, join_ms=30_000, max_strikes=2)
"""For faults that cost the clock of a decision."""


def bad_name(table: int) -> str:
    """The bad bot at a table; tables are numbered from 1."""
    return f"bad{table}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is played, and under which limits.

    Attributes:
        clock: the clocks.
        limits: of every link.
        deals: of a session.
        tables: how many sessions, each with the bad bot on another seat.
        is_one_bot: whether the same bad bot sits at all tables; else there is one for each.
        at_once: how many of them are played side by side.
    """

    clock: ClockSettings = CALM
    limits: LinkLimits = field(default_factory=LinkLimits)
    deals: int = 3
    tables: int = 1
    is_one_bot: bool = False
    at_once: int = 16

    @property
    def bad_names(self) -> tuple[str, ...]:
        """The bad bots."""
        return tuple([bad_name(table) for table in range(1, 2 if self.is_one_bot else self.tables + 1)])

    def block(self, table: int) -> Block:
        """The one session of a table."""
        seat = table % 4
        bad = bad_name(1 if self.is_one_bot else table)
        seating = (*GOOD[:seat], bad, *GOOD[seat:])
        return Block(number=table, group=seating, slots=(Slot(table, 1, seating),))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The schedule."""
        return tuple([self.block(table) for table in range(1, self.tables + 1)])

    @property
    def terms(self) -> Terms:
        """What every session is played under."""
        return Terms(
            name="zoo",
            seed=SEED,
            ruleset=RULESET,
            options=make_session_options(RULESET, {"players": 4, "deals": self.deals}),
            clock=self.clock,
            sessions_at_once=self.at_once,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """A session that was played: what it gave, and its replay."""

    result: SessionResult
    replay: Replay

    @property
    def bad(self) -> SeatResult:
        """What the bad bot got."""
        return next(seat for seat in self.result.seats if seat.bot not in GOOD)

    @property
    def faults_of_good(self) -> list[Fault]:
        """What the others were charged with."""
        return [fault for seat in self.result.seats if seat.bot in GOOD for fault in seat.faults]

    @property
    def decisions(self) -> list[tuple[int, DecisionRecord]]:
        """How every decision came about, with its seat."""
        return [
            (step.event.seat, step.decision)
            for step in self.replay.steps
            if isinstance(step.event, Decided) and step.decision
        ]

    @property
    def decisions_of_bad(self) -> list[DecisionRecord]:
        """How the decisions of the bad bot came about."""
        return [record for seat, record in self.decisions if seat == self.bad.seat]


class ZooLedger(MemoryLedger):
    """Keeps the replays too."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self.outcomes: list[Outcome] = []

    def record_session(self, result: SessionResult, replay: bytes) -> bool:
        """Keep a session whose replay is true."""
        assert verify(replay) is None
        self.outcomes.append(Outcome(result, parse(replay)))
        return super().record_session(result, replay)


class _Nobody:
    """Watches a tournament, and does not mind."""

    def session_finished(self, result: SessionResult) -> None:
        """Nothing."""

    def attempt_failed(self, attempt: Attempt, state: SlotState) -> None:
        """Nothing."""

    def bot_withdrawn(self, bot: str, why: str, voided: int) -> None:
        """Nothing."""


async def _kept_by_nobody(name: str, report: ExitReport) -> None:
    """How a bot ended is of no interest."""


def _never_fails(name: str, error: Exception) -> None:
    raise AssertionError(f"bot {name} could not be kept going") from error


def tournament_of(setting: Setting, arena: OpenArena, ledger: ZooLedger, disk: Executor) -> Tournament:
    """The tournament of a setting, in an arena that is open."""
    return Tournament(
        setting.terms, ledger, arena.lobby, arena.clockwork, disk=disk, watcher=_Nobody(), digests={}
    )


class Presence(asyncio.Event):
    """Set while a bot is there, as a member's `there`, which it takes the place of.

    Attributes:
        is_over: set once the bot is there no longer.
        came_at: when it was there first, as the arena stamps it; empty before.
    """

    def __init__(self, time: Time) -> None:
        super().__init__()
        self.is_over = asyncio.Event()
        self.came_at = ""
        self._time = time

    def set(self) -> None:
        """The bot is there."""
        self.came_at = self.came_at or self._time.utc_text()
        super().set()

    def clear(self) -> None:
        """The bot is gone."""
        super().clear()
        self.is_over.set()


class SmallArena:
    """An arena that is open, and the bots that the test lets in."""

    def __init__(self, arena: OpenArena, setting: Setting) -> None:
        self.arena = arena
        self._setting = setting
        self._bots: list[asyncio.Task[object]] = []

    def settings(self, name: str) -> Settings:
        """How a bot of that name gets in."""
        return Settings(self.arena.address, self.arena.tokens.issue(name))

    def presence(self, name: str) -> Presence:
        """Whether a bot is there, to be asked for before it comes."""
        presence = Presence(self.arena.clockwork.time)
        self.arena.lobby.member(name).there = presence
        return presence

    def seat(self, bot: Coroutine[object, object, object]) -> asyncio.Task[object]:
        """Have a bot run until the end of the arena at the latest."""
        task: asyncio.Task[object] = asyncio.create_task(bot)
        self._bots.append(task)
        return task

    def seat_good_bots(self) -> None:
        """Have the three good bots run."""
        for name in GOOD:
            self.seat(play(RandomBot(), self.settings(name)))

    @asynccontextmanager
    async def processes(self, words: Sequence[str], folder: Path) -> AsyncIterator[None]:
        """Have the bad bots run as processes that the arena starts; logs go to `folder`."""
        launcher = Launcher(log_folder=folder, tournament_folder=folder)
        bots = LocalBots(
            launcher,
            self.arena.lobby,
            lambda _: None,
            on_failed=_never_fails,
            keep_end=_kept_by_nobody,
            before={},
        )
        starts = [
            BotStart(
                number=number,
                name=name,
                words=tuple(words),
                address=self.arena.address,
                token=self.arena.tokens.issue(name),
            )
            for number, name in enumerate(self._setting.bad_names, start=1)
        ]
        try:
            await bots.start(starts)
            yield
        finally:
            await bots.stop()

    async def play(self) -> list[Outcome]:
        """Play all sessions with whoever is there; everybody is told when they are over."""
        outcomes = await self.play_tables()
        self.say_goodbye()
        return outcomes

    async def play_tables(self) -> list[Outcome]:
        """Play all sessions with whoever is there, who may stay for more."""
        setting = self._setting
        ledger = ZooLedger(setting.blocks)
        with ThreadPoolExecutor(1) as disk:
            await tournament_of(setting, self.arena, ledger, disk).run()
        # An attempt that the arena spoils is played again, and nobody would see it.
        ends = [end for ends in ledger.attempt_ends.values() for end in ends]
        assert ends == [AttemptEnd.FINISHED] * setting.tables, [str(end) for end in ends]
        return ledger.outcomes

    def say_goodbye(self) -> None:
        """Tell everybody that there is nothing left to play."""
        self.arena.lobby.close(GoodbyeReason.FINISHED, "the tournament is over")

    async def dismiss(self) -> None:
        """End the bots that have not ended by themselves; what a bot raised comes out here."""
        for bot in self._bots:
            bot.cancel()
        ends = await asyncio.gather(*self._bots, return_exceptions=True)
        raised = [end for end in ends if isinstance(end, Exception)]
        if raised:
            raise ExceptionGroup("bots failed", raised)


@asynccontextmanager
async def small_arena(setting: Setting) -> AsyncIterator[SmallArena]:
    """An arena for the time of the block, with an admin token that nobody has; no bot outlives it."""
    admin = AdminPass(token_hash(new_token()))
    async with open_arena(Site(address="127.0.0.1:0", admin=admin, link=setting.limits)) as arena:
        small = SmallArena(arena, setting)
        try:
            yield small
        finally:
            await small.dismiss()
