import math
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings import NEW, Rating, RatingStep, fold, next_step, rate, standing
from arena.results import BlockEntry, BlockResult

any_rating = st.builds(Rating, st.floats(-250, 250), st.floats(0.5, 25 / 3))
some_rating = (
    st.sampled_from([NEW, Rating(30, 2), Rating(30, 4), Rating(-200, 1), Rating(250, 8)]) | any_rating
)


@st.composite
def outcomes(draw: st.DrawFn) -> tuple[dict[str, Rating], dict[str, int]]:
    """Two to six bots with ratings up to 500 apart, and places with ties of every shape."""
    bots = [f"bot-{number}" for number in range(draw(st.integers(2, 6)))]
    return (
        {bot: draw(some_rating) for bot in bots},
        {bot: draw(st.integers(1, len(bots))) for bot in bots},
    )


def block(number: int, places: dict[str, int], *, void_count: int = 0) -> BlockResult:
    """A block in which the bots came in at these places."""
    entries = [
        BlockEntry(bot=bot, chips=-place, place=place, forfeited_sessions=0, strikes=0)
        for bot, place in places.items()
    ]
    return BlockResult(
        block=number, deals=80, ante=10, void_count=void_count, timed=True, entries=tuple(entries)
    )


def test_a_first_duel_gives_the_ratings_of_the_package() -> None:
    """The constants are the package's: a new bot that beats another has 29.396 ± 7.171 after it."""
    after = rate({"a": NEW, "b": NEW}, {"a": 1, "b": 2})
    assert (round(after["a"].mu, 3), round(after["a"].sigma, 3)) == (29.396, 7.171)
    assert (round(after["b"].mu, 3), round(after["b"].sigma, 3)) == (20.604, 7.171)


@given(outcomes(), st.randoms(use_true_random=False))
def test_listing_the_bots_in_another_order_changes_nothing(
    outcome: tuple[dict[str, Rating], dict[str, int]], random: Random
) -> None:
    """Bots go in by name, so that the same result gives the same ratings, bit for bit."""
    priors, places = outcome
    bots = list(priors)
    random.shuffle(bots)
    assert rate({bot: priors[bot] for bot in bots}, {bot: places[bot] for bot in reversed(bots)}) == rate(
        priors, places
    )


@given(outcomes())
def test_names_have_no_effect(outcome: tuple[dict[str, Rating], dict[str, int]]) -> None:
    """The same result under names that sort the other way gives the same ratings to 1e-9."""
    priors, places = outcome
    renamed = {bot: f"bot-{9 - number}" for number, bot in enumerate(sorted(priors))}
    after = rate(priors, places)
    other = rate({renamed[bot]: priors[bot] for bot in priors}, {renamed[bot]: places[bot] for bot in priors})
    for bot in priors:
        assert other[renamed[bot]].mu == pytest.approx(after[bot].mu, abs=1e-9)
        assert other[renamed[bot]].sigma == pytest.approx(after[bot].sigma, abs=1e-9)


@given(outcomes())
def test_equal_places_and_equal_priors_give_equal_ratings(
    outcome: tuple[dict[str, Rating], dict[str, int]],
) -> None:
    """Whoever tied from the same prior has the same rating after it."""
    priors, places = outcome
    after = rate(priors, places)
    for one, other in permutations(priors, 2):
        if (priors[one], places[one]) == (priors[other], places[other]):
            assert after[one] == after[other]


@given(outcomes())
def test_a_rating_is_always_a_number_and_never_less_certain_than_before(
    outcome: tuple[dict[str, Rating], dict[str, int]],
) -> None:
    """Whatever the gap and the ties: no error, no NaN, and sigma rises by no more than a step's dynamics."""
    priors, places = outcome
    for bot, after in rate(priors, places).items():
        assert math.isfinite(after.mu)
        assert 0 < after.sigma <= math.hypot(priors[bot].sigma, 25 / 300) * (1 + 1e-9)


@pytest.mark.parametrize("places", [(1, 2), (1, 1)])
@pytest.mark.parametrize("gap", [50, 500, 5000])
def test_a_hopeless_bot_that_wins_or_ties_is_rated_without_an_error(
    gap: int, places: tuple[int, int]
) -> None:
    """Where the floating point of the package gives out, exact arithmetic takes over: they move together."""
    priors = {"low": Rating(25 - gap / 2, 1), "high": Rating(25 + gap / 2, 1)}
    after = rate(priors, dict(zip(("low", "high"), places, strict=True)))
    assert priors["low"].mu < after["low"].mu
    assert after["high"].mu < priors["high"].mu
    assert after["low"].mu - priors["low"].mu == pytest.approx(priors["high"].mu - after["high"].mu, rel=1e-6)


