"""Plays a tournament: hands out its open slots, has each played, and has the results kept.

What is left to play follows from the ledger alone, so that a tournament that was killed goes
on where the last committed session left it. Sessions run side by side in this process; every
call of the ledger waits for a disk and is made on a thread of its own.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import structlog

from arena.clock import US_PER_MS, US_PER_SECOND, ClockSettings
from arena.commitment import commitment
from arena.faults import FaultCause
from arena.ledger import Attempt, Ledger, SlotEntry, TournamentState
from arena.lobby import Lobby, Member
from arena.messages import SeedReveal
from arena.offers import Moment, Offers
from arena.record import SeatInfo, SessionHeader
from arena.referee import Referee
from arena.results import AttemptEnd, SessionResult, SlotState
from arena.runner import Clockwork, Played, SessionRunner
from arena.schedule import block_seed, session_id, session_nonce, slot_label
from engine.rules import Ruleset, SessionOptions

log = structlog.get_logger()

T = TypeVar("T")

STOP_GRACE_S = 3.0
"""What the sessions in flight get to end by themselves after a stop; less where the disk is slow."""

SLOWED_FOR_S = 1.0
"""An arena that was late looks so soon whether it still is."""

CALLS_AFTER_GRACE = 6
"""As many calls of the disk, at the most, as it takes to write down how it stopped and to close the books."""

ABSENCES_TO_WITHDRAW = 3
"""Sessions running that a bot forfeits because it was not there, after which it is taken out."""


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
        self._ledger = ledger
        self._lobby = lobby
        self._clockwork = clockwork
        self._disk = disk
        self._watcher = watcher
        self._digests = digests
        self._stop_grace_s = stop_grace_s
        self._open: list[SlotEntry] = []
        self._offers = Offers(terms.clock.join_ms * US_PER_MS)
        """Those of the open slots that lack bots which were never there."""
        self._known: dict[str, tuple[str, str]] = {}
        """Version and build digest of the bots that were ever seen, which the tournament keeps to."""
        self._seeing = asyncio.Lock()
        """What a bot is, is written down once, however many sessions it begins at the same time."""
        self._names: frozenset[str] = frozenset()
        """Who was to play when the run began."""
        self._left_in_block: Counter[int] = Counter()
        """Slots of each block that are still open or being played."""
        self._sessions_in_block: Counter[int] = Counter()
        self._attempts: Counter[tuple[int, int]] = Counter()
        self._seated: Counter[str] = Counter()
        """Sessions that each bot sits in, or is awaited in."""
        self._absences: Counter[str] = Counter()
        self._withdrawn: set[str] = set()
        self._running: dict[asyncio.Task[None], SlotEntry] = {}
        self._breakable: set[asyncio.Task[None] | None] = set()
        """Those of them that a stop may break off: they have nothing to write down yet."""
        self._unwritten: set[Future[bool]] = set()
        """Results that wait for the disk, or are being written."""
        self._disk_us = 0
        """What the disk takes for a call, of late."""
        self._broken_off: list[tuple[SlotEntry, Attempt]] = []
        """Attempts that a stop broke off, not recorded yet."""
        self._tables: dict[tuple[int, int], Referee] = {}
        """The referees of the sessions that are being played, by block and session."""
        self._stopping = asyncio.Event()
        self._is_slowed = False

    @property
    def tables(self) -> Mapping[str, Referee]:
        """The referees of the sessions that are being played, by session id; for looking on only."""
        return {referee.session_id: referee for referee in self._tables.values()}

    def stop(self) -> None:
        """Hand out nothing more; sessions in flight get a moment to end."""
        self._stopping.set()

    async def withdraw(self, name: str, why: str) -> None:
        """Take a bot out: its open slots become void; those that are being played are played out."""
        if name in self._withdrawn:
            return
        self._withdrawn.add(name)
        await self._void_slots(name, why)
        while any(name in slot.seating for slot in self._open):
            # An attempt was recorded as failed in the meantime, so that its slot was open again.
            await self._void_slots(name, why)

    async def run(self) -> TournamentState:
        """Play until nothing is open or `stop` is called; the state it is left in."""
        slots = await self._keep(self._ledger.slots)
        self._open = [slot for slot in slots if slot.state is SlotState.OPEN]
        self._sessions_in_block.update([slot.block for slot in slots])
        for slot in self._open:
            self._left_in_block[slot.block] += 1
            self._attempts[slot.block, slot.session] = slot.attempts
        seen = [bot for bot in await self._keep(self._ledger.bots) if bot.version is not None]
        self._known = {bot.bot: (bot.version or "", bot.build_digest or "") for bot in seen}
        self._names = frozenset([name for slot in self._open for name in slot.seating])
        await self._keep(lambda: self._ledger.set_state(TournamentState.RUNNING))
        offered = self._now()
        await self._gather_bots()
        try:
            await self._hand_out(offered)
        finally:
            await self._wind_up()
        state = TournamentState.STOPPED if self._open else TournamentState.FINISHED
        await self._keep(lambda: self._ledger.set_state(state))
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
        stopped: asyncio.Task[Any] = asyncio.create_task(self._stopping.wait())
        try:
            while not self._stopping.is_set() and (self._open or self._running):
                unseen = self._unseen()
                self._offers.renew(self._open, unseen, offered)
                self._start_sessions(offered.at_us)
                if not await self._end_offers():
                    await self._wait_for_change(stopped, unseen)
                self._collect()
                offered = self._now()
        finally:
            stopped.cancel()

    def _unseen(self) -> frozenset[str]:
        """Who was never there and may still come."""
        members = [self._lobby.member(name) for name in self._names]
        return frozenset([bot.name for bot in members if bot.hello is None and bot.gone is None])

    def _start_sessions(self, offered_us: int) -> None:
        """Start as many open slots as there are places at once, in order, where every bot has room.

        Their bots have the join limit from `offered_us` on.
        """
        now_us = self._clockwork.time.now_us()
        for slot in tuple(self._open):
            if len(self._running) >= self._places():
                return
            if self._offers.hold(slot, now_us):
                continue
            # With nothing running a slot is started whoever lacks room: its attempt says who is absent.
            if self._running and not all(self._has_room(name) for name in slot.seating):
                continue
            self._open.remove(slot)
            self._seated.update(slot.seating)
            self._running[asyncio.create_task(self._attempt(slot, offered_us))] = slot

    async def _end_offers(self) -> bool:
        """Record the attempts that came to nothing since two bots never came, until there is else to do.

        Returns:
            Whether there was one, so that its slot is open again or void.
        """
        ended = False
        for slot, offer in self._offers.failed(self._clockwork.time.now_us()):
            if self._stopping.is_set() or any(task.done() for task in self._running):
                break
            if not self._withdrawn.isdisjoint(slot.seating):
                continue
            self._offers.withdraw(slot)
            self._open.remove(slot)
            self._attempts[slot.block, slot.session] += 1
            why = _not_there(offer.missing)
            await self._record_failed(
                [(slot, self._failed(slot, AttemptEnd.BOTS_ABSENT, why, offer.since.utc))]
            )
            ended = True
        return ended

    async def _wait_for_change(self, stopped: asyncio.Task[Any], unseen: frozenset[str]) -> None:
        """Wait until a session is over, an unseen bot comes, an offer's time is over, or the stop.

        While the arena is late it does not wait for long, since more is handed out once it is in time again.
        """
        left_us = self._offers.left_us(self._clockwork.time.now_us())
        waits_s = [] if left_us is None else [left_us / US_PER_SECOND]
        if self._is_slowed:
            waits_s.append(SLOWED_FOR_S)
        arrival = asyncio.create_task(self._lobby.wait_for_one(unseen)) if unseen else stopped
        try:
            await asyncio.wait(
                {*self._running, stopped, arrival},
                timeout=min(waits_s, default=None),
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            if arrival is not stopped:
                arrival.cancel()

    def _places(self) -> int:
        """How many sessions may run side by side now: half of them while the arena itself is late."""
        most, heartbeat = self._terms.sessions_at_once, self._clockwork.heartbeat
        if heartbeat.is_late is not self._is_slowed:
            self._is_slowed = heartbeat.is_late
            log.warning("arena late" if self._is_slowed else "arena in time again", p99_us=heartbeat.p99_us)
        return max(1, most // 2) if self._is_slowed else most

    def _has_room(self, name: str) -> bool:
        return self._seated[name] < self._lobby.member(name).capacity

    def _collect(self) -> None:
        """Take note of what is done; a result that could not be kept ends the run."""
        for task in [task for task in self._running if task.done()]:
            slot = self._running.pop(task)
            self._tables.pop((slot.block, slot.session), None)
            self._seated.subtract(slot.seating)
            task.result()

    async def _wind_up(self) -> None:
        """Give what is in flight a moment, then break it off.

        A result that the disk has not begun with by then was told to nobody, and counts as broken off: on
        a slow disk there can be many of them. So that there is time for what must be written, the moment
        is the shorter the slower the disk is.
        """
        if not self._running:
            return
        await asyncio.wait(self._running, timeout=grace_left_s(self._stop_grace_s, self._disk_us))
        for task in self._running.keys() & self._breakable:
            task.cancel()
        for result in tuple(self._unwritten):
            result.cancel()
        await asyncio.wait(self._running)
        try:
            await self._record_failed(self._broken_off)
        finally:
            self._collect()

    # ------------------------------------------------------------------ one slot

    async def _attempt(self, slot: SlotEntry, offered_us: int) -> None:
        """Try to play a slot once, and have what came of it kept."""
        task = asyncio.current_task()
        self._breakable.add(task)
        self._attempts[slot.block, slot.session] += 1
        started_at = self._clockwork.time.utc_text()
        ending, why = AttemptEnd.ARENA_ERROR, ""
        runner: SessionRunner | None = None
        played: Played | None = None
        try:
            absent = await self._wait_for_bots(slot, offered_us)
            missing = [name for name in absent if self._lobby.member(name).gone is None]
            if len(missing) > 1:
                ending, why = AttemptEnd.BOTS_ABSENT, _not_there(missing)
            else:
                runner, referee = await self._sit_down(slot, started_at)
                self._forfeit_absent(slot, referee, absent)
                played = await runner.play()
                self._breakable.discard(task)
                await self._record(played)
                ending = AttemptEnd.FINISHED
        except asyncio.CancelledError:
            ending, why = AttemptEnd.OPERATOR_STOP, "the arena was stopped"
        except Exception as error:
            log.exception("session failed", slot=slot_label(slot.block, slot.session))
            ending, why = AttemptEnd.ARENA_ERROR, f"{type(error).__name__}: {error}"
        self._breakable.discard(task)
        if runner is not None and played is not None and ending is AttemptEnd.FINISHED:
            await self._finish(slot, runner, played)
            return
        if runner is not None:
            runner.close(ending)
        attempt = self._failed(slot, ending, why, started_at)
        if ending is AttemptEnd.OPERATOR_STOP:
            self._broken_off.append((slot, attempt))
        else:
            await self._record_failed([(slot, attempt)])

    async def _wait_for_bots(self, slot: SlotEntry, offered_us: int) -> tuple[str, ...]:
        """Give the bots of a slot what is left of the join limit; who is not there at its end.

        A bot that was never there is not waited for: it had its time before the slot was started.
        """
        left_us = self._terms.clock.join_ms * US_PER_MS - (self._clockwork.time.now_us() - offered_us)
        seen = [name for name in slot.seating if self._lobby.member(name).hello is not None]
        await self._lobby.wait_for(seen, max(0, left_us) / US_PER_SECOND)
        return tuple([name for name in slot.seating if not self._lobby.member(name).is_there])

    async def _sit_down(self, slot: SlotEntry, started_at: str) -> tuple[SessionRunner, Referee]:
        terms, members = self._terms, [self._lobby.member(name) for name in slot.seating]
        seed, nonce = self._secrets(slot)
        header = SessionHeader(
            tournament=terms.name,
            block=slot.block,
            session=slot.session,
            session_id=session_id(terms.seed, slot.block, slot.session),
            ruleset=terms.ruleset,
            options=terms.options,
            seats=tuple([await self._identity(member) for member in members]),
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

    async def _identity(self, member: Member) -> SeatInfo:
        """What a bot is; the tournament keeps to what it saw of it first."""
        hello = member.hello
        if hello is None:
            version, digest = self._known.get(member.name, ("", ""))
            return SeatInfo(member.name, version, self._digests.get(member.name, digest))
        digest = self._digests.get(member.name, hello.build_digest)
        async with self._seeing:
            if member.name not in self._known:
                seen = await self._keep(lambda: self._ledger.see_bot(member.name, hello.bot_version, digest))
                version = hello.bot_version if seen.version is None else seen.version
                self._known[member.name] = (version, digest)
        version, _ = self._known[member.name]
        member.pin(version, None if member.name in self._digests else digest)
        return SeatInfo(member.name, version, digest)

    def _secrets(self, slot: SlotEntry) -> tuple[bytes, bytes]:
        """Seed and nonce of a slot's session."""
        seed = self._terms.seed
        return block_seed(seed, slot.block), session_nonce(seed, slot.block, slot.session)

    def _forfeit_absent(self, slot: SlotEntry, referee: Referee, absent: tuple[str, ...]) -> None:
        for name in slot.seating:
            gone = self._lobby.member(name).gone
            is_missing = name in absent and gone is None
            self._absences[name] = self._absences[name] + 1 if is_missing else 0
            if is_missing:
                referee.forfeit(slot.seating.index(name), FaultCause.NO_HANDSHAKE)
            elif name in absent and gone is not None:
                referee.forfeit(slot.seating.index(name), gone.cause, gone.detail)

    async def _finish(self, slot: SlotEntry, runner: SessionRunner, played: Played) -> None:
        """Tell everyone, once the result is safe."""
        runner.close(AttemptEnd.FINISHED)
        self._close_slot(slot)
        self._watcher.session_finished(played.result)
        for name in slot.seating:
            if self._absences[name] >= ABSENCES_TO_WITHDRAW:
                await self.withdraw(name, f"{name} was not there for {ABSENCES_TO_WITHDRAW} sessions running")

    async def _record(self, played: Played) -> None:
        """Have a result kept; CancelledError when it was withdrawn from `_unwritten` before its turn."""
        future = self._on_disk(lambda: self._ledger.record_session(played.result, played.replay))
        self._unwritten.add(future)
        try:
            await asyncio.wrap_future(future)
        finally:
            self._unwritten.discard(future)

    def _failed(self, slot: SlotEntry, ending: AttemptEnd, why: str, started_at: str) -> Attempt:
        """An attempt at a slot that is over now, and gave no result."""
        return Attempt(
            block=slot.block,
            session=slot.session,
            attempt=self._attempts[slot.block, slot.session],
            ending=ending,
            why=why,
            started_at=started_at,
            ended_at=self._clockwork.time.utc_text(),
        )

    async def _record_failed(self, failed: Sequence[tuple[SlotEntry, Attempt]]) -> None:
        """Have attempts without a result kept, all at once, since every write may take its time."""
        if not failed:
            return
        attempts = [attempt for _, attempt in failed]
        states = await self._keep(lambda: self._ledger.record_attempts(attempts))
        for (slot, attempt), state in zip(failed, states, strict=True):
            self._watcher.attempt_failed(attempt, state)
            if state is SlotState.OPEN:
                self._open.insert(0, slot)
            else:
                self._close_slot(slot)

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

    async def _void_slots(self, name: str, why: str) -> None:
        running = [(slot.block, slot.session) for slot in self._running.values() if name in slot.seating]
        voided = [slot for slot in self._open if name in slot.seating]
        # Before the disk is waited for, so that none of them is started by then.
        self._open = [slot for slot in self._open if name not in slot.seating]
        await self._keep(lambda: self._ledger.withdraw(name, why, running))
        self._watcher.bot_withdrawn(name, why, len(voided))
        for slot in voided:
            self._close_slot(slot)

    async def _keep(self, call: Callable[[], T]) -> T:
        """Call the ledger on the disk's thread."""
        return await asyncio.wrap_future(self._on_disk(call))

    def _on_disk(self, call: Callable[[], T]) -> Future[T]:
        def timed() -> T:
            began_us = self._clockwork.time.now_us()
            try:
                return call()
            finally:
                # The dearest of the last few.
                self._disk_us = max(self._clockwork.time.now_us() - began_us, self._disk_us * 7 // 8)

        return self._disk.submit(timed)

    def _now(self) -> Moment:
        time = self._clockwork.time
        return Moment(time.now_us(), time.utc_text())


def grace_left_s(grace_s: float, disk_us: int) -> float:
    """What is left of the grace after a stop where the disk takes so many microseconds for a call."""
    return max(0.0, grace_s - CALLS_AFTER_GRACE * disk_us / US_PER_SECOND)


def _not_there(names: Sequence[str]) -> str:
    """Why an attempt ended `bots_absent`, for people."""
    return f"not there: {', '.join(names)}"
