"""Drives one session: asks the seat that the referee names, and brings back what it says.

The only waiting that a session does is here. What an answer means is the referee's to say,
how it travels the seat's; this file knows neither gRPC nor files.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arena.clock import US_PER_SECOND, Patience, Time
from arena.faults import FaultCause
from arena.lag import Heartbeat
from arena.messages import Request, SessionNews, SessionOver
from arena.referee import Referee, Timing
from arena.results import AttemptEnd, SessionResult
from arena.seats import Arrived, Gone, Reply, Seat


class Waiting(Protocol):
    """How the runner waits; a test hands in one that takes no time."""

    async def __call__(self, reply: asyncio.Future[Reply], timeout_us: int | None) -> None:
        """Return when the reply is there or the time is over, whichever comes first."""


async def wait_in_real_time(reply: asyncio.Future[Reply], timeout_us: int | None) -> None:
    """The waiting of a real arena."""
    await asyncio.wait((reply,), timeout=None if timeout_us is None else timeout_us / US_PER_SECOND)


@dataclass(frozen=True, slots=True)
class Clockwork:
    """What a runner measures and waits with."""

    time: Time
    heartbeat: Heartbeat
    wait: Waiting = wait_in_real_time

    @property
    def patience(self) -> Patience:
        """How long anything but a decision is waited for."""
        return Patience(self.time, self.heartbeat.spared_us)


@dataclass(frozen=True, slots=True)
class Played:
    """A finished session: what it gave, and its replay as text."""

    result: SessionResult
    replay: bytes


class SessionRunner:
    """One attempt at one session."""

    def __init__(self, referee: Referee, seats: Sequence[Seat], clockwork: Clockwork) -> None:
        self._referee = referee
        self._seats = seats
        self._clockwork = clockwork

    def open(self) -> None:
        """Tell every seat that the session begins."""
        for number, seat in enumerate(self._seats):
            seat.tell(self._referee.start_of(number))

    async def play(self) -> Played:
        """Play to the end. Cancelling it leaves every seat untold: call `close` then."""
        referee = self._referee
        while (decision := referee.decision) is not None:
            if referee.is_unasked:
                referee.go_on()
            else:
                await self._ask(self._seats[decision.seat])
            # A session of bots that answer at once must not keep the loop from everybody else.
            await asyncio.sleep(0)
        return Played(referee.result(), referee.replay(self._clockwork.time.utc_text()))

    def close(self, ending: AttemptEnd) -> None:
        """Tell every seat what is left to tell, and that the session is over."""
        result = self._referee.result() if ending is AttemptEnd.FINISHED else None
        seats = () if result is None else result.seats
        over = SessionOver(
            session_id=self._referee.session_id,
            ending=ending,
            places=tuple([seat.place for seat in seats]),
            stacks=tuple([seat.stack for seat in seats]),
            forfeited=tuple([seat.forfeited for seat in seats]),
        )
        for number, seat in enumerate(self._seats):
            self._tell_news(number, seat)
            seat.tell(over)

    def _tell_news(self, number: int, seat: Seat) -> None:
        news = self._referee.news_for(number)
        if news:
            seat.tell(SessionNews(self._referee.session_id, news))

    async def _ask(self, seat: Seat) -> None:
        """Have the open question settled: by an answer, or by the fallback once nothing else can be."""
        request = self._referee.request()
        self._tell_news(request.seat, seat)
        asked_at_us = self._clockwork.time.now_us()
        while True:
            reply = asyncio.ensure_future(seat.decide(request))
            try:
                arrived = await self._reply_in_time(seat, request, reply, asked_at_us)
            finally:
                reply.cancel()
            if not isinstance(arrived, Arrived):
                seat.settled(expired=True)
                self._close_unanswered(seat, request, asked_at_us, arrived)
                return
            timing = self._timing(seat, request, asked_at_us, arrived.at_us)
            rejected = self._referee.receive(arrived.answer, timing)
            if rejected is None:
                seat.settled(expired=False)
                return
            seat.reject(rejected)
            if rejected.tries_left == 0:
                return

    async def _reply_in_time(
        self, seat: Seat, request: Request, reply: asyncio.Future[Reply], asked_at_us: int
    ) -> Reply | None:
        """The reply, or None once the clock has run out."""
        allowance_us = self._referee.allowance_us()
        while not reply.done():
            timeout_us = self._timeout_us(seat, request, asked_at_us, allowance_us)
            if timeout_us is not None and timeout_us <= 0:
                return None
            await self._clockwork.wait(reply, timeout_us)
        return reply.result()

    def _timeout_us(
        self, seat: Seat, request: Request, asked_at_us: int, allowance_us: int | None
    ) -> int | None:
        """How long to wait before the clock is looked at again; 0 or less: it has run out."""
        if allowance_us is None:
            return None
        now_us = self._clockwork.time.now_us()
        handed_at_us = seat.handed_at_us(request, asked_at_us)
        # One more than is allowed: an answer that took exactly the allowance is in time.
        left_us = allowance_us + 1 - self._elapsed(handed_at_us, now_us).charged_us
        return left_us if left_us > 0 else left_us + self._clockwork.heartbeat.doubt_us(handed_at_us, now_us)

    def _timing(self, seat: Seat, request: Request, asked_at_us: int, at_us: int) -> Timing:
        """What is charged for the time since a request was handed over, and what is not.

        Where the arena had too much to do, or waited for a processor, nobody can tell how long an answer
        did so too. So as much of what would be taken from the bank, or is above it, is not charged.
        """
        handed_at_us = seat.handed_at_us(request, asked_at_us)
        seen = self._elapsed(handed_at_us, at_us)
        free_us, allowance_us = self._referee.free_us(), self._referee.allowance_us()
        if free_us is None or allowance_us is None or seen.charged_us <= free_us:
            return seen
        doubt_us = min(self._clockwork.heartbeat.doubt_us(handed_at_us, at_us), seen.charged_us - free_us)
        if seen.charged_us - doubt_us > allowance_us:
            return seen
        return Timing(seen.charged_us - doubt_us, seen.lag_us + doubt_us)

    def _elapsed(self, handed_at_us: int, at_us: int) -> Timing:
        """What has passed since a request was handed over, less what the arena was late by."""
        elapsed_us = max(0, at_us - handed_at_us)
        lag_us = self._clockwork.heartbeat.lag_us(handed_at_us, at_us)
        return Timing(elapsed_us - lag_us, lag_us)

    def _close_unanswered(self, seat: Seat, request: Request, asked_at_us: int, gone: Gone | None) -> None:
        if gone is not None:
            self._referee.forfeit(request.seat, gone.cause, gone.detail)
            return
        timing = self._timing(seat, request, asked_at_us, self._clockwork.time.now_us())
        away = seat.absence()
        if away is None:
            self._referee.expire(timing, FaultCause.TIMEOUT)
        else:
            self._referee.expire(timing, away.cause, away.detail)
