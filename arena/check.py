"""Does a bot keep the contract? Steps that put it to the question, each with a name and a verdict.

The bot sits at tables whose other seats are played here, and the arena behaves as it may in
earnest: it rejects, asks again, cuts the link, gives up waiting. How the bot was started, if it
was started here at all, and how a verdict is printed is not known here.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Final, Protocol

from arena.check_findings import (
    Finding,
    Outcome,
    difference,
    first_wrong,
    left_play,
    speed_text,
    times_of,
    wrong,
    wrong_play,
)
from arena.check_table import PLAYERS, CutTogether, Ear, LinkTricks, Table, Trick, reject_first_answer
from arena.check_trace import Sitting
from arena.clock import US_PER_MS, US_PER_SECOND, ClockSettings
from arena.door import Door
from arena.lag import limited
from arena.lobby import Member
from arena.messages import GoodbyeReason, Hello, RejectReason
from arena.runner import Clockwork
from arena.status import Verdict
from arena.text import escape
from engine.actions import DecisionKind
from engine.rules import SALZBURG, TAVERN, every_option_value, make_session_options
from engine.session import Session

SPEED_DECISIONS: Final = 1000
BATCH_SESSIONS: Final = 8
CUT_SESSIONS: Final = 3
EXIT_LIMIT_S: Final = 5.0
QUIET_S: Final = 0.3
"""How long nothing is asked after a session, so that it shows what the bot makes of the end."""
SILENT_STEPS: Final = 2
"""A bot that was silent to a plain question in so many steps will be in the others."""
CLOCK: Final = ClockSettings(max_strikes=1)
"""The clocks of the product's defaults; the first fault ends the questions of a session."""


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How the bot's process ended.

    Attributes:
        code: its exit code, None when it did not exit by itself.
        sentence: the same for people, as the end of a sentence that begins with the bot's name.
    """

    code: int | None
    sentence: str


class Process(Protocol):
    """What the bot runs in, when it was started for the check."""

    async def end(self, limit_s: float) -> ProcessEnd | None:
        """The end of the bot's process; None when there was none by the limit."""
        ...


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where a bot that is started here is to dial, and who was turned away there."""

    address: str
    door: Door


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the check: its name, and what takes it."""

    name: str
    take: Callable[[], Awaitable[Finding]]


