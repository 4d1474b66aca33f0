"""docs/tournament-file.md, key by key, against what the arena reads."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from msgspec import Meta, Struct

from arena.clock import ClockSettings
from arena.config import (
    MOST_CHIPS,
    BotEntry,
    ClockSection,
    Sandbox,
    TournamentSection,
    parse_tournament,
    read_tournament,
)
from arena.schedule import MOST_BLOCKS, MOST_SESSIONS
from arena.sections import ConfigError
from engine.rules import PRESETS, SESSION_OPTIONS, TAVERN, SessionOptions

PAGE: Final = Path(__file__).parents[2] / "docs" / "tournament-file.md"

Row = tuple[str, str]
"""What is allowed, and the default."""

UNSET: Final[Mapping[tuple[str, str], str]] = {
    ("tournament", "seed"): "(drawn)",
    ("tournament", "blocks_per_group"): "1",
    ("tournament", "blocks"): "(none)",
    ("bots", "command"): "(none)",
}
"""What takes the place of a key that may be left out and has no value of its own."""


def page() -> str:
    """The text of the page."""
    return PAGE.read_text("utf-8")


def rows(section: str) -> dict[str, Row]:
    """The table of a section of the page, by key."""
    _, _, text = page().partition(f"\n## `{section}`\n")
    lines = [line for line in text.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert all(len(row) == 4 for row in cells)
    return {key.strip("`"): (allowed, default) for key, allowed, default, _ in cells}


def shown(value: object) -> str:
    """A default as the page shows it."""
    return str(value).lower() if isinstance(value, bool) else "null" if value is None else str(value)


def keys_of(section: str, kind: type[Struct]) -> dict[str, Row]:
    """The keys that a section is read into, with what a refusal says is allowed."""
    keys = {}
    for field in msgspec.structs.fields(kind):
        (meta,) = field.type.__metadata__
        assert isinstance(meta, Meta)
        assert meta.description is not None
        own = "(required)" if field.required else shown(field.default)
        keys[field.name] = (meta.description, UNSET.get((section, field.name), own))
    return keys


@pytest.mark.parametrize(
    ("heading", "kind"),
    [("[tournament]", TournamentSection), ("[clock]", ClockSection), ("[[bots]]", BotEntry)],
)
def test_every_key_is_on_the_page_with_its_bounds_and_default(heading: str, kind: type[Struct]) -> None:
    """Nothing is missing, nothing else is there, and what is allowed is said as a refusal says it."""
    assert rows(heading) == keys_of(heading.strip("[]"), kind)


def test_the_session_and_the_preset_are_those_of_the_engine() -> None:
    """`players` is `table_size`; the options of the game are in the rules, to which the page leads."""
    defaults = SessionOptions(players=3)
    assert rows("[session]") == {
        option.name: (option.values.describe(), shown(getattr(defaults, option.name)))
        for option in SESSION_OPTIONS
        if option.name != "players"
    }
    assert rows("[rules]") == {"preset": (f"one of {', '.join(PRESETS)}", "tavern")}
    assert read_tournament(values()).ruleset == TAVERN


def values(section: str = "", key: str = "", value: object = None) -> dict[str, Any]:
    """A small tournament, with one more key."""
    tables: dict[str, Any] = {
        "tournament": {"name": "small", "table_size": 3, "rotations": "none"},
        "bots": [{"name": f"bot{number}"} for number in range(6)],
    }
    if section:
        tables[section] = {**tables.get(section, {}), key: value}
    return tables


def bounds() -> list[tuple[str, str, int, int | None]]:
    """Section, key, least and most of every number on the page."""
    found = []
    for section in ("tournament", "session", "clock"):
        for key, (allowed, _) in rows(f"[{section}]").items():
            span = re.search(r"whole number(?: of milliseconds)?, (\d+) (?:or more|to (\S+))", allowed)
            if span is not None:
                most = {"2^63": 2**63 - 1, None: None}.get(span[2], span[2])
                found.append((section, key, int(span[1]), None if most is None else int(most)))
    return found


def test_the_numbers_of_the_page_are_found() -> None:
    """So that the test of their bounds has something to try."""
    assert len(bounds()) == 5 + 3 + 6


@pytest.mark.parametrize(("section", "key", "least", "most"), bounds())
def test_a_number_may_be_what_the_page_says(section: str, key: str, least: int, most: int | None) -> None:
    """The bounds themselves are taken, what is beyond them is refused."""
    if key == "stack":
        least = TAVERN.ante  # A lower one is refused beside this ante, as the page says.
    for taken in (least, most):
        if taken is not None:
            read_tournament(values(section, key, taken))
    for beyond in (least - 1, None if most is None else most + 1):
        if beyond is not None:
            with pytest.raises(ConfigError):
                read_tournament(values(section, key, beyond))


def test_the_bounds_in_the_text_are_those_of_the_arena() -> None:
    """How long a schedule may be, how large a number."""
    text = page()
    assert f"at most {MOST_BLOCKS} blocks and {MOST_SESSIONS} sessions" in text
    assert f"is above {MOST_CHIPS}" in text


def test_the_example_of_the_page_can_be_played() -> None:
    """It is read, and says what its comments say of it."""
    (example,) = re.findall(r"```toml\n(.*?)```", page(), re.DOTALL)
    file = parse_tournament(example)
    assert file.tournament.blocks == 30
    assert (file.preset, file.ruleset.penalty_limit) == ("salzburg", 100)
    assert file.clock == ClockSettings(move_ms=500, bank_ms=5000)
    assert [bot.name for bot in file.bots if bot.command is None] == ["alice", "bob"]
    assert [bot.sandbox for bot in file.bots if bot.name == "guest"] == [Sandbox.BWRAP]
