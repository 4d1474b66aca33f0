"""Who is charged for what: bots for all of their own time, nobody for the arena's (F5, F6, T01, T02, T14)."""

import asyncio
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from time import monotonic
from typing import Final

import pytest
from structlog.typing import EventDict

from arena.clock import LATE_US, ClockSettings, SystemTime
from arena.faults import FaultCause
from arena.lag import BEAT_US, WINDOW_BEATS, Heartbeat
from arena.record import DecisionRecord, Origin
from arena.replay import parse
from arena.results import AttemptEnd
from arena.runner import SessionRunner
from engine.events import Decided
from kratzen.sdk.client import Settings
from sample_bots.faulty import RawBot
from tests.arena.tables import ScriptedSeat, TableTime, referee
from tests.figures import Figure
from tests.zoo import metronomes
from tests.zoo.leftovers import nothing_left_over
from tests.zoo.small_arena import CALM, GOOD, Outcome, Setting, bad_name, small_arena

LIMIT_MS: Final = 200
CLOCK: Final = ClockSettings(
    move_ms=LIMIT_MS, bank_ms=0, first_answer_ms=0, join_ms=30_000, max_strikes=10**6
)
LOADED_US: Final = 25_000
"""By so much at most the charge is above the bot's own measure for 99 in 100, on a machine that is busy."""
CALM_US: Final = 10_000
"""The same on a machine that is not."""
MOST_LEFT_OUT: Final = 0.25
"""Of so many decisions at most the bot itself may be late, where the machine is not made busy on purpose."""
ROOM_US: Final = 30_000
"""A bot that by its own account left so much of its limit was in time: by less than this its process may be
late without seeing it, where the machine is busy."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One decision of a bot that was asked: how it came about, and what the bot itself knows of it.

    Attributes:
        measured_us: from reading the request to having the answer ready.
        late_us: by how much the bot's own process was late besides, in reading and in writing.
    """

    bot: str
    record: DecisionRecord
    measured_us: int
    late_us: int

    @property
    def own_us(self) -> int:
        """What the bot took by its own account; a busy machine makes it late by itself."""
        return self.measured_us + self.late_us

    @property
    def over_us(self) -> int:
        """What was charged beyond the bot's own time."""
        return self.record.charged_us - self.own_us


AT_ONCE: Final = 64
"""Tables that are played at one time, if there are as many."""

SMALL: Final = (16, 1)

SIZES: Final = [
    SMALL,
    pytest.param((256, 6), marks=[pytest.mark.nightly, pytest.mark.alone]),
    pytest.param((2304, 6), marks=[pytest.mark.soak, pytest.mark.alone]),
]
"""Tables and deals: some hundred decisions, some ten thousand, a hundred thousand."""

MOST_BOTS: Final = 256
"""More of them do not come in within half a minute."""


ENOUGH_FOR_P99: Final = 2000
"""Of fewer decisions the 99th percentile is a matter of single ones, and is only printed."""


class Beats:
    """Keeps by how much the arena's heartbeat was late, and whether it was late when a session ended.

    Attributes:
        late_at_ends: for each session, in the order of their ends.
        most_at_once: so many sessions were played side by side at the most.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.late_at_ends: list[bool] = []
        self.most_at_once = 0
        self._open_count = 0
        self._late_us: deque[int] = deque(maxlen=WINDOW_BEATS)
        self._last: tuple[Heartbeat, int] | None = None
        beat, start, close = Heartbeat.beat, SessionRunner.open, SessionRunner.close

        def kept_beat(heartbeat: Heartbeat, now_us: int, waited_us: int = 0) -> None:
            if self._last is not None and self._last[0] is heartbeat:
                self._late_us.append(now_us - self._last[1] - BEAT_US)
            self._last = (heartbeat, now_us)
            beat(heartbeat, now_us, waited_us)

        def kept_open(runner: SessionRunner) -> None:
            self._open_count += 1
            self.most_at_once = max(self.most_at_once, self._open_count)
            start(runner)

        def kept_close(runner: SessionRunner, ending: AttemptEnd) -> None:
            self._open_count -= 1
            self.late_at_ends.append(percentile(list(self._late_us), 99) > LATE_US)
            close(runner, ending)

        monkeypatch.setattr(Heartbeat, "beat", kept_beat)
        monkeypatch.setattr(SessionRunner, "open", kept_open)
        monkeypatch.setattr(SessionRunner, "close", kept_close)

    def judge(self, logs: list[EventDict], figure: Figure) -> None:
        """An arena that was late when most of its sessions ended has said so."""
        said = [entry["event"] for entry in logs if entry["event"] in ("arena late", "arena in time again")]
        late = sum(self.late_at_ends)
        figure(
            "F5",
            f"late at {late} of {len(self.late_at_ends)} ends of sessions, at most {self.most_at_once} at "
            f"once; the arena said {said}",
        )
        assert "arena late" in said or late <= len(self.late_at_ends) / 2


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """So many processes that use up all the time of the machine that they can get."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


