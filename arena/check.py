"""Does a bot keep the contract? Steps that put it to the question, each with a name and a verdict.

The bot sits at tables whose other seats are played here, and the arena behaves as it may in
earnest: it rejects, asks again, cuts the link, gives up waiting. How the bot was started, if it
was started here at all, and how a verdict is printed is not known here.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count
from random import Random
from typing import Final, Protocol

from arena.clock import ClockSettings
from arena.commitment import commitment
from arena.lobby import LinkSeat, Member
from arena.messages import (
    MAX_TRIES,
    Answer,
    ArenaMessage,
    GoodbyeReason,
    Hello,
    Rejected,
    RejectReason,
    Request,
    Unreadable,
)
from arena.record import SeatInfo, SessionHeader
from arena.referee import Referee
from arena.replay import parse_ends
from arena.results import AttemptEnd, SessionResult
from arena.runner import Clockwork, SessionRunner
from arena.seats import Arrived, Away, Gone, Reply, Seat
from arena.status import Verdict
from arena.text import escape
from engine.actions import DecisionKind, Subsets
from engine.cards import cards_text
from engine.fallback import fallback
from engine.notation import action_text
from engine.rules import SALZBURG, TAVERN, Ruleset, every_option_value, make_session_options
from engine.session import Session

PLAYERS: Final = 4
SPEED_DECISIONS: Final = 1000
BATCH_SESSIONS: Final = 8
EXIT_LIMIT_S: Final = 5.0
CLOCK: Final = ClockSettings(max_strikes=1)
"""The clocks of the product's defaults; the first fault ends the questions of a session."""


class Process(Protocol):
    """What the bot runs in, when it was started for the check."""

    async def exit_code(self, limit_s: float) -> int | None:
        """The bot's exit code once it has ended by itself; None when it has not by the limit."""
        ...


@dataclass(slots=True)
class Trace:
    """What was asked and answered in a step."""

    last_request: Request | None = None
    last_reply: Reply | None = None
    times_us: dict[DecisionKind, list[int]] = field(default_factory=dict)

    def lines(self) -> tuple[str, ...]:
        """The last question and what came back, for people."""
        if self.last_request is None:
            return ("nothing was asked yet",)
        return (f"sent: {_request_text(self.last_request)}", f"came back: {_reply_text(self.last_reply)}")


class CheckedSeat(Seat):
    """The bot's seat: every question goes through a trick, and all is written down."""

    def __init__(self, link_seat: LinkSeat, trace: Trace, trick: "Trick", clockwork: Clockwork) -> None:
        self.link_seat = link_seat
        self._trace = trace
        self._trick = trick
        self._clockwork = clockwork
        self._has_given_up = False

    async def decide(self, request: Request) -> Reply:
        """Put a question by way of the trick."""
        self._trace.last_request, self._trace.last_reply = request, None
        asked_at_us = self._clockwork.time.now_us()
        reply = await self._trick(self, request)
        self._trace.last_reply = reply
        if isinstance(reply, Arrived):
            took_us = reply.at_us - self.handed_at_us(request, asked_at_us)
            self._trace.times_us.setdefault(request.legal.kind, []).append(took_us)
        return reply

    def give_up(self) -> None:
        """End the open request over the link, as if its clock had run out."""
        self.link_seat.settled(expired=True)
        self._has_given_up = True

    def handed_at_us(self, request: Request, asked_at_us: int) -> int:
        """When the link's transport took the request."""
        return self.link_seat.handed_at_us(request, asked_at_us)

    def absence(self) -> Away | None:
        """Why no stream of the bot is up, or None."""
        return self.link_seat.absence()

    def reject(self, rejected: Rejected) -> None:
        """Pass a rejection on."""
        self.link_seat.reject(rejected)

    def tell(self, message: ArenaMessage) -> None:
        """Pass on what happens."""
        self.link_seat.tell(message)

    def settled(self, *, expired: bool) -> None:
        """Pass on that the request is over, unless it was ended before."""
        if not self._has_given_up:
            self.link_seat.settled(expired=expired)
        self._has_given_up = False


Trick = Callable[[CheckedSeat, Request], Awaitable[Reply]]
"""How a question is put to the bot."""


async def ask_plainly(seat: CheckedSeat, request: Request) -> Reply:
    """Put the question and wait for the answer."""
    return await seat.link_seat.decide(request)


def once(trick: Trick) -> Trick:
    """The trick for the first question, plainly afterwards."""
    tricks = iter((trick,))

    async def ask(seat: CheckedSeat, request: Request) -> Reply:
        return await next(tricks, ask_plainly)(seat, request)

    return ask


