"""The runner of a session: whom it waits for, how long, and what everybody is told."""

import asyncio
from collections.abc import Callable

import pytest

from arena.clock import ClockSettings
from arena.faults import FaultCause
from arena.messages import RejectReason, Request, SessionNews, SessionOver, SessionStart
from arena.replay import parse
from arena.results import AttemptEnd
from arena.runner import Played, SessionRunner
from engine.actions import Action
from engine.events import Decided
from tests.arena.tables import ScriptedSeat, TableTime, first_legal, illegal, referee

MOVE_ALONE = ClockSettings(move_ms=1000, bank_ms=0, first_answer_ms=0)
BANK = ClockSettings(move_ms=100, bank_ms=900, first_answer_ms=0)
FIRST = ClockSettings(move_ms=100, bank_ms=0, first_answer_ms=900)
INCREMENT = ClockSettings(move_ms=100, bank_ms=0, first_answer_ms=0, increment_ms=900)
UNTIMED = ClockSettings(move_ms=1, bank_ms=0, first_answer_ms=0, timed=False)


async def played(time: TableTime, seats: list[ScriptedSeat], **changes: object) -> Played:
    """Play a session of these seats to its end and close it."""
    runner = SessionRunner(referee(**changes), seats, time.clockwork())
    runner.open()
    outcome = await runner.play()
    runner.close(AttemptEnd.FINISHED)
    return outcome


def only_once(script: Callable[[Request], Action]) -> Callable[[Request], Action]:
    """A script for the first question; afterwards the first legal answer."""
    done: list[Request] = []

    def answer(request: Request) -> Action:
        if done:
            return first_legal(request)
        done.append(request)
        return script(request)

    return answer


async def test_everybody_hears_the_start_the_news_and_the_end_in_order() -> None:
    """Every seat is told the same events, and every event once."""
    time = TableTime()
    seats = [ScriptedSeat(time) for _ in range(4)]
    outcome = await played(time, seats)
    for number, seat in enumerate(seats):
        assert isinstance(seat.told[0], SessionStart)
        assert seat.told[0].seat == number
        over = seat.told[-1]
        assert isinstance(over, SessionOver)
        assert over.stacks == tuple(result.stack for result in outcome.result.seats)
    heard = [
        sum(len(message.events) for message in seat.told if isinstance(message, SessionNews))
        for seat in seats
    ]
    assert len(set(heard)) == 1


@pytest.mark.parametrize(
    ("clock", "deal"),
    [(MOVE_ALONE, 0), (BANK, 0), (FIRST, 0), (INCREMENT, 1)],
    ids=["move", "bank", "first answer", "increment"],
)
async def test_every_clock_gives_a_time_out_and_just_not(clock: ClockSettings, deal: int) -> None:
    """An answer after exactly the allowance of 1 s counts; one a microsecond later is a time-out (T04).

    It is the first answer in that deal; every other comes at once.
    """
    for over_us, causes in ((0, []), (1, [FaultCause.TIMEOUT])):
        time = TableTime()
        seats = [ScriptedSeat(time) for _ in range(4)]
        slow = seats[0]
        after_us = [1_000_000 + over_us]

        def hurry(request: Request, slow: ScriptedSeat = slow, after_us: list[int] = after_us) -> Action:
            slow.after_us = after_us.pop() if after_us and request.view.deal == deal else 0
            return first_legal(request)

        slow.script = hurry
        outcome = await played(time, seats, clock=clock)
        assert not after_us
        assert [fault.cause for fault in outcome.result.seats[0].faults] == causes
        assert [seat.strikes for seat in outcome.result.seats] == [len(causes), 0, 0, 0]


async def test_without_clocks_the_runner_waits_as_long_as_it_takes() -> None:
    """Nothing runs out in an untimed session (T04)."""
    time = TableTime()
    seats = [ScriptedSeat(time, after_us=10_000_000) for _ in range(4)]
    outcome = await played(time, seats, clock=UNTIMED)
    assert not any(seat.faults for seat in outcome.result.seats)


async def test_a_seat_that_never_answers_is_timed_out_at_its_limit() -> None:
    """The limit fires by itself; the session goes on (T06)."""
    time = TableTime()
    seats = [ScriptedSeat(time) for _ in range(4)]
    seats[0].after_us = 10**12
    clock = ClockSettings(move_ms=1000, bank_ms=0, first_answer_ms=0, max_strikes=3)
    outcome = await played(time, seats, clock=clock)
    silent = outcome.result.seats[0]
    assert (silent.strikes, silent.forfeited, silent.place) == (3, True, 4)
    assert time.now_us() == 3 * 1_000_001


