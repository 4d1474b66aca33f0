import json
from dataclasses import fields, replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.clock import ClockSettings
from arena.config import (
    BotEntry,
    ClockSection,
    Sandbox,
    parse_tournament,
    read_tournament,
    tournament_values,
)
from arena.schedule import Rotations, block_count, sessions_per_block
from arena.sections import ConfigError
from arena.text import BOT_NAME_RULE
from engine.rules import SALZBURG, TAVERN, MussAfter, SessionOptions

SMALL = """
[tournament]
name = "small"
table_size = 3

[[bots]]
name = "anna"
command = "python -m sample_bots.random_bot"

[[bots]]
name = "bert"
command = ["./bert", "--style", "very bold"]
sandbox = "bwrap"

[[bots]]
name = "cilli"
"""

READY = sorted((Path(__file__).parents[2] / "tournaments").glob("*.toml"))


def refused(text: str | bytes) -> tuple[str, str]:
    """The key and the sentence of what is wrong with a file."""
    with pytest.raises(ConfigError) as caught:
        parse_tournament(text)
    return caught.value.key, str(caught.value)


def test_what_a_file_leaves_out_is_filled_in_with_the_defaults() -> None:
    """A name, a table and bots are enough."""
    file = parse_tournament(SMALL)
    assert file.tournament.name == "small"
    assert file.tournament.seed is None
    assert file.tournament.format == "round_robin"
    assert (file.tournament.blocks_per_group, file.tournament.blocks) == (1, None)
    assert file.tournament.rotations is Rotations.CYCLIC
    assert (file.preset, file.ruleset) == ("tavern", TAVERN)
    assert file.options == SessionOptions(players=3)
    assert file.clock == ClockSettings()


def test_a_command_is_split_as_a_shell_would_or_taken_as_it_is() -> None:
    """A bot without a command connects from elsewhere."""
    assert parse_tournament(SMALL).bots == (
        BotEntry(name="anna", command=("python", "-m", "sample_bots.random_bot")),
        BotEntry(name="bert", command=("./bert", "--style", "very bold"), sandbox=Sandbox.BWRAP),
        BotEntry(name="cilli", command=None),
    )
    quoted = SMALL.replace("python -m sample_bots.random_bot", "'my bot' --name=\\\"a b\\\" $HOME *")
    assert parse_tournament(quoted).bots[0].command == ("my bot", "--name=a b", "$HOME", "*")


def test_every_key_of_a_file_is_read() -> None:
    """All sections, with values other than the defaults."""
    file = parse_tournament(
        SMALL.replace(
            "table_size = 3", 'table_size = 3\nseed = 7\nblocks = 4\nrotations = "all"\nsessions_at_once = 2'
        )
        + """
[rules]
preset = "salzburg"
penalty_limit = 100
muss_after = "normal_failure"
seven_muss_striker_quota = "null"

[session]
stack = 500
deals = 12
target = 900
tie_break = false

[clock]
move_ms = 1
bank_ms = 2
increment_ms = 3
first_answer_ms = 4
join_ms = 5
max_strikes = 6
timed = false
"""
    )
    assert file.tournament.seed == 7
    assert (file.tournament.blocks_per_group, file.tournament.blocks) == (None, 4)
    assert file.tournament.rotations is Rotations.ALL
    assert file.tournament.sessions_at_once == 2
    assert file.ruleset == replace(
        SALZBURG, penalty_limit=100, muss_after=MussAfter.NORMAL_FAILURE, seven_muss_striker_quota=None
    )
    assert file.options == SessionOptions(players=3, stack=500, deals=12, target=900, tie_break=False)
    assert file.clock == ClockSettings(
        move_ms=1, bank_ms=2, increment_ms=3, first_answer_ms=4, join_ms=5, max_strikes=6, timed=False
    )


def test_the_clock_section_is_the_clock_settings() -> None:
    """Same names, same defaults, and no field forgotten."""
    assert msgspec.structs.asdict(ClockSection()) == {
        field.name: getattr(ClockSettings(), field.name) for field in fields(ClockSettings)
    }


