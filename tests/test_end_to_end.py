"""The whole way once: real processes over real gRPC, and the store held against the replays.

What needs no process of its own is in `tests/cli`.
"""

import json
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arena.results import AttemptEnd
from arena.store import StoreReader
from tests.arena.served import ENDS_IN_PLAY
from tests.arena.test_sandbox import needs_bwrap
from tests.cli.calling import kratzen

TOURNAMENT = """
[tournament]
name = "end-to-end"
seed = 1
table_size = 4
blocks_per_group = 2
[rules]
muss_after = "normal_failure"
[session]
deals = 3
[clock]
move_ms = 20_000 # However busy the machine is, no bot is late, and none plays otherwise for fear of that.
"""

BOXED = """
import os
from pathlib import Path
from kratzen.sdk import run
from sample_bots.random_bot import RandomBot

assert os.environ["KRATZEN_ADDRESS"].startswith("unix:"), "it has another way than the socket"
assert not Path(__file__).with_name("t.toml").exists(), "it is in no box: it sees the tournament's file"
run(RandomBot())
"""
"""A bot that plays in the box alone."""

KRATZEN = Path(sys.executable).with_name("kratzen")


def bots(*modules: str) -> str:
    """The `[[bots]]` of these sample bots."""
    return "".join(
        f'[[bots]]\nname = "{name}"\ncommand = "python -m sample_bots.{name}_bot"\n' for name in modules
    )


