"""A tournament over links without a wire: what is handed out, kept, told and played again."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict, WrappedLogger

from arena.clock import LATE_US, ClockSettings, SystemTime
from arena.commitment import commitment
from arena.faults import FaultCause
from arena.lag import BEAT_US, WINDOW_BEATS, Heartbeat, beat_forever
from arena.ledger import Attempt, BotEntry, SlotEntry, TournamentState
from arena.link import LinkLimits
from arena.lobby import Lobby, Member
from arena.messages import ArenaMessage, Goodbye, Rejected, RejectReason, Request, SessionOver, SessionStart
from arena.offers import Moment, Offers
from arena.record import SeatInfo
from arena.results import AttemptEnd, SeatResult, SessionResult, SlotState, count_slots
from arena.runner import Clockwork
from arena.schedule import Plan, round_robin
from arena.seats import Gone
from arena.tournament import ABSENCES_TO_WITHDRAW, Terms, Tournament
from engine.actions import Action
from engine.rules import make_ruleset, make_session_options
from tests.arena.bots import LinkedBot, MemoryLedger, first_legal, reveals
from tests.arena.tables import illegal

SEED = bytes(32)
NAMES = ("a", "b", "c", "d")
BLOCKS = round_robin(Plan(bots=NAMES, table_size=4, seed=SEED, blocks_per_group=2))

LIMIT_S = 10
"""What is waited for is there by then, or never."""

RUN_CALLS = 3
"""A run begins with so many calls of the disk: for the slots, the bots and the state."""

T = TypeVar("T")


class WatchedDisk(ThreadPoolExecutor):
    """A disk that tells when it is given something more to do."""

    def __init__(self) -> None:
        super().__init__(1)
        self.call_count = 0
        self.on_submit: Callable[[], None] = lambda: None

    def submit(self, call: Callable[..., T], /, *arguments: object, **how: object) -> Future[T]:
        """Tell of it."""
        self.call_count += 1
        self.on_submit()
        return super().submit(call, *arguments, **how)


@dataclass
class Hall:
    """A lobby, a ledger and what was watched."""

    disk: ThreadPoolExecutor
    ledger: MemoryLedger
    lobby: Lobby
    heartbeat: Heartbeat = field(default_factory=lambda: Heartbeat(SystemTime().now_us()))
    finished: list[SessionResult] = field(default_factory=list)
    failed: list[Attempt] = field(default_factory=list)
    withdrawals: list[tuple[str, int]] = field(default_factory=list)
    on_failed: Callable[[], None] = lambda: None

    def session_finished(self, result: SessionResult) -> None:
        """Watch."""
        self.finished.append(result)

    def attempt_failed(self, attempt: Attempt, state: SlotState) -> None:
        """Watch."""
        del state
        self.failed.append(attempt)
        self.on_failed()

    def bot_withdrawn(self, bot: str, why: str, voided: int) -> None:
        """Watch."""
        del why
        self.withdrawals.append((bot, voided))

    def tournament(
        self, *, join_ms: int = 0, sessions_at_once: int = 4, deals: int = 2, stop_grace_s: float = 0
    ) -> Tournament:
        """A tournament of this ledger's slots; `join_ms` 0: who is not there is absent at once."""
        ruleset = make_ruleset("tavern", {"muss_after": "normal_failure"})
        terms = Terms(
            name="test",
            seed=SEED,
            ruleset=ruleset,
            options=make_session_options(ruleset, {"players": 4, "deals": deals}),
            clock=ClockSettings(join_ms=join_ms),
            sessions_at_once=sessions_at_once,
        )
        time = SystemTime()
        return Tournament(
            terms,
            self.ledger,
            self.lobby,
            Clockwork(time, self.heartbeat),
            disk=self.disk,
            watcher=self,
            digests={},
            stop_grace_s=stop_grace_s,
        )

    def bots(self, names: tuple[str, ...] = NAMES, *, max_sessions: int = 8) -> dict[str, LinkedBot]:
        """Bots that are there."""
        return {name: LinkedBot(self.lobby.member(name), max_sessions=max_sessions) for name in names}

    def states(self) -> Counter[SlotState]:
        """How many slots are in which state."""
        return Counter(slot.state for slot in self.ledger.slots())


@pytest.fixture
def hall() -> Iterator[Hall]:
    """Two blocks of four bots."""
    with ThreadPoolExecutor(1) as disk:
        yield Hall(disk, MemoryLedger(BLOCKS), Lobby(SystemTime(), arena_version="0"))


@pytest.fixture
async def _beating(hall: Hall) -> AsyncIterator[None]:
    """The heartbeat beats: without it the arena would stand still, and no join limit be over."""
    beat = asyncio.create_task(beat_forever(hall.heartbeat, SystemTime()))
    yield
    beat.cancel()


async def test_every_slot_is_played_and_kept_once(hall: Hall) -> None:
    """Eight sessions for two blocks; everybody hears every start and every end."""
    bots = hall.bots()
    assert await hall.tournament().run() is TournamentState.FINISHED
    assert sorted((result.block, result.session) for result in hall.ledger.recorded) == [
        (block, session) for block in (1, 2) for session in (1, 2, 3, 4)
    ]
    assert hall.finished == hall.ledger.recorded
    for bot in bots.values():
        assert len(bot.heard_of(SessionStart)) == len(bot.heard_of(SessionOver)) == 8