def test_the_plan_is_that_of_the_file() -> None:
    """What the schedule needs, with the seed beside it."""
    plan = parse_tournament(SMALL).plan(bytes(32))
    assert plan.bots == ("anna", "bert", "cilli")
    assert (plan.table_size, plan.blocks_per_group, plan.blocks) == (3, 1, None)
    balanced = parse_tournament(SMALL.replace("table_size = 3", "table_size = 3\nblocks = 4")).plan(bytes(32))
    assert (balanced.blocks, block_count(balanced)) == (4, 4)


def test_another_seed_changes_nothing_else() -> None:
    """The seed of the command line goes over that of the file."""
    file = parse_tournament(SMALL)
    assert file.with_seed("x").tournament.seed == "x"
    assert replace(file.with_seed("x"), tournament=file.tournament) == file


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_the_ready_tournaments_can_be_played(path: Path) -> None:
    """Each is a valid file whose name is its own, with a seed, and comes back from its plain values."""
    file = parse_tournament(path.read_bytes())
    assert file.tournament.name == path.stem
    assert file.tournament.seed is not None
    assert all(bot.command for bot in file.bots)
    assert read_tournament(json.loads(json.dumps(tournament_values(file)))) == file


def test_the_quickstart_is_a_tournament_worth_looking_at() -> None:
    """Four bots, at least six blocks of four sessions of twenty deals, with folding."""
    (path,) = (path for path in READY if path.stem == "quickstart")
    file = parse_tournament(path.read_bytes())
    plan = file.plan(bytes(32))
    assert len(file.bots) == file.tournament.table_size == 4
    assert block_count(plan) >= 6
    assert sessions_per_block(plan) == 4
    assert file.options.deals == 20
    assert file.ruleset == replace(TAVERN, muss_after=MussAfter.NORMAL_FAILURE)


def test_the_plain_values_say_everything() -> None:
    """A stored tournament does not change when a default does."""
    values = json.loads(json.dumps(tournament_values(parse_tournament(SMALL))))
    assert values["tournament"] == {
        "name": "small",
        "seed": None,
        "format": "round_robin",
        "table_size": 3,
        "blocks_per_group": 1,
        "blocks": None,
        "rotations": "cyclic",
        "sessions_at_once": 8,
    }
    assert values["session"] == {"stack": 1000, "deals": 40, "target": None, "tie_break": True}
    assert values["clock"] == {
        "move_ms": 1000,
        "bank_ms": 10_000,
        "increment_ms": 0,
        "first_answer_ms": 5000,
        "join_ms": 30_000,
        "max_strikes": 5,
        "timed": True,
    }
    assert values["bots"] == [
        {"name": "anna", "command": ["python", "-m", "sample_bots.random_bot"], "sandbox": "none"},
        {"name": "bert", "command": ["./bert", "--style", "very bold"], "sandbox": "bwrap"},
        {"name": "cilli", "command": None, "sandbox": "none"},
    ]


@given(
    seed=st.none() | st.integers(0, 2**63 - 1) | st.text(min_size=1, max_size=20),
    blocks=st.none() | st.integers(1, 1000),
    rotations=st.sampled_from(["cyclic", "all", "none"]),
    striker_quota=st.sampled_from([2, 3]),
    target=st.none() | st.integers(1, 10**9),
    command=st.none() | st.lists(st.text(st.characters(exclude_characters="\0")), min_size=1, max_size=3),
)
def test_plain_values_come_back_as_the_same_file(
    seed: str | int | None,
    blocks: int | None,
    rotations: str,
    striker_quota: int,
    target: int | None,
    command: list[str] | None,
) -> None:
    """Reading what was kept gives the file again, whatever was set."""
    file = read_tournament(
        {
            "tournament": {
                "name": "t",
                "table_size": 3,
                "seed": seed,
                "blocks": blocks,
                "rotations": rotations,
            },
            "rules": {"striker_quota": striker_quota},
            "session": {"target": target},
            "bots": [{"name": name, "command": command} for name in ("a", "b", "c")],
        }
    )
    assert read_tournament(json.loads(json.dumps(tournament_values(file)))) == file


