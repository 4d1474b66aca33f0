"""What every test of the zoo shares: whatever became of it, no run outlives it."""

from collections.abc import Iterator

import pytest

from tests.zoo.leftovers import give_back_large_blocks
from tests.zoo.runs import end_all_runs

give_back_large_blocks()


@pytest.fixture(autouse=True)
def _no_run_is_left() -> Iterator[None]:
    """A test that failed leaves no process behind that would slow the next ones."""
    yield
    end_all_runs()
