import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.faults import FaultCause
from arena.messages import RejectReason
from arena.record import DecisionRecord, Origin, StrayAnswer
from arena.replay import KEPT_STRAYS, ReplayWriter, parse, parse_ends
from arena.replay_lines import VERSION, AnyEventLine
from arena.replay_reading import ReplayError, ReplayVersionError
from arena.replay_stream import read_ends, read_events
from arena.replay_verify import Difference, verify
from engine.events import Decided
from engine.rules import OPTIONS, PRESETS
from tests.arena.sessions import LIVELY, PlayedSession, Table, play, rewrite

ROOT = Path(__file__).parents[2]

SMALL = Table(
    seating=("anna", "berta", "clara"), deals=1, options={"muss_after": "normal_failure"}, fault_rate=0.3
)
PAID = Table(options={"exchange": "paid", "contracts": "auction"}, deals=8, seating=tuple("abcde"))
TABLES = (SMALL, LIVELY, PAID, replace(PAID, absent=2))


@cache
def played(table_index: int) -> PlayedSession:
    """The session of `TABLES`, played once."""
    return play(TABLES[table_index])


def lines_of(text: bytes) -> list[dict[str, object]]:
    """The lines of a replay, read by the standard library."""
    return [json.loads(line) for line in text.splitlines()]


def without_run(text: bytes) -> Iterator[bytes]:
    """The lines as a program of somebody else would leave `run` out of them."""
    for line in lines_of(text):
        line.pop("run", None)
        yield json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


# ------------------------------------------------------------------------- writing


@pytest.mark.parametrize("index", range(len(TABLES)))
def test_every_line_is_a_tagged_json_object(index: int) -> None:
    """Every line of a replay is one JSON object with `t` and `v`, the first says format and version."""
    lines = lines_of(played(index).text)
    assert all(isinstance(line["t"], str) and line["v"] == 1 for line in lines)
    assert (lines[0]["format"], lines[0]["version"]) == ("kratzen-replay", VERSION)
    assert lines[0]["ruleset"].keys() == {option.name for option in OPTIONS}  # type: ignore[attr-defined]
    assert (lines[0]["t"], lines[-1]["t"]) == ("session", "result")


def test_every_kind_of_line_occurs() -> None:
    """The sessions of these tests have every kind of line in them, so that nothing goes untested."""
    kinds = {str(line["t"]) for index in range(len(TABLES)) for line in lines_of(played(index).text)}
    assert kinds == {
        "session",
        "result",
        *(str(line.__struct_config__.tag) for line in get_args(AnyEventLine)),
    }


@pytest.mark.parametrize("index", range(len(TABLES)))
def test_last_line_has_result_and_digests(index: int) -> None:
    """The last line has the result, seed and nonce of the commitment, and the digests of the lines before."""
    result, text = played(index).result, played(index).text
    first, last = lines_of(text)[0], lines_of(text)[-1]
    assert last["places"] == [seat.place for seat in result.seats]
    assert last["chips"] == [seat.chips for seat in result.seats]
    assert last["forfeited"] == [seat.forfeited for seat in result.seats]
    assert last["pot_left"] == result.pot_left
    revealed = bytes.fromhex(str(last["nonce"])) + bytes.fromhex(str(last["seed"]))
    assert first["commitment"] == sha256(revealed).hexdigest()
    before = text.splitlines(keepends=True)[:-1]
    assert last["run"]["sha256"] == sha256(b"".join(before)).hexdigest()  # type: ignore[index]
    assert last["play_sha256"] == sha256(b"".join([*without_run(text)][:-1])).hexdigest()


def test_two_runs_of_one_play_differ_only_under_run() -> None:
    """Other times, another attempt and another host change nothing outside the key `run`."""
    one, other = play(LIVELY).text, play(replace(LIVELY, time_seed=2, attempt=2)).text
    assert one != other
    assert [*without_run(one)] == [*without_run(other)]


def test_another_answer_changes_the_play() -> None:
    """Another play of the same cards has another digest."""
    one, other = parse_ends(played(0).text)[1], parse_ends(play(replace(SMALL, play_seed=2)).text)[1]
    assert one.play_sha256 != other.play_sha256


def test_size_depends_on_the_session_alone() -> None:
    """The hundredth replay of a process is the first one again, byte for byte (known fault P06)."""
    first = play(SMALL).text
    for number in range(2, 100):
        play(replace(SMALL, session=number, play_seed=number))
    assert play(SMALL).text == first


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_bytes_do_not_depend_on_the_hash_seed(hash_seed: str) -> None:
    """A new process with any hash seed writes the same replay (known faults P08, P09)."""
    code = "import sys; from tests.arena.sessions import *; sys.stdout.buffer.write(play(LIVELY).text)"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}"}
    child = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, check=True
    )
    assert child.stdout == played(1).text


