import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import psutil
import pytest

from arena import supervisor
from arena.supervisor import TAIL_BYTES, BoundedLog
from tests.arena.witness import PATIENCE_S, Witness

MIB: Final = 1024 * 1024
LIMITS: Final = {
    "memory_bytes": 1024 * MIB,
    "process_count": 64,
    "open_file_count": 256,
    "file_bytes": MIB,
    "log_bytes": 64 * 1024,
}

HIDE_IN_MANY_WAYS: Final = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def hide(name, *ways):
    if os.fork() == 0:
        for way in ways:
            way()
        kept = meet(name)
        while True:
            signal.pause()
def new_parent():
    if os.fork():
        os._exit(0)
hide("child")
hide("orphan", new_parent)
hide("session", os.setsid)
hide("daemon", os.setsid, new_parent, os.setsid)
if os.fork() == 0:
    kept = meet("stopped")
    os.kill(os.getpid(), signal.SIGSTOP)
kept = meet("bot")
"""
HIDDEN: Final = ("child", "orphan", "session", "daemon", "stopped", "bot")
"""Who connects in `HIDE_IN_MANY_WAYS`; all ignore SIGTERM, one stands still."""


class Supervised:
    """A supervisor that runs as a program of its own, with the test in the arena's place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "own"
        self.log = folder / "bot.log"
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def start(self, words: Sequence[str], environment: dict[str, str] | None = None, **limits: int) -> None:
        """Send the job."""
        job = {
            "words": words,
            "environment": environment or {"PATH": os.defpath},
            "folder": str(self.folder),
            "log": str(self.log),
            "box": [],
            "limits": LIMITS | limits,
        }
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        self.process.stdin.flush()

    def report(self) -> dict[str, Any]:
        """The next report; {} when there is no more."""
        assert self.process.stdout is not None
        return dict(json.loads(self.process.stdout.readline() or b"{}"))

    def cut(self) -> None:
        """Do what the arena's end does."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close(self) -> int:
        """Cut, wait for the end, and look whether all is clear; returns the exit code."""
        self.cut()
        assert self.process.stdout is not None
        with self.process.stdout:
            assert self.process.stdout.read() == b""
        code = self.process.wait(PATIENCE_S)
        assert not self.folder.exists()
        return code


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Supervised]:
    """A supervisor that waits for its job."""
    started = Supervised(tmp_path)
    yield started
    assert started.close() == 0


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    """Sees the lives of a test's processes."""
    with Witness(tmp_path) as started:
        yield started


def test_an_exit_is_reported(supervised: Supervised) -> None:
    """A bot that exits is reported with its exit code and the end of what it printed."""
    supervised.start(["sh", "-c", "echo one; echo two >&2; exit 3"])
    assert supervised.report()["report"] == "started"
    expected = {"cause": "exited", "code": 3, "signal": None, "tail": "one\ntwo\n"}
    assert supervised.report() == {"report": "ended", **expected}
    assert supervised.log.read_text() == (
        '[started: ["sh", "-c", "echo one; echo two >&2; exit 3"]]\none\ntwo\n'
    )


def test_a_signal_is_reported(supervised: Supervised) -> None:
    """A bot that a signal ended is reported with the signal's number."""
    supervised.start(["sh", "-c", "kill -SEGV $$"])
    assert supervised.report()["report"] == "started"
    expected = {"cause": "exited", "code": None, "signal": signal.SIGSEGV, "tail": ""}
    assert supervised.report() == {"report": "ended", **expected}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file or directory"),
        ("#!/no/such/interpreter\n", "No such file or directory"),
        ("no program", "Exec format error"),
    ],
)
def test_a_bot_that_cannot_start_is_reported(
    supervised: Supervised, tmp_path: Path, content: str | None, why: str
) -> None:
    """A program that is not there or that the system cannot run is reported with the reason."""
    program = tmp_path / "my_bot"
    if content is not None:
        program.write_text(content)
        program.chmod(0o755)
    supervised.start([str(program)])
    assert supervised.report() == {"report": "not_started", "why": why, "file": str(program)}
    assert supervised.report() == {}


def test_a_bot_may_leave_when_it_is_asked(supervised: Supervised, witness: Witness) -> None:
    """When the string is cut a bot gets SIGTERM and may still say and do something."""
    supervised.start(
        witness.script(
            "signal.signal(signal.SIGTERM, lambda *_: (print('bye', flush=True), os._exit(5)))\n"
            "kept = meet('bot')\n"
            "while True: signal.pause()"
        )
    )
    assert supervised.report()["report"] == "started"
    witness.meet("bot")
    supervised.cut()
    expected = {"cause": "stopped", "code": 5, "signal": None, "tail": "bye\n"}
    assert supervised.report() == {"report": "ended", **expected}


