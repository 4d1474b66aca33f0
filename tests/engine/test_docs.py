"""`docs/rules.md` against the engine: what it takes from tables is in it, and its deals really happen."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from engine.deal import PHASES
from engine.events import DealBegan, Event
from engine.pack import shuffle
from engine.rules import (
    OPTIONS,
    SALZBURG,
    SESSION_OPTIONS,
    TAVERN,
    Option,
    SessionOptions,
    ruleset_values,
    session_values,
)
from tests.engine.golden import FOLDER, read
from tests.engine.telling import told

Value = str | int | bool | None

ROOT: Final = Path(__file__).parent.parent.parent
PAGE: Final = ROOT / "docs" / "rules.md"

TITLES: Final = (
    "Cards",
    "Table",
    "Options",
    "Shuffle",
    "A deal, step by step",
    "What a player may see",
    "Auction",
    "Declarations",
    "Exchange",
    "Play",
    "Quotas, settlement, what comes next",
    "Session",
    "Decisions and their text forms",
)


OUR_CHOICES: Final = {
    5: (
        "The other card does not matter.",
        "the dealer stays; the cards are dealt",
        "a Seven, then nothing special or another Seven",
        "the double ante of a Muss was paid by the first one.",
    ),
    7: (
        "each player in turn clockwise speaks **once**",
        "If everybody says *Weiter*, the dealer strikes with *Schlagen*.",
        "recorded as that: the trumps stay and the dealer strikes.",
        "here turns go clockwise and nobody else is asked.",
    ),
    9: ("but five instead of one for the Ace of trumps",),
    10: (
        'with `"striker"` the striker does.',
        "If trumps are led, and you can beat the best trump on the trick, you must.",
    ),
    11: (
        "A Normal deal pays the pot out, a Muss of either kind only with `muss_pays`.",
        "Penalties are in the pot at once, to be won in the next deal.",
        "A session begins with a Muss.",
    ),
    12: (
        "which may pay nothing out, so that only penalties part the tied.",
        "a dealer who was not tied cannot pass those who were.",
    ),
}
"""For each section, the words that end each choice marked as decided here, as the rules mark it."""


@pytest.fixture(scope="module")
def page() -> str:
    """The text of the page."""
    return PAGE.read_text(encoding="utf-8")


def block(page: str, title: str) -> str:
    """What stands between a comment of this title and the next `end`."""
    found = re.search(rf"<!-- {re.escape(title)} -->\n(.*?)<!-- end -->", page, flags=re.DOTALL)
    assert found is not None
    return found[1]


def row(option: Option, *values: Value) -> str:
    """An option as a row of a table, with the values that stand in its columns."""
    cells = [f"`{option.name}`", option.values.describe(), *map(value_text, values)]
    return f"| {' | '.join([*cells, option.sentence, str(option.section)])} |"


def option_table() -> str:
    """The options as a table of the page."""
    tavern, salzburg = ruleset_values(TAVERN), ruleset_values(SALZBURG)
    rows = [row(option, tavern[option.name], salzburg[option.name]) for option in OPTIONS]
    head = ["| option | allowed | tavern | salzburg | what it means | section |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def session_table() -> str:
    """The options of a session as a table of the page."""
    defaults = {**session_values(SessionOptions(players=0)), "players": "(required)"}
    rows = [row(option, defaults[option.name]) for option in SESSION_OPTIONS]
    head = ["| option | allowed | default | what it means | section |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def value_text(value: Value) -> str:
    """A value as the page shows it."""
    return "null" if value is None else str(value).lower()


def phase_diagram() -> str:
    """The table of phases as a diagram; phases that ask somebody say so."""
    silent = PHASES["antes"].legal
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {next(iter(PHASES))}"]
    for name, phase in PHASES.items():
        asks = "" if phase.legal is silent else " (asks)"
        lines.append(f"    {name} : {name.replace('_', ' ')}{asks}")
        lines.append(f"    {name} --> {phase.then or '[*]'}")
    return "\n".join([*lines, "```", ""])


def test_the_page_keeps_its_sections(page: str) -> None:
    """The page has the sections 1 to 13 that docstrings cite, in order."""
    headings = re.findall(r"^## (\d+)\. (.+)$", page, flags=re.MULTILINE)
    assert headings == [(str(number), title) for number, title in enumerate(TITLES, 1)]


def test_the_page_says_what_it_is(page: str) -> None:
    """The page says that it states the product's rules, and marks the choices that were ours to make."""
    opening, *sections = page.split("\n## ")
    assert "the product's statement of its rules" in opening
    assert "**[D]**" in opening
    marked = {
        int(text.split(".")[0]): [" ".join(choice.split()) for choice in text.split("**[D]**")[:-1]]
        for text in sections
        if text[0].isdigit()
    }
    assert {section: len(choices) for section, choices in marked.items() if choices} == {
        section: len(ends) for section, ends in OUR_CHOICES.items()
    }
    for section, ends in OUR_CHOICES.items():
        for choice, end in zip(marked[section], ends, strict=True):
            assert choice.endswith(end)


def test_what_is_cited_exists() -> None:
    """Docstrings and the option table cite sections that the page has."""
    sources = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "engine").glob("*.py"))]
    cited = {int(number) for source in sources for number in re.findall(r"`rules\.md` §(\d+)", source)}
    assert len(cited) >= 10
    assert cited | {option.section for option in OPTIONS} <= set(range(1, 14))


@pytest.mark.parametrize(
    ("title", "made"),
    [
        ("made from the option table", option_table()),
        ("made from the session's option table", session_table()),
        ("made from the table of phases", phase_diagram()),
    ],
)
def test_the_tables_are_the_engines(page: str, title: str, made: str) -> None:
    """Options, session options and the diagram of phases are those of the engine's tables."""
    assert block(page, title) == made


def test_the_shuffle_to_check_against(page: str) -> None:
    """The pack that the page gives for checking is the one of the shuffle."""
    pack, top_size = shuffle(bytes(32), 0, 0)
    assert f"`{' '.join(map(str, pack))}`, and c = {top_size}." in page


def deals(events: list[Event]) -> Iterator[list[Event]]:
    """The events of a session, deal by deal."""
    starts = [at for at, event in enumerate(events) if isinstance(event, DealBegan)]
    for start, end in zip(starts, [*starts[1:], len(events)], strict=True):
        yield events[start:end]


@pytest.mark.parametrize("name", ["tavern-told", "salzburg-told"])
def test_the_told_deals_happen(page: str, name: str) -> None:
    """Each deal that the page tells is the second of a golden session, every event of it, in order."""
    _, second = deals(read((FOLDER / f"{name}.txt").read_text(encoding="utf-8")).play().events)
    lines = iter(block(page, f"told: {name}").splitlines())
    for sentence in told(second):
        assert sentence in lines, f"missing, or not in this place: {sentence}"


@pytest.mark.parametrize("name", ["tavern-told", "salzburg-told"])
def test_the_told_deals_have_nothing_else(page: str, name: str) -> None:
    """No hand, trick or row of chips stands in a told deal that did not happen there."""
    _, second = deals(read((FOLDER / f"{name}.txt").read_text(encoding="utf-8")).play().events)
    facts = re.compile(r"^(- \w+: |\*\*Trick|\| \w+ \| (\d|folded))")
    written = [line for line in block(page, f"told: {name}").splitlines() if facts.match(line)]
    assert written == [line for line in told(second) if facts.match(line)]