def test_five_equal_losers_are_rated_the_same() -> None:
    """One winner and five tied from equal starts: the five end with equal ratings, below the winner."""
    bots = dict.fromkeys("abcdef", NEW)
    after = rate(bots, {bot: 1 if bot == "c" else 2 for bot in bots})
    losers = {after[bot] for bot in bots if bot != "c"}
    assert len(losers) == 1
    assert losers.pop().mu < NEW.mu < after["c"].mu


def test_tied_winners_end_above_whom_they_beat() -> None:
    """Two share the first of five places, from equal starts."""
    bots = dict.fromkeys("abcde", NEW)
    after = rate(bots, {"a": 3, "b": 1, "c": 4, "d": 1, "e": 5})
    assert after["b"] == after["d"]
    assert after["b"].mu > after["a"].mu > after["c"].mu > after["e"].mu


def test_rounding_errors_do_not_part_equal_bots() -> None:
    """Priors that differ by less than 1e-9 count as equal, so that a tie does not depend on noise."""
    after = rate({"a": NEW, "b": Rating(NEW.mu + 1e-13, NEW.sigma), "c": NEW}, {"a": 1, "b": 1, "c": 1})
    assert after["a"] == after["b"] == after["c"]


def test_unequal_tied_bots_are_listed_from_the_strongest() -> None:
    """A tie of unequal bots depends on their ratings alone: a renamed copy of it gives the same."""
    priors = {"a": Rating(20, 3), "b": Rating(30, 3), "c": Rating(30, 5)}
    after = rate(priors, dict.fromkeys(priors, 1))
    other = rate({"c": Rating(20, 3), "a": Rating(30, 3), "b": Rating(30, 5)}, dict.fromkeys(priors, 1))
    assert (after["a"], after["b"], after["c"]) == (other["c"], other["a"], other["b"])


@pytest.mark.parametrize(
    ("priors", "places"),
    [
        ({"a": NEW, "b": NEW}, {"a": 1, "c": 2}),
        ({"a": NEW, "b": NEW}, {"a": 1}),
        ({"a": NEW}, {"a": 1, "b": 2}),
        ({"a": NEW}, {"a": 1}),
        ({}, {}),
    ],
)
def test_mappings_that_do_not_fit_are_refused(priors: dict[str, Rating], places: dict[str, int]) -> None:
    """Ratings and places must name the same bots, two at the least."""
    with pytest.raises(ValueError, match=r"name different bots: |allowed is two or more"):
        rate(priors, places)


def test_the_figure_of_the_table_is_mu_less_three_sigma() -> None:
    """It is 0 for a new bot, and a weak one's is negative and stays so."""
    assert NEW.shown == pytest.approx(0)
    assert Rating(10, 5).shown == -5


# --------------------------------------------------------------------------- folding

BLOCKS = [
    block(1, {"a": 1, "b": 2, "c": 3}),
    block(2, {"a": 2, "b": 1, "c": 2}),
    block(3, {"a": 1, "b": 1, "c": 3}),
]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_which_block_ended_first_has_no_effect(order: tuple[int, ...]) -> None:
    """The steps are folded in the order of the schedule, and come out bit for bit the same."""
    assert fold([BLOCKS[index] for index in order]) == fold(BLOCKS)


def test_folding_waits_for_the_first_block_without_a_result() -> None:
    """Blocks behind a gap are not rated yet; what is rated already stays when the gap is filled."""
    assert fold([BLOCKS[0], BLOCKS[2]]) == fold(BLOCKS)[:1]
    assert fold(BLOCKS[1:]) == ()


def test_a_step_needs_only_the_ratings_before_it() -> None:
    """Steps taken one by one, as a store keeps them, equal those of the whole."""
    ratings: dict[str, Rating] = {}
    for result, step in zip(BLOCKS, fold(BLOCKS), strict=True):
        assert next_step(ratings, result) == step
        ratings |= step.after
    assert ratings == standing(fold(BLOCKS), "abc")


def test_a_block_with_a_void_slot_changes_no_rating() -> None:
    """It has a step all the same, so that the blocks behind it are rated."""
    void = block(2, {"a": 3, "b": 2, "c": 1}, void_count=1)
    steps = fold([BLOCKS[0], void])
    assert steps[1] == RatingStep(2, steps[0].after)


def test_a_bot_that_has_not_played_is_new() -> None:
    """It stands in the table with the rating that everyone begins with."""
    assert standing(fold(BLOCKS), "abcd")["d"] == NEW
    assert standing((), "a") == {"a": NEW}


def test_a_bots_rating_changes_only_by_blocks_that_it_played() -> None:
    """A block of others leaves it as it is."""
    before = standing(fold(BLOCKS), "abcdef")
    after = standing(fold([*BLOCKS, block(4, {"d": 1, "e": 2, "f": 3})]), "abcdef")
    assert {bot: after[bot] for bot in "abc"} == {bot: before[bot] for bot in "abc"}
    assert after["d"] != before["d"]
