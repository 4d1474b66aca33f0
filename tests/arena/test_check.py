"""The check of a bot: one that keeps the contract passes every step, and each breach fails its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Final

import pytest

from arena import check
from arena.check import Checker, Entrance, ProcessEnd
from arena.clock import ClockSettings, SystemTime
from arena.door import Door, DoorLimits
from arena.faults import FaultCause
from arena.lag import Heartbeat, beat_forever
from arena.lobby import Lobby, Member
from arena.messages import ArenaMessage, Rejected, RejectReason, Request, SessionOver, SessionStart
from arena.results import AttemptEnd
from arena.runner import Clockwork
from arena.seats import Gone
from arena.status import Verdict
from engine.actions import Action, Bid, Call, DecisionKind, Declare
from tests.arena.bots import LinkedBot, Returning, Script, first_legal
from tests.arena.halls import Hesitant, last_legal
from tests.arena.tables import TableTime, illegal


class Leaver:
    """The process of a bot that ends as it is told."""

    def __init__(self, end: ProcessEnd | None) -> None:
        self._end = end

    async def end(self, limit_s: float) -> ProcessEnd | None:
        """The end that was given."""
        del limit_s
        return self._end


EXITED = ProcessEnd(0, "exited with code 0")


@asynccontextmanager
async def lobby_with_clockwork() -> AsyncIterator[tuple[Lobby, Clockwork]]:
    """A lobby, and what a checker measures with."""
    time = SystemTime()
    heartbeat = Heartbeat(time.now_us())
    beat = asyncio.create_task(beat_forever(heartbeat, time))
    yield Lobby(time, arena_version="0"), Clockwork(time, heartbeat)
    beat.cancel()


def keep(checker: Checker, *steps: str) -> None:
    """Have a check take no other steps than the first and these."""
    checker._steps = tuple([step for step in checker._steps if step.name in ("hello", *steps)])


async def verdicts(
    script: Script | None,
    *,
    end: ProcessEnd | None = EXITED,
    deterministic: bool = False,
    max_sessions: int = 8,
    members: list[Member] | None = None,
    only: str | None = None,
    kind: type[Returning] = Returning,
    entrance: Entrance | None = None,
) -> dict[str, Verdict]:
    """All verdicts, by step, on a bot with this script; no script: on one that never comes.

    The bot's member goes into `members`, for a script that needs it. Instead of all steps there is `only`
    one of them after the first.
    """
    async with lobby_with_clockwork() as (lobby, clockwork):
        member = lobby.member("bot")
        if members is not None:
            members.append(member)
        bot = None if script is None else kind(member, script, max_sessions=max_sessions)
        checker = Checker(
            member, clockwork, process=Leaver(end), entrance=entrance, deterministic=deterministic
        )
        if only is not None:
            keep(checker, only)
        found = {verdict.step: verdict async for verdict in checker.run()}
    assert bot is None or bot.heard
    return found


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer decisions, and no bank to wait for."""
    monkeypatch.setattr(check, "SPEED_DECISIONS", 100)
    monkeypatch.setattr(check, "QUIET_S", 0.01)
    monkeypatch.setattr(
        check, "CLOCK", ClockSettings(move_ms=500, bank_ms=0, first_answer_ms=0, join_ms=200, max_strikes=1)
    )


async def test_a_bot_that_keeps_the_contract_passes_every_step() -> None:
    """Eleven steps, every one passed; the speed is told by kind of decision."""
    found = await verdicts(first_legal, deterministic=True)
    assert [step for step, verdict in found.items() if not verdict.passed] == []
    assert list(found) == [
        "hello", "every decision", "session end", "batches", "rejected answer", "late request",
        "repeated request", "reconnection", "speed", "determinism", "exit",
    ]  # fmt: skip
    assert all(kind in found["speed"].sentence for kind in (DecisionKind.PLAY, DecisionKind.BID))


async def test_an_illegal_answer_fails_with_what_was_sent_and_what_came_back() -> None:
    """The evidence names the legal answers and the illegal one."""
    found = await verdicts(illegal)
    failed = found["every decision"]
    assert not failed.passed
    assert "illegal" in failed.sentence
    assert "legal:" in failed.evidence[0]


async def test_a_bot_that_cannot_bid_fails_with_the_option_that_shows_it() -> None:
    """The sentence names an option value with an auction."""

    def no_bids(request: Request) -> Action | None:
        legal = next(iter(request.legal))
        return None if isinstance(legal, Bid) else legal

    found = await verdicts(no_bids)
    assert not found["every decision"].passed
    assert "bid" in found["every decision"].evidence[0]