def test_stray_answers_are_counted_and_a_few_kept() -> None:
    """However many answers fit no request, all are counted and the first of each seat kept."""
    header, end = parse_ends(played(0).text)
    writer = ReplayWriter(header)
    for number in range(1000):
        writer.stray(
            StrayAnswer(
                seat=number % 2,
                reason=RejectReason.UNKNOWN_REQUEST,
                request_id=number,
                answer="card EA",
            )
        )
    text = writer.close(played(0).result, seed=end.seed, nonce=end.nonce)
    counted = parse_ends(text)[1]
    assert counted.stray_counts == (500, 500, 0)
    assert [answer.request_id for answer in counted.stray] == list(range(2 * KEPT_STRAYS))


# ------------------------------------------------------------------------- reading


@pytest.mark.parametrize("index", range(len(TABLES)))
def test_what_was_written_is_read_back(index: int) -> None:
    """Writing what was read gives the same bytes again: reading loses nothing."""
    text = played(index).text
    replay = parse(text)
    assert rewrite(replay) == text
    assert (replay.header, replay.end) == parse_ends(text)


def test_decisions_keep_how_they_came_about() -> None:
    """Asked, forced and fallback decisions come back with cause, times, note and refused answers."""
    steps = [step for step in parse(played(1).text).steps if isinstance(step.event, Decided)]
    records = [step.decision for step in steps if step.decision is not None]
    assert len(records) == len(steps)
    assert {record.origin for record in records} == set(Origin)
    assert any(record.cause is FaultCause.TIMEOUT for record in records)
    assert any(
        record.origin is Origin.FALLBACK and record.cause is None and record.request_id is None
        for record in records
    )
    assert any(record.note == 'said "ü"' for record in records)
    assert any(refusal.reason is RejectReason.UNREADABLE for record in records for refusal in record.refused)
    assert sum(record.charged_us for record in records) > 0
    assert DecisionRecord(origin=Origin.FORCED) in records


@pytest.mark.parametrize("key", [b'"version":', b'"v":'])
@pytest.mark.parametrize("version", [b"7", b"99", b"0", b"-1"])
def test_another_format_is_one_sentence(key: bytes, version: bytes) -> None:
    """A replay of another version is refused in one line that names both (known fault P01)."""
    text = played(0).text.replace(key + b"1", key + version, 1)
    for read in (parse, parse_ends, verify):
        with pytest.raises(ReplayVersionError) as caught:
            read(text)
        assert f"of format version {version.decode()}, and" in str(caught.value)
        assert f"reads version {VERSION}:" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_line_of_another_version_is_named() -> None:
    """Each kind of line has a version of its own, which may be newer in the middle of a replay."""
    lines = played(0).text.splitlines(keepends=True)
    lines[4] = lines[4].replace(b'"v":1', b'"v":2')
    with pytest.raises(ReplayVersionError, match=r"^line 5: the line is of format version 2, and"):
        parse(b"".join(lines))


def edited(how: str) -> bytes:
    """A replay as other programs leave it."""
    text = played(0).text
    lines = text.splitlines(keepends=True)
    return {
        "CRLF": text.replace(b"\n", b"\r\n"),
        "CRLF in line 4": b"".join(lines[:3]) + lines[3][:-1] + b"\r\n" + b"".join(lines[4:]),
        "CR": text.replace(b"\n", b"\r"),
        "NUL": b"".join(lines[:2]) + b"\0" + b"".join(lines[2:]),
        "UTF-16": text.decode().encode("utf-16-le"),
        "byte order mark": b"\xef\xbb\xbf" + text,
        "nothing": b"",
        "one line": lines[0],
        "cut in a line": text[:-10],
        "cut between lines": b"".join(lines[:4]),
        "newline after the end": text + b"\n",
        "empty line": b"".join(lines[:3]) + b"\n" + b"".join(lines[3:]),
    }[how]