def process(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    return subprocess.run([KRATZEN, *arguments], capture_output=True, text=True, timeout=50, check=False)


def documents(*arguments: str | Path) -> Any:  # noqa: ANN401  whatever the JSON says
    """What a command prints with --json."""
    done = kratzen(*arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small tournament that was played once for all tests here."""
    folder = tmp_path_factory.mktemp("end-to-end")
    (folder / "t.toml").write_text(TOURNAMENT + bots("random", "cautious", "counting", "sampling"))
    done = process("run", folder / "t.toml", "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == str(folder / "run")
    assert all(name in done.stdout for name in ("random", "cautious", "counting", "sampling"))
    return folder / "run"


def test_every_slot_is_played_once_and_nobody_is_at_fault(finished: Path) -> None:
    """Two blocks of four sessions, and no strike."""
    sessions = documents("replay", "list", finished)
    assert sorted(session["session"] for session in sessions) == [
        f"{b}.{s}" for b in (1, 2) for s in (1, 2, 3, 4)
    ]
    assert not [seat for session in sessions for seat in session["seats"] if seat["faults"]]


def test_the_store_and_the_replays_say_the_same(finished: Path) -> None:
    """Every session verifies, and the leaderboard's chips are those of the sessions."""
    verified = kratzen("replay", "verify", finished)
    assert (verified.code, verified.out) == (0, "")
    sessions = documents("replay", "list", finished)
    for row in documents("leaderboard", finished)["leaderboard"]:
        seats = [seat for session in sessions for seat in session["seats"] if seat["bot"] == row["bot"]]
        per_deal = sum(seat["chips"] for seat in seats) / sum(session["deals"] for session in sessions) / 10
        assert row["sessions"] == len(seats) == 8
        assert row["chips_per_deal"]["mean"] == pytest.approx(per_deal)


def test_every_bot_sat_in_every_chair_with_the_same_cards(finished: Path) -> None:
    """In each session of a block the first deal's hands lie at the same seats, and the bots move on."""
    for block in (1, 2):
        hands, chairs = [], []
        for session in (1, 2, 3, 4):
            lines = kratzen("replay", "export", finished, f"{block}.{session}").out.splitlines()
            events = [json.loads(line) for line in lines]
            hands.append(next(event["hands"] for event in events if "hands" in event))
            chairs.append([seat["bot"] for seat in events[0]["seats"]])
        assert all(hand == hands[0] for hand in hands)
        assert all(sorted(column) == sorted(chairs[0]) for column in zip(*chairs, strict=True))


def test_a_run_that_is_interrupted_and_gone_on_with_gives_the_same_play(
    finished: Path, tmp_path: Path
) -> None:
    """Ctrl-C ends it within 5 s; the command that it tells plays the rest, and all digests are the same."""
    text = (finished.parent / "t.toml").read_text().replace("seed = 1", "seed = 1\nsessions_at_once = 1")
    (tmp_path / "t.toml").write_text(text)
    words: list[str | Path] = [KRATZEN, "run", tmp_path / "t.toml", "--out", tmp_path / "run"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        assert run.stderr.readline().startswith("2 of 8 sessions")
        run.send_signal(signal.SIGINT)
        _, told = run.communicate(timeout=5)
    assert run.returncode == 130
    (line,) = [line for line in told.splitlines() if "go on with: kratzen " in line]
    # It was said at the signal too: after a second one nothing is.
    assert f"once more to stop at once; go on later with: {line.partition('go on with: ')[2]}" in told
    assert not line.startswith("0 ")
    assert process(*shlex.split(line.partition("go on with: kratzen ")[2])).returncode == 0
    digests = [
        {session["session"]: session["play_sha256"] for session in documents("replay", "list", folder)}
        for folder in (finished, tmp_path / "run")
    ]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("no-such-bot", "kratzen: bot x cannot be started: no program no-such-bot is installed (PATH is "),
        (
            "python -c \\\"raise SystemExit('broken on purpose')\\\"",
            "kratzen: bot x exited with code 1 before it said Hello\n  broken on purpose\n",
        ),
    ],
    ids=["no such command", "exits at once"],
)
def test_a_bot_that_cannot_play_is_told_with_its_last_words(tmp_path: Path, command: str, told: str) -> None:
    """Exit code 2 and the reason; there is no traceback of ours."""
    text = (
        TOURNAMENT + bots("random", "cautious", "counting") + f'[[bots]]\nname = "x"\ncommand = "{command}"'
    )
    (tmp_path / "t.toml").write_text(text)
    done = process("run", tmp_path / "t.toml", "--out", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_in_use_is_told(finished: Path, tmp_path: Path) -> None:
    """The sentence names the address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = process("run", finished.parent / "t.toml", "--out", tmp_path / "run", "--address", address)
    assert done.returncode == 2
    assert address in done.stderr


def test_a_bot_that_is_given_up_is_told_of_with_its_last_words(tmp_path: Path) -> None:
    """How often it ended and why, its log, the last that it printed; the reason is in the JSON too."""
    (tmp_path / "ends.py").write_text(ENDS_IN_PLAY)
    ends = '[[bots]]\nname = "ends"\ncommand = "python ends.py"\n'
    (tmp_path / "t.toml").write_text(TOURNAMENT + bots("random", "cautious", "counting") + ends)
    done = process("run", tmp_path / "t.toml", "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    remark, *others = json.loads(done.stdout)["remarks"]
    assert remark.startswith(
        "bot ends ended 4 times and is not started again: it exited with code 7; its log"
    )
    assert any(line.startswith("bot ends ") and "first in session" in line for line in others)
    for line in (remark, *others, "the last that bot ends printed:", "  no more of this"):
        assert line in done.stderr.splitlines()
    logged = [json.loads(line) for line in (tmp_path / "run" / "arena.log").read_text().splitlines()]
    assert [entry["bot"] for entry in logged if entry["event"] == "bot given up"] == ["ends"]


def test_a_bot_that_the_arena_cannot_start_again_is_not_charged(tmp_path: Path) -> None:
    """The run ends with a sentence that says what failed; no session counts, and it can be gone on with."""
    logs = tmp_path / "run" / "logs"
    ruins = f"import os, shutil\nshutil.rmtree({str(logs)!r})\nopen({str(logs)!r}, 'w').close()\nos._exit(7)"
    (tmp_path / "ruins.py").write_text(ENDS_IN_PLAY.replace("os._exit(7)", f"exec({ruins!r})"))
    bot = '[[bots]]\nname = "ruins"\ncommand = "python ruins.py"\n'
    (tmp_path / "t.toml").write_text(TOURNAMENT + bots("random", "cautious", "counting") + bot)
    done = process("run", tmp_path / "t.toml", "--out", tmp_path / "run")
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1] == (
        "kratzen: the arena could not keep bot ruins going: the supervisor of bot ruins cannot be started: "
        f"{logs}: File exists"
    )
    assert "was started again" not in done.stderr
    assert "go on with: kratzen run" in done.stderr
    with StoreReader.open(tmp_path / "run") as store:
        assert store.results() == ()
        assert {attempt.ending for attempt in store.attempts()} == {AttemptEnd.OPERATOR_STOP}
    logged = [json.loads(line) for line in (tmp_path / "run" / "arena.log").read_text().splitlines()]
    assert [entry["bot"] for entry in logged if entry["event"] == "bot not kept going"] == ["ruins"]


@needs_bwrap
def test_a_bot_in_a_box_plays_to_the_end(tmp_path: Path) -> None:
    """Beside bots without a box it plays every session through the Unix socket, and nobody is at fault."""
    (tmp_path / "boxed.py").write_text(BOXED)
    boxed = '[[bots]]\nname = "boxed"\ncommand = "python boxed.py"\nsandbox = "bwrap"\n'
    (tmp_path / "t.toml").write_text(TOURNAMENT + bots("random", "cautious", "counting") + boxed)
    done = process("run", tmp_path / "t.toml", "--out", tmp_path / "run", "--strict", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["bot"]: row for row in json.loads(done.stdout)["leaderboard"]}
    assert rows["boxed"]["sessions"] == 8
    assert json.loads(done.stdout)["remarks"] == []
