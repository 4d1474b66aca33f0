"""Terminals that were stopped, as by Ctrl-S, and pipes that nobody reads: a stop does not wait for them."""

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.arena.served import KRATZEN, LIMIT_S, RawStream, end, environment, served
from tests.arena.test_serve import assert_told_to_come_back
from tests.cli.calling import HEAD
from tests.cli.test_hang_up import STOP_S, terminal

STANDS_STILL: Final = """
import asyncio, os, sys
from arena.cli.signals import stopped_by_signals

def stand_still(signal):
    print("stopping", flush=True)
    sys.stdin.read()

async def main():
    with stopped_by_signals(stand_still):
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""
"""A command whose loop stands still from the first signal on, for as long as its stdin is open."""

SIGNALLED_EARLY: Final = """
import os, signal
from arena.cli.early import EndedAtOnce
with EndedAtOnce(): os.kill(os.getpid(), signal.SIGTERM); signal.pause()
"""

TELLS: Final = """
import os, sys
from arena.cli.outlets import open_outlets
open_outlets()
sys.stderr.write("told\\n")
os._exit(0)
"""
"""A command that ends as by a kill after it has said something."""


@contextmanager
def full_pipe() -> Iterator[int]:
    """The end for writing of a pipe that takes nothing more."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for size in (4096, 1):
        try:
            while True:
                os.write(writing, b"x" * size)
        except BlockingIOError:
            pass
    os.set_blocking(writing, True)
    try:
        yield writing
    finally:
        os.close(reading)
        os.close(writing)


def test_an_arena_in_a_stopped_terminal_stops_in_time(tmp_path: Path) -> None:
    """SIGTERM: exit code 0 within 5 s, and a bot is told to come back (F9)."""
    with served(tmp_path / "data") as arena, arena.client() as client:
        token = client.register_bot("alice")
        assert arena.stop()[0] == 0
    with terminal("serve", "--data", tmp_path / "data", "--address", "127.0.0.1:0") as opened:
        stream = RawStream(opened.address(), token)
        opened.stop_output()
        opened.process.send_signal(signal.SIGTERM)
        assert opened.process.wait(STOP_S) == 0
        assert_told_to_come_back(stream)


def test_a_run_in_a_stopped_terminal_stops_in_time(tmp_path: Path) -> None:
    """SIGTERM while its bar is shown, and drawn again and again: exit code 143 within 5 s (F9)."""
    bots = "".join([f'[[bots]]\nname = "{name}"\n' for name in "abcd"])
    (tmp_path / "t.toml").write_text(HEAD + bots)
    with terminal("run", tmp_path / "t.toml", "--out", tmp_path / "run") as opened:
        opened.shows("0/8")
        opened.stop_output()
        opened.process.send_signal(signal.SIGTERM)
        assert opened.process.wait(STOP_S) == 143


def test_an_arena_whose_pipe_is_full_stops_in_time(tmp_path: Path) -> None:
    """Nobody reads its stderr, on which it is to say what its token is for."""
    with full_pipe() as pipe:
        process = subprocess.Popen(
            [KRATZEN, "serve", "--data", tmp_path, "--address", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=pipe,
            text=True,
            env=environment(),
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("KRATZEN_ADMIN_TOKEN=")
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_S) == 0
        finally:
            end(process)


def test_a_command_that_reads_its_file_ends_in_a_stopped_terminal(tmp_path: Path) -> None:
    """Exit code 143 within 5 s, though the word that it was terminated is not taken."""
    os.mkfifo(tmp_path / "file")
    with terminal("run", tmp_path / "file") as opened, (tmp_path / "file").open("wb"):
        opened.stop_output()
        opened.process.send_signal(signal.SIGTERM)
        assert opened.process.wait(STOP_S) == 143


def test_a_command_that_is_being_loaded_ends_in_a_stopped_terminal() -> None:
    """The same in its first moments."""
    ours, theirs = pty.openpty()
    termios.tcflow(theirs, termios.TCOOFF)
    process = subprocess.Popen([sys.executable, "-c", SIGNALLED_EARLY], stderr=theirs, text=True)
    try:
        assert process.wait(STOP_S) == 143
    finally:
        end(process)
        os.close(theirs)
        os.close(ours)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_ends_what_stands_still(number: signal.Signals, code: int) -> None:
    """The loop is stuck in what the first one began: the process ends all the same, with its exit code."""
    process = subprocess.Popen(
        [sys.executable, "-c", STANDS_STILL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in ("ready\n", "stopping\n"):
            assert process.stdout.readline() == line
            process.send_signal(number)
        assert process.wait(STOP_S) == code
    finally:
        end(process)


def test_what_is_read_late_is_whole(tmp_path: Path) -> None:
    """A slow reader of a command that nobody stops gets every line, though the pipe was full for a while."""
    program = (
        "from arena.cli.outlets import open_outlets; open_outlets()\n"
        "import click\n"
        "for number in range(20_000): click.echo(number)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out.split()) == (0, [str(number) for number in range(20_000)])


@pytest.mark.parametrize("variables", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["plain", "unbuffered"])
def test_what_is_told_on_stderr_is_not_kept_back(variables: dict[str, str]) -> None:
    """Each line is there at once, whether the interpreter is told so or not."""
    told = subprocess.run(
        [sys.executable, "-c", TELLS],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        check=True,
    )
    assert told.stderr == b"told\n"
