import asyncio
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import grpc
import grpc.aio
import psutil
import pytest
from structlog.testing import capture_logs

from arena import launcher
from arena.config import Sandbox
from arena.launcher import (
    MAX_RESTARTS,
    BotStart,
    ExitKind,
    ExitReport,
    Launcher,
    LaunchError,
    Limits,
    Restarts,
    log_name,
)
from tests.arena.test_supervisor import HIDDEN, HIDE_IN_MANY_WAYS
from tests.arena.witness import PATIENCE_S, PREAMBLE, Witness
from tests.figures import Figure

ROOT: Final = Path(__file__).parent.parent.parent
TOKEN: Final = "0123456789abcdef"  # noqa: S105 - it opens nothing
FOR_EVER: Final = "while True: signal.pause()"

ARENA: Final = """
import asyncio, json, sys
from pathlib import Path
from arena.launcher import BotStart, Launcher

async def main():
    bots = Launcher(log_folder=Path(sys.argv[1]), tournament_folder=Path(sys.argv[1]))
    words = tuple(json.loads(sys.argv[2]))
    bot = await bots.start(BotStart(number=1, name="alice", words=words, address="x", token="y"))
    print(bot.supervisor_pid, flush=True)
    sys.stdin.readline()
    {then}

asyncio.run(main())
"""
"""An arena that starts one bot, says its supervisor's id, and does `then` when it is told to go on."""


@pytest.fixture
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the working directories of bots are made; none is left there after the test."""
    folder = tmp_path_factory.mktemp("own")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def bots(tmp_path: Path, own_folders: Path) -> Launcher:
    """A launcher with its logs in `tmp_path / "logs"`."""
    return Launcher(log_folder=tmp_path / "logs", tournament_folder=tmp_path)


def a_start(*words: str, number: int = 1, name: str = "alice") -> BotStart:
    """A bot with this command."""
    return BotStart(number=number, name=name, words=words, address="127.0.0.1:1", token=TOKEN)


def python(program: str) -> tuple[str, ...]:
    """The command of a Python program that is there fast."""
    return ("python", "-I", "-S", "-c", program)


def printed(report: ExitReport) -> list[str]:
    """What a bot that was started once printed, line by line."""
    started, *lines = report.log.read_text().splitlines()
    assert started.startswith("[started: ")
    return lines


def about(pid: int, what: str) -> str:
    """A file that the system has about a process."""
    return Path(f"/proc/{pid}/{what}").read_text()


def descriptors() -> set[str]:
    """The open files of this process."""
    return {path.name for path in Path("/proc/self/fd").iterdir()}


async def run(bots: Launcher, *words: str) -> ExitReport:
    """Start a bot and wait for its end."""
    return await (await bots.start(a_start(*words))).wait()


async def test_an_exit_gets_a_sentence(bots: Launcher, tmp_path: Path) -> None:
    """A bot that exits is reported with its code, its last lines and its log."""
    report = await run(bots, *python("import sys; print('hello'); sys.exit('No module named x')"))
    assert report == ExitReport(
        kind=ExitKind.EXITED,
        sentence="exited with code 1",
        code=1,
        last_lines=("No module named x", "hello"),
        log=tmp_path / "logs" / "01-alice.log",
    )
    assert "No module named x" in report.log.read_text()


async def test_a_signal_gets_its_name(bots: Launcher) -> None:
    """A bot that a signal ended is reported with the signal's name."""
    report = await run(bots, "sh", "-c", "kill -SEGV $$")
    assert (report.kind, report.signal, report.code) == (ExitKind.EXITED, signal.SIGSEGV, None)
    assert report.sentence == "was ended by signal SIGSEGV"


