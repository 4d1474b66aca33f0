"""`kratzen replay`: the sessions of a run, listed, shown, verified and exported."""

import json
from pathlib import Path

import pytest

from arena.cli.errors import EXIT_FAILED, EXIT_USAGE
from arena.frame import pack_frame
from arena.store import StoreReader
from tests.cli.calling import NAMES, kratzen, make_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of eight sessions of which five are finished, with faults in them."""
    return make_run(tmp_path / "run", sessions=5, fault_rate=0.2)


@pytest.fixture
def exported(folder: Path, tmp_path: Path) -> Path:
    """Session 1.2 as a file."""
    assert kratzen("replay", "export", folder, "1.2", "--out", tmp_path / "s.jsonl").code == 0
    return tmp_path / "s.jsonl"


def test_the_list_has_every_finished_session(folder: Path) -> None:
    """As a table with label, deals and who took which place, and as one JSON document."""
    shown = kratzen("replay", "list", folder)
    assert not set(shown.out) & set("│┃━")
    listed = json.loads(kratzen("replay", "list", folder, "--json").out)
    assert [entry["session"] for entry in listed] == ["1.1", "1.2", "1.3", "1.4", "2.1"]
    for entry in listed:
        (line,) = [line for line in shown.out.splitlines() if f" {entry['session']} " in line]
        assert entry["id"][:8] in line
        assert f" {entry['deals']} " in line
        for seat in entry["seats"]:
            assert f"{seat['place']} {seat['bot']} ({seat['chips']:+d})" in line
    assert any(seat["faults"] for entry in listed for seat in entry["seats"])


@pytest.mark.parametrize("name", ["1.2", "id", "beginning"])
def test_a_session_goes_by_its_number_its_id_or_the_beginning_of_that(folder: Path, name: str) -> None:
    """All three show the same session: hands, tricks, payments."""
    session_id = json.loads(kratzen("replay", "list", folder, "--json").out)[1]["id"]
    text = {"id": session_id, "beginning": session_id[:6]}.get(name, name)
    done = kratzen("replay", "show", folder, text)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Session 1.2 of tuesday\n")
    for word in ("hands", "trick 1", "shares", "stacks"):
        assert f"\n  {word}" in done.out


@pytest.mark.parametrize("session", ["2.2", "9.9", "zz", "\x1b[31m", "", "1.2.3"])
def test_a_session_that_is_not_there_is_told(folder: Path, session: str) -> None:
    """Open ones too, which have no replay yet."""
    for command in ("show", "verify", "export"):
        done = kratzen("replay", command, folder, session)
        assert (done.code, done.out) == (EXIT_USAGE, "")
        assert done.err.startswith("kratzen: no session ")
        assert "\x1b" not in done.err


def test_a_run_that_is_as_it_was_written_verifies(folder: Path) -> None:
    """All of it, one session of it, and a session that was exported, packed or not."""
    for arguments, told in (((folder,), "5 of 5"), ((folder, "1.2"), "1 of 1")):
        done = kratzen("replay", "verify", *arguments)
        assert (done.code, done.out, done.err) == (0, "", f"{told} sessions verified\n")


def test_an_exported_session_verifies_packed_or_not(exported: Path) -> None:
    """Nothing but the file is needed."""
    assert kratzen("replay", "verify", exported).code == 0
    exported.write_bytes(pack_frame(exported.read_bytes()))
    done = kratzen("replay", "verify", exported)
    assert (done.code, done.out, done.err) == (0, "", "1 of 1 sessions verified\n")


def test_an_exported_session_with_one_byte_changed_is_told_by_its_line(exported: Path) -> None:
    """`verify FILE` fails and names line and difference."""
    lines = exported.read_bytes().splitlines(keepends=True)
    number = next(at for at, line in enumerate(lines) if b'"card ' in line)
    at = lines[number].index(b'"card ') + 6
    other = b"L" if lines[number][at : at + 1] == b"E" else b"E"
    lines[number] = lines[number][:at] + other + lines[number][at + 1 :]
    exported.write_bytes(b"".join(lines))
    done = kratzen("replay", "verify", exported)
    assert done.code == EXIT_FAILED
    assert f"line {number + 1}" in done.out


def test_a_packed_replay_with_one_byte_changed_is_told_by_part_and_session(folder: Path) -> None:
    """`verify DIR` fails and names both; the others are verified."""
    packed = folder / "replays.jsonl.zst"
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 1
    packed.write_bytes(data)
    done = kratzen("replay", "verify", folder)
    assert done.code == EXIT_FAILED
    (sentence,) = done.out.splitlines()
    assert "replays.jsonl.zst (part 1), session 1." in sentence
    assert done.err == "4 of 5 sessions verified\n"


@pytest.mark.parametrize("content", [b"", b"x\n", b"\xff\xfe", b"\x28\xb5\x2f\xfd...", b"{}\n{}\n"])
def test_a_file_that_is_no_replay_is_told(tmp_path: Path, content: bytes) -> None:
    """Exit code 1 and one sentence with the file's name."""
    (tmp_path / "file").write_bytes(content)
    done = kratzen("replay", "verify", tmp_path / "file")
    assert done.code == EXIT_FAILED
    (line,) = (done.out + done.err).splitlines()
    assert f"{tmp_path / 'file'}: " in line


