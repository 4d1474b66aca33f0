import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest
from sqlalchemy import create_mock_engine
from sqlalchemy.schema import ExecutableDDLElement

from arena.faults import FaultCause
from arena.frame import pack_frame
from arena.ledger import Attempt, BotEnd, Ledger, TournamentState
from arena.ratings import NEW, fold
from arena.results import AttemptEnd, SessionResult, SlotState, block_result
from arena.schedule import Block, Plan, Slot, round_robin
from arena.store import (
    DamagedFrameError,
    FramePlace,
    Store,
    StoreConflictError,
    StoreError,
    StoreLockedError,
    StoreReader,
    check_session,
    schema,
    writer,
)
from arena.store.parts import Tail, append, cut_off, part_name, read_bytes
from arena.store.writer import utc_us
from tests.arena.sessions import TOURNAMENT_SEED, PlayedSession, Table, play

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).parents[2]
BOTS = ("anna", "berta", "clara")
BLOCKS = round_robin(Plan(bots=BOTS, table_size=3, seed=TOURNAMENT_SEED, blocks_per_group=3))
SLOTS = tuple(slot for block in BLOCKS for slot in block.slots)
CREATED_AT = "2026-11-29T09:59:00+00:00"


@cache
def played(slot: Slot, *, play_seed: int = 1, time_seed: int = 1) -> PlayedSession:
    """The session of a slot; other times change nothing in its play."""
    table = Table(
        seating=slot.seating,
        block=slot.block,
        session=slot.session,
        deals=1,
        tournament_seed=TOURNAMENT_SEED,
    )
    return play(replace(table, play_seed=play_seed, time_seed=time_seed))


def create(folder: Path, name: str = "tuesday", *, replace_unplayed: bool = False) -> Store:
    """A store of the schedule of these tests."""
    return Store.create(
        folder,
        name=name,
        spec='{"name":"tuesday"}',
        seed=TOURNAMENT_SEED,
        ante=10,
        timed=True,
        bots=BOTS,
        blocks=BLOCKS,
        created_at=CREATED_AT,
        replace_unplayed=replace_unplayed,
    )


def record(store: Store, *slots: Slot) -> None:
    """Record the sessions of slots, each for the first time."""
    for slot in slots:
        session = played(slot)
        assert store.record_session(session.result, session.text)


