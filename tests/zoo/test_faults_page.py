"""The page on faults names tests that exist, and leaves nothing out."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from arena.faults import FaultCause
from sample_bots.faulty import ZOO
from tests.zoo.test_zoo import CASES

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
TEST: Final = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NAMED: Final = sorted(set(TEST.findall(PAGE)))
SENTENCE: Final = re.compile(r"[A-Z][^.|]*\.")
FEWEST_WORDS: Final = 8
"""A sentence with fewer says no more than that it is so."""

ROWS: Final = {
    "E": (1, 3, 5, 6, 8, 10, 11, 13, 14, 16, 18, 19),
    "T": (1, 2, 4, 6, 7, 9, 10, 11, 13, 14),
    "G": (1, 2, 4, 6, 7, 10, 11, 12, 13, 14, 16, 17, 18, 20),
    "X": (1, 3, 4, 6, 8, 9, 12, 14, 15, 16, 17),
}
"""The rows of known faults that concern bots, clocks, gRPC and security."""


@pytest.mark.parametrize(
    ("file", "name"), NAMED, ids=lambda part: part.removesuffix(".py").rpartition("/")[2]
)
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    """File and function are there, and pytest would take the function for a test."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert name in functions
    assert name.startswith("test_")


def test_behaviours_in_brackets_exist() -> None:
    """What stands in brackets after a test is in the zoo, and the test plays each behaviour of it."""
    found = re.findall(r"`tests/[\w/]+\.py::(\w+)` \((`\w+`(?:, `\w+`)*)\)", PAGE)
    assert {test for test, _ in found} == {"test_a_bad_bot_harms_itself_alone"}
    named = {name for _, names in found for name in re.findall(r"`(\w+)`", names)}
    assert named <= set(CASES)
    assert len(found) == len(re.findall(r"`tests/[\w/]+\.py::\w+` \(`(?!tests/)", PAGE))


def is_walked_through(here: str) -> bool:
    """Whether a row names a test, or says in a whole sentence why the fault cannot happen here."""
    if TEST.search(here):
        return True
    return any(len(sentence.split()) >= FEWEST_WORDS for sentence in SENTENCE.findall(here))


@pytest.mark.parametrize(
    ("here", "is_enough"),
    [
        ("`tests/arena/test_text.py::test_names_outside_the_rule_are_not`", True),
        ("`tests/arena/test_text.py`, which has tests of many names", False),
        ("No bot runs inside the arena's process, as none could play there.", True),
        ("No bot runs inside the arena's process, as none could play there", False),
        ("The arena makes no pages. It makes none.", False),
        ("-" * 40, False),
        ("", False),
    ],
)
def test_only_a_test_or_a_sentence_walks_a_row_through(here: str, is_enough: bool) -> None:
    """Neither letters in any number nor a few words are enough."""
    assert is_walked_through(here) is is_enough


def test_every_row_is_walked_through() -> None:
    """Each known fault has its line, in order, with a test or a sentence."""
    walked = re.findall(r"^\| ([ETGX]\d\d) \| .+ \| (.+) \|$", PAGE, re.MULTILINE)
    assert [row for row, _ in walked] == [
        f"{kind}{number:02}" for kind, numbers in ROWS.items() for number in numbers
    ]
    assert [row for row, here in walked if not is_walked_through(here)] == []


def test_every_cause_and_every_behaviour_is_there() -> None:
    """The tables have all of them, and the causes of the behaviours are those that the zoo tests."""
    causes = re.findall(r"^\| `(\w+)` \| .+ \| .+ \| .+ \|$", PAGE, re.MULTILINE)
    assert sorted(causes) == sorted(FaultCause)
    table = PAGE.partition("| behaviour | booked |")[2].partition("\n\n")[0]
    booked = {}
    for names, cause in re.findall(r"^\| (`.+`) \| (.+) \|$", table, re.MULTILINE):
        booked.update(dict.fromkeys(re.findall(r"`(\w+)`", names), cause))
    assert set(booked) == set(ZOO)
    for name, case in CASES.items():
        first = next((f"`{cause}`" for cause in case.causes), "nothing")
        assert booked[name].startswith(first), name