async def test_a_bot_that_plays_by_chance_is_told_by_the_step_for_determinism() -> None:
    """The same session played in two ways fails, if it was asked for."""
    turns: list[int] = []

    def by_turns(request: Request) -> Action:
        turns.append(1)
        answers = list(request.legal)
        return answers[len(turns) % len(answers)]

    found = await verdicts(by_turns, deterministic=True)
    assert not found["determinism"].passed


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (ProcessEnd(1, "exited with code 1"), "exit code 1 after Goodbye"),
        (ProcessEnd(None, "was ended by signal 9"), "after Goodbye the bot was ended by signal 9"),
        (None, "still running 5 s after Goodbye"),
    ],
    ids=["code 1", "no exit", "still running"],
)
async def test_a_bot_that_does_not_end_well_fails_the_last_step(end: ProcessEnd | None, told: str) -> None:
    """Any exit code but 0, an end that is no exit, or none in time."""
    found = await verdicts(first_legal, end=end)
    assert (found["exit"].passed, found["exit"].sentence) == (False, told)


async def test_determinism_is_not_granted_to_a_bot_that_the_fallback_played_for() -> None:
    """Two forfeited sessions are alike, and the step fails all the same."""
    found = await verdicts(illegal, deterministic=True, only="determinism")
    assert not found["determinism"].passed
    assert "illegal" in found["determinism"].sentence