# --------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("line", "key", "sentence"),
    [
        ("rules.bettler = 1", "rules.bettler", "rules.bettler = 1: allowed is true or false"),
        (
            'rules.preset = "bavarian"',
            "rules.preset",
            "rules.preset = 'bavarian': allowed is one of tavern, salzburg",
        ),
        ("rules.preset = 5", "rules.preset", "rules.preset = 5: allowed is one of tavern, salzburg"),
        ("rules.betler = true", "rules.betler", "unknown key rules.betler: did you mean bettler?"),
        (
            'rules.contracts = "dealer"',
            "rules.contracts",
            (
                "rules.contracts = dealer with oder = extra_exchange and exchange = none: "
                "allowed is oder = new_suit, exchange = paid or free, or contracts = none"
            ),
        ),
        (
            "rules.hand_size = 10000000000",
            "rules.hand_size",
            "rules.hand_size = 10000000000: allowed is one of 4, 5",
        ),
        (
            "session.tie_break = 10000000000",
            "session.tie_break",
            "session.tie_break = 10000000000: allowed is true or false",
        ),
        ('rules.ante = "null"', "rules.ante", "rules.ante = null: allowed is a whole number, 1 or more"),
        ("rules.ante = 1e3", "rules.ante", "rules.ante = 1000.0: allowed is a whole number, 1 or more"),
        (
            "rules.ante = 99999999999",
            "rules.ante",
            "rules.ante = 99999999999: allowed is up to 1000000000",
        ),
        ("session.stack = 5", "session.stack", "session.stack = 5: allowed is the ante (10) or more"),
        (
            "session.stack = 2000000000",
            "session.stack",
            "session.stack = 2000000000: allowed is up to 1000000000",
        ),
        (
            "session.players = 3",
            "session.players",
            "unknown key session.players: allowed are stack, deals, target, tie_break",
        ),
        (
            "session.deals = true",
            "session.deals",
            "session.deals = true: allowed is a whole number, 1 or more",
        ),
        ("clock.mvoe_ms = 5", "clock.mvoe_ms", "unknown key clock.mvoe_ms: did you mean move_ms?"),
        (
            "clock.move_ms = -1",
            "clock.move_ms",
            "clock.move_ms = -1: allowed is a whole number of milliseconds, 0 to 86400000",
        ),
        (
            "clock = {move_ms = 0, bank_ms = 0}",
            "clock.move_ms",
            "clock.move_ms = 0: allowed is more than 0, unless bank_ms is",
        ),
        (
            "clock.max_strikes = 0",
            "clock.max_strikes",
            "clock.max_strikes = 0: allowed is a whole number, 1 or more",
        ),
        ("clock.timed = 1", "clock.timed", "clock.timed = 1: allowed is true or false"),
        ("clock = 5", "clock", "clock = 5: allowed is a table"),
        ("rules = [1, 2]", "rules", "rules = [1, 2]: allowed is a table"),
        ("turnament.x = 1", "turnament", "unknown key turnament: did you mean tournament?"),
        ("zzz = 1", "zzz", "unknown key zzz: allowed are tournament, rules, session, clock, bots"),
        (
            '"\\u001b[31m" = 1',
            "'\\x1b[31m'",
            "unknown key '\\x1b[31m': allowed are tournament, rules, session, clock, bots",
        ),
    ],
)
def test_a_bad_line_is_refused_in_a_sentence_that_names_its_key(line: str, key: str, sentence: str) -> None:
    """What, where, and what is allowed."""
    assert refused(f"{line}\n{SMALL}") == (key, sentence)