async def keep_time(
    size: tuple[int, int],
    *,
    good_ms: int,
    bad_ms: int,
    at_once: int = AT_ONCE,
    hog_count: int = 0,
) -> list[Judged]:
    """Play tables side by side with bots that answer after so many ms; what their journals have too.

    The fourth at a table is another at each, unless there are too many tables for that.
    """
    tables, deals = size
    setting = Setting(clock=CLOCK, tables=tables, at_once=at_once, deals=deals, is_one_bot=tables > MOST_BOTS)
    after_ms = {**dict.fromkeys(GOOD, good_ms), **dict.fromkeys(setting.bad_names, bad_ms)}
    async with small_arena(setting) as arena:
        orchestra = await metronomes.start(arena, after_ms)
        assert await arena.arena.lobby.wait_for(after_ms, 30) == ()
        with hogs(hog_count):
            outcomes = await arena.play()
        return judged_by(await orchestra.journals(), outcomes)


def judged_by(journals: dict[str, metronomes.Journal], outcomes: list[Outcome]) -> list[Judged]:
    """Every decision that a bot was asked; each of the requests was read, whatever became of it."""
    judged = []
    for outcome in outcomes:
        header = outcome.replay.header
        for step in outcome.replay.steps:
            if not isinstance(step.event, Decided) or not step.decision or not step.decision.request_id:
                continue
            name = header.seats[step.event.seat].bot
            entry = journals[name].get((header.session_id, step.decision.request_id))
            assert entry is not None, f"{name} was never sent what it is judged for: {step.decision}"
            judged.append(Judged(name, step.decision, *entry))
    return judged


