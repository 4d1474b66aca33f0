"""Starts bots as processes of this machine, each under a supervisor, and says how they ended.

Knows processes, folders and log files. Knows nothing of sessions or links: whoever asked for a bot hears
that it ended and why, and decides what that means. How a bot is watched and ended is `supervisor`'s.
"""

import asyncio
import contextlib
import errno
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal, Self, TypeAlias, assert_never

import msgspec
import structlog

from arena.aside import on_own_thread
from arena.bot_command import CommandError, find_program, search_path
from arena.config import Sandbox
from arena.sandbox import box_words, find_bwrap, socket_path
from arena.text import escape, is_bot_name

if sys.platform == "linux":  # Elsewhere no bot is started, and what a supervisor needs may not be there.
    from arena.supervisor import remove_folder

log = structlog.get_logger()

SUPERVISOR: Final = Path(__file__).with_name("supervisor.py")

CLEAR_LIMIT_S = 1.0
"""How long a bot's end waits for its folder to be removed, as a stop of the arena has only seconds."""
STOP_LIMIT_S: Final = 0.5
"""A supervisor is done soon after its grace; one that is not was itself stopped, or is stuck or far behind.

The other half of the second in which everything has to be gone is for clearing up in its place.
"""
START_LIMIT_S: Final = 30.0
"""A supervisor says in a fraction of a second whether its bot started, unless that stopped it before."""
MAX_RESTARTS: Final = 3
"""How often a bot is started again in one tournament."""
TAIL_LINE_COUNT: Final = 10
TAIL_LINE_LENGTH: Final = 300
_TAIL_BYTES: Final = 4096
_KILL_ROUNDS: Final = 200
"""Each looks at all processes of the machine, which takes milliseconds."""
_MIB: Final = 1024 * 1024


class LaunchError(RuntimeError):
    """The arena could not start a bot in the way it is to be started; the message names the bot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one bot, with all its processes, may use (`supervisor.Limits` says how each is kept).

    Attributes:
        memory_mib: resident memory of all its processes together.
        process_count: processes at one time.
        open_file_count: open files of one process.
        file_mib: size of one file that it writes.
        log_kib: size of its log file.
    """

    memory_mib: int = 2048
    process_count: int = 64
    open_file_count: int = 1024
    file_mib: int = 256
    log_kib: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class BotStart:
    """One bot to start.

    Attributes:
        number: its number in the tournament file, from 1; it names the log.
        name: its name, which the caller has checked: it becomes part of a file's name.
        words: its command, files made absolute (`bot_command.absolute_words`).
        address: where the arena listens (`KRATZEN_ADDRESS`).
        token: what it shows there (`KRATZEN_TOKEN`).
        sandbox: the box it goes into, if any; `address` is then that of a Unix socket.
    """

    number: int
    name: str
    words: tuple[str, ...]
    address: str
    token: str
    sandbox: Sandbox = Sandbox.NONE


class ExitKind(StrEnum):
    """Why the process of a bot ended; a closed list."""

    EXITED = "exited"
    NOT_STARTED = "not_started"
    STOPPED = "stopped"
    MEMORY = "memory"
    PROCESSES = "processes"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitReport:
    """How a bot's process ended.

    Attributes:
        kind: why.
        sentence: the same for people, as the end of a sentence that begins with the bot's name.
        code: its exit code, None when a signal ended it or it never ran.
        signal: the signal that ended it, if one did.
        last_lines: the last lines it printed, the latest last, safe to show on a terminal.
        log: the file with all it printed.
    """

    kind: ExitKind
    sentence: str
    code: int | None = None
    signal: int | None = None
    last_lines: tuple[str, ...] = ()
    log: Path

    @property
    def early_sentence(self) -> str:
        """The sentence for a bot that had not said Hello by then."""
        is_started = self.kind is not ExitKind.NOT_STARTED
        return f"{self.sentence} before it said Hello" if is_started else self.sentence