async def reject_first_answer(seat: CheckedSeat, request: Request) -> Reply:
    """Reject whatever comes first, and take the answer after that."""
    first = await seat.link_seat.decide(request)
    if isinstance(first, Gone):
        return first
    seat.reject(
        Rejected(
            session_id=request.session_id,
            request_id=request.request_id,
            reason=RejectReason.ILLEGAL,
            detail="rejected by the check, whatever it was: answer again",
            tries_left=MAX_TRIES - 1,
            time_left_ms=request.time_left_ms,
        )
    )
    return await seat.link_seat.decide(request)


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


class Checker:
    """Takes one bot through the steps."""

    def __init__(
        self,
        member: Member,
        clockwork: Clockwork,
        *,
        process: Process | None = None,
        deterministic: bool = False,
    ) -> None:
        """Set up.

        Args:
            member: the bot's in the lobby; nothing else may have it sit anywhere meanwhile.
            clockwork: what sessions measure and wait with.
            process: what the bot runs in; it is sent away at the end, and must end well. None: it was
                started elsewhere, and stays connected.
            deterministic: ask for the same play from the same session too.
        """
        self._member = member
        self._clockwork = clockwork
        self._process = process
        self._trace = Trace()
        self._numbers = count(1)
        steps = [
            self.hello,
            self.every_decision,
            self.batches,
            self.rejection,
            self.late,
            self.repeated,
            self.reconnection,
            self.speed,
        ]
        if deterministic:
            steps.append(self.determinism)
        self._steps: Sequence[Callable[[], Awaitable[Verdict]]] = steps
        self._came_as: Hello | None = None
        """What the bot said of itself in the first step."""
        self._turned_away_before = member.turned_away

    async def run(self) -> AsyncIterator[Verdict]:
        """The verdicts, one after the other; a bot that never came, or is gone, is asked nothing more.

        To cancel it ends the sessions that the bot sits in, and leaves the bot as it is.
        """
        for step in self._steps:
            self._trace = Trace()
            yield await step()
            if self._member.gone is not None or self._came_as is None:
                return
            if (changed := await self._changed(self._came_as)) is not None:
                yield changed
                return
        if self._process is not None:
            yield await self.goodbye(self._process)

    # ------------------------------------------------------------------ the steps

    async def hello(self) -> Verdict:
        """The bot says Hello within the join limit."""
        was_there = self._member.there.is_set()
        began_us = self._clockwork.time.now_us()
        try:
            async with asyncio.timeout(CLOCK.join_ms / 1000):
                await self._member.there.wait()
        except TimeoutError:
            return Verdict("hello", False, f"no Hello within {CLOCK.join_ms} ms", self._why_away())
        hello = self._came_as = self._member.hello
        if hello is None:
            return Verdict("hello", False, "the bot ended before it said Hello", self._why_away())
        took_ms = (self._clockwork.time.now_us() - began_us) // 1000
        who = f"{escape(hello.bot_name)} {escape(hello.bot_version)} with {escape(hello.sdk)}"
        when = "connected before" if was_there else f"after {took_ms} ms"
        return Verdict("hello", True, f"{who}, {when}")

    async def every_decision(self) -> Verdict:
        """Each value of each option is played; all six kinds of decision are asked."""
        result = await self._session(TAVERN, seat=0, deals=1, seed=_seed_of_turned_weli())
        if (fault := _fault(result)) is not None:
            return Verdict("every decision", False, fault, self._trace.lines())
        trials = every_option_value()
        for number, trial in enumerate(trials):
            result = await self._session(trial.ruleset, seat=number % PLAYERS, deals=2)
            if (fault := _fault(result)) is not None:
                sentence = f"with {trial.option} = {trial.value}: {fault}"
                return Verdict("every decision", False, sentence, self._trace.lines())
        missing = [kind.value for kind in DecisionKind if kind not in self._trace.times_us]
        asked = sum(len(times) for times in self._trace.times_us.values())
        assert not missing, f"the check has no session that asks for {missing}"
        return Verdict(
            "every decision", True, f"{asked} decisions in {len(trials)} sessions, each option value once"
        )

    async def batches(self) -> Verdict:
        """Several sessions at once, their requests in one message."""
        hello = self._member.hello
        at_once = min(BATCH_SESSIONS, hello.max_sessions if hello else 1)
        async with asyncio.TaskGroup() as group:
            sessions = [
                group.create_task(self._session(TAVERN, seat=0, deals=4), name=f"check {number}")
                for number in range(at_once)
            ]
        results = [session.result() for session in sessions]
        praise = (
            f"{at_once} sessions at once" if at_once > 1 else "one session at a time, as the bot asks for"
        )
        return self._verdict("batches", results, praise)

    async def rejection(self) -> Verdict:
        """A rejected answer is followed by another to the same request."""
        result = await self._session(TAVERN, seat=1, deals=2, trick=once(reject_first_answer))
        return self._verdict("rejected answer", [result], "answered again after a rejection")

    async def late(self) -> Verdict:
        """A request whose clock ran out does not confuse the bot about the next."""
        before = self._member.link.stray_counts[RejectReason.LATE]
        result = await self._session(TAVERN, seat=1, deals=2, trick=once(self._give_up))
        told = self._member.link.stray_counts[RejectReason.LATE] - before
        return self._verdict(
            "late request", [result], f"went on after a time-out; late answers rejected: {told}"
        )

    async def repeated(self) -> Verdict:
        """A request that is sent twice is one request."""
        result = await self._session(TAVERN, seat=1, deals=2, trick=once(self._send_twice))
        return self._verdict("repeated request", [result], "took a request that came twice for one")

    async def reconnection(self) -> Verdict:
        """After a lost link the bot comes back and answers what is open."""
        result = await self._session(SALZBURG, seat=2, deals=2, trick=once(self._cut_link))
        verdict = self._verdict("reconnection", [result], "came back and answered what was open")
        if not verdict.passed:
            verdict = replace(verdict, evidence=(*verdict.evidence, *self._why_away()))
        return verdict

    async def speed(self) -> Verdict:
        """A thousand decisions, one session at a time."""
        results: list[SessionResult] = []
        while (
            not any(map(_fault, results))
            and sum(len(times) for times in self._trace.times_us.values()) < SPEED_DECISIONS
        ):
            results.append(await self._session(TAVERN, seat=3, deals=20))
            results.append(await self._session(SALZBURG, seat=3, deals=20))
        times = self._trace.times_us
        figures = ", ".join(
            f"{kind.value} {_percentiles(times[kind])}" for kind in DecisionKind if kind in times
        )
        return self._verdict("speed", results, f"p50/p95/p99 in ms: {figures}")

    async def determinism(self) -> Verdict:
        """The same session gives the same play."""
        number = next(self._numbers)
        digests: set[str] = set()
        results = []
        for _ in range(2):
            self._numbers = count(number)
            results.append(await self._session(TAVERN, seat=0, deals=10, digests=digests))
        if len(digests) > 1:
            return Verdict("determinism", False, "the same session was played in two ways")
        # Two sessions that the fallback played for the bot are alike, and say nothing of the bot.
        return self._verdict("determinism", results, "the same session was played alike")

    async def goodbye(self, process: Process) -> Verdict:
        """After Goodbye the bot ends with exit code 0."""
        self._member.close(GoodbyeReason.FINISHED, "the check is over")
        code = await process.exit_code(EXIT_LIMIT_S)
        if code is None:
            return Verdict("exit", False, f"still running {EXIT_LIMIT_S:.0f} s after Goodbye")
        return Verdict("exit", code == 0, f"exit code {code} after Goodbye")

    # ------------------------------------------------------------------ tricks

    async def _give_up(self, seat: CheckedSeat, request: Request) -> Reply:
        """Give up waiting as soon as the request is on its way: what the bot says will be late."""
        reply = seat.link_seat.decide(request)
        while self._member.link.handed_at_us(request.session_id, request.request_id) is None:
            if self._member.gone is not None:
                return await reply
            # No longer than this: the bot must not have answered yet when its time is over.
            await asyncio.sleep(0)
        seat.give_up()
        action = fallback(request.view, request.legal)
        return Arrived(Answer(request.session_id, request.request_id, action), self._clockwork.time.now_us())

    async def _send_twice(self, seat: CheckedSeat, request: Request) -> Reply:
        answer = seat.link_seat.decide(request)
        self._member.ask_again(request.session_id)
        return await answer

    async def _cut_link(self, seat: CheckedSeat, request: Request) -> Reply:
        answer = seat.link_seat.decide(request)
        self._member.close(GoodbyeReason.STOPPING, "the check cuts the link: come back")
        return await answer

    # ------------------------------------------------------------------ inside

    async def _session(
        self,
        ruleset: Ruleset,
        *,
        seat: int,
        deals: int,
        trick: Trick = ask_plainly,
        seed: bytes | None = None,
        digests: set[str] | None = None,
    ) -> SessionResult:
        """Play a session with the bot at `seat`; its digest goes into `digests`."""
        number = next(self._numbers)
        seed = seed or sha256(f"check/{number}".encode()).digest()
        header = _header(ruleset, self._member, seat, deals, number, seed)
        referee = Referee(header, seed, seed)
        checked = CheckedSeat(self._member.sit(referee, seat), self._trace, trick, self._clockwork)
        seats: list[Seat] = [
            checked if place == seat else HouseSeat(f"{number}/{place}") for place in range(PLAYERS)
        ]
        runner = SessionRunner(referee, seats, self._clockwork)
        runner.open()
        try:
            played = await runner.play()
        except BaseException:
            runner.close(AttemptEnd.OPERATOR_STOP)
            raise
        runner.close(AttemptEnd.FINISHED)
        if digests is not None:
            digests.add(parse_ends(played.replay)[1].play_sha256)
        return played.result

    def _verdict(self, step: str, results: Sequence[SessionResult], praise: str) -> Verdict:
        for result in results:
            if (fault := _fault(result)) is not None:
                return Verdict(step, False, fault, self._trace.lines())
        return Verdict(step, True, praise)

    async def _changed(self, came_as: Hello) -> Verdict | None:
        """What is wrong with the bot between two steps; None while it is there, and still the one that came.

        A tournament waits for it as long, and takes no other version or build of it either.
        """
        try:
            async with asyncio.timeout(CLOCK.join_ms / 1000):
                await self._member.there.wait()
        except TimeoutError:
            sentence = f"the bot is away, and did not come back within {CLOCK.join_ms} ms"
            return Verdict("link", False, sentence, self._why_away())
        hello = self._member.hello
        if hello is None or _build(hello) == _build(came_as):
            return None
        sentence = (
            f"the bot came as {_build(came_as)} and came back as {_build(hello)}: a tournament keeps to what "
            "it saw first"
        )
        return Verdict("version", False, sentence)

    def _why_away(self) -> tuple[str, ...]:
        ended, told = self._member.link.absence_detail, self._member.turned_away
        lines = [f"its last stream ended: {escape(ended)}"] if ended else []
        if told is not None and told is not self._turned_away_before:
            lines.append(f"its stream was refused: {escape(told.detail)}")
        return tuple(lines)