@pytest.mark.parametrize(
    ("how", "line", "told"),
    [
        ("CRLF", 1, "ends in CRLF, as on Windows, and the lines of a replay end in LF alone"),
        ("CRLF in line 4", 4, "ends in CRLF"),
        ("CR", 1, "carriage return"),
        ("NUL", 3, "NUL byte"),
        ("UTF-16", 1, "NUL byte"),
        ("byte order mark", 1, "byte order mark"),
        ("nothing", 1, "the replay is empty"),
        ("one line", 2, "the replay ends after its first line"),
        ("cut in a line", played(0).text.count(b"\n"), "cut off"),
        ("cut between lines", 4, "and not with its result"),
        ("newline after the end", played(0).text.count(b"\n") + 1, "the line is empty"),
        ("empty line", 4, "the line is empty"),
    ],
)
def test_a_replay_that_was_edited_or_cut_is_told(how: str, line: int, told: str) -> None:
    """The sentence names the line and what is wrong with it."""
    with pytest.raises(ReplayError) as caught:
        parse(edited(how))
    assert str(caught.value).startswith(f"line {line}: ")
    assert told in str(caught.value)
    for size in (1, 7):
        pieces = partial(in_pieces_of, edited(how), size)
        with pytest.raises(ReplayError) as again:
            list(read_events(pieces, read_ends(pieces).last_number))
        assert str(again.value) == str(caught.value)


def in_pieces_of(text: bytes, size: int) -> Iterator[bytes]:
    """A text in small pieces, which end anywhere."""
    return (text[start : start + size] for start in range(0, len(text), size))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"", 1),
        (b"\n", 1),
        (b"{}\n{}\n", 1),
        (b"\x00\xff\n\n", 1),
        (b'{"format":"other","version":1}\n{}\n', 1),
        (b"[" * 100_000 + b"\n{}\n", 1),
        (b'{"format":"kratzen-replay","version":1,"x":' + b"[" * 100_000 + b"\n{}\n", 1),
        (b"x\n" * 100_000, 1),
    ],
)
def test_what_is_no_replay_is_refused(text: bytes, line: int) -> None:
    """Bytes that are no replay are refused with the line that shows it, never with another error."""
    with pytest.raises(ReplayError) as caught:
        parse(text)
    assert caught.value.line == line
    assert isinstance(verify(text), Difference)


def test_cut_text_is_refused_at_every_byte() -> None:
    """A replay that ends too early is refused, wherever it was cut."""
    text = played(0).text
    for length in range(len(text)):
        with pytest.raises(ReplayError):
            parse(text[:length])


# ------------------------------------------------------------------------- verifying


@pytest.mark.parametrize("index", range(len(TABLES)))
def test_true_replay_verifies(index: int) -> None:
    """A replay that nobody touched verifies."""
    assert verify(played(index).text) is None


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("players", [3, 4, 5, 6])
def test_replays_of_every_table_size_verify(preset: str, players: int) -> None:
    """Sessions of every preset and table size verify, tie-breaks included."""
    for play_seed in range(5):
        table = Table(seating=tuple("abcdef"[:players]), preset=preset, deals=3, play_seed=play_seed)
        assert verify(play(table).text) is None


def test_every_changed_byte_is_found_in_its_line() -> None:
    """One changed byte anywhere in a replay is found, and the line that holds it is named."""
    text = played(0).text
    changed = bytearray(text)
    for at, byte in enumerate(text):
        changed[at] = byte ^ 1 << at % 8
        assert line_at_fault(bytes(changed)) == text[:at].count(b"\n") + 1
        changed[at] = byte


@pytest.mark.parametrize("byte", [b"\n", b"\r", b"\0"])
def test_a_line_that_is_broken_is_at_fault_where_it_begins(byte: bytes) -> None:
    """Wherever it is broken, and though nothing be left after that."""
    text = played(0).text
    for at in range(1, len(text) - 1):
        if text[at : at + 1] != b"\n":
            assert line_at_fault(text[:at] + byte + text[at + 1 :]) == text[:at].count(b"\n") + 1


def test_an_empty_line_is_at_fault_itself() -> None:
    """Between two lines, and at the end."""
    lines = played(0).text.splitlines(keepends=True)
    for at in range(1, len(lines) + 1):
        assert line_at_fault(b"".join([*lines[:at], b"\n", *lines[at:]])) == at + 1


@given(st.data())
def test_any_changed_byte_is_found_in_its_line(data: st.DataObject) -> None:
    """The same for any other byte in its place, in replays of every kind."""
    text = played(data.draw(st.integers(0, len(TABLES) - 1))).text
    at = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != text[at]))
    assert line_at_fault(text[:at] + bytes([byte]) + text[at + 1 :]) == text[:at].count(b"\n") + 1


def line_at_fault(text: bytes) -> int:
    """The line that `verify` names; a test fails when it names none."""
    try:
        difference = verify(text)
    except ReplayVersionError as error:
        return error.line
    assert difference is not None
    assert str(difference).startswith(f"line {difference.line}: ")
    return difference.line


