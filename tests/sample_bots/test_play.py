"""All four bots at one table, under whatever options: legal, and the same when asked again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given

from benchmarks.bots import played
from engine.session import Session
from kratzen.sdk import Bot
from sample_bots.cautious_bot import CautiousBot
from sample_bots.counting_bot import CountingBot
from sample_bots.random_bot import RandomBot
from sample_bots.sampling_bot import SamplingBot
from tests.engine.playing import CASES, Case, random_case

ROOT = Path(__file__).parent.parent.parent
FEW_PLAYOUTS = 8


def bots_for(case: Case) -> list[Bot]:
    """The four kinds by turns, beginning with any of them."""
    kinds = [RandomBot(), CautiousBot(), CountingBot(), SamplingBot(FEW_PLAYOUTS)]
    return [kinds[(seat + case.answers) % len(kinds)] for seat in range(case.options.players)]


def session_of(case: Case, name: str = "table") -> Session:
    """The session as the bots play it; an illegal answer would raise."""
    session = case.session()
    for _ in played(session, bots_for(case), name):
        pass
    return session


@given(CASES)
def test_bots_play_every_option_and_repeat_themselves(case: Case) -> None:
    """Under any options all four give legal answers alone, and fresh ones give the same answers again."""
    assert session_of(case).events == session_of(case).events


def test_another_session_is_played_otherwise() -> None:
    """What bots draw follows from the session's id: equal cards in another session are played anew."""
    case = random_case(1)
    assert session_of(case, "one").events != session_of(case, "other").events


def fingerprint() -> str:
    """Some sessions as text."""
    return repr([session_of(random_case(chance)).events for chance in range(3)])


def test_another_process_plays_the_same() -> None:
    """Neither the process nor Python's hashing of texts has a say in what is played."""
    program = "from tests.sample_bots.test_play import fingerprint; print(fingerprint())"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout.strip() == fingerprint()


@pytest.mark.parametrize("name", ["random", "cautious", "counting", "sampling"])
def test_each_bot_runs_by_itself(name: str) -> None:
    """Started without an arena to go to, a bot's module says what it lacks and leaves."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("KRATZEN_")}
    ended = subprocess.run(
        [sys.executable, "-m", f"sample_bots.{name}_bot"],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode != 0
    assert "KRATZEN_ADDRESS" in ended.stderr
    assert "Traceback" not in ended.stderr
