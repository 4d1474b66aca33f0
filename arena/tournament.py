"""Plays a tournament: hands out its open slots, has each played, and has the results kept.

What is left to play follows from the ledger alone, so that a tournament that was killed goes
on where the last committed session left it. Sessions run side by side in this process; every
call of the ledger waits for a disk and is made on a thread of its own.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import structlog

from arena.books import Books, TakenBackError
from arena.clock import US_PER_MS, US_PER_SECOND, ClockSettings
from arena.commitment import commitment
from arena.faults import FaultCause
from arena.identities import Identities
from arena.ledger import Attempt, Ledger, SlotEntry, TournamentState
from arena.lobby import Lobby, Member
from arena.messages import SeedReveal
from arena.offers import Moment, Offers
from arena.places import Places
from arena.record import SessionHeader
from arena.referee import Referee
from arena.results import AttemptEnd, SessionResult, SlotState
from arena.runner import Clockwork, Played, SessionRunner
from arena.schedule import block_seed, session_id, session_nonce, slot_label
from engine.rules import Ruleset, SessionOptions

log = structlog.get_logger()

STOP_GRACE_S = 3.0
"""What the sessions in flight get to end by themselves after a stop; less where the disk is slow."""

ABSENCES_TO_WITHDRAW = 3
"""Sessions running that a bot forfeits because it was not there, after which it is taken out."""

_STOPPED = "the arena was stopped"
_LEFT = "it said goodbye: no more sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What every session of the tournament is played under.

    Attributes:
        name: of the tournament.
        seed: the tournament's 32 bytes.
        ruleset: the options of the game.
        options: the frame of a session.
        clock: the clocks.
        sessions_at_once: how many sessions run side by side.
        host: what it is played on, in a few words.
    """

    name: str
    seed: bytes
    ruleset: Ruleset
    options: SessionOptions
    clock: ClockSettings
    sessions_at_once: int
    host: str = ""


Failed: TypeAlias = tuple[SlotEntry, Attempt]
"""An attempt that gave no result, and its slot."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt, before it is written down.

    Attributes:
        ending: how it ended.
        why: a sentence with the details, may be empty.
        runner: who can tell the bots, if they sat down.
        played: what it gave, if it was played to the end.
    """

    ending: AttemptEnd
    why: str = ""
    runner: SessionRunner | None = None
    played: Played | None = None


class Watcher(Protocol):
    """Who is told how it goes, in this process; must be quick and never fail."""

    def session_finished(self, result: SessionResult) -> None:
        """A session is kept for good."""

    def attempt_failed(self, attempt: Attempt, state: SlotState) -> None:
        """An attempt gave no result; `state` is what its slot is now."""

    def bot_withdrawn(self, bot: str, why: str, voided: int) -> None:
        """A bot no longer takes part, by which so many open slots became void."""