class Restarts:
    """How often one bot was started again in one tournament, and why; decides whether it may be again."""

    def __init__(self, limit: int = MAX_RESTARTS, *, before: Iterable[ExitReport] = ()) -> None:
        """`before` are the bot's ends in earlier runs of the tournament, in order."""
        self._left = limit
        self._reports: list[ExitReport] = []
        for report in before:
            self.again(report)

    @property
    def reports(self) -> tuple[ExitReport, ...]:
        """Every end of the bot that was not the arena's wish, in order."""
        return tuple(self._reports)

    @property
    def is_used_up(self) -> bool:
        """Whether the bot has ended more often than it may be started again."""
        return self._left < 0

    def again(self, report: ExitReport) -> bool:
        """Take note of an end; whether the bot is to be started again.

        It is not when the arena stopped it, nor when it could not be started: that will not change.
        """
        match report.kind:
            case ExitKind.STOPPED:
                return False
            case ExitKind.NOT_STARTED:
                self._reports.append(report)
                return False
            case ExitKind.EXITED | ExitKind.MEMORY | ExitKind.PROCESSES | ExitKind.LOST:
                self._reports.append(report)
                self._left -= 1
                return self._left >= 0
            case _:
                assert_never(report.kind)


# --- What a supervisor says ----------------------------------------------------------------------


class _Started(msgspec.Struct, tag_field="report", tag="started"):
    pid: int


class _NotStarted(msgspec.Struct, tag_field="report", tag="not_started"):
    why: str
    file: str


class _Failed(msgspec.Struct, tag_field="report", tag="failed"):
    why: str


class _Ended(msgspec.Struct, tag_field="report", tag="ended"):
    cause: Literal["exited", "stopped", "memory", "processes"]
    code: int | None
    signal: int | None
    tail: str


_Report: TypeAlias = _Started | _NotStarted | _Failed | _Ended


# --- One bot --------------------------------------------------------------------------------------


class BotProcess:
    """A bot that was started: wait for its end, or bring it about."""

    def __init__(self, supervised: "_Supervised") -> None:
        self._supervised = supervised
        self._reports = asyncio.StreamReader()
        self._first: asyncio.Future[_Report | None] = asyncio.get_running_loop().create_future()
        self._followed = asyncio.create_task(self._follow())

    @property
    def start(self) -> BotStart:
        """What it was started as."""
        return self._supervised.start

    @property
    def log(self) -> Path:
        """The file with what it prints."""
        return self._supervised.log

    @property
    def is_started(self) -> bool:
        """Whether its program could be started; only once `begin` has returned."""
        return isinstance(self._first.result(), _Started)

    @property
    def supervisor_pid(self) -> int:
        """The process that watches it."""
        return self._supervised.process.pid

    async def wait(self) -> ExitReport:
        """How it ended; when this returns, none of its processes is left."""
        return await asyncio.shield(self._followed)

    async def stop(self) -> ExitReport:
        """End it with all its processes, within a second; the report of its end if that came before."""
        self._supervised.cut()
        self._supervised.process.send_signal(signal.SIGCONT)  # Its bot may have stopped it.
        try:
            async with asyncio.timeout(STOP_LIMIT_S):
                return await self.wait()
        except TimeoutError:
            self._supervised.process.kill()
        return await self.wait()

    async def begin(self) -> None:
        """Return once it is clear whether it started; let go of it when that is no longer waited for.

        Raises:
            LaunchError: the supervisor could not do its work.
        """
        try:
            async with asyncio.timeout(START_LIMIT_S):
                first = await asyncio.shield(self._first)
        except asyncio.CancelledError:
            self._supervised.cut()
            raise
        except TimeoutError:
            await self.stop()
            first = _Failed(why=f"it did not say within {START_LIMIT_S:g} s whether the bot started")
        if first is None or isinstance(first, _Failed):
            await self.wait()
            why = "it ended without a word" if first is None else first.why
            raise LaunchError(f"the supervisor of bot {self.start.name} could not do its work: {why}")

    async def _follow(self) -> ExitReport:
        """Read the supervisor's reports to their end, collect it, and make the report of the bot's end."""
        last: _Report | None = None
        try:
            await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(self._reports), self._supervised.process.stdout
            )
            while (report := await self._next_report()) is not None:
                last = report
                if not self._first.done():
                    self._first.set_result(report)
        finally:
            if not self._first.done():
                self._first.set_result(None)
        await asyncio.to_thread(self._supervised.collect, lost=not isinstance(last, _Ended | _NotStarted))
        await self._clear_up()
        return _exit_report(last, self._supervised)

    async def _clear_up(self) -> None:
        """Remove what a stop left the supervisor no time for; that goes on by itself when it takes long."""
        folder = self._supervised.folder
        if not await asyncio.to_thread(os.path.lexists, folder):
            return
        try:
            async with asyncio.timeout(CLEAR_LIMIT_S):
                await on_own_thread(lambda: remove_folder(str(folder)))
        except TimeoutError:
            log.warning("a bot's folder takes long to remove", bot=self.start.name, folder=str(folder))

    async def _next_report(self) -> _Report | None:
        """The next report, None at the end; a line that is none ends the supervisor.

        A supervisor does not write such a line, but a bot that runs as root could.
        """
        try:
            line = await self._reports.readline()
            return msgspec.json.decode(line, type=_Report) if line else None
        except (ValueError, msgspec.MsgspecError):
            self._supervised.process.kill()
            return None


