"""How every command ends: a sentence and a code, whatever becomes of its output."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena.cli import run
from arena.cli.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE
from arena.cli.main import COMMANDS, exit_code
from arena.cli.output import write_plainly_where_needed
from tests.cli.calling import kratzen, make_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    return make_run(tmp_path_factory.mktemp("cli") / "run")


def output_commands(folder: Path) -> list[list[str]]:
    """Commands that print much, some through tables, some line by line."""
    return [
        ["leaderboard", str(folder)],
        ["leaderboard", str(folder), "--json"],
        ["replay", "list", str(folder)],
        ["replay", "show", str(folder), "1.1", "--suits", "french"],
        ["replay", "export", str(folder), "1.1"],
        ["rules", "show", "salzburg"],
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    """`--help` ends well and shows a call."""
    done = kratzen(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert "Example: kratzen" in done.out


@pytest.mark.parametrize("command", [[], *[[command] for command in COMMANDS]], ids=str)
def test_no_line_of_help_is_cut(command: list[str]) -> None:
    """What a command does is told whole where commands are listed."""
    assert "..." not in kratzen(*command, "--help").out.replace("[ARGS]...", "").replace("COMMAND...", "")


@pytest.mark.parametrize(("name", "like"), [("runn", "run"), ("replays", "replay"), ("board", "leaderboard")])
def test_a_command_that_is_none_is_told_with_those_that_are_like_it(name: str, like: str) -> None:
    """A slip of the finger is no riddle."""
    done = kratzen(name)
    assert done.code == EXIT_USAGE
    assert f"No such command '{name}'" in done.err
    assert f"'{like}'" in done.err


@pytest.mark.parametrize(
    "arguments",
    [["nope"], ["run"], ["leaderboard"], ["replay", "show"], ["run", "x", "--nope"]],
    ids=" ".join,
)
def test_a_call_that_cannot_be_is_told_on_stderr(arguments: list[str]) -> None:
    """Exit code 2, and nothing on stdout."""
    done = kratzen(*arguments)
    assert (done.code, done.out) == (EXIT_USAGE, "")
    assert "Error: " in done.err


@pytest.mark.parametrize("number", range(6))
def test_a_reader_that_went_away_is_no_failure(
    number: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A broken pipe, as `head` leaves it, ends every command quietly with code 0."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w", encoding="utf-8") as stdout:  # noqa: PTH123  it has no path
        monkeypatch.setattr(sys, "stdout", stdout)
        assert exit_code(output_commands(folder)[number]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("number", range(6))
def test_a_disk_that_is_full_is_told_in_a_sentence(
    number: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Output that cannot be written is a failure with the system's reason, and no traceback."""
    with Path("/dev/full").open("w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert exit_code(output_commands(folder)[number]) == EXIT_FAILED
    assert capfd.readouterr().err == "kratzen: No space left on device\n"


@pytest.mark.parametrize(
    ("encoding", "arguments", "told"),
    [
        ("ascii", ["leaderboard"], "+0.00 +/- 0.00"),
        ("cp1252", ["leaderboard"], "+0.00 ± 0.00"),
        ("cp1252", ["replay", "show", "1.1", "--suits", "french"], "trumps are "),
    ],
)
def test_no_encoding_of_the_output_is_too_small(
    encoding: str, arguments: list[str], told: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the encoding lacks is written in plain letters (W04)."""
    with io.TextIOWrapper(io.BytesIO(), encoding=encoding) as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        write_plainly_where_needed()
        at = 2 if arguments[0] == "replay" else 1
        assert exit_code([*arguments[:at], str(folder), *arguments[at:]]) == 0
        stdout.flush()
        assert isinstance(stdout.buffer, io.BytesIO)
        assert told in stdout.buffer.getvalue().decode(encoding)


def test_control_codes_in_an_argument_do_not_reach_the_terminal() -> None:
    """A file name with an escape sequence is shown escaped (X06)."""
    done = kratzen("run", "x\x1b[31m.toml")
    assert done.code == EXIT_USAGE
    assert "\x1b" not in done.err
    assert r"x\x1b[31m.toml" in done.err


def test_ctrl_c_before_anything_runs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 130 and one word."""

    def interrupted(file: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "read_tournament_file", interrupted)
    done = kratzen("run", __file__)
    assert done.code == EXIT_INTERRUPTED
    assert done.err.split() == ["kratzen:", "interrupted"]


def call_with_closed(streams: str, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a program of Python as a shell does that has closed streams for it."""
    command = ["sh", "-c", f'exec "$@" {streams}', "sh", sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("code", [0, EXIT_USAGE, EXIT_INTERRUPTED])
def test_closed_streams_change_no_ending(streams: str, code: int) -> None:
    """The exit code is what it would be, without a traceback, and no file takes the streams' numbers."""
    program = f"""
import sys
from arena.cli import main
def ended(arguments):
    with open("/dev/null") as file:
        assert file.fileno() > 2
    print("said")
    print("told", file=sys.stderr)
    return {code}
main.exit_code = ended
main.main()
"""
    done = call_with_closed(streams, program)
    assert done.returncode == code
    assert done.stdout == ("" if ">&-" in streams.split() else "said\n")
    assert done.stderr == ("" if "2>&-" in streams.split() else "told\n")


@pytest.mark.parametrize("arguments", [("rules", "show", "tavern"), ("--help",)], ids=" ".join)
def test_data_that_nobody_reads_is_no_failure(arguments: tuple[str, ...]) -> None:
    """A closed stdout is no error, as a reader that went away is none."""
    done = call_with_closed(">&-", "from arena.cli.main import main; main()", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
