"""The small process that stands between the arena and one bot, and outlives neither.

The arena runs this file as a program of its own, one for each bot that it starts, with nothing but the
standard library (`python -I -S`). It knows nothing of the arena, the protocol or the game; what it is to
do comes as one JSON line on its standard input, what became of it goes out as JSON lines on its standard
output. Standard input is also the string that it hangs on: the arena alone holds the other end, so its
closing says that the arena wants the bot to end, or that the arena itself is gone, however it went.

What it promises: when it ends, no process that descends from the bot is left, wherever it may have hidden,
and neither is the bot's working directory.
"""

# Every import is paid for at the start of every bot: paths stay with `os` here, not `pathlib`.
# ruff: noqa: PTH101, PTH102, PTH105, PTH108, PTH110, PTH114, PTH116, PTH118, PTH123, PTH208

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Final, NamedTuple

CONTROL_FD: Final = 0
REPORT_FD: Final = 1

GRACE_S: Final = 0.25
"""Between SIGTERM and SIGKILL. Everything has to be gone within a second."""
LOOK_S: Final = 0.1
"""Between two looks at how many processes there are and what memory they use."""
KILL_PAUSE_S: Final = 0.01
"""Between two rounds of SIGKILL, while a killed process is still on its way out."""

READ_BYTES: Final = 65_536
TAIL_BYTES: Final = 4096
"""The last output of a bot, which its log and the report get even when the log is full."""
_MARK_ROOM_BYTES: Final = 256
"""More than the two lines take that say what was left out of a log."""

TASKS_A_PROCESS: Final = 64
"""Threads that one process may reasonably have; the kernel's limit counts threads as processes."""

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38

_PAGE_BYTES: Final = resource.getpagesize()


class Limits(NamedTuple):
    """What one bot, with all its processes, may use.

    Attributes:
        memory_bytes: resident memory of all its processes together.
        process_count: processes at one time.
        open_file_count: open files of one process.
        file_bytes: size of one file that it writes.
        log_bytes: size of its log file.
    """

    memory_bytes: int
    process_count: int
    open_file_count: int
    file_bytes: int
    log_bytes: int


class Job(NamedTuple):
    """What the arena asks for.

    Attributes:
        words: the bot's command.
        environment: the whole environment of the bot.
        folder: its working directory, which is made here and removed in the end.
        log: the file for its output; the folder of it is there already.
        box: the sandbox's program and its options, or nothing.
        limits: what the bot may use.
    """

    words: list[str]
    environment: dict[str, str]
    folder: str
    log: str
    box: list[str]
    limits: Limits


class Ending(NamedTuple):
    """Why a bot ended (`exited`, `stopped`, `memory`, `processes`), and its wait status."""

    cause: str
    status: int