async def test_seeds_are_told_when_their_block_is_over_and_open_the_commitments(hall: Hall) -> None:
    """Each bot hears eight seeds, each after all of its block's sessions, and they are what was promised."""
    bots = hall.bots()
    await hall.tournament(sessions_at_once=1).run()
    for bot in bots.values():
        promised = {
            start.session_id: start.commitment for start in bot.heard if isinstance(start, SessionStart)
        }
        assert {reveal.session_id for reveal in reveals(bot)} == set(promised)
        for told in reveals(bot):
            assert commitment(told.nonce, told.seed) == promised[told.session_id]
        first = next(at for at, message in enumerate(bot.heard) if message in reveals(bot))
        assert sum(isinstance(message, SessionOver) for message in bot.heard[:first]) == 4


async def test_a_bot_that_is_not_there_forfeits_and_is_taken_out_after_three_in_a_row(hall: Hall) -> None:
    """The others' sessions stand; the rest of its slots are void; the counts add up."""
    hall.bots(("a", "b", "c"))
    assert await hall.tournament(sessions_at_once=1).run() is TournamentState.FINISHED
    assert len(hall.ledger.recorded) == ABSENCES_TO_WITHDRAW
    for result in hall.ledger.recorded:
        (absent,) = [seat for seat in result.seats if seat.bot == "d"]
        assert [fault.cause for fault in absent.faults] == [FaultCause.NO_HANDSHAKE]
        assert (absent.forfeited, absent.place) == (True, 4)
    assert (hall.withdrawals, set(hall.ledger.withdrawn)) == ([("d", 5)], {"d"})
    counts = count_slots(slot.state for slot in hall.ledger.slots())
    assert (counts.finished, counts.void, counts.open) == (3, 5, 0)


async def test_two_absent_bots_are_nobodys_loss(hall: Hall) -> None:
    """The attempt ends `bots_absent`, nobody is charged, and after three the slot is void (E14)."""
    hall.bots(("a", "b"))
    assert await hall.tournament().run() is TournamentState.FINISHED
    assert hall.ledger.recorded == []
    assert list(hall.ledger.attempt_ends.values()) == [[AttemptEnd.BOTS_ABSENT] * 3] * 8
    assert hall.states() == {SlotState.VOID: 8}


@pytest.mark.usefixtures("_beating")
async def test_sessions_that_lack_bots_which_never_came_wait_together(hall: Hall) -> None:
    """Every slot has its first attempt before one has its second: three join limits in all."""
    hall.bots(("a", "b"))
    await hall.tournament(join_ms=1, sessions_at_once=1).run()
    assert [attempt.attempt for attempt in hall.failed] == [1] * 8 + [2] * 8 + [3] * 8
    assert {attempt.why for attempt in hall.failed} == {"not there: c, d", "not there: d, c"}
    assert hall.states() == {SlotState.VOID: 8}


@pytest.mark.usefixtures("_beating")
async def test_bots_that_come_late_are_played_with_and_not_charged(hall: Hall) -> None:
    """They come after the first attempts were over; each plays no more at once than it says (E13)."""
    hall.bots(("a", "b"))
    late: dict[str, LinkedBot] = {}

    def come_at_the_eighth() -> None:
        if len(hall.failed) == 8:
            late.update(hall.bots(("c", "d"), max_sessions=1))

    hall.on_failed = come_at_the_eighth
    assert await hall.tournament(join_ms=1).run() is TournamentState.FINISHED
    assert list(hall.ledger.attempt_ends.values()) == [[AttemptEnd.BOTS_ABSENT, AttemptEnd.FINISHED]] * 8
    assert not [seat for result in hall.ledger.recorded for seat in result.seats if seat.faults]
    assert [bot.most_at_once for bot in late.values()] == [1, 1]


@pytest.mark.usefixtures("_beating")
async def test_a_bot_that_goes_away_has_the_limit_of_each_offer(hall: Hall) -> None:
    """Who was there before is waited for, though somebody else never was: an outage voids no schedule."""
    bots = hall.bots(("a", "b", "c"))
    bots["c"].vanish()

    def come_back() -> None:
        if len(hall.failed) == 1:
            bots["c"].come_back()

    hall.on_failed = come_back
    await hall.tournament(join_ms=1, sessions_at_once=1).run()
    assert len(hall.failed) == 1
    assert len(hall.ledger.recorded) == ABSENCES_TO_WITHDRAW
    assert hall.withdrawals == [("d", 5)]


class Leaver(LinkedBot):
    """Says goodbye when it is first asked, and answers all the same; may come again once it was let go."""

    def __init__(self, member: Member, *, comes_again: bool = False) -> None:
        self._has_left = False
        self._comes_again = comes_again
        super().__init__(member)

    def on(self, message: ArenaMessage) -> None:
        """Leave, and come again."""
        if isinstance(message, Request) and not self._has_left:
            self._has_left = True
            self.leave()
        elif isinstance(message, Goodbye) and self._comes_again:
            self.come_back()


