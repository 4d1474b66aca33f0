from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations
from math import ceil, comb, floor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arena.balance import Draws, Group, balanced_chairs, balanced_groups, spread_out, varied_neighbours


def meetings(groups: Sequence[Group]) -> Counter[tuple[int, int]]:
    """How often each pair meets."""
    return Counter(pair for group in groups for pair in combinations(sorted(group), 2))


def appearances(groups: Sequence[Group], bot_count: int) -> list[int]:
    """How often each bot plays."""
    played = Counter(bot for group in groups for bot in group)
    return [played[bot] for bot in range(bot_count)]


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, int, int]:
    """Bots, table size and a number of groups that is small enough to be fast."""
    size = draw(st.integers(3, 6))
    return draw(st.integers(size, 40)), size, draw(st.integers(1, 60))


@example((15, 6, 7), bytes(6))
@given(shapes(), st.binary(min_size=1, max_size=8))
def test_bots_play_equally_often_and_pairs_meet_about_equally_often(
    shape: tuple[int, int, int], seed: bytes
) -> None:
    """Bots differ by one block at the most; a pair is at most one meeting off the counts next to the mean."""
    bot_count, size, group_count = shape
    groups = balanced_groups(bot_count, size, group_count, Draws(seed))
    played = appearances(groups, bot_count)
    met = meetings(groups)
    mean = group_count * comb(size, 2) / comb(bot_count, 2)
    assert len(groups) == group_count
    assert all(len(set(group)) == size for group in groups)
    assert sum(played) == group_count * size
    assert max(played) - min(played) <= 1
    for pair in combinations(range(bot_count), 2):
        assert floor(mean) - 1 <= met[pair] <= ceil(mean) + 1


@pytest.mark.parametrize(
    ("bot_count", "size", "group_count", "each"),
    [
        (7, 3, 7, 1),
        (9, 3, 12, 1),
        (13, 4, 13, 1),
        (16, 4, 20, 1),
        (6, 3, 10, 2),
        (10, 4, 15, 2),
        (5, 4, 10, 6),
    ],
)
def test_where_pairs_can_meet_equally_often_they_do(
    bot_count: int, size: int, group_count: int, each: int
) -> None:
    """For the block designs of the textbooks every pair meets exactly as often as every other."""
    met = meetings(balanced_groups(bot_count, size, group_count, Draws(b"design")))
    assert {met[pair] for pair in combinations(range(bot_count), 2)} == {each}


def test_as_many_groups_as_there_are_takes_every_group_once() -> None:
    """Whole copies of all groups are exactly balanced."""
    assert sorted(balanced_groups(6, 4, 30, Draws(b""))) == sorted(list(combinations(range(6), 4)) * 2)


@given(st.integers(3, 6), st.data())
def test_spreading_keeps_the_groups_and_lets_everyone_play_from_the_start(
    size: int, data: st.DataObject
) -> None:
    """The first groups name every bot before any bot is far ahead."""
    bot_count = data.draw(st.integers(size, 9))
    groups = list(combinations(range(bot_count), size))
    ordered = spread_out(groups, bot_count)
    assert sorted(ordered) == groups
    half = [appearances(ordered[:count], bot_count) for count in range(1, len(ordered) // 2 + 1)]
    assert all(max(played) - min(played) <= 2 for played in half)
    assert set().union(*ordered[: ceil(bot_count / size)]) == set(range(bot_count))


@given(shapes(), st.binary(min_size=1, max_size=8))
def test_chairs_are_balanced_at_every_point_of_the_list(shape: tuple[int, int, int], seed: bytes) -> None:
    """A bot sits in every chair equally often, or one time more: at the end and at every whole run before."""
    bot_count, size, group_count = shape
    draws = Draws(seed)
    groups = [draws.shuffled(group) for group in balanced_groups(bot_count, size, group_count, draws)]
    seatings = balanced_chairs(groups)
    assert [sorted(seating) for seating in seatings] == [sorted(group) for group in groups]
    for bot in range(bot_count):
        chairs = [seating.index(bot) for seating in seatings if bot in seating]
        runs = [chairs[start : start + size] for start in range(0, len(chairs), size)]
        assert all(len(set(run)) == len(run) for run in runs)


def test_neighbours_vary_over_the_blocks_of_one_group() -> None:
    """Six blocks of four bots use each of the six orders round the table once, so all pairs are even."""
    seatings = varied_neighbours(
        [(0, 1, 2, 3), (2, 3, 0, 1), (1, 0, 2, 3), (3, 2, 1, 0), (0, 1, 2, 3), (2, 1, 0, 3)]
    )
    beside = Counter((seating[chair], seating[(chair + 1) % 4]) for seating in seatings for chair in range(4))
    assert {beside[pair] for pair in permutations(range(4), 2)} == {2}
    assert [seating[0] for seating in seatings] == [0, 2, 1, 3, 0, 2]


def test_draws_are_the_same_for_ever() -> None:
    """The numbers come from SHA-256 of seed and counter: constants, so that no Python changes a schedule."""
    draws = Draws(b"seed")
    assert [draws.below(1000) for _ in range(10)] == [102, 388, 625, 437, 257, 305, 211, 705, 448, 807]
    assert Draws(b"seed").shuffled((0, 1, 2, 3, 4, 5)) == (3, 5, 4, 2, 1, 0)


def test_draws_reach_every_number() -> None:
    """All numbers below the bound occur, about equally often."""
    draws = Draws(b"seed")
    seen = Counter(draws.below(6) for _ in range(6000))
    assert set(seen) == set(range(6))
    assert all(850 < count < 1150 for count in seen.values())
