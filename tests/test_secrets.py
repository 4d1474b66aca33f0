"""What must stay secret: no token is in what a run leaves behind."""

import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
import structlog

from arena.admin import AdminError
from arena.auth import TOKEN_PREFIX, new_token
from tests.arena.served import LIMIT_S, RawStream, Served, end, served
from tests.logs import logging_to

KRATZEN = Path(sys.executable).with_name("kratzen")

TOURNAMENT = """
[tournament]
name = "secrets"
table_size = 3
rotations = "none"
[session]
deals = 1
[[bots]]
name = "fails"
command = ["python", "-c", "raise SystemExit('on purpose')"]
[[bots]]
name = "one"
command = "python -m sample_bots.random_bot"
[[bots]]
name = "two"
command = "python -m sample_bots.random_bot"
"""

GOOD = "from sample_bots.random_bot import RandomBot; from kratzen.sdk import run; run(RandomBot())"


def test_no_file_and_no_line_of_a_run_holds_a_token(tmp_path: Path) -> None:
    """Neither what it prints nor what it leaves, when a bot fails and when none does (X14)."""
    for name, text in (
        ("bad", TOURNAMENT),
        ("good", TOURNAMENT.replace("raise SystemExit('on purpose')", GOOD)),
    ):
        (tmp_path / f"{name}.toml").write_text(text)
        done = subprocess.run(
            [KRATZEN, "run", tmp_path / f"{name}.toml", "--out", tmp_path / name],
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert done.returncode == (2 if name == "bad" else 0), done.stderr
        assert TOKEN_PREFIX not in done.stdout + done.stderr
    assert "store.sqlite" in names_of_files_without_tokens(tmp_path)


def names_of_files_without_tokens(folder: Path) -> set[str]:
    """The names of all files below a folder, none of which holds a token."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert [file for file in files if TOKEN_PREFIX.encode() in file.read_bytes()] == []
    return {file.name for file in files}


def test_an_arena_that_is_killed_has_written_no_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that gRPC says without its trace, after right and wrong tokens of bots and admins (X14)."""
    monkeypatch.setenv("GRPC_VERBOSITY", "debug")
    with served(tmp_path / "data") as arena, arena.client() as client:
        stream = RawStream(arena.address, client.register_bot("alice"))
        wrong = TOKEN_PREFIX + "0" * 43
        with pytest.raises(grpc.RpcError, match="no valid token"):
            RawStream(arena.address, wrong)
        with arena.client(wrong) as stranger, pytest.raises(AdminError, match="admin token"):
            stranger.bots()
        _, said = arena.stop(signal.SIGKILL)
        assert stream.end() is grpc.StatusCode.UNAVAILABLE
    assert TOKEN_PREFIX not in said
    assert {"arena.log", "registry.sqlite"} <= names_of_files_without_tokens(tmp_path)


SERVED = TOURNAMENT.replace('name = "one"\ncommand = "python -m sample_bots.random_bot"', 'name = "remote"')


def test_a_long_lived_arena_writes_no_token(tmp_path: Path) -> None:
    """Not the admin's, no bot's and no wrong one, whatever goes wrong and however much gRPC says (F12d)."""
    (tmp_path / "t.toml").write_text(SERVED)
    arena = Served.start(tmp_path / "data", "--address", "127.0.0.1:0", GRPC_VERBOSITY="DEBUG")
    wrong = [new_token() for _ in range(3)]
    bots = []
    try:
        said = [arena.kratzen("tournament", "list", KRATZEN_ADMIN_TOKEN=token).stderr for token in wrong]
        assert all("admin token" in sentence for sentence in said)
        token = arena.kratzen("bots", "add", "remote").stdout.strip()
        bots = [arena.bot("random_bot", each) for each in (*wrong, token)]
        created = arena.kratzen("tournament", "create", tmp_path / "t.toml")
        started = arena.kratzen("tournament", "start", "1", "--follow")
        assert "before it said Hello" in started.stderr
        listed = arena.kratzen("tournament", "status", "1", "--json")
        for done in (created, started, listed, arena.kratzen("bots", "list", "--json")):
            said += [done.stdout, done.stderr]
        for bot in bots[:-1]:
            said.append(bot.communicate(timeout=LIMIT_S)[1])
    finally:
        code, last = arena.stop()
        for bot in bots:
            end(bot)
    assert code == 0
    for text in (*said, last):
        assert TOKEN_PREFIX not in text
    written = names_of_files_without_tokens(tmp_path / "data")
    assert {"arena.log", "registry.sqlite", "store.sqlite"} <= written


def _crash(token: str) -> None:
    raise ValueError(f"no answer to {token}") from KeyError(token)


def test_a_crash_is_logged_without_tokens(tmp_path: Path) -> None:
    """Neither in the message of an error, nor deep in a value, nor in a cause (F12d)."""
    token = new_token()
    with logging_to(tmp_path):
        try:
            _crash(token)
        except ValueError as error:
            structlog.get_logger().exception("crashed", words=["x", {"env": f"T={token}"}], error=error)
    written = (tmp_path / "arena.log").read_text()
    assert "Traceback" in written
    assert token not in written
    assert token.removeprefix(TOKEN_PREFIX) not in written