def failed(slot: Slot, attempt: int, ending: AttemptEnd) -> Attempt:
    """An attempt at a slot that gave no result."""
    return Attempt(
        block=slot.block,
        session=slot.session,
        attempt=attempt,
        ending=ending,
        why="a reason",
        started_at="2026-11-29T10:00:00+00:00",
        ended_at="2026-11-29T10:00:01+00:00",
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new store, open for writing."""
    with create(tmp_path / "run") as store:
        yield store


@pytest.fixture(scope="module")
def finished_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a closed store in which every slot is finished; not to be changed."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    with create(folder) as store:
        record(store, *SLOTS)
    return folder


@pytest.fixture
def full(finished_folder: Path, tmp_path: Path) -> Path:
    """A copy of `finished_folder` for one test."""
    return shutil.copytree(finished_folder, tmp_path / "run")


# ------------------------------------------------------------------------- what is kept


def test_store_is_a_ledger(store: Store) -> None:
    """The store is what a running tournament writes to."""
    ledger: Ledger = store
    assert ledger.facts().state is TournamentState.CREATED


def test_facts_and_schedule_come_back(store: Store) -> None:
    """What the tournament was made from is read back as it was."""
    facts = store.facts()
    assert (facts.name, facts.spec, facts.seed) == ("tuesday", '{"name":"tuesday"}', TOURNAMENT_SEED)
    assert (facts.ante, facts.timed, facts.created_at_us) == (10, True, utc_us(CREATED_AT))
    assert [(slot.block, slot.session, slot.seating) for slot in store.slots()] == [
        (slot.block, slot.session, slot.seating) for slot in SLOTS
    ]
    assert [entry.bot for entry in store.bots()] == list(BOTS)
    store.set_state(TournamentState.STOPPED)
    assert store.facts().state is TournamentState.STOPPED


def test_sessions_come_back(full: Path) -> None:
    """Results, times, places of the frames and the replays themselves are read back as they were."""
    with StoreReader.open(full) as reader:
        entries = reader.sessions()
        assert [entry.result for entry in entries] == [played(slot).result for slot in SLOTS]
        assert [reader.replay(entry) for entry in entries] == [played(slot).text for slot in SLOTS]
        assert [entry.label for entry in entries] == [slot.label for slot in SLOTS]
        assert {entry.attempt for entry in entries} == {1}
        assert {entry.ended_at_us - entry.started_at_us for entry in entries} == {1_250_000}
        assert [attempt.ending for attempt in reader.attempts()] == [AttemptEnd.FINISHED] * len(SLOTS)
        assert all(check_session(reader, entry) is None for entry in entries)


def test_replays_are_a_plain_zstd_file(full: Path) -> None:
    """The part file is read by any zstd reader as all sessions in the order in which they ended."""
    with zstd.open(full / "replays.jsonl.zst") as file:
        assert file.read() == b"".join([played(slot).text for slot in SLOTS])


def test_results_keep_faults_and_times(tmp_path: Path) -> None:
    """Faults with their details and the charged times of every decision are kept."""
    slot = SLOTS[0]
    table = Table(seating=slot.seating, block=1, session=1, deals=6, fault_rate=0.5, absent=1)
    session = play(table)
    causes = {fault.cause for seat in session.result.seats for fault in seat.faults}
    assert causes >= {FaultCause.TIMEOUT, FaultCause.NO_HANDSHAKE}
    with create(tmp_path / "run") as store:
        store.record_session(session.result, session.text)
        assert store.results() == (session.result,)


def test_slots_are_finished_void_or_open(store: Store) -> None:
    """The three counts are the whole schedule at every moment."""
    assert store.slot_counts().open == store.slot_counts().total == len(SLOTS)
    record(store, SLOTS[0])
    store.withdraw("anna", "revoked", running=[(1, 2)])
    counts = store.slot_counts()
    assert (counts.finished, counts.open, counts.void) == (1, 1, len(SLOTS) - 2)
    assert counts.total == len(SLOTS)


# ------------------------------------------------------------------------- blocks and ratings


def sessions_of(block: Block) -> list[SessionResult]:
    """The results of a block's sessions."""
    return [played(slot).result for slot in block.slots]


def test_last_session_writes_the_result_of_its_block(store: Store) -> None:
    """A block has no result until its last slot is finished, and then that of its sessions."""
    block = BLOCKS[0]
    record(store, *reversed(block.slots[1:]))
    assert store.block_results() == ()
    record(store, block.slots[0])
    expected = block_result(1, block.group, sessions_of(block), slot_count=3, ante=10)
    assert store.block_results() == (expected,)


def test_rating_steps_wait_for_the_blocks_before(store: Store) -> None:
    """A block is rated once all blocks before it are, whichever ended first."""
    record(store, *BLOCKS[2].slots, *BLOCKS[1].slots)
    assert store.rating_steps() == ()
    assert store.ratings() == dict.fromkeys(BOTS, NEW)
    record(store, *BLOCKS[0].slots)
    results = [
        block_result(block.number, block.group, sessions_of(block), slot_count=3, ante=10) for block in BLOCKS
    ]
    assert store.rating_steps() == fold(results)
    assert store.ratings() == dict(fold(results)[-1].after)


def test_block_with_a_void_slot_is_closed_and_not_rated(store: Store) -> None:
    """A block whose last open slot becomes void is closed, kept and left out of the ratings."""
    record(store, *BLOCKS[0].slots[:2])
    attempts = [failed(BLOCKS[0].slots[2], attempt, AttemptEnd.BOTS_ABSENT) for attempt in (1, 2, 3)]
    assert store.record_attempts(attempts) == (SlotState.OPEN, SlotState.OPEN, SlotState.VOID)
    (result,) = store.block_results()
    assert (result.void_count, result.rated) == (1, False)
    assert store.ratings() == dict.fromkeys(BOTS, NEW)
    record(store, *BLOCKS[1].slots)
    assert [step.block for step in store.rating_steps()] == [1, 2]
    assert store.ratings() != dict.fromkeys(BOTS, NEW)


# ------------------------------------------------------------------------- attempts and bots


def test_spoiled_attempts_make_a_slot_void(store: Store) -> None:
    """Three attempts that bots or the arena spoiled are the end of a slot; stops do not count."""
    slot = SLOTS[0]
    endings = [AttemptEnd.ARENA_ERROR, AttemptEnd.OPERATOR_STOP, AttemptEnd.BOTS_ABSENT]
    for attempt, ending in enumerate(endings, start=1):
        assert store.record_attempts([failed(slot, attempt, ending)]) == (SlotState.OPEN,)
    assert store.slots()[0].attempts == 3
    assert store.record_attempts([failed(slot, 4, AttemptEnd.BOTS_ABSENT)]) == (SlotState.VOID,)
    assert [attempt.ending for attempt in store.attempts()] == [*endings, AttemptEnd.BOTS_ABSENT]
    with pytest.raises(StoreConflictError, match="void"):
        store.record_session(played(slot).result, played(slot).text)


def test_attempt_is_recorded_once(store: Store) -> None:
    """The same attempt a second time is refused."""
    store.record_attempts([failed(SLOTS[0], 1, AttemptEnd.OPERATOR_STOP)])
    with pytest.raises(StoreConflictError, match=r"attempt 1 at session 1\.1"):
        store.record_attempts([failed(SLOTS[0], 1, AttemptEnd.OPERATOR_STOP)])
    with pytest.raises(ValueError, match="finished"):
        store.record_attempts([failed(SLOTS[0], 2, AttemptEnd.FINISHED)])


def test_attempts_before_the_result_are_kept(store: Store) -> None:
    """A slot that was played again names the attempt that counts, in store and replay (known fault S18)."""
    slot = SLOTS[0]
    store.record_attempts([failed(slot, 1, AttemptEnd.OPERATOR_STOP)])
    session = play(
        Table(seating=slot.seating, block=1, session=1, attempt=2, tournament_seed=TOURNAMENT_SEED)
    )
    store.record_session(session.result, session.text)
    (entry,) = store.sessions()
    assert entry.attempt == 2
    assert check_session(store, entry) is None
    assert [attempt.attempt for attempt in store.attempts()] == [1, 2]


def test_running_session_of_a_withdrawn_bot_may_end(store: Store) -> None:
    """A session that was running when its bot was withdrawn is taken if it ends, void if not (S14)."""
    store.withdraw("anna", "revoked", running=[(1, 1), (1, 2)])
    record(store, SLOTS[0])
    assert store.block_results()[0].block == 2
    assert store.record_attempts([failed(SLOTS[1], 1, AttemptEnd.OPERATOR_STOP)]) == (SlotState.VOID,)
    assert [result.block for result in store.block_results()] == [1, 2, 3]
    assert store.slot_counts().open == 0
    assert [entry.withdrawn for entry in store.bots()] == ["revoked", None, None]


def test_first_sight_of_a_bot_is_kept(store: Store) -> None:
    """A tournament keeps to the version and digest that it saw first."""
    assert store.see_bot("anna", "1.0", "abc").version == "1.0"
    again = store.see_bot("anna", "2.0", "def")
    assert (again.version, again.build_digest) == ("1.0", "abc")
    assert store.bots()[1].version is None


# ------------------------------------------------------------------------- twice


def test_same_result_again_is_taken_once(store: Store) -> None:
    """The same play reported again changes nothing, other times included (known fault S17)."""
    record(store, SLOTS[0])
    before = (store.folder / "replays.jsonl.zst").read_bytes()
    for time_seed in (1, 2):
        session = played(SLOTS[0], time_seed=time_seed)
        assert not store.record_session(session.result, session.text)
    assert (store.folder / "replays.jsonl.zst").read_bytes() == before
    assert store.results() == (played(SLOTS[0]).result,)


def test_different_result_is_refused(store: Store) -> None:
    """Another result for a finished slot is refused loudly, and the first one stays (known fault S12)."""
    record(store, SLOTS[0])
    other = played(SLOTS[0], play_seed=2)
    with pytest.raises(StoreConflictError, match=r"session 1\.1 has another result"):
        store.record_session(other.result, other.text)
    assert store.results() == (played(SLOTS[0]).result,)


def test_session_that_nobody_planned_is_refused(store: Store) -> None:
    """A result for a slot that is not in the schedule, or with another's replay, is refused."""
    stranger = play(Table(seating=BOTS, block=9, session=1))
    with pytest.raises(StoreError, match=r"no session 9\.1"):
        store.record_session(stranger.result, stranger.text)
    with pytest.raises(ValueError, match=r"1\.2 came with the result of 1\.1"):
        store.record_session(played(SLOTS[0]).result, played(SLOTS[1]).text)
    assert store.results() == ()
    assert not (store.folder / "replays.jsonl.zst").exists()


# ------------------------------------------------------------------------- crashes


def test_torn_tail_is_kept_aside_at_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much of a frame a crash left behind, exactly the frames that count stay (F2)."""
    # Hundreds of files: what a disk would do to them is not the question here.
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    frame = pack_frame(played(SLOTS[0]).text[:400])
    path = tmp_path / part_name(1)
    for length in range(1, len(frame) + 1):
        path.write_bytes(frame + frame[:length])
        (note,) = cut_off(tmp_path, {1: len(frame)})
        assert path.read_bytes() == frame
        aside = tmp_path / "replays.cut-off-1.bin"
        assert aside.read_bytes() == frame[:length]
        assert f"{length} bytes" in note
        assert aside.name in note
        aside.unlink()


@pytest.mark.parametrize("length", [1, 100, None])
def test_resuming_after_a_torn_frame(tmp_path: Path, length: int | None) -> None:
    """A frame without its transaction is put aside on opening and its session played again (P05)."""
    with create(tmp_path / "run") as store:
        record(store, *SLOTS[:2])
    replays = tmp_path / "run" / "replays.jsonl.zst"
    whole = replays.read_bytes()
    for crash in range(1, 4):
        with replays.open("ab") as file:
            file.write(pack_frame(played(SLOTS[2]).text)[:length])
        with Store.open(tmp_path / "run") as store:
            assert len(store.notes) == 1
            assert replays.read_bytes() == whole
            assert len([*store.folder.glob("replays.cut-off-*.bin")]) == crash
            assert len(store.results()) == 2
    with Store.open(tmp_path / "run") as store:
        assert store.notes == ()
        record(store, *SLOTS[2:])
        assert all(check_session(store, entry) is None for entry in store.sessions())
        assert len(store.rating_steps()) == len(BLOCKS)


def test_empty_part_of_a_crash_is_removed(tmp_path: Path) -> None:
    """A part that a crash left without a frame that counts is no part."""
    with create(tmp_path / "run"):
        pass
    (tmp_path / "run" / part_name(1)).write_bytes(b"half a frame")
    (tmp_path / "run" / part_name(12)).write_bytes(b"the same")
    with Store.open(tmp_path / "run") as store:
        assert len(store.notes) == 2
        assert not [*store.folder.glob("replays*.zst")]


def test_failed_transaction_leaves_nothing_and_may_be_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an error between frame and commit the session does not count; the second try does."""
    record(store, SLOTS[0])
    before = (store.folder / "replays.jsonl.zst").read_bytes()

    def fail(*rows: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(writer, "_close_block", fail)
            with pytest.raises(sqlite3.OperationalError):
                store.record_session(played(SLOTS[1]).result, played(SLOTS[1]).text)
        assert len(store.results()) == 1
    record(store, SLOTS[1])
    frame = pack_frame(played(SLOTS[1]).text)
    assert (store.folder / "replays.jsonl.zst").read_bytes() == before + frame


def test_full_disk_is_one_sentence_and_passes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the disk full nothing is reported as stored; once there is room it goes on (F3)."""

    def no_room(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    record(store, SLOTS[0])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_room)
        with pytest.raises(StoreError, match="No space left on device; its session does not count"):
            store.record_session(played(SLOTS[1]).result, played(SLOTS[1]).text)
    assert len(store.results()) == 1
    record(store, *SLOTS[1:])
    assert all(check_session(store, entry) is None for entry in store.sessions())


def test_full_database_is_one_sentence_and_passes(store: Store) -> None:
    """The same when it is the database that has no room."""
    record(store, SLOTS[0])
    with store._connection() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    large = replace(failed(SLOTS[1], 1, AttemptEnd.ARENA_ERROR), why="x" * 2**20)
    with pytest.raises(StoreError, match="full"):
        store.record_attempts([large])
    assert len(store.attempts()) == 1
    with store._connection() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    store.record_attempts([large])
    assert len(store.attempts()) == 2


RECORDER = """
import sys
from pathlib import Path
from arena.store import Store
from tests.arena.sessions import TOURNAMENT_SEED, Table, play
with Store.open(Path(sys.argv[1])) as store:
    for slot in store.slots():
        if slot.state == "open":
            table = Table(
                seating=slot.seating, block=slot.block, session=slot.session, deals=1,
                tournament_seed=TOURNAMENT_SEED,
            )
            session = play(table)
            assert store.record_session(session.result, session.text)
            print(f"{slot.block}.{slot.session}", flush=True)
"""


def test_killed_writer_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    """After kill -9 every session that was reported is there once, and the rest is played (F1)."""
    with create(tmp_path / "run"):
        pass
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}"}
    reported: list[str] = []
    for kill_after in (2, None):
        with subprocess.Popen(
            [sys.executable, "-c", RECORDER, str(tmp_path / "run")],
            env=environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdout is not None
            for count, line in enumerate(child.stdout, start=1):
                reported.append(line.strip())
                if count == kill_after:
                    child.send_signal(signal.SIGKILL)
        with StoreReader.open(tmp_path / "run") as reader:
            labels = [entry.label for entry in reader.sessions()]
            assert set(reported) <= set(labels)
            assert len(labels) == len(set(labels))
    with StoreReader.open(tmp_path / "run") as reader:
        assert reader.results() == tuple([played(slot).result for slot in SLOTS])
        assert all(check_session(reader, entry) is None for entry in reader.sessions())


# ------------------------------------------------------------------------- damage


def test_every_changed_byte_of_the_packed_file_is_found(full: Path) -> None:
    """A changed byte anywhere in a part is found, and part and session are named."""
    path = full / "replays.jsonl.zst"
    whole = path.read_bytes()
    with StoreReader.open(full) as reader:
        entries = reader.sessions()
        for at in range(0, len(whole), 37):
            changed = bytearray(whole)
            changed[at] ^= 1 << at % 8
            path.write_bytes(changed)
            hit = next(
                entry
                for entry in entries
                if entry.frame.offset <= at < entry.frame.offset + entry.frame.length
            )
            wrong = check_session(reader, hit)
            assert wrong is not None
            assert wrong.startswith(f"replays.jsonl.zst (part 1), session {hit.label}: ")


def test_damage_of_one_session_leaves_the_others(full: Path) -> None:
    """With damaged frames the list of sessions and all other replays are as before (known fault P03)."""
    path = full / "replays.jsonl.zst"
    changed = bytearray(path.read_bytes())
    with StoreReader.open(full) as reader:
        entries = reader.sessions()
        changed[entries[1].frame.offset + 100] ^= 1
        path.write_bytes(changed[:-1])
        assert reader.sessions() == entries
        wrong = {entry.label: check_session(reader, entry) for entry in entries}
        assert [label for label, why in wrong.items() if why] == ["1.2", "3.3"]
        assert "ends 1 bytes too early" in str(wrong["3.3"])
        path.unlink()
        with pytest.raises(DamagedFrameError, match="cannot be read: No such file"):
            reader.replay(entries[0])


def test_line_is_named_if_a_changed_frame_still_unpacks(full: Path) -> None:
    """A frame that was replaced by another whole one is found, with the line that differs."""
    path = full / "replays.jsonl.zst"
    with StoreReader.open(full) as reader:
        entry = reader.sessions()[-1]
        text = played(SLOTS[-1]).text
        at = text.index(b'"charged_us":') + len(b'"charged_us":')
        forged = pack_frame(text[:at] + b"9" + text[at:])
        whole = path.read_bytes()
        path.write_bytes(whole[: entry.frame.offset] + forged)
        longer = replace(entry, frame=replace(entry.frame, length=len(forged)))
        wrong = check_session(reader, longer)
    assert wrong is not None
    assert "session 3.3" in wrong
    line = text[:at].count(b"\n") + 1
    assert f"line {line}: " in wrong


def test_store_that_was_changed_is_found(full: Path) -> None:
    """A result that was changed in the database differs from its replay."""
    with closing(sqlite3.connect(full / "store.sqlite")) as connection:
        connection.execute("UPDATE seats SET chips = chips + 1 WHERE block = 2 AND session = 1 AND seat = 0")
        connection.commit()
    with StoreReader.open(full) as reader:
        wrong = [check_session(reader, entry) for entry in reader.sessions()]
    assert [why for why in wrong if why is not None] == [wrong[3]]
    assert "session 2.1: chips: " in str(wrong[3])


def test_going_on_behind_a_part_that_lost_its_end(full: Path, tmp_path: Path) -> None:
    """Nothing is glued to a file that ends too early: new frames go into a new part."""
    with create(tmp_path / "other") as store:
        record(store, *SLOTS[:3])
    path = tmp_path / "other" / part_name(1)
    path.write_bytes(path.read_bytes()[:-10])
    with Store.open(tmp_path / "other") as store:
        assert "are damaged" in store.notes[0]
        record(store, *SLOTS[3:])
        entries = store.sessions()
        assert [entry.frame.part for entry in entries] == [1] * 3 + [2] * 6
        assert [entry.label for entry in entries if check_session(store, entry)] == ["1.3"]


# ------------------------------------------------------------------------- parts


def test_full_part_is_followed_by_a_new_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that has come to its size is followed by the next, and every session is found."""
    monkeypatch.setattr(writer, "append", partial(append, limit_bytes=4000))
    record(store, *SLOTS)
    entries = store.sessions()
    parts = [entry.frame.part for entry in entries]
    assert parts == sorted(parts)
    assert parts[-1] >= 3
    assert {path.name for path in store.folder.glob("replays*")} == {part_name(part) for part in parts}
    assert all(check_session(store, entry) is None for entry in entries)


def test_append_overwrites_what_was_never_reported(tmp_path: Path) -> None:
    """A frame goes to where the frames that count end, whatever lies there."""
    assert append(tmp_path, Tail(1, 0), b"first").offset == 0
    append(tmp_path, Tail(1, 5), b"never reported")
    place = append(tmp_path, Tail(1, 5), b"second")
    assert (place.part, place.offset, place.length) == (1, 5, 6)
    assert (tmp_path / part_name(1)).read_bytes() == b"firstsecond"
    assert read_bytes(tmp_path, place) == b"second"
    assert read_bytes(tmp_path, FramePlace(1, 8, 100, "")) == b"ond"


# ------------------------------------------------------------------------- finding


def test_sessions_are_found_by_number_id_and_beginning(full: Path) -> None:
    """`1.2`, an id or the beginning of an id that fits one session alone, is that session."""
    with StoreReader.open(full) as reader:
        entry = reader.sessions()[1]
        assert reader.find("1.2") == entry
        assert reader.find(entry.result.session_id) == entry
        assert reader.find(entry.result.session_id[:12]) == entry


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("9.9", "none among the finished"),
        ("ffffffff", "none among the finished"),
        ("", "allowed is block and session"),
        ("1.2.3", "allowed is block and session"),
        ("%", "allowed is block and session"),
        ("'; DROP TABLE sessions", "allowed is block and session"),
    ],
)
def test_session_that_is_not_there_is_one_sentence(full: Path, text: str, why: str) -> None:
    """An id that names no session is refused with what is allowed."""
    with StoreReader.open(full) as reader, pytest.raises(StoreError, match=why):
        reader.find(text)


