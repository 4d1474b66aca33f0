"""How fast the engine plays, with open_spiel's euchre beside it when that is installed.

    python benchmarks/engine.py
    python benchmarks/engine.py --seconds 1 --repeats 15

Random self-play on one core. Every game gets a window of CPU time in turn, again and again, and of
all its windows the median is printed, with the slowest and the quickest: a machine that is shared, or
that changes its speed, then slows them alike. Ratios are taken inside each round of windows.

`all` counts every decision, those with one legal answer too, which the engine takes by itself and
euchre asks like any other; `asked` counts those with a choice. A view is built for each that is asked
(of euchre: the string of the information state, for each).

Nothing but this package and the engine is needed, so that an environment made for the comparison
alone will do: `python -m venv spiel && spiel/bin/pip install open_spiel`, then the same command with
`spiel/bin/python`.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

if __name__ == "__main__":
    # Run by its path, this file would be taken for the package of the same name.
    sys.path[0] = str(Path(__file__).parents[1])

from engine.actions import Action, DecisionKind, Discard, Exchange, Legal, Listed
from engine.events import Decided
from engine.rules import Ruleset, SessionOptions, make_ruleset
from engine.session import Session

OPTIONS: Final = SessionOptions(players=4, stack=100_000, deals=40)
"""Stacks that nobody loses, so that sessions are long."""

RULESETS: Final[Mapping[str, Ruleset]] = {
    "tavern": make_ruleset("tavern"),
    "tavern, normal_failure": make_ruleset("tavern", {"muss_after": "normal_failure"}),
    "salzburg": make_ruleset("salzburg"),
}

EUCHRE: Final = "open_spiel euchre"


@dataclass(frozen=True, slots=True)
class Play:
    """What was played: decisions in all, those with a choice, and the CPU time that they took."""

    decisions: int
    asked: int
    cpu_s: float

    def __add__(self, other: "Play") -> "Play":
        return Play(self.decisions + other.decisions, self.asked + other.asked, self.cpu_s + other.cpu_s)


Game: TypeAlias = Callable[[], Play]
"""Plays once and tells what it took."""


# ------------------------------------------------------------------------------- games


def kratzen(ruleset: Ruleset, *, with_view: bool) -> Game:
    """Sessions under a ruleset, each from a seed of its own."""
    rng = random.Random(7)  # noqa: S311 nothing here is secret

    def play() -> Play:
        asked, seed = 0, rng.randbytes(32)
        started_s = time.process_time()
        session = Session(ruleset, OPTIONS, seed)
        while (decision := session.decision) is not None:
            if with_view:
                session.view(decision.seat)
            session.apply(any_answer(rng, decision.legal))
            asked += 1
        cpu_s = time.process_time() - started_s
        return Play(sum([isinstance(event, Decided) for event in session.events]), asked, cpu_s)

    return play


def any_answer(rng: random.Random, legal: Legal) -> Action:
    """A legal answer at random."""
    if isinstance(legal, Listed):
        return rng.choice(legal.actions)
    cards = tuple(sorted(rng.sample(legal.hand, rng.randint(legal.least, legal.most))))
    return Exchange(cards) if legal.kind is DecisionKind.EXCHANGE else Discard(cards)


def euchre(spiel: Any, *, with_view: bool) -> Game:  # noqa: ANN401 a module without types
    """Deals of euchre by open_spiel; cards dealt are paid for and not counted."""
    game, rng = spiel.load_game("euchre"), random.Random(7)  # noqa: S311 nothing here is secret

    def play() -> Play:
        decisions = asked = 0
        started_s = time.process_time()
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(rng.choice(state.legal_actions()))
                continue
            if with_view:
                state.information_state_string(state.current_player())
            legal = state.legal_actions()
            state.apply_action(rng.choice(legal))
            decisions += 1
            asked += len(legal) > 1
        return Play(decisions, asked, time.process_time() - started_s)

    return play


def games() -> Iterator[tuple[tuple[str, bool], Game]]:
    """Every game by its name and whether views are built."""
    try:
        spiel = import_module("pyspiel")
    except ImportError:
        spiel = None
    for with_view in (True, False):
        for name, ruleset in RULESETS.items():
            yield (name, with_view), kratzen(ruleset, with_view=with_view)
        if spiel is not None:
            yield (EUCHRE, with_view), euchre(spiel, with_view=with_view)


# --------------------------------------------------------------------------- measuring


def window(game: Game, seconds: float) -> Play:
    """Play again and again until the CPU time is used up."""
    played = game()
    while played.cpu_s < seconds:
        played += game()
    return played


def measure(seconds: float, repeats: int) -> dict[tuple[str, bool], list[Play]]:
    """The windows of every game, one a round."""
    all_games = dict(games())
    windows: dict[tuple[str, bool], list[Play]] = {key: [] for key in all_games}
    for game in all_games.values():
        game()
    for _ in range(repeats):
        for key, game in all_games.items():
            windows[key].append(window(game, seconds))
    return windows


def table(windows: Mapping[tuple[str, bool], list[Play]]) -> Iterator[str]:
    """The figures, a line a game: decisions a CPU second, and what they are of euchre's."""
    span = "(slowest - quickest)"
    yield f"{'decisions a CPU second':<24} {'view':<5} {'all':>9} {span:>23} {'asked':>9}  of euchre"
    for (name, with_view), plays in windows.items():
        rates = sorted([play.decisions / play.cpu_s for play in plays])
        asked = median([play.asked / play.cpu_s for play in plays])
        span = f"({rates[0]:,.0f} - {rates[-1]:,.0f})"
        figures = f"{median(rates):9,.0f} {span:>23} {asked:9,.0f}"
        beside = windows.get((EUCHRE, with_view))
        ratios = "" if beside is None else of_euchre(plays, beside)
        yield f"{name:<24} {'yes' if with_view else 'no':<5} {figures}  {ratios}".rstrip()


def of_euchre(plays: list[Play], beside: list[Play]) -> str:
    """The ratios of all decisions and of those asked to euchre's in the same rounds."""
    pairs = list(zip(plays, beside, strict=True))
    of_all = [play.decisions / play.cpu_s / (other.decisions / other.cpu_s) for play, other in pairs]
    of_asked = [play.asked / play.cpu_s / (other.asked / other.cpu_s) for play, other in pairs]
    return f"all {median(of_all):.2f}, asked {median(of_asked):.2f}"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="CPU time of a window (default 0.5)")
    parser.add_argument("--repeats", type=int, default=9, help="windows of each game (default 9)")
    arguments = parser.parse_args()
    for line in table(measure(arguments.seconds, arguments.repeats)):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
