"""The engine's benchmark, played for a moment."""

import pytest

from benchmarks import engine as benchmark
from benchmarks.engine import EUCHRE, Play


def test_the_engine_benchmark_measures_every_ruleset_with_and_without_views() -> None:
    """Each game gets a window a round, in which more is decided than asked; euchre only if it is there."""
    windows = benchmark.measure(seconds=0.001, repeats=2)
    names = {name for name, _ in windows} - {EUCHRE}
    assert names == set(benchmark.RULESETS)
    assert {(name, with_view) for name in names for with_view in (True, False)} <= set(windows)
    for plays in windows.values():
        assert len(plays) == 2
        assert all(play.decisions >= play.asked > 0 and play.cpu_s >= 0.001 for play in plays)


@pytest.mark.parametrize(("beside", "end"), [(True, "  all 0.50, asked 0.25"), (False, " 50")])
def test_ratios_are_those_of_windows_of_the_same_round(beside: bool, end: str) -> None:
    """A machine that slows down from round to round changes no ratio; without euchre there is none."""
    windows = {("tavern", True): [Play(400, 100, 1.0), Play(400, 100, 2.0), Play(400, 100, 4.0)]}
    if beside:
        windows[EUCHRE, True] = [Play(800, 400, 1.0), Play(800, 400, 2.0), Play(800, 400, 4.0)]
    _, line, *_ = benchmark.table(windows)
    assert line.startswith("tavern")
    assert line.endswith(end)
