"""What is wrong with a session of a check, if anything, and the sentence for its author.

Pure judgement of what was played and said; how a session came about is not known here.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from arena.check_trace import Sitting, answer_text, reason_text
from arena.faults import Fault, FaultCause
from arena.link import Down, Stray
from arena.messages import RejectReason
from arena.results import SessionResult
from arena.text import escape
from engine.actions import DecisionKind

VIOLATIONS: Final = (FaultCause.PROTOCOL, FaultCause.FLOOD, FaultCause.NOT_READING)
"""Why the arena ends a link because of what the bot did on it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A session of the check, played to its end.

    Attributes:
        result: what it gave.
        sitting: what was said in it.
        play_sha256: the digest of the play.
        trick_id: the request that a trick was done with; None when all were put plainly.
    """

    result: SessionResult
    sitting: Sitting
    play_sha256: str
    trick_id: int | None

    @property
    def fault(self) -> Fault | None:
        """The first thing that went wrong in it; the house does nothing wrong."""
        return next((fault for seat in self.result.seats for fault in seat.faults), None)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a step found, but for its name.

    Attributes:
        passed: whether the bot did what the contract asks.
        sentence: what was seen.
        evidence: lines for its author: what was sent, what came back.
        is_silence: whether a question that was put plainly had no answer in its time.
        is_absence: whether no link was up when a clock ran out.
        is_skipped: whether the step was left because it could tell nothing more.
    """

    passed: bool
    sentence: str
    evidence: tuple[str, ...] = ()
    is_silence: bool = False
    is_absence: bool = False
    is_skipped: bool = False


def wrong_play(outcome: Outcome) -> Finding | None:
    """The first fault of a session, or None."""
    fault = outcome.fault
    if fault is None:
        return None
    is_silence = fault.cause is FaultCause.TIMEOUT and fault.request_id != outcome.trick_id
    is_absence = fault.cause in (FaultCause.DISCONNECTED, *VIOLATIONS)
    sentence = f"the bot {_fault_text(fault, outcome.sitting)}"
    return Finding(False, sentence, outcome.sitting.evidence(fault.request_id), is_silence, is_absence)


def left_play(outcome: Outcome) -> Finding | None:
    """A fault by which the bot took no part in a session any more: all but answers against the rules."""
    fault = outcome.fault
    return None if fault is None or fault.cause is FaultCause.ILLEGAL else wrong_play(outcome)


def wrong(outcome: Outcome, *, expected: RejectReason | None = None) -> Finding | None:
    """The first fault of a session, or answers that nobody waited for; None when there is neither.

    One answer that is rejected for the `expected` reason may come to the request of the trick. After
    a lost link what nobody waits for may have been on its way.
    """
    if (found := wrong_play(outcome)) is not None:
        return found
    if outcome.sitting.was_rejoined:
        return None
    allowed = None if expected is None else (outcome.trick_id, expected)
    for stray in outcome.sitting.strays():
        if (stray.request_id, stray.reason) != allowed:
            return Finding(False, f"the bot {_stray_text(stray)}", outcome.sitting.evidence_of(stray))
        allowed = None
    return None


def first_wrong(outcomes: Iterable[Outcome]) -> Finding | None:
    """What `wrong` finds in the first session in which it finds anything."""
    return next((found for found in map(wrong, outcomes) if found is not None), None)


def difference(first: Outcome, second: Outcome) -> tuple[str, ...]:
    """The first question of a session that was answered differently when it was played again."""
    pairs = zip_longest(first.sitting.answers(), second.sitting.answers())
    for one, other in pairs:
        if one is None or other is None or (one.request_id, one.action) != (other.request_id, other.action):
            break
    else:
        return ()
    request_id = (one or other).request_id
    texts = ["nothing" if answer is None else answer_text(answer.action) for answer in (one, other)]
    question = first.sitting.evidence(request_id)[:1]
    return (*question, f"came back the first time: {texts[0]}", f"came back the second time: {texts[1]}")


# ------------------------------------------------------------------ speed


def times_of(outcomes: Iterable[Outcome]) -> Mapping[DecisionKind, Sequence[int]]:
    """How long the decisions of each kind took, in microseconds."""
    times: dict[DecisionKind, list[int]] = defaultdict(list)
    for outcome in outcomes:
        for kind, took_us in outcome.sitting.times_us():
            times[kind].append(took_us)
    return times


def speed_text(times: Mapping[DecisionKind, Sequence[int]]) -> str:
    """For each kind of decision how long it took, and how many there were."""
    return ", ".join(
        f"{kind.value} {_percentiles(times[kind])} (n={len(times[kind])})"
        for kind in DecisionKind
        if kind in times
    )


def _percentiles(times_us: Sequence[int]) -> str:
    """50, 95 and 99 of 100 were no slower, in milliseconds."""
    ordered = sorted(times_us)
    places = [ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] for percent in (50, 95, 99)]
    return "/".join(f"{place / 1000:.1f}" for place in places)


# ------------------------------------------------------------------ how it reads


def _fault_text(fault: Fault, sitting: Sitting) -> str:
    """What the bot did, as the end of a sentence; what the arena ended its link for comes first."""
    detail = escape(fault.detail)
    if fault.cause is FaultCause.EXITED:
        end = sitting.last_end
        # A bot of a check is not started again, whatever the sentence of this cause says.
        return detail if end is None or end.cause not in VIOLATIONS else f"{_end_text(end)}; it {detail}"
    return fault.cause.sentence + (f": {detail}" if detail else "")


def _end_text(end: Down) -> str:
    return f"{end.cause.sentence}: {escape(end.detail)}"


def _stray_text(stray: Stray) -> str:
    what = f"gave an answer to request {stray.request_id} that was rejected"
    match stray.reason:
        case RejectReason.ALREADY_ANSWERED:
            return f"answered request {stray.request_id} again, which has its answer: answer each once"
        case RejectReason.LATE:
            return f"{what} as late: that request was over"
        case _:
            return f"{what} ({reason_text(stray.reason)})"
