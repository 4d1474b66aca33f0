"""What every seat owes the runner, whoever sits on it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from arena.clock import ManualTime
from arena.lobby import Lobby, Member
from arena.messages import Request
from arena.referee import Referee
from arena.runner import SessionRunner
from arena.seats import Reply, Seat
from tests.arena.bots import LinkedBot
from tests.arena.tables import ScriptedSeat, TableTime, referee


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
