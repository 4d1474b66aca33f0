"""One arena as a whole: who may come in, which tournaments there are, what may be done with them.

Everything that an organiser can ask for is a method here; how the asking travels is
`admin_services`'s. A single run has a hall of its own with its one tournament in it; a
long-lived arena keeps bots and tournaments in the registry of its data folder.
"""

import asyncio
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import structlog

from arena.account import Account, create_store, schedule_of
from arena.archive import (
    brief_of,
    leaderboard_of,
    replay_of,
    replays_of,
    state_at_rest,
)
from arena.aside import on_own_thread
from arena.changes import Changes
from arena.check import Checker
from arena.config import TournamentFile
from arena.digests import local_digests
from arena.hosted import Entry, HostedTournament, HostError, Premises, ends_so_far, remarks_on
from arena.ledger import TournamentState
from arena.lobby import Member
from arena.messages import GoodbyeReason
from arena.refusals import Refusal, RefusedError
from arena.results import SlotCounts
from arena.roster import Roster
from arena.running_check import RunningCheck
from arena.schedule import Block, ScheduleError
from arena.status import BotStatus, Leaderboard, ReplayStatus, TournamentStatus, Verdict
from arena.store import (
    Registry,
    RegistryTournament,
    Store,
    StoreError,
    StoreReader,
)
from arena.text import escape
from engine.view import SeenEvent

log = structlog.get_logger()

T = TypeVar("T")

WATCH_INTERVAL_S: Final = 0.25
"""A watcher is told no more often than this."""
WATCH_LONGEST_S: Final = 2.0
"""A watcher is told at least this often, whether anything changed or not."""

TABLE_INTERVAL_S: Final = 0.1
"""What happens at a table is told to those who watch it no more often than this."""
MAX_EVENTS_BEHIND: Final = 2000
"""A watcher of a table who is further behind than this, some ten deals, is dropped."""

_SINGLE_RUN: Final = (
    "this arena plays one tournament, with the bots of its file: `kratzen serve` is one that takes bots and "
    "tournaments"
)
_ID: Final = re.compile(r"[1-9][0-9]{0,8}")


