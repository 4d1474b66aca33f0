"""What every test shares: how many cases hypothesis makes, that a run can be repeated, and its figures.

A normal run makes the same cases every time, so that a failure is the change's and not chance's. The
nightly run looks for new ones and prints how to make a failing one again.
"""

import os
from collections.abc import Callable

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