@pytest.mark.parametrize(
    ("line", "key", "sentence"),
    [
        (
            "table_size = 2",
            "tournament.table_size",
            "tournament.table_size = 2: allowed is a whole number, 3 to 6",
        ),
        (
            "table_size = 3.0",
            "tournament.table_size",
            "tournament.table_size = 3.0: allowed is a whole number, 3 to 6",
        ),
        ("table_size = 4", "bots", "bots: there are 3 for tables of 4, allowed is 4 or more"),
        (
            "table_size = 3\nblocks = 0",
            "tournament.blocks",
            "tournament.blocks = 0: allowed is a whole number, 1 or more",
        ),
        (
            "table_size = 3\nblocks = 2\nblocks_per_group = 2",
            "tournament.blocks",
            "tournament.blocks = 2: allowed is this or blocks_per_group, not both",
        ),
        (
            "table_size = 3\nblocks_per_group = 20001",
            "tournament.blocks_per_group",
            (
                "tournament.blocks_per_group: makes 20001 blocks with 60003 sessions, "
                "allowed is 1 to 20000 blocks and up to 200000 sessions; "
                "blocks asks for a balanced part of all groups"
            ),
        ),
        (
            'table_size = 3\nrotations = "some"',
            "tournament.rotations",
            "tournament.rotations = 'some': allowed is one of cyclic, all, none",
        ),
        (
            'table_size = 3\nformat = "swiss"',
            "tournament.format",
            "tournament.format = 'swiss': allowed is one of round_robin",
        ),
        (
            "table_size = 3\nsessions_at_once = 0",
            "tournament.sessions_at_once",
            "tournament.sessions_at_once = 0: allowed is a whole number, 1 to 1024",
        ),
        (
            'table_size = 3\nseed = ""',
            "tournament.seed",
            "tournament.seed = '': allowed is a text that is not empty, or a whole number, 0 to 2^63 - 1",
        ),
        (
            "table_size = 3\nseed = true",
            "tournament.seed",
            "tournament.seed = true: allowed is a text that is not empty, or a whole number, 0 to 2^63 - 1",
        ),
    ],
)
def test_a_tournament_that_cannot_be_is_refused(line: str, key: str, sentence: str) -> None:
    """The same for the section of the tournament."""
    assert refused(SMALL.replace("table_size = 3", line)) == (key, sentence)


TITLE_ALLOWED = "allowed is 1 to 64 of A-Z, a-z, 0-9, dot, dash and underscore, the first a letter or a digit"
COMMAND_ALLOWED = "allowed is a text that is not empty, split as a shell would, or a list of words"
NAME_ALLOWED = f"allowed is {BOT_NAME_RULE}"


@pytest.mark.parametrize(
    ("old", "new", "key", "sentence"),
    [
        (
            '"cilli"',
            '"anna"',
            "bots[3].name",
            "bots[3].name = 'anna': allowed is each name once, and bots[1] has it",
        ),
        ('"cilli"', '"Cilli"', "bots[3].name", f"bots[3].name = 'Cilli': {NAME_ALLOWED}"),
        ('"cilli"', '"../x"', "bots[3].name", f"bots[3].name = '../x': {NAME_ALLOWED}"),
        ('"cilli"', '"a\\n"', "bots[3].name", f"bots[3].name = 'a\\n': {NAME_ALLOWED}"),
        ('"cilli"', f'"{"a" * 33}"', "bots[3].name", f"bots[3].name = '{'a' * 33}': {NAME_ALLOWED}"),
        ('name = "cilli"', 'command = "x"', "bots[3].name", f"bots[3].name is missing: {NAME_ALLOWED}"),
        (
            'name = "cilli"',
            'name = "c"\ncomand = "x"',
            "bots[3].comand",
            "unknown key bots[3].comand: did you mean command?",
        ),
        (
            'name = "cilli"',
            'name = "c"\nsandbox = "bwrap"',
            "bots[3].sandbox",
            "bots[3].sandbox = 'bwrap': allowed is none for a bot without a command",
        ),
        (
            'name = "cilli"',
            'name = "c"\nsandbox = "jail"',
            "bots[3].sandbox",
            "bots[3].sandbox = 'jail': allowed is one of none, bwrap",
        ),
        (
            'name = "cilli"',
            'name = "c"\ncommand = ""',
            "bots[3].command",
            f"bots[3].command = []: {COMMAND_ALLOWED}",
        ),
        (
            'name = "cilli"',
            'name = "c"\ncommand = [1]',
            "bots[3].command",
            f"bots[3].command = [1]: {COMMAND_ALLOWED}",
        ),
        (
            'name = "cilli"',
            'name = "c"\ncommand = \'my "bot\'',
            "bots[3].command",
            "bots[3].command = 'my \"bot': allowed is what a shell could split (No closing quotation)",
        ),
        (
            'name = "small"',
            'name = "../../etc"',
            "tournament.name",
            f"tournament.name = '../../etc': {TITLE_ALLOWED}",
        ),
        (
            'name = "small"',
            "",
            "tournament.name",
            f"tournament.name is missing: {TITLE_ALLOWED}",
        ),
    ],
)
def test_a_bad_bot_or_name_is_refused(old: str, new: str, key: str, sentence: str) -> None:
    """The same for the list of bots, which are counted from 1."""
    assert old in SMALL
    assert refused(SMALL.replace(old, new)) == (key, sentence)


