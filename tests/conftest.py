"""What every test shares: the cases of hypothesis, that a run can be repeated, figures, and time.

A normal run makes the same cases every time, so that a failure is the change's and not chance's. The
nightly run looks for new ones and prints how to make a failing one again.
"""

import os
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from tests.figures import PROPERTY, Figure, figure_lines

settings.register_profile("normal", derandomize=True, deadline=None, max_examples=100)
settings.register_profile(
    "nightly",
    deadline=None,
    max_examples=2000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "normal"))

LONGEST_S: Final = {"soak": 0, "nightly": 1800, "slow": 1800}
"""Seconds that tests of these marks may take; 0 is no limit. All others have what pyproject.toml says."""


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Figure:
    """Have a figure of the experiment shown when the tests are over."""
    return lambda experiment, text: record_property(PROPERTY, (experiment, text))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the figures of all tests, unless the run is to be quiet (`-q`)."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        if isinstance(report, pytest.TestReport)
    ]
    lines = figure_lines(reports)
    if lines and terminalreporter.verbosity >= 0:
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.write_line(line)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give long tests the time that they need, unless they or the command line say how long they may take."""
    if config.getoption("timeout") is not None:
        return
    for item in items:
        marks = [mark for mark in LONGEST_S if item.get_closest_marker(mark)]
        if marks and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONGEST_S[marks[0]]))
