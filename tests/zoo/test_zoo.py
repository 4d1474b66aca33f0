"""The zoo of bad bots over real links: the right cause on the right seat, nobody else the worse for it (F4).

Each behaviour of `sample_bots.faulty` sits at a table with three good bots. The measure is the
same session played by the engine alone, with the fallback for whatever the bad bot did not do.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest
from grpc import StatusCode

from arena.clock import US_PER_MS
from arena.faults import FaultCause
from arena.lag import MOST_DOUBT_US, Heartbeat
from arena.link import LinkLimits
from arena.messages import RejectReason
from arena.record import Origin
from arena.runner import Played, SessionRunner
from engine.actions import DecisionKind
from sample_bots.faulty import ZOO, RawBot
from sample_bots.faulty.lives import TwoAtOnce
from tests.figures import Figure
from tests.zoo.leftovers import nothing_left_over, resident_bytes
from tests.zoo.reference import Errs, always, at_numbers, expected, from_number, never, when_asked
from tests.zoo.small_arena import BRISK, CALM, GOOD, Outcome, Setting, small_arena

LATE_ALLOWED_US: Final = 50_000
"""By so much at most a limit fires late, what the arena itself was late by not counted (T06)."""

SPARE_MS: Final = 1000
"""By so much at most a session takes longer than its clocks say."""

MAX_GROWN_MIB: Final = 20
"""By so much at most the process may grow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How a behaviour is played, and what must come of it.

    Attributes:
        causes: of its faults; each fault has one of them.
        errs: which questions it gives no good answer to.
        forfeits_at: the fault that ends its session: with 0 it is not there at all.
        is_process: whether it must be a process of its own, since it ends or stops that.
        strays: answers of it that fit no open request, of which there are some.
        statuses: what its streams end with, as it is told; empty when it does not look. A process tells
            nobody.
    """

    causes: frozenset[FaultCause] = frozenset()
    errs: Errs = never
    forfeits_at: int = CALM.max_strikes
    setting: Setting = field(default_factory=Setting)
    is_process: bool = False
    strays: frozenset[RejectReason] = frozenset()
    statuses: tuple[StatusCode, ...] = (StatusCode.OK,)


def absent(*statuses: StatusCode, **limits: int) -> Case:
    """It never gets as far as a Hello that is accepted."""
    clock = replace(CALM, join_ms=500)
    return Case(
        causes=frozenset({FaultCause.NO_HANDSHAKE}),
        forfeits_at=0,
        setting=Setting(clock=clock, limits=LinkLimits(**limits)),
        statuses=statuses,
    )


def gone(errs: Errs) -> Case:
    """It exits once too often."""
    return Case(causes=frozenset({FaultCause.EXITED}), errs=errs, forfeits_at=1, is_process=True)


def silent(
    cause: FaultCause,
    errs: Errs = always,
    *,
    strays: RejectReason | None = None,
    status: StatusCode = StatusCode.OK,
) -> Case:
    """Its clock runs out, for whatever reason."""
    return Case(
        causes=frozenset({cause}),
        errs=errs,
        setting=Setting(clock=BRISK),
        strays=frozenset({strays} if strays else ()),
        statuses=(status,),
    )


def cheating(kind: DecisionKind) -> Case:
    """It answers one kind of question against the rules."""
    return Case(causes=frozenset({FaultCause.ILLEGAL}), errs=when_asked(kind))


def at_limit(*causes: FaultCause) -> Case:
    """It answers near the end of its time, each time."""
    return Case(causes=frozenset(causes), setting=Setting(clock=BRISK, deals=1))


CASES: Final = {
    "never_connects": absent(),
    "no_hello": absent(StatusCode.DEADLINE_EXCEEDED, hello_ms=100),
    "wrong_version": absent(StatusCode.FAILED_PRECONDITION),
    "wrong_token": absent(StatusCode.UNAUTHENTICATED),
    "hello_then_silence": silent(FaultCause.TIMEOUT),
    "exits_before_turn": gone(always),
    "exits_during_turn": gone(always),
    "exits_after_turn": gone(from_number(5)),
    "stops_itself": replace(silent(FaultCause.TIMEOUT), is_process=True),
    "half_closes": silent(FaultCause.DISCONNECTED),
    "cancels": silent(FaultCause.DISCONNECTED, status=StatusCode.CANCELLED),
    "reconnects_often": Case(),
    "two_at_once": Case(statuses=(StatusCode.ABORTED, StatusCode.OK)),
    "never_reads": replace(
        silent(FaultCause.NOT_READING),
        setting=Setting(clock=replace(BRISK, move_ms=800), limits=LinkLimits(unread_ms=500)),
        statuses=(),
    ),
    "random_bytes": silent(FaultCause.PROTOCOL, status=StatusCode.INVALID_ARGUMENT),
    "wrong_kind": silent(FaultCause.PROTOCOL, status=StatusCode.INVALID_ARGUMENT),
    "unknown_fields": Case(),
    "huge_message": silent(FaultCause.FLOOD, status=StatusCode.RESOURCE_EXHAUSTED),
    "chatter": replace(
        silent(FaultCause.FLOOD),
        # Its library takes a write that comes too late for an error of its own, and forgets the status.
        statuses=(),
        # Time enough for the chatter to become a flood on a busy machine, before the clock is out.
        setting=Setting(clock=replace(BRISK, move_ms=3000), limits=LinkLimits(max_strays_per_second=100)),
    ),
    "answers_50_ms_early": at_limit(),
    "answers_1_ms_early": at_limit(FaultCause.TIMEOUT),
    "answers_1_ms_late": at_limit(FaultCause.TIMEOUT),
    "answers_50_ms_late": silent(FaultCause.TIMEOUT, strays=RejectReason.LATE),
    "answers_twice_same": Case(strays=frozenset({RejectReason.ALREADY_ANSWERED})),
    "answers_twice_different": Case(strays=frozenset({RejectReason.ALREADY_ANSWERED})),
    "answers_previous_id": silent(FaultCause.TIMEOUT, from_number(2), strays=RejectReason.ALREADY_ANSWERED),
    "answers_future_id": silent(FaultCause.TIMEOUT, strays=RejectReason.UNKNOWN_REQUEST),
    "illegal_card": cheating(DecisionKind.PLAY),
    "folds_in_play": cheating(DecisionKind.PLAY),
    "exchanges_foreign_cards": cheating(DecisionKind.EXCHANGE),
    "exchanges_too_many": cheating(DecisionKind.EXCHANGE),
}
"""Every behaviour of F4."""

ON_THE_EDGE: Final = ("answers_1_ms_early", "answers_1_ms_late")
"""Either verdict is right, if it agrees with the times that the replay has."""

LATE: Final = "answers_50_ms_late"
"""It is timed out always, unless the arena itself was late by as much, which the replay must say."""


# ------------------------------------------------------------------ playing


async def play(name: str, case: Case, folder: Path) -> list[Outcome]:
    """Play the tables of a case, all with bots of this behaviour."""
    setting = case.setting
    async with small_arena(setting) as arena:
        arena.seat_good_bots()
        assert await arena.arena.lobby.wait_for(GOOD, 30) == ()
        presences = {bot: arena.presence(bot) for bot in setting.bad_names}
        if case.is_process:
            async with arena.processes(("python", "-m", "sample_bots.faulty", name), folder):
                outcomes = await arena.play()
        else:
            bots = [ZOO[name](arena.settings(bot)) for bot in setting.bad_names]
            running = [arena.seat(bot.run()) for bot in bots]
            outcomes = await arena.play()
            if case.statuses:
                await asyncio.wait(running, timeout=30)
                assert [statuses_of(bot) for bot in bots] == [case.statuses] * len(bots)
    for outcome in outcomes:
        judge_length(case, outcome, presences[outcome.bad.bot].came_at)
    return outcomes


def statuses_of(bot: RawBot) -> tuple[StatusCode, ...]:
    """What the last stream of a bot ended with, as it was told; of one that runs twice both, by name."""
    streams = [bot, bot.twin] if isinstance(bot, TwoAtOnce) else [bot]
    statuses = [stream.status[0] for stream in streams if stream.status is not None]
    return tuple(sorted(statuses, key=lambda status: status.name))


def judge_length(case: Case, outcome: Outcome, came_at: str) -> None:
    """A session takes no longer than its own limits and a second, and alone no longer than they were used.

    From when its bad bot was there; one that never came has the join limit.
    """
    clock, end = case.setting.clock, outcome.replay.end
    began_at = datetime.fromisoformat(max(outcome.replay.header.started_at, came_at))
    taken_ms = (datetime.fromisoformat(end.ended_at) - began_at) / timedelta(milliseconds=1)
    join_ms = 0 if came_at else clock.join_ms
    limits_ms = sum([seat.asked_count * clock.move_ms for seat in outcome.result.seats])
    assert taken_ms <= join_ms + limits_ms + SPARE_MS
    # The question that an exit settles is charged nothing, however long it was open.
    if case.setting.tables == 1 and FaultCause.EXITED not in case.causes:
        used_ms = sum([record.charged_us + record.lag_us for _, record in outcome.decisions]) / US_PER_MS
        assert taken_ms <= join_ms + used_ms + SPARE_MS


def judge(name: str, case: Case, outcome: Outcome) -> None:
    """Hold a session against what the engine alone makes of it."""
    bad, faults = outcome.bad, outcome.bad.faults
    assert outcome.faults_of_good == []
    errs = case.errs
    if name in (*ON_THE_EDGE, LATE):
        errs = at_numbers(fault.request_id for fault in faults)
    wanted = expected(outcome, errs, max_strikes=case.forfeits_at)
    is_at_fault = wanted.strike_count > 0 or wanted.forfeited
    assert {fault.cause for fault in faults} == (case.causes if is_at_fault else frozenset())
    assert all(fault.seat == bad.seat for fault in faults)
    assert tuple(seat.stack for seat in outcome.result.seats) == wanted.stacks
    assert tuple(seat.place for seat in outcome.result.seats) == wanted.places
    # A process may be seen to be gone before its next question is put.
    unasked = sum(fault.cause is FaultCause.EXITED and fault.request_id is None for fault in faults)
    assert (bad.forfeited, bad.asked_count + unasked) == (wanted.forfeited, wanted.asked_count)
    if case.forfeits_at == case.setting.clock.max_strikes:
        assert bad.strikes == len(faults) == wanted.strike_count
    else:
        assert (bad.strikes, len(faults)) == (0, 1)
    judge_times(case, outcome)
    judge_strays(case, outcome)
    if name == LATE:
        taken = [record for record in outcome.decisions_of_bad if record.origin is Origin.ASKED]
        assert all(record.lag_us >= LATE_ALLOWED_US for record in taken)


def judge_times(case: Case, outcome: Outcome) -> None:
    """An answer was taken within its time; a clock ran out after it, and not much after it."""
    allowance_us = case.setting.clock.move_ms * 1000
    for record in outcome.decisions_of_bad:
        if record.origin is Origin.ASKED:
            assert record.charged_us <= allowance_us
        elif record.cause not in (None, FaultCause.ILLEGAL):
            # Where the arena had to wait for a processor, an answer has the benefit of the doubt.
            assert allowance_us < record.charged_us <= allowance_us + LATE_ALLOWED_US + MOST_DOUBT_US


def judge_strays(case: Case, outcome: Outcome) -> None:
    """Answers that fit nothing are counted for who sent them, and the first few kept as they were."""
    end = outcome.replay.end
    kept = [stray for stray in end.stray if stray.seat == outcome.bad.seat]
    assert [count for seat, count in enumerate(end.stray_counts) if seat != outcome.bad.seat] == [0, 0, 0]
    # What is late may all be excused, where the machine is busy; nothing else is.
    is_excused = case.strays == {RejectReason.LATE} and not outcome.bad.faults
    assert is_excused or case.strays <= {stray.reason for stray in kept}
    assert all(stray.answer for stray in kept)
    for stray in kept:
        assert (stray.late_us is None) or stray.late_us >= 0
        assert stray.reason is not RejectReason.LATE or stray.late_us is not None


# ------------------------------------------------------------------ tests

BY_CAUSE: Final = [
    pytest.param(name, id=f"{'-'.join(sorted(case.causes)) or 'no fault'}: {name}")
    for name, case in sorted(CASES.items())
]
"""The id of a test begins with the cause that it reaches."""


def test_every_cause_is_reached() -> None:
    """The list of causes is closed, and each of them follows from a behaviour here."""
    assert frozenset.union(*[case.causes for case in CASES.values()]) == set(FaultCause)


def test_the_zoo_is_whole() -> None:
    """Every behaviour of F4 is there, and every one has its case."""
    assert set(CASES) == set(ZOO)
    assert len(ZOO) == 31


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_program_says_what_follows(name: str) -> None:
    """What `--list` says of a behaviour is what the arena books."""
    causes = " or ".join(sorted(CASES[name].causes))
    said = ZOO[name].follows
    assert said == (f"{causes} or none" if name in ON_THE_EDGE else causes)


@pytest.mark.parametrize("name", BY_CAUSE)
async def test_a_bad_bot_harms_itself_alone(name: str, tmp_path: Path) -> None:
    """The right cause on the right seat, the good bots' results as with a fallback, nothing left over."""
    case = CASES[name]
    async with nothing_left_over():
        (outcome,) = await play(name, case, tmp_path)
    judge(name, case, outcome)
    assert (outcome.bad.faults != ()) or not case.causes or name in ON_THE_EDGE


