"""No test waits for time to pass, but for what it waits for; where delay is the matter itself is a list."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parent

DELAYS: Final = {
    "zoo/metronomes.py": "bots that answer after a fixed time",
    "zoo/pauses.py": "processes that are held still for a time",
    "zoo/proxy.py": "a wire that is slow",
    "zoo/slow_disk.py": "a disk that is slow",
    "zoo/strangers.py": "callers that call so many times a second",
    "zoo/runs.py": "bots that take their time",
    "zoo/test_clocks.py": "bots that take their time to load",
    "zoo/test_links.py": "bots that stay away for a time",
}
"""The files whose business is delay, and whose."""

_IN_A_SHELL: Final = re.compile(r"\bsleep [\d.]+\s*(;|&&)")


def sleeps(source: str) -> Iterator[int]:
    """Lines that sleep, or have a shell sleep before something else; `sleep(0)` only lets others go on."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Name(id="sleep") | ast.Attribute(attr="sleep"), args=[ast.Constant(value=0)]
            ):
                pass
            case ast.Call(func=ast.Name(id="sleep") | ast.Attribute(attr="sleep")):
                yield node.lineno
            case ast.Constant(value=str(text)) if _IN_A_SHELL.search(text):
                yield node.lineno
            case _:
                pass


def test_tests_do_not_sleep() -> None:
    """Only where delay is what is tested, and there it still is."""
    found = {
        str(file.relative_to(TESTS))
        for file in TESTS.rglob("*.py")
        if file != Path(__file__) and any(sleeps(file.read_text(encoding="utf-8")))
    }
    assert found == set(DELAYS)


@pytest.mark.parametrize(
    "line",
    [
        "await asyncio.sleep(0.1)",
        "sleep(wait_s)",
        "time.sleep(1)",
        "run('kill -STOP 1; sleep 2; kill -CONT 1')",
    ],
)
def test_a_sleep_is_found(line: str) -> None:
    """However it is written."""
    assert list(sleeps(f"async def test():\n    {line}\n")) == [2]


def test_letting_others_go_on_is_no_sleep() -> None:
    """Nor is a program that sleeps until it is ended."""
    assert list(sleeps("async def test():\n    await asyncio.sleep(0)\n    start('sleep', '99')\n")) == []