class Checker:
    """Takes one bot through the steps."""

    def __init__(
        self,
        member: Member,
        clockwork: Clockwork,
        *,
        process: Process | None = None,
        entrance: Entrance | None = None,
        deterministic: bool = False,
    ) -> None:
        """Set up, and listen in on the bot from here on until `run` is over.

        Args:
            member: the bot's in the lobby; nothing else may have it sit anywhere meanwhile.
            clockwork: what sessions measure and wait with.
            process: what the bot runs in; it is sent away at the end, and must end well. None: it was
                started elsewhere, and stays connected.
            entrance: where it is to dial, to say what was seen there of one that does not come.
            deterministic: ask for the same play from the same session too.
        """
        self._member = member
        self._clockwork = clockwork
        self._process = process
        self._entrance = entrance
        self._ear = Ear(member)
        self._table = Table(member, self._ear, clockwork, CLOCK)
        self._tricks = LinkTricks(member, self._ear, clockwork)
        self._steps = self._all_steps(deterministic=deterministic)
        self._came_as: Hello | None = None
        """What the bot said of itself in the first step."""
        self._was_turned_away = member.turned_away
        self._silent_steps = 0
        """Steps in which the bot did not answer a question that was put plainly."""
        self._given_up: str | None = None
        """Why nothing more is asked, when that is neither that the bot is gone nor that it is silent."""
        self._lost_at_end: Sitting | None = None
        """The first session, when the bot went as soon as it was over."""

    def _all_steps(self, *, deterministic: bool) -> tuple[Step, ...]:
        steps = [
            Step("hello", self.hello),
            Step("every decision", self.every_decision),
            Step("session end", self.session_end),
            Step("batches", self.batches),
            Step("rejected answer", self.rejection),
            Step("late request", self.late),
            Step("repeated request", self.repeated),
            Step("reconnection", self.reconnection),
            Step("speed", self.speed),
        ]
        if deterministic:
            steps.append(Step("determinism", self.determinism))
        if self._process is not None:
            steps.append(Step("exit", self.goodbye))
        return tuple(steps)

    async def run(self) -> AsyncIterator[Verdict]:
        """The verdicts, one after the other; a step that can tell nothing new is skipped.

        To cancel it ends the sessions that the bot sits in, and leaves the bot as it is.
        """
        try:
            for step in self._steps:
                reason = self._why_skip(step)
                finding = await step.take() if reason is None else _skipped(reason)
                self._silent_steps += finding.is_silence
                yield Verdict(
                    step.name, finding.passed, finding.sentence, finding.evidence, finding.is_skipped
                )
                if (changed := await self._changed(finding)) is not None:
                    yield changed
        finally:
            self._ear.close()

    # ------------------------------------------------------------------ the steps

    async def hello(self) -> Finding:
        """The bot says Hello within the join limit."""
        was_there = self._member.there.is_set()
        began_us = self._clockwork.time.now_us()
        try:
            async with limited(self._clockwork.patience, CLOCK.join_ms * US_PER_MS):
                await self._member.there.wait()
        except TimeoutError:
            return Finding(False, f"no Hello within {CLOCK.join_ms} ms", self._seen_at_the_door())
        hello = self._came_as = self._member.hello
        if hello is None:
            gone = self._member.gone
            why = "the bot ended" if gone is None else f"the bot {escape(gone.detail)}"
            return Finding(False, f"{why} before it said Hello", self._seen_at_the_door())
        took_ms = (self._clockwork.time.now_us() - began_us) // 1000
        who = f"{escape(hello.bot_name)} {escape(hello.bot_version)} with {escape(hello.sdk)}"
        return Finding(True, f"{who}, {'connected before' if was_there else f'after {took_ms} ms'}")

    async def every_decision(self) -> Finding:
        """Each value of each option is played; all six kinds of decision are asked."""
        first = await self._table.play(TAVERN, seat=0, deals=1, seed=_seed_of_turned_weli())
        if (found := wrong(first)) is not None:
            return found
        await self._ear.quiet(QUIET_S)
        if self._member.gone is not None:
            self._lost_at_end = first.sitting
            return _skipped("the bot was gone when its first session had ended")
        outcomes = [first]
        trials = every_option_value()
        for number, trial in enumerate(trials):
            outcome = await self._table.play(trial.ruleset, seat=number % PLAYERS, deals=2)
            if (found := wrong(outcome)) is not None:
                return Finding(
                    False, f"with {trial.option} = {trial.value}: {found.sentence}", found.evidence
                )
            outcomes.append(outcome)
        times = times_of(outcomes)
        asked = sum(map(len, times.values()))
        praise = f"{asked} decisions in {len(outcomes)} sessions, each option value once"
        # What a bot is asked depends on how it plays: no fault, but its author should know.
        missing = [kind.value for kind in DecisionKind if kind not in times]
        return Finding(True, f"{praise}; it never came to: {', '.join(missing)}" if missing else praise)

    async def session_end(self) -> Finding:
        """A session that ends, with or without an open request, leads to nothing but the next one."""
        if self._lost_at_end is not None:
            return self._gone_at_end(self._lost_at_end)
        ended = await self._table.play(TAVERN, seat=1, deals=1)
        if (found := left_play(ended)) is not None:
            return found
        await self._ear.quiet(QUIET_S)
        broken_off = await self._table.break_off(TAVERN, seat=1, deals=1)
        # One that thinks for long is still busy with the request that is over, and cannot know it.
        limit_s = QUIET_S + self._ear.trace.slowest_us / US_PER_SECOND
        await self._ear.quiet(limit_s, lambda: bool(broken_off.late_strays()))
        if self._member.gone is not None:
            return self._gone_at_end(broken_off)
        after = await self._table.play(TAVERN, seat=1, deals=1)
        if (found := left_play(after)) is not None:
            return found
        # An answer to the request that was open may have been on its way.
        for sitting, allowed in ((ended.sitting, 0), (broken_off, 1), (after.sitting, 0)):
            if len(strays := sitting.late_strays()) > allowed:
                what = f"answered after a session had ended: request {strays[allowed].request_id}"
                return Finding(False, f"the bot {what}", sitting.end_evidence())
        return Finding(True, "took the end of a session, and one with a request open, and went on")

    async def batches(self) -> Finding:
        """Several sessions at once, their requests in one message."""
        at_once = self._at_once(BATCH_SESSIONS)
        outcomes = await self._play_at_once(at_once, None)
        praise = (
            f"{at_once} sessions at once" if at_once > 1 else "one session at a time, as the bot asks for"
        )
        return first_wrong(outcomes) or Finding(True, praise)

    async def rejection(self) -> Finding:
        """A rejected answer is followed by another to the same request."""
        outcome = await self._table.play(TAVERN, seat=1, deals=2, trick=reject_first_answer)
        return wrong(outcome) or Finding(True, "answered again after a rejection")

    async def late(self) -> Finding:
        """A request whose clock ran out does not confuse the bot about the next."""
        outcome = await self._table.play(TAVERN, seat=1, deals=2, trick=self._tricks.give_up)
        praise = "its answer was rejected as late, and it went on"
        return wrong(outcome, expected=RejectReason.LATE) or Finding(True, praise)

    async def repeated(self) -> Finding:
        """A request that is sent twice is one request."""
        outcome = await self._table.play(TAVERN, seat=1, deals=2, trick=self._tricks.send_twice)
        if (found := wrong(outcome, expected=RejectReason.ALREADY_ANSWERED)) is not None:
            return found
        assert outcome.trick_id is not None
        # The trick waits for it; one that lost its link meanwhile was sent even more.
        assert outcome.sitting.copies(outcome.trick_id) > 1
        if outcome.sitting.strays_to(outcome.trick_id):
            return Finding(True, "answered both copies of a request, as it may, and went on")
        return Finding(True, "took a request that came twice for one")

    async def reconnection(self) -> Finding:
        """After a lost link the bot comes back and answers what is open, in every session."""
        outcome = await self._table.play(SALZBURG, seat=2, deals=2, trick=self._tricks.say_goodbye)
        if (found := wrong_play(outcome)) is not None:
            return found
        at_once = self._at_once(CUT_SESSIONS)
        outcomes = await self._play_at_once(at_once, CutTogether(self._member, self._ear, at_once))
        for outcome in outcomes:
            if (found := wrong_play(outcome)) is not None:
                return found
        sessions = "a session" if at_once == 1 else f"{at_once} sessions"
        return Finding(
            True,
            f"came back after a goodbye, and after a cut with {sessions} open, and answered what was open",
        )

    async def speed(self) -> Finding:
        """A thousand decisions, one session at a time."""
        outcomes: list[Outcome] = []
        while sum(map(len, times_of(outcomes).values())) < SPEED_DECISIONS:
            ruleset = (TAVERN, SALZBURG)[len(outcomes) % 2]
            outcomes.append(await self._table.play(ruleset, seat=3, deals=20))
            if (found := wrong_play(outcomes[-1])) is not None:
                return found
        return Finding(True, f"p50/p95/p99 in ms: {speed_text(times_of(outcomes))}")

    async def determinism(self) -> Finding:
        """The same session gives the same play."""
        number = self._table.new_number()
        first, second = [await self._table.play(TAVERN, seat=0, deals=10, number=number) for _ in range(2)]
        if first.play_sha256 != second.play_sha256:
            return Finding(False, "the same session was played in two ways", difference(first, second))
        # Two sessions that the fallback played for the bot are alike, and say nothing of the bot.
        return first_wrong([first, second]) or Finding(True, "the same session was played alike")

    async def goodbye(self) -> Finding:
        """After Goodbye the bot ends with exit code 0."""
        assert self._process is not None
        self._given_up = "the bot was sent away"
        self._member.close(GoodbyeReason.FINISHED, "the check is over")
        end = await self._process.end(EXIT_LIMIT_S)
        evidence = ("sent: goodbye (finished): no more sessions, and not to come back",)
        if end is None:
            return Finding(False, f"still running {EXIT_LIMIT_S:.0f} s after Goodbye", evidence)
        if end.code is None:
            return Finding(False, f"after Goodbye the bot {escape(end.sentence)}", evidence)
        return Finding(end.code == 0, f"exit code {end.code} after Goodbye", evidence if end.code else ())

    # ------------------------------------------------------------------ what a step cannot tell any more

    def _why_skip(self, step: Step) -> str | None:
        """Why a step can tell nothing new; None when it can."""
        gone = self._member.gone
        if step.take == self.session_end and self._lost_at_end is not None:
            return None
        if gone is not None:
            return f"the bot {escape(gone.detail)}"
        if self._given_up is not None:
            return self._given_up
        # Whether a bot ends when it is told to is to be seen even of one that answers nothing.
        if step.take == self.goodbye or not self._silent_steps:
            return None
        if not self._ear.trace.answer_count:
            return "the bot answers nothing"
        return "the bot is silent again and again" if self._silent_steps >= SILENT_STEPS else None

    async def _changed(self, finding: Finding) -> Verdict | None:
        """What is wrong with the bot between two steps; None while it is there, and still the one that came.

        A tournament waits for it as long, and takes no other version or build of it either.
        """
        if self._came_as is None:
            self._given_up = self._given_up or "the bot never said Hello"
            return None
        if finding.is_absence and self._member.link.absence is not None:
            # It had the time of a decision to come back, and did not.
            self._given_up = "the bot is away"
            return None
        if self._member.gone is not None or self._given_up is not None:
            return None
        try:
            async with limited(self._clockwork.patience, CLOCK.join_ms * US_PER_MS):
                await self._member.there.wait()
        except TimeoutError:
            self._given_up = "the bot is away"
            sentence = f"the bot is away, and did not come back within {CLOCK.join_ms} ms"
            return Verdict("link", False, sentence, self._why_away())
        hello = self._member.hello
        if hello is None or _build(hello) == _build(self._came_as):
            return None
        self._given_up = "the bot came back as another"
        sentence = (
            f"the bot came as {_build(self._came_as)} and came back as {_build(hello)}: a tournament keeps "
            "to what it saw first"
        )
        return Verdict("version", False, sentence)

    # ------------------------------------------------------------------ inside

    def _at_once(self, most: int) -> int:
        hello = self._member.hello
        return min(most, hello.max_sessions if hello else 1)

    async def _play_at_once(self, session_count: int, trick: Trick | None) -> list[Outcome]:
        async with asyncio.TaskGroup() as group:
            sessions = [
                group.create_task(
                    self._table.play(TAVERN, seat=0, deals=4, trick=trick), name=f"check {number}"
                )
                for number in range(session_count)
            ]
        return [session.result() for session in sessions]

    def _gone_at_end(self, sitting: Sitting) -> Finding:
        """The bot went when a session was over, although more may come."""
        gone = self._member.gone
        assert gone is not None
        sentence = f"the bot {escape(gone.detail)} when a session had ended: it has to stay until Goodbye"
        return Finding(False, sentence, sitting.end_evidence())

    def _seen_at_the_door(self) -> tuple[str, ...]:
        """What was seen of a bot that did not come in."""
        lines = list(self._why_away())
        if self._entrance is not None:
            address, wrong_tokens = self._entrance.address, self._entrance.door.failure_count
            if wrong_tokens:
                calls = "1 call" if wrong_tokens == 1 else f"{wrong_tokens} calls"
                lines.append(
                    f"came: {calls} with a wrong token: send KRATZEN_TOKEN as it is, after `Bearer `"
                )
            elif not lines:
                lines.append(f"nobody dialled {address}, which the bot was given as KRATZEN_ADDRESS")
        return tuple(lines)

    def _why_away(self) -> tuple[str, ...]:
        ended, told = self._member.link.absence_detail, self._member.turned_away
        lines = [f"its last stream ended: {escape(ended)}"] if ended else []
        if told is not None and told is not self._was_turned_away:
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


def _skipped(reason: str) -> Finding:
    return Finding(False, f"skipped: {reason}", is_skipped=True)


def _build(hello: Hello) -> str:
    """The version and the build of a bot, as it gave them."""
    return f"version {escape(hello.bot_version)!r}, build {escape(hello.build_digest)!r}"
