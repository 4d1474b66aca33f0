"""The leaderboard and the cross table: plain numbers out of results, with error bars.

What counts is the block: chips are averaged over blocks, because the sessions of one have the
same cards and are no independent evidence. Nothing here knows how a table is printed or stored.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from statistics import fmean, stdev
from typing import Final

from arena.clock import US_PER_MS
from arena.ratings import EQUAL_DIGITS, Rating
from arena.results import BlockResult, SeatResult, SessionResult, places

CONFIDENCE: Final = 0.95
"""How sure the intervals are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over blocks with its confidence interval.

    Attributes:
        blocks: how many blocks it is from.
        mean: None without a block.
        low: lower end of the interval, None with fewer than two blocks.
        high: upper end, likewise.
    """

    blocks: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One bot's line of the leaderboard.

    Attributes:
        place: 1 for the first; equal ratings share a place.
        bot: its name.
        rating: mu - 3 sigma, by which the table is ordered; it may be negative.
        mu: mean of the rating.
        sigma: standard deviation of the rating.
        chips_per_deal: in antes, over the blocks in which every slot was finished.
        sessions: finished sessions.
        forfeits: sessions that it forfeited.
        strikes: decisions that the fallback made for it.
        decisions: decisions that it was asked.
        p50_ms: half of its decisions were charged no more than this; None without a decision.
        p95_ms: the same for 95 of 100.
        p99_ms: the same for 99 of 100.
    """

    place: int
    bot: str
    rating: float
    mu: float
    sigma: float
    chips_per_deal: Estimate
    sessions: int
    forfeits: int
    strikes: int
    decisions: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One bot against another, in the blocks that both played.

    Attributes:
        bot: the one.
        opponent: the other.
        lead: chips per deal that `bot` made more than `opponent`, in antes.
        better: how sure the blocks make it that `bot` would stay ahead if more were played, 0..1;
            None with fewer than two blocks, or with differences that are all the same.
    """

    bot: str
    opponent: str
    lead: Estimate
    better: float | None


def leaderboard(
    ratings: Mapping[str, Rating], blocks: Iterable[BlockResult], sessions: Iterable[SessionResult]
) -> tuple[Row, ...]:
    """The table of a tournament, finished or not, from the best to the last.

    Args:
        ratings: of every bot that takes part, after the last rating step.
        blocks: results so far; chips of a block with a void slot are not averaged.
        sessions: every finished session, of whatever block.
    """
    seats: dict[str, list[SeatResult]] = {bot: [] for bot in ratings}
    for session in sessions:
        for seat in session.seats:
            seats[seat.bot].append(seat)
    chips = chips_per_deal(blocks)
    bots = sorted(ratings)
    place_of = dict(zip(bots, _places_by_rating([ratings[bot] for bot in bots]), strict=True))
    estimates = {bot: estimate([chips[block][bot] for block in chips if bot in chips[block]]) for bot in bots}
    order = sorted(bots, key=lambda bot: (place_of[bot], -(estimates[bot].mean or 0), bot))
    return tuple(_row(place_of[bot], bot, ratings[bot], estimates[bot], seats[bot]) for bot in order)


def _places_by_rating(ratings: Sequence[Rating]) -> tuple[int, ...]:
    return places([(-round(rating.shown, EQUAL_DIGITS),) for rating in ratings])


def _row(place: int, bot: str, rating: Rating, chips: Estimate, seats: Sequence[SeatResult]) -> Row:
    times_us = sorted(time_us for seat in seats for time_us in seat.decision_us)
    return Row(
        place=place,
        bot=bot,
        rating=rating.shown,
        mu=rating.mu,
        sigma=rating.sigma,
        chips_per_deal=chips,
        sessions=len(seats),
        forfeits=sum(seat.forfeited for seat in seats),
        strikes=sum(seat.strikes for seat in seats),
        decisions=sum(seat.asked_count for seat in seats),
        p50_ms=_percentile_ms(times_us, 50),
        p95_ms=_percentile_ms(times_us, 95),
        p99_ms=_percentile_ms(times_us, 99),
    )


def _percentile_ms(times_us: Sequence[int], percent: int) -> float | None:
    """The smallest of the sorted times that so many of 100 do not exceed."""
    if not times_us:
        return None
    return times_us[-(-len(times_us) * percent // 100) - 1] / US_PER_MS


def cross_table(blocks: Iterable[BlockResult]) -> tuple[Comparison, ...]:
    """Everyone against everyone met, by name; both directions are there."""
    leads: dict[tuple[str, str], list[float]] = {}
    for chips in chips_per_deal(blocks).values():
        for bot, opponent in permutations(chips, 2):
            leads.setdefault((bot, opponent), []).append(chips[bot] - chips[opponent])
    return tuple(
        Comparison(bot=bot, opponent=opponent, lead=estimate(lead), better=_better(lead))
        for (bot, opponent), lead in sorted(leads.items())
    )


def chips_per_deal(blocks: Iterable[BlockResult]) -> dict[int, dict[str, float]]:
    """Block number to bot to its chips per deal in antes, for the blocks that count, in schedule order."""
    counted = sorted((block for block in blocks if block.averaged), key=lambda block: block.block)
    return {
        block.block: {entry.bot: entry.chips / block.deals / block.ante for entry in block.entries}
        for block in counted
    }


# --------------------------------------------------------------------------- statistics


def estimate(values: Sequence[float]) -> Estimate:
    """The mean with Student's t interval of `CONFIDENCE`; every value is one block's."""
    count = len(values)
    if count < 2:
        return Estimate(blocks=count, mean=fmean(values) if values else None, low=None, high=None)
    mean = fmean(values)
    half_width = t_quantile((1 + CONFIDENCE) / 2, count - 1) * stdev(values) / math.sqrt(count)
    return Estimate(blocks=count, mean=mean, low=mean - half_width, high=mean + half_width)


def _better(leads: Sequence[float]) -> float | None:
    """How much of Student's distribution around the mean lead lies above zero."""
    if len(leads) < 2 or (spread := stdev(leads)) == 0:
        return None
    return t_cdf(fmean(leads) / (spread / math.sqrt(len(leads))), len(leads) - 1)


def t_cdf(t: float, freedom: int) -> float:
    """Student's t distribution up to `t`, for a whole number of degrees of freedom, 1 or more.

    The closed form with a sum of cosines (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    """
    angle = math.atan2(abs(t), math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2 == 1
    term = cosine if odd else 1.0
    terms = [term] if freedom > 1 else []
    for step in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        terms.append(term)
    inside = math.fsum(terms) * sine
    if odd:
        inside = (inside + angle) * 2 / math.pi
    return (1 + math.copysign(inside, t)) / 2


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """The t that Student's distribution stays below with this probability, which is above 0.5.

    Raises:
        ValueError: a probability outside 0.5 to 1, or less than one degree of freedom.
    """
    if not 0.5 < probability < 1:
        raise ValueError(f"probability = {probability}: allowed is above 0.5 and below 1")
    if freedom < 1:
        raise ValueError(f"freedom = {freedom}: allowed is 1 or more")
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < probability:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        if t_cdf(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high