def _seed_of_turned_weli() -> bytes:
    """A seed whose first deal turns up the Weli, so that the dealer, seat 0, names trumps."""
    options = make_session_options(TAVERN, {"players": PLAYERS, "deals": 1})
    for number in count():
        seed = sha256(f"check/weli/{number}".encode()).digest()
        decision = Session(TAVERN, options, seed).decision
        if decision is not None and decision.kind is DecisionKind.TRUMP:
            return seed
    raise AssertionError("count() does not end")


def _header(
    ruleset: Ruleset, member: Member, seat: int, deals: int, number: int, seed: bytes
) -> SessionHeader:
    version = member.hello.bot_version if member.hello else ""
    others = [SeatInfo(f"house{place}", "1", "") for place in range(PLAYERS)]
    return SessionHeader(
        tournament="check",
        block=number,
        session=1,
        session_id=sha256(seed).hexdigest()[:32],
        ruleset=ruleset,
        options=make_session_options(ruleset, {"players": PLAYERS, "deals": deals}),
        seats=(*others[:seat], SeatInfo(member.name, version, ""), *others[seat + 1 :]),
        clock=CLOCK,
        commitment=commitment(seed, seed),
    )


def _fault(result: SessionResult) -> str | None:
    """The first thing that went wrong in a session; the house does nothing wrong."""
    for seat in result.seats:
        for fault in seat.faults:
            return f"the bot {fault.cause.sentence}" + (f": {escape(fault.detail)}" if fault.detail else "")
    return None


def _build(hello: Hello) -> str:
    """The version and the build of a bot, as it gave them."""
    return f"version {escape(hello.bot_version)!r}, build {escape(hello.build_digest)!r}"


def _percentiles(times_us: list[int]) -> str:
    """50, 95 and 99 of 100 were no slower, in milliseconds."""
    ordered = sorted(times_us)
    places = [ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] for percent in (50, 95, 99)]
    return "/".join(f"{place / 1000:.1f}" for place in places)


def _request_text(request: Request) -> str:
    legal = request.legal
    if isinstance(legal, Subsets):
        answers = f"{legal.least} to {legal.most} of {cards_text(legal.hand)}"
    else:
        answers = ", ".join(action_text(action) for action in legal)
    return f"request {request.request_id} of {request.session_id}: {legal.kind}, legal: {answers}"


def _reply_text(reply: Reply | None) -> str:
    match reply:
        case None:
            return "nothing"
        case Gone(_, detail):
            return f"the bot {escape(detail)}"
        case Arrived(Answer(_, _, Unreadable(why))):
            return f"an answer that cannot be read: {escape(why)}"
        case Arrived(answer):
            assert not isinstance(answer.action, Unreadable)
            return action_text(answer.action)
