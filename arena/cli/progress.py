"""How a run shows that it goes on: a bar and the table so far on a terminal, a few lines elsewhere."""

from datetime import timedelta
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from arena.account import Account
from arena.cli.tables import so_far_table
from arena.clock import MS_PER_SECOND
from arena.ledger import Attempt
from arena.pace import Pace
from arena.results import SessionResult, SlotState
from arena.text import counted

LINES_OFF_TERMINAL = 4
"""Lines of progress that a whole run prints where nobody sees a bar."""

BAR_WIDTH = 20
"""So that pace and time left have room beside it where there are eighty columns."""


class PaceColumn(ProgressColumn):
    """Decisions a second and the time left, as they are at every look."""

    def __init__(self, pace: Pace) -> None:
        super().__init__(Column(no_wrap=True))
        self._pace = pace

    def render(self, task: Task) -> Text:
        """Nothing before the end of the first session."""
        del task
        left_ms = self._pace.remaining_ms
        left = "" if left_ms is None else f"{timedelta(seconds=left_ms // MS_PER_SECOND)} left"
        return Text("  ".join(filter(None, [speed_text(self._pace), left])))


def speed_text(pace: Pace) -> str:
    """Decisions a second; nothing before the end of the first session."""
    speed = pace.decisions_per_second
    return f"{speed:,.0f} decisions/s" if speed else ""


class RunProgress:
    """Watches a tournament and shows how it goes, on stderr."""

    def __init__(self, account: Account, pace: Pace) -> None:
        """Set up; `account` and `pace` go on by themselves while the tournament is played."""
        self._ante, self._tally = account.facts.ante, account.tally
        self._bots = [bot.name for bot in account.file.bots]
        self._total = self._tally.counts.total
        self._pace = pace
        self.failed_attempts: list[Attempt] = []
        self._console = Console(stderr=True, highlight=False)
        self._bar = Progress(
            TextColumn("sessions"),
            BarColumn(BAR_WIDTH),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            PaceColumn(pace),
            console=self._console,
        )
        self._task = self._bar.add_task("sessions", total=self._total, completed=self._done)
        self._live: Live | None = None
        self._told = ""

    def __enter__(self) -> Self:
        # A dumb terminal cannot take back what it shows: it gets lines, as a file does.
        if self._console.is_interactive:
            self._live = Live(self._picture(), console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
        if self._live is not None:
            self._live.stop()
        self._tell()

    def session_finished(self, result: SessionResult) -> None:
        """Show that one session more is done."""
        del result
        self._bar.update(self._task, completed=self._done)
        if self._live is not None:
            self._live.update(self._picture())
        elif (
            self._done * LINES_OFF_TERMINAL // self._total
            != (self._done - 1) * LINES_OFF_TERMINAL // self._total
        ):
            self._tell()

    def attempt_failed(self, attempt: Attempt, state: SlotState) -> None:
        """Remember an attempt that gave no result."""
        del state
        self.failed_attempts.append(attempt)

    def bot_withdrawn(self, bot: str, why: str, voided: int) -> None:
        """Say that a bot no longer takes part."""
        text = f"{why}: {counted(voided, 'session')} will not be played" if voided else why
        self._console.print(text, markup=False)

    @property
    def _done(self) -> int:
        return self._tally.counts.finished

    def _tell(self) -> None:
        """Print how far it is, unless that was the last thing told."""
        count = f"{self._done} of {self._total} sessions"
        text = ", ".join(filter(None, [count, speed_text(self._pace)]))
        if text != self._told:
            self._console.print(text)
        self._told = text

    def _picture(self) -> Group:
        tallies = {bot: self._tally.of(bot) for bot in self._bots}
        # The bar first: of a table that is longer than the terminal the end is not seen.
        return Group(self._bar, so_far_table(tallies, self._ante))