async def test_a_signal_without_a_name_gets_its_number(bots: Launcher) -> None:
    """A real-time signal is named by its number."""
    number = signal.SIGRTMIN + 3
    report = await run(bots, "sh", "-c", f"kill -{number} $$")
    assert report.sentence == f"was ended by signal {number}"


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        (None, 0o755, r"there is no file \S+/bot"),
        ("", 0o644, r"\S+/bot is not executable"),
        ("#!/no/such/python\n", 0o755, r"\S+/bot: there is no interpreter as its first line \(#!\) names it"),
        ("print()\n", 0o755, r"\S+/bot: it is no program, and its first line names no interpreter \(#!\)"),
    ],
    ids=["not there", "not executable", "no interpreter", "no first line"],
)
async def test_a_program_that_cannot_be_started_is_reported(
    content: str | None, mode: int, told: str, bots: Launcher, tmp_path: Path
) -> None:
    """It is no error of the arena, but a report with a sentence that says what is wrong."""
    if content is not None:
        (tmp_path / "bot").write_text(content)
        (tmp_path / "bot").chmod(mode)
    report = await run(bots, str(tmp_path / "bot"), "x")
    assert report.kind is ExitKind.NOT_STARTED
    assert re.fullmatch(f"cannot be started: {told}", report.sentence)
    assert report.last_lines == ()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["no-such-program"], r"cannot be started: no program no-such-program is installed \(PATH is .*\)"),
        (["sh", "-c", "exit 3"], "exited with code 3 before it said Hello"),
        (["sh", "-c", "exit 0"], "exited with code 0 before it said Hello"),
        (["sh", "-c", "kill -KILL $$"], "was ended by signal SIGKILL before it said Hello"),
    ],
    ids=["not there", "code 3", "code 0", "signal"],
)
async def test_an_end_before_hello_is_one_sentence(words: list[str], told: str, bots: Launcher) -> None:
    """Only of a bot that did start it is said when it ended."""
    assert re.fullmatch(told, (await run(bots, *words)).early_sentence)


