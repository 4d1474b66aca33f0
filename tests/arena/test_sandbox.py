import asyncio
import json
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from arena.bot_command import CommandError
from arena.config import Sandbox
from arena.launcher import BotStart, ExitKind, Launcher, Limits
from arena.sandbox import MEMORY_PLACES, find_bwrap, socket_path
from tests.arena.test_launcher import ROOT, TOKEN, about, printed
from tests.arena.test_supervisor import HIDDEN, HIDE_IN_MANY_WAYS
from tests.arena.witness import PREAMBLE, Witness

needs_bwrap: Final = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

LOOK_AROUND: Final = """
import json, pathlib
kept = meet("bot")
port, project = int(sys.argv[2]), pathlib.Path(sys.argv[3])
here = pathlib.Path(sys.argv[0]).parent

def refusal(attempt):
    try:
        attempt()
    except OSError as error:
        return error.strerror

def names(folder):
    return sorted(path.name for path in pathlib.Path(folder).iterdir())

def packages():
    import engine.cards, kratzen.v1
    return "found"

print(json.dumps({
    "environment": dict(os.environ),
    "network": refusal(lambda: socket.create_connection(("127.0.0.1", port)).close()),
    "interfaces": [name for _, name in socket.if_nameindex()],
    "processes": sum(name.isdigit() for name in names("/proc")),
    "descriptors": len(names("/proc/self/fd")),
    "packages": packages(),
    "arena": (project / "arena").exists() or (project / "tests").exists(),
    "beside": names(here),
    "above": names(here.parent),
    "own": names("."),
    "others": names(".."),
    "write here": refusal(lambda: open("new", "w").close()),
    "write beside": refusal(lambda: open(here / "new", "w").close()),
    "write to the system": refusal(lambda: open("/usr/new", "w").close()),
    "write to the root": refusal(lambda: open("/new", "w").close()),
    "write to the devices": refusal(lambda: open("/dev/new", "w").close()),
    "write to Python": refusal(lambda: open(pathlib.Path(sys.prefix) / "new", "w").close()),
}), flush=True)
kept.recv(1)
sys.exit(9)
"""


@pytest.fixture
def tournament(tmp_path: Path) -> Path:
    """A folder with a tournament file, one bot beside it, and two in folders of their own."""
    folder = tmp_path / "cup"
    folder.mkdir()
    (folder / "cup.toml").write_text("seed = 'secret'")
    (folder / "my_bot.py").write_text(PREAMBLE + LOOK_AROUND)
    for name in ("alice", "bob"):
        (folder / name).mkdir()
        shutil.copy(folder / "my_bot.py", folder / name)
        (folder / name / "weights.bin").write_bytes(b"")
    return folder


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the working directories of bots are made; that of another bot is there."""
    folder = tmp_path / "own"
    (folder / "kratzen-another").mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert [path.name for path in folder.iterdir()] == ["kratzen-another"]


@pytest.fixture
def bots(tmp_path: Path, tournament: Path, own_folders: Path) -> Launcher:
    """A launcher for the tournament."""
    return Launcher(log_folder=tmp_path / "logs", tournament_folder=tournament)


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    """Sees the lives of a test's processes, through the socket that the arena would have."""
    with Witness(tmp_path) as started:
        yield started


@pytest.fixture
def port() -> Iterator[int]:
    """A port on loopback where somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def in_a_box(witness: Witness, *words: str) -> BotStart:
    """A bot in a box, with this command."""
    return BotStart(
        number=1,
        name="alice",
        words=words,
        address=f"unix:{witness.path}",
        token=TOKEN,
        sandbox=Sandbox.BWRAP,
    )


async def look_around(bots: Launcher, witness: Witness, script: Path, port: int) -> dict[str, Any]:
    """What a bot in a box tells of the place."""
    bot = await bots.start(in_a_box(witness, "python", str(script), str(witness.path), str(port), str(ROOT)))
    await asyncio.to_thread(witness.meet, "bot")
    witness.say("bot")
    report = await bot.wait()
    assert (report.kind, report.code) == (ExitKind.EXITED, 9), report.last_lines
    told: dict[str, Any] = json.loads(printed(report)[0])
    return told


@needs_bwrap
async def test_a_box_shows_what_a_bot_needs(
    bots: Launcher, witness: Witness, tournament: Path, port: int
) -> None:
    """A bot in a box has the arena's socket, its packages, its own files and folder, and no network."""
    told = await look_around(bots, witness, tournament / "alice" / "my_bot.py", port)
    environment = told.pop("environment")
    own = Path(environment["HOME"])
    assert environment == {
        "KRATZEN_ADDRESS": f"unix:{witness.path}",
        "KRATZEN_TOKEN": TOKEN,
        "PATH": environment["PATH"],
        "LANG": environment["LANG"],
        "HOME": str(own),
        "TMPDIR": str(own),
        "PWD": str(own),  # bwrap's.
    } | {name: value for name, value in environment.items() if name == "LC_CTYPE"}  # Python's own.
    assert told == {
        "network": "Connection refused",
        "interfaces": ["lo"],
        "processes": 2,  # bwrap's inner one and the bot.
        "descriptors": 5,  # The usual three, the socket, and the folder that is being listed.
        "packages": "found",
        "arena": False,
        "beside": ["my_bot.py", "weights.bin"],
        "above": ["alice"],
        "own": [],
        "others": [own.name],
        "write here": None,
        "write beside": "Read-only file system",
        "write to the system": "Read-only file system",
        "write to the root": "Read-only file system",
        "write to the devices": "Read-only file system",
        "write to Python": "Read-only file system",
    }


