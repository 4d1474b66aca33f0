"""One tournament that an arena hosts: its store, the bots that are started for it, its play, how it stands.

It ties `tournament`, which plays, to processes and folders, which that must not know. It does
not know how bots or commands reach the arena: a single run and a long-lived arena host alike.
"""

import asyncio
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

import structlog

from arena.account import Account
from arena.auth import TokenRing
from arena.bot_command import absolute_words
from arena.clock import MS_PER_SECOND
from arena.config import BotEntry, Sandbox
from arena.launcher import (
    MAX_RESTARTS,
    BotStart,
    ExitKind,
    ExitReport,
    Launcher,
    LaunchError,
    Restarts,
    log_name,
)
from arena.ledger import Attempt, BotEnd, TournamentState
from arena.lobby import Lobby
from arena.local_bots import GivenUp, LocalBots
from arena.messages import GoodbyeReason
from arena.pace import Pace
from arena.referee import Referee
from arena.results import SessionResult, SlotState
from arena.runner import Clockwork
from arena.status import TournamentStatus
from arena.store import Store, StoreError
from arena.tournament import STOP_GRACE_S, Terms, Tournament, Watcher

log = structlog.get_logger()

T = TypeVar("T")

LOGS: Final = "logs"
"""The folder, in that of a tournament, with the logs of the bots that are started here."""

LAST_WORDS_S: Final = 1.0
"""What bots that are started here get to end by themselves when their tournament is over."""


class HostError(Exception):
    """A tournament cannot be hosted as it stands; the message says in one sentence why."""


# ------------------------------------------------------------------ what an arena lends


