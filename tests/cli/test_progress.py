"""How a run shows that it goes on where there is no terminal, or a dumb one."""

import io
import sys
from pathlib import Path

import pytest

from arena.account import Account
from arena.cli.progress import RunProgress
from arena.clock import US_PER_SECOND, ManualTime
from arena.pace import Pace
from arena.store import Store
from tests.arena.sessions import Table, play
from tests.cli.calling import make_run


def shown(folder: Path, finished: int) -> list[str]:
    """What is told while so many sessions end."""
    with Store.open(folder) as store:
        account = Account.of(store)
        slots = store.slots()
    time = ManualTime()
    pace = Pace(time, account.tally)
    with RunProgress(account, pace) as progress:
        time.advance_us(US_PER_SECOND * 60)
        pace.begin()
        for slot in slots[:finished]:
            result = play(Table(seating=slot.seating, block=slot.block, session=slot.session)).result
            time.advance_us(US_PER_SECOND)
            account.tally.add(result)
            pace.session_finished()
            progress.session_finished(result)
    assert isinstance(sys.stderr, io.StringIO)
    return sys.stderr.getvalue().splitlines()


class Terminal(io.StringIO):
    """What says that it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


@pytest.mark.parametrize("terminal", [None, "dumb"])
@pytest.mark.parametrize(
    ("finished", "told"), [(8, [2, 4, 6, 8]), (5, [2, 4, 5]), (4, [2, 4]), (0, [0])], ids=str
)
def test_a_few_lines_tell_how_far_it_is(
    terminal: str | None, finished: int, told: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line for every quarter and one for the end, and nothing twice; no speed before there is one."""
    monkeypatch.setattr(sys, "stderr", io.StringIO() if terminal is None else Terminal())
    if terminal is not None:
        monkeypatch.setenv("TERM", terminal)
    lines = shown(make_run(tmp_path / "run", sessions=0), finished)
    assert [line.partition(" sessions")[0] for line in lines] == [f"{count} of 8" for count in told]
    assert [line.endswith(" decisions/s") for line in lines] == [count > 0 for count in told]


@pytest.mark.parametrize(
    ("voided", "told"),
    [(0, "anna is gone"), (1, "anna is gone: 1 session will not be played"), (2, "anna is gone: 2 sessions")],
)
def test_a_withdrawal_is_told_with_what_it_costs(
    voided: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is said of sessions when there are none."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Store.open(make_run(tmp_path / "run", sessions=0)) as store:
        account = Account.of(store)
    RunProgress(account, Pace(ManualTime(), account.tally)).bot_withdrawn("anna", "anna is gone", voided)
    assert isinstance(sys.stderr, io.StringIO)
    assert sys.stderr.getvalue().startswith(told)
    assert (": " in sys.stderr.getvalue()) is (voided > 0)


def test_a_terminal_gets_a_bar_that_is_gone_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table as it stands is drawn below it, and one line is left."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    lines = shown(make_run(tmp_path / "run", sessions=0), 8)
    text = "\n".join(lines)
    assert "So far" in text
    assert " decisions/s  0:00:00 left" in text
    assert "8/8" in text
    assert lines[-1].endswith("decisions/s")
