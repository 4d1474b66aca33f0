"""The figures at the end of a run."""

import pytest

from tests.figures import Ratio, figure_lines


def report(test: str, *told: tuple[str, str], when: str = "call") -> pytest.TestReport:
    """What pytest keeps of a test that told figures, as it arrives from another process: lists for tuples."""
    return pytest.TestReport(
        nodeid=f"tests/test_it.py::{test}",
        location=("tests/test_it.py", 1, test),
        keywords={},
        outcome="passed",
        longrepr=None,
        when=when,  # type: ignore[arg-type]
        user_properties=[("figure", list(each)) for each in told] + [("other", "9")],
    )


def test_figures_are_shown_by_experiment_with_their_test() -> None:
    """A line each, F4 before F12; what is no figure is left out."""
    reports = [
        report("test_b[x]", ("F12", "n = 3 deals"), ("F4", "n = 2 sessions")),
        report("test_a", ("F4", "n = 1 session")),
        report("test_none"),
    ]
    assert figure_lines(reports) == [
        "F4       test_a: n = 1 session",
        "F4       test_b[x]: n = 2 sessions",
        "F12      test_b[x]: n = 3 deals",
    ]


def test_a_figure_is_shown_once() -> None:
    """The end of a test carries its figures a second time."""
    told = ("F4", "n = 1 session")
    assert len(figure_lines([report("test_a", told), report("test_a", told, when="teardown")])) == 1


def test_a_ratio_is_the_mean_over_pairs_with_its_interval() -> None:
    """Twice and half as much is as much; of ratios that are all the same the interval is a point."""
    assert str(Ratio.over([(3, 2), (6, 4)])) == "1.50 (95 % interval 1.50 to 1.50)"
    ratio = Ratio.over([(2, 1), (1, 2)])
    assert ratio.mean == pytest.approx(1)
    assert ratio.low < 0.5
    assert ratio.high > 2