async def test_a_session_that_the_arena_spoils_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a session fails once and is played again, both the ledger and the log say so: F4 can fail."""
    sound, failures = SessionRunner.play, [RuntimeError("spoilt")]

    async def spoilt(runner: SessionRunner) -> Played:
        if failures:
            raise failures.pop()
        return await sound(runner)

    async def see_that_the_ledger_says_so() -> None:
        async with nothing_left_over():
            with pytest.raises(AssertionError, match="arena_error"):
                await play("unknown_fields", CASES["unknown_fields"], tmp_path)

    monkeypatch.setattr(SessionRunner, "play", spoilt)
    with pytest.raises(AssertionError, match="session failed"):
        await see_that_the_ledger_says_so()


async def test_a_session_that_takes_too_long_is_found(tmp_path: Path) -> None:
    """Where it ends a little more than a second after all that its clocks ran, it is late: F4 can fail."""
    case = CASES["unknown_fields"]
    (outcome,) = await play("unknown_fields", case, tmp_path)
    used_us = sum([record.charged_us + record.lag_us for _, record in outcome.decisions])
    header, end = outcome.replay.header, outcome.replay.end
    late_at = datetime.fromisoformat(header.started_at) + timedelta(microseconds=used_us, milliseconds=1001)
    late = replace(outcome.replay, end=replace(end, ended_at=late_at.isoformat()))
    with pytest.raises(AssertionError):
        judge_length(case, replace(outcome, replay=late), header.started_at)


async def play_many(name: str, tables: int, folder: Path) -> Counter[FaultCause]:
    """Play so many tables at once and hold each against the engine alone; the causes that were booked."""
    case = replace(CASES[name], setting=replace(CASES[name].setting, tables=tables, at_once=tables))
    async with nothing_left_over():
        outcomes = await play(name, case, folder)
    for outcome in outcomes:
        judge(name, case, outcome)
    return Counter(fault.cause for outcome in outcomes for fault in outcome.bad.faults)


@pytest.fixture
def all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arena that is late plays fewer at once; but a bot that reads nothing is not there for long."""
    monkeypatch.setattr(Heartbeat, "is_late", False)


