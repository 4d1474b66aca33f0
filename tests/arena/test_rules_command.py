"""`kratzen rules show` and `kratzen rules diff`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from arena.cli.main import exit_code
from arena.cli.rules import rules
from arena.config import MOST_CHIPS
from engine.rules import OPTIONS, PRESETS, SESSION_OPTIONS, make_ruleset, ruleset_values


def output(*arguments: str, **environment: str) -> str:
    """What the command prints on stdout."""
    result = CliRunner(env=environment).invoke(rules, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def document(*arguments: str) -> Any:  # noqa: ANN401 a JSON document
    """The one JSON document that the command prints on stdout."""
    return json.loads(output(*arguments, "--json"))


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_show_has_every_option(preset: str) -> None:
    """Every option of a ruleset and of a session stands in the table with value, sentence and section."""
    table = output("show", preset)
    lines = [line.strip() for line in table.splitlines()]
    for option in OPTIONS:
        at = next(number for number, line in enumerate(lines) if line.split()[:1] == [option.name])
        value = ruleset_values(PRESETS[preset])[option.name]
        assert lines[at].split()[1] == ("null" if value is None else str(value).lower())
        assert option.values.describe() in lines[at]
        assert lines[at].endswith(f"§{option.section}")
        assert lines[at + 1] == option.sentence
    for option in SESSION_OPTIONS:
        assert any(line.split()[:1] == [option.name] for line in lines)


def test_what_a_file_may_hold_is_told() -> None:
    """Table and page say the largest number of a tournament file and how it writes null."""
    page = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")
    for text in (output("show", "tavern"), page):
        assert '"null"' in text
        assert f" above {MOST_CHIPS}." in " ".join(text.split())


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_show_as_json_is_the_ruleset(preset: str) -> None:
    """The JSON document has the ruleset's values, from which the ruleset can be made again."""
    shown = document("show", preset)
    assert shown["preset"] == preset
    values = {option["name"]: option["value"] for option in shown["options"]}
    assert values == ruleset_values(PRESETS[preset])
    assert make_ruleset("tavern", values) == PRESETS[preset]
    for option, row in zip(OPTIONS, shown["options"], strict=True):
        assert row["sentence"] == option.sentence
        assert row["section"] == option.section
        assert row["allowed"] == option.values.describe()


def test_show_as_json_has_the_session() -> None:
    """The options of a session say their defaults; `players` has none."""
    session = {option["name"]: option for option in document("show", "tavern")["session"]}
    assert {name: option.get("default", "none") for name, option in session.items()} == {
        "players": "none",
        "stack": 1000,
        "deals": 40,
        "target": None,
        "tie_break": True,
    }
    assert [name for name, option in session.items() if option["required"]] == ["players"]


def test_diff_has_what_differs_and_nothing_else() -> None:
    """Between the presets the differing options are listed, each with both values."""
    shown = document("diff", "tavern", "salzburg")
    assert shown["presets"] == ["tavern", "salzburg"]
    tavern, salzburg = ruleset_values(PRESETS["tavern"]), ruleset_values(PRESETS["salzburg"])
    assert {option["name"]: option["values"] for option in shown["options"]} == {
        name: [value, salzburg[name]] for name, value in tavern.items() if value != salzburg[name]
    }
    table = output("diff", "tavern", "salzburg")
    names = {line.split()[0] for line in table.splitlines() if line.strip()}
    assert {option["name"] for option in shown["options"]} <= names
    assert "weli_rank" not in names


def test_a_ruleset_does_not_differ_from_itself() -> None:
    """Nothing differs between a ruleset and itself, and that is said."""
    assert document("diff", "tavern", "tavern")["options"] == []
    result = CliRunner().invoke(rules, ["diff", "tavern", "tavern"])
    assert result.stderr == f"0 of {len(OPTIONS)} options differ\n"


@pytest.mark.parametrize("arguments", [["show", "inn"], ["diff", "tavern", "inn"], ["diff", "inn", "tavern"]])
def test_an_unknown_ruleset_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A ruleset that does not exist ends with code 2 and one sentence that names those that do."""
    assert exit_code(["rules", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "kratzen: preset = 'inn': allowed is one of tavern, salzburg\n"


def test_no_colour_is_honoured() -> None:
    """Output that no terminal reads is plain text; with NO_COLOR a terminal gets no colour either."""
    assert "\x1b" not in output("show", "tavern")
    uncoloured = output("show", "tavern", FORCE_COLOR="1", NO_COLOR="1")
    # 1 to 9 are bold, italic and the like; colours are 30 and above.
    assert not re.search(r"\x1b\[(\d+;)*\d\d", uncoloured)


def test_a_narrow_terminal_loses_nothing() -> None:
    """On 80 columns no value and no name is cut short."""
    table = output("show", "tavern", FORCE_COLOR="1", NO_COLOR="1", COLUMNS="80")
    assert "…" not in table
    for option in OPTIONS:
        assert option.name in table


@pytest.mark.parametrize("command", [[], ["show"], ["diff"]])
def test_help_has_an_example(command: list[str]) -> None:
    """Every help page ends with an example."""
    assert "Example: kratzen rules " in output(*command, "--help")