def test_beginning_that_fits_several_is_refused(full: Path) -> None:
    """A beginning that fits more than one id names none."""
    with StoreReader.open(full) as reader:
        firsts = [entry.result.session_id[0] for entry in reader.sessions()]
        twice = next(first for first in firsts if firsts.count(first) > 1)
        with pytest.raises(StoreError, match="several sessions have ids"):
            reader.find(twice)


# ------------------------------------------------------------------------- opening


def test_second_writer_is_refused_at_once(store: Store) -> None:
    """A second arena on the same folder is told which process has it, and may have it afterwards."""
    for attempt in (Store.open, create):
        with pytest.raises(StoreLockedError) as caught:
            attempt(store.folder)
        assert f"process {os.getpid()}" in str(caught.value)
    store.close()
    with Store.open(store.folder) as again:
        assert again.slot_counts().total == len(SLOTS)


def test_readers_neither_wait_nor_make_wait(store: Store) -> None:
    """A reader in the middle of reading sees what it saw, and the writer goes on (F3)."""
    record(store, SLOTS[0])
    with StoreReader.open(store.folder) as reader, reader._connection() as connection:
        count = schema.sessions.select()
        assert len(connection.execute(count).all()) == 1
        record(store, *SLOTS[1:])
        assert len(connection.execute(count).all()) == 1
        assert len(reader.sessions()) == len(SLOTS)


