"""Signals while a command is still starting: one sentence, the exit code of the signal, no traceback."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.arena.served import KRATZEN, LIMIT_S, environment


@pytest.mark.parametrize(
    ("number", "code", "sentence"),
    [
        (signal.SIGINT, 130, "kratzen: interrupted\n"),
        (signal.SIGTERM, 143, "kratzen: terminated\n"),
        # Nobody is left to be told.
        (signal.SIGHUP, 129, ""),
    ],
)
@pytest.mark.parametrize("words", [["run"], ["serve", "--config"]], ids=["run", "serve"])
def test_a_signal_during_the_start(
    words: list[str], number: signal.Signals, code: int, sentence: str, tmp_path: Path
) -> None:
    """While the command reads its file, which is a pipe that nothing comes out of."""
    pipe = tmp_path / "file"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [KRATZEN, *words, pipe],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=tmp_path,
    )
    # Opening it waits until the command has opened it too.
    with pipe.open("wb"):
        process.send_signal(number)
        out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, err.lstrip("\n")) == (code, "", sentence)
    assert list(tmp_path.iterdir()) == [pipe]