async def test_an_illegal_answer_is_rejected_and_the_same_request_asked_again() -> None:
    """The seat gets its request twice under one id, and no strike when the second answer is legal."""
    time = TableTime()
    seats = [ScriptedSeat(time) for _ in range(4)]
    seats[2].script = only_once(illegal)
    outcome = await played(time, seats)
    assert [rejected.reason for rejected in seats[2].rejections] == [RejectReason.ILLEGAL]
    assert [request.request_id for request in seats[2].requests[:3]] == [1, 1, 2]
    assert outcome.result.seats[2].strikes == 0


async def test_tries_share_one_clock() -> None:
    """A rejected answer does not start the clock again."""
    time = TableTime()
    seats = [ScriptedSeat(time) for _ in range(4)]
    seats[2].after_us = 600_000
    seats[2].script = only_once(illegal)
    clock = ClockSettings(move_ms=1000, bank_ms=0, first_answer_ms=0, max_strikes=1)
    outcome = await played(time, seats, clock=clock)
    assert [fault.cause for fault in outcome.result.seats[2].faults] == [FaultCause.TIMEOUT]


async def test_what_the_arena_was_late_by_is_not_charged() -> None:
    """An answer that the arena's own stall delayed past the limit is in time; both figures are kept."""
    time = TableTime()
    seats = [ScriptedSeat(time) for _ in range(4)]
    seats[1].after_us = 500_000

    def stall(request: Request) -> Action:
        seats[1].after_us = 0 if request.request_id > 1 else 500_000
        time.stall_us = 2_000_000 if request.request_id == 1 else 0
        return first_legal(request)

    seats[1].script = stall
    outcome = await played(time, seats, clock=MOVE_ALONE)
    assert not outcome.result.seats[1].faults
    assert outcome.result.seats[1].decision_us[0] <= 500_000 + 10_000


@pytest.mark.parametrize(
    ("clock", "after_us", "timing", "causes"),
    [
        (MOVE_ALONE, 990_000, (990_000, 0), []),
        (MOVE_ALONE, 1_000_001, (1_000_000, 1), []),
        (MOVE_ALONE, 1_090_000, (1_000_000, 90_000), []),
        (MOVE_ALONE, 1_120_000, (1_111_001, 0), [FaultCause.TIMEOUT]),
        (BANK, 90_000, (90_000, 0), []),
        (BANK, 105_000, (100_000, 5_000), []),
        (BANK, 500_000, (450_000, 50_000), []),
        (BANK, 1_120_000, (1_111_001, 0), [FaultCause.TIMEOUT]),
    ],
)
async def test_where_the_arena_waits_for_a_processor_a_bot_has_the_benefit_of_the_doubt(
    clock: ClockSettings, after_us: int, timing: tuple[int, int], causes: list[FaultCause]
) -> None:
    """It waited a tenth of the time: as much is not taken from the bank, nor held against the limit (T02)."""
    time = TableTime()
    time.waits_percent = 10
    seats = [ScriptedSeat(time) for _ in range(4)]
    slow, taken_us = seats[0], [after_us]

    def hurry(request: Request) -> Action:
        slow.after_us = taken_us.pop() if taken_us else 0
        return first_legal(request)

    slow.script = hurry
    outcome = await played(time, seats, clock=clock)
    first = next(
        step.decision
        for step in parse(outcome.replay).steps
        if isinstance(step.event, Decided) and step.event.seat == 0 and step.decision
    )
    assert (first.charged_us, first.lag_us) == timing
    assert [fault.cause for fault in outcome.result.seats[0].faults] == causes


async def test_a_bot_is_charged_in_full_while_the_arena_is_not_late() -> None:
    """Without a stall the whole wait is the bot's."""
    time = TableTime()
    seats = [ScriptedSeat(time) for _ in range(4)]
    seats[1].after_us = 300_000
    outcome = await played(time, seats)
    assert set(outcome.result.seats[1].decision_us) == {300_000}


async def test_the_same_seed_and_answers_give_the_same_play() -> None:
    """Two runs give the same replay but for the line's `run`, whatever the times."""
    replays = []
    for after_us in (0, 7000):
        time = TableTime()
        seats = [ScriptedSeat(time, after_us=after_us) for _ in range(4)]
        outcome = await played(time, seats)
        replays.append(outcome.replay)
    digests = [replay.rpartition(b'"play_sha256":"')[2][:64] for replay in replays]
    assert digests[0] == digests[1]
    assert replays[0] != replays[1]


async def test_a_session_that_all_have_forfeited_keeps_nobody_waiting() -> None:
    """Others have their turn after every deal or two, though nobody is asked anything (P3)."""
    time = TableTime()
    game = referee(deals=40)
    for seat in range(4):
        game.forfeit(seat, FaultCause.NO_HANDSHAKE)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(others())
    outcome = await SessionRunner(game, [ScriptedSeat(time) for _ in range(4)], time.clockwork()).play()
    turning.cancel()
    assert outcome.result.deals >= 5
    assert turns >= outcome.result.deals // 2 - 1