def test_reader_changes_nothing(full: Path) -> None:
    """A reader cannot write, and leaves database and replays as they are."""
    before = {path.name: path.read_bytes() for path in full.iterdir()}
    with StoreReader.open(full) as reader:
        assert len(reader.sessions()) == len(SLOTS)
        with pytest.raises(StoreError, match="readonly"), reader._connection() as connection:
            connection.execute(schema.tournament.delete())
    after = {path.name: path.read_bytes() for path in full.iterdir()}
    assert {name: after[name] for name in before} == before


def test_folder_that_cannot_be_written_is_read(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished store in a folder without write permission is read without a file beside it."""
    names = {path.name for path in full.iterdir()}
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with StoreReader.open(full) as reader:
        assert len(reader.sessions()) == len(SLOTS)
        assert {path.name for path in full.iterdir()} == names


def test_tournament_is_created_once(full: Path) -> None:
    """A folder that holds a tournament is not overwritten by another."""
    with pytest.raises(StoreError, match="holds a tournament already"):
        create(full)
    with StoreReader.open(full) as reader:
        assert len(reader.sessions()) == len(SLOTS)


def test_a_tournament_that_was_never_played_gives_way_when_it_is_told_to(tmp_path: Path) -> None:
    """Everything of it is gone: its state and what was seen of its bots too."""
    with create(tmp_path / "run") as store:
        store.see_bot("anna", "1", "")
        store.set_state(TournamentState.STOPPED)
    with pytest.raises(StoreError, match="holds a tournament already"):
        create(tmp_path / "run", "wednesday")
    with create(tmp_path / "run", "wednesday", replace_unplayed=True) as store:
        facts = store.facts()
        assert (facts.name, facts.state) == ("wednesday", TournamentState.CREATED)
        assert [entry.version for entry in store.bots()] == [None] * len(BOTS)
        assert len(store.slots()) == len(SLOTS)
        record(store, *SLOTS)


def test_a_tournament_at_which_an_attempt_was_made_never_gives_way(tmp_path: Path) -> None:
    """One without a result is enough, and so is a store of another format."""
    with create(tmp_path / "tried") as store:
        store.record_attempts([failed(SLOTS[0], 1, AttemptEnd.OPERATOR_STOP)])
    create(tmp_path / "newer").close()
    with closing(sqlite3.connect(tmp_path / "newer" / "store.sqlite")) as database:
        database.execute("UPDATE tournament SET format = 9")
        database.commit()
    for folder in (tmp_path / "tried", tmp_path / "newer"):
        with pytest.raises(StoreError, match="holds a tournament already"):
            create(folder, replace_unplayed=True)


def test_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    """A folder below a plain file is refused with its name."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/run cannot be written: Not a directory"):
        create(tmp_path / "file" / "run")