def test_nothing_hides_from_the_end(supervised: Supervised, witness: Witness) -> None:
    """A second after the string is cut every descendant is gone, whatever it did to escape."""
    supervised.start(witness.script(HIDE_IN_MANY_WAYS + "while True: signal.pause()"))
    witness.meet(*HIDDEN)
    supervised.cut()
    witness.hears_the_end(within_s=1)
    assert supervised.report()["report"] == "started"
    assert supervised.report() == {
        "report": "ended", "cause": "stopped", "code": None, "signal": signal.SIGKILL, "tail": "",
    }  # fmt: skip


def test_nothing_is_left_of_a_bot_that_exits(supervised: Supervised, witness: Witness) -> None:
    """When a bot exits, what it left running is ended with it."""
    supervised.start(witness.script(HIDE_IN_MANY_WAYS + "kept.recv(1)\nsys.exit(4)"))
    witness.meet(*HIDDEN)
    witness.say("bot")
    witness.hears_the_end(within_s=1)
    assert supervised.report()["report"] == "started"
    ended = supervised.report()
    assert (ended["cause"], ended["code"]) == ("exited", 4)


def test_a_bot_that_kills_its_supervisor_ends_itself(tmp_path: Path, witness: Witness) -> None:
    """Its own process is gone within a second, though neither supervisor nor arena ends it."""
    supervised = Supervised(tmp_path)
    supervised.start(
        witness.script("kept = meet('bot')\nos.kill(os.getppid(), signal.SIGKILL)\nsignal.pause()")
    )
    witness.meet("bot")
    assert supervised.process.wait(PATIENCE_S) == -signal.SIGKILL
    witness.hears_the_end(within_s=1)
    supervised.process.communicate()


def test_requests_to_leave_do_not_end_a_supervisor(supervised: Supervised, witness: Witness) -> None:
    """A supervisor that gets SIGTERM, SIGINT or SIGHUP still watches its bot to the end."""
    supervised.start(witness.script("meet('bot').recv(1)\nsys.exit(7)"))
    witness.meet("bot")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        supervised.process.send_signal(number)
    witness.say("bot")
    assert supervised.report()["report"] == "started"
    assert supervised.report()["code"] == 7


def test_a_bot_gets_what_it_needs_and_no_more(supervised: Supervised) -> None:
    """A bot has an environment, empty folder, session and limits of its own, and none of our descriptors."""
    tell = """
import json, os, resource, signal, sys
print(json.dumps({
    "environment": dict(os.environ),
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "input": os.readlink("/proc/self/fd/0"),
    "folder": [os.getcwd(), os.listdir()],
    "leads": os.getsid(0) == os.getpgid(0) == os.getpid(),
    "mode": os.stat(".").st_mode & 0o777,
    "ignored": [n for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "limits": {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in sys.argv[1:]},
}))
"""
    environment = {"PATH": os.defpath, "KRATZEN_TOKEN": "secret", "LC_CTYPE": "C.UTF-8"}
    limited = ["CORE", "NOFILE", "FSIZE", "DATA"]
    supervised.start([sys.executable, "-I", "-S", "-c", tell, *limited], environment)
    assert supervised.report()["report"] == "started"
    told = json.loads(supervised.report()["tail"])
    assert told == {
        "environment": environment,
        "descriptors": ["0", "1", "2", "3"],  # The last is that of the folder being listed.
        "input": "/dev/null",
        "folder": [str(supervised.folder), []],
        "leads": True,
        "mode": 0o700,
        "ignored": [signal.SIGPIPE, signal.SIGXFSZ],  # Python's own habit.
        "blocked": [],
        "limits": {
            "CORE": [0, 0],
            "NOFILE": [256, 256],
            "FSIZE": [MIB, MIB],
            "DATA": [2048 * MIB, 2048 * MIB],
        },
    }


def test_the_dead_are_collected_while_a_bot_runs(supervised: Supervised, witness: Witness) -> None:
    """An orphan that ends while its bot goes on does not count as a process for ever."""
    supervised.start(
        witness.script("""
if os.fork() == 0:
    if os.fork() == 0:
        kept = meet("orphan")
    os._exit(0)
os.wait()
siblings = f"/proc/{os.getppid()}/task/{os.getppid()}/children"
while open(siblings).read().split() != [str(os.getpid())]:
    pass
sys.exit(5)
""")
    )
    witness.meet("orphan")
    assert supervised.report()["report"] == "started"
    assert supervised.report()["code"] == 5