@dataclass(frozen=True, slots=True)
class _Supervised:
    """A supervisor's process and what is known of its bot."""

    process: "subprocess.Popen[bytes]"
    start: BotStart
    limits: Limits
    folder: Path
    log: Path

    def cut(self) -> None:
        """Let go of the string that the supervisor hangs on. It may have gone with some of its job unread."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def collect(self, *, lost: bool) -> None:
        """Wait for the supervisor, which is on its way out, and end for it what is left if it was lost.

        This takes a moment and is done in a thread.
        """
        self.process.wait()
        self.cut()
        if lost:
            kill_by_folder(self.folder)


def kill_by_folder(folder: Path) -> None:
    """Kill every process that was given `folder` as its own, when its supervisor is no more.

    What descends from a bot carries the bot's environment, unless it took care not to. That is the best
    there is without a supervisor, and it is only lost when someone kills it.
    """
    mark = b"TMPDIR=" + os.fsencode(folder)
    for _ in range(_KILL_ROUNDS):
        found = [process for process in Path("/proc").glob("[0-9]*") if _carries(process, mark)]
        if not found:
            return
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(process.name), signal.SIGKILL)


def _carries(process: Path, mark: bytes) -> bool:
    try:
        return mark in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False  # It is gone, or another user's.


# --- All bots -------------------------------------------------------------------------------------


class Launcher:
    """Starts bots and has them all ended when it is closed (it is an async context manager).

    Should it never be closed, all the same nothing stays: its pipes close with the arena's process.
    """

    def __init__(self, *, log_folder: Path, tournament_folder: Path, limits: Limits | None = None) -> None:
        """Logs go to `log_folder`, which is made if need be; `tournament_folder` has the tournament file."""
        self._log_folder = log_folder.absolute()
        self._tournament_folder = tournament_folder.absolute()
        self._limits = limits if limits is not None else Limits()
        self._started: list[BotProcess] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self, start: BotStart) -> BotProcess:
        """Start a bot; any number may be started at once.

        That a bot's program does not exist is no error here but the report of its end.

        Raises:
            LaunchError: the arena's side failed, or the bot asks for a sandbox, and that or the bot's
                program cannot be found.
        """
        if sys.platform != "linux":
            raise LaunchError("the arena starts bots on Linux only; elsewhere a bot is started by hand")
        try:
            supervised = self._spawn(start)
        except OSError as error:
            why = f"{error.filename or SUPERVISOR}: {error.strerror}"
            raise LaunchError(f"the supervisor of bot {start.name} cannot be started: {why}") from error
        except CommandError as error:
            raise LaunchError(f"bot {start.name} {error}") from None
        bot = BotProcess(supervised)
        self._started.append(bot)
        await bot.begin()
        return bot

    async def close(self) -> None:
        """Stop every bot that still runs."""
        await asyncio.gather(*(bot.stop() for bot in self._started))
        self._started.clear()

    def _spawn(self, start: BotStart) -> _Supervised:
        """Start the supervisor and give it its job.

        This is `subprocess` and not asyncio's, for two reasons. asyncio kills a process whose handle is
        thrown away, as when its loop ends by an error: the supervisor must not be killed but outlive us, to
        clear up. And without `preexec_fn` this never forks (it takes `vfork`), whatever the event loop is;
        gRPC's threads do not survive a fork. It takes a millisecond or two, as asyncio's would.
        """
        own_folder = Path(tempfile.gettempdir()).absolute() / f"kratzen-{secrets.token_hex(8)}"
        self._log_folder.mkdir(parents=True, exist_ok=True)
        log = self._log_folder / log_name(start.number, start.name)
        job = self._job(start, own_folder, log)
        process = subprocess.Popen(  # noqa: S603 - our own program, without a shell
            [sys.executable, "-I", "-S", str(SUPERVISOR)],
            cwd="/",
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # That it ended at once is seen when its reports end.
            process.stdin.write(job + b"\n")
            process.stdin.flush()
        return _Supervised(process, start, self._limits, own_folder, log)

    def _job(self, start: BotStart, own_folder: Path, log: Path) -> bytes:
        """The supervisor's orders (`supervisor.Job`); the token goes this way, and not in arguments."""
        environment = bot_environment(start, own_folder)
        limits = self._limits
        # Not msgspec: a folder's name need not be text that UTF-8 can hold.
        return json.dumps(
            {
                "words": start.words,
                "environment": environment,
                "folder": str(own_folder),
                "log": str(log),
                "box": self._box(start, own_folder, environment),
                "limits": {
                    "memory_bytes": limits.memory_mib * _MIB,
                    "process_count": limits.process_count,
                    "open_file_count": limits.open_file_count,
                    "file_bytes": limits.file_mib * _MIB,
                    "log_bytes": limits.log_kib * 1024,
                },
            }
        ).encode()

    def _box(self, start: BotStart, own_folder: Path, environment: dict[str, str]) -> tuple[str, ...]:
        if start.sandbox is Sandbox.NONE:
            return ()
        return box_words(
            find_bwrap(),
            words=start.words,
            program=find_program(start.words, environment["PATH"]),
            tournament_folder=self._tournament_folder,
            own_folder=own_folder,
            socket=socket_path(start.address),
            environment=environment,
            memory_bytes=self._limits.memory_mib * _MIB,
        )


