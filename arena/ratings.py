"""TrueSkill over the places of blocks: the one file that knows the package `trueskill`.

Bots go in and come out by name, so that nothing depends on a position in a list. Nothing here
knows chips, sessions or how a place came about.
"""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Final, TypeAlias

from arena.results import BlockResult

with warnings.catch_warnings():
    # Version 0.4.5 has backslashes in plain strings, which newer Pythons warn of when they compile it.
    warnings.simplefilter("ignore")
    import trueskill

EQUAL_DIGITS: Final = 9
"""Ratings that agree to so many decimals are one and the same; rounding errors are far below."""

EXACT_DIGITS: Final = 60
"""Decimal digits of the exact backend; enough for gaps of thousands."""


@dataclass(frozen=True, slots=True)
class Rating:
    """What is known of a bot's strength: a normal distribution on TrueSkill's scale.

    Attributes:
        mu: the mean; new bots have 25.
        sigma: the standard deviation; new bots have 25/3.
    """

    mu: float = trueskill.MU
    sigma: float = trueskill.SIGMA

    @property
    def shown(self) -> float:
        """The figure mu - 3 sigma, by which the table is ordered: the bot is very likely stronger than this.

        It is 0 for a new bot and negative for one that has shown to be weak.
        """
        return self.mu - 3 * self.sigma


NEW: Final = Rating()

Ratings: TypeAlias = dict[str, Rating]


def rate(priors: Mapping[str, Rating], places: Mapping[str, int]) -> Ratings:
    """The ratings after one result.

    Equal places of equal priors give equal ratings; the order in either mapping has no effect.

    Args:
        priors: the ratings before, of exactly the bots of the result.
        places: 1 for the first; who shares a place has tied.

    Raises:
        ValueError: fewer than two bots, or the two mappings name different ones.
    """
    if priors.keys() != places.keys():
        odd = ", ".join(sorted(priors.keys() ^ places.keys()))
        raise ValueError(f"ratings and places name different bots: {odd}")
    if len(places) < 2:
        raise ValueError(f"{len(places)} bots: allowed is two or more")
    order = sorted(places, key=lambda bot: (places[bot], *_strength(priors[bot]), bot))
    after = _posterior([priors[bot] for bot in order], [places[bot] for bot in order])
    rated = dict(zip(order, after, strict=True))
    return {
        bot: rating
        for _, equals in groupby(order, key=lambda bot: (places[bot], _strength(priors[bot])))
        for bot, rating in _shared(list(equals), rated).items()
    }


def _strength(rating: Rating) -> tuple[float, float]:
    """Sorts from the strongest, by mu, then sigma, high to low; the same for ratings that count as equal."""
    return (-round(rating.mu, EQUAL_DIGITS), -round(rating.sigma, EQUAL_DIGITS))


def _shared(equals: Sequence[str], rated: Mapping[str, Rating]) -> Ratings:
    """For each the mean of all mu's and of all variances: the package rates the tied by position."""
    if len(equals) == 1:
        return {equals[0]: rated[equals[0]]}
    mu = math.fsum(rated[bot].mu for bot in equals) / len(equals)
    variance = math.fsum(rated[bot].sigma ** 2 for bot in equals) / len(equals)
    return dict.fromkeys(equals, Rating(mu, math.sqrt(variance)))


def _posterior(priors: Sequence[Rating], places: Sequence[int]) -> list[Rating]:
    """The package's own update, by position; in exact arithmetic when its floating point gives out."""
    groups = [(trueskill.Rating(prior.mu, prior.sigma),) for prior in priors]
    try:
        after = _ratings(_environment(None).rate(groups, ranks=places))
    except (ArithmeticError, ValueError):
        after = []
    if _believable(priors, after):
        return after
    # It takes longer to import than all else here, is seldom needed, and has no types.
    import mpmath  # type: ignore[import-untyped]  # noqa: PLC0415

    with mpmath.workdps(EXACT_DIGITS):
        return _ratings(_environment("mpmath").rate(groups, ranks=places))


def _believable(priors: Sequence[Rating], after: Sequence[Rating]) -> bool:
    """Whether no rating is lost and none has become less certain than the dynamics of the scale allow."""
    return len(after) == len(priors) and all(
        math.isfinite(new.mu) and 0 < new.sigma <= math.hypot(old.sigma, trueskill.TAU) * (1 + 1e-9)
        for old, new in zip(priors, after, strict=True)
    )


def _ratings(groups: Iterable[Sequence[Any]]) -> list[Rating]:
    return [Rating(float(group[0].mu), float(group[0].sigma)) for group in groups]


@cache
def _environment(backend: str | None) -> Any:  # noqa: ANN401 - the package has no types
    """The package with its own constants, spelled out so that nobody else's set-up changes them."""
    return trueskill.TrueSkill(
        mu=trueskill.MU,
        sigma=trueskill.SIGMA,
        beta=trueskill.BETA,
        tau=trueskill.TAU,
        draw_probability=trueskill.DRAW_PROBABILITY,
        backend=backend,
    )


# --------------------------------------------------------------------------- folding


@dataclass(frozen=True, slots=True)
class RatingStep:
    """The ratings of a block's bots after it; for a block that is not rated they are as before.

    Attributes:
        block: number of the block, from 1.
        after: by name, for the bots of the block.
    """

    block: int
    after: Mapping[str, Rating]


def next_step(ratings: Mapping[str, Rating], block: BlockResult) -> RatingStep:
    """The step of one block on top of all before it; a bot without a rating is new."""
    priors = {entry.bot: ratings.get(entry.bot, NEW) for entry in block.entries}
    if not block.rated:
        return RatingStep(block.block, priors)
    return RatingStep(block.block, rate(priors, {entry.bot: entry.place for entry in block.entries}))


def fold(blocks: Iterable[BlockResult]) -> tuple[RatingStep, ...]:
    """The steps of all blocks up to the first that has no result yet, in the order of the schedule.

    Which block ended first has no effect on them.

    Args:
        blocks: in any order.
    """
    steps: list[RatingStep] = []
    ratings: Ratings = {}
    for block in sorted(blocks, key=lambda result: result.block):
        if block.block != len(steps) + 1:
            break
        steps.append(next_step(ratings, block))
        ratings |= steps[-1].after
    return tuple(steps)


def standing(steps: Iterable[RatingStep], bots: Iterable[str]) -> Ratings:
    """The ratings of these bots after the last of the steps."""
    ratings = dict.fromkeys(bots, NEW)
    for step in steps:
        ratings |= step.after
    return ratings
