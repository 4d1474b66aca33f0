"""What becomes of `run` and `serve` when their terminal is closed (SIGHUP)."""

import os
import pty
import signal
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
import pytest

from arena.cli.outlets import open_outlets
from tests.arena.served import KRATZEN, LIMIT_S, RawStream, end, environment, served
from tests.arena.test_serve import assert_told_to_come_back
from tests.cli.calling import HEAD

IN_A_TERMINAL: Final = 'exec "$@" <"$0" >"$0" 2>&1'
"""For a shell at the head of a session: the first terminal that it opens is the session's own."""

WITHOUT_HANG_UP: Final = 'trap "" HUP; exec "$@"'
"""What `nohup` does."""

STOP_S: Final = 5


class Terminal:
    """A terminal of its own with a command in it."""

    def __init__(self, *words: str | Path) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", IN_A_TERMINAL, os.ttyname(theirs), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(TERM="xterm"),
            start_new_session=True,
            text=True,
        )
        self._theirs = theirs

    def address(self) -> str:
        """Where the command's arena listens, once it does."""
        shown = ""
        while "\n" not in shown.partition("KRATZEN_ADDRESS=")[2]:
            shown += os.read(self._ours, 1000).decode()
        return shown.partition("KRATZEN_ADDRESS=")[2].split()[0]

    def shows(self, text: str) -> None:
        """Return once it has shown a text."""
        shown = ""
        while text not in shown:
            shown += os.read(self._ours, 1000).decode()

    def stop_output(self) -> None:
        """Have it take nothing more, as after Ctrl-S."""
        termios.tcflow(self._theirs, termios.TCOOFF)

    def close(self) -> int:
        """Close the terminal, as a window is closed; the exit code of what ran in it."""
        os.close(self._theirs)
        os.close(self._ours)
        return self.process.wait(STOP_S)


@contextmanager
def terminal(*words: str | Path) -> Iterator[Terminal]:
    """A terminal in which `kratzen` runs with these words; ended with the block."""
    opened = Terminal(KRATZEN, *words)
    try:
        yield opened
    finally:
        end(opened.process)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A tournament of bots that dial in."""
    (tmp_path / "t.toml").write_text(HEAD + "".join([f'[[bots]]\nname = "{name}"\n' for name in "abcd"]))
    return tmp_path / "t.toml"


def test_a_run_whose_terminal_is_closed_ends_in_order(file: Path, tmp_path: Path) -> None:
    """Exit code 129 within 5 s: that nobody can be told how to go on spoils nothing."""
    with terminal("run", file, "--out", tmp_path / "run") as opened:
        assert opened.address()
        assert opened.close() == 129


def test_what_is_written_before_the_signal_is_handled_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal says that it is gone at once, the signal comes when it comes."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as out:
        monkeypatch.setattr("sys.stdout", out)
        open_outlets()
        os.close(ours)
        for _ in range(2):
            click.echo("nobody reads this")


def test_an_arena_whose_terminal_is_closed_sends_its_bots_away(tmp_path: Path) -> None:
    """Exit code 0, and a bot hears Goodbye and is told to come back."""
    with served(tmp_path / "data") as arena, arena.client() as client:
        token = client.register_bot("alice")
        assert arena.stop()[0] == 0
    with terminal("serve", "--data", tmp_path / "data", "--address", "127.0.0.1:0") as opened:
        stream = RawStream(opened.address(), token)
        assert opened.close() == 0
        assert_told_to_come_back(stream)


def test_a_hang_up_with_nobody_to_read_ends_a_run_in_order(file: Path, tmp_path: Path) -> None:
    """As with `| tee`, which has gone already: pipes without a reader are no failure either."""
    process = subprocess.Popen(
        [KRATZEN, "run", file, "--out", tmp_path / "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    while not process.stderr.readline().startswith(b"waiting for d: "):
        pass
    process.stdout.close()
    process.stderr.close()
    process.send_signal(signal.SIGHUP)
    assert process.wait(STOP_S) == 129


def test_what_was_sent_to_a_file_is_whole_after_a_hang_up(file: Path, tmp_path: Path) -> None:
    """How to go on, with new tokens for the bots, at once and in the end, and the folder as the last line."""
    with (tmp_path / "told").open("w+b") as told:
        process = subprocess.Popen(
            [KRATZEN, "run", file, "--out", tmp_path / "run"], stdout=told, stderr=told, env=environment()
        )
        while b"waiting for d: " not in (tmp_path / "told").read_bytes():
            assert process.poll() is None
        process.send_signal(signal.SIGHUP)
        assert process.wait(STOP_S) == 129
    text = (tmp_path / "told").read_text()
    assert "once more to stop at once; go on later with: kratzen run " in text
    assert text.count("gives bots that dial in new tokens, and another port unless --address") == 2
    assert text.splitlines()[-1] == str(tmp_path / "run")


def test_a_second_hang_up_is_no_wish_to_stop_at_once(tmp_path: Path) -> None:
    """One terminal may say twice that it was closed: the arena still ends in order, with 0."""
    with served(tmp_path / "data") as arena, arena.client() as client:
        stream = RawStream(arena.address, client.register_bot("alice"))
        arena.process.send_signal(signal.SIGHUP)
        assert arena.process.stderr is not None
        while "once more to stop at once" not in arena.process.stderr.readline():
            pass
        assert arena.stop(signal.SIGHUP)[0] == 0
        assert_told_to_come_back(stream)


def test_nohup_keeps_an_arena_from_it(tmp_path: Path) -> None:
    """A hang-up that was ignored at the start stays so: the SIGTERM after it is the first signal."""
    serve = (KRATZEN, "serve", "--data", tmp_path, "--address", "127.0.0.1:0")
    process = subprocess.Popen(
        ["/bin/sh", "-c", WITHOUT_HANG_UP, "sh", *serve],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    while not process.stdout.readline().startswith("KRATZEN_ADDRESS="):
        pass
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, said.count("stopping")) == (0, 1)
