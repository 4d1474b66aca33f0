"""The tables of a check: the bot at one seat, the house at the others, and a trick with a question.

A trick is how a question is put to the bot: plainly, twice, only to be given up, or with the link
cut in the middle. What comes of it is written down, and judged elsewhere.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from random import Random
from typing import Final

from arena.check_findings import Outcome
from arena.check_trace import Said, Sitting, Trace
from arena.clock import US_PER_MS, ClockSettings
from arena.commitment import commitment
from arena.faults import FaultCause
from arena.lobby import LinkSeat, Member, nobody_overhears
from arena.messages import (
    MAX_TRIES,
    Answer,
    ArenaMessage,
    GoodbyeReason,
    Rejected,
    RejectReason,
    Request,
)
from arena.record import SeatInfo, SessionHeader
from arena.referee import Referee
from arena.replay import parse_ends
from arena.results import AttemptEnd
from arena.runner import Clockwork, SessionRunner
from arena.seats import Arrived, Away, Gone, Reply, Seat
from engine.actions import Subsets
from engine.fallback import fallback
from engine.rules import Ruleset, make_session_options

PLAYERS: Final = 4
LATE_S: Final = 0.3
"""How long an answer is still looked for after its time, so that its author sees how late it was."""


class Ear:
    """Hears all that is said to a bot and by it, for the trace and for those who wait for something."""

    def __init__(self, member: Member) -> None:
        """Listen from here on, until `close`."""
        self.trace = Trace()
        self._member = member
        self._news = asyncio.Event()
        self._at_handover: dict[tuple[str, int], Callable[[], object]] = {}
        member.overhear = self._hear

    def close(self) -> None:
        """Listen no more."""
        self._member.overhear = nobody_overhears

    def at_handover(self, request: Request, call: Callable[[], object]) -> None:
        """Have something happen at the moment in which a request is handed to the bot's transport."""
        self._at_handover[request.session_id, request.request_id] = call

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, which is looked at whenever something was said."""
        while not is_so():
            self._news.clear()
            await self._news.wait()

    async def quiet(self, limit_s: float, or_until: Callable[[], bool] = lambda: False) -> None:
        """Ask nothing for a moment; no longer once the bot is gone, or something else is so."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self.until(lambda: self._member.gone is not None or or_until())

    def _hear(self, said: Said, at_us: int) -> None:
        self.trace.hear(said, at_us)
        self._news.set()
        if isinstance(said, Request):
            call = self._at_handover.pop((said.session_id, said.request_id), None)
            if call is not None:
                call()


# ------------------------------------------------------------------ who sits there


class CheckedSeat(Seat):
    """The bot's seat: every question goes through a trick."""

    def __init__(self, link_seat: LinkSeat, sitting: Sitting, trick: "Trick") -> None:
        self.link_seat = link_seat
        self.sitting = sitting
        self.has_given_up = False
        """Whether the open request was ended before its time."""
        self._trick = trick

    async def decide(self, request: Request) -> Reply:
        """Put a question by way of the trick."""
        return await self._trick(self, request)

    def give_up(self) -> None:
        """End the open request over the link, as if its clock had run out."""
        self.link_seat.settled(expired=True)
        self.has_given_up = True

    def handed_at_us(self, request: Request, asked_at_us: int) -> int:
        """When the link's transport took the request."""
        return self.link_seat.handed_at_us(request, asked_at_us)

    def absence(self) -> Away | None:
        """Why no stream of the bot is up."""
        return self.link_seat.absence()

    def reject(self, rejected: Rejected) -> None:
        """Pass a rejection on."""
        self.link_seat.reject(rejected)

    def tell(self, message: ArenaMessage) -> None:
        """Pass on what happens."""
        self.link_seat.tell(message)

    def settled(self, *, expired: bool) -> None:
        """Pass on that the request is over, unless it was ended before."""
        if not self.has_given_up:
            self.link_seat.settled(expired=expired)
        self.has_given_up = False


