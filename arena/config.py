"""A tournament file: TOML text in, a checked `TournamentFile` out, and plain values for keeping it.

Whatever is wrong with a file is a `ConfigError` of one sentence that names the key. The rules of
the game are checked by `engine.rules`, the schedule by `arena.schedule`. Nothing here opens a file.
"""

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from arena.clock import MS_PER_SECOND, ClockSettings
from arena.schedule import FORMATS, Plan, Rotations, ScheduleError, check_plan
from arena.sections import ConfigError, as_table, check_known, read_section, read_toml, refused, table_of
from arena.text import BOT_NAME_RULE, is_bot_name
from engine.errors import RulesError
from engine.rules import (
    MAX_PLAYERS,
    MIN_PLAYERS,
    OPTIONS,
    PRESETS,
    SESSION_OPTIONS,
    Ruleset,
    SessionOptions,
    make_ruleset,
    make_session_options,
    ruleset_values,
    session_values,
)

MOST_SESSIONS_AT_ONCE: Final = 1024
MOST_MS: Final = 24 * 60 * 60 * MS_PER_SECOND
MOST_CHIPS: Final = 1_000_000_000
"""So that sums of chips stay far within 64 bits in every language a bot may be written in."""

_DAY: Final = f"a whole number of milliseconds, 0 to {MOST_MS}"
_COUNT: Final = "a whole number, 1 or more"
_CLOCK: Final = ClockSettings()


class Sandbox(StrEnum):
    """What a bot that the arena starts is shut into."""

    NONE = "none"
    BWRAP = "bwrap"


# --------------------------------------------------------------------------- the keys of a file
# Every description is the end of the sentence "KEY = VALUE: allowed is ...".

_Positive: TypeAlias = Annotated[int, Meta(ge=1)]
_Milliseconds: TypeAlias = Annotated[int, Meta(ge=0, le=MOST_MS, description=_DAY)]


class TournamentSection(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """`[tournament]`: what is played, and in which order."""

    name: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z",
            description="1 to 64 of A-Z, a-z, 0-9, dot, dash and underscore, the first a letter or a digit",
        ),
    ]
    """It is part of the name of the run's folder."""
    seed: Annotated[
        Annotated[str, Meta(min_length=1)] | Annotated[int, Meta(ge=0, le=2**63 - 1)] | None,
        Meta(description="a text that is not empty, or a whole number, 0 to 2^63 - 1"),
    ] = None
    """What the cards follow from; without it the arena draws 256 bits."""
    format: Annotated[
        str, Meta(pattern=rf"^({'|'.join(FORMATS)})\Z", description=f"one of {', '.join(FORMATS)}")
    ] = "round_robin"
    table_size: Annotated[
        int,
        Meta(ge=MIN_PLAYERS, le=MAX_PLAYERS, description=f"a whole number, {MIN_PLAYERS} to {MAX_PLAYERS}"),
    ] = 4
    """Bots at a table."""
    blocks_per_group: Annotated[_Positive | None, Meta(description=_COUNT)] = None
    """Blocks of every group of bots; 1 when this and `blocks` are both left out."""
    blocks: Annotated[_Positive | None, Meta(description=_COUNT)] = None
    """Blocks in all, balanced over the bots; instead of `blocks_per_group`."""
    rotations: Annotated[Rotations, Meta(description=f"one of {', '.join(Rotations)}")] = Rotations.CYCLIC
    """The seatings that a block plays with the same cards."""
    sessions_at_once: Annotated[
        int,
        Meta(ge=1, le=MOST_SESSIONS_AT_ONCE, description=f"a whole number, 1 to {MOST_SESSIONS_AT_ONCE}"),
    ] = 8