def percentile(values: list[int], percent: int) -> int:
    """So many of a hundred values are no larger."""
    return sorted(values)[-(-len(values) * percent // 100) - 1]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_bots_at_half_their_limit_are_never_timed_out(size: tuple[int, int], figure: Figure) -> None:
    """Many tables at once, bots at half the limit: no time-out, and they are charged their own time (T01)."""
    await see_that_half_the_limit_is_in_time(size, figure)


@pytest.mark.nightly
@pytest.mark.alone
async def test_a_machine_that_is_busy_with_others_times_nobody_out(
    figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight that take all the time they get, beside the arena and its bots; it says when it is late."""
    beats = Beats(monkeypatch)
    logs = await see_that_half_the_limit_is_in_time((64, 6), figure, hog_count=8, most_over_us=None)
    beats.judge(logs, figure)


@pytest.mark.nightly
@pytest.mark.alone
async def test_an_arena_takes_on_no_more_than_it_can_do_in_time(
    figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times as many at once as before are wanted: it finds out how many it can do, at nobody's cost."""
    beats = Beats(monkeypatch)
    size = (12 * AT_ONCE, 9)
    logs = await see_that_half_the_limit_is_in_time(size, figure, at_once=4 * AT_ONCE, most_over_us=None)
    beats.judge(logs, figure)
    assert beats.most_at_once > AT_ONCE


@pytest.mark.nightly
@pytest.mark.alone
async def test_an_arena_at_ease_charges_next_to_nothing_of_its_own(figure: Figure) -> None:
    """With few tables at once, on a machine that is quiet, the charge is the bot's own measure to 10 ms."""
    await see_that_half_the_limit_is_in_time((64, 6), figure, at_once=AT_ONCE // 4, most_over_us=CALM_US)


async def see_that_half_the_limit_is_in_time(
    size: tuple[int, int],
    figure: Figure,
    *,
    at_once: int = AT_ONCE,
    hog_count: int = 0,
    most_over_us: int | None = LOADED_US,
) -> list[EventDict]:
    """Have bots answer at half the limit: none is timed out, all are charged their own time.

    For 99 in 100 the charge is above it by `most_over_us` at the most. None is for a machine that has more to
    do than it can: how long threads of the transport then wait for a processor is told, and not judged.

    Returns:
        What the arena logged.
    """
    half_ms = LIMIT_MS // 2
    async with nothing_left_over() as logs:
        judged = await keep_time(size, good_ms=half_ms, bad_ms=half_ms, at_once=at_once, hog_count=hog_count)
    on_time = [each for each in judged if each.own_us <= LIMIT_MS * 1000 - ROOM_US]
    over_us = [each.over_us for each in on_time]
    left_out = len(judged) - len(on_time)
    timed_out = [each for each in on_time if each.record.origin is not Origin.ASKED]
    assert on_time, "the machine was so busy that no bot was on time: nothing can be judged"
    figure(
        "F5",
        f"n = {len(on_time)} decisions at {size[0]} tables, {min(at_once, size[0])} at once, "
        f"{len(timed_out)} time-outs ({left_out} of {len(judged)} left out, since the bot was itself late); "
        f"charged minus measured p50 "
        f"{percentile(over_us, 50)} us, p99 {percentile(over_us, 99)} us; lag p99 "
        f"{percentile([each.record.lag_us for each in judged], 99)} us, of the bots' process "
        f"{percentile([each.late_us for each in judged], 99)} us",
    )
    # What passed between handing over and arrival holds all of the bot's own time.
    assert all(each.record.charged_us + each.record.lag_us >= each.measured_us for each in on_time)
    assert timed_out == []
    assert few_are_left_out(left_out, of=len(judged)) or hog_count
    if most_over_us is not None and len(on_time) >= ENOUGH_FOR_P99:
        assert percentile(over_us, 99) <= most_over_us
    return logs


def few_are_left_out(left_out: int, *, of: int) -> bool:
    """Whether the bots were seldom late by themselves, as must be where the machine is not made busy.

    Of a few decisions beside the other tests of a normal run one moment of the machine is many.
    """
    return of < ENOUGH_FOR_P99 or left_out <= MOST_LEFT_OUT * of


# Beside the other tests of a normal run the machine's own delays come near the 50 ms that are judged.
@pytest.mark.parametrize(
    "size", [pytest.param(SMALL, marks=[pytest.mark.nightly, pytest.mark.alone]), *SIZES[1:]], ids=str
)
async def test_50_ms_decide(size: tuple[int, int], figure: Figure) -> None:
    """Bots 50 ms under the limit are never timed out, bots 50 ms over it always.

    It is a bot's own account that says where it was. And what the arena itself kept waiting for
    so long is not charged.
    """
    async with nothing_left_over():
        judged = await keep_time(size, good_ms=LIMIT_MS - 50, bad_ms=LIMIT_MS + 50)
    of_good = [each for each in judged if each.bot in GOOD]
    under = [each for each in of_good if each.own_us <= LIMIT_MS * 1000 - ROOM_US]
    left_out = len(of_good) - len(under)
    over = [each for each in judged if each.measured_us >= (LIMIT_MS + 50) * 1000]
    assert [each for each in under if each.record.origin is not Origin.ASKED] == []
    excused = [each for each in over if each.record.origin is Origin.ASKED]
    assert all(each.record.cause is FaultCause.TIMEOUT for each in over if each not in excused)
    assert all(each.record.lag_us >= each.measured_us - LIMIT_MS * 1000 for each in excused)
    figure(
        "F5",
        f"n = {len(under)} decisions 50 ms under, 0 time-outs ({left_out} of {len(of_good)} left out, since "
        f"the bot was itself late); {len(over)} 50 ms over, "
        f"{len(over) - len(excused)} time-outs, {len(excused)} excused by the arena's own lag",
    )
    assert few_are_left_out(left_out, of=len(of_good))


# ------------------------------------------------------------------ the machine's own clock


class SteppedTime(TableTime):
    """A time whose wall clock is put forward and back by an hour at every look, as nobody would."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = 0

    def utc_text(self) -> str:
        """The time of day, wrong by an hour one way or the other."""
        self._looks += 1
        moment = datetime(2026, 3, 29, 2, tzinfo=UTC) + timedelta(hours=self._looks % 2)
        return moment.isoformat(timespec="milliseconds")


async def test_steps_of_the_wall_clock_change_no_result() -> None:
    """The same session, time-outs included, whatever the time of day does meanwhile (T14, F6)."""
    digests = set()
    for time in (TableTime(), SteppedTime()):
        seats = [ScriptedSeat(time, after_us=us) for us in (0, 999_000, 10**12, 5)]
        runner = SessionRunner(referee(deals=3), seats, time.clockwork())
        runner.open()
        played = await runner.play()
        assert played.result.seats[2].strikes > 0
        digests.add(parse(played.replay).end.play_sha256)
    assert len(digests) == 1


@pytest.fixture
def wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wall clock by a script, whichever way it is asked: it is put forward, back, and goes on."""
    hours = iter((12, 13, 12, 12, 13, 14))

    class Stepped(datetime):
        """A wall clock by that script."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Stepped":
            """The next of the script."""
            return cls(2026, 3, 29, next(hours), tzinfo=tz)

    monkeypatch.setattr("arena.clock.datetime", Stepped)
    monkeypatch.setattr("time.time", lambda: Stepped.now(UTC).timestamp())
    monkeypatch.setattr("time.time_ns", lambda: int(Stepped.now(UTC).timestamp()) * 10**9)


@pytest.mark.usefixtures("wall_clock")
def test_limits_do_not_follow_the_wall_clock() -> None:
    """While that is put forward and back by hours, the clock of limits goes on by what has passed (T14)."""
    time, began_s = SystemTime(), monotonic()
    looks = [time.now_us() for _ in range(6)]
    took_us = (monotonic() - began_s) * 1_000_000
    assert looks == sorted(looks)
    assert looks[-1] - looks[0] <= took_us + 1


@pytest.mark.usefixtures("wall_clock")
def test_stamps_of_one_process_are_in_order() -> None:
    """A wall clock that is put back holds the stamps up until it has caught up; they are UTC (F6)."""
    time = SystemTime()
    stamps = [time.utc_text() for _ in range(6)]
    assert stamps == sorted(stamps)
    assert [stamp[11:13] for stamp in stamps] == ["12", "13", "13", "13", "13", "14"]
    assert all(stamp.endswith("+00:00") for stamp in stamps)


# ------------------------------------------------------------------ cold starts


class SlowStarter(RawBot):
    """Dials after a time that it needs to load."""

    name = "slow_starter"

    def __init__(self, settings: Settings, load_ms: int) -> None:
        super().__init__(settings)
        self._load_ms = load_ms

    async def run(self) -> None:
        """Load, then play."""
        await asyncio.sleep(self._load_ms / 1000)
        await self.converse()


LOADS_MS: Final = (0, 500, 800, 1200, 2000)
JOIN_MS: Final = 1000


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.nightly)])
async def test_a_bot_is_in_or_out_by_the_join_limit_alone(rounds: int, figure: Figure) -> None:
    """Who loads for less than the limit plays, who loads for longer forfeits, each time (T07, E01)."""
    clock = replace(CALM, join_ms=JOIN_MS)
    for _ in range(rounds):
        async with small_arena(Setting(clock=clock, tables=len(LOADS_MS))) as arena:
            arena.seat_good_bots()
            assert await arena.arena.lobby.wait_for(GOOD, 30) == ()
            for table, load_ms in enumerate(LOADS_MS, start=1):
                arena.seat(SlowStarter(arena.settings(bad_name(table)), load_ms).run())
            began_s = monotonic()
            outcomes = {outcome.result.block: outcome for outcome in await arena.play()}
            # A table whose bot does not come waits for the limit, once.
            assert JOIN_MS / 1000 <= monotonic() - began_s <= JOIN_MS / 1000 + 1
        for table, load_ms in enumerate(LOADS_MS, start=1):
            causes = [fault.cause for fault in outcomes[table].bad.faults]
            assert causes == ([] if load_ms < JOIN_MS else [FaultCause.NO_HANDSHAKE])
            assert outcomes[table].faults_of_good == []
    figure("F6", f"n = {rounds} starts each of {LOADS_MS} ms against {JOIN_MS} ms")
