"""`kratzen bot check`: which bot is meant, and what is printed of one that is connected to an arena."""

import asyncio
import json
from pathlib import Path

import pytest

from arena.cli import bot as command
from arena.cli import started_bot
from engine.actions import Action, Play
from kratzen.sdk import Request
from tests.arena.opened import ADMIN_TOKEN, FirstLegal, Opened, opened
from tests.cli.calling import Done, kratzen

NOBODY = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The admin token is set; less is played for speed, which is not what these tests are about."""
    monkeypatch.setenv("KRATZEN_ADMIN_TOKEN", ADMIN_TOKEN)
    monkeypatch.setenv("KRATZEN_ADDRESS", NOBODY)
    monkeypatch.setattr("arena.check.SPEED_DECISIONS", 20)


class Stubborn(FirstLegal):
    """Plays a card that it does not hold, whatever is asked."""

    name = "stubborn"

    def decide(self, request: Request) -> Action:
        """That card."""
        return Play(next(card for card in range(33) if card not in request.view.hand))


async def checked(arena: Opened, *arguments: str) -> Done:
    """`kratzen bot check` against an arena in this process."""
    return await asyncio.to_thread(kratzen, "bot", "check", "--address", arena.address, *arguments)


# ------------------------------------------------------------------ which bot is meant


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["alice"], "alice"),
        (["--deterministic", "alice", "--json"], "alice"),
        (["--", "alice"], ("alice",)),
        (["--json", "--", "python", "--json", "--", "-h"], ("python", "--json", "--", "-h")),
        (["python", "bot.py"], ("python", "bot.py")),
    ],
    ids=" ".join,
)
def test_a_single_word_is_a_name_and_all_else_a_command(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], meant: str | tuple[str, ...]
) -> None:
    """Two dashes make a command of anything; without them, so do two words."""
    seen: list[object] = []

    def see(first: object, *_: object, **__: object) -> int:
        seen.append(first)
        return 0

    monkeypatch.setattr(command, "_check_connected", see)
    monkeypatch.setattr(started_bot, "check_started", see)
    assert kratzen("bot", "check", *arguments).code == 0
    assert seen == [meant]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "say which bot"),
        (["--"], "say which bot"),
        (["alice", "--", "python", "bot.py"], "give either a bot's name or"),
        (["--jsn", "alice"], "No such option '--jsn'. A command's own goes after two dashes: "),
        (["alice", "--jsn"], "Did you mean '--json'?"),
        (["python", "-m", "my.bot"], "kratzen bot check -- COMMAND...\n"),
        (["--jsn", "--", "python", "bot.py"], "Did you mean '--json'?"),
        (["--address", NOBODY, "--", "python", "bot.py"], "--address goes with the name of a bot"),
        (["--ca", "ca.pem", "python", "bot.py"], "--ca goes with the name of a bot"),
    ],
)
def test_a_call_that_says_no_bot_or_two_is_told(arguments: list[str], sentence: str) -> None:
    """Exit code 2, nothing on stdout, and the usage with both forms."""
    done = kratzen("bot", "check", *arguments)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err
    assert "NAME | -- COMMAND..." in done.err


@pytest.mark.parametrize("word", ["./my_bot", "My-Bot", "sample bots/random"])
def test_a_word_that_can_be_no_name_is_told_how_a_command_is_given(word: str) -> None:
    """No arena is asked."""
    done = kratzen("bot", "check", word)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"{word} is no bot's name" in done.err
    assert f"kratzen bot check -- {word if ' ' not in word else repr(word)}" in done.err


async def test_where_there_is_no_such_bot_it_is_told_how_a_command_is_given(tmp_path: Path) -> None:
    """The arena is not there, or has no such bot; of one that is not connected something else is told."""
    hint = "(a command is given after two dashes: kratzen bot check -- my_bot.py)\n"
    done = kratzen("bot", "check", "my_bot.py")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"kratzen: no answer from an arena at {NOBODY}")
    assert done.err.endswith(hint)
    async with opened(tmp_path) as arena:
        await arena.hall.add_bot("my_bot")
        done = await checked(arena, "my_bot.py")
        said = "kratzen: no bot 'my_bot.py' is registered: did you mean my_bot? "
        assert (done.code, done.out, done.err) == (2, "", said + hint)
        done = await checked(arena, "my_bot")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith("kratzen: bot my_bot is not connected: start it first")


# ------------------------------------------------------------------ what is printed


async def test_a_connected_bot_that_is_good_passes(tmp_path: Path) -> None:
    """A line for every step, as for a bot that is started here, less the exit; the same in JSON."""
    async with opened(tmp_path) as arena:
        await arena.dial_in("alice")
        done = await checked(arena, "alice")
        lines = done.out.splitlines()
        assert (done.code, [line for line in lines if not line.startswith("pass  ")]) == (0, [])
        assert lines[0] == "pass  hello             first 1 with kratzen-python/1, connected before"
        done = await checked(arena, "alice", "--json", "--deterministic")
    document = json.loads(done.out)
    assert (done.code, document["passed"], document["stderr"]) == (0, True, [])
    steps = [step["step"] for step in document["steps"]]
    assert steps == [*[line[6:23].strip() for line in lines], "determinism"]


async def test_a_connected_bot_that_is_bad_fails(tmp_path: Path) -> None:
    """Exit code 1; under the verdict stands what was sent and what came back."""
    async with opened(tmp_path) as arena:
        await arena.dial_in("alice", Stubborn())
        done = await checked(arena, "alice")
        lines = done.out.splitlines()
        assert done.code == 1
        assert lines[1].startswith("FAIL  every decision    the bot gave an illegal")
        assert [line[:12] for line in lines[2:4]] == ["      sent: ", "      came b"]
        document = json.loads((await checked(arena, "alice", "--json")).out)
    assert document["passed"] is False