IN_ROUNDS: Final = [
    *[
        pytest.param(name, 2 if case.is_process else 5, marks=pytest.mark.nightly)
        for name, case in sorted(CASES.items())
    ],
    *[
        pytest.param(name, 5, marks=pytest.mark.soak)
        for name, case in sorted(CASES.items())
        if case.is_process
    ],
]
"""By name: a hundred sessions of each; of those that are processes, which take long to start, in a soak."""


@pytest.mark.usefixtures("all_at_once")
@pytest.mark.parametrize(("name", "rounds"), IN_ROUNDS)
async def test_many_bad_bots_harm_themselves_alone(
    name: str, rounds: int, tmp_path: Path, figure: Figure
) -> None:
    """The same for twenty tables at once, again and again."""
    causes: Counter[FaultCause] = Counter()
    sizes = []
    for _ in range(rounds):
        causes += await play_many(name, 20, tmp_path)
        sizes.append(resident_bytes())
    # The first round warms up.
    grown_mib = (sizes[-1] - sizes[0]) / 1024**2
    assert grown_mib < MAX_GROWN_MIB
    told = {str(cause): count for cause, count in causes.items()}
    figure("F4", f"n = {20 * rounds} sessions, faults {told}, 0 of good bots, {grown_mib:.0f} MiB grown")


@pytest.mark.nightly
@pytest.mark.usefixtures("all_at_once")
async def test_the_whole_zoo_costs_no_memory(tmp_path: Path, figure: Figure) -> None:
    """One process plays every behaviour at ten tables, and is as large afterwards as before."""
    # It takes more memory at once than all that comes later, and the allocator keeps some of it.
    await play_many("huge_message", 10, tmp_path)
    before = resident_bytes()
    for name in CASES:
        await play_many(name, 10, tmp_path)
    grown_mib = (resident_bytes() - before) / 1024**2
    assert grown_mib < MAX_GROWN_MIB
    figure(
        "F4", f"n = {10 * len(CASES)} sessions of {len(CASES)} behaviours, {grown_mib:.0f} MiB grown in all"
    )
