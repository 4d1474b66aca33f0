"""What every seat owes the runner, whoever sits on it."""

import asyncio
import functools
from collections.abc import Callable
from dataclasses import replace

import pytest

from arena.clock import US_PER_MS, ClockSettings, ManualTime
from arena.faults import FaultCause
from arena.link import TAKEN_IN_MS
from arena.lobby import Lobby, Member
from arena.messages import PROTOCOL_VERSION, Answer, Answers, Hello, Request
from arena.referee import Referee
from arena.runner import SessionRunner
from arena.seats import Reply, Seat
from tests.arena.bots import LinkedBot
from tests.arena.tables import ScriptedSeat, TableTime, referee

CLOCK = ClockSettings(move_ms=100, bank_ms=0, first_answer_ms=0, max_strikes=1)
ALLOWANCE_US = CLOCK.move_ms * US_PER_MS


class Relay(Seat):
    """Passes questions on to another seat by a coroutine, so that none is put before somebody waits."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    async def decide(self, request: Request) -> Reply:
        """Put the question to the other seat."""
        return await self._seat.decide(request)

    def handed_at_us(self, request: Request, asked_at_us: int) -> int:
        """What the other seat says."""
        return self._seat.handed_at_us(request, asked_at_us)

    def settled(self, *, expired: bool) -> None:
        """Pass on that the request is over."""
        self._seat.settled(expired=expired)


def scripted(time: TableTime, its_referee: Referee) -> Seat:
    """A seat of the tests."""
    return ScriptedSeat(time)


def linked(time: ManualTime, its_referee: Referee) -> Seat:
    """The seat of a bot that is there and reads at once."""
    member = Lobby(time, arena_version="0").member("bot")
    LinkedBot(member)
    seat = member.sit(its_referee, 0)
    seat.tell(its_referee.start_of(0))
    return seat


def relayed(time: ManualTime, its_referee: Referee) -> Seat:
    """The same behind another seat."""
    return Relay(linked(time, its_referee))


class SlowBot(LinkedBot):
    """Answers a millisecond before its time is over, so that its bank is all but used up at once."""

    def __init__(self, member: Member, time: TableTime) -> None:
        self.answered = 0
        self._time = time
        super().__init__(member)

    def answer(self, request: Request) -> None:
        """Answer when it is nearly too late."""
        assert request.time_left_ms is not None
        at_us = self._time.now_us() + (request.time_left_ms - 1) * 1000
        self._time.call_at(at_us, lambda: self._answer_now(request))

    def _answer_now(self, request: Request) -> None:
        self.answered += 1
        super().answer(request)


@pytest.mark.parametrize("make", [scripted, linked, relayed])
async def test_a_request_that_has_not_been_put_yet_is_handed_over_when_it_is_asked(
    make: Callable[[TableTime, Referee], Seat],
) -> None:
    """What the request before took is not charged to it."""
    time, its_referee = TableTime(), referee()
    seat = make(time, its_referee)
    first = its_referee.request()
    assert seat.handed_at_us(first, 7) == 7
    reply = asyncio.ensure_future(seat.decide(first))
    await time.wait(reply, None)
    seat.settled(expired=False)
    time.advance_us(1_000_000)
    second = replace(first, request_id=first.request_id + 1)
    assert seat.handed_at_us(second, time.now_us()) == 1_000_000


async def test_what_one_decision_took_is_not_charged_to_the_next() -> None:
    """A bot that takes nearly all its time for every answer is in time with every one."""
    time, its_referee = TableTime(), referee()
    member = Lobby(time, arena_version="0").member("bot")
    bot = SlowBot(member, time)
    seats = [ScriptedSeat(time), Relay(member.sit(its_referee, 1)), ScriptedSeat(time), ScriptedSeat(time)]
    member.link.start(its_referee.start_of(1))
    played = await SessionRunner(its_referee, seats, time.clockwork()).play()
    assert bot.answered > 1
    assert played.result.seats[1].faults == ()


class LateReader:
    """A bot whose side takes nothing until a moment, and answers what it got after a while.

    From the start on its transport holds the first batch.
    """

    def __init__(self, member: Member, time: TableTime, read_at_us: int, thinks_us: int) -> None:
        self.heard: list[Request] = []
        self._member, self._time, self._thinks_us = member, time, thinks_us
        self._stream = member.link.open(lambda: None)
        member.received(self._stream, Hello(PROTOCOL_VERSION, "late", "1", "", "test", 1))
        member.take_batch(self._stream)
        time.call_at(read_at_us, self._read)

    def _read(self) -> None:
        batch = self._member.take_batch(self._stream)
        self.heard = [message for message in batch if isinstance(message, Request)]
        for request in self.heard:
            answer = Answer(request.session_id, request.request_id, next(iter(request.legal)))
            received = functools.partial(self._member.received, self._stream, Answers((answer,)))
            self._time.call_at(self._time.now_us() + self._thinks_us, received)


TAKEN_US = TAKEN_IN_MS * US_PER_MS


@pytest.mark.parametrize(
    ("read_at_us", "thinks_us", "charged_us", "left_ms"),
    [
        (TAKEN_US, ALLOWANCE_US, ALLOWANCE_US, 100),
        (TAKEN_US, ALLOWANCE_US + 1, None, 100),
        (TAKEN_US + 1, 10_000, TAKEN_US + 10_001, 50),
        (60_000, 40_000, ALLOWANCE_US, 40),
        (60_000, 40_001, None, 40),
        (ALLOWANCE_US + 2, 0, None, None),
    ],
)
async def test_what_a_bot_leaves_unread_gains_it_no_time(
    read_at_us: int, thinks_us: int, charged_us: int | None, left_ms: int | None
) -> None:
    """A hand-over that was held up for more than 50 ms counts from the asking, whenever it comes."""
    time, its_referee = TableTime(), referee(clock=CLOCK)
    member = Lobby(time, arena_version="0").member("bot")
    bot = LateReader(member, time, read_at_us, thinks_us)
    seats: list[Seat] = [ScriptedSeat(time) for _ in range(4)]
    seats[0] = member.sit(its_referee, 0)
    member.link.start(its_referee.start_of(0))
    played = await SessionRunner(its_referee, seats, time.clockwork()).play()
    seat = played.result.seats[0]
    assert [request.time_left_ms for request in bot.heard] == ([] if left_ms is None else [left_ms])
    # Nothing is read of the request after a first one that was in time.
    late_id = 1 if charged_us is None else 2
    assert [(fault.request_id, fault.cause) for fault in seat.faults] == [(late_id, FaultCause.TIMEOUT)]
    assert seat.decision_us[0] == (ALLOWANCE_US + 1 if charged_us is None else charged_us)


async def test_what_the_arena_is_late_by_is_not_taken_for_what_a_bot_leaves_unread() -> None:
    """An arena that stood still for 20 ms was late to see that its transport had sent what it held."""
    time, its_referee = TableTime(), referee(clock=CLOCK)
    lobby = Lobby(time, arena_version="0", spared_us=lambda since_us, at_us: min(at_us - since_us, 20_000))
    member = lobby.member("bot")
    LateReader(member, time, TAKEN_US + 20_000, ALLOWANCE_US)
    seats: list[Seat] = [ScriptedSeat(time) for _ in range(4)]
    seats[0] = member.sit(its_referee, 0)
    member.link.start(its_referee.start_of(0))
    played = await SessionRunner(its_referee, seats, time.clockwork()).play()
    assert played.result.seats[0].decision_us[0] == ALLOWANCE_US