class BoundedLog:
    """A log file of bounded size that keeps the first output and the last.

    What would make the file too large is left out, but for the last `TAIL_BYTES`, which are added at the
    end: a bot that says why it fails says so last. A disk that takes no more is treated as a full log,
    because a bot's log must not end its supervision.
    """

    def __init__(self, path: str, limit_bytes: int, heading: bytes) -> None:
        """Open the file to append; one that is half full from earlier starts is first put aside as `.1`."""
        if _size(path) > limit_bytes // 2:
            os.replace(path, path + ".1")
        # The bot could have put a link in this place, for us to write through.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self._put(heading)
        self._room_bytes = limit_bytes - _size(path) - TAIL_BYTES - _MARK_ROOM_BYTES
        self._left_out_bytes = 0
        self._recent = b""

    def write(self, data: bytes) -> None:
        """Take output of the bot, of any size."""
        kept = data[: self._room_bytes] if self._left_out_bytes == 0 else b""
        self._room_bytes -= len(kept)
        self._put(kept)
        if len(kept) < len(data):
            if self._left_out_bytes == 0:
                self._put(b"\n[the log is full: the rest is left out, but for the end]\n")
            self._left_out_bytes += len(data) - len(kept)
        self._recent = (self._recent + data)[-TAIL_BYTES:]

    def tail(self) -> bytes:
        """The last output, at most `TAIL_BYTES`, whether it stands in the file or not."""
        return self._recent

    def close(self) -> None:
        """Add the end of what was left out, and close the file."""
        if self._left_out_bytes:
            ending = self._recent[-min(len(self._recent), self._left_out_bytes) :]
            self._put(b"[%d bytes were left out; the end of them:]\n%b" % (self._left_out_bytes, ending))
        os.close(self._file)

    def _put(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError:
            return


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


# --- Who descends from whom -----------------------------------------------------------------------


def children_listed(pid: int) -> list[int]:
    """The children of a process, from the lists that the kernel keeps for each of its threads."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as listed:
                found += map(int, listed.read().split())
    except (FileNotFoundError, ProcessLookupError):
        pass  # It has ended while we looked; its children are ours by now.
    return found


def children_searched(pid: int) -> list[int]:
    """The same from the parent that each process of the machine names: slow, but every kernel has it."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(name) == pid]


def _parent(name: str) -> int | None:
    try:
        with open(f"/proc/{name}/stat", "rb") as stat:
            # The second field, the program's name in brackets, may hold spaces and brackets itself.
            return int(stat.read().rpartition(b")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


_KERNEL_LISTS_CHILDREN: Final = os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
children_of: Final = children_listed if _KERNEL_LISTS_CHILDREN else children_searched


def descendants_of(pid: int) -> Iterator[int]:
    """The children of a process and theirs, as they are found: ours are every process of the bot.

    A process that comes or goes meanwhile may be missed or given twice. Whoever kills them therefore asks
    again; what ends is known by having no child left, not from here.
    """
    waiting = [pid]
    while waiting:
        children = children_of(waiting.pop())
        yield from children
        waiting += children


def resident_bytes(pid: int) -> int:
    """Memory of a process that is really there; 0 when the process is gone.

    Pages that two processes share count for both of them.
    """
    try:
        with open(f"/proc/{pid}/statm", "rb") as statm:
            return int(statm.read().split()[1]) * _PAGE_BYTES
    except (FileNotFoundError, ProcessLookupError):
        return 0


def limit_passed(limits: Limits) -> str | None:
    """Which limit the bot's processes are over (`processes`, `memory`), looking no further than it takes."""
    memory_bytes = 0
    for count, pid in enumerate(descendants_of(os.getpid()), start=1):
        memory_bytes += resident_bytes(pid)
        if count > limits.process_count:
            return "processes"
        if memory_bytes > limits.memory_bytes:
            return "memory"
    return None


# --- What this process does to itself, because the bot inherits it or must not get at it -------------


def prepare_process(limits: Limits, *, boxed: bool) -> None:
    """Become the one that orphans go to, close our own doors, and take on the bot's limits.

    The limits are set here, before the bot is there, and it inherits them: once it runs it may have passed
    them already. None of them is one that this small process could meet.
    """
    # A process whose parent ends becomes our child and not that of init, even when it has left the group
    # and the session: whoever descends from the bot can be found from here.
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # Other processes of the same user, the bot among them, can then neither trace this one nor open its
    # pipes through /proc, which would keep the string from being cut.
    _prctl(_PR_SET_DUMPABLE, 0)
    # A bot may have stopped us when the arena is killed: then the kernel has us go on, and see that.
    _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)
    if not boxed:
        # No descendant can become another user (by sudo or the like), whom we might not kill. The sandbox
        # does the same inside; where its program needs such rights itself, it needs them before.
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _lower(resource.RLIMIT_CORE, 0)  # A core file would hold the token.
    _lower(resource.RLIMIT_NOFILE, limits.open_file_count)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    # Counts what a process may write to and nobody else sees, used or not: stacks of threads and heaps set
    # aside too, so it gets twice the room. It stops a jump between two looks. RLIMIT_AS would count all
    # that is merely mapped, of which Java, Go and Node take more than there is.
    _lower(resource.RLIMIT_DATA, 2 * limits.memory_bytes)
    # The kernel counts all threads of the user, so the bot's come on top of those that are there. It never
    # counts root's. What is kept to exactly is the number of processes that `limit_passed` counts.
    if os.getuid() != 0:
        _lower(resource.RLIMIT_NPROC, task_count(os.getuid()) + TASKS_A_PROCESS * limits.process_count)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, *(ctypes.c_ulong(number) for number in (value, 0, 0, 0))) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")


def _lower(which: int, limit: int) -> None:
    hard = resource.getrlimit(which)[1]
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(which, (limit, limit))


def task_count(user: int) -> int:
    """How many threads all processes of a user have."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return count


# --- The bot --------------------------------------------------------------------------------------


def start_bot(job: Job, output: int) -> subprocess.Popen[bytes]:
    """Start the bot at the head of a session, and so of a process group, of its own.

    It gets no descriptor of ours but `output`, the writing end of a pipe, for what it prints.
    """
    words = job.words
    kept_open: tuple[int, ...] = ()
    if job.box:
        options = _memory_file(b"\0".join(map(os.fsencode, job.box[1:])))
        words, kept_open = [job.box[0], "--args", str(options), "--", *job.words], (options,)
    try:
        return subprocess.Popen(  # noqa: S603 - to run the organiser's command is the purpose
            words,
            cwd=job.folder,
            env=job.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=kept_open,
            start_new_session=True,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - this process has no other thread
        )
    finally:
        for descriptor in kept_open:
            os.close(descriptor)


def _end_with_parent() -> None:
    """Have the kernel kill this process, which is to be the bot, when its supervisor is killed."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _memory_file(content: bytes) -> int:
    """A descriptor from which the sandbox reads its options: the token among them stands in no `ps`."""
    descriptor = os.memfd_create("options")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


class Supervision:
    """Watches one bot, takes what it prints to its log, and ends it with all that descends from it."""

    def __init__(self, output: int, log: BoundedLog) -> None:
        """Get ready for a bot that prints into the pipe with the reading end `output`."""
        self._output = output
        self._log = log
        self._poll = select.poll()
        for descriptor in (CONTROL_FD, output, _wake_at_signals()):
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)

    def watch(self, bot: int, limits: Limits) -> str:
        """Wait until the bot has ended or must end; returns the cause (`Ending`)."""
        look_at = time.monotonic()
        while True:
            if self._turn(LOOK_S):
                return "stopped"
            if _has_ended(bot):
                return "exited"
            if time.monotonic() >= look_at:
                collect_orphans(bot)
                passed = limit_passed(limits)
                if passed is not None:
                    return passed
                look_at = time.monotonic() + LOOK_S

    def end(self, bot: int, *, grace_s: float) -> int:
        """End every process that descends from the bot; returns the wait status of the bot itself.

        First SIGTERM and, for `grace_s`, a chance to leave. Then SIGKILL, until no child is left. Since
        orphans become our children, this is the same as no descendant left.
        """
        if grace_s:
            signal_descendants(signal.SIGTERM)
            until = time.monotonic() + grace_s
            while _some_live(bot) and (left_s := until - time.monotonic()) > 0:
                self._turn(left_s)
        # One call, in which no member of the group gets away by forking. The bot is not collected before,
        # so that its number, which is the group's, still is its own.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(bot, signal.SIGKILL)
        return self._kill_until_childless(bot)

    def finish_output(self) -> None:
        """Take what is left in the pipe when all who could write to it are gone."""
        while data := _read(self._output):
            self._log.write(data)

    def _turn(self, timeout_s: float) -> bool:
        """Wait for something to happen, at most so long, and take in output; True if the string was cut."""
        cut = False
        for descriptor, _ in self._poll.poll(timeout_s * 1000):
            data = _read(descriptor)
            if descriptor == self._output and data:
                self._log.write(data)
            elif data == b"":
                # An end of file would be reported for ever.
                self._poll.unregister(descriptor)
                cut = cut or descriptor == CONTROL_FD
        return cut

    def _kill_until_childless(self, bot: int) -> int:
        bot_status = 0
        while True:
            signal_descendants(signal.SIGKILL)
            try:
                while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
                    if ended[0] == bot:
                        bot_status = ended[1]
            except ChildProcessError:
                return bot_status
            self._turn(KILL_PAUSE_S)


