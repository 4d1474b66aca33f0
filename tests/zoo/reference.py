"""What a session comes to by the engine alone: good bots by their rule, the bad one by its own or by none.

The measure for a session that was played over real links: whatever the bad bot did there, the
good ones must get what they get here.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from arena.results import places_after_forfeits
from engine.actions import Action, Call, DecisionKind, Declare, Legal
from engine.fallback import fallback
from engine.session import Session
from kratzen.sdk import Request
from sample_bots.random_bot import RandomBot
from tests.zoo.small_arena import GOOD, Outcome

Errs = Callable[[int, DecisionKind], bool]
"""Whether the bad bot gives no good answer to its n-th question, which is of this kind."""


def never(number: int, kind: DecisionKind) -> bool:
    """Answers everything."""
    return False


def always(number: int, kind: DecisionKind) -> bool:
    """Answers nothing."""
    return True


def from_number(first: int) -> Errs:
    """Answers what comes before the question of this number."""
    return lambda number, kind: number >= first


def at_numbers(numbers: Iterable[int | None]) -> Errs:
    """Answers all but these questions."""
    missed = frozenset(numbers)
    return lambda number, kind: number in missed


def when_asked(kind: DecisionKind) -> Errs:
    """Answers all but one kind of question."""
    return lambda number, asked: asked is kind


@dataclass(frozen=True, slots=True)
class Expected:
    """What a session must come to."""

    stacks: tuple[int, ...]
    places: tuple[int, ...]
    strike_count: int
    forfeited: bool
    asked_count: int
    """Questions that the bad bot was asked."""


_GOOD: Final = RandomBot()


def expected(outcome: Outcome, errs: Errs, *, max_strikes: int) -> Expected:
    """Play the session of an outcome again; with `max_strikes` 0 the bad bot has forfeited from the start."""
    header = outcome.replay.header
    session = Session(header.ruleset, header.options, outcome.replay.end.seed)
    bad = outcome.bad.seat
    asked = [0] * len(header.seats)
    strikes = 0
    while (decision := session.decision) is not None:
        seat, view = decision.seat, session.view(decision.seat)
        is_played_out = seat == bad and strikes >= max_strikes
        asked[seat] += not is_played_out
        if seat != bad:
            action = _GOOD.decide(Request(header.session_id, asked[seat], view, decision.legal))
        elif not is_played_out and not errs(asked[bad], decision.kind):
            action = good_answer_of_the_bad(decision.legal)
        else:
            strikes += not is_played_out
            action = fallback(view, decision.legal)
        session.apply(action)
    ended = session.result
    assert ended is not None
    forfeits = [info.bot not in GOOD and strikes >= max_strikes for info in header.seats]
    return Expected(
        stacks=ended.stacks,
        places=places_after_forfeits(ended.places, forfeits),
        strike_count=strikes,
        forfeited=forfeits[bad],
        asked_count=asked[bad],
    )


def good_answer_of_the_bad(legal: Legal) -> Action:
    """What `sample_bots.faulty.raw.legal_answer` answers, in the engine's terms."""
    play = Declare(Call.PLAY)
    return play if play in legal else next(iter(legal))