@pytest.mark.parametrize("kind", [Store, StoreReader])
def test_what_is_no_store_is_one_sentence(tmp_path: Path, kind: type[StoreReader]) -> None:
    """A missing, empty or foreign folder is refused in one line, whoever opens it."""
    folder = tmp_path / "run"
    with pytest.raises(StoreError, match="there is no folder"):
        kind.open(folder)
    folder.mkdir()
    with pytest.raises(StoreError, match=r"there is no store\.sqlite"):
        kind.open(folder)
    for content in (b"", b"no database at all, but long enough to be looked at" * 50):
        (folder / "store.sqlite").write_bytes(content)
        with pytest.raises(StoreError, match="cannot be used") as caught:
            kind.open(folder)
        assert "\n" not in str(caught.value)


def test_ends_of_bots_are_kept_in_order(tmp_path: Path) -> None:
    """Each bot's own, over any number of runs, the same one again too."""
    ends = [
        BotEnd(bot=bot, kind="exited", sentence=f"exited with code {code}")
        for bot, code in (("berta", 1), ("anna", 1), ("berta", 1), ("berta", 2))
    ]
    with create(tmp_path) as store:
        for end in ends[:2]:
            store.record_bot_end(end, CREATED_AT)
    with Store.open(tmp_path) as store:
        for end in ends[2:]:
            store.record_bot_end(end, CREATED_AT)
    with StoreReader.open(tmp_path) as reader:
        assert reader.bot_ends() == (ends[1], ends[0], ends[2], ends[3])