async def test_a_bot_that_said_goodbye_is_not_waited_for(hall: Hall) -> None:
    """The session that it sits in is played out; it forfeits three more at once, and is taken out."""
    hall.bots(("a", "b", "c"))
    Leaver(hall.lobby.member("d"))
    async with asyncio.timeout(LIMIT_S):
        await hall.tournament(join_ms=10**9, sessions_at_once=1).run()
    faults = [
        (fault.cause, fault.detail)
        for result in hall.ledger.recorded
        for seat in result.seats
        for fault in seat.faults
    ]
    assert faults == [(FaultCause.NO_HANDSHAKE, "it said goodbye: no more sessions")] * ABSENCES_TO_WITHDRAW
    assert len(hall.ledger.recorded) == 1 + ABSENCES_TO_WITHDRAW
    assert hall.ledger.withdrawn == {"d": "d (said goodbye) was not there for 3 sessions running"}
    assert hall.withdrawals == [("d", 4)]


async def test_two_bots_that_said_goodbye_are_nobodys_loss(hall: Hall) -> None:
    """Nobody waits for them, and why their sessions were not played is told."""
    hall.bots(("a", "b"))
    for name in ("c", "d"):
        Leaver(hall.lobby.member(name))
    async with asyncio.timeout(LIMIT_S):
        await hall.tournament(join_ms=10**9, sessions_at_once=1).run()
    assert len(hall.ledger.recorded) == 1
    assert {"(said goodbye), " in attempt.why for attempt in hall.failed} == {True}
    assert hall.states() == {SlotState.FINISHED: 1, SlotState.VOID: 7}


async def test_a_bot_that_said_goodbye_may_come_again(hall: Hall) -> None:
    """Its Hello takes the goodbye back: it plays on, and is charged with nothing."""
    hall.bots(("a", "b", "c"))
    Leaver(hall.lobby.member("d"), comes_again=True)
    async with asyncio.timeout(LIMIT_S):
        await hall.tournament(join_ms=10**9, sessions_at_once=1).run()
    assert not [seat for result in hall.ledger.recorded for seat in result.seats if seat.faults]
    assert hall.states() == {SlotState.FINISHED: 8}


async def test_the_first_of_several_bots_that_comes_is_noticed() -> None:
    """Nobody else is waited for."""
    lobby = Lobby(SystemTime(), arena_version="0")
    wait = asyncio.create_task(lobby.wait_for_one({"a", "b"}))
    await asyncio.sleep(0)
    assert not wait.done()
    LinkedBot(lobby.member("b"))
    await wait


async def test_a_session_that_the_arena_spoils_is_played_again(hall: Hall) -> None:
    """Its attempt is recorded as `arena_error`; the slot is finished by the next one."""
    hall.bots()
    hall.ledger.fail_next = RuntimeError("on purpose")
    assert await hall.tournament().run() is TournamentState.FINISHED
    assert [attempt.ending for attempt in hall.failed] == [AttemptEnd.ARENA_ERROR]
    assert "on purpose" in hall.failed[0].why
    assert hall.states() == {SlotState.FINISHED: 8}


async def test_a_bot_that_has_gone_for_good_forfeits_at_once_as_exited(hall: Hall) -> None:
    """No join limit is waited for."""
    hall.bots()
    hall.lobby.member("c").leave_for_good(Gone(FaultCause.EXITED, "exited with code 1"))
    await hall.tournament(join_ms=10**9, sessions_at_once=1).run()
    causes = {
        fault.cause for result in hall.ledger.recorded for seat in result.seats for fault in seat.faults
    }
    assert causes == {FaultCause.EXITED}
    assert hall.states() == {SlotState.FINISHED: 8}


