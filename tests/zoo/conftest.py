"""What every test of the zoo shares: whatever became of it, no run outlives it."""

from collections.abc import Iterator

import pytest

from tests.zoo.leftovers import use_one_heap
from tests.zoo.runs import end_all_runs

# Before gRPC has any thread.
use_one_heap()


@pytest.fixture(autouse=True)
def _no_run_is_left() -> Iterator[None]:
    """A test that failed leaves no process behind that would slow the next ones."""
    yield
    end_all_runs()
