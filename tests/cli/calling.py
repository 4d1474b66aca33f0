"""`kratzen` called in this process, and a run to call it on that no process had to play."""

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from arena.cli.main import exit_code
from arena.cli.runs import create_run
from arena.config import parse_tournament
from arena.results import SlotState
from arena.store import Store
from tests.arena.sessions import Table, play

HEAD = """
[tournament]
name = "tuesday"
seed = 1
table_size = 4
blocks_per_group = 2
[rules]
muss_after = "normal_failure"
[session]
deals = 2
"""

NAMES = ("anna", "berta", "clara", "dora")


def bots(*names: str) -> str:
    """The `[[bots]]` of these names; their command is one that is never started."""
    return "".join(f'[[bots]]\nname = "{name}"\ncommand = "true"\n' for name in names)


TOURNAMENT = HEAD + bots(*NAMES)


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


def kratzen(*arguments: str | Path) -> Done:
    """Call the command."""
    out, err = io.BytesIO(), io.StringIO()
    with io.TextIOWrapper(out, encoding="utf-8", write_through=True) as text:
        with redirect_stdout(text), redirect_stderr(err):
            code = exit_code([str(argument) for argument in arguments])
        return Done(code, out.getvalue().decode(), err.getvalue())


def make_run(folder: Path, *, sessions: int = 8, fault_rate: float = 0.0) -> Path:
    """The folder of a run of `TOURNAMENT` in which so many of its eight sessions are finished."""
    with create_run(folder, parse_tournament(TOURNAMENT)) as store:
        finish(store, sessions, fault_rate=fault_rate)
    return folder


def finish(store: Store, sessions: int, *, fault_rate: float = 0.0, absent: int | None = None) -> None:
    """Have the first open sessions finished; `absent` is a seat that forfeits them."""
    slots = [slot for slot in store.slots() if slot.state is SlotState.OPEN]
    for slot in slots[:sessions]:
        table = Table(
            seating=slot.seating,
            block=slot.block,
            session=slot.session,
            attempt=slot.attempts + 1,
            fault_rate=fault_rate,
            absent=absent,
            tournament_seed=store.facts().seed,
        )
        played = play(table)
        store.record_session(played.result, played.text)