@given(st.data())
def test_lines_that_are_missing_or_moved_are_found(data: st.DataObject) -> None:
    """A line left out, written twice or swapped with another is a difference."""
    lines = played(0).text.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 1))
    other = data.draw(st.integers(0, len(lines) - 1))
    swapped = list(lines)
    swapped[at], swapped[other] = swapped[other], swapped[at]
    for changed in (lines[:at] + lines[at + 1 :], lines[:at] + lines[at:][:1] * 2 + lines[at + 1 :], swapped):
        if changed != lines:
            assert verify(b"".join(changed)) is not None


@pytest.mark.parametrize(
    ("line", "old", "new", "what", "expected", "found"),
    [
        ("antes", b'"paid":[10,', b'"paid":[11,', "paid[0]", "10", "11"),
        ("trick", b'"winner":', b'"winner":1', "the line cannot be read", "", ""),
        ("settlement", b'"pot_before":30', b'"pot_before":31', "pot_before", "30", "31"),
        ("end", b'"ending":"deals"', b'"ending":"bust"', "ending", '"deals"', '"bust"'),
        ("result", b'"places":[', b'"places":[ ', "text", "", ""),
    ],
)
def test_difference_is_named(line: str, old: bytes, new: bytes, what: str, expected: str, found: str) -> None:
    """A difference says where in the line it is, what must stand there and what does."""
    text = played(0).text
    number = [str(line["t"]) for line in lines_of(text)].index(line)
    lines = text.splitlines(keepends=True)
    assert old in lines[number]
    lines[number] = lines[number].replace(old, new)
    difference = verify(b"".join(lines))
    assert difference is not None
    assert difference.line == number + 1
    assert difference.what.startswith(what)
    if expected:
        assert (difference.expected, difference.found) == (expected, found)


def test_forged_answer_is_no_legal_one() -> None:
    """An answer that was not legal at the table is named with those that were."""
    text = played(0).text
    forged = text.replace(b'"answer":"card ', b'"answer":"fold","x":"', 1)
    assert verify(forged) is not None
    lines = lines_of(text)
    number = next(at for at, line in enumerate(lines) if line["t"] == "decision" and line["how"] == "asked")
    held = {str(line["answer"]) for line in lines if line["t"] == "decision"}
    wrong = next(f"card {card}" for card in ("EA", "LA", "HA", "SA", "S6") if f"card {card}" not in held)
    raw = text.splitlines(keepends=True)
    raw[number] = raw[number].replace(str(lines[number]["answer"]).encode(), wrong.encode())
    difference = verify(b"".join(raw))
    assert difference is not None
    assert (difference.line, difference.what, difference.found) == (number + 1, "answer", wrong)
    assert str(lines[number]["answer"]) in difference.expected


def test_changed_time_is_found_by_its_own_line() -> None:
    """A time that was changed is found in its line, though no rule of the game says what it must be."""
    text = played(0).text
    number = next(at for at, line in enumerate(text.splitlines()) if b"charged_us" in line)
    lines = text.splitlines(keepends=True)
    lines[number] = lines[number].replace(b'"charged_us":', b'"charged_us":9')
    difference = verify(b"".join(lines))
    assert difference is not None
    assert (difference.line, difference.what) == (number + 1, "run.check, the checksum of this line")


def test_another_seed_breaks_the_commitment() -> None:
    """Seed and nonce must be those that the first line committed the arena to."""
    header = replace(parse_ends(played(0).text)[0], commitment=bytes(32))
    difference = verify(rewrite(parse(played(0).text), header=header))
    assert difference is not None
    assert "commitment" in difference.what


def test_fallback_that_was_none_is_found() -> None:
    """A decision that is said to be the fallback's must be what the fallback plays."""

    def blamed(record: DecisionRecord) -> DecisionRecord:
        if record.origin is not Origin.ASKED:
            return record
        return replace(record, origin=Origin.FALLBACK, cause=FaultCause.TIMEOUT)

    difference = verify(rewrite(parse(played(1).text), change=blamed))
    assert difference is not None
    assert difference.what == "answer of the fallback"


def test_strikes_are_counted_again() -> None:
    """A fallback of which the last line knows no strike is a difference."""

    def excused(record: DecisionRecord) -> DecisionRecord:
        return replace(record, cause=None) if record.origin is Origin.FALLBACK else record

    difference = verify(rewrite(parse(played(0).text), change=excused))
    assert difference is not None
    assert difference.what.startswith("strikes")
