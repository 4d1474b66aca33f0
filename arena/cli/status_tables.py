"""What a running arena tells, as tables for people and plain values for programs."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from arena.cli.tables import (
    add_figures,
    add_names,
    add_words,
    leaderboard_table,
    open_table,
    print_table,
    safe,
    so_far_table,
)
from arena.clock import MS_PER_SECOND, US_PER_SECOND
from arena.ledger import TournamentState
from arena.status import BotStatus, Leaderboard, TournamentStatus


def bots_table(bots: Iterable[BotStatus]) -> Table:
    """The registered bots."""
    table = open_table(caption="strays: answers that fitted no open request, since the arena began")
    add_names(table, "bot", "state", "versions")
    add_figures(table, "strays")
    add_words(table, "registered")
    for bot in bots:
        versions = ", ".join([version.version for version in bot.versions if not version.is_revoked])
        table.add_row(
            safe(bot.name),
            safe(_whereabouts(bot)),
            safe(versions),
            str(sum(bot.stray_counts.values())),
            utc_text(bot.registered_at_us),
        )
    return table


def _whereabouts(bot: BotStatus) -> str:
    """Whether a bot is there, and why not."""
    if bot.revoked_at_us is not None:
        return f"revoked {utc_text(bot.revoked_at_us)}"
    if bot.is_there:
        return "there"
    if not bot.absence:
        return "away"
    return f"{'turned away' if bot.turned_away else 'away'}: {bot.absence}"


def tournaments_table(tournaments: Iterable[TournamentStatus]) -> Table:
    """All tournaments."""
    table = open_table()
    add_figures(table, "id")
    add_names(table, "name")
    add_words(table, "state", "sessions")
    add_figures(table, "void")
    add_words(table, "created")
    add_names(table, "remark")
    for status in tournaments:
        counts = status.counts
        table.add_row(
            safe(status.tournament_id),
            safe(status.name),
            status.state.value,
            f"{counts.finished} of {counts.total}",
            str(counts.void),
            utc_text(status.created_at_us),
            safe("; ".join(filter(None, (status.failure, *status.remarks)))),
        )
    return table


def print_status(status: TournamentStatus, board: Leaderboard, console: Console) -> None:
    """Print how a tournament stands: a line, its bots, its leaderboard."""
    console.print(status_line(status))
    if status.remarks:
        console.print()
    for remark in status.remarks:
        console.print(safe(remark))
    for table in (_bots_of(status), leaderboard_table(board.rows)):
        console.print()
        print_table(table, console)
    if not board.is_timed:
        console.print("Played without clocks: nothing is rated.")


def status_picture(status: TournamentStatus) -> RenderableType:
    """How a tournament stands, for a picture that is drawn again and again."""
    tallies = {bot.bot: bot.tally for bot in status.bots}
    return Group(so_far_table(tallies, status.ante), status_line(status))


def status_line(status: TournamentStatus) -> Text:
    """How a tournament stands, in a line."""
    counts = status.counts
    parts = [
        f"tournament {status.tournament_id} ({status.name}): {status.state.value}",
        f"{counts.finished} of {counts.total} sessions",
    ]
    if counts.void:
        parts.append(f"{counts.void} void")
    if status.decisions_per_second:
        parts.append(f"{status.decisions_per_second:,.0f} decisions/s")
    if status.remaining_ms is not None:
        parts.append(f"{status.remaining_ms / MS_PER_SECOND:,.0f} s left")
    if status.state is TournamentState.RUNNING:
        parts += [f"{bot.bot} is not there" for bot in status.bots if not (bot.is_there or bot.withdrawn)]
    if status.failure:
        parts.append(status.failure)
    return safe(", ".join(parts))


def status_values(status: TournamentStatus, board: Leaderboard | None = None) -> dict[str, Any]:
    """How a tournament stands, as values that JSON knows."""
    values = asdict(status)
    if board is not None:
        values["leaderboard"] = [asdict(row) for row in board.rows]
    return values


def utc_text(moment_us: int) -> str:
    """A time for people, UTC."""
    return datetime.fromtimestamp(moment_us / US_PER_SECOND, UTC).isoformat(timespec="seconds")


def _bots_of(status: TournamentStatus) -> Table:
    table = open_table("Bots")
    add_names(table, "bot")
    add_words(table, "comes")
    add_names(table, "now")
    add_figures(table, "sessions", "strikes")
    for bot in status.bots:
        now = "there" if bot.is_there else "away"
        table.add_row(
            safe(bot.bot),
            "started here" if bot.is_local else "dials in",
            safe(f"withdrawn: {bot.withdrawn}") if bot.withdrawn else now,
            str(bot.tally.session_count),
            str(bot.tally.strike_count),
        )
    return table