@pytest.mark.parametrize("bots", ["", "bots = 5", "bots = []"])
def test_a_file_without_bots_is_refused(bots: str) -> None:
    """So is one that has something else there."""
    text = f'{bots}\n[tournament]\nname = "x"\n'
    assert refused(text) == ("bots", "bots: there are none, allowed is one [[bots]] table for each bot")


def test_a_bot_that_is_no_table_is_refused() -> None:
    """The list of bots is a list of tables."""
    assert refused('bots = ["anna"]\n[tournament]\nname = "x"\n') == (
        "bots[1]",
        "bots[1] = 'anna': allowed is a table",
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[tournament]\nname small\n",
            "the file is not usable TOML: Expected '=' after a key in a key/value pair (at line 2, column 6)",
        ),
        ("a = " + "[" * 100_000, "the file is not usable TOML: it is nested too deeply"),
        (b"name = '\xff'", "the file is not UTF-8 text (byte 8)"),
    ],
    ids=["no value", "deep", "no UTF-8"],
)
def test_a_text_that_is_no_toml_is_refused(text: str | bytes, sentence: str) -> None:
    """The sentence says where it stops making sense."""
    assert refused(text) == ("", sentence)


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000], ids=["decimal", "hexadecimal"])
def test_a_number_of_thousands_of_digits_is_refused(number: str) -> None:
    """Python refuses to write it out; the message does not try."""
    _, sentence = refused(SMALL.replace("table_size = 3", f"table_size = {number}"))
    assert "\n" not in sentence
    assert len(sentence) < 300


def test_a_byte_order_mark_is_no_part_of_the_file() -> None:
    """Some editors put one there."""
    assert parse_tournament(b"\xef\xbb\xbf" + SMALL.encode()) == parse_tournament(SMALL)


def test_a_long_value_is_cut() -> None:
    """The sentence stays one line that can be read."""
    _, sentence = refused(SMALL.replace('"cilli"', f'"{"x" * 10_000}"'))
    assert len(sentence) < 200


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["tournament", "rules", "session", "clock", "bots", "name", "ante", "seed"])
                | st.text(),
                inner,
            )
        ),
    )
)
def test_whatever_the_values_are_there_is_a_file_or_a_sentence(values: object) -> None:
    """No value at any place makes another error, and no sentence carries a control code."""
    sections = values if isinstance(values, dict) else {"tournament": values}
    assert complaint({"bots": [], **sections}).isprintable()


def complaint(values: dict[str, object]) -> str:
    """The sentence of what is wrong with the values, empty when nothing is."""
    try:
        read_tournament(values)
    except ConfigError as error:
        return str(error)
    return ""