async def test_a_version_that_is_revoked_while_its_session_waits_for_others_forfeits_as_revoked(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another of that name may come to the next sessions; this one was not absent."""
    hall.bots()
    wait_for_members, waits = hall.lobby.wait_for_members, list[None]()

    async def revoke_and_wait(
        members: Sequence[Member], timeout_s: float, since_us: int | None
    ) -> tuple[Member, ...]:
        waits.append(None)
        # The first is for all bots, before there are sessions.
        if len(waits) == 2:
            member = hall.lobby.member("a")
            member.revoke("revoked on purpose", "1")
            hall.lobby.forget("a")
        return await wait_for_members(members, timeout_s, since_us)

    monkeypatch.setattr(hall.lobby, "wait_for_members", revoke_and_wait)
    await hall.tournament(sessions_at_once=1).run()
    (fault,) = next(seat.faults for seat in hall.ledger.recorded[0].seats if seat.bot == "a")
    assert (fault.cause, fault.detail) == (FaultCause.DISCONNECTED, "revoked on purpose")


async def test_a_bot_that_is_gone_in_a_later_run_is_named_as_it_was_seen(hall: Hall) -> None:
    """Its seat has the version and the build of the run before: the replay does not tell of the restart."""
    hall.bots(("a", "b", "c"))
    hall.ledger.seen = (BotEntry(bot="d", version="1", build_digest="abc", withdrawn=None),)
    hall.lobby.member("d").leave_for_good(Gone(FaultCause.EXITED, "exited with code 1"))
    await hall.tournament(join_ms=10**9).run()
    seats = {seat for header in hall.ledger.headers.values() for seat in header.seats if seat.bot == "d"}
    assert seats == {SeatInfo("d", "1", "abc")}


async def test_bots_that_have_gone_for_good_forfeit_however_many_they_are(hall: Hall) -> None:
    """Two crashed bots do not void the others' sessions: both forfeit as exited, nobody is waited for."""
    hall.bots()
    for name in ("b", "c"):
        hall.lobby.member(name).leave_for_good(Gone(FaultCause.EXITED, "exited with code 1"))
    await hall.tournament(join_ms=10**9, sessions_at_once=1).run()
    assert hall.states() == {SlotState.FINISHED: 8}
    forfeiters = {seat.bot for result in hall.ledger.recorded for seat in result.seats if seat.forfeited}
    assert forfeiters == {"b", "c"}


async def test_a_bot_that_goes_for_good_while_it_owes_an_answer_forfeits(hall: Hall) -> None:
    """The session goes on at once and ends with its result."""
    hall.bots(("a", "b", "d"))
    member = hall.lobby.member("c")

    def leave(request: Request) -> Action | None:
        member.leave_for_good(Gone(FaultCause.EXITED, "exited with code 1"))
        return None

    LinkedBot(member, leave)
    assert await hall.tournament(sessions_at_once=1).run() is TournamentState.FINISHED
    seat = next(seat for seat in hall.ledger.recorded[0].seats if seat.bot == "c")
    assert (seat.forfeited, [fault.cause for fault in seat.faults]) == (True, [FaultCause.EXITED])


EXITED = Gone(FaultCause.EXITED, "exited with code 1")


async def names_asked(hall: Hall) -> list[str]:
    """Who is asked in the first session when all answer, question by question."""
    asked: list[tuple[str, str]] = []
    other = Hall(hall.disk, MemoryLedger(BLOCKS), Lobby(SystemTime(), arena_version="0"))

    def bot_of(name: str) -> Callable[[Request], Action | None]:
        def note(request: Request) -> Action | None:
            asked.append((request.session_id, name))
            return first_legal(request)

        return note

    for name in NAMES:
        LinkedBot(other.lobby.member(name), bot_of(name))
    await other.tournament(sessions_at_once=1).run()
    return [name for session_id, name in asked if session_id == asked[0][0]]


def leaver_of(hall: Hall) -> SeatResult:
    """The bot that went for good in the first session."""
    (seat,) = [seat for seat in hall.ledger.recorded[0].seats if seat.faults]
    return seat


async def test_a_bot_that_goes_for_good_after_its_last_answer_forfeits(hall: Hall) -> None:
    """It is placed last though it was not to be asked again; what it had answered stands."""
    order = await names_asked(hall)
    leaver, last, left = (
        next(name for name in NAMES if name != order[-1]),
        order[-1],
        [order.count(order[-1])],
    )

    def see_it_leave(request: Request) -> Action | None:
        left[0] -= 1
        if left[0] == 0:
            hall.lobby.member(leaver).leave_for_good(EXITED)
        return first_legal(request)

    hall.bots(tuple([name for name in NAMES if name != last]))
    LinkedBot(hall.lobby.member(last), see_it_leave)
    await hall.tournament(sessions_at_once=1).run()
    seat = leaver_of(hall)
    assert (seat.bot, seat.forfeited, seat.place) == (leaver, True, 4)
    assert [fault.cause for fault in seat.faults] == [FaultCause.EXITED]
    assert seat.asked_count == order.count(leaver)


class Quitter(LinkedBot):
    """Goes for good right after its last answer, before that is looked at; an illegal one it gives thrice."""

    def __init__(self, member: Member, answers: int, *, legal: bool) -> None:
        self._left = answers
        self._legal = legal
        self._asked: Request | None = None
        super().__init__(member)

    def answer(self, request: Request) -> None:
        """Answer, and go with the last answer of all."""
        self._asked = request
        self._left -= 1
        self.say(request, first_legal(request) if self._left > 0 or self._legal else illegal(request))
        if self._left == (0 if self._legal else -2):
            self._member.leave_for_good(EXITED)

    def on(self, message: ArenaMessage) -> None:
        """Answer again."""
        if isinstance(message, Rejected):
            assert self._asked is not None
            self.answer(self._asked)


@pytest.mark.parametrize("legal", [True, False])
async def test_a_bot_that_goes_for_good_while_its_last_answer_is_judged_forfeits(
    hall: Hall, *, legal: bool
) -> None:
    """The answer is judged for what it is, and then the session is forfeited."""
    order = await names_asked(hall)
    leaver = next(name for name in NAMES if name != order[-1])
    hall.bots(tuple([name for name in NAMES if name != leaver]))
    Quitter(hall.lobby.member(leaver), order.count(leaver), legal=legal)
    await hall.tournament(sessions_at_once=1).run()
    seat = leaver_of(hall)
    assert (seat.bot, seat.forfeited, seat.place) == (leaver, True, 4)
    causes = [fault.cause for fault in seat.faults]
    assert causes == [*([] if legal else [FaultCause.ILLEGAL]), FaultCause.EXITED]
    assert seat.asked_count == order.count(leaver)


async def test_a_bot_that_goes_for_good_while_a_session_is_prepared_forfeits_from_its_start(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there when its presence was looked at; it is never asked."""
    hall.bots()
    loop, see_bot = asyncio.get_running_loop(), hall.ledger.see_bot

    def leave_meanwhile(bot: str, version: str, build_digest: str) -> BotEntry:
        loop.call_soon_threadsafe(hall.lobby.member("c").leave_for_good, EXITED)
        return see_bot(bot, version, build_digest)

    monkeypatch.setattr(hall.ledger, "see_bot", leave_meanwhile)
    await hall.tournament(sessions_at_once=1).run()
    seat = leaver_of(hall)
    assert (seat.bot, seat.forfeited, seat.place, seat.asked_count) == ("c", True, 4, 0)


async def test_capacity_is_never_exceeded(hall: Hall) -> None:
    """A bot that plays one session at a time gets one at a time (E13)."""
    bots = hall.bots(max_sessions=1)
    await hall.tournament(sessions_at_once=8).run()
    assert [bot.most_at_once for bot in bots.values()] == [1, 1, 1, 1]


async def test_a_tournament_plays_no_more_at_once_than_the_arena_gives_a_bot(hall: Hall) -> None:
    """With more sessions at once in the file than a bot may sit in, all are played, fewer at once."""
    hall.lobby.limits = LinkLimits(max_sessions=2)
    bots = hall.bots(max_sessions=1_000_000)
    assert await hall.tournament(sessions_at_once=1024).run() is TournamentState.FINISHED
    assert [bot.most_at_once for bot in bots.values()] == [2, 2, 2, 2]


async def test_a_bot_that_comes_back_is_offered_its_request_again(hall: Hall) -> None:
    """The same id on the new stream, and no fault (E08)."""
    hall.bots(("a", "b", "c"))
    member = hall.lobby.member("d")
    asked: list[Request] = []

    def drop_once(request: Request) -> Action | None:
        asked.append(request)
        if len(asked) == 1:
            bot.reconnect()
            return None
        return first_legal(request)

    bot = LinkedBot(member, drop_once)
    await hall.tournament(sessions_at_once=1).run()
    assert (asked[0].session_id, asked[0].request_id) == (asked[1].session_id, asked[1].request_id)
    assert not [seat for result in hall.ledger.recorded for seat in result.seats if seat.faults]


async def test_a_stopped_tournament_goes_on_to_the_same_results(hall: Hall) -> None:
    """What was in flight is played again from its start; no slot counts twice (S07, S11)."""
    silent: list[bool] = []

    def stop_in_the_middle(request: Request) -> Action | None:
        if hall.finished and not silent:
            silent.append(True)
            tournament.stop()
            return None
        return None if silent else first_legal(request)

    tournament = hall.tournament(sessions_at_once=1)
    hall.bots(("a", "b", "c"))
    LinkedBot(hall.lobby.member("d"), stop_in_the_middle)
    assert await tournament.run() is TournamentState.STOPPED
    assert [attempt.ending for attempt in hall.failed] == [AttemptEnd.OPERATOR_STOP]
    counts = count_slots(slot.state for slot in hall.ledger.slots())
    assert (counts.finished + counts.open, counts.void) == (8, 0)

    hall.bots()
    assert await hall.tournament().run() is TournamentState.FINISHED
    assert chips_of(hall.ledger) == chips_of(await played_straight(hall))


@pytest.mark.parametrize("is_stopped_before", [False, True])
async def test_what_is_broken_off_has_no_moment_to_end(hall: Hall, *, is_stopped_before: bool) -> None:
    """Whether or not a stop has given it one, no session in flight counts, for or against anybody."""
    asked = asyncio.Event()
    tournament = hall.tournament(stop_grace_s=2 * LIMIT_S)
    hall.bots(("a", "b", "c"))
    LinkedBot(hall.lobby.member("d"), lambda _: asked.set())
    running = asyncio.create_task(tournament.run())
    await asked.wait()
    if is_stopped_before:
        tournament.stop()
        for _ in range(20):
            # By then the tournament has seen the stop, and waits for its sessions.
            await asyncio.sleep(0)
    tournament.break_off()
    assert await asyncio.wait_for(running, LIMIT_S) is TournamentState.STOPPED
    assert {attempt.ending for attempt in hall.failed} == {AttemptEnd.OPERATOR_STOP}
    assert hall.finished == []
    assert hall.states() == {SlotState.OPEN: 8}


async def test_what_is_just_being_handed_out_is_broken_off_too(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that is handed out at that very moment is not played either."""

    def break_off(_: Member) -> int:
        tournament.break_off()
        return 8

    tournament = hall.tournament(stop_grace_s=2 * LIMIT_S)
    for name in NAMES:
        LinkedBot(hall.lobby.member(name), lambda _: None)
    # It is asked for when the first session is handed out and has not begun.
    monkeypatch.setattr(Member, "capacity", property(break_off))
    assert await asyncio.wait_for(tournament.run(), LIMIT_S) is TournamentState.STOPPED
    assert {attempt.ending for attempt in hall.failed} == {AttemptEnd.OPERATOR_STOP}
    assert hall.states() == {SlotState.OPEN: 8}


async def test_an_answer_to_an_attempt_that_was_stopped_is_not_taken_for_the_next(hall: Hall) -> None:
    """It comes when the same question is open again: a stray; the session is as if never stopped (E05)."""
    held: list[Request] = []
    asked_again: list[Request] = []

    def hold_the_first(request: Request) -> Action | None:
        if not held:
            held.append(request)
            tournament.stop()
            return None
        if request is held[0]:
            return tuple(request.legal)[-1]
        if not asked_again:
            bot.answer(held[0])
        asked_again.append(request)
        return first_legal(request)

    tournament = hall.tournament(sessions_at_once=1)
    hall.bots(("a", "b", "c"))
    bot = LinkedBot(hall.lobby.member("d"), hold_the_first)
    assert await tournament.run() is TournamentState.STOPPED
    assert [attempt.ending for attempt in hall.failed] == [AttemptEnd.OPERATOR_STOP]
    assert await hall.tournament(sessions_at_once=1).run() is TournamentState.FINISHED
    assert asked_again[0].session_id == held[0].session_id
    assert asked_again[0].view == held[0].view
    assert asked_again[0].request_id > held[0].request_id
    assert hall.lobby.member("d").link.stray_counts == {RejectReason.LATE: 1}
    assert [end.stray_counts for end in hall.ledger.ends.values()].count((0, 0, 0, 0)) == 7
    assert play_digests(hall.ledger) == play_digests(await played_straight(hall))


def come_round(loop: asyncio.AbstractEventLoop) -> None:
    """Hold the disk's thread until the loop has done whatever it had to do without the disk."""
    for _ in range(20):
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()


def stop_meanwhile(tournament: Tournament, loop: asyncio.AbstractEventLoop) -> None:
    """Stop a tournament from the disk's thread, and let the loop come round to the end of the grace."""
    loop.call_soon_threadsafe(tournament.stop)
    come_round(loop)


@pytest.mark.parametrize(("ending", "count"), [(AttemptEnd.FINISHED, 1), (AttemptEnd.BOTS_ABSENT, 8)])
async def test_a_stop_breaks_off_nothing_that_is_being_written_down(
    hall: Hall, ending: AttemptEnd, count: int
) -> None:
    """A result, or failed attempts, that are on their way to the disk when the grace ends count once."""
    hall.bots(NAMES if ending is AttemptEnd.FINISHED else NAMES[:2])
    tournament = hall.tournament(sessions_at_once=1)
    loop = asyncio.get_running_loop()
    hall.ledger.before_writing = lambda: stop_meanwhile(tournament, loop)
    assert await tournament.run() is TournamentState.STOPPED
    assert list(hall.ledger.attempt_ends.values()) == [[ending]] * count
    assert len(hall.finished) + len(hall.failed) == count


def stop_in_the_first_write(hall: Hall, disk: WatchedDisk, tournament: Tournament, call_count: int) -> None:
    """Hold the first result or failure on the disk until that was given so many calls, then stop."""
    loop, held, all_wait = asyncio.get_running_loop(), list[None](), threading.Event()

    def count() -> None:
        if disk.call_count == call_count:
            all_wait.set()

    def hold_the_first() -> None:
        if not held:
            held.append(None)
            assert all_wait.wait(LIMIT_S)
            stop_meanwhile(tournament, loop)

    disk.on_submit = count
    hall.ledger.before_writing = hold_the_first


async def test_failed_attempts_that_wait_for_the_disk_at_a_stop_are_written_in_one_go(hall: Hall) -> None:
    """Four sessions lack two bots that went away: one write has begun, the others become one (F9)."""
    bots = hall.bots()
    for name in ("c", "d"):
        bots[name].vanish()
    with WatchedDisk() as disk:
        hall.disk = disk
        tournament = hall.tournament(sessions_at_once=4)
        stop_in_the_first_write(hall, disk, tournament, RUN_CALLS + 4)
        assert await tournament.run() is TournamentState.STOPPED
    assert hall.ledger.attempts_at_once == [1, 3]
    assert [attempt.ending for attempt in hall.failed] == [AttemptEnd.BOTS_ABSENT] * 4


async def test_a_result_that_cannot_be_kept_at_a_stop_is_written_with_what_was_broken_off(hall: Hall) -> None:
    """The disk has begun with it and fails: its attempt is in the one write, as the arena's error (F9)."""
    hall.bots()
    hall.ledger.fail_next = RuntimeError("on purpose")
    with WatchedDisk() as disk:
        hall.disk = disk
        tournament = hall.tournament(sessions_at_once=4)
        stop_in_the_first_write(hall, disk, tournament, RUN_CALLS + len(NAMES) + 4)
        assert await tournament.run() is TournamentState.STOPPED
    assert hall.ledger.attempts_at_once == [4]
    endings = Counter(attempt.ending for attempt in hall.failed)
    assert endings == {AttemptEnd.OPERATOR_STOP: 3, AttemptEnd.ARENA_ERROR: 1}


async def test_a_stop_is_noticed_while_offers_that_came_to_nothing_wait_for_the_disk(hall: Hall) -> None:
    """The disk is at something else until the coordinator is heard of again: it puts all in one write."""
    hall.bots(("a", "b"))
    noticed, goes_on = list[bool](), threading.Event()
    loop = asyncio.get_running_loop()

    def hold() -> None:
        loop.call_soon_threadsafe(tournament.stop)
        noticed.append(goes_on.wait(LIMIT_S))

    def count() -> None:
        if disk.call_count == RUN_CALLS + 1:
            ThreadPoolExecutor.submit(disk, hold)
        elif disk.call_count > RUN_CALLS + 1:
            goes_on.set()

    with WatchedDisk() as disk:
        hall.disk = disk
        disk.on_submit = count
        tournament = hall.tournament()
        assert await tournament.run() is TournamentState.STOPPED
    assert noticed == [True]
    assert hall.ledger.attempts_at_once == [8]
    assert [attempt.ending for attempt in hall.failed] == [AttemptEnd.BOTS_ABSENT] * 8


async def test_results_that_wait_for_a_slow_disk_when_the_grace_is_over_are_played_again(hall: Hall) -> None:
    """What the disk has begun with counts; the rest, which no bot was told, is written in one go (F9)."""
    bots = hall.bots()
    with WatchedDisk() as disk:
        hall.disk = disk
        tournament = hall.tournament(sessions_at_once=4)
        stop_in_the_first_write(hall, disk, tournament, RUN_CALLS + len(NAMES) + 4)
        assert await tournament.run() is TournamentState.STOPPED
        assert len(hall.finished) == len(hall.ledger.recorded) == 1
        assert [attempt.ending for attempt in hall.failed] == [AttemptEnd.OPERATOR_STOP] * 3
        assert hall.ledger.attempts_at_once == [3]
        for bot in bots.values():
            bot.read()
            told = [over.ending for over in bot.heard if isinstance(over, SessionOver)]
            assert Counter(told) == {AttemptEnd.FINISHED: 1, AttemptEnd.OPERATOR_STOP: 3}
        hall.bots()
        assert await hall.tournament().run() is TournamentState.FINISHED
        assert play_digests(hall.ledger) == play_digests(await played_straight(hall))


async def test_a_slot_that_failed_as_its_bot_was_withdrawn_is_not_tried_again(hall: Hall) -> None:
    """Its attempt is on the disk when the bot is taken out: it is open again then, and void, not started."""
    bots, loop, withdrawals = hall.bots(), asyncio.get_running_loop(), list[Future[None]]()
    for name in ("c", "d"):
        bots[name].vanish()
    tournament = hall.tournament(sessions_at_once=1)

    def withdraw_meanwhile() -> None:
        if not withdrawals:
            withdrawal = tournament.withdraw("c", "on purpose")
            withdrawals.append(asyncio.run_coroutine_threadsafe(withdrawal, loop))
        come_round(loop)

    hall.ledger.before_writing = withdraw_meanwhile
    async with asyncio.timeout(LIMIT_S):
        assert await tournament.run() is TournamentState.FINISHED
    assert [attempt.ending for attempt in hall.failed] == [AttemptEnd.BOTS_ABSENT]
    assert hall.states() == {SlotState.VOID: 8}
    assert sum(count for _, count in hall.withdrawals) == 8


async def test_a_slot_that_has_just_failed_as_its_bot_is_withdrawn_is_void_in_the_ledger_too(
    hall: Hall,
) -> None:
    """Its attempt has just failed, and the coordinator has not looked yet: nobody plays it any more."""
    bots, withdrawals = hall.bots(), list[asyncio.Task[None]]()
    for name in ("c", "d"):
        bots[name].vanish()
    tournament = hall.tournament(sessions_at_once=1)

    def withdraw_now() -> None:
        withdrawals.append(asyncio.create_task(tournament.withdraw("c", "on purpose")))

    hall.on_failed = withdraw_now
    assert await tournament.run() is TournamentState.FINISHED
    assert hall.states() == {SlotState.VOID: 8}
    assert hall.withdrawals == [("c", 8)]


async def test_a_withdrawal_is_noticed_while_a_bot_is_waited_for(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is open any more, and the join limit of whoever was to come is not waited for."""
    waits, wait_for_one = asyncio.Event(), hall.lobby.wait_for_one

    async def tell_and_wait(names: Collection[str]) -> None:
        waits.set()
        await wait_for_one(names)

    def forget_another(request: Request) -> Action:
        hall.lobby.forget("c")
        return first_legal(request)

    monkeypatch.setattr(hall.lobby, "wait_for_one", tell_and_wait)
    hall.bots(("a", "b", "c"))
    LinkedBot(hall.lobby.member("d"), forget_another)
    tournament = hall.tournament(join_ms=10**9, sessions_at_once=1)
    run = asyncio.create_task(tournament.run())
    async with asyncio.timeout(LIMIT_S):
        await waits.wait()
        await tournament.withdraw("c", "on purpose")
        assert await run is TournamentState.FINISHED
    assert hall.states() == {SlotState.FINISHED: 1, SlotState.VOID: 7}


async def test_a_tournament_with_nothing_open_is_finished_at_once(hall: Hall) -> None:
    """Nobody is waited for."""
    hall.bots()
    await hall.tournament().run()
    assert await hall.tournament(join_ms=10**9).run() is TournamentState.FINISHED
    assert len(hall.ledger.recorded) == 8


async def played_straight(hall: Hall) -> MemoryLedger:
    """The ledger of the same tournament without an interruption."""
    straight = MemoryLedger(BLOCKS)
    other = Hall(hall.disk, straight, Lobby(SystemTime(), arena_version="0"))
    other.bots()
    await other.tournament().run()
    return straight


def play_digests(ledger: MemoryLedger) -> dict[tuple[int, int], str]:
    """The digest of every replay without what may differ between two runs of the same play."""
    return {place: end.play_sha256 for place, end in ledger.ends.items()}


def chips_of(ledger: MemoryLedger) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """What every slot gave, by place; a slot recorded twice fails."""
    places = [(result.block, result.session) for result in ledger.recorded]
    assert len(set(places)) == len(places)
    return {
        (result.block, result.session): [(seat.bot, seat.chips) for seat in result.seats]
        for result in ledger.recorded
    }


class WatchedHeartbeat(Heartbeat):
    """Late, until it is told to be in time again; counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked_count = 0
        self._beat_at(BEAT_US + LATE_US + 1)

    @property
    def is_late(self) -> bool:
        """Count."""
        self.asked_count += 1
        return super().is_late

    def recover(self) -> None:
        """Be in time from here on."""
        self._beat_at(BEAT_US)

    def _beat_at(self, interval_us: int) -> None:
        for _ in range(WINDOW_BEATS):
            self.beat(self._last_us + interval_us)


async def test_an_arena_that_is_late_itself_takes_on_half(hall: Hall) -> None:
    """Two sessions at once instead of four while its loop lags (T01)."""
    bots = hall.bots()
    hall.heartbeat = WatchedHeartbeat()
    await hall.tournament(sessions_at_once=4).run()
    assert {bot.most_at_once for bot in bots.values()} == {2}


async def test_an_arena_judges_its_lateness_once_a_look(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each of the slots that are open then: it sorts hundreds of beats."""
    looks, renew = list[None](), Offers.renew

    def count_and_renew(
        offers: Offers, slots: Iterable[SlotEntry], unseen: AbstractSet[str], now: Moment
    ) -> None:
        looks.append(None)
        renew(offers, slots, unseen, now)

    monkeypatch.setattr(Offers, "renew", count_and_renew)
    hall.heartbeat = heartbeat = WatchedHeartbeat()
    hall.bots()
    await hall.tournament().run()
    assert heartbeat.asked_count == len(looks)


async def test_an_arena_that_is_in_time_again_hands_out_more(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though no session ends meanwhile: one bot answers nothing until four are being played (T01)."""
    monkeypatch.setattr("arena.places.LOOK_AGAIN_US", 10_000)
    hall.heartbeat = heartbeat = WatchedHeartbeat()
    held, free = list[Request](), list[bool]()

    def hold_until_four(request: Request) -> Action | None:
        held.append(request)
        if len(held) == 1:
            heartbeat.recover()
        if not free and len(tournament.tables) == 4:
            free.append(True)
            for waiting in held[:-1]:
                bot.say(waiting)
        return first_legal(request) if free else None

    tournament = hall.tournament(sessions_at_once=4)
    hall.bots(("a", "b", "c"))
    bot = LinkedBot(hall.lobby.member("d"), hold_until_four)
    assert await tournament.run() is TournamentState.FINISHED
    assert bot.most_at_once == 4


async def test_an_arena_that_is_in_time_again_says_so_with_nothing_left_to_hand_out(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every session is being played, and one bot answers nothing until the log has it (T01)."""
    monkeypatch.setattr("arena.places.LOOK_AGAIN_US", 10_000)
    hall.heartbeat = heartbeat = WatchedHeartbeat()
    held, said = list[Request](), list[str]()

    def look(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        said.append(event["event"])
        if event["event"] == "arena in time again":
            for request in held:
                bot.say(request)
        return event

    def hold(request: Request) -> Action | None:
        if "arena in time again" in said:
            return first_legal(request)
        held.append(request)
        heartbeat.recover()
        return None

    hall.bots(("a", "b", "c"))
    bot = LinkedBot(hall.lobby.member("d"), hold)
    with capture_logs([look]):
        async with asyncio.timeout(LIMIT_S):
            assert await hall.tournament(sessions_at_once=16).run() is TournamentState.FINISHED
    assert said == ["arena late", "arena in time again"]