@dataclass(frozen=True, slots=True)
class Dial:
    """Where bots that are started here reach the arena.

    Attributes:
        address: for those that run as they are.
        socket: a Unix socket, for those in a sandbox without a network.
    """

    address: str
    socket: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """What all tournaments of one arena share.

    Attributes:
        lobby: where the bots come in.
        tokens: what they come in with.
        clockwork: what sessions measure and wait with.
        disk: one thread, on which every call of a store that writes is made.
        dial: where bots that are started here reach the arena.
        stop_grace_s: what sessions in flight get to end by themselves after a stop.
    """

    lobby: Lobby
    tokens: TokenRing
    clockwork: Clockwork
    disk: Executor
    dial: Dial
    stop_grace_s: float = STOP_GRACE_S

    async def keep(self, call: Callable[[], T]) -> T:
        """Make a call on the disk's thread."""
        return await asyncio.get_running_loop().run_in_executor(self.disk, call)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A tournament that an arena has.

    Attributes:
        tournament_id: the arena's own.
        folder: with its store, its replays and the logs of its bots.
        bot_folder: beside which the files of bots with a command lie.
    """

    tournament_id: str
    folder: Path
    bot_folder: Path


# ------------------------------------------------------------------ bots that ended


def ends_so_far(ends: Iterable[BotEnd], bots: Sequence[str], folder: Path) -> dict[str, list[ExitReport]]:
    """How the bots that are started here ended in runs of before, by bot.

    Args:
        ends: what the tournament's store says of it.
        bots: names, in the order of its file.
        folder: the tournament's.
    """
    reports: dict[str, list[ExitReport]] = {}
    for end in ends:
        log_file = folder / LOGS / log_name(bots.index(end.bot) + 1, end.bot)
        report = ExitReport(kind=ExitKind(end.kind), sentence=end.sentence, log=log_file)
        reports.setdefault(end.bot, []).append(report)
    return reports


def remarks_on(ends: Mapping[str, Sequence[ExitReport]]) -> tuple[str, ...]:
    """What became of bots that ended and should not have, a sentence each."""
    return tuple([_remark(name, reports) for name, reports in ends.items()])


def _remark(bot: str, reports: Sequence[ExitReport]) -> str:
    last, times = reports[-1], "once" if len(reports) == 1 else f"{len(reports)} times"
    is_over = last.kind is ExitKind.NOT_STARTED or Restarts(before=reports).is_used_up
    # Not that it was started again: a stop may have come before, or a failure of the arena.
    again = " and is not started again" if is_over else f" (it is started again {MAX_RESTARTS} times at most)"
    return f"bot {bot} ended {times}{again}: it {last.sentence}; its log is {last.log}"


# ------------------------------------------------------------------ playing


class HostedTournament:
    """A tournament from its start, or its resumption, to its end or the next stop.

    It is the watcher of its own play, and passes on what it hears.

    Attributes:
        account: what it was made from and gave so far.
        changed: set, and replaced by another, whenever `status` has changed.
        broken_bot: the bot that ended before it ever said Hello, which stopped the tournament.
        failure: why it cannot go on, or empty.
        pace: how fast it is played.
        watcher: told how it goes, if there is one.
    """

    def __init__(
        self, entry: Entry, store: Store, account: Account, digests: Mapping[str, str], premises: Premises
    ) -> None:
        """Set up.

        Args:
            entry: the tournament.
            store: its store, open.
            account: what that says.
            digests: build digests of the bots that are started here, from `digests.local_digests`.
            premises: the arena's.
        """
        self.account = account
        self.changed = asyncio.Event()
        self.broken_bot: GivenUp | None = None
        self.failure = ""
        self.pace = Pace(premises.clockwork.time, account.tally)
        self.watcher: Watcher | None = None
        self._entry = entry
        self._store = store
        self._premises = premises
        self._state = TournamentState.RUNNING
        self._tournament = Tournament(
            _terms(account),
            store,
            premises.lobby,
            premises.clockwork,
            disk=premises.disk,
            watcher=self,
            digests=digests,
            stop_grace_s=premises.stop_grace_s,
        )
        self._ends_before = ends_so_far(
            account.bot_ends, [bot.name for bot in account.file.bots], entry.folder
        )
        launcher = Launcher(log_folder=entry.folder / LOGS, tournament_folder=entry.bot_folder)
        self._bots = LocalBots(
            launcher,
            premises.lobby,
            self._given_up,
            on_failed=self._cannot_keep_going,
            keep_end=self._keep_end,
            before=self._ends_before,
        )

    @property
    def bot_names(self) -> frozenset[str]:
        """Everybody who plays in it."""
        return frozenset([bot.name for bot in self.account.file.bots])

    @property
    def is_over(self) -> bool:
        """Whether it runs no longer."""
        return self._state is not TournamentState.RUNNING

    @property
    def remarks(self) -> tuple[str, ...]:
        """What became of bots that ended and should not have since the tournament began, a sentence each."""
        return remarks_on(self._bots.restarts)

    @property
    def last_words(self) -> Mapping[str, tuple[str, ...]]:
        """The last lines that bots printed which ended in this run and should not have, by bot."""
        return {
            name: reports[-1].last_lines
            for name, reports in self._bots.restarts.items()
            if len(reports) > len(self._ends_before.get(name, ()))
        }

    @property
    def tables(self) -> Mapping[str, Referee]:
        """The referees of the sessions that are being played, by session id; for looking on only."""
        return self._tournament.tables

    def status(self) -> TournamentStatus:
        """How it stands now."""
        lobby = self._premises.lobby
        status = self.account.status(
            self._entry.tournament_id, self._state, lambda name: lobby.member(name).is_there, self.failure
        )
        status = replace(status, remarks=self.remarks)
        if self.is_over:
            return status
        return replace(
            status,
            running_count=len(self.tables),
            decisions_per_second=self.pace.decisions_per_second,
            remaining_ms=self.pace.remaining_ms,
        )

    async def open(self) -> None:
        """Start the bots that are started here; the others are let in if they are those that were entered.

        Raises:
            HostError: a bot cannot be started.
        """
        for bot in self.account.file.bots:
            self._expect(bot)
        try:
            await self._bots.start([self._start_of(bot) for bot in self.account.local_bots])
        except LaunchError as error:
            await self._close()
            raise HostError(str(error)) from None
        except BaseException:
            await self._close()
            raise

    async def play(self) -> TournamentState:
        """Play what is open, then end the bots that were started here; the state it is left in."""
        state = TournamentState.STOPPED
        pacing = asyncio.create_task(self._begin_pace())
        try:
            state = await self._tournament.run()
        except StoreError as error:
            self.failure = self.failure or str(error)
        finally:
            pacing.cancel()
            await asyncio.gather(pacing, return_exceptions=True)
            await self._close(LAST_WORDS_S if state is TournamentState.FINISHED else 0)
            self._state = state
            self._ring()
        return state

    def stop(self) -> None:
        """Hand out nothing more, and give the sessions in flight a moment to end."""
        self._tournament.stop()

    async def withdraw(self, bot: str, why: str) -> None:
        """Take a bot out, if it plays here."""
        if bot in self.bot_names:
            await self._tournament.withdraw(bot, why)

    # ------------------------------------------------------------------ as a watcher

    def session_finished(self, result: SessionResult) -> None:
        """Count a session in."""
        self.account.tally.add(result)
        self.pace.session_finished()
        if self.watcher is not None:
            self.watcher.session_finished(result)
        self._ring()

    def attempt_failed(self, attempt: Attempt, state: SlotState) -> None:
        """Count a slot that is void now."""
        if state is SlotState.VOID:
            self.account.tally.void()
        if self.watcher is not None:
            self.watcher.attempt_failed(attempt, state)
        self._ring()

    def bot_withdrawn(self, bot: str, why: str, voided: int) -> None:
        """Count the slots that are void now."""
        self.account.withdrawn[bot] = why
        self.account.tally.void(voided)
        if self.watcher is not None:
            self.watcher.bot_withdrawn(bot, why, voided)
        self._ring()

    # ------------------------------------------------------------------ inside

    async def _begin_pace(self) -> None:
        """Measure the pace from when sessions begin: once their bots are there, or are not waited for."""
        slots = await self._premises.keep(self._store.slots)
        names = {name for slot in slots if slot.state is SlotState.OPEN for name in slot.seating}
        await self._premises.lobby.wait_for(names, self.account.file.clock.join_ms / MS_PER_SECOND)
        self.pace.begin()

    def _ring(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def _expect(self, bot: BotEntry) -> None:
        """Have the bot's member ready for this tournament."""
        lobby = self._premises.lobby
        if bot.command is not None:
            # Who came by that name before was another process.
            lobby.forget(bot.name)
        elif bot.name in self.account.seen:
            lobby.member(bot.name).pin(*self.account.seen[bot.name])

    def _start_of(self, bot: BotEntry) -> BotStart:
        assert bot.command is not None
        dial = self._premises.dial
        return BotStart(
            number=self.account.number_of(bot.name),
            name=bot.name,
            words=absolute_words(bot.command, self._entry.bot_folder),
            address=dial.socket if bot.sandbox is Sandbox.BWRAP else dial.address,
            token=self._premises.tokens.issue(bot.name),
            sandbox=bot.sandbox,
        )

    async def _keep_end(self, bot: str, report: ExitReport) -> None:
        end = BotEnd(bot=bot, kind=report.kind, sentence=report.sentence)
        at = self._premises.clockwork.time.utc_text()
        await self._premises.keep(lambda: self._store.record_bot_end(end, at))

    def _given_up(self, bot: GivenUp) -> None:
        log.warning("bot given up", bot=bot.bot, why=bot.report.sentence, log=str(bot.report.log))
        self._ring()
        if not bot.was_there and self.broken_bot is None:
            self.broken_bot = bot
            self.failure = f"bot {bot.bot} {bot.report.early_sentence} (its log: {bot.report.log})"
            self.stop()

    def _cannot_keep_going(self, bot: str, error: Exception) -> None:
        """Stop at once, as by any failure of the arena: otherwise the bot would be charged for being away."""
        log.error("bot not kept going", bot=bot, exc_info=error)
        is_said = isinstance(error, LaunchError | StoreError)
        why = str(error) if is_said else f"{type(error).__name__}: {error}"
        self.failure = self.failure or f"the arena could not keep bot {bot} going: {why}"
        self._ring()
        self._tournament.break_off()

    async def _close(self, grace_s: float = 0) -> None:
        """Say goodbye to the bots that are started here and end them; the others may be any again."""
        lobby, tokens = self._premises.lobby, self._premises.tokens
        for bot in self.account.local_bots:
            tokens.revoke(bot.name)
            if grace_s:
                lobby.member(bot.name).close(GoodbyeReason.FINISHED, "the tournament is over")
            else:
                lobby.member(bot.name).close(GoodbyeReason.STOPPING, "the tournament was stopped")
        await self._bots.stop(grace_s)
        for bot in self.account.file.bots:
            if bot.command is not None:
                lobby.forget(bot.name)
            else:
                lobby.member(bot.name).unpin()


def _terms(account: Account) -> Terms:
    file = account.file
    return Terms(
        name=file.tournament.name,
        seed=account.facts.seed,
        ruleset=file.ruleset,
        options=file.options,
        clock=file.clock,
        sessions_at_once=file.tournament.sessions_at_once,
        host=f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    )