def test_a_store_of_the_first_format_is_read_and_gone_on_with(tmp_path: Path) -> None:
    """It knows of no ends of bots; once it is opened to be written it keeps them."""
    create(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection:
        connection.execute("DROP TABLE bot_ends")
        connection.execute("UPDATE tournament SET format = 1")
        connection.commit()
    with StoreReader.open(tmp_path) as reader:
        assert reader.bot_ends() == ()
    end = BotEnd(bot="anna", kind="exited", sentence="exited with code 1")
    with Store.open(tmp_path) as store:
        assert store.bot_ends() == ()
        store.record_bot_end(end, CREATED_AT)
        record(store, SLOTS[0])
    with StoreReader.open(tmp_path) as reader:
        assert (reader.bot_ends(), len(reader.results())) == ((end,), 1)


@pytest.mark.parametrize("kind", [Store, StoreReader])
def test_newer_store_is_one_sentence(full: Path, kind: type[StoreReader]) -> None:
    """A store of a newer program is refused in one line that names both formats."""
    with closing(sqlite3.connect(full / "store.sqlite")) as connection:
        connection.execute("UPDATE tournament SET format = 9")
        connection.commit()
    with pytest.raises(StoreError, match="is of format 9, and this program reads up to format 2"):
        kind.open(full)


@pytest.mark.parametrize("url", ["mysql://user:secret@host/db", "nonsense", "postgresql+nothing://host/db"])
def test_url_that_cannot_be_used_is_one_sentence(tmp_path: Path, url: str) -> None:
    """A database URL that is none is refused, and a password in it is not repeated."""
    with pytest.raises(StoreError, match="the store's URL cannot be used") as caught:
        StoreReader.open(tmp_path, url=url)
    assert "secret" not in str(caught.value)


def test_tables_are_postgresql_too() -> None:
    """Every table can be made in the other database."""
    statements: list[str] = []

    def note(statement: ExecutableDDLElement, *rows: object) -> None:
        statements.append(str(statement.compile(dialect=engine.dialect)).strip())

    engine = create_mock_engine("postgresql+psycopg://", note)
    schema.metadata.create_all(engine, checkfirst=False)
    made = [statement for statement in statements if statement.startswith("CREATE TABLE")]
    assert len(made) == len(schema.metadata.tables)


def test_times_are_utc_microseconds() -> None:
    """Times with any offset come in, microseconds since 1970 come out."""
    assert utc_us("1970-01-01T01:00:00.000001+01:00") == 1
    assert utc_us("2026-11-29T10:00:00.250+00:00") % 1_000_000 == 250_000
    with pytest.raises(ValueError, match="no offset"):
        utc_us("2026-11-29T10:00:00")


def test_session_with_other_cards_than_its_block_is_found(tmp_path: Path) -> None:
    """A true replay of another seed is told from the one that the tournament's seed asks for."""
    slot = SLOTS[0]
    foreign = play(Table(seating=slot.seating, block=slot.block, session=slot.session, deals=1))
    with create(tmp_path) as store:
        store.record_session(foreign.result, foreign.text)
        (entry,) = store.sessions()
        wrong = check_session(store, entry)
    assert wrong is not None
    assert "seed of the block" in wrong


def test_label_with_a_number_beyond_all_bounds_is_no_session(tmp_path: Path) -> None:
    """It is refused in a sentence like any other that is not there."""
    with create(tmp_path) as store, pytest.raises(StoreError):
        store.find("99999999999999999999.1")