FILL_MEMORY: Final = """
import sys
kept = 0
for place in sys.argv[1:]:
    try:
        with open(place + "/new", "wb", buffering=0) as file:
            while kept < 200:
                kept += file.write(bytes(2**20)) / 2**20
    except OSError as error:
        print(place, error.strerror)
print(kept)
"""


@needs_bwrap
async def test_files_in_memory_have_a_limit(
    tmp_path: Path, tournament: Path, own_folders: Path, witness: Witness
) -> None:
    """What a bot in a box writes to places that lie in memory is as much as it may use, and no more."""
    (tournament / "my_bot.py").write_text(FILL_MEMORY)
    limits = Limits(memory_mib=64)
    bots = Launcher(log_folder=tmp_path / "logs", tournament_folder=tournament, limits=limits)
    places = ("/", "/dev", *MEMORY_PLACES)
    bot = await bots.start(in_a_box(witness, "python", str(tournament / "my_bot.py"), *places))
    report = await bot.wait()
    assert printed(report) == [
        "/ Read-only file system",
        "/dev Read-only file system",
        *[f"{place} No space left on device" for place in MEMORY_PLACES],
        "64.0",
    ]


@needs_bwrap
async def test_a_file_beside_the_tournament_comes_alone(
    bots: Launcher, witness: Witness, tournament: Path, port: int
) -> None:
    """A bot whose file lies beside the tournament file sees that file, not the tournament."""
    told = await look_around(bots, witness, tournament / "my_bot.py", port)
    assert told["beside"] == ["my_bot.py"]


@needs_bwrap
async def test_the_token_is_in_no_argument_of_a_box(
    bots: Launcher, witness: Witness, tournament: Path
) -> None:
    """Neither the sandbox's program nor the bot in it shows the token to those who list processes."""
    (tournament / "my_bot.py").write_text(PREAMBLE + "meet('bot').recv(1)")
    bot = await bots.start(in_a_box(witness, "python", str(tournament / "my_bot.py"), str(witness.path)))
    await asyncio.to_thread(witness.meet, "bot")
    (outer,) = about(bot.supervisor_pid, f"task/{bot.supervisor_pid}/children").split()
    (inner,) = about(int(outer), f"task/{outer}/children").split()
    for pid in (int(outer), int(inner)):
        assert "my_bot.py" in about(pid, "cmdline")
        assert TOKEN not in about(pid, "cmdline")
    witness.say("bot")
    assert (await bot.wait()).code == 0


@needs_bwrap
@pytest.mark.parametrize("kind", [ExitKind.STOPPED, ExitKind.LOST])
async def test_a_box_is_ended_with_all_in_it(
    bots: Launcher, witness: Witness, tournament: Path, kind: ExitKind
) -> None:
    """A stop, or the loss of its supervisor, ends what is in a box as it does any bot."""
    (tournament / "my_bot.py").write_text(PREAMBLE + HIDE_IN_MANY_WAYS + "while True: signal.pause()")
    bot = await bots.start(in_a_box(witness, "python", str(tournament / "my_bot.py"), str(witness.path)))
    await asyncio.to_thread(witness.meet, *HIDDEN)
    if kind is ExitKind.LOST:
        bot._supervised.process.kill()
        report = await bot.wait()
    else:
        report = await bot.stop()
    await asyncio.to_thread(witness.hears_the_end, 1)
    assert report.kind is kind


@needs_bwrap
async def test_a_program_of_its_own_comes_along(bots: Launcher, witness: Witness, tournament: Path) -> None:
    """A bot that is a program of its own and no script of another is found in the box."""
    program = tournament / "bob" / "my_bot"
    program.write_text("#!/bin/sh\nls $(dirname $0)\nexit 8\n")
    program.chmod(0o755)
    report = await (await bots.start(in_a_box(witness, str(program)))).wait()
    assert (report.code, printed(report)) == (8, ["my_bot", "my_bot.py", "weights.bin"])


def test_without_bubblewrap_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where bubblewrap is not installed the message says so and what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match=r"bubblewrap is not installed .*apt-get install bubblewrap"):
        find_bwrap()


@pytest.mark.parametrize("address", ["unix:/run/kratzen/socket", "unix:///run/kratzen/socket"])
def test_a_box_needs_the_socket_of_the_arena(address: str) -> None:
    """Both ways to write the address of a Unix socket give the path of the socket."""
    assert socket_path(address) == Path("/run/kratzen/socket")


@pytest.mark.parametrize("address", ["127.0.0.1:7000", "unix:socket", "unix:", "dns:///arena:7000", ""])
def test_other_addresses_are_out_of_reach(address: str) -> None:
    """An address that no bot in a box could reach is refused with a sentence."""
    with pytest.raises(CommandError, match="can reach a Unix socket only"):
        socket_path(address)
