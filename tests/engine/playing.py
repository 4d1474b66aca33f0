"""Random option sets, and players for tests: whole sessions from a seed.

Every option of the table in `engine.rules` is varied, so that an option added there is varied
here without a change. Stacks are often small, so that caps, busts and ties are common.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from hypothesis import strategies as st

from engine.actions import Action, Bid, Call, Contract, Declare, Discard, Exchange, Legal, Listed, Subsets
from engine.rules import (
    OPTIONS,
    PRESETS,
    Number,
    OneOf,
    Option,
    Ruleset,
    SessionOptions,
    YesNo,
    make_ruleset,
    make_session_options,
)
from engine.session import Session

NUMBERS: Final[dict[str, tuple[int | None, ...]]] = {
    "ante": (1, 3, 10, 25),
    "exchange_limit": (0, 1, 2, 3, 4, 5),
    "exchange_fee": (0, 1, 5, 40),
    "penalty_limit": (None, 1, 30, 100),
    "bettler_bonus": (0, 20, 150),
}
"""Values tried for options that are numbers; a row for each of them."""


def values_of(option: Option) -> tuple[Any, ...]:
    """The values that tests try for an option: all, or for a number a few that matter."""
    match option.values:
        case OneOf(values):
            return values
        case YesNo():
            return (False, True)
        case Number():
            return NUMBERS[option.name]


def possible_ruleset(preset: str, overrides: dict[str, Any]) -> Ruleset:
    """The preset with these overrides, combinations that cannot be mended towards the nearest that can."""
    full = {option.name: getattr(PRESETS[preset], option.name) for option in OPTIONS} | overrides
    mended = dict(overrides)
    mended["exchange_limit"] = min(full["exchange_limit"], full["hand_size"])
    quota = full["seven_muss_striker_quota"]
    mended["seven_muss_striker_quota"] = None if quota is None else min(quota, full["striker_quota"])
    if full["exchange"] == "none" and full["contracts"] != "none":
        mended["oder"] = "new_suit"
    return make_ruleset(preset, mended)


STYLES: Final = ("uniform", "keen", "greedy", "beggar")


@dataclass(frozen=True)
class Case:
    """A session to be played: everything that decides what happens in it."""

    ruleset: Ruleset
    options: SessionOptions
    seed: bytes
    style: str
    """How its players answer, one of `STYLES`."""
    answers: int
    """Seed of their choices."""

    def session(self) -> Session:
        """The session at its first decision."""
        return Session(self.ruleset, self.options, self.seed)


def generator(seed: int) -> Random:
    """Random numbers that are the same every time."""
    return Random(seed)  # noqa: S311 nothing here is secret


def random_ruleset(rng: Random) -> Ruleset:
    """Either preset with about half of its options changed."""
    overrides = {option.name: rng.choice(values_of(option)) for option in OPTIONS if rng.random() < 0.5}
    return possible_ruleset(rng.choice(sorted(PRESETS)), overrides)


def random_case(chance: int) -> Case:
    """A session of a few deals under random options, of the number `chance`."""
    rng = generator(chance)
    ruleset = random_ruleset(rng)
    stack = ruleset.ante * rng.choice((1, 2, 4, 10, 100, 1000))
    values = {
        "players": rng.randint(3, 6),
        "stack": stack,
        "deals": rng.choice((1, 2, 4, 6)),
        "target": rng.choice((None, None, stack + 1, 2 * stack)),
        "tie_break": rng.random() < 0.8,
    }
    options = make_session_options(ruleset, values)
    return Case(ruleset, options, rng.randbytes(32), rng.choice(STYLES), rng.randrange(2**32))


CASES: Final = st.integers(0, 2**64 - 1).map(random_case)
"""Sessions under random options. One number holds all chance: drawn one by one, options and seeds
would be alike too often."""


def steps(session: Session, case: Case) -> Iterator[Action]:
    """Play a session on to its end: yields each answer just before it is given."""
    rng = generator(case.answers)
    while session.decision is not None:
        action = choose(rng, session.decision.legal, case.style)
        yield action
        session.apply(action)


def play(session: Session, case: Case) -> Session:
    """Play a session to its end."""
    for _ in steps(session, case):
        pass
    return session


def choose(rng: Random, legal: Legal, style: str) -> Action:
    """A player's answer. All answers are likely enough to occur in every style but `greedy`."""
    match legal:
        case Subsets():
            return _choose_cards(rng, legal, style)
        case Listed(_, actions):
            if style != "uniform" and rng.random() < 0.9:
                actions = tuple([action for action in actions if action not in UNWANTED[style]]) or actions
            return rng.choice(actions)


UNWANTED: Final[dict[str, tuple[Action, ...]]] = {
    "keen": (Declare(Call.FOLD),),
    "greedy": (Declare(Call.FOLD), Declare(Call.PLAY), Bid(Contract.SCHLAGEN), Bid(Contract.WEITER)),
    "beggar": (Declare(Call.FOLD), Declare(Call.PLAY)),
}
"""Answers that a style gives one time in ten at the most."""


def _choose_cards(rng: Random, legal: Subsets, style: str) -> Action:
    size = legal.most if style == "greedy" else rng.randint(legal.least, legal.most)
    cards = tuple(sorted(rng.sample(legal.hand, size)))
    return Exchange(cards) if legal.kind == "exchange" else Discard(cards)
