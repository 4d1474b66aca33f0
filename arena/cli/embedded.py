"""The arena of one run: hosts one tournament for as long as that is played.

What it is put together from is `building`'s; here is only what a single run has of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click

from arena.address import is_loopback
from arena.auth import AdminPass
from arena.cli.building import OpenArena, Site, open_arena
from arena.cli.errors import CommandFailed
from arena.cli.logs import log_to
from arena.cli.progress import RunProgress
from arena.cli.signals import say_stopping, stopped_by_signals
from arena.hall import Hall
from arena.hosted import Entry, HostedTournament
from arena.ledger import Attempt, TournamentState
from arena.local_bots import GivenUp
from arena.messages import GoodbyeReason
from arena.refusals import RefusedError
from arena.results import AttemptEnd
from arena.schedule import slot_label
from arena.store import Store, StoreError
from arena.text import counted, escape

TOURNAMENT_ID: Final = "1"
"""The id of its only tournament, for those who look at it from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Where a run finds and puts things.

    Attributes:
        folder: of the run.
        tournament_folder: that of the tournament file, beside which bots' files lie.
        address: where the arena listens.
        resume_command: what goes on with the run once it was stopped.
        resume_note: what is to be known about that, or empty.
    """

    folder: Path
    tournament_folder: Path
    address: str
    resume_command: str
    resume_note: str


@dataclass(slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        signal: the signal that stopped it, or None.
        failure: why it could not go on, or None.
        remarks: what its user should know, a line each.
        last_words: the last lines that bots printed which ended and should not have, by bot.
    """

    signal: str | None = None
    failure: str | None = None
    remarks: list[str] = field(default_factory=list)
    last_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class EmbeddedRun:
    """One run of one tournament in this process."""

    def __init__(self, store: Store, options: RunOptions) -> None:
        self._store = store
        self._options = options
        self._outcome = Outcome(remarks=list(store.notes))
        self._hall: Hall | None = None
        self._hosted: HostedTournament | None = None

    async def play(self) -> Outcome:
        """Play what is open.

        Raises:
            CommandFailed: the arena cannot listen, or a bot cannot be started.
        """
        options = self._options
        log_to(options.folder)
        admin = AdminPass(None) if is_loopback(options.address) else None
        entry = Entry(
            tournament_id=TOURNAMENT_ID, folder=options.folder, bot_folder=options.tournament_folder
        )
        async with open_arena(Site(address=options.address, admin=admin)) as arena:
            self._hall = arena.hall
            with stopped_by_signals(self._stop):
                hosted = self._hosted = await self._host(arena, entry)
                state = await self._play(arena.hall, hosted, entry) if hosted else TournamentState.STOPPED
                _say_goodbye(arena, state)
        if hosted is not None and hosted.broken_bot is not None:
            raise CommandFailed(_broken_bot_text(hosted.broken_bot))
        return self._outcome

    async def _play(self, hall: Hall, hosted: HostedTournament, entry: Entry) -> TournamentState:
        """Play what is open, and show how that goes; the state it is left in."""
        if self._outcome.signal is not None:
            hosted.stop()
        progress = hosted.watcher = RunProgress(hosted.account, hosted.pace)
        with progress:
            state = await hall.play(hosted, entry)
        self._sum_up(hosted, progress)
        return state

    async def _host(self, arena: OpenArena, entry: Entry) -> HostedTournament | None:
        """Have the bots started that are started here, and say what the others need to dial in.

        None when a signal comes before all of them are.
        """
        try:
            hosted = await arena.hall.host(entry, self._store)
        except (RefusedError, StoreError) as error:
            if arena.hall.is_closing:
                return None
            raise CommandFailed(str(error)) from None
        for bot in hosted.account.file.bots:
            if bot.command is None:
                token = arena.tokens.issue(bot.name)
                click.echo(
                    f"waiting for {bot.name}: KRATZEN_ADDRESS={arena.address} KRATZEN_TOKEN={token}", err=True
                )
        return hosted

    def _stop(self, signal: str) -> None:
        self._outcome.signal = signal
        if self._hosted is not None:
            self._hosted.stop()
        elif self._hall is not None:
            self._hall.break_off_beginnings()
        how_to_go_on = f"go on later with: {escape(self._options.resume_command)}"
        say_stopping("\n".join(filter(None, [how_to_go_on, self._options.resume_note])))

    def _sum_up(self, hosted: HostedTournament, progress: RunProgress) -> None:
        outcome = self._outcome
        outcome.failure = hosted.failure or None
        outcome.remarks += hosted.remarks
        outcome.last_words = hosted.last_words
        outcome.remarks += _failures(progress.failed_attempts)


def _failures(attempts: Iterable[Attempt]) -> list[str]:
    """A line for every reason for which attempts failed, with the slots that it hit."""
    slots: dict[tuple[AttemptEnd, str], list[str]] = {}
    for attempt in attempts:
        labels = slots.setdefault((attempt.ending, attempt.why), [])
        labels.append(slot_label(attempt.block, attempt.session))
    return [
        f"{counted(len(labels), 'attempt')} without a result ({', '.join(dict.fromkeys(labels))}): "
        f"{_why_failed(ending, why)}"
        for (ending, why), labels in slots.items()
    ]


def _why_failed(ending: AttemptEnd, why: str) -> str:
    """The ending's sentence, with what more is known of it; of a stop there is no more to say."""
    if ending is AttemptEnd.OPERATOR_STOP or not why:
        return ending.sentence
    return f"{ending.sentence.removesuffix('.')} ({why})."


def _say_goodbye(arena: OpenArena, state: TournamentState) -> None:
    if state is TournamentState.FINISHED:
        arena.lobby.close(GoodbyeReason.FINISHED, "the tournament is over")
    else:
        arena.lobby.close(GoodbyeReason.STOPPING, "the arena was stopped; the tournament can be resumed")


def _broken_bot_text(bot: GivenUp) -> str:
    """Why a bot never came, with the last it printed."""
    lines = [f"bot {bot.bot} {bot.report.early_sentence}"]
    lines += [f"  {line}" for line in bot.report.last_lines]
    return "\n".join([*lines, f"  (its log: {bot.report.log})"])
