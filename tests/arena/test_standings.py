import json
import math
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings import NEW, Rating
from arena.results import BlockEntry, BlockResult, SeatResult, SessionResult
from arena.standings import (
    Estimate,
    chips_per_deal,
    cross_table,
    estimate,
    leaderboard,
    t_cdf,
    t_quantile,
)


def block(number: int, chips: dict[str, int], *, deals: int = 80, void_count: int = 0) -> BlockResult:
    """A block that gave the bots these chips, with an ante of 10."""
    entries = [
        BlockEntry(bot=bot, chips=amount, place=1, forfeited_sessions=0, strikes=0)
        for bot, amount in chips.items()
    ]
    return BlockResult(
        block=number, deals=deals, ante=10, void_count=void_count, timed=True, entries=tuple(entries)
    )


def session(number: int, *seats: SeatResult) -> SessionResult:
    """A finished session of the first block."""
    return SessionResult(block=1, session=number, session_id="0" * 32, deals=20, pot_left=0, seats=seats)


def seat(bot: str, *times_us: int, strikes: int = 0, forfeited: bool = False) -> SeatResult:
    """A bot that was asked as many decisions as there are times."""
    return SeatResult(
        bot=bot,
        seat=0,
        stack=1000,
        chips=0,
        place=1,
        forfeited=forfeited,
        strikes=strikes,
        faults=(),
        asked_count=len(times_us),
        decision_us=times_us,
    )


def approx(estimated: Estimate) -> tuple[int, float, float, float]:
    """The figures of an estimate to four decimals."""
    assert estimated.mean is not None
    assert estimated.low is not None
    assert estimated.high is not None
    return estimated.blocks, round(estimated.mean, 4), round(estimated.low, 4), round(estimated.high, 4)


# --------------------------------------------------------------------------- leaderboard


def test_the_table_is_ordered_by_mu_less_three_sigma() -> None:
    """Negative figures sort below positive ones; equal ones share a place and go by chips, then name."""
    ratings = {"a": Rating(10, 5), "b": Rating(30, 2), "c": NEW, "d": NEW, "e": Rating(-20, 1)}
    rows = leaderboard(ratings, [block(1, {"c": -50, "d": 50, "e": 0})], [])
    assert [(row.place, row.bot, round(row.rating, 9)) for row in rows] == [
        (1, "b", 24),
        (2, "d", 0),
        (2, "c", 0),
        (4, "a", -5),
        (5, "e", -23),
    ]
    assert (rows[0].mu, rows[0].sigma) == (30, 2)


def test_chips_are_averaged_over_blocks_in_antes_per_deal() -> None:
    """Worked by hand: 3, 1 and 2 antes a deal have mean 2, deviation 1, and t(0.975, 2) = 4.3027."""
    blocks = [
        block(1, {"a": 2400, "b": -2400}, deals=80),
        block(2, {"a": 400, "b": -400}, deals=40),
        block(3, {"a": 1000, "b": -1200}, deals=50),
    ]
    rows = {row.bot: row for row in leaderboard({"a": NEW, "b": NEW}, blocks, [])}
    half = round(4.30265 / math.sqrt(3), 4)
    assert approx(rows["a"].chips_per_deal) == (3, 2, round(2 - half, 4), round(2 + half, 4))
    assert approx(rows["b"].chips_per_deal)[:2] == (3, round((-3 - 1 - 2.4) / 3, 4))


def test_a_block_with_a_void_slot_is_not_averaged() -> None:
    """Its chips are kept and shown elsewhere, and count for nothing here."""
    blocks = [block(2, {"a": 800, "b": 0}), block(1, {"a": -9999, "b": 0}, void_count=1)]
    assert chips_per_deal(blocks) == {2: {"a": 1.0, "b": 0.0}}


def test_sessions_strikes_forfeits_and_times_are_those_of_all_finished_sessions() -> None:
    """They count from the first session on, long before a block is over."""
    sessions = [
        session(1, seat("a", 1000, 3000, strikes=2), seat("b", 500)),
        session(2, seat("a", 2000, 4000, strikes=5, forfeited=True), seat("b")),
    ]
    rows = {row.bot: row for row in leaderboard({"a": NEW, "b": NEW, "c": NEW}, [], sessions)}
    a, b, c = rows["a"], rows["b"], rows["c"]
    assert (a.sessions, a.forfeits, a.strikes, a.decisions) == (2, 1, 7, 4)
    assert (a.p50_ms, a.p95_ms, a.p99_ms) == (2.0, 4.0, 4.0)
    assert (b.sessions, b.forfeits, b.strikes, b.decisions, b.p50_ms) == (2, 0, 0, 1, 0.5)
    assert (c.sessions, c.decisions, c.p50_ms, c.p95_ms, c.p99_ms) == (0, 0, None, None, None)
    assert c.chips_per_deal == Estimate(blocks=0, mean=None, low=None, high=None)


def test_percentiles_are_times_that_were_really_taken() -> None:
    """Of 1 to 200 ms half do not exceed 100, 95 of 100 not 190, and 99 of 100 not 198."""
    (row,) = leaderboard({"a": NEW}, [], [session(1, seat("a", *(1000 * ms for ms in range(200, 0, -1))))])
    assert (row.p50_ms, row.p95_ms, row.p99_ms) == (100.0, 190.0, 198.0)


