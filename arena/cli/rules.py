"""`kratzen rules`: what every option of a ruleset is, and what tells two rulesets apart.

Everything comes from the option table of `engine.rules`; nothing is known of single options here.
"""

from dataclasses import MISSING, fields
from typing import Any, Final

import click
from rich.console import Group
from rich.padding import Padding
from rich.table import Table

from arena.cli.errors import CommandFailed
from arena.cli.inputs import json_option
from arena.cli.output import print_json
from arena.cli.tables import console_for_data, open_table
from arena.config import MOST_CHIPS
from engine.errors import RulesError
from engine.rules import (
    OPTIONS,
    SESSION_OPTIONS,
    Option,
    Ruleset,
    SessionOptions,
    make_ruleset,
    ruleset_values,
)

REQUIRED: Final = "(required)"
"""Shown for an option of a session that has no default."""


@click.group(epilog="Example: kratzen rules show tavern")
def rules() -> None:
    """The rulesets, option by option; sections are those of docs/rules.md."""


@rules.command("show", epilog="Example: kratzen rules show salzburg --json")
@click.argument("preset")
@json_option
def show_rules(preset: str, *, as_json: bool) -> None:
    """Show every option of PRESET with its value.

    PRESET is tavern or salzburg. The options of a session follow, with their defaults.
    """
    values = ruleset_values(_ruleset(preset))
    if as_json:
        options = [
            {"name": option.name, "value": values[option.name], **_about(option)} for option in OPTIONS
        ]
        session = [_session_option(option) for option in SESSION_OPTIONS]
        print_json({"preset": preset, "options": options, "session": session})
        return
    console = console_for_data()
    table = _table(f"Ruleset {preset}", "value", "allowed")
    for option in OPTIONS:
        _add_row(table, option, _text(values[option.name]), option.values.describe())
    console.print(table)
    table = _table("Session", "default", "allowed")
    for option in SESSION_OPTIONS:
        _add_row(table, option, _default_text(option), option.values.describe())
    console.print(table)
    console.print(f'In a tournament file null is written "null", and no number is above {MOST_CHIPS}.')


@rules.command("diff", epilog="Example: kratzen rules diff tavern salzburg")
@click.argument("first")
@click.argument("second")
@json_option
def diff_rules(first: str, second: str, *, as_json: bool) -> None:
    """Show where two rulesets differ, with both values."""
    values = [ruleset_values(_ruleset(preset)) for preset in (first, second)]
    pairs = {option: [of_one[option.name] for of_one in values] for option in OPTIONS}
    differing = {option: pair for option, pair in pairs.items() if pair[0] != pair[1]}
    if as_json:
        options = [
            {"name": option.name, "values": pair, **_about(option)} for option, pair in differing.items()
        ]
        print_json({"presets": [first, second], "options": options})
        return
    table = _table(f"{first} and {second}", first, second)
    for option, pair in differing.items():
        _add_row(table, option, *map(_text, pair))
    console_for_data().print(table)
    click.echo(f"{len(differing)} of {len(OPTIONS)} options differ", err=True)


def _ruleset(preset: str) -> Ruleset:
    try:
        return make_ruleset(preset)
    except RulesError as error:
        raise CommandFailed(str(error)) from None


# ------------------------------------------------------------------------------ for people


def _table(title: str, *columns: str) -> Table:
    table = open_table(title)
    # What is to be copied into a file is never broken; sentences and lists of values are.
    table.add_column("option", min_width=max([len(option.name) for option in OPTIONS]))
    for name in (*columns, "section"):
        table.add_column(name, no_wrap=name != "allowed")
    return table


def _add_row(table: Table, option: Option, *cells: str) -> None:
    # The sentence stands below the name, so that a table fits a narrow terminal.
    below = Padding(option.sentence, (0, 0, 0, 2))
    table.add_row(Group(option.name, below), *cells, f"§{option.section}")


def _text(value: str | int | bool | None) -> str:
    """A value as a tournament file writes it, without quotes."""
    return "null" if value is None else str(value).lower()


def _default_text(option: Option) -> str:
    return _text(_DEFAULTS[option.name]) if option.name in _DEFAULTS else REQUIRED


# ---------------------------------------------------------------------------- for programs


def _about(option: Option) -> dict[str, Any]:
    return {
        "allowed": option.values.describe(),
        "sentence": option.sentence,
        "section": option.section,
    }


def _session_option(option: Option) -> dict[str, Any]:
    is_required = option.name not in _DEFAULTS
    return {
        "name": option.name,
        "required": is_required,
        **({} if is_required else {"default": _DEFAULTS[option.name]}),
        **_about(option),
    }


_DEFAULTS: Final[dict[str, Any]] = {
    field.name: field.default for field in fields(SessionOptions) if field.default is not MISSING
}
"""The session's options that have a default."""