def _has_ended(bot: int) -> bool:
    """Whether the bot is dead; it is not collected, and so keeps its number."""
    return os.waitid(os.P_PID, bot, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def collect_orphans(bot: int) -> list[int]:
    """Collect the dead among our children, but not the bot; returns those that live."""
    orphans = [pid for pid in children_of(os.getpid()) if pid != bot]
    return [pid for pid in orphans if os.waitpid(pid, os.WNOHANG)[0] == 0]


def _some_live(bot: int) -> bool:
    return bool(collect_orphans(bot)) or not _has_ended(bot)


def signal_descendants(number: int) -> None:
    """Send a signal to each descendant that is found, wherever it went."""
    for pid in descendants_of(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _wake_at_signals() -> int:
    """A descriptor that can be read whenever a signal came, so that a child's end is waited for by poll.

    The signals that ask a process to leave only wake this one: it leaves when the string is cut. They get
    a handler instead of being ignored, since a child would inherit that it is to ignore them.
    """
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _woken)
    return reading


def _woken(number: int, frame: FrameType | None) -> None:
    pass


def _read(descriptor: int) -> bytes | None:
    """What can be read without waiting: b"" at the end of the file, None when there is nothing now."""
    try:
        return os.read(descriptor, READ_BYTES)
    except BlockingIOError:
        return None


# --- The whole of it ------------------------------------------------------------------------------


def supervise(job: Job) -> None:
    """Start the bot, watch it, end it, clear up, and say at each step what happened."""
    heading = f"[started: {json.dumps(job.words)[:500]}]\n".encode()
    log = BoundedLog(job.log, job.limits.log_bytes, heading)
    os.mkdir(job.folder, 0o700)
    try:
        ending = run_bot(job, log)
        log.close()
        if ending is not None:
            report(
                "ended",
                cause=ending.cause,
                code=os.WEXITSTATUS(ending.status) if os.WIFEXITED(ending.status) else None,
                signal=os.WTERMSIG(ending.status) if os.WIFSIGNALED(ending.status) else None,
                tail=log.tail().decode("utf-8", "replace"),
            )
    finally:
        remove_folder(job.folder)


def run_bot(job: Job, log: BoundedLog) -> Ending | None:
    """From the bot's start to the end of all its processes; None when it could not be started."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    supervision = Supervision(reading, log)
    try:
        bot = start_bot(job, writing)
    except OSError as error:
        report("not_started", why=error.strerror, file=os.fsdecode(error.filename or job.words[0]))
        return None
    finally:
        os.close(writing)
    cause = "failed"
    try:
        report("started", pid=bot.pid)
        cause = supervision.watch(bot.pid, job.limits)
    finally:
        # A limit that was passed leaves no time to be polite. Our own failure leaves nothing running.
        status = supervision.end(bot.pid, grace_s=GRACE_S if cause in {"exited", "stopped"} else 0)
        bot.returncode = os.waitstatus_to_exitcode(status)  # Or Popen would look for it itself.
        supervision.finish_output()
    return Ending(cause, status)


def remove_folder(folder: str) -> None:
    """Remove the bot's folder, even where the bot took rights away from it; never follows a link.

    What is nested too deep to be walked stays: a bot that goes to such lengths does not get to spoil more.
    """
    if os.path.islink(folder):
        os.unlink(folder)
        return
    with contextlib.suppress(OSError, RecursionError):
        os.chmod(folder, 0o700)
        for path, names, _ in os.walk(folder):
            for name in names:
                inner = os.path.join(path, name)
                if not os.path.islink(inner):
                    os.chmod(inner, 0o700)
        shutil.rmtree(folder, ignore_errors=True)


def report(what: str, **facts: object) -> None:
    """Send one line to the arena. That it no longer listens is no reason to leave work undone."""
    with contextlib.suppress(OSError):
        os.write(REPORT_FD, json.dumps({"report": what, **facts}).encode() + b"\n")


def read_job() -> Job | None:
    """The one line that says what to do; None when the arena went before it was written."""
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(CONTROL_FD, READ_BYTES)
        if not data:
            return None
        line += data
    return _job(json.loads(line))


def _job(facts: Mapping[str, Any]) -> Job:
    return Job(**{**facts, "limits": Limits(**facts["limits"])})


def main(arguments: Sequence[str]) -> int:
    """Do one job; the exit code is 0 when every step was done, whatever the bot did."""
    if arguments:
        sys.stderr.write("The arena runs this program; it takes its orders from standard input.\n")
        return 2
    job = read_job()
    if job is None:
        return 0
    try:
        prepare_process(job.limits, boxed=bool(job.box))
        supervise(job)
    except Exception as error:  # noqa: BLE001 - this is the outermost place; the arena says it to people
        report("failed", why=f"{type(error).__name__}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