def test_the_last_words_are_heard(supervised: Supervised, witness: Witness) -> None:
    """What a bot printed before its end is taken in, even late and from a pipe that it made large."""
    supervised.start(
        witness.script(
            "import fcntl\nfcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)\n"
            "meet('bot').recv(1)\nos.write(1, b'x' * (1 << 20))"
        ),
        log_bytes=2 * MIB,
        file_bytes=4 * MIB,
    )
    witness.meet("bot")
    supervised.process.send_signal(signal.SIGSTOP)
    witness.say("bot")
    bot = psutil.Process(witness.pids["bot"])
    while bot.status() != psutil.STATUS_ZOMBIE:
        pass
    supervised.process.send_signal(signal.SIGCONT)
    assert supervised.report()["report"] == "started"
    assert supervised.report()["tail"] == "x" * TAIL_BYTES
    assert supervised.log.read_bytes().endswith(b"\n" + b"x" * MIB)


def test_memory_is_watched(supervised: Supervised, witness: Witness) -> None:
    """A bot whose processes use too much memory together is ended, and that is the cause."""
    take = "taken = bytearray(os.urandom(4096)) * (40 * 256)\n"
    supervised.start(
        witness.script(take + "os.fork()\nkept = meet(os.getpid())\nwhile True: signal.pause()"),
        memory_bytes=64 * MIB,
    )
    assert supervised.report()["report"] == "started"
    ended = supervised.report()
    assert (ended["cause"], ended["signal"]) == ("memory", signal.SIGKILL)


def test_memory_is_limited(supervised: Supervised) -> None:
    """A bot that asks for much too much memory at one stroke does not get it."""
    supervised.start([sys.executable, "-I", "-S", "-c", "taken = bytearray(1 << 30)"], memory_bytes=64 * MIB)
    assert supervised.report()["report"] == "started"
    ended = supervised.report()
    assert (ended["cause"], ended["code"]) == ("exited", 1)
    assert ended["tail"].endswith("MemoryError\n")


@pytest.mark.parametrize("way", ["pass", "os.setsid()"])
def test_a_flood_of_processes_is_ended(supervised: Supervised, witness: Witness, way: str) -> None:
    """A bot that becomes too many processes is ended with all of them, one session or many."""
    supervised.start(
        witness.script(
            f"kept = meet('all')\nfor _ in range(8):\n    if os.fork() == 0: {way}\nsignal.pause()"
        ),
        process_count=20,
    )
    witness.meet("all")
    assert supervised.report()["report"] == "started"
    assert supervised.report()["cause"] == "processes"
    witness.hears_the_end(within_s=1)


def test_a_log_is_bounded(supervised: Supervised) -> None:
    """A bot that prints without end is neither stopped nor kept waiting, and its log stays small."""
    supervised.start([sys.executable, "-I", "-S", "-c", "for n in range(300_000): print(n)"])
    assert supervised.report()["report"] == "started"
    ended = supervised.report()
    assert (ended["cause"], ended["code"]) == ("exited", 0)
    text = supervised.log.read_text()
    assert len(text) <= LIMITS["log_bytes"]
    assert "\n0\n1\n2\n" in text
    assert text.endswith("299998\n299999\n")
    assert "[the log is full: the rest is left out, but for the end]" in text
    assert ended["tail"].endswith("299999\n")


def test_a_bot_may_close_its_output(supervised: Supervised, witness: Witness) -> None:
    """A bot without output is watched as any other."""
    supervised.start(witness.script("os.close(1)\nos.close(2)\nmeet('bot').recv(1)\nos._exit(6)"))
    witness.meet("bot")
    witness.say("bot")
    assert supervised.report()["report"] == "started"
    assert supervised.report()["code"] == 6


def test_no_bot_without_an_arena(supervised: Supervised) -> None:
    """A supervisor whose string is cut before it has its job starts nothing."""
    supervised.cut()
    assert supervised.report() == {}


def test_a_failure_of_its_own_is_reported(tmp_path: Path) -> None:
    """A supervisor that cannot do its work says why and exits with 1."""
    supervised = Supervised(tmp_path / "no" / "such")
    supervised.start(["true"])
    assert supervised.report()["report"] == "failed"
    assert supervised.close() == 1