async def test_the_time_to_come_is_longer_by_what_the_arena_was_late_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bot that never comes is given up when it has had all of its time."""
    stood_still_us, waited_us = 400_000, list[int]()

    def spared_us(heartbeat: Heartbeat, since_us: int, at_us: int) -> int:
        del heartbeat
        waited_us.append(at_us - since_us)
        return min(at_us - since_us, stood_still_us)

    monkeypatch.setattr(Heartbeat, "spared_us", spared_us)
    found = await verdicts(None, only="hello")
    assert found["hello"].sentence == "no Hello within 200 ms"
    assert max(waited_us) >= stood_still_us + 200_000


async def test_a_bot_that_plays_one_session_at_a_time_is_asked_for_no_more() -> None:
    """The step for batches says so."""
    found = await verdicts(first_legal, max_sessions=1, only="batches")
    assert found["batches"].passed
    assert "one session at a time" in found["batches"].sentence


@pytest.mark.parametrize(
    "step",
    [
        "every decision", "session end", "batches", "rejected answer", "late request", "repeated request",
        "reconnection", "speed",
    ],
)  # fmt: skip
async def test_a_bot_that_is_gone_is_asked_nothing_more(step: str) -> None:
    """The step in which it went fails with the reason, and is the last that is taken."""

    def leave(request: Request) -> None:
        members[0].leave_for_good(Gone(FaultCause.EXITED, "exited with code 3"))

    members: list[Member] = []
    found = await verdicts(leave, members=members, only=step)
    assert list(found) == ["hello", step]
    assert not found[step].passed
    assert found[step].sentence.startswith("the bot exited with code 3")
    assert any("exited with code 3" in line for line in found[step].evidence)


async def test_a_bot_that_never_comes_is_asked_nothing_more() -> None:
    """Every step after the first is skipped, at once and with the reason."""
    found = await verdicts(None)
    assert not any(verdict.passed for verdict in found.values())
    assert {verdict.sentence for verdict in found.values() if verdict.skipped} == {
        "skipped: the bot never said Hello"
    }
    assert [step for step, verdict in found.items() if not verdict.skipped] == ["hello"]


async def test_what_was_seen_of_a_bot_that_never_came_is_told() -> None:
    """Nobody dialled, or somebody did with a wrong token."""
    door = Door(DoorLimits())
    found = await verdicts(None, only="hello", entrance=Entrance("127.0.0.1:7", door))
    (line,) = found["hello"].evidence
    assert line.startswith("nobody dialled 127.0.0.1:7")
    for _ in range(2):
        door.hold("ipv4:127.0.0.1", 0)
    found = await verdicts(None, only="hello", entrance=Entrance("127.0.0.1:7", door))
    (line,) = found["hello"].evidence
    assert line.startswith("came: 2 calls with a wrong token")


async def test_a_bot_that_answers_nothing_is_not_asked_again_and_again() -> None:
    """The first silence is the only one that is waited for; the exit is judged all the same."""
    found = await verdicts(lambda request: None)
    assert not found["every decision"].passed
    assert found["every decision"].evidence[-1].startswith("came back: nothing in ")
    taken = [step for step, verdict in found.items() if not verdict.skipped]
    assert taken == ["hello", "every decision", "exit"]


async def test_a_bot_that_is_silent_now_and_then_is_skipped_after_the_second_time() -> None:
    """Once may be chance."""

    def only_first(request: Request) -> Action | None:
        return first_legal(request) if request.request_id == 1 else None

    found = await verdicts(only_first)
    skipped = [step for step, verdict in found.items() if verdict.skipped]
    assert "batches" in skipped
    assert found["session end"].skipped is False


# ------------------------------------------------------------------ one breach a step


class NamesTrumpsBadly(Returning):
    """Answers against the rules when it is to name trumps in its first session, as often as it may."""

    def answer(self, request: Request) -> None:
        """Answer well, but for trumps."""
        if request.legal.kind is DecisionKind.TRUMP and len(self.heard_of(SessionStart)) == 1:
            self.say(request, illegal(request))
        else:
            super().answer(request)


class AnswersTheEnd(Returning):
    """Sends one more answer whenever a session is over."""

    def on(self, message: ArenaMessage) -> None:
        """Say what nobody asked for."""
        super().on(message)
        if isinstance(message, SessionOver) and message.session_id in self._asked:
            self.say(self._asked[message.session_id])


class EndsWithASession(Returning):
    """Goes as soon as a session is over."""

    def on(self, message: ArenaMessage) -> None:
        """Go."""
        super().on(message)
        if isinstance(message, SessionOver):
            self._member.leave_for_good(Gone(FaultCause.EXITED, "exited with code 1"))


class ConfusesManySessions(Returning):
    """Answers against the rules while it sits in more than four sessions."""

    def answer(self, request: Request) -> None:
        """Answer well, or not."""
        over = {message.session_id for message in self.heard if isinstance(message, SessionOver)}
        if (
            len({message.session_id for message in self.heard if isinstance(message, SessionStart)} - over)
            > 4
        ):
            self.say(request, illegal(request))
        else:
            super().answer(request)


class IgnoresRejections(Returning):
    """Takes an answer that was rejected for given."""

    def on(self, message: ArenaMessage) -> None:
        """Hear nothing of rejections."""
        if not isinstance(message, Rejected):
            super().on(message)


class InsistsWhenLate(Returning):
    """Answers again when it is told that it was late."""

    def on(self, message: ArenaMessage) -> None:
        """Insist, once."""
        super().on(message)
        if isinstance(message, Rejected) and message.reason is RejectReason.LATE:
            request = self._asked[message.session_id]
            if request.request_id == message.request_id and not self.heard_before(message):
                self.say(request)

    def heard_before(self, message: ArenaMessage) -> bool:
        """Whether the same was said before."""
        return message in self.heard[:-1]


class NeverLate(Returning):
    """Gives no answer to a request whose time it takes for over: that is, to the very first of seat 1."""

    def answer(self, request: Request) -> None:
        """Answer all but that."""
        if request.seat != 1 or request.request_id > 1:
            super().answer(request)


class AnswersCopiesOften(Returning):
    """Answers the copy of a request three times."""

    def on(self, message: ArenaMessage) -> None:
        """Count the copies."""
        super().on(message)
        if isinstance(message, Request):
            self._here.append((message.session_id, message.request_id))

    def answer(self, request: Request) -> None:
        """Answer, a copy often."""
        is_copy = self._here.count((request.session_id, request.request_id)) > 1
        for _ in range(3 if is_copy else 1):
            super().answer(request)

    def come_back(self) -> None:
        """What came on another stream is no copy."""
        self._here.clear()
        super().come_back()

    @cached_property
    def _here(self) -> list[tuple[str, int]]:
        return []


class ForgetsWhatIsOpen(Returning):
    """Comes back, and answers nothing that it was asked before."""

    def answer(self, request: Request) -> None:
        """Answer what is new."""
        asked = [message for message in self.heard if isinstance(message, Request)]
        ids = [(one.session_id, one.request_id) for one in asked]
        is_lost = ids.count((request.session_id, request.request_id)) > 1 and self._came_back
        if not is_lost:
            super().answer(request)

    _came_back = False

    def come_back(self) -> None:
        """Forget."""
        self._came_back = True
        super().come_back()


class TiresInLongSessions(Returning):
    """Answers so many requests of a session, and no more."""

    def answer(self, request: Request) -> None:
        """Answer, or sleep."""
        if request.request_id < 25:
            super().answer(request)


BREACHES: Final[Mapping[str, tuple[type[Returning], str]]] = {
    "every decision": (NamesTrumpsBadly, "illegal or unreadable"),
    "session end": (AnswersTheEnd, "answered after a session had ended"),
    "batches": (ConfusesManySessions, "illegal or unreadable"),
    "rejected answer": (IgnoresRejections, "before its clock ran out"),
    "late request": (InsistsWhenLate, "rejected as late"),
    "repeated request": (AnswersCopiesOften, "again"),
    "reconnection": (ForgetsWhatIsOpen, "before its clock ran out"),
    "speed": (TiresInLongSessions, "before its clock ran out"),
}
"""By step: a bot that breaks the contract where only that step looks, and what is said of it."""


@pytest.mark.parametrize("step", BREACHES)
async def test_a_breach_fails_exactly_its_step(step: str) -> None:
    """All others pass, and the evidence begins with what was sent."""
    kind, sentence = BREACHES[step]
    found = await verdicts(first_legal, kind=kind)
    assert [name for name, verdict in found.items() if not verdict.passed] == [step]
    assert sentence in found[step].sentence
    assert found[step].evidence[0].startswith("sent")


async def test_a_bot_that_goes_when_a_session_ends_fails_the_step_for_that() -> None:
    """Not the step in which that session was played, which is over for it."""
    found = await verdicts(first_legal, kind=EndsWithASession)
    assert found["session end"].sentence.startswith("the bot exited with code 1 when a session had ended")
    assert found["session end"].evidence[0] == "sent: the session is over (finished)"
    assert found["every decision"].skipped
    assert found["batches"].skipped


async def test_a_request_that_is_given_up_must_be_answered() -> None:
    """Without an answer that is too late there is nothing to see."""
    found = await verdicts(first_legal, kind=NeverLate, only="late request")
    assert not found["late request"].passed
    assert "before its clock ran out" in found["late request"].sentence


async def test_a_rejection_that_is_ignored_is_shown_with_the_answer_before_it() -> None:
    """Sent, came back, rejected, nothing."""
    found = await verdicts(first_legal, kind=IgnoresRejections, only="rejected answer")
    sent, came, rejected, nothing = found["rejected answer"].evidence
    assert sent.startswith("sent: request 1 of session ")
    assert came.startswith("came back after ")
    assert "rejected (illegal, 2 tries left)" in rejected
    assert nothing.startswith("came back: nothing in ")


async def test_answers_to_other_requests_are_shown() -> None:
    """Not as silence: they came, and were rejected."""

    class Ahead(Returning):
        def answer(self, request: Request) -> None:
            self.say(replace(request, request_id=request.request_id + 1))

    found = await verdicts(first_legal, kind=Ahead, only="batches")
    evidence = found["batches"].evidence
    assert "for request 2: " in evidence[1]
    assert "rejected (unknown request)" in evidence[2]


async def test_a_link_that_was_closed_for_a_violation_is_shown_with_what_came() -> None:
    """The sentence that the arena knows is in the verdict."""

    class Garbles(Returning):
        def answer(self, request: Request) -> None:
            self._member.garbled(self._stream, "no message: ff ff")
            self._member.leave_for_good(Gone(FaultCause.EXITED, "exited with code 0"))

    found = await verdicts(first_legal, kind=Garbles)
    sentence = found["every decision"].sentence
    assert sentence == (
        "the bot sent something that the protocol does not allow: no message: ff ff; it exited with code 0"
    )
    assert any(
        line.startswith("the link ended (no message: ff ff)") for line in found["every decision"].evidence
    )


async def test_a_bot_that_answers_both_copies_of_a_request_passes() -> None:
    """The protocol lets a bot without a memory do so."""
    found = await verdicts(first_legal, only="repeated request")
    assert found["repeated request"].passed
    assert "both copies" in found["repeated request"].sentence


def fold_if_allowed(request: Request) -> Action:
    """Fold whenever that is legal."""
    call = Declare(Call.FOLD)
    return call if call in request.legal else last_legal(request)


@pytest.mark.parametrize("script", [first_legal, last_legal, fold_if_allowed])
async def test_a_bot_is_asked_every_kind_of_decision(script: Callable[[Request], Action]) -> None:
    """All six, whether it plays or stays out of whatever it can; there is nothing to remark."""
    kinds = set()

    def note(request: Request) -> Action:
        kinds.add(request.legal.kind)
        return script(request)

    found = await verdicts(note, only="every decision")
    assert found["every decision"].passed
    assert kinds == set(DecisionKind)
    assert found["every decision"].sentence.endswith("each option value once")


async def test_a_bot_that_is_not_asked_every_kind_passes_with_a_remark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where only the first session is played, a Muss, the kinds that are not asked in it are told."""
    monkeypatch.setattr(check, "every_option_value", tuple)
    found = await verdicts(first_legal, only="every decision")
    assert found["every decision"].passed
    assert found["every decision"].sentence.endswith("it never came to: bid, declare, exchange, discard")


