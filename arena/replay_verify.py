"""Whether a replay is true: its session is played again and every line compared.

The engine is given the seed and the answers and says what must stand in each line; what it
cannot know (times, notes, names) is held by the line's own check and by the last line's
digests. The first line that differs is named.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

import msgspec

from arena.commitment import commitment
from arena.record import FORCED, DecisionRecord, Origin, ReplayEnd, SessionHeader
from arena.replay import ends_of
from arena.replay_lines import (
    UNASKED,
    AnyEventLine,
    DecisionLine,
    HeaderLine,
    ResultLine,
    event_line,
    line_text,
    without_run,
)
from arena.replay_reading import ReplayError, ReplayVersionError
from arena.replay_stream import Ends, Pieces, pieces_of, read_ends, read_events
from arena.results import places_after_forfeits
from engine.actions import Action, Decision, Listed
from engine.cards import cards_text
from engine.errors import NotationError
from engine.events import DealBegan, Decided, Event
from engine.fallback import fallback
from engine.notation import action_text
from engine.session import Session

_SHOWN_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """The first thing in a replay that is not as it must be.

    Attributes:
        line: its number, from 1.
        what: the key that differs, as a path into the line; a whole sentence when the line
            cannot be read, and then the other two are empty.
        expected: what must stand there.
        found: what stands there.
    """

    line: int
    what: str
    expected: str = ""
    found: str = ""

    def __str__(self) -> str:
        if not self.expected:
            return f"line {self.line}: {self.what}"
        return f"line {self.line}: {self.what}: expected {self.expected}, found {self.found}"


def verify(text: bytes) -> Difference | None:
    """Play a replay's session again and compare every line; None when all are as they must be.

    Raises:
        ReplayVersionError: this program does not read its version, so that nothing can be said.
    """
    return verify_pieces(pieces_of(text))


def verify_pieces(pieces: Pieces) -> Difference | None:
    """The same for a text that need not be in the memory; it is read twice, for the seed comes last.

    The first line that is wrong ends the reading.
    """
    try:
        ends = read_ends(pieces)
        header, end = ends_of(ends.first, ends.last_number, ends.last)
        return (
            _compare(1, line_text(HeaderLine.of(header)), ends.first_text)
            or _check_commitment(header, end, ends.last_number)
            or _check_session(pieces, ends, header, end)
        )
    except ReplayVersionError:
        raise
    except ReplayError as error:
        return Difference(error.line, error.why)


def _check_commitment(header: SessionHeader, end: ReplayEnd, number: int) -> Difference | None:
    revealed = commitment(end.nonce, end.seed)
    if revealed == header.commitment:
        return None
    what = "seed and nonce, SHA-256 of which is the commitment of line 1"
    return Difference(number, what, header.commitment.hex(), revealed.hex())


class _Sums:
    """What the lines before the last add up to: their digests, and the strikes of each seat."""

    def __init__(self, seats: int) -> None:
        self.text = sha256()
        self.play = sha256()
        self.strikes = [0] * seats

    def add(self, text: bytes) -> None:
        """Count a line in; what stands in it is as it must be."""
        self.text.update(text + b"\n")
        self.play.update(without_run(text) + b"\n")

    def count(self, line: AnyEventLine) -> None:
        """Count the strike of a line, which is a fallback for a decision that was asked."""
        if isinstance(line, DecisionLine) and line.why not in (None, UNASKED):
            self.strikes[line.seat] += 1


def _check_session(pieces: Pieces, ends: Ends, header: SessionHeader, end: ReplayEnd) -> Difference | None:
    session, sums = Session(header.ruleset, header.options, end.seed), _Sums(len(header.seats))
    sums.add(ends.first_text)
    return _check_events(session, pieces, ends.last_number, sums) or _check_result(session, ends, end, sums)


def _check_events(session: Session, pieces: Pieces, last_number: int, sums: _Sums) -> Difference | None:
    deal = given = 0
    for number, text, line in read_events(pieces, last_number):
        if given == len(session.events):
            wrong = _play_answer(session, number, line)
            if wrong is not None:
                return wrong
        event = session.events[given]
        given += 1
        if isinstance(event, DealBegan):
            deal = event.deal
        wrong = _compare(number, line_text(_expected_line(deal, event, line)), text)
        if wrong is not None:
            return wrong
        sums.add(text)
        sums.count(line)
    if given < len(session.events) or session.decision is not None:
        return Difference(last_number, "t", "more of the session", "result")
    return None


def _play_answer(session: Session, number: int, line: AnyEventLine) -> Difference | None:
    """Give the engine the answer of a line; what is wrong if it is none to the open question."""
    decision = session.decision
    if decision is None or not isinstance(line, DecisionLine):
        return Difference(number, "t", "result" if decision is None else "decision", _kind_of(line))
    action = _action_of(line)
    if action is None or action not in decision.legal:
        return Difference(number, "answer", _legal_text(decision), line.answer)
    if line.how is Origin.FALLBACK:
        due = fallback(session.view(decision.seat), decision.legal)
        if action != due:
            return Difference(number, "answer of the fallback", action_text(due), line.answer)
    session.apply(action)
    return None


def _action_of(line: DecisionLine) -> Action | None:
    try:
        return line.event().action
    except NotationError:
        return None


def _legal_text(decision: Decision) -> str:
    legal = decision.legal
    if isinstance(legal, Listed):
        return "one of " + ", ".join([action_text(action) for action in legal])
    return f"{legal.kind} with {legal.least} to {legal.most} of {cards_text(legal.hand)}"


def _expected_line(deal: int, event: Event, found: AnyEventLine) -> AnyEventLine:
    """The line of an event; of a decision that was asked, what the engine cannot know is as found."""
    record = None
    if isinstance(event, Decided):
        record = FORCED if event.forced else DecisionRecord(origin=Origin.ASKED)
        if isinstance(found, DecisionLine) and not event.forced and found.how is not Origin.FORCED:
            record = found.record()
    return event_line(deal, event, record)


def _check_result(session: Session, ends: Ends, end: ReplayEnd, sums: _Sums) -> Difference | None:
    result = session.result
    assert result is not None
    expected = replace(
        end,
        deals=session.deal.number + 1,
        places=places_after_forfeits(result.places, end.forfeited),
        chips=tuple([chips - session.options.stack for chips in result.stacks]),
        strikes=tuple(sums.strikes),
        pot_left=result.pot_left,
        play_sha256=sums.play.hexdigest(),
        sha256=sums.text.hexdigest(),
    )
    return _compare(ends.last_number, line_text(ResultLine.of(expected)), ends.last_text)


# ------------------------------------------------------------------------- naming a difference


def _compare(number: int, expected: bytes, found: bytes) -> Difference | None:
    if expected == found:
        return None
    # The line as it stands has been read before, so that it is JSON.
    difference = _difference("", msgspec.json.decode(expected), msgspec.json.decode(found))
    what, expected_text, found_text = difference or ("text", expected.decode(), found.decode())
    if what == "run.check":
        what = "run.check, the checksum of this line"
    return Difference(number, what, _cut(expected_text), _cut(found_text))


def _difference(path: str, expected: object, found: object) -> tuple[str, str, str] | None:
    """The first path at which two JSON values differ, with what stands there; None if nowhere."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = [*expected, *[key for key in found if key not in expected]]
        pairs = [(f"{path}.{key}" if path else key, expected.get(key), found.get(key)) for key in keys]
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = [(f"{path}[{index}]", *pair) for index, pair in enumerate(zip(expected, found, strict=True))]
    elif expected == found and type(expected) is type(found):
        return None
    else:
        return path, msgspec.json.encode(expected).decode(), msgspec.json.encode(found).decode()
    return next((inner for pair in pairs if (inner := _difference(*pair)) is not None), None)


def _kind_of(line: AnyEventLine) -> str:
    return str(type(line).__struct_config__.tag)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