def test_what_is_neither_folder_nor_file_is_told(tmp_path: Path) -> None:
    """A path that leads nowhere, a folder without a run, a device."""
    for source, told in (
        (tmp_path / "nothing", f"there is no file or folder {tmp_path / 'nothing'}"),
        (tmp_path, "holds no tournament"),
        (Path("/dev/null"), "/dev/null is neither a folder nor a file"),
    ):
        done = kratzen("replay", "verify", source)
        assert (done.code, done.out) == (EXIT_USAGE, "")
        assert told in done.err


def test_a_session_of_a_newer_version_is_told_by_every_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`show` and `verify` fail with a sentence that names the session and the versions."""
    replay = StoreReader.replay
    newer = b'"version":7'
    monkeypatch.setattr(
        StoreReader, "replay", lambda *which: replay(*which).replace(b'"version":1', newer, 1)
    )
    for command in ("show", "verify"):
        done = kratzen("replay", command, folder, "1.1")
        assert done.code == EXIT_FAILED
        assert "session 1.1: line 1: the replay is of format version 7" in done.out + done.err


def test_control_codes_in_a_damaged_session_do_not_reach_the_terminal(exported: Path) -> None:
    """What differs is shown escaped (X06)."""
    exported.write_bytes(exported.read_bytes().replace(b'"tuesday"', b'"\x1b]0;title\x07\xc2\x9b2J"'))
    done = kratzen("replay", "verify", exported)
    assert done.code == EXIT_FAILED
    assert (done.out + done.err).replace("\n", "").isprintable()


def test_the_packed_sessions_of_a_whole_run_are_no_exported_session(folder: Path) -> None:
    """The sentence says where to find them."""
    done = kratzen("replay", "verify", folder / "replays.jsonl.zst")
    assert done.code == EXIT_FAILED
    assert "in its folder" in done.err


def test_a_file_has_no_second_session(exported: Path) -> None:
    """An id beside a file is bad input, not something to pass over."""
    done = kratzen("replay", "verify", exported, "1.1")
    assert done.code == EXIT_USAGE
    assert "leave out the ID" in done.err


def test_what_is_exported_is_the_replay_itself(folder: Path, exported: Path, tmp_path: Path) -> None:
    """Byte for byte on stdout too; a file that cannot be written is told."""
    assert kratzen("replay", "export", folder, "1.2").out.encode() == exported.read_bytes()
    done = kratzen("replay", "export", folder, "1.2", "--out", exported / "below")
    assert done.code == EXIT_USAGE
    assert "cannot be written" in done.err


@pytest.mark.parametrize("command", [["replay", "list"], ["replay", "verify"], ["leaderboard"]], ids=" ".join)
def test_a_folder_without_a_run_is_told(command: list[str], tmp_path: Path) -> None:
    """One that is not there, and one with nothing in it."""
    for folder in (tmp_path, tmp_path / "nothing"):
        done = kratzen(*command, folder)
        assert (done.code, done.out) == (EXIT_USAGE, "")
        assert str(folder) in done.err


def test_cards_are_written_as_is_asked_for(folder: Path) -> None:
    """French suits instead of the game's own, or the cards' names in English or German."""
    assert "♠" in kratzen("replay", "show", folder, "1.1", "--suits", "french").out
    assert "♠" not in kratzen("replay", "show", folder, "1.1").out
    assert " of Acorns" in kratzen("replay", "show", folder, "1.1", "--names", "en").out
    assert "Eichel-" in kratzen("replay", "show", folder, "1.1", "--names", "de").out


def test_cards_are_not_written_in_two_ways(folder: Path) -> None:
    """Signs and names together are refused, instead of one of them being passed over."""
    done = kratzen("replay", "show", folder, "1.1", "--names", "de", "--suits", "french")
    assert (done.code, done.out) == (EXIT_USAGE, "")
    assert "leave out one of them" in done.err


def test_the_names_of_the_bots_are_in_every_view(folder: Path) -> None:
    """Nobody is left out of what is shown."""
    shown = kratzen("replay", "show", folder, "1.1").out
    assert all(name in shown for name in NAMES)
