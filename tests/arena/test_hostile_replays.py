"""Replays that were made to fill the memory or to take for ever (F12e): refused, and quickly.

Each is verified in a process of its own, after a good one, which shows what reading costs there.
"""

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from arena.frame import pack_frame
from tests.arena.sessions import Table, play

GOOD: Final = Table(deals=60, options={"muss_after": "normal_failure"})
"""A session of some two thousand lines."""

MAX_EXTRA_MIB: Final = 64
TIMES_GOOD: Final = 3
"""How much longer than the good one a bad one may take, with half a second more for what is unpacked."""

MEASURE: Final = """
import json, re, sys, time
from pathlib import Path
from arena.cli.main import exit_code
figures = []
def peak_mib():
    # Not getrusage: what it gives begins with what the parent had.
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024
for file in sys.argv[1:]:
    began = time.process_time()
    code = exit_code(["replay", "verify", file])
    seconds = time.process_time() - began
    figures.append((code, seconds, peak_mib()))
print(json.dumps(figures))
"""


@cache
def good_lines() -> list[bytes]:
    """The lines of a good replay, with their newlines."""
    return play(GOOD).text.splitlines(keepends=True)


def between(middle: bytes) -> bytes:
    """A replay whose first and last line are those of a good one."""
    return good_lines()[0] + middle + good_lines()[-1]


def bombs() -> dict[str, bytes]:
    """Files that are small or simple, and large when they are read."""
    first, event, last = good_lines()[0], good_lines()[1], good_lines()[-1]
    return {
        "short lines, packed": pack_frame(b"{}\n" * 18_000_000),
        "short lines after a good one, packed": pack_frame(between(b"{}\n" * 18_000_000)),
        "empty lines, packed": pack_frame(between(b"\n" * 56_000_000)),
        "good lines again and again, packed": pack_frame(between(event * (56_000_000 // len(event)))),
        "one long line, packed": pack_frame(b"x" * 56_000_000),
        "300,000 lines": between(event * 300_000),
        "100,000 tiny records": between(b"[]\n" * 100_000),
        "tiny records from the first on": b"[]\n" * 100_000,
        "deep in a first line": b"[" * 5_000_000 + b"\n" + last,
        "deep in a line": between(b"[" * 3_000_000 + b"\n"),
        "deep in a key": between(event[:-2] + b',"x":' + b'{"x":' * 500_000 + b"\n"),
        "deep in a last line": first + b'{"t":' * 700_000 + b"\n",
        "long number": between(event[:-2] + b',"x":' + b"9" * 3_000_000 + b"}\n"),
    }


@dataclass(frozen=True, slots=True)
class Figures:
    """What a verification gave: exit code, processor time, and how large the process had been by then."""

    code: int
    seconds: float
    peak_mib: int


def measured(*files: Path) -> tuple[list[Figures], list[str]]:
    """Verify files, one after the other; what each took, and the sentences of all."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *files], capture_output=True, text=True, timeout=50, check=True
    )
    *said, figures = done.stdout.splitlines()
    return [Figures(*each) for each in json.loads(figures)], said + done.stderr.splitlines()


def test_replays_that_are_traps_are_refused_at_once(tmp_path: Path) -> None:
    """Each with one sentence, in about the time of a good one, and all of them in little memory."""
    files = {"good": b"".join(good_lines()), **bombs()}
    paths = [tmp_path / name for name in files]
    for path in paths:
        path.write_bytes(files[path.name])
    (of_good, *of_bad), said = measured(*paths)
    assert of_good.code == 0
    for path, figures in zip(paths[1:], of_bad, strict=True):
        (sentence,) = [line for line in said if f"{path}:" in line]
        print(f"F12e: {path.name}: {figures}: {sentence.partition(': ')[2]}")  # noqa: T201
        assert len(sentence) < 600
        assert figures.code == 1
        assert figures.peak_mib - of_good.peak_mib <= MAX_EXTRA_MIB, path.name
        assert figures.seconds <= TIMES_GOOD * of_good.seconds + 0.5, path.name


def test_a_file_larger_than_any_session_is_not_read(tmp_path: Path) -> None:
    """Its size alone says that it is none."""
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2**40)
    (figures,), said = measured(tmp_path / "huge")
    assert figures.code == 1
    assert "no session is larger than" in said[0]


def test_good_ones_are_read_as_text_and_packed(tmp_path: Path) -> None:
    """What the traps are compared with is verified, whichever way it was kept."""
    text = play(replace(GOOD, deals=2)).text
    (tmp_path / "text").write_bytes(text)
    (tmp_path / "packed").write_bytes(pack_frame(text))
    figures, _ = measured(tmp_path / "text", tmp_path / "packed")
    assert [each.code for each in figures] == [0, 0]