def test_a_row_is_plain_numbers() -> None:
    """It goes into JSON and comes back as it was."""
    rows = leaderboard(
        {"a": NEW, "b": NEW}, [block(1, {"a": 10, "b": -10})], [session(1, seat("a", 7), seat("b"))]
    )
    for row in rows:
        assert json.loads(json.dumps(asdict(row), allow_nan=False)) == asdict(row)


def test_a_bot_that_does_not_take_part_is_refused() -> None:
    """A session of an unknown bot is our own mistake, never a line left out."""
    with pytest.raises(KeyError, match="b"):
        leaderboard({"a": NEW}, [], [session(1, seat("b"))])


# --------------------------------------------------------------------------- cross table


def test_two_bots_are_compared_over_the_blocks_that_both_played() -> None:
    """Worked by hand: leads of 1 and 3 antes have mean 2, standard error 1, and t(0.975, 1) = 12.7062."""
    blocks = [
        block(1, {"a": 400, "b": -400, "c": 0}),
        block(2, {"a": 1200, "b": -1200, "d": 0}),
        block(3, {"a": 9999, "c": 0, "d": 0}),
    ]
    table = {(entry.bot, entry.opponent): entry for entry in cross_table(blocks)}
    duel, reverse = table["a", "b"], table["b", "a"]
    assert approx(duel.lead) == (2, 2, round(2 - 12.7062, 4), round(2 + 12.7062, 4))
    assert approx(reverse.lead) == (2, -2, round(-2 - 12.7062, 4), round(-2 + 12.7062, 4))
    assert duel.better is not None
    assert reverse.better is not None
    assert duel.better == pytest.approx(0.5 + math.atan(2) / math.pi)  # One degree of freedom: Cauchy.
    assert duel.better + reverse.better == pytest.approx(1)
    assert table["b", "c"].lead == Estimate(blocks=1, mean=-0.5, low=None, high=None)
    assert table["b", "c"].better is None
    assert ("b", "d") in table
    assert ("c", "b") in table
    assert len(table) == 12


def test_leads_that_are_all_the_same_say_nothing_of_how_sure_they_are() -> None:
    """Without any spread no probability is made up."""
    (first, _) = cross_table([block(1, {"a": 8, "b": 0}), block(2, {"a": 8, "b": 0})])
    assert first.better is None
    assert approx(first.lead) == (2, 0.01, 0.01, 0.01)


# --------------------------------------------------------------------------- statistics


def test_one_value_has_no_interval_and_none_has_no_mean() -> None:
    """Nothing is said that cannot be known."""
    assert estimate([]) == Estimate(blocks=0, mean=None, low=None, high=None)
    assert estimate([3.5]) == Estimate(blocks=1, mean=3.5, low=None, high=None)


@pytest.mark.parametrize(
    ("probability", "freedom", "t"),
    [
        (0.975, 1, 12.7062),
        (0.975, 2, 4.3027),
        (0.975, 3, 3.1824),
        (0.975, 4, 2.7764),
        (0.975, 5, 2.5706),
        (0.975, 9, 2.2622),
        (0.975, 10, 2.2281),
        (0.975, 30, 2.0423),
        (0.975, 120, 1.9799),
        (0.95, 1, 6.3138),
        (0.95, 8, 1.8595),
        (0.99, 15, 2.6025),
        (0.995, 20, 2.8453),
        (0.995, 7, 3.4995),
        (0.975, 20_000, 1.9601),
    ],
)
def test_quantiles_of_students_distribution_are_those_of_the_printed_tables(
    probability: float, freedom: int, t: float
) -> None:
    """The known table values, to their four decimals."""
    assert t_quantile(probability, freedom) == pytest.approx(t, abs=6e-5)


def test_for_one_two_and_four_degrees_of_freedom_the_distribution_is_known_in_closed_form() -> None:
    """Exact values: atan for one degree, square roots for two and four."""
    for t in (-3.0, -0.5, 0.0, 0.5, 1.0, 10.0):
        assert t_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-14)
        assert t_cdf(t, 2) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)), abs=1e-14)
        s = t / math.sqrt(4 + t * t)
        assert t_cdf(t, 4) == pytest.approx(0.5 + s * (3 - s * s) / 4, abs=1e-14)


@given(st.floats(0.501, 0.9999), st.integers(1, 300))
def test_the_quantile_is_where_the_distribution_reaches_the_probability(
    probability: float, freedom: int
) -> None:
    """The two are inverses."""
    assert t_cdf(t_quantile(probability, freedom), freedom) == pytest.approx(probability, abs=1e-12)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=30))
def test_the_interval_holds_the_mean_in_its_middle(values: list[float]) -> None:
    """It is symmetric and as wide as the values' spread makes it."""
    estimated = estimate(values)
    assert estimated.mean is not None
    assert estimated.low is not None
    assert estimated.high is not None
    assert estimated.low <= estimated.mean <= estimated.high
    assert estimated.high - estimated.mean == pytest.approx(estimated.mean - estimated.low, abs=1e-9)


@pytest.mark.parametrize(("probability", "freedom"), [(0.5, 3), (1.0, 3), (0.4, 3), (0.975, 0)])
def test_a_quantile_that_does_not_exist_is_refused(probability: float, freedom: int) -> None:
    """A probability outside, or too few values."""
    with pytest.raises(ValueError, match="allowed is"):
        t_quantile(probability, freedom)