async def test_a_bot_that_cannot_go_into_its_box_is_named(
    bots: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several bots that are started at once it is clear which one asks for what is not there."""
    monkeypatch.setattr(launcher, "find_bwrap", lambda: Path("/usr/bin/bwrap"))
    with pytest.raises(LaunchError, match=r"^bot alice cannot be started: no program no-such-program is"):
        await bots.start(replace(a_start("no-such-program"), sandbox=Sandbox.BWRAP))


async def test_limits_are_named(tmp_path: Path, own_folders: Path) -> None:
    """A bot that passes a limit is reported with the limit."""
    limits = Limits(process_count=3)
    bots = Launcher(log_folder=tmp_path, tournament_folder=tmp_path, limits=limits)
    report = await run(bots, "sh", "-c", "sleep 99 & sleep 99 & sleep 99 & sleep 99")
    assert report.kind is ExitKind.PROCESSES
    assert report.sentence == "had more than 3 processes and was ended"


async def test_output_is_shown_and_not_obeyed(bots: Launcher) -> None:
    """Last lines are few and short, and what would steer a terminal is written out."""
    program = r"""
for n in range(100): print(n)
print('\x1b[2Jred\u202e\tend \x9b', 'x' * 1000)
"""
    report = await run(bots, *python(program))
    assert report.last_lines[:-1] == tuple(str(n) for n in range(91, 100))
    assert report.last_lines[-1].startswith("\\x1b[2Jred\\u202e")
    assert re.search(r"    *end \\x9b x+$", report.last_lines[-1])
    assert len(report.last_lines[-1]) == launcher.TAIL_LINE_LENGTH


async def test_a_bot_gets_only_its_environment(
    bots: Launcher, own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bot has the address, the token, a path, a language, its own folder, and nothing of the arena's."""
    monkeypatch.setenv("KRATZEN_ADMIN_TOKEN", "secret")
    monkeypatch.setenv("LANG", "de_AT.UTF-8")
    environment = dict(line.split("=", 1) for line in printed(await run(bots, "env")))
    folder = environment["HOME"]
    assert Path(folder).parent == own_folders
    assert environment == {
        "KRATZEN_ADDRESS": "127.0.0.1:1",
        "KRATZEN_TOKEN": TOKEN,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LANG": "de_AT.UTF-8",
        "HOME": folder,
        "TMPDIR": folder,
    }


async def test_bots_do_not_meet_in_their_folders(bots: Launcher, own_folders: Path, tmp_path: Path) -> None:
    """What a bot writes to its working directory, home or temporary folder, one beside it does not find."""
    places = "('.', os.environ['HOME'], tempfile.gettempdir())"
    scatter = f"""
import tempfile
print([name for place in {places} for name in os.listdir(place)], flush=True)
for place in {places}: open(place + '/spoor', 'w').close()
print(os.listdir(), flush=True)
meet(sys.argv[2]).recv(1)
"""
    with Witness(tmp_path) as witness:
        started = []
        for number, name in enumerate(("alice", "bob"), start=1):
            # The first has written, and is still there, when the second one looks around.
            start = a_start(*witness.script(scatter), name, number=number, name=name)
            started.append(await bots.start(start))
            await asyncio.to_thread(witness.meet, name)
        for bot in started:
            witness.say(bot.start.name)
            assert printed(await bot.wait()) == ["[]", "['spoor']"]


async def test_the_token_is_in_no_argument(bots: Launcher, tmp_path: Path) -> None:
    """No process that is started shows the token to those who list processes, nor does the log."""
    with Witness(tmp_path) as witness:
        bot = await bots.start(a_start(*witness.script("meet('bot').recv(1)")))
        await asyncio.to_thread(witness.meet, "bot")
        assert TOKEN not in about(bot.supervisor_pid, "cmdline")
        assert about(bot.supervisor_pid, "environ") == ""
        assert TOKEN not in about(witness.pids["bot"], "cmdline")
        assert TOKEN in about(witness.pids["bot"], "environ")
        witness.say("bot")
        assert TOKEN not in "".join(printed(await bot.wait()))


async def test_a_bot_is_stopped_with_all_it_started(
    bots: Launcher, own_folders: Path, tmp_path: Path
) -> None:
    """A stop ends every descendant of a bot within a second and says that it was a stop."""
    with Witness(tmp_path) as witness:
        bot = await bots.start(a_start(*witness.script(HIDE_IN_MANY_WAYS + FOR_EVER)))
        await asyncio.to_thread(witness.meet, *HIDDEN)
        async with asyncio.timeout(1):
            report = await bot.stop()
        witness.hears_the_end(within_s=0.001)
    assert (report.kind, report.sentence) == (ExitKind.STOPPED, "was stopped by the arena")
    assert await bot.stop() == await bot.wait() == report


async def test_a_supervisor_is_out_of_reach_of_the_terminal(bots: Launcher) -> None:
    """A supervisor has a session of its own: Ctrl-C reaches the arena, which then ends its bots in order."""
    bot = await bots.start(a_start("sleep", "99"))
    assert os.getsid(bot.supervisor_pid) == bot.supervisor_pid
    await bot.stop()


async def test_a_stop_after_the_end_changes_nothing(bots: Launcher) -> None:
    """The report of a bot that ended by itself stays the same when it is stopped later."""
    bot = await bots.start(a_start("false"))
    report = await bot.wait()
    assert report.kind is ExitKind.EXITED
    assert await bot.stop() == report


async def test_many_at_once_leave_nothing(bots: Launcher, own_folders: Path) -> None:
    """Many bots, started and stopped together, leave no process, descriptor, folder or task."""
    await run(bots, "true")  # What the first use opens for good is not counted.
    before = descriptors()
    tasks = len(asyncio.all_tasks())
    for _ in range(2):
        names = [f"bot{number}" for number in range(1, 21)]
        words = [("true",), ("sleep", "99"), ("no-such-program",), ("sh", "-c", "sleep 99 & exit 1")]
        starts = [
            a_start(*words[number % 4], number=number, name=name)
            for number, name in enumerate(names, start=1)
        ]
        async with bots:
            await asyncio.gather(*(bots.start(start) for start in starts))
            assert len(psutil.Process().children(recursive=True)) >= 5
    assert psutil.Process().children(recursive=True) == []
    assert descriptors() == before
    assert len(asyncio.all_tasks()) == tasks


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.nightly)])
async def test_starts_beside_a_busy_server(bots: Launcher, count: int, figure: Figure) -> None:
    """Bots start and end as they should while gRPC's threads are at work in the arena's process."""
    calls = 0

    async def answer(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        nonlocal calls
        calls += 1
        return request

    server = grpc.aio.server()
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        "Echo": grpc.unary_unary_rpc_method_handler(answer)
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Busy", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()

    async def ask_for_ever(channel: grpc.aio.Channel) -> None:
        echo: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/test.Busy/Echo")
        while True:
            assert await echo(b"x") == b"x"

    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        busy = [asyncio.create_task(ask_for_ever(channel)) for _ in range(4)]
        for first in range(0, count, 10):
            starts = [a_start("sh", "-c", "exit 5", number=first + number) for number in range(10)]
            started = await asyncio.gather(*(bots.start(start) for start in starts))
            assert [(await bot.wait()).code for bot in started] == [5] * 10
        assert not any(task.done() for task in busy)
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
    await server.stop(None)
    assert calls > count
    figure("G13", f"n = {count} starts beside {calls} calls")


@pytest.mark.nightly
async def test_two_hundred_sessions_leave_nothing(bots: Launcher, tmp_path: Path, figure: Figure) -> None:
    """Two hundred bots with children that ignore the end of their parent leave nothing at all."""
    await run(bots, "true")
    before = descriptors()

    async def play(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        with Witness(folder) as witness:
            bot = await bots.start(a_start(*witness.script(HIDE_IN_MANY_WAYS + FOR_EVER), number=number))
            await asyncio.to_thread(witness.meet, *HIDDEN)
            await bot.stop()
            witness.hears_the_end(within_s=0.001)

    for first in range(0, 200, 5):
        await asyncio.gather(*(play(number) for number in range(first, first + 5)))
    assert psutil.Process().children(recursive=True) == []
    assert descriptors() == before
    figure("E16", "n = 200 bots with children, nothing left")


# --- The arena ends -------------------------------------------------------------------------------


class Arena:
    """A process of its own that has started one bot."""

    def __init__(self, folder: Path, words: tuple[str, ...], then: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", ARENA.format(then=then), str(folder), json.dumps(words)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        assert self.process.stdout is not None
        self.supervisor_pid = int(self.process.stdout.readline())
        self._supervisor = os.pidfd_open(self.supervisor_pid)

    def close(self) -> None:
        """Wait for the arena and its supervisor to be gone."""
        assert select.select([self._supervisor], [], [], PATIENCE_S)[0]
        os.close(self._supervisor)
        self.process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize(
    "then",
    [
        pytest.param("os.kill(os.getpid(), 9)", id="killed"),
        pytest.param("os._exit(1)", id="exit"),
        pytest.param("raise RuntimeError", id="error"),
        pytest.param("return", id="never closed"),
        pytest.param("os.kill(os.getpid(), 11)", id="crash"),
        pytest.param("os.killpg(0, 9)", id="group killed"),
    ],
)
def test_nothing_outlives_the_arena(tmp_path: Path, then: str) -> None:
    """However the arena's process ends, every process of its bots is gone within a second."""
    with Witness(tmp_path) as witness:
        arena = Arena(
            tmp_path, witness.script(HIDE_IN_MANY_WAYS + FOR_EVER), f"import os; os.setpgid(0, 0); {then}"
        )
        witness.meet(*HIDDEN)
        assert arena.process.stdin is not None
        arena.process.stdin.write(b"go on\n")
        arena.process.stdin.flush()
        assert arena.process.stdout is not None
        assert arena.process.stdout.read() == b""  # It has ended.
        witness.hears_the_end(within_s=1)
        arena.close()
    assert list(tmp_path.glob("kratzen-*")) == []


# --- The supervisor ends --------------------------------------------------------------------------


async def test_a_lost_supervisor_leaves_no_bot(bots: Launcher, own_folders: Path, tmp_path: Path) -> None:
    """When someone kills a supervisor, the arena ends its bot with all that the bot started."""
    with Witness(tmp_path) as witness:
        bot = await bots.start(a_start(*witness.script(HIDE_IN_MANY_WAYS + FOR_EVER)))
        await asyncio.to_thread(witness.meet, *HIDDEN)
        os.kill(bot.supervisor_pid, signal.SIGKILL)
        report = await bot.wait()
        witness.hears_the_end(within_s=1)
    assert report.kind is ExitKind.LOST
    assert report.sentence == "lost the process that watched over it, and was ended"


SLOW_TO_CLEAR_UP: Final = """
import signal, sys
sys.path.append({arena!r})
import supervisor
supervisor.remove_folder = lambda folder: signal.pause()
sys.exit(supervisor.main([]))
"""
"""A supervisor whose bot left so many files that it comes to no end with them."""


@pytest.fixture
def _slow_to_clear_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No supervisor has time to remove its bot's folder."""
    script = tmp_path / "supervisor.py"
    script.write_text(SLOW_TO_CLEAR_UP.format(arena=str(launcher.SUPERVISOR.parent)))
    monkeypatch.setattr(launcher, "SUPERVISOR", script)


@pytest.mark.usefixtures("_slow_to_clear_up")
async def test_a_stop_leaves_no_folder_however_much_is_in_it(
    bots: Launcher, own_folders: Path, tmp_path: Path
) -> None:
    """What its supervisor has no time to remove is removed all the same, even where rights are missing."""
    with Witness(tmp_path) as witness:
        body = "os.mkdir('a')\nopen('a/b', 'w').close()\nos.chmod('a', 0)\nkept = meet('bot')\n" + FOR_EVER
        bot = await bots.start(a_start(*witness.script(body)))
        await asyncio.to_thread(witness.meet, "bot")
        (folder,) = await asyncio.to_thread(os.listdir, own_folders)
        assert await asyncio.to_thread(os.listdir, own_folders / folder) == ["a"]
        report = await bot.stop()
    assert report.kind is ExitKind.STOPPED
    assert await asyncio.to_thread(os.listdir, own_folders) == []


@pytest.mark.usefixtures("_slow_to_clear_up")
async def test_a_stop_does_not_wait_for_ever_for_a_folder(
    bots: Launcher, own_folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder with more than can be removed in time is removed while the arena goes on, and logged (F9)."""
    goes_on, removed = threading.Event(), threading.Event()

    def remove_at_length(folder: str) -> None:
        goes_on.wait()
        shutil.rmtree(folder)
        removed.set()

    monkeypatch.setattr(launcher, "remove_folder", remove_at_length)
    monkeypatch.setattr(launcher, "CLEAR_LIMIT_S", 0.01)
    with Witness(tmp_path) as witness:
        bot = await bots.start(a_start(*witness.script("kept = meet('bot')\n" + FOR_EVER)))
        await asyncio.to_thread(witness.meet, "bot")
        with capture_logs() as logs:
            report = await bot.stop()
    assert report.kind is ExitKind.STOPPED
    assert [entry["event"] for entry in logs] == ["a bot's folder takes long to remove"]
    goes_on.set()
    assert await asyncio.to_thread(removed.wait, 20)
    assert await asyncio.to_thread(os.listdir, own_folders) == []


STOP_IT: Final = "os.kill(os.getppid(), signal.SIGSTOP)\n"
"""What a bot does that stops its supervisor, as its user may."""


def wait_until_stopped(pid: int) -> None:
    """Return once a process stands still; each look takes its time."""
    while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
        pass


@pytest.mark.parametrize(
    ("then", "kind"),
    [
        pytest.param(FOR_EVER, ExitKind.STOPPED, id="once"),
        pytest.param(f"while True: {STOP_IT}", ExitKind.LOST, id="again and again"),
    ],
)
async def test_a_bot_that_stops_its_supervisor_is_ended_in_time(
    then: str, kind: ExitKind, bots: Launcher, own_folders: Path, tmp_path: Path
) -> None:
    """A stop takes no longer than a second with all that the bot started, however often it does so."""
    with Witness(tmp_path) as witness:
        body = HIDE_IN_MANY_WAYS + "kept.recv(1)\n" + STOP_IT + then
        bot = await bots.start(a_start(*witness.script(body)))
        await asyncio.to_thread(witness.meet, *HIDDEN)
        witness.say("bot")
        wait_until_stopped(bot.supervisor_pid)
        async with asyncio.timeout(1):
            report = await bot.stop()
        witness.hears_the_end(within_s=0.001)
    assert report.kind is kind


async def test_a_bot_that_kills_its_supervisor_is_ended_in_time(
    bots: Launcher, own_folders: Path, tmp_path: Path
) -> None:
    """Within a second it is gone with all that it started, and that is its end."""
    with Witness(tmp_path) as witness:
        body = HIDE_IN_MANY_WAYS + "kept.recv(1)\nos.kill(os.getppid(), signal.SIGKILL)\n" + FOR_EVER
        bot = await bots.start(a_start(*witness.script(body)))
        await asyncio.to_thread(witness.meet, *HIDDEN)
        witness.say("bot")
        async with asyncio.timeout(1):
            report = await bot.wait()
        witness.hears_the_end(within_s=0.001)
    assert report.kind is ExitKind.LOST


def test_a_stopped_supervisor_ends_its_bot_when_the_arena_is_killed(tmp_path: Path) -> None:
    """A second after the kill -9 a bot that stopped its supervisor is gone with all that it started."""
    with Witness(tmp_path) as witness:
        body = HIDE_IN_MANY_WAYS + "kept.recv(1)\n" + STOP_IT + FOR_EVER
        arena = Arena(tmp_path, witness.script(body), "return")
        witness.meet(*HIDDEN)
        witness.say("bot")
        wait_until_stopped(arena.supervisor_pid)
        arena.process.kill()
        arena.process.wait(PATIENCE_S)
        witness.hears_the_end(within_s=1)
        arena.close()
    assert list(tmp_path.glob("kratzen-*")) == []


async def test_a_supervisor_that_cannot_work_is_our_failure(bots: Launcher, tmp_path: Path) -> None:
    """When the log cannot be written the start fails with a sentence, and nobody's bot is blamed."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "01-alice.log").mkdir()
    with pytest.raises(
        LaunchError, match=r"^the supervisor of bot alice could not do its work: .*directory.*"
    ):
        await bots.start(a_start("true"))


async def test_a_log_folder_that_cannot_be_made_is_our_failure(tmp_path: Path) -> None:
    """A log folder below a plain file fails the start with a sentence."""
    (tmp_path / "file").write_text("")
    bots = Launcher(log_folder=tmp_path / "file" / "logs", tournament_folder=tmp_path)
    with pytest.raises(
        LaunchError, match=r"^the supervisor of bot alice cannot be started: .*file/logs: Not a directory$"
    ):
        await bots.start(a_start("true"))


async def test_a_supervisor_that_never_speaks_is_our_failure(
    bots: Launcher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A supervisor that ends without a word fails the start with a sentence."""
    (tmp_path / "silent.py").write_text("")
    monkeypatch.setattr(launcher, "SUPERVISOR", tmp_path / "silent.py")
    with pytest.raises(LaunchError, match="could not do its work: it ended without a word"):
        await bots.start(a_start("true"))


async def test_a_supervisor_that_says_nothing_for_too_long_is_our_failure(
    bots: Launcher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A bot that stops its supervisor before that could speak does not hold the arena up for ever."""
    (tmp_path / "stopped.py").write_text(
        "import os, signal\nwhile True: os.kill(os.getpid(), signal.SIGSTOP)"
    )
    monkeypatch.setattr(launcher, "SUPERVISOR", tmp_path / "stopped.py")
    monkeypatch.setattr(launcher, "START_LIMIT_S", 0.1)
    with pytest.raises(LaunchError, match=r"could not do its work: it did not say within 0\.1 s whether"):
        await bots.start(a_start("true"))
    assert psutil.Process().children(recursive=True) == []


async def test_a_garbled_report_does_not_stop_the_arena(
    bots: Launcher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A line on the reports' pipe that is no report counts as the loss of the supervisor."""
    (tmp_path / "garbled.py").write_text(
        'import sys\nprint(\'{"report": "started", "pid": 1}\', flush=True)\n'
        "print('garbled', flush=True)\nsys.stdin.read()"
    )
    monkeypatch.setattr(launcher, "SUPERVISOR", tmp_path / "garbled.py")
    bot = await bots.start(a_start("true"))
    assert (await bot.wait()).kind is ExitKind.LOST


async def test_a_start_that_is_given_up_leaves_nothing(
    bots: Launcher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A start that is cancelled before the bot is there lets go of the supervisor."""
    with Witness(tmp_path) as witness:
        (tmp_path / "slow.py").write_text(
            PREAMBLE + f"sys.argv = ['', {str(witness.path)!r}]\nkept = meet('slow')\nsys.stdin.read()"
        )
        monkeypatch.setattr(launcher, "SUPERVISOR", tmp_path / "slow.py")
        start = asyncio.create_task(bots.start(a_start("true")))
        await asyncio.to_thread(witness.meet, "slow")
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
        await asyncio.to_thread(witness.hears_the_end)
        await bots.close()


# --- Parts ----------------------------------------------------------------------------------------


def a_report(kind: ExitKind) -> ExitReport:
    """The report of an end of this kind."""
    return ExitReport(kind=kind, sentence=kind.value, log=Path("x.log"))


@pytest.mark.parametrize("kind", [ExitKind.EXITED, ExitKind.MEMORY, ExitKind.PROCESSES, ExitKind.LOST])
def test_a_bot_is_started_again_three_times(kind: ExitKind) -> None:
    """A bot that ends by itself is started again three times and no more; every reason is kept."""
    restarts = Restarts()
    assert [restarts.again(a_report(kind)) for _ in range(5)] == [True] * MAX_RESTARTS + [False] * 2
    assert restarts.reports == (a_report(kind),) * 5


def test_a_stopped_bot_is_not_started_again() -> None:
    """A bot that the arena stopped is not started again, and that is no reason to report."""
    restarts = Restarts()
    assert not restarts.again(a_report(ExitKind.STOPPED))
    assert restarts.reports == ()


def test_a_bot_that_cannot_start_is_not_tried_again() -> None:
    """A command that cannot be run is not run again; the reason is kept."""
    restarts = Restarts()
    assert not restarts.again(a_report(ExitKind.NOT_STARTED))
    assert restarts.reports == (a_report(ExitKind.NOT_STARTED),)


def test_restarts_count_over_a_resumed_tournament() -> None:
    """Restarts made before a tournament was resumed count."""
    exited, not_started = a_report(ExitKind.EXITED), a_report(ExitKind.NOT_STARTED)
    restarts = Restarts(before=[exited, not_started, exited])
    assert restarts.reports == (exited, not_started, exited)
    assert [restarts.again(exited) for _ in range(2)] == [True, False]
    assert [Restarts(before=[exited] * count).is_used_up for count in (0, 3, 4)] == [False, False, True]


def test_log_names_sort_like_the_bots() -> None:
    """A log is named by the bot's number in two digits and its name."""
    assert log_name(3, "my-bot.v2") == "03-my-bot.v2.log"
    assert log_name(123, "a") == "123-a.log"


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "A", "a\0b"])
def test_a_name_that_is_none_makes_no_file(name: str) -> None:
    """A name that no bot can have never becomes part of a file's name."""
    with pytest.raises(ValueError, match="not a bot's name"):
        log_name(1, name)