class ClockSection(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """`[clock]`: the fields of `ClockSettings`, with their bounds."""

    move_ms: _Milliseconds = _CLOCK.move_ms
    bank_ms: _Milliseconds = _CLOCK.bank_ms
    increment_ms: _Milliseconds = _CLOCK.increment_ms
    first_answer_ms: _Milliseconds = _CLOCK.first_answer_ms
    join_ms: _Milliseconds = _CLOCK.join_ms
    max_strikes: Annotated[int, Meta(ge=1, description=_COUNT)] = _CLOCK.max_strikes
    timed: Annotated[bool, Meta(description="true or false")] = _CLOCK.timed


class BotEntry(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One of `[[bots]]`."""

    name: Annotated[str, Meta(description=BOT_NAME_RULE)]
    command: Annotated[
        Annotated[tuple[Annotated[str, Meta(pattern=r"^[^\x00]*\Z")], ...], Meta(min_length=1)] | None,
        Meta(description="a text that is not empty, split as a shell would, or a list of words"),
    ] = None
    """The words that start it; None for a bot that connects from elsewhere."""
    sandbox: Annotated[Sandbox, Meta(description=f"one of {', '.join(Sandbox)}")] = Sandbox.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentFile:
    """A checked tournament file, with everything that it left out filled in.

    Attributes:
        tournament: what is played; exactly one of `blocks_per_group` and `blocks` is set.
        preset: the name of the ruleset that `ruleset` was made from.
        ruleset: every option of the game.
        options: the frame of a session.
        clock: the clocks.
        bots: at least as many as sit at a table, each name once, in the order of the file.
    """

    tournament: TournamentSection
    preset: str
    ruleset: Ruleset
    options: SessionOptions
    clock: ClockSettings
    bots: tuple[BotEntry, ...]

    def plan(self, seed: bytes) -> Plan:
        """What the schedule is made from, with the tournament's 32 bytes."""
        return Plan(
            bots=tuple(bot.name for bot in self.bots),
            table_size=self.tournament.table_size,
            seed=seed,
            rotations=self.tournament.rotations,
            blocks_per_group=self.tournament.blocks_per_group or 1,
            blocks=self.tournament.blocks,
        )

    def with_seed(self, seed: str | int) -> "TournamentFile":
        """The same with another seed."""
        return replace(self, tournament=msgspec.structs.replace(self.tournament, seed=seed))


# --------------------------------------------------------------------------- reading and keeping


def parse_tournament(text: str | bytes) -> TournamentFile:
    """Read a tournament file; bytes are UTF-8.

    Raises:
        ConfigError: the text is no TOML, or what it says cannot be played.
    """
    return read_tournament(read_toml(text))


def read_tournament(values: Mapping[str, object]) -> TournamentFile:
    """The tournament of plain values: tables and lists as in the file, or as `tournament_values` gives them.

    Raises:
        ConfigError: as `parse_tournament`.
    """
    check_known(values, ("tournament", "rules", "session", "clock", "bots"), "")
    tournament = read_section(TournamentSection, table_of(values, "tournament"), "tournament")
    preset, ruleset = _read_rules(table_of(values, "rules"))
    file = TournamentFile(
        tournament=_with_blocks(tournament),
        preset=preset,
        ruleset=ruleset,
        options=_read_options(table_of(values, "session"), ruleset, tournament.table_size),
        clock=_read_clock(table_of(values, "clock")),
        bots=_read_bots(values.get("bots")),
    )
    try:
        check_plan(file.plan(bytes(32)))
    except ScheduleError as error:
        key = "bots" if error.key == "bots" else f"tournament.{error.key}"
        raise ConfigError(key, f"{key}: {error}") from None
    return file


def tournament_values(file: TournamentFile) -> dict[str, object]:
    """Everything that the file says or leaves to a default, in values that JSON knows.

    `read_tournament` gives the same file back.
    """
    session = session_values(file.options)
    del session["players"]  # It is `table_size`.
    return {
        "tournament": msgspec.to_builtins(file.tournament),
        "rules": {"preset": file.preset, **ruleset_values(file.ruleset)},
        "session": session,
        "clock": asdict(file.clock),
        "bots": [msgspec.to_builtins(bot) for bot in file.bots],
    }


def _with_blocks(tournament: TournamentSection) -> TournamentSection:
    if tournament.blocks is None and tournament.blocks_per_group is None:
        return msgspec.structs.replace(tournament, blocks_per_group=1)
    if tournament.blocks is not None and tournament.blocks_per_group is not None:
        raise refused("tournament.blocks", tournament.blocks, "this or blocks_per_group, not both")
    return tournament


def _read_rules(values: Mapping[str, object]) -> tuple[str, Ruleset]:
    check_known(values, ("preset", *(option.name for option in OPTIONS)), "rules")
    preset = values.get("preset", "tavern")
    if not isinstance(preset, str):
        raise refused("rules.preset", preset, f"one of {', '.join(PRESETS)}")
    overrides = {name: value for name, value in values.items() if name != "preset"}
    try:
        ruleset = make_ruleset(preset, _option_values(overrides))
    except RulesError as error:
        raise ConfigError(f"rules.{error.option}", f"rules.{error}") from None
    _check_numbers(overrides, "rules")
    return preset, ruleset


def _read_options(values: Mapping[str, object], ruleset: Ruleset, table_size: int) -> SessionOptions:
    names = [option.name for option in SESSION_OPTIONS if option.name != "players"]
    check_known(values, names, "session")
    try:
        options = make_session_options(ruleset, {"players": table_size, **_option_values(values)})
    except RulesError as error:
        raise ConfigError(f"session.{error.option}", f"session.{error}") from None
    _check_numbers(values, "session")
    return options


def _option_values(values: Mapping[str, object]) -> dict[str, object]:
    """The values for the engine: TOML has no null, so the text "null" stands for it."""
    return {name: None if value == "null" else value for name, value in values.items()}


def _check_numbers(values: Mapping[str, object], where: str) -> None:
    """Of values that the engine takes, refuse those that are more than an arena can count."""
    for name, value in values.items():
        if isinstance(value, int) and value > MOST_CHIPS:
            raise refused(f"{where}.{name}", value, f"up to {MOST_CHIPS}")


def _read_clock(values: Mapping[str, object]) -> ClockSettings:
    section = read_section(ClockSection, values, "clock")
    if section.move_ms == section.bank_ms == 0:
        raise refused("clock.move_ms", section.move_ms, "more than 0, unless bank_ms is")
    return ClockSettings(**msgspec.structs.asdict(section))


def _read_bots(value: object) -> tuple[BotEntry, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ConfigError("bots", "bots: there are none, allowed is one [[bots]] table for each bot")
    bots = tuple(_read_bot(entry, f"bots[{number}]") for number, entry in enumerate(value, start=1))
    seen: dict[str, int] = {}
    for number, bot in enumerate(bots, start=1):
        if bot.name in seen:
            raise refused(
                f"bots[{number}].name", bot.name, f"each name once, and bots[{seen[bot.name]}] has it"
            )
        seen[bot.name] = number
    return bots


def _read_bot(entry: object, where: str) -> BotEntry:
    values = as_table(entry, where)
    command = values.get("command")
    if isinstance(command, str):
        try:
            values = {**values, "command": shlex.split(command)}
        except ValueError as error:
            allowed = f"what a shell could split ({error})"
            raise refused(f"{where}.command", command, allowed) from None
    bot = read_section(BotEntry, values, where)
    if not is_bot_name(bot.name):
        raise refused(f"{where}.name", bot.name, BOT_NAME_RULE)
    if bot.command is None and bot.sandbox is not Sandbox.NONE:
        raise refused(f"{where}.sandbox", bot.sandbox.value, "none for a bot without a command")
    return bot