class HouseSeat(Seat):
    """A seat that the house plays: any legal answer, from a seed."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)  # noqa: S311  a player's whims, no secrets

    async def decide(self, request: Request) -> Reply:
        """Any legal answer; of cards to give up, the fallback's."""
        legal = request.legal
        if isinstance(legal, Subsets):
            action = fallback(request.view, legal)
        else:
            action = self._random.choice(legal.actions)
        return Arrived(Answer(request.session_id, request.request_id, action), 0)


# ------------------------------------------------------------------ tricks


Trick = Callable[[CheckedSeat, Request], Awaitable[Reply]]
"""How a question is put to the bot."""


async def ask_plainly(seat: CheckedSeat, request: Request) -> Reply:
    """Put the question and wait for the answer."""
    return await seat.link_seat.decide(request)


async def reject_first_answer(seat: CheckedSeat, request: Request) -> Reply:
    """Reject whatever comes first, and take the answer after that.

    The bot is told of half its time, so that even one that uses all of that has as much again.
    """
    assert request.time_left_ms is not None
    told = replace(request, time_left_ms=request.time_left_ms // 2)
    first = await seat.link_seat.decide(told)
    if isinstance(first, Gone):
        return first
    took_us = first.at_us - seat.handed_at_us(request, first.at_us)
    seat.reject(
        Rejected(
            session_id=request.session_id,
            request_id=request.request_id,
            reason=RejectReason.ILLEGAL,
            detail="rejected by the check, whatever it was: answer again",
            tries_left=MAX_TRIES - 1,
            time_left_ms=max(0, request.time_left_ms - took_us // US_PER_MS),
        )
    )
    return await seat.link_seat.decide(request)


@dataclass(slots=True)
class Once:
    """A trick for the first question of a session; the others are put plainly."""

    trick: Trick
    request_id: int | None = None
    """The request that the trick was done with, once it was."""

    async def __call__(self, seat: CheckedSeat, request: Request) -> Reply:
        """Put a question."""
        if self.request_id is not None:
            return await ask_plainly(seat, request)
        self.request_id = request.request_id
        return await self.trick(seat, request)


class LinkTricks:
    """Tricks that are done with the bot's link."""

    def __init__(self, member: Member, ear: Ear, clockwork: Clockwork) -> None:
        self._member = member
        self._ear = ear
        self._clockwork = clockwork

    async def give_up(self, seat: CheckedSeat, request: Request) -> Reply:
        """Give up waiting as soon as the request is on its way; go on once the bot has answered, too late."""
        self._ear.at_handover(request, seat.give_up)
        reply = seat.link_seat.decide(request)
        await self._ear.until(lambda: reply.done() or bool(seat.sitting.strays_to(request.request_id)))
        if reply.done():
            return reply.result()
        action = fallback(request.view, request.legal)
        return Arrived(Answer(request.session_id, request.request_id, action), self._clockwork.time.now_us())

    async def send_twice(self, seat: CheckedSeat, request: Request) -> Reply:
        """Send the request once more as soon as it is on its way; go on once both were sent."""
        self._ear.at_handover(request, lambda: self._member.ask_again(request.session_id))
        reply = await seat.link_seat.decide(request)
        await self._ear.until(
            lambda: seat.sitting.copies(request.request_id) > 1 or self._member.gone is not None
        )
        return reply

    async def say_goodbye(self, seat: CheckedSeat, request: Request) -> Reply:
        """Close the stream with Goodbye right after the request, which is to be answered on another."""
        detail = "the check cuts the link: come back"
        self._ear.at_handover(request, lambda: self._member.close(GoodbyeReason.STOPPING, detail))
        return await seat.link_seat.decide(request)


class CutTogether:
    """A trick for sessions at once: when each has a request on its way, the link is cut without a word."""

    def __init__(self, member: Member, ear: Ear, session_count: int) -> None:
        self._member = member
        self._ear = ear
        self._to_come = self._to_hand_over = session_count
        self._all_there = asyncio.Event()

    async def __call__(self, seat: CheckedSeat, request: Request) -> Reply:
        """Wait for the others, so that all requests are open when the last is on its way."""
        self._to_come -= 1
        if not self._to_come:
            self._all_there.set()
        await self._all_there.wait()
        self._ear.at_handover(request, self._handed_over)
        return await seat.link_seat.decide(request)

    def _handed_over(self) -> None:
        self._to_hand_over -= 1
        if not self._to_hand_over:
            self._member.cut("the check cut it, without a word")


# ------------------------------------------------------------------ sessions


class Table:
    """Has a bot play sessions against the house, each with a number."""

    def __init__(self, member: Member, ear: Ear, clockwork: Clockwork, clock: ClockSettings) -> None:
        self._member = member
        self._ear = ear
        self._clockwork = clockwork
        self._clock = clock
        self._numbers = count(1)

    def new_number(self) -> int:
        """The number of a session that was not played yet."""
        return next(self._numbers)

    async def play(
        self,
        ruleset: Ruleset,
        *,
        seat: int,
        deals: int,
        trick: Trick | None = None,
        number: int | None = None,
        seed: bytes | None = None,
    ) -> Outcome:
        """Play a session with the bot at `seat`, the trick done with its first question.

        The same number is the same session; without one it is a new one.
        """
        number = self.new_number() if number is None else number
        once = None if trick is None else Once(trick)
        runner, sitting = self._sit_down(ruleset, seat, deals, number, once or ask_plainly, seed)
        ending = AttemptEnd.OPERATOR_STOP
        try:
            played = await runner.play()
            ending = AttemptEnd.FINISHED
        finally:
            self._get_up(runner, sitting, ending)
        if any(fault.cause is FaultCause.TIMEOUT for seat in played.result.seats for fault in seat.faults):
            await self._ear.quiet(LATE_S, lambda: bool(sitting.late_strays()))
        digest = parse_ends(played.replay)[1].play_sha256
        return Outcome(played.result, sitting, digest, None if once is None else once.request_id)

    async def break_off(self, ruleset: Ruleset, *, seat: int, deals: int) -> Sitting:
        """Begin a session, and end it as soon as a request is on its way to the bot."""
        asked = asyncio.Event()

        async def ask(seat: CheckedSeat, request: Request) -> Reply:
            self._ear.at_handover(request, asked.set)
            return await seat.link_seat.decide(request)

        runner, sitting = self._sit_down(ruleset, seat, deals, self.new_number(), ask, None)
        waits = [asyncio.create_task(runner.play()), asyncio.create_task(asked.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            self._get_up(runner, sitting, AttemptEnd.OPERATOR_STOP)
        await asyncio.wait(waits)
        for wait in waits:
            if not wait.cancelled():
                wait.result()
        return sitting

    def _sit_down(
        self, ruleset: Ruleset, seat: int, deals: int, number: int, trick: Trick, seed: bytes | None
    ) -> tuple[SessionRunner, Sitting]:
        seed = seed or sha256(f"check/{number}".encode()).digest()
        referee = Referee(self._header(ruleset, seat, deals, number, seed), seed, seed)
        sitting = self._ear.trace.sit(referee.session_id)
        checked = CheckedSeat(self._member.sit(referee, seat), sitting, trick)
        seats: list[Seat] = [
            checked if place == seat else HouseSeat(f"{number}/{place}") for place in range(PLAYERS)
        ]
        runner = SessionRunner(referee, seats, self._clockwork)
        runner.open()
        return runner, sitting

    def _get_up(self, runner: SessionRunner, sitting: Sitting, ending: AttemptEnd) -> None:
        runner.close(ending)
        self._ear.trace.close(sitting, self._clockwork.time.now_us())

    def _header(self, ruleset: Ruleset, seat: int, deals: int, number: int, seed: bytes) -> SessionHeader:
        hello = self._member.hello
        others = [SeatInfo(f"house{place}", "1", "") for place in range(PLAYERS)]
        its_info = SeatInfo(self._member.name, hello.bot_version if hello else "", "")
        return SessionHeader(
            tournament="check",
            block=number,
            session=1,
            session_id=sha256(seed).hexdigest()[:32],
            ruleset=ruleset,
            options=make_session_options(ruleset, {"players": PLAYERS, "deals": deals}),
            seats=(*others[:seat], its_info, *others[seat + 1 :]),
            clock=self._clock,
            commitment=commitment(seed, seed),
        )