def log_name(number: int, name: str) -> str:
    """The name of a bot's log file: `01-NAME.log`."""
    if not is_bot_name(name):
        raise ValueError(f"not a bot's name: {name!r}")
    return f"{number:02}-{name}.log"


def bot_environment(start: BotStart, own_folder: Path) -> dict[str, str]:
    """All that a bot's environment has in it: nothing of the arena's but the language and the path."""
    return {
        "KRATZEN_ADDRESS": start.address,
        "KRATZEN_TOKEN": start.token,
        "PATH": search_path(),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "HOME": str(own_folder),
        "TMPDIR": str(own_folder),
    }


# --- For people -----------------------------------------------------------------------------------

_BAD_PROGRAMS: Final = {
    os.strerror(errno.ENOENT): "there is no interpreter as its first line (#!) names it",
    os.strerror(errno.ENOEXEC): "it is no program, and its first line names no interpreter (#!)",
}
"""What the system's words mean when a program is there, is executable, and yet does not start."""


def _exit_report(last: _Report | None, supervised: _Supervised) -> ExitReport:
    log = supervised.log
    match last:
        case _NotStarted():
            sentence = _why_not_started(last, supervised.start.words)
            return ExitReport(kind=ExitKind.NOT_STARTED, sentence=sentence, log=log)
        case _Ended():
            kind = ExitKind(last.cause)
            return ExitReport(
                kind=kind,
                sentence=_sentence(kind, last, supervised.limits),
                code=last.code,
                signal=last.signal,
                last_lines=_last_lines(last.tail),
                log=log,
            )
        case _Started() | _Failed() | None:
            sentence = "lost the process that watched over it, and was ended"
            return ExitReport(kind=ExitKind.LOST, sentence=sentence, last_lines=_log_tail(log), log=log)
        case _:
            assert_never(last)


def _why_not_started(report: _NotStarted, words: Sequence[str]) -> str:
    try:
        find_program(words, search_path())
    except CommandError as error:
        return str(error)
    # The program is there, and what is wrong is in it.
    why = _BAD_PROGRAMS.get(report.why, report.why)
    return f"cannot be started: {report.file}: {why}"


def _sentence(kind: ExitKind, ended: _Ended, limits: Limits) -> str:
    if kind is ExitKind.STOPPED:
        return "was stopped by the arena"
    if kind is ExitKind.MEMORY:
        return f"used more than {limits.memory_mib} MiB of memory and was ended"
    if kind is ExitKind.PROCESSES:
        return f"had more than {limits.process_count} processes and was ended"
    if ended.signal is not None:
        return f"was ended by signal {_signal_name(ended.signal)}"
    return f"exited with code {ended.code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _log_tail(log: Path) -> tuple[str, ...]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return _last_lines(file.read().decode("utf-8", "replace"))
    except OSError:
        return ()


def _last_lines(text: str) -> tuple[str, ...]:
    """The last few lines of a bot's output; what a terminal would act on is shown instead of sent."""
    lines = [line for line in text.split("\n") if line.strip()]
    return tuple(escape(line.rstrip().expandtabs(4))[:TAIL_LINE_LENGTH] for line in lines[-TAIL_LINE_COUNT:])