# ------------------------------------------------------------------ slow but honest


class Slow(Returning):
    """Answers a millisecond before its time is over, by a clock that stands still otherwise."""

    time: ClassVar[TableTime]
    is_tired = True

    def answer(self, request: Request) -> None:
        """Think as long as is allowed, then answer."""
        assert request.time_left_ms is not None
        wait_us = (request.time_left_ms - 1) * 1000 if self.is_tired else 0
        self.time.call_at(self.time.now_us() + wait_us, lambda: self._answer_now(request))

    def _answer_now(self, request: Request) -> None:
        super().answer(request)


class SlowOnce(Slow):
    """Needs 9 s for its first decision of all, and no time for the others."""

    def answer(self, request: Request) -> None:
        """Warm up."""
        wait_us, self.is_tired = 9_000_000 * self.is_tired, False
        self.time.call_at(self.time.now_us() + wait_us, lambda: self._answer_now(request))


@pytest.mark.parametrize("kind", [Slow, SlowOnce])
async def test_a_bot_that_is_slow_but_in_time_passes(
    kind: type[Slow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it took for one decision is charged to no other."""
    monkeypatch.setattr(check, "CLOCK", ClockSettings(max_strikes=1))
    time = TableTime()
    kind.time = time
    member = Lobby(time, arena_version="0").member("bot")
    kind(member)
    checker = Checker(member, time.clockwork())
    keep(checker, "every decision", "rejected answer", "late request", "repeated request", "speed")
    found = {verdict.step: verdict async for verdict in checker.run()}
    assert [verdict for verdict in found.values() if not verdict.passed] == []
    assert len(found) == 6


# ------------------------------------------------------------------ a bot that was started elsewhere


async def test_a_bot_that_was_started_elsewhere_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exit is nobody's business here: there is no such step, and at the end it is there and free."""
    monkeypatch.setattr(check, "SPEED_DECISIONS", 1)
    async with lobby_with_clockwork() as (lobby, clockwork):
        member = lobby.member("bot")
        bot = Returning(member)
        found = {verdict.step: verdict async for verdict in Checker(member, clockwork).run()}
        assert [step for step, verdict in found.items() if not verdict.passed] == []
        assert list(found)[-1] == "speed"
        assert "connected before" in found["hello"].sentence
        assert (member.is_there, member.link.session_count) == (True, 0)
        bot.read()
        offered = {start.session_id for start in bot.heard if isinstance(start, SessionStart)}
        assert offered == {over.session_id for over in bot.heard if isinstance(over, SessionOver)}


async def test_a_check_that_is_cancelled_ends_its_sessions() -> None:
    """The bot is told that each of them is over, and sits nowhere any more."""
    async with lobby_with_clockwork() as (lobby, clockwork):
        member = lobby.member("bot")
        hesitant = Hesitant(20)
        bot = Returning(member, hesitant)
        checker = Checker(member, clockwork)
        running = asyncio.create_task(checker.batches())
        await hesitant.stuck.wait()
        assert member.link.session_count > 1
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        bot.read()
        overs = [message for message in bot.heard if isinstance(message, SessionOver)]
        assert {over.ending for over in overs} == {AttemptEnd.OPERATOR_STOP}
        assert (len(overs), member.link.session_count) == (bot.most_at_once, 0)


async def test_a_bot_that_does_not_come_back_is_asked_nothing_more() -> None:
    """After the lost link it has the time of the decision to be there again; then nothing more is asked."""
    async with lobby_with_clockwork() as (lobby, clockwork):
        member = lobby.member("bot")
        LinkedBot(member)
        checker = Checker(member, clockwork)
        keep(checker, "reconnection", "speed")
        found = {verdict.step: verdict async for verdict in checker.run()}
    assert "had no link up when its clock ran out" in found["reconnection"].sentence
    assert any("the check cuts the link: come back" in line for line in found["reconnection"].evidence)
    assert found["speed"].sentence == "skipped: the bot is away"


async def test_a_bot_that_comes_back_as_another_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tournament would not let it in: the check ends with what it was and what it is."""
    async with lobby_with_clockwork() as (lobby, clockwork):
        member = lobby.member("bot")
        bot = Returning(member)
        checker = Checker(member, clockwork)
        keep(checker, "reconnection", "speed")
        monkeypatch.setattr(bot, "_version", "2")
        found = {verdict.step: verdict async for verdict in checker.run()}
    assert list(found) == ["hello", "reconnection", "version", "speed"]
    assert found["speed"].skipped
    assert not found["version"].passed
    assert "came as version '1', build '' and came back as version '2'" in found["version"].sentence
