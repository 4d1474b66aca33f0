"""Tables for people and JSON for programs, made from the same rows."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, Protocol

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from arena.ledger import TournamentFacts
from arena.ratings import Rating
from arena.results import BlockResult, SessionResult, SlotCounts
from arena.standings import Comparison, Estimate, Row, cross_table, leaderboard
from arena.tally import BotTally
from arena.text import escape

WIDE: Final = 200
"""Columns for output that is no terminal: nothing is cut that somebody may want to read."""

NAME_WIDTH: Final = 8
"""A longer name is folded to no less than this where there is little room."""

COLUMN_GAP: Final = 2
"""What stands between two columns."""


class Book(Protocol):
    """What a table is made from; a store, open for writing or only for reading."""

    def facts(self) -> TournamentFacts:
        """What the tournament was made from."""

    def ratings(self) -> dict[str, Rating]:
        """Every bot's rating."""

    def block_results(self) -> tuple[BlockResult, ...]:
        """Every block that is over."""

    def results(self) -> tuple[SessionResult, ...]:
        """Every finished session."""

    def slot_counts(self) -> SlotCounts:
        """How many sessions are finished, void and still open."""


def console_for_data() -> Console:
    """Where data goes: stdout, with colour only where people look at it."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    return console


def open_table(title: str | None = None, caption: str | None = None) -> Table:
    """A table in the one style that there is: a line below its head and none between columns."""
    return Table(
        title=title, caption=caption, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD,
        pad_edge=False, collapse_padding=True,
    )  # fmt: skip


def add_names(table: Table, *names: str) -> None:
    """Add columns of texts, which are folded where there is little room."""
    for name in names:
        table.add_column(name, overflow="fold")


def add_figures(table: Table, *names: str) -> None:
    """Add columns of figures, which are never cut."""
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)


def add_words(table: Table, *names: str) -> None:
    """Add columns of single words, such as times and ids, which are never cut."""
    for name in names:
        table.add_column(name, no_wrap=True)


def rows_of(book: Book) -> tuple[Row, ...]:
    """The leaderboard as the book has it."""
    return leaderboard(book.ratings(), book.block_results(), book.results())


def leaderboard_json(book: Book) -> dict[str, Any]:
    """The leaderboard and the cross table as plain values."""
    facts = book.facts()
    return {
        "tournament": facts.name,
        "rated": facts.timed,
        "sessions": asdict(book.slot_counts()),
        "leaderboard": [asdict(row) for row in rows_of(book)],
        "comparisons": [asdict(pair) for pair in cross_table(book.block_results())],
    }


def print_leaderboard(book: Book, console: Console) -> None:
    """Print the leaderboard, and below it who is how surely better than whom."""
    print_table(leaderboard_table(rows_of(book)), console)
    comparisons = cross_table(book.block_results())
    if comparisons:
        console.print()
        print_table(comparison_table(comparisons), console)
    if not book.facts().timed:
        console.print("Played without clocks: nothing is rated.")


def print_table(table: Table, console: Console) -> None:
    """Print a table of which no figure is ever cut: where there is no room, names are folded, then lines."""
    for column in table.columns:
        width = max([cell_len(str(cell)) for cell in (column.header, *column.cells)])
        column.min_width = min(width, NAME_WIDTH) if column.overflow == "fold" else width
    narrowest = sum([(column.min_width or 0) + COLUMN_GAP for column in table.columns])
    if narrowest > console.width:
        table.width = narrowest
    console.print(table, crop=False)


def leaderboard_table(rows: tuple[Row, ...]) -> Table:
    """The leaderboard."""
    caption = "rating = mu - 3 sigma, which may be negative; chips: antes a deal, 95 % interval over blocks"
    table = open_table("Leaderboard", caption)
    add_figures(table, "#")
    add_names(table, "bot")
    add_figures(table, "rating", "chips", "sessions", "forfeits", "strikes", "p50 ms", "p99 ms")
    for row in rows:
        table.add_row(
            str(row.place),
            safe(row.bot),
            f"{row.rating:.2f}",
            estimate_text(row.chips_per_deal),
            str(row.sessions),
            str(row.forfeits),
            str(row.strikes),
            _milliseconds(row.p50_ms),
            _milliseconds(row.p99_ms),
        )
    return table


def comparison_table(comparisons: tuple[Comparison, ...]) -> Table:
    """Who leads whom, each pair once, from the side that leads."""
    caption = "lead: antes a deal, 95 % interval over the blocks that both played"
    table = open_table("Head to head", caption)
    add_names(table, "bot", "against")
    add_figures(table, "lead", "sure to be better", "blocks")
    for pair in comparisons:
        mean = pair.lead.mean
        if mean is None or mean < 0 or (mean == 0 and pair.bot > pair.opponent):
            continue
        table.add_row(
            safe(pair.bot),
            safe(pair.opponent),
            estimate_text(pair.lead),
            _sure_text(pair.better),
            str(pair.lead.blocks),
        )
    return table


def so_far_table(tallies: Mapping[str, BotTally], ante: int) -> Table:
    """The bots that have played and their sums, who has won most a deal first."""
    table = open_table("So far", "chips: antes a deal")
    add_names(table, "bot")
    add_figures(table, "chips", "deals", "strikes")
    played = {bot: tally for bot, tally in tallies.items() if tally.deal_count}
    for bot in sorted(played, key=lambda bot: (-played[bot].antes_per_deal(ante), bot)):
        tally = played[bot]
        table.add_row(
            safe(bot), f"{tally.antes_per_deal(ante):+.2f}", str(tally.deal_count), str(tally.strike_count)
        )
    return table


def safe(text: str) -> Text:
    """A text of strangers for a table: no control code is sent, no mark-up is followed."""
    return Text(escape(text))


def estimate_text(estimate: Estimate) -> str:
    """A mean with half its confidence interval, `+0.45 ± 0.12`; `-` for what too few blocks cannot tell."""
    if estimate.mean is None:
        return "-"
    if estimate.high is None:
        return f"{estimate.mean:+z.2f}"
    return f"{estimate.mean:+z.2f} ± {estimate.high - estimate.mean:.2f}"


def _sure_text(better: float | None) -> str:
    """How sure a lead is; nothing is ever quite sure."""
    if better is None:
        return "-"
    return "> 99.9 %" if better > 0.999 else f"{100 * better:.1f} %"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
