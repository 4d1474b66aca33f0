"""What the tables of a run say, and that no terminal cuts a figure of them."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from arena.cli.tables import comparison_table, estimate_text, leaderboard_table, print_table
from arena.standings import Comparison, Estimate, Row
from tests.cli.calling import NAMES, kratzen, make_run

LEAD = Estimate(blocks=6, mean=10.45, low=0.33, high=20.57)


def row(bot: str) -> Row:
    """A line with figures as wide as they get."""
    return Row(
        place=10,
        bot=bot,
        rating=-13.37,
        mu=1.0,
        sigma=2.0,
        chips_per_deal=LEAD,
        sessions=12_000,
        forfeits=100,
        strikes=5000,
        decisions=99_999,
        p50_ms=1000.1,
        p95_ms=2000.2,
        p99_ms=12_345.6,
    )


def comparison(better: float | None) -> Comparison:
    """Somebody leads somebody."""
    return Comparison(bot="anna", opponent="berta", lead=LEAD, better=better)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("name", ["a", "a-name-of-two-and-thirty-letters"])
def test_no_figure_is_cut_however_narrow_the_terminal_is(width: int, name: str) -> None:
    """Every figure of the leaderboard is there in full; a long name is folded, and nothing is left out."""
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    print_table(leaderboard_table((row(name), row("b"))), console)
    text = file.getvalue()
    for figure in ("-13.37", "+10.45 ± 10.12", "12000", "100", "5000", "1000.1", "12345.6"):
        assert text.count(figure) >= 2, figure
    assert "…" not in text
    lines = text.splitlines()
    head = next(line for line in lines if "rating " in line)
    first, last = head.index("bot"), head.index("rating")
    assert name in "".join([line[first:last].strip() for line in lines])


def test_the_leaderboard_of_names_of_eight_letters_fits_eighty_columns() -> None:
    """With figures of usual size no line is longer."""
    file = io.StringIO()
    usual = [
        Row(
            place=1,
            bot=bot,
            rating=21.5,
            mu=25.0,
            sigma=1.0,
            chips_per_deal=Estimate(blocks=6, mean=0.45, low=0.2, high=0.7),
            sessions=24,
            forfeits=0,
            strikes=0,
            decisions=1000,
            p50_ms=1.0,
            p95_ms=2.0,
            p99_ms=103.5,
        )
        for bot in ("cautious", "sampling")
    ]
    print_table(leaderboard_table(tuple(usual)), Console(file=file, width=80, highlight=False))
    assert max(map(len, file.getvalue().splitlines())) <= 80
    assert "cautious " in file.getvalue()


@pytest.mark.parametrize(
    ("better", "told"),
    [(None, "-"), (0.5, "50.0 %"), (0.998, "99.8 %"), (0.99951, "> 99.9 %"), (1.0, "> 99.9 %")],
)
def test_nobody_is_ever_quite_sure_to_be_better(better: float | None, told: str) -> None:
    """No finite number of blocks makes it 100 %."""
    file = io.StringIO()
    print_table(comparison_table((comparison(better),)), Console(file=file, width=80, highlight=False))
    assert f" {told} " in file.getvalue()
    assert "100.0 %" not in file.getvalue()


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(blocks=0, mean=None, low=None, high=None), "-"),
        (Estimate(blocks=1, mean=0.4, low=None, high=None), "+0.40"),
        (Estimate(blocks=2, mean=-0.4, low=-0.5, high=-0.3), "-0.40 ± 0.10"),
        (Estimate(blocks=2, mean=-0.001, low=-0.001, high=-0.001), "+0.00 ± 0.00"),
    ],
)
def test_an_estimate_is_told_with_its_interval(estimate: Estimate, text: str) -> None:
    """Half its width follows the mean; too few blocks give none, and nothing is minus nothing."""
    assert estimate_text(estimate) == text


def test_a_leaderboard_says_how_much_of_the_schedule_is_played(tmp_path: Path) -> None:
    """On stderr for people, among the values for programs."""
    folder = make_run(tmp_path / "run", sessions=5)
    shown = kratzen("leaderboard", folder)
    assert all(name in shown.out for name in NAMES)
    assert shown.err == "5 of 8 sessions, 0 void\n"
    as_json = kratzen("leaderboard", folder, "--json")
    assert '"finished": 5' in as_json.out
    assert '"open": 3' in as_json.out
    assert as_json.err == ""
