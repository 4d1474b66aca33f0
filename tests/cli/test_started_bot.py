"""`kratzen bot check -- COMMAND`: what is printed of a bot that was started for it, and how it is stopped."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from arena.check import ProcessEnd
from arena.cli import started_bot
from arena.cli.started_bot import StartedBot
from arena.cli.verdicts import VerdictReport
from arena.clock import SystemTime
from arena.launcher import BotStart, ExitKind, ExitReport, Launcher
from arena.lobby import Lobby
from arena.status import Verdict
from tests.arena.served import KRATZEN, LIMIT_S, environment
from tests.cli.calling import kratzen

WAITS = """
import os, signal, sys
with open(sys.argv[1], "w") as pipe:
    pipe.write(str(os.getpid()))
while True:
    signal.pause()
"""
"""A bot that says in the pipe of its argument who it is, and never dials."""


def check(*command: str, options: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    """Check the bot of that command."""
    return subprocess.run(
        [KRATZEN, "bot", "check", *options, "--", *command],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env=environment(),
    )


def test_a_program_that_is_missing_is_told_once() -> None:
    """No step is taken: it is the command that is wrong."""
    done = check("no-such-program")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "kratzen: the bot cannot be started: no program no-such-program is installed"
    )


def test_a_wrong_token_leaves_json_what_it_is() -> None:
    """What the arena logs goes elsewhere; the verdict says how often a wrong token came."""
    done = check("python", "-m", "sample_bots.faulty", "wrong_token", options=("--json",))
    assert done.returncode == 1
    document = json.loads(done.stdout)
    first, second, *_ = document["steps"]
    assert first["evidence"][0].startswith("came: 1 call with a wrong token")
    assert second["skipped"]
    # Which status it prints is gRPC's to say: a call that ends before it has begun is none of its own.
    assert document["stderr"][0].startswith("wrong_token: ")


def test_what_a_bad_bot_printed_last_is_shown(tmp_path: Path) -> None:
    """After the verdicts and beside them, on stderr, without what a terminal would act on."""
    (tmp_path / "bot.py").write_text("print('no model here'); print('\\x1b[2Jgood bye'); raise SystemExit(3)")
    done = check("python", str(tmp_path / "bot.py"))
    assert done.returncode == 1
    assert done.stdout.startswith("FAIL  hello")
    assert done.stderr == "the last that the bot printed:\n  no model here\n  \\x1b[2Jgood bye\n"


def test_a_bad_bot_that_printed_nothing_is_told_by_its_verdicts(tmp_path: Path) -> None:
    """There is no head above nothing."""
    (tmp_path / "bot.py").write_text("raise SystemExit(3)")
    done = check("python", str(tmp_path / "bot.py"))
    assert (done.returncode, done.stderr) == (1, "")


def test_what_a_good_bot_printed_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its author has nothing to look for in it."""

    async def passed(command: tuple[str, ...], report: VerdictReport, *, deterministic: bool) -> ExitReport:
        assert (command, deterministic) == (("python", "bot.py"), False)
        report.add(Verdict("hello", True, "it came", ()))
        return ExitReport(kind=ExitKind.EXITED, sentence="", last_lines=("chatty",), log=Path("log"))

    monkeypatch.setattr(started_bot, "_check_until_signal", passed)
    done = kratzen("bot", "check", "--", "python", "bot.py")
    assert (done.code, done.out, done.err) == (0, "pass  hello             it came\n", "")


async def test_a_bot_whose_supervisor_was_killed_has_no_exit_code(tmp_path: Path) -> None:
    """How such a bot would have ended nobody knows: it is not taken for an exit with 0."""
    async with Launcher(log_folder=tmp_path, tournament_folder=tmp_path) as launcher:
        words = ("python", "-c", "import signal\nwhile True: signal.pause()")
        start = BotStart(number=1, name="bot", words=words, address="127.0.0.1:1", token="none")  # noqa: S106
        process = await launcher.start(start)
        bot = StartedBot(Lobby(SystemTime(), arena_version="0").member("bot"), process)
        os.kill(process.supervisor_pid, signal.SIGKILL)
        end = await bot.end(LIMIT_S)
        await bot.stop()
    assert end == ProcessEnd(None, "lost the process that watched over it, and was ended")


@pytest.mark.parametrize(
    ("number", "code", "told"),
    [
        (signal.SIGINT, 130, "kratzen: interrupted\n"),
        (signal.SIGTERM, 143, "kratzen: interrupted\n"),
        (signal.SIGHUP, 129, ""),
    ],
)
def test_a_signal_ends_the_check_and_its_bot(
    tmp_path: Path, number: signal.Signals, code: int, told: str
) -> None:
    """With the signal's exit code, one word where somebody is left to be told, and no process left."""
    (tmp_path / "waits.py").write_text(WAITS)
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [KRATZEN, "bot", "check", "--", "python", "waits.py", str(tmp_path / "pipe")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        cwd=tmp_path,
    )
    bot = int((tmp_path / "pipe").read_text())
    process.send_signal(number)
    out, said = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, said) == (code, "", told)
    with pytest.raises(ProcessLookupError):
        os.kill(bot, 0)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_while_the_command_is_loaded_just_ends_it(number: signal.Signals, code: int) -> None:
    """No traceback of whatever was being imported; outside of that, signals are what they were."""
    program = (
        "import os, signal\n"
        "from arena.cli.early import EndedAtOnce\n"
        "with EndedAtOnce(): pass\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        f"with EndedAtOnce(): os.kill(os.getpid(), {int(number)}); signal.pause()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stderr) == (code, "kratzen: interrupted\n")