def test_it_is_not_for_people() -> None:
    """A supervisor started with arguments says that it is not for the command line."""
    ended = subprocess.run(
        [sys.executable, supervisor.__file__, "x"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "takes its orders from standard input" in ended.stderr


# --- Parts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 4000, 59_990, 70_000, 1_000_000])
@pytest.mark.parametrize("piece", [7, 5000, 2_000_000])
def test_a_log_keeps_both_ends(tmp_path: Path, size: int, piece: int) -> None:
    """Whatever the size of output and of its pieces, the file is bounded and nothing left out needlessly."""
    output = (b"%07d\n" * (size // 8 + 1) % tuple(range(size // 8 + 1)))[:size]
    path = tmp_path / "log"
    log = BoundedLog(str(path), 64 * 1024, b"[started]\n")
    for at in range(0, size, piece):
        log.write(output[at : at + piece])
    log.close()
    kept = path.read_bytes()
    assert log.tail() == output[-TAIL_BYTES:]
    assert len(kept) <= 64 * 1024
    assert kept.endswith(log.tail())
    if size < 60_000:
        assert kept == b"[started]\n" + output
    else:
        said = re.search(rb"\[(\d+) bytes were left out", kept)
        assert said is not None
        head = kept.partition(b"\n[the log is full")[0].removeprefix(b"[started]\n")
        assert output.startswith(head)
        assert len(head) + int(said[1]) == size


def test_a_second_start_goes_on_in_the_log(tmp_path: Path) -> None:
    """A log is continued at the next start; one that is half full is put aside first."""
    path = tmp_path / "log"
    for output in (b"one\n", b"two\n" * 10_000, b"three\n"):
        log = BoundedLog(str(path), 64 * 1024, b"[started]\n")
        log.write(output)
        log.close()
    assert path.read_bytes() == b"[started]\nthree\n"
    assert path.with_name("log.1").read_bytes() == b"[started]\none\n[started]\n" + b"two\n" * 10_000


def test_a_log_is_no_way_to_other_files(tmp_path: Path) -> None:
    """A link in the place of the log is refused: a bot could have put it there."""
    (tmp_path / "target").write_text("")
    (tmp_path / "log").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        BoundedLog(str(tmp_path / "log"), 64 * 1024, b"x")
    assert (tmp_path / "target").read_text() == ""


def test_a_full_disk_ends_no_supervision() -> None:
    """A log that cannot be written is given up, and the tail is kept all the same."""
    log = BoundedLog("/dev/full", 64 * 1024, b"[started]\n")
    log.write(b"x" * 100_000)
    log.close()
    assert log.tail() == b"x" * TAIL_BYTES


def test_both_ways_to_find_children_agree(witness: Witness) -> None:
    """Children are found alike by the kernel's lists and by looking at every process."""
    family = subprocess.Popen(
        witness.script("first, second = os.fork(), os.fork()\nmeet(f'{first > 0}{second > 0}').recv(1)")
    )
    witness.meet("TrueTrue", "TrueFalse", "FalseTrue", "FalseFalse")
    pids = witness.pids
    expected = {pids["TrueFalse"], pids["FalseTrue"]}
    assert set(supervisor.children_listed(family.pid)) == expected
    assert set(supervisor.children_searched(family.pid)) == expected
    assert set(supervisor.descendants_of(family.pid)) == set(pids.values()) - {family.pid}
    for name in pids:
        witness.say(name)
    assert family.wait(PATIENCE_S) == 0
    assert supervisor.children_listed(family.pid) == supervisor.children_searched(family.pid) == []


def test_memory_is_that_of_the_process() -> None:
    """Resident memory is counted in bytes, and a process that is gone has none."""
    before_bytes = supervisor.resident_bytes(os.getpid())
    taken = b"x" * (64 * MIB)
    grown_bytes = supervisor.resident_bytes(os.getpid()) - before_bytes
    # The kernel keeps count in portions, one for each processor.
    assert abs(grown_bytes - len(taken)) < 4 * MIB
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert supervisor.resident_bytes(gone.pid) == 0


def test_a_users_tasks_are_counted() -> None:
    """The threads of all processes of a user are counted, our own among them."""
    assert supervisor.task_count(os.getuid()) >= threading.active_count()
    assert supervisor.task_count(54_321) == 0


def test_a_folder_is_removed_whatever_is_in_it(tmp_path: Path) -> None:
    """Folders without rights and links that lead out are removed; what the links lead to is not touched."""
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    folder = tmp_path / "own"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "link").symlink_to(outside)
    (folder / "a" / "b" / "file").write_text("")
    for path in (folder / "a" / "b", folder / "a", folder):
        path.chmod(0)
    supervisor.remove_folder(str(folder))
    assert not folder.exists()
    assert outside.stat().st_mode & 0o777 == 0o500


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """A bot that puts a link where its folder was loses the link alone."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "own").symlink_to(tmp_path / "outside")
    supervisor.remove_folder(str(tmp_path / "own"))
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]


def test_a_folder_nested_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree that is too deep to be walked does not keep a supervisor from its end."""

    def give_up(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr(shutil, "rmtree", give_up)
    supervisor.remove_folder(str(tmp_path))
    assert tmp_path.exists()