class Tournament:
    """One tournament, from its first open slot to its last."""

    def __init__(
        self,
        terms: Terms,
        ledger: Ledger,
        lobby: Lobby,
        clockwork: Clockwork,
        *,
        disk: Executor,
        watcher: Watcher,
        digests: Mapping[str, str],
        stop_grace_s: float = STOP_GRACE_S,
    ) -> None:
        """Set up, without playing yet.

        Args:
            terms: what every session is played under.
            ledger: where results are kept.
            lobby: where the bots come in.
            clockwork: what sessions measure and wait with.
            disk: one thread, on which every call of the ledger is made.
            watcher: told how it goes.
            digests: build digests of the bots that the arena starts; the others say theirs in Hello.
            stop_grace_s: what sessions in flight get to end by themselves after a stop.
        """
        self._terms = terms
        self._books = Books(ledger, disk, clockwork.time)
        self._identities = Identities(self._books, digests)
        self._lobby = lobby
        self._clockwork = clockwork
        self._watcher = watcher
        self._stop_grace_s = stop_grace_s
        self._open: list[SlotEntry] = []
        self._offers = Offers(terms.clock.join_ms * US_PER_MS, clockwork.heartbeat.spared_us)
        """Those of the open slots that lack bots which were never there."""
        self._names: frozenset[str] = frozenset()
        """Who was to play when the run began."""
        self._left_in_block: Counter[int] = Counter()
        """Slots of each block that are still open or being played."""
        self._sessions_in_block: Counter[int] = Counter()
        self._attempts: Counter[tuple[int, int]] = Counter()
        self._seated: Counter[str] = Counter()
        """Sessions that each bot sits in, or is awaited in."""
        self._absences: Counter[str] = Counter()
        self._withdrawn: dict[str, str] = {}
        """Who was taken out in this run, and why."""
        self._running: dict[asyncio.Task[None], SlotEntry] = {}
        self._breakable: set[asyncio.Task[None] | None] = set()
        """Those of them that a stop may break off: they have nothing to write down yet."""
        self._writing: set[asyncio.Task[None]] = set()
        """What is written down beside the sessions, while these go on."""
        self._unrecorded: list[Failed] = []
        """Failed attempts that a stop broke off, or took back from the disk."""
        self._tables: dict[tuple[int, int], Referee] = {}
        """The referees of the sessions that are being played, by block and session."""
        self._stopping = asyncio.Event()
        self._rung = asyncio.Event()
        """Set when the coordinator is to look again, whatever it waits for."""
        self._places = Places(terms.sessions_at_once, clockwork.time.now_us())

    @property
    def tables(self) -> Mapping[str, Referee]:
        """The referees of the sessions that are being played, by session id; for looking on only."""
        return {referee.session_id: referee for referee in self._tables.values()}

    def stop(self) -> None:
        """Hand out nothing more; sessions in flight get a moment to end."""
        self._stopping.set()
        self._rung.set()

    def break_off(self) -> None:
        """Stop without that moment: what is in flight was spoilt by the arena, and is to count for nobody."""
        self._stop_grace_s = 0  # For those that have not begun, which cannot be broken off yet.
        self.stop()
        self._break_off_sessions()

    async def withdraw(self, name: str, why: str) -> None:
        """Take a bot out: its open slots become void; those that are being played are played out."""
        if name in self._withdrawn:
            return
        self._withdrawn[name] = why
        self._rung.set()
        # Shielded: who asked for it may go away, and it is written all the same.
        await asyncio.shield(self._void_slots(name, why))

    async def run(self) -> TournamentState:
        """Play until nothing is open or `stop` is called; the state it is left in."""
        slots = await self._books.keep(lambda ledger: ledger.slots())
        self._open = [slot for slot in slots if slot.state is SlotState.OPEN]
        self._sessions_in_block.update([slot.block for slot in slots])
        for slot in self._open:
            self._left_in_block[slot.block] += 1
            self._attempts[slot.block, slot.session] = slot.attempts
        self._identities.know(await self._books.keep(lambda ledger: ledger.bots()))
        self._names = frozenset([name for slot in self._open for name in slot.seating])
        await self._books.keep(lambda ledger: ledger.set_state(TournamentState.RUNNING))
        offered = self._now()
        await self._gather_bots()
        try:
            await self._hand_out(offered)
        finally:
            await self._wind_up()
        state = TournamentState.STOPPED if self._open else TournamentState.FINISHED
        await self._books.keep(lambda ledger: ledger.set_state(state))
        return state

    # ------------------------------------------------------------------ handing out

    async def _gather_bots(self) -> None:
        """Give every bot the join limit to be there, so that its capacity is known."""
        limit_s = self._terms.clock.join_ms / 1000
        gathering = asyncio.create_task(self._lobby.wait_for(self._names, limit_s))
        stopped = asyncio.create_task(self._stopping.wait())
        tasks: set[asyncio.Task[Any]] = {gathering, stopped}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()

    async def _hand_out(self, offered: Moment) -> None:
        """Keep sessions going; the first of them were offered when their bots were awaited."""
        while not self._stopping.is_set() and (self._open or self._running or self._writing):
            self._void_reopened()
            unseen = self._unseen()
            self._offers.renew(self._open, unseen, offered)
            self._start_sessions(self._count_places(), offered.at_us)
            self._end_offers()
            await self._wait_for_change(unseen)
            self._collect()
            offered = self._now()

    def _unseen(self) -> frozenset[str]:
        """Who was never there and may still come."""
        members = [self._lobby.member(name) for name in self._names]
        return frozenset([bot.name for bot in members if bot.hello is None and bot.gone is None])

    def _start_sessions(self, places: int, offered_us: int) -> None:
        """Start open slots, in order, where every bot has room, until so many sessions run.

        Their bots have the join limit from `offered_us` on.
        """
        now_us = self._clockwork.time.now_us()
        free = {name for name in self._names if self._has_room(name)}
        started = []
        for place, slot in enumerate(self._open):
            if len(self._running) >= places or (self._running and len(free) < len(slot.seating)):
                break
            # With nothing running a slot is started whoever lacks room: its attempt says who is absent.
            if (self._running and not free.issuperset(slot.seating)) or self._offers.hold(slot, now_us):
                continue
            started.append(place)
            self._seated.update(slot.seating)
            free.difference_update([name for name in slot.seating if not self._has_room(name)])
            self._running[asyncio.create_task(self._attempt(slot, offered_us))] = slot
        for place in reversed(started):
            del self._open[place]

    def _end_offers(self) -> None:
        """Have the attempts recorded that came to nothing since two bots never came, all at once."""
        failed = []
        for slot, offer in self._offers.failed(self._clockwork.time.now_us()):
            self._offers.withdraw(slot)
            self._open.remove(slot)
            self._attempts[slot.block, slot.session] += 1
            outcome = Outcome(AttemptEnd.BOTS_ABSENT, _not_there(offer.missing))
            failed.append((slot, self._failed(slot, outcome, offer.since.utc)))
        if failed:
            self._write_aside(self._record_failed(failed))

    async def _wait_for_change(self, unseen: frozenset[str]) -> None:
        """Wait until a session, some writing or an offer's time is over, an unseen bot comes, or it is rung.

        Where more may be handed out by then, it does not wait longer than its places ask for.
        """
        now_us = self._clockwork.time.now_us()
        waits_us = (self._offers.left_us(now_us), self._places.wait_us(len(self._running), now_us))
        wait_us = min([each for each in waits_us if each is not None], default=None)
        signs: list[asyncio.Task[Any]] = [asyncio.create_task(self._rung.wait())]
        if unseen:
            signs.append(asyncio.create_task(self._lobby.wait_for_one(unseen)))
        try:
            await asyncio.wait(
                (*self._running, *self._writing, *signs),
                timeout=None if wait_us is None else wait_us / US_PER_SECOND,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for sign in signs:
                sign.cancel()
        self._rung.clear()

    def _count_places(self) -> int:
        """How many sessions may run side by side now; the log is told when the arena gets late or in time."""
        was_late, heartbeat = self._places.is_late, self._clockwork.heartbeat
        now_us = self._clockwork.time.now_us()
        places = self._places.look(len(self._running), now_us, is_late=heartbeat.is_late)
        if was_late is not self._places.is_late:
            event = "arena in time again" if was_late else "arena late"
            log.warning(event, p99_us=heartbeat.p99_us, sessions_at_once=places)
        return places

    def _has_room(self, name: str) -> bool:
        return self._seated[name] < self._lobby.member(name).capacity

    def _write_aside(self, writing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have something written down while sessions go on; the run is not over before that is."""
        task = asyncio.create_task(writing)
        self._writing.add(task)
        return task

    def _collect(self) -> None:
        """Take note of what is done; what could not be kept ends the run."""
        over = [task for task in self._running if task.done()]
        for task in over:
            slot = self._running.pop(task)
            self._tables.pop((slot.block, slot.session), None)
            self._seated.subtract(slot.seating)
        written = [task for task in self._writing if task.done()]
        self._writing.difference_update(written)
        for task in (*over, *written):
            task.result()

    async def _wind_up(self) -> None:
        """Give what is in flight a moment, then break it off.

        Of a result that the disk has not begun with by then no bot was told, and it counts as broken off;
        failed attempts that wait are taken back as well, and all are written down in one go: on a slow disk
        there can be many of them. So that there is time for what must be written, the moment is the shorter
        the slower the disk is.
        """
        if in_flight := {*self._running, *self._writing}:
            await asyncio.wait(in_flight, timeout=self._books.grace_left_s(self._stop_grace_s))
        self._break_off_sessions()
        self._books.close()
        await self._all_over()
        try:
            await self._record_rest()
            self._void_reopened()
            await self._all_over()
        finally:
            self._collect()

    def _break_off_sessions(self) -> None:
        for task in self._running.keys() & self._breakable:
            task.cancel()

    async def _all_over(self) -> None:
        """Wait until nothing is in flight any more; the end of a session may bring something to write."""
        while busy := [task for task in (*self._running, *self._writing) if not task.done()]:
            await asyncio.wait(busy)

    async def _record_rest(self) -> None:
        """Have the attempts kept that the stop left unrecorded."""
        rest, self._unrecorded = self._unrecorded, []
        if rest:
            attempts = [attempt for _, attempt in rest]
            self._note_failed(rest, await self._books.keep(lambda ledger: ledger.record_attempts(attempts)))

    # ------------------------------------------------------------------ one slot

    async def _attempt(self, slot: SlotEntry, offered_us: int) -> None:
        """Try to play a slot once, and have what came of it kept."""
        task = asyncio.current_task()
        self._breakable.add(task)
        self._attempts[slot.block, slot.session] += 1
        started_at = self._clockwork.time.utc_text()
        try:
            outcome = await self._play(slot, offered_us, started_at)
        finally:
            self._breakable.discard(task)
        await self._book(slot, outcome, started_at)

    async def _play(self, slot: SlotEntry, offered_us: int, started_at: str) -> Outcome:
        """Play a slot once its bots are there, or as many of them as have to; what came of it."""
        runner: SessionRunner | None = None
        try:
            # Who is revoked from here on has lost this session; another of that name is for the next ones.
            members = [self._lobby.member(name) for name in slot.seating]
            absent = await self._wait_for_bots(members, offered_us)
            missing = [member.name for member in absent if member.gone is None]
            if len(missing) > 1:
                return Outcome(AttemptEnd.BOTS_ABSENT, _not_there([self._named(name) for name in missing]))
            runner, referee = await self._sit_down(slot, members, started_at)
            self._forfeit_absent(referee, members, absent)
            return Outcome(AttemptEnd.FINISHED, runner=runner, played=await runner.play())
        except asyncio.CancelledError:
            return Outcome(AttemptEnd.OPERATOR_STOP, _STOPPED, runner)
        except Exception as error:
            log.exception("session failed", slot=slot_label(slot.block, slot.session))
            return Outcome(AttemptEnd.ARENA_ERROR, _spoilt(error), runner)

    async def _book(self, slot: SlotEntry, outcome: Outcome, started_at: str) -> None:
        """Have kept what came of an attempt, and tell of it."""
        if outcome.played is not None:
            outcome = await self._keep_result(slot, outcome, outcome.played)
        if outcome.runner is not None:
            outcome.runner.close(outcome.ending)
        if outcome.played is not None:
            await self._finish(slot, outcome.played)
            return
        failed = (slot, self._failed(slot, outcome, started_at))
        if outcome.ending is AttemptEnd.OPERATOR_STOP:
            self._unrecorded.append(failed)
        else:
            await self._record_failed([failed])

    async def _keep_result(self, slot: SlotEntry, outcome: Outcome, played: Played) -> Outcome:
        """Have a result kept; what came of the attempt after all."""
        try:
            await self._books.record(played)
        except TakenBackError:
            return Outcome(AttemptEnd.OPERATOR_STOP, _STOPPED, outcome.runner)
        except Exception as error:
            log.exception("result not kept", slot=slot_label(slot.block, slot.session))
            return Outcome(AttemptEnd.ARENA_ERROR, _spoilt(error), outcome.runner)
        return outcome

    async def _wait_for_bots(self, members: Sequence[Member], offered_us: int) -> tuple[Member, ...]:
        """Give the bots of a slot what is left of the join limit; who is not there at its end.

        A bot that was never there is not waited for: it had its time before the slot was started. Nor is
        one that said goodbye: it has said that it will not come.
        """
        awaited = [member for member in members if member.hello is not None and not member.has_left]
        await self._lobby.wait_for_members(awaited, self._terms.clock.join_ms / 1000, offered_us)
        return tuple([member for member in members if not member.is_there])

    async def _sit_down(
        self, slot: SlotEntry, members: Sequence[Member], started_at: str
    ) -> tuple[SessionRunner, Referee]:
        """Open the session of a slot; its runner and its referee."""
        terms = self._terms
        seed, nonce = self._secrets(slot)
        header = SessionHeader(
            tournament=terms.name,
            block=slot.block,
            session=slot.session,
            session_id=session_id(terms.seed, slot.block, slot.session),
            ruleset=terms.ruleset,
            options=terms.options,
            seats=tuple([await self._identities.of(member) for member in members]),
            clock=terms.clock,
            commitment=commitment(nonce, seed),
            attempt=self._attempts[slot.block, slot.session],
            started_at=started_at,
            host=terms.host,
        )
        referee = self._tables[slot.block, slot.session] = Referee(header, seed, nonce)
        seats = [member.sit(referee, number) for number, member in enumerate(members)]
        runner = SessionRunner(referee, seats, self._clockwork)
        runner.open()
        return runner, referee

    def _secrets(self, slot: SlotEntry) -> tuple[bytes, bytes]:
        """Seed and nonce of a slot's session."""
        seed = self._terms.seed
        return block_seed(seed, slot.block), session_nonce(seed, slot.block, slot.session)

    def _forfeit_absent(
        self, referee: Referee, members: Sequence[Member], absent: tuple[Member, ...]
    ) -> None:
        for seat, member in enumerate(members):
            gone = member.gone
            is_missing = member in absent and gone is None
            self._absences[member.name] = self._absences[member.name] + 1 if is_missing else 0
            if is_missing:
                detail = _LEFT if member.has_left else ""
                referee.forfeit(seat, FaultCause.NO_HANDSHAKE, detail)
            elif gone is not None:
                referee.forfeit(seat, gone.cause, gone.detail)

    async def _finish(self, slot: SlotEntry, played: Played) -> None:
        """A result is safe, and the bots were told it: tell everyone else."""
        self._close_slot(slot)
        self._watcher.session_finished(played.result)
        for name in slot.seating:
            if self._absences[name] >= ABSENCES_TO_WITHDRAW:
                why = f"{self._named(name)} was not there for {ABSENCES_TO_WITHDRAW} sessions running"
                await self.withdraw(name, why)

    def _named(self, name: str) -> str:
        """A bot that is not there, for people."""
        return f"{name} (said goodbye)" if self._lobby.member(name).has_left else name

    def _failed(self, slot: SlotEntry, outcome: Outcome, started_at: str) -> Attempt:
        """An attempt at a slot that is over now, and gave no result."""
        return Attempt(
            block=slot.block,
            session=slot.session,
            attempt=self._attempts[slot.block, slot.session],
            ending=outcome.ending,
            why=outcome.why,
            started_at=started_at,
            ended_at=self._clockwork.time.utc_text(),
        )

    async def _record_failed(self, failed: Sequence[Failed]) -> None:
        """Have attempts without a result kept; what a stop takes back is recorded with all that is left."""
        try:
            states = await self._books.record_failed([attempt for _, attempt in failed])
        except TakenBackError:
            self._unrecorded += failed
        else:
            self._note_failed(failed, states)

    def _note_failed(self, failed: Sequence[Failed], states: Sequence[SlotState]) -> None:
        """Failed attempts are kept: their slots are open again, before all others, or void."""
        again = []
        for (slot, attempt), state in zip(failed, states, strict=True):
            self._watcher.attempt_failed(attempt, state)
            if state is SlotState.OPEN:
                again.append(slot)
            else:
                self._close_slot(slot)
        self._open[:0] = again

    def _close_slot(self, slot: SlotEntry) -> None:
        """A slot is finished or void; the last one of a block opens its seeds to those who played it."""
        self._left_in_block[slot.block] -= 1
        if self._left_in_block[slot.block]:
            return
        seed = block_seed(self._terms.seed, slot.block)
        for session in range(1, self._sessions_in_block[slot.block] + 1):
            reveal = SeedReveal(
                session_id(self._terms.seed, slot.block, session),
                seed,
                session_nonce(self._terms.seed, slot.block, session),
            )
            for name in slot.seating:
                self._lobby.member(name).reveal(reveal)

    def _void_slots(self, name: str, why: str) -> asyncio.Task[None]:
        """Have a bot's open slots made void; from here on none of them is started."""
        voided = [slot for slot in self._open if name in slot.seating]
        # A session that has just failed is among those that run until it is collected, and open already.
        played = [slot for slot in self._running.values() if name in slot.seating and slot not in voided]
        running = [(slot.block, slot.session) for slot in played]
        self._open = [slot for slot in self._open if name not in slot.seating]

        async def void() -> None:
            await self._books.keep(lambda ledger: ledger.withdraw(name, why, running))
            self._watcher.bot_withdrawn(name, why, len(voided))
            for slot in voided:
                self._close_slot(slot)

        return self._write_aside(void())

    def _void_reopened(self) -> None:
        """Void what is open again: of a bot that was taken out while a failed attempt was written down.

        For the ledger its slot was open when that was written, and being played when the bot was taken out.
        """
        for name, why in self._withdrawn.items():
            if any(name in slot.seating for slot in self._open):
                self._void_slots(name, why)

    def _now(self) -> Moment:
        time = self._clockwork.time
        return Moment(time.now_us(), time.utc_text())


def _not_there(names: Sequence[str]) -> str:
    """Why an attempt ended `bots_absent`, for people."""
    return f"not there: {', '.join(names)}"


def _spoilt(error: Exception) -> str:
    """Why an attempt ended `arena_error`, for people; the log has the whole of it."""
    return f"{type(error).__name__}: {error}"