class Hall:
    """The arena. It belongs to one event loop; a store is written on the disk's thread alone."""

    def __init__(self, premises: Premises, registry: Registry | None = None) -> None:
        """Set up.

        Args:
            premises: what its tournaments share.
            registry: of a long-lived arena, which the hall does not close; None for a single run.
        """
        self._premises = premises
        self._registry = registry
        self._roster = None if registry is None else Roster(premises, registry)
        self._entries: dict[str, Entry] = {}
        self._running: dict[str, HostedTournament] = {}
        self._plays: dict[str, asyncio.Task[None]] = {}
        self._beginnings: dict[asyncio.Task[Any], str] = {}
        """What is begun with and may be broken off, and the tournament that it is for, once that has an id:
        schedules that are made, bots that are started."""
        self._failures: dict[str, str] = {}
        self._checks: dict[str, RunningCheck] = {}
        """The checks that are being made, by the bot's name."""
        self._turn = asyncio.Lock()
        """What changes bots or tournaments is done one after the other."""
        self._changes = Changes()
        self.is_closing = False
        """Whether the arena is about to stop."""

    async def open(self) -> None:
        """Let in the bots of the registry, and know its tournaments."""
        registry, roster = self._its_registry(), self._its_roster()
        await roster.open()
        for tournament in await self._premises.keep(registry.tournaments):
            self._enter(registry, tournament)

    async def close(self) -> tuple[TournamentStatus, ...]:
        """End every check, stop every tournament and send everybody away; those that can be gone on with."""
        self.break_off_beginnings()
        # At once: whoever has the turn may wait for the disk.
        stopped = self._stop_all()
        await asyncio.gather(*[check.end() for check in self._checks.values()])
        # Who has just been started after all is stopped like the others.
        async with self._turn:
            stopped |= self._stop_all()
        await asyncio.gather(*self._plays.values())
        self._premises.lobby.close(
            GoodbyeReason.STOPPING, "the arena stops: come back when it is there again"
        )
        # A tournament that is being entered may not have had its turn yet.
        await self._changes.settle()
        if self._roster is not None:
            await self._roster.close()
        return tuple([status for hosted in stopped.values() if (status := hosted.status()).counts.open])

    def break_off_beginnings(self) -> None:
        """Let nothing more begin, and have no tournament entered or started that has not been yet."""
        self.is_closing = True
        for beginning in self._beginnings:
            beginning.cancel()

    async def _breakable(self, begin: Callable[[], Coroutine[Any, Any, T]], tournament_id: str = "") -> T:
        """Do what takes long and leaves nothing behind; RefusedError when that is broken off."""
        self._check_open()
        beginning = asyncio.create_task(begin())
        self._beginnings[beginning] = tournament_id
        try:
            await asyncio.wait([beginning])
        finally:
            # Unless it is over, whoever waited for it is cancelled.
            beginning.cancel()
            del self._beginnings[beginning]
        if beginning.cancelled():
            self._check_open()
            raise RefusedError(Refusal.NOT_NOW, f"tournament {tournament_id} was stopped before it began")
        return beginning.result()

    def _stop_all(self) -> dict[str, HostedTournament]:
        """Tell every running tournament to stop; these, by id."""
        running = dict(self._running)
        for hosted in running.values():
            hosted.stop()
        return running

    async def carry(self, change: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Make a change for somebody who may go away: once begun it is carried through all the same.

        Args:
            change: calls a method of this hall.

        Raises:
            RefusedError: the arena is stopping, or as the change.
        """
        self._check_open()
        return await self._changes.carry(change)

    # ------------------------------------------------------------------ bots

    async def add_bot(self, name: str) -> str:
        """Register a bot; its token, which is nowhere else.

        Raises:
            RefusedError: the name is none or is taken.
        """
        async with self._turn:
            roster = self._its_roster()
            self._check_not_local(name)
            return await roster.add(name)

    async def revoke_bot(self, name: str, version: str | None = None) -> tuple[str, ...]:
        """Let a bot, or one version of it, in no more: its stream is closed, and it is withdrawn.

        Returns:
            The ids of the running tournaments that it was withdrawn from.

        Raises:
            RefusedError: there is no such bot, or it never came as this version.
        """
        async with self._turn:
            why = await self._its_roster().revoke(name, version)
            if why is None:
                return ()
            playing = {key: hosted for key, hosted in self._running.items() if name in hosted.bot_names}
            for hosted in playing.values():
                await hosted.withdraw(name, why)
            return tuple(playing)

    async def bots(self) -> tuple[BotStatus, ...]:
        """All bots that were ever registered, by name."""
        return await self._its_roster().statuses()

    async def check_bot(self, name: str, *, deterministic: bool = False) -> AsyncGenerator[Verdict]:
        """Take a connected bot through the steps of a check; to close the iterator ends the check.

        Raises:
            RefusedError: there is no such bot, it is not connected, plays, or is being checked already.
        """
        async with self._turn:
            member = self._free_member(name)
            checker = Checker(member, self._premises.clockwork, deterministic=deterministic)
            check = self._checks[name] = RunningCheck(checker, on_over=lambda: self._checks.pop(name))
        try:
            async for verdict in check.verdicts():
                yield verdict
        finally:
            await check.end()

    # ------------------------------------------------------------------ tournaments

    async def create(self, tournament: TournamentFile, bot_folder: str) -> TournamentStatus:
        """Enter a tournament.

        Args:
            tournament: what is played; without a seed one is drawn.
            bot_folder: on this machine, beside which the files of its bots lie; may be empty if it has
                none with a command.

        Raises:
            RefusedError: it cannot be played here.
            StoreError: it cannot be kept.
        """
        if tournament.tournament.seed is None:
            tournament = tournament.with_seed(secrets.token_hex(32))
        await self._breakable(lambda: _check_bot_folder(tournament, bot_folder))
        blocks = await self._breakable(lambda: _scheduled(tournament))
        async with self._turn:
            registry = self._its_registry()
            for name in self._its_roster().strangers(tournament):
                raise RefusedError(Refusal.NOT_NOW, _not_registered(name))
            at = self._premises.clockwork.time.utc_text()

            def make() -> RegistryTournament:
                made = RegistryTournament(number=registry.next_number(), bot_folder=bot_folder)
                create_store(registry.tournament_folder(made.number), tournament, blocks, at).close()
                registry.put_tournament(made)
                return made

            entry = self._enter(registry, await self._premises.keep(make))
        return await self.status(entry.tournament_id)

    async def start(self, tournament_id: str) -> TournamentStatus:
        """Start a tournament, or go on with it.

        Raises:
            RefusedError: it runs, is finished, or its bots are not those that it needs.
            StoreError: its store cannot be used.
        """
        async with self._turn:
            entry = self._entry(tournament_id)
            if tournament_id in self._running:
                raise RefusedError(Refusal.NOT_NOW, f"tournament {tournament_id} is running already")
            self._check_open()
            await self._ended(tournament_id)
            store = await self._premises.keep(lambda: Store.open(entry.folder))
            try:
                hosted = await self.host(entry, store)
            except BaseException:
                await self._premises.keep(store.close)
                raise
            self._plays[tournament_id] = asyncio.create_task(self._play_out(hosted, entry, store))
        return hosted.status()

    async def stop(self, tournament_id: str) -> TournamentStatus:
        """Stop a tournament and wait until it is written down; one that is just being started is not started.

        Raises:
            RefusedError: it does not run.
        """
        self._entry(tournament_id)
        beginnings = [task for task, its_id in self._beginnings.items() if its_id == tournament_id]
        hosted = self._running.get(tournament_id)
        if hosted is not None:
            hosted.stop()
            await self._ended(tournament_id)
        elif beginnings:
            for beginning in beginnings:
                beginning.cancel()
            await asyncio.wait(beginnings)
        else:
            raise RefusedError(Refusal.NOT_NOW, f"tournament {tournament_id} is not running")
        return await self.status(tournament_id)

    async def tournaments(self) -> tuple[TournamentStatus, ...]:
        """All tournaments, the newest first, without their bots."""
        return tuple([await self._brief_status(entry) for entry in reversed(self._entries.values())])

    async def status(self, tournament_id: str) -> TournamentStatus:
        """How a tournament stands.

        Raises:
            RefusedError: there is none with this id.
            StoreError: its store cannot be read.
        """
        entry = self._entry(tournament_id)
        running = self._running.get(tournament_id)
        if running is not None:
            return running.status()
        account = await self._read(entry, Account.of)
        status = account.status(
            tournament_id,
            state_at_rest(account.facts),
            lambda name: self._premises.lobby.member(name).is_there,
            self._failures.get(tournament_id, ""),
        )
        names = [bot.name for bot in account.file.bots]
        return replace(status, remarks=remarks_on(ends_so_far(account.bot_ends, names, entry.folder)))

    async def watch(self, tournament_id: str) -> AsyncIterator[TournamentStatus]:
        """How a tournament stands, now and whenever that has changed, until it runs no longer."""
        hosted = self._running.get(tournament_id)
        if hosted is None:
            yield await self.status(tournament_id)
            return
        while not hosted.is_over:
            changed = hosted.changed
            yield hosted.status()
            # Bots that come and go are seen too, though nothing rings for them.
            with suppress(TimeoutError):
                async with asyncio.timeout(WATCH_LONGEST_S):
                    await changed.wait()
            if not hosted.is_over:
                await asyncio.sleep(WATCH_INTERVAL_S)
        yield hosted.status()

    async def leaderboard(self, tournament_id: str) -> Leaderboard:
        """The table of a tournament.

        Raises:
            RefusedError: there is none with this id.
            StoreError: its store cannot be read.
        """
        return await self._read(self._entry(tournament_id), leaderboard_of)

    async def replays(self, tournament_id: str) -> tuple[ReplayStatus, ...]:
        """The sessions of a tournament, in schedule order.

        Raises:
            RefusedError: there is no tournament with this id.
            StoreError: its store cannot be read.
        """
        replays = await self._read(self._entry(tournament_id), replays_of)
        hosted = self._running.get(tournament_id)
        playing = frozenset[str]() if hosted is None else frozenset(hosted.tables)
        return tuple([replace(replay, is_playing=replay.session_id in playing) for replay in replays])

    async def replay(self, tournament_id: str, session: str) -> bytes:
        """The replay, as text, of a finished session whose block is over.

        Raises:
            RefusedError: there is no such session, or its block is still being played.
            StoreError: its store cannot be read.
        """
        try:
            kept = await self._read(self._entry(tournament_id), lambda store: replay_of(store, session))
        except LookupError as error:
            raise RefusedError(Refusal.UNKNOWN, str(error)) from None
        if not kept.is_open:
            raise RefusedError(
                Refusal.NOT_NOW,
                f"block {kept.block} is still being played, with the same cards: its replays can be had "
                "once it is over",
            )
        return kept.text

    async def watch_session(
        self, tournament_id: str, session_id: str
    ) -> AsyncIterator[tuple[SeenEvent, ...]]:
        """What everybody may see of a session that is being played, from the start of the running deal on.

        Raises:
            RefusedError: it is not being played, or the watcher did not keep up.
        """
        self._entry(tournament_id)
        hosted = self._running.get(tournament_id)
        referee = None if hosted is None else hosted.tables.get(session_id)
        if hosted is None or referee is None:
            raise RefusedError(Refusal.NOT_NOW, "no session of that id is being played in this tournament")
        told = referee.deal_start
        is_live = True
        while is_live:
            is_live = hosted.tables.get(session_id) is referee
            count = referee.event_count
            if count - told > MAX_EVENTS_BEHIND:
                raise RefusedError(Refusal.TOO_SLOW, f"{count - told} events were left unread: watch faster")
            if count > told:
                yield referee.public_events(told)
                told = count
            if is_live:
                await asyncio.sleep(TABLE_INTERVAL_S)

    # ------------------------------------------------------------------ hosting

    async def host(self, entry: Entry, store: Store) -> HostedTournament:
        """Have a tournament's bots started and all ready; `play` follows.

        Args:
            entry: the tournament, which the hall has from here on.
            store: its store, open; the hall does not close it.

        Raises:
            RefusedError: it is finished, its bots are not those that it needs, or the arena stops meanwhile.
            StoreError: its store cannot be used.
        """
        return await self._breakable(lambda: self._make_ready(entry, store), entry.tournament_id)

    async def _make_ready(self, entry: Entry, store: Store) -> HostedTournament:
        account = await self._open_account(store)
        self._check_free(account)
        try:
            digests = await local_digests(account, entry.bot_folder)
            hosted = HostedTournament(entry, store, account, digests, self._premises)
            await hosted.open()
        except HostError as error:
            raise RefusedError(Refusal.NOT_NOW, str(error)) from None
        self._entries[entry.tournament_id] = entry
        self._running[entry.tournament_id] = hosted
        self._failures.pop(entry.tournament_id, None)
        return hosted

    async def play(self, hosted: HostedTournament, entry: Entry) -> TournamentState:
        """Play a tournament that `host` made ready, to its end or until it is stopped."""
        try:
            return await hosted.play()
        finally:
            if hosted.failure:
                self._failures[entry.tournament_id] = hosted.failure
            del self._running[entry.tournament_id]

    async def _play_out(self, hosted: HostedTournament, entry: Entry, store: Store) -> None:
        """Play a tournament as a task of its own; what goes wrong with it is its own affair."""
        try:
            await self.play(hosted, entry)
        except Exception as error:
            log.exception("tournament failed", tournament=entry.tournament_id)
            self._failures[entry.tournament_id] = f"the arena failed: {type(error).__name__}: {error}"
        finally:
            await self._premises.keep(store.close)
            del self._plays[entry.tournament_id]

    async def _ended(self, tournament_id: str) -> None:
        """Wait until a tournament that was stopped, or ended by itself, has let go of its store."""
        play = self._plays.get(tournament_id)
        if play is not None:
            await asyncio.wait([play])

    # ------------------------------------------------------------------ inside

    def _its_registry(self) -> Registry:
        if self._registry is None:
            raise RefusedError(Refusal.NOT_NOW, _SINGLE_RUN)
        return self._registry

    def _its_roster(self) -> Roster:
        if self._roster is None:
            raise RefusedError(Refusal.NOT_NOW, _SINGLE_RUN)
        return self._roster

    def _enter(self, registry: Registry, tournament: RegistryTournament) -> Entry:
        folder = registry.tournament_folder(tournament.number)
        entry = Entry(
            tournament_id=str(tournament.number),
            folder=folder,
            bot_folder=Path(tournament.bot_folder) if tournament.bot_folder else folder,
        )
        self._entries[entry.tournament_id] = entry
        return entry

    def _entry(self, tournament_id: str) -> Entry:
        entry = self._entries.get(tournament_id)
        if entry is None:
            # An id that cannot be one is not repeated: it may be anything.
            shown = f" {tournament_id}" if _ID.fullmatch(tournament_id) else " of that id"
            raise RefusedError(
                Refusal.UNKNOWN, f"there is no tournament{shown}: `kratzen tournament list` shows all"
            )
        return entry

    async def _brief_status(self, entry: Entry) -> TournamentStatus:
        """The status without the bots, read without all the results."""
        try:
            brief = await self._read(entry, brief_of)
        except StoreError as error:
            # The others can be listed all the same.
            return TournamentStatus(
                tournament_id=entry.tournament_id,
                name="",
                state=TournamentState.STOPPED,
                created_at_us=0,
                counts=SlotCounts(finished=0, void=0, open=0),
                ante=0,
                failure=str(error),
            )
        running = entry.tournament_id in self._running
        return TournamentStatus(
            tournament_id=entry.tournament_id,
            name=brief.facts.name,
            state=TournamentState.RUNNING if running else state_at_rest(brief.facts),
            created_at_us=brief.facts.created_at_us,
            counts=brief.counts,
            ante=brief.facts.ante,
            failure=self._failures.get(entry.tournament_id, ""),
            remarks=remarks_on(ends_so_far(brief.bot_ends, brief.bots, entry.folder)),
        )

    async def _read(self, entry: Entry, look: Callable[[StoreReader], T]) -> T:
        """Look into a tournament's store, on a thread that no session waits for."""

        def open_and_look() -> T:
            with StoreReader.open(entry.folder) as store:
                return look(store)

        return await asyncio.to_thread(open_and_look)

    # ------------------------------------------------------------------ who may play

    async def _open_account(self, store: Store) -> Account:
        """What a store says, once those who were revoked since it began are withdrawn from it."""
        account = await self._premises.keep(lambda: Account.of(store))
        if self._roster is None:
            return account
        if not account.tally.counts.open:
            raise RefusedError(Refusal.NOT_NOW, "this tournament is finished: nothing is left to play")
        for name in self._roster.strangers(account.file):
            if name not in account.seen and name not in account.withdrawn:
                raise RefusedError(Refusal.NOT_NOW, _not_registered(name))
        return await self._roster.withdraw_revoked(store, account)

    def _check_open(self) -> None:
        if self.is_closing:
            raise RefusedError(Refusal.NOT_NOW, "the arena is stopping")

    def _check_free(self, wanted: Account) -> None:
        """Raise RefusedError when a bot plays elsewhere, or is being checked."""
        names = {bot.name for bot in wanted.file.bots}
        self._check_idle(names, "a bot plays in one at a time")
        for name in sorted(names & self._checks.keys()):
            raise RefusedError(
                Refusal.NOT_NOW, f"bot {name} is being checked: wait until that is over, or end the check"
            )

    def _free_member(self, name: str) -> Member:
        """A bot that can be checked now; RefusedError for any other."""
        roster = self._its_roster()
        self._check_open()
        self._check_idle({name}, "a check would disturb it")
        if name in self._checks:
            raise RefusedError(
                Refusal.NOT_NOW, f"bot {name} is being checked already: wait until that is over"
            )
        return roster.present(name)

    def _check_idle(self, names: AbstractSet[str], why: str) -> None:
        """Raise RefusedError when one of these bots plays; `why` is what speaks against it."""
        for tournament_id, hosted in self._running.items():
            for name in sorted(names & hosted.bot_names):
                raise RefusedError(
                    Refusal.NOT_NOW,
                    f"bot {name} plays in tournament {tournament_id}, and {why}: wait for its end or stop it",
                )

    def _check_not_local(self, name: str) -> None:
        for tournament_id, hosted in self._running.items():
            if name in hosted.account.local_names:
                raise RefusedError(
                    Refusal.NOT_NOW,
                    f"the arena has started a bot {name} for tournament {tournament_id}: choose another name",
                )


async def _check_bot_folder(tournament: TournamentFile, bot_folder: str) -> None:
    """Raise RefusedError when bots are to be started here and the folder of their files is not there."""
    has_local = any(bot.command is not None for bot in tournament.bots)
    if has_local and not await on_own_thread(lambda: _is_folder(bot_folder)):
        raise RefusedError(
            Refusal.BAD_INPUT,
            "bots with a command are started on the arena's machine, and the folder of their files, "
            f"{escape(bot_folder)!r}, is not there",
        )


async def _scheduled(tournament: TournamentFile) -> Sequence[Block]:
    """The schedule of a tournament, made on a thread that nobody else waits for; RefusedError for none."""
    try:
        return await on_own_thread(lambda: schedule_of(tournament))
    except ScheduleError as error:
        raise RefusedError(Refusal.BAD_INPUT, f"{tournament.tournament.name}: {error}") from None


def _is_folder(text: str) -> bool:
    return text != "" and Path(text).is_dir()


def _not_registered(name: str) -> str:
    return f"bot {name} has no command in the file and is not registered: `kratzen bots add {name}` does that"
