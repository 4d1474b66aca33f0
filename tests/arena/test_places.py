"""How many sessions are played side by side: slowly more, and half when the arena is late (F5, T01)."""

from itertools import pairwise

import pytest

from arena.places import FIRST_PLACES, LOOK_AGAIN_US, Places


def counts(places: Places, looks: int, *, taken: int | None = None, is_late: bool = False) -> list[int]:
    """The places at so many looks, each as soon as it is time; all of them are taken unless it is said."""
    found, now_us = [places.look(0, 0, is_late=is_late)], 0
    for _ in range(looks):
        now_us += LOOK_AGAIN_US
        found.append(places.look(found[-1] if taken is None else taken, now_us, is_late=is_late))
    return found


@pytest.mark.parametrize("most", [1, 8, FIRST_PLACES])
def test_few_are_there_from_the_beginning(most: int) -> None:
    """As many as any machine can do need not be tried."""
    assert counts(Places(most, 0), 3) == [most] * 4


def test_more_are_taken_on_one_in_four_at_a_time() -> None:
    """Up to the most that is wanted."""
    assert counts(Places(150, 0), 5) == [64, 80, 100, 125, 150, 150]


def test_no_more_are_taken_on_before_the_last_have_shown() -> None:
    """However often it is looked meanwhile."""
    places = Places(256, 0)
    assert places.look(64, LOOK_AGAIN_US - 1, is_late=False) == 64
    assert places.look(64, LOOK_AGAIN_US, is_late=False) == 80
    assert places.look(80, LOOK_AGAIN_US + 1, is_late=False) == 80
    assert places.look(80, 2 * LOOK_AGAIN_US - 1, is_late=False) == 80
    assert places.look(80, 2 * LOOK_AGAIN_US, is_late=False) == 100


@pytest.mark.parametrize("taken", [63, 65])
def test_no_more_are_taken_on_unless_all_are_taken_and_no_more(taken: int) -> None:
    """What is not made use of shows nothing; nor do sessions from before the arena was late, still played."""
    assert counts(Places(256, 0), 3, taken=taken) == [64] * 4


@pytest.mark.parametrize(("most", "half"), [(1, 1), (3, 1), (64, 32), (1024, 32)])
def test_a_late_arena_gives_up_half(most: int, half: int) -> None:
    """Once, however long it is late: what others do to the machine fewer sessions do not mend."""
    assert counts(Places(most, 0), 9, is_late=True) == [half] * 10


def test_an_arena_that_was_late_takes_on_more_with_care() -> None:
    """It is close to what it can do: one in sixteen at a time, and never none."""
    places = Places(1024, 0)
    assert places.look(64, 1, is_late=True) == 32
    assert places.look(32, 2, is_late=False) == 32
    found = [32]
    for number in range(1, 20):
        found.append(places.look(found[-1], 2 + number * LOOK_AGAIN_US, is_late=False))
    assert all(1 <= after - before <= before // 16 for before, after in pairwise(found))
    small = Places(4, 0)
    small.look(0, 1, is_late=True)
    small.look(2, 2, is_late=False)
    assert [small.look(n + 1, 2 + n * LOOK_AGAIN_US, is_late=False) for n in (1, 2, 3)] == [3, 4, 4]


def test_it_says_after_how_long_to_look_again() -> None:
    """Only if that may change something by itself."""
    places = Places(128, 0)
    assert places.wait_us(63, 5) is None
    assert places.wait_us(64, 5) == LOOK_AGAIN_US - 5
    assert places.wait_us(64, LOOK_AGAIN_US + 5) == 0
    places.look(64, 7, is_late=True)
    assert places.wait_us(0, 8) == LOOK_AGAIN_US
    assert Places(8, 0).wait_us(8, 5) is None
