"""The whole way once: real processes over real gRPC, and the store held against the replays."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
"""

KRATZEN = Path(sys.executable).with_name("kratzen")


def bots(*modules: str) -> str:
    """The `[[bots]]` of these sample bots."""
    return "".join(
        f'[[bots]]\nname = "{name}"\ncommand = "python -m sample_bots.{name}_bot"\n' for name in modules
    )


def kratzen(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run([KRATZEN, *arguments], capture_output=True, text=True, timeout=50, check=False)


def documents(*arguments: str | Path) -> Any:  # noqa: ANN401  whatever the JSON says
    """What a command prints with --json."""
    done = kratzen(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small tournament that was played once for all tests here."""
    folder = tmp_path_factory.mktemp("end-to-end")
    (folder / "t.toml").write_text(TOURNAMENT + bots("random", "cautious", "counting", "sampling"))
    done = kratzen("run", folder / "t.toml", "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == str(folder / "run")
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
    assert (verified.returncode, verified.stdout) == (0, "")
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
            lines = kratzen("replay", "export", finished, f"{block}.{session}").stdout.splitlines()
            events = [json.loads(line) for line in lines]
            hands.append(next(event["hands"] for event in events if "hands" in event))
            chairs.append([seat["bot"] for seat in events[0]["seats"]])
        assert all(hand == hands[0] for hand in hands)
        assert all(sorted(column) == sorted(chairs[0]) for column in zip(*chairs, strict=True))


def test_an_exported_session_with_one_byte_changed_is_told_by_its_line(
    finished: Path, tmp_path: Path
) -> None:
    """`verify FILE` fails and names line and difference."""
    exported = tmp_path / "session.jsonl"
    assert kratzen("replay", "export", finished, "1.2", "--out", exported).returncode == 0
    assert kratzen("replay", "verify", exported).returncode == 0
    lines = exported.read_bytes().splitlines(keepends=True)
    number = next(at for at, line in enumerate(lines) if b'"card ' in line)
    at = lines[number].index(b'"card ') + 6
    lines[number] = (
        lines[number][:at] + (b"L" if lines[number][at : at + 1] == b"E" else b"E") + lines[number][at + 1 :]
    )
    exported.write_bytes(b"".join(lines))
    done = kratzen("replay", "verify", exported)
    assert done.returncode == 1
    assert f"line {number + 1}" in done.stdout


def test_a_packed_replay_with_one_byte_changed_is_told_by_part_and_session(
    finished: Path, tmp_path: Path
) -> None:
    """`verify DIR` fails and names both."""
    copy = tmp_path / "run"
    copy.mkdir()
    for file in finished.iterdir():
        if file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())
    packed = bytearray((copy / "replays.jsonl.zst").read_bytes())
    packed[len(packed) // 2] ^= 1
    (copy / "replays.jsonl.zst").write_bytes(packed)
    done = kratzen("replay", "verify", copy)
    assert done.returncode == 1
    (sentence,) = done.stdout.splitlines()
    assert "replays.jsonl.zst" in sentence
    assert any(f"{block}.{session}" in sentence for block in (1, 2) for session in (1, 2, 3, 4))


def test_the_same_seed_gives_the_same_play(finished: Path, tmp_path: Path) -> None:
    """A second run of the same file has the same digests, session by session."""
    file = finished.parent / "t.toml"
    assert kratzen("run", file, "--out", tmp_path / "again").returncode == 0
    digests = [
        {session["session"]: session["play_sha256"] for session in documents("replay", "list", folder)}
        for folder in (finished, tmp_path / "again")
    ]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tournament", "TOML"),
        (TOURNAMENT + bots("random"), "bots"),
        (TOURNAMENT.replace("seed", "sede") + bots("random", "cautious"), "sede"),
        (TOURNAMENT + bots("random", "cautious", "counting", "counting"), "counting"),
        (
            TOURNAMENT
            + bots("random", "cautious", "counting")
            + '[[bots]]\nname = "x"\ncommand = "no-such-bot"',
            "no-such-bot",
        ),
        (
            TOURNAMENT
            + bots("random", "cautious", "counting")
            + """[[bots]]\nname = "x"\ncommand = ["python", "-c", "raise SystemExit('broken on purpose')"]""",
            "broken on purpose",
        ),
    ],
    ids=["broken TOML", "too few bots", "unknown key", "a bot twice", "no such command", "exits at once"],
)
def test_bad_input_gets_a_sentence_and_exit_code_2(tmp_path: Path, text: str, told: str) -> None:
    """The sentence names what is wrong; there is no traceback of ours."""
    (tmp_path / "t.toml").write_text(text)
    done = kratzen("run", tmp_path / "t.toml", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_files_and_folders_that_cannot_be_used_get_a_sentence_too(tmp_path: Path) -> None:
    """A missing file, a folder below a plain file, a run that is there already, a folder that is no run."""
    (tmp_path / "t.toml").write_text(TOURNAMENT + bots("random", "cautious", "counting", "sampling"))
    (tmp_path / "plain").write_text("")
    for arguments in (
        ("run", tmp_path / "missing.toml"),
        ("run", tmp_path / "t.toml", "--out", tmp_path / "plain" / "run"),
        ("run", tmp_path / "t.toml", "--resume"),
        ("leaderboard", tmp_path / "nothing"),
        ("replay", "list", tmp_path),
    ):
        done = kratzen(*arguments)
        assert done.returncode == 2, arguments
        assert done.stderr.startswith("kratzen: ")
        assert "Traceback" not in done.stderr


def test_a_port_in_use_is_told(finished: Path, tmp_path: Path) -> None:
    """The sentence names the address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = kratzen("run", finished.parent / "t.toml", "--out", tmp_path / "run", "--address", address)
    assert done.returncode == 2
    assert address in done.stderr
