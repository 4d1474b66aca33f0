"""The arena's own log: what is in it, and how large it gets."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from arena.auth import new_token
from arena.cli import logs
from arena.cli.logs import KEPT_LOGS, log_to
from tests.logs import log_nowhere


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Later tests log as they did before."""
    yield
    log_nowhere()


def lines_of(file: Path) -> list[dict[str, object]]:
    """What stands in a log."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_line_is_json_without_tokens(tmp_path: Path) -> None:
    """Time, level and values; a token in any of them is masked, `%` is a character like others."""
    token = new_token()
    log_to(tmp_path)
    structlog.get_logger().warning("100 % late", who=f"Bearer {token}")
    structlog.get_logger().debug("left out")
    (line,) = lines_of(tmp_path / "arena.log")
    assert (line["event"], line["level"]) == ("100 % late", "warning")
    assert token not in str(line)
    assert "timestamp" in line


def test_a_failure_is_logged_with_its_trace(tmp_path: Path) -> None:
    """On one line, as everything."""
    log_to(tmp_path)
    try:
        int("no number")
    except ValueError:
        structlog.get_logger().exception("session failed", slot="1.1")
    (line,) = lines_of(tmp_path / "arena.log")
    assert line["slot"] == "1.1"
    assert "ValueError: invalid literal" in str(line["exception"])


def test_a_log_is_appended_to_and_never_grows_beyond_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is older than so many files is gone, and every file is whole lines."""
    (tmp_path / "arena.log").write_text('{"event": "before"}\n')
    log_to(tmp_path)
    structlog.get_logger().info("first")
    assert [line["event"] for line in lines_of(tmp_path / "arena.log")] == ["before", "first"]
    monkeypatch.setattr(logs, "LOG_MIB", 1 / 2**10)
    log_to(tmp_path)
    for number in range(200):
        structlog.get_logger().info("again", number=number)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["arena.log", *[f"arena.log.{n + 1}" for n in range(KEPT_LOGS)]]
    assert max(file.stat().st_size for file in files) <= 1024
    numbers = [line["number"] for file in reversed(files) for line in lines_of(file)]
    assert numbers == list(range(200 - len(numbers), 200))


def test_a_log_that_cannot_be_written_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk costs the line and prints nothing."""
    monkeypatch.setattr(logs, "LOG_NAME", "full")
    (tmp_path / "full").symlink_to("/dev/full")
    log_to(tmp_path)
    structlog.get_logger().info("lost")
    assert capsys.readouterr() == ("", "")
