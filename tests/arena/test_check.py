"""The check of a bot: one that keeps the contract passes every step, and each breach fails its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from arena import check
from arena.check import Checker
from arena.clock import ClockSettings, SystemTime
from arena.faults import FaultCause
from arena.lag import Heartbeat, beat_forever
from arena.lobby import Lobby, Member
from arena.messages import Request, SessionOver, SessionStart
from arena.results import AttemptEnd
from arena.runner import Clockwork
from arena.seats import Gone
from arena.status import Verdict
from engine.actions import Action, Bid, DecisionKind
from tests.arena.bots import LinkedBot, Returning, Script, first_legal
from tests.arena.halls import Hesitant
from tests.arena.tables import illegal


class Leaver:
    """The process of a bot that leaves with an exit code."""

    def __init__(self, code: int | None) -> None:
        self._code = code

    async def exit_code(self, limit_s: float) -> int | None:
        """The code that was given."""
        del limit_s
        return self._code


@asynccontextmanager
async def lobby_with_clockwork() -> AsyncIterator[tuple[Lobby, Clockwork]]:
    """A lobby, and what a checker measures with."""
    time = SystemTime()
    heartbeat = Heartbeat(time.now_us())
    beat = asyncio.create_task(beat_forever(heartbeat, time))
    yield Lobby(time, arena_version="0"), Clockwork(time, heartbeat)
    beat.cancel()


async def verdicts(
    script: Script | None,
    *,
    code: int | None = 0,
    deterministic: bool = False,
    max_sessions: int = 8,
    members: list[Member] | None = None,
    only: str | None = None,
) -> dict[str, Verdict]:
    """All verdicts, by step, on a bot with this script; no script: on one that never comes.

    The bot's member goes into `members`, for a script that needs it. Instead of all steps there is `only`
    one of them between the first and the last.
    """
    async with lobby_with_clockwork() as (lobby, clockwork):
        member = lobby.member("bot")
        if members is not None:
            members.append(member)
        bot = None if script is None else Returning(member, script, max_sessions=max_sessions)
        checker = Checker(member, clockwork, process=Leaver(code), deterministic=deterministic)
        if only is not None:
            checker._steps = (checker.hello, getattr(checker, only))
        found = {verdict.step: verdict async for verdict in checker.run()}
    assert bot is None or bot.heard
    return found


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer decisions, and no bank to wait for."""
    monkeypatch.setattr(check, "SPEED_DECISIONS", 100)
    monkeypatch.setattr(
        check, "CLOCK", ClockSettings(move_ms=500, bank_ms=0, first_answer_ms=0, join_ms=200, max_strikes=1)
    )


async def test_a_bot_that_keeps_the_contract_passes_every_step() -> None:
    """Ten steps, every one passed; the speed is told by kind of decision."""
    found = await verdicts(first_legal, deterministic=True)
    assert [step for step, verdict in found.items() if not verdict.passed] == []
    assert list(found) == [
        "hello", "every decision", "batches", "rejected answer", "late request", "repeated request",
        "reconnection", "speed", "determinism", "exit",
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


@pytest.mark.parametrize("code", [1, None], ids=["code 1", "still running"])
async def test_a_bot_that_does_not_end_well_fails_the_last_step(code: int | None) -> None:
    """Any exit code but 0, or none in time."""
    found = await verdicts(first_legal, code=code)
    assert not found["exit"].passed


async def test_determinism_is_not_granted_to_a_bot_that_the_fallback_played_for() -> None:
    """Two forfeited sessions are alike, and the step fails all the same."""
    found = await verdicts(illegal, only="determinism")
    assert not found["determinism"].passed
    assert "illegal" in found["determinism"].sentence


async def test_a_bot_that_plays_one_session_at_a_time_is_asked_for_no_more() -> None:
    """The step for batches says so."""
    found = await verdicts(first_legal, max_sessions=1, only="batches")
    assert found["batches"].passed
    assert "one session at a time" in found["batches"].sentence


@pytest.mark.parametrize(
    "step", ["every_decision", "batches", "rejection", "late", "repeated", "reconnection", "speed"]
)
async def test_a_bot_that_is_gone_is_asked_nothing_more(step: str) -> None:
    """The step in which it went fails with the reason, and is the last."""

    def leave(request: Request) -> None:
        members[0].leave_for_good(Gone(FaultCause.EXITED, "exited with code 3"))

    members: list[Member] = []
    found = await verdicts(leave, members=members, only=step)
    assert len(found) == 2
    last = list(found.values())[-1]
    assert not last.passed
    assert "exited with code 3" in last.sentence


async def test_a_bot_that_never_comes_is_asked_nothing_more() -> None:
    """The check ends with the first step."""
    found = await verdicts(None)
    assert list(found) == ["hello"]
    assert not found["hello"].passed


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
    """After the lost link it has the join limit to be there again; then the check is over, and says why."""
    async with lobby_with_clockwork() as (lobby, clockwork):
        member = lobby.member("bot")
        LinkedBot(member)
        checker = Checker(member, clockwork)
        checker._steps = (checker.hello, checker.reconnection, checker.speed)
        found = {verdict.step: verdict async for verdict in checker.run()}
    assert list(found) == ["hello", "reconnection", "link"]
    assert "had no link up when its clock ran out" in found["reconnection"].sentence
    assert found["link"].sentence == "the bot is away, and did not come back within 200 ms"
    assert found["link"].evidence == ("its last stream ended: the check cuts the link: come back",)


async def test_a_bot_that_comes_back_as_another_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tournament would not let it in: the check ends with what it was and what it is."""
    async with lobby_with_clockwork() as (lobby, clockwork):
        member = lobby.member("bot")
        bot = Returning(member)
        checker = Checker(member, clockwork)
        checker._steps = (checker.hello, checker.reconnection, checker.speed)
        monkeypatch.setattr(bot, "_version", "2")
        found = {verdict.step: verdict async for verdict in checker.run()}
    assert list(found) == ["hello", "reconnection", "version"]
    assert not found["version"].passed
    assert "came as version '1', build '' and came back as version '2'" in found["version"].sentence
