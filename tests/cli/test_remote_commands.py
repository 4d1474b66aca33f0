from pathlib import Path

import click
import pytest

from arena.cli.main import exit_code
from tests.arena.halls import file_with

NOBODY = ("--address", "127.0.0.1:1")


def ended(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    code = exit_code([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize(
    "command",
    [
        ("serve",),
        ("bot",),
        ("bot", "check"),
        ("bots",),
        ("bots", "add"),
        ("bots", "list"),
        ("bots", "revoke"),
        ("tournament",),
        ("tournament", "create"),
        ("tournament", "start"),
        ("tournament", "stop"),
        ("tournament", "status"),
        ("tournament", "list"),
    ],
)
def test_every_command_helps_with_an_example(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    """`--help` ends with a line that can be copied."""
    code, out, _ = ended(capsys, *command, "--help")
    assert code == 0
    assert f"Example: kratzen {' '.join(command)}" in " ".join(click.unstyle(out).split())


@pytest.mark.parametrize(
    "command",
    [
        ("bot", "check", "alice"),
        ("bots", "list"),
        ("bots", "add", "alice"),
        ("tournament", "list"),
        ("tournament", "start", "1"),
        ("tournament", "status", "1"),
        ("tournament", "status", "1", "--follow"),
    ],
)
def test_no_arena_is_one_sentence(capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    """Where nobody listens, every command says so and fails."""
    code, out, err = ended(capsys, *command, *NOBODY)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("kratzen: no answer from an arena at 127.0.0.1:1")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "t.toml: cannot be read: No such file or directory"),
        ("[tournament", "t.toml: the file is not usable TOML"),
        (file_with().replace("table_size = 4", "table_size = 9"), "t.toml: tournament.table_size = 9"),
    ],
)
def test_a_file_that_cannot_be_used_is_not_sent(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str | None, sentence: str
) -> None:
    """The file is checked here, whether there is an arena or not."""
    file = tmp_path / "t.toml"
    if text is not None:
        file.write_text(text)
    code, out, err = ended(capsys, "tournament", "create", file, *NOBODY)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert sentence in err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--address", "nowhere"), "nowhere is no address"),
        (("--ca", "no.pem"), "no.pem: cannot be read: No such file"),
        (("--ca", __file__), "there is no certificate (PEM) in this file"),
    ],
)
def test_wrong_options_are_one_sentence(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], sentence: str
) -> None:
    """What is wrong with the address or the certificates is said."""
    code, out, err = ended(capsys, "bots", "list", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert sentence in err
