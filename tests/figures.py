"""What an experiment came to, shown when the tests are over: a pass is worth its n.

A test asks for the fixture `figure` and calls it with the experiment and a line. The line travels
with the test's report, so that it is seen from whatever process the test ran in.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import exp, log
from typing import Final, TypeAlias

import pytest

from arena.standings import estimate

Figure: TypeAlias = Callable[[str, str], None]
"""Called with an experiment ("F4", "K01") and a line that begins with its n."""

PROPERTY: Final = "figure"


def figure_lines(reports: Iterable[pytest.TestReport]) -> list[str]:
    """The figures of tests that ran, a line each, by experiment and then as the tests are named."""
    found = [
        (experiment, report.nodeid.partition("::")[2], text)
        for report in reports
        if report.when == "call"
        for name, value in report.user_properties
        if name == PROPERTY and isinstance(value, list | tuple)
        for experiment, text in [value]
    ]
    return [f"{experiment:<9}{test}: {text}" for experiment, test, text in sorted(found, key=_in_order)]


def _in_order(found: tuple[str, str, str]) -> tuple[str, int, str]:
    """By letter, then by number: F4 comes before F12."""
    experiment, test, _ = found
    digits = "".join(filter(str.isdigit, experiment))
    return experiment.rstrip("0123456789"), int(digits or 0), test


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times the other one thing is, with its 95 % interval: the mean over pairs, by logarithms."""

    mean: float
    low: float
    high: float

    @classmethod
    def over(cls, pairs: Iterable[tuple[float, float]]) -> "Ratio":
        """Of the first to the second of two or more pairs."""
        logs = estimate([log(one / other) for one, other in pairs])
        assert logs.mean is not None
        assert logs.low is not None
        assert logs.high is not None
        return cls(exp(logs.mean), exp(logs.low), exp(logs.high))

    def __str__(self) -> str:
        return f"{self.mean:.2f} (95 % interval {self.low:.2f} to {self.high:.2f})"
