"""What was said in a check, in order, and how it reads: the evidence of its verdicts.

It is told all that was handed to the bot's transport and all that its link reports, and keeps
it by session. What any of it is worth is not known here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from arena.clock import US_PER_MS
from arena.link import Answered, Down, Joined, Leaving, LinkEvent, Stray, TurnedAway
from arena.messages import (
    ArenaMessage,
    Goodbye,
    Rejected,
    RejectReason,
    Request,
    SeedReveal,
    SessionNews,
    SessionOver,
    SessionStart,
    Unreadable,
    Welcome,
)
from arena.seats import Gone
from arena.text import escape
from engine.actions import Action, DecisionKind, Subsets
from engine.cards import cards_text
from engine.notation import action_text

Said: TypeAlias = ArenaMessage | LinkEvent | Gone

EVIDENCE_LINES: Final = 12
"""More lines than these tell nothing more: the first and the last of them are shown."""
LAST_LINES: Final = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was said, and when, in microseconds of the arena's clock."""

    said: Said
    at_us: int


class Sitting:
    """What was said in one session, and what became of the bot's link meanwhile, in order."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.closed_at_us: int | None = None
        """When the session was over for the arena."""
        self._entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        """Write something down."""
        self._entries.append(entry)

    def copies(self, request_id: int) -> int:
        """How often a request was handed to the bot's transport."""
        return sum(_is_request(entry, request_id) for entry in self._entries)

    def answers(self) -> list[Answered]:
        """The answers to open requests, in order."""
        return [entry.said for entry in self._entries if isinstance(entry.said, Answered)]

    def strays(self) -> list[Stray]:
        """The answers that no open request waited for and that came before the bot was told of the end."""
        end = self._end()
        return [entry.said for entry in self._entries[:end] if isinstance(entry.said, Stray)]

    def strays_to(self, request_id: int) -> list[Stray]:
        """Those of `strays` that named this request."""
        return [stray for stray in self.strays() if stray.request_id == request_id]

    def late_strays(self) -> list[Stray]:
        """The answers that came after the bot was told of the end."""
        return [entry.said for entry in self._entries[self._end() :] if isinstance(entry.said, Stray)]

    @property
    def is_told_of_end(self) -> bool:
        """Whether the end of the session was handed to the bot's transport."""
        return self._end() < len(self._entries)

    @property
    def last_end(self) -> Down | None:
        """How the bot's link ended last while the session ran, if it did."""
        ends = [entry.said for entry in self._entries if isinstance(entry.said, Down)]
        return ends[-1] if ends else None

    @property
    def was_rejoined(self) -> bool:
        """Whether the bot came back to the session, so that answers of its may have been on their way."""
        return any(isinstance(entry.said, Joined) for entry in self._entries)

    def times_us(self) -> Iterator[tuple[DecisionKind, int]]:
        """How long each first answer took, from the hand-over of its request."""
        asked: dict[int, tuple[DecisionKind, int]] = {}
        for entry in self._entries:
            if isinstance(entry.said, Request):
                asked.setdefault(entry.said.request_id, (entry.said.legal.kind, entry.at_us))
            elif isinstance(entry.said, Answered) and entry.said.request_id in asked:
                kind, handed_at_us = asked.pop(entry.said.request_id)
                yield kind, entry.at_us - handed_at_us

    # -------------------------------------------------------------- for people

    def evidence(self, request_id: int | None = None) -> tuple[str, ...]:
        """What was said from a request on to the next one; without an id, from the last request on."""
        begin = self._begin(request_id)
        entries = self._entries[begin : self._next_request(begin)]
        silence = self._silence(entries)
        if silence:
            entries = [entry for entry in entries if not isinstance(entry.said, SessionOver)]
        lines = [*_lines(entries), *silence]
        if request_id is not None and not self.copies(request_id):
            lines.insert(0, f"not sent: request {request_id} of session {self.session_id}")
        return shortened(lines)

    def evidence_of(self, stray: Stray) -> tuple[str, ...]:
        """What was said from the request that a stray answer names on, up to what it was told."""
        at = next(number for number, entry in enumerate(self._entries) if entry.said is stray)
        begin = min(self._begin(stray.request_id), at)
        told = [n for n, entry in enumerate(self._entries) if n > at and isinstance(entry.said, Rejected)]
        return shortened(_lines(self._entries[begin : (told[0] if told else at) + 1]))

    def end_evidence(self) -> tuple[str, ...]:
        """What was said since the bot was told of the end."""
        return shortened(_lines(self._entries[self._end() :]))

    # -------------------------------------------------------------- inside

    def _end(self) -> int:
        """The place of the word that the session is over, or the number of entries."""
        ends = (n for n, entry in enumerate(self._entries) if isinstance(entry.said, SessionOver))
        return next(ends, len(self._entries))

    def _begin(self, request_id: int | None) -> int:
        places = [n for n, entry in enumerate(self._entries) if isinstance(entry.said, Request)]
        named = [n for n in places if _is_request(self._entries[n], request_id)]
        if named:
            return named[0]
        return places[-1] if places else 0

    def _next_request(self, begin: int) -> int:
        if begin == len(self._entries):
            return begin
        first = self._entries[begin].said
        its_id = first.request_id if isinstance(first, Request) else None
        for number in range(begin + 1, len(self._entries)):
            said = self._entries[number].said
            if isinstance(said, Request) and said.request_id != its_id:
                return number
        return len(self._entries)

    def _silence(self, entries: Sequence[Entry]) -> list[str]:
        """The line that says that nothing came back after the last that was asked, if so."""
        said = [entry.said for entry in entries]
        asked = [n for n, one in enumerate(said) if isinstance(one, Request | Rejected)]
        if not asked or any(isinstance(one, Answered | Stray) for one in said[asked[-1] :]):
            return []
        last = said[asked[-1]]
        if isinstance(last, Rejected) and last.reason.uses_a_try and not last.tries_left:
            return []
        if self.closed_at_us is None:
            return ["came back: nothing"]
        waited_ms = (self.closed_at_us - entries[asked[-1]].at_us) // US_PER_MS
        return [f"came back: nothing in {waited_ms} ms"]


class Trace:
    """What was said in a whole check.

    Attributes:
        answer_count: answers to open requests so far.
    """

    def __init__(self) -> None:
        self.answer_count = 0
        self._sittings: dict[str, Sitting] = {}
        self._running: list[Sitting] = []

    def sit(self, session_id: str) -> Sitting:
        """A session begins."""
        sitting = self._sittings[session_id] = Sitting(session_id)
        self._running.append(sitting)
        return sitting

    def close(self, sitting: Sitting, at_us: int) -> None:
        """A session is over; what is said of it later still belongs to it."""
        sitting.closed_at_us = at_us
        self._running.remove(sitting)

    def hear(self, said: Said, at_us: int) -> None:
        """Write down what was said."""
        entry = Entry(said, at_us)
        match said:
            case SessionStart() | SessionNews() | Welcome() | SeedReveal():
                pass
            case Request() | Rejected() | SessionOver() | Answered() | Stray():
                self.answer_count += isinstance(said, Answered)
                if said.session_id in self._sittings:
                    self._sittings[said.session_id].add(entry)
                else:
                    self._hear_of_all(entry)
            case Goodbye() | Joined() | Leaving() | TurnedAway() | Down() | Gone():
                self._hear_of_all(entry)
            case _ as never:
                assert_never(never)

    def _hear_of_all(self, entry: Entry) -> None:
        """Write down what belongs to no session, or to one that never was."""
        for sitting in self._running:
            sitting.add(entry)

    @property
    def slowest_us(self) -> int:
        """What the slowest answer so far took."""
        return max([took_us for one in self._sittings.values() for _, took_us in one.times_us()], default=0)


# ------------------------------------------------------------------ how it reads


def shortened(lines: Sequence[str]) -> tuple[str, ...]:
    """As many lines as are worth reading."""
    if len(lines) <= EVIDENCE_LINES:
        return tuple(lines)
    first = lines[: EVIDENCE_LINES - LAST_LINES - 1]
    return (*first, f"… {len(lines) - EVIDENCE_LINES + 1} more …", *lines[-LAST_LINES:])


def reason_text(reason: RejectReason) -> str:
    """Why an answer was not taken, in words."""
    return reason.value.replace("_", " ")


def _lines(entries: Sequence[Entry]) -> list[str]:
    """Each entry as a line; times count from the first request among them."""
    lines: list[str] = []
    open_request: Request | None = None
    handed_at_us: int | None = None
    for entry in entries:
        said = entry.said
        if isinstance(said, Request):
            is_copy = open_request is not None and open_request.request_id == said.request_id
            lines.append(f"sent again: {_request_name(said)}" if is_copy else f"sent: {_request_text(said)}")
            open_request = said
            handed_at_us = entry.at_us if handed_at_us is None or not is_copy else handed_at_us
        else:
            after = "" if handed_at_us is None else f" after {_ms_text(entry.at_us - handed_at_us)}"
            lines.append(_line(said, after, open_request))
    return lines


def _line(said: Said, after: str, open_request: Request | None) -> str:
    match said:
        case Answered() | Stray():
            return f"came back{after}{_named(said, open_request)}: {answer_text(said.action)}"
        case Rejected():
            left = f", {said.tries_left} tries left" if said.tries_left else ""
            return f"sent{after}: rejected ({reason_text(said.reason)}{left}): {escape(said.detail)}"
        case SessionOver():
            return f"sent{after}: the session is over ({said.ending.value.replace('_', ' ')})"
        case _:
            return _link_text(said) + after


def _named(answer: Answered | Stray, open_request: Request | None) -> str:
    """What an answer was for, unless that is the request before it."""
    if open_request is None or answer.session_id != open_request.session_id:
        return f" for request {answer.request_id} of session {escape(answer.session_id)}"
    return "" if answer.request_id == open_request.request_id else f" for request {answer.request_id}"


def _link_text(said: Said) -> str:
    """What became of the bot's link; details come from the arena, with what the bot sent in them."""
    match said:
        case Goodbye():
            # Why is said by what the link reported of its end.
            return f"sent: goodbye ({said.reason.value.replace('_', ' ')})"
        case Joined():
            return "the bot dialled again and said Hello"
        case TurnedAway():
            return f"a stream of the bot was refused ({escape(said.goodbye.detail)})"
        case Down():
            return f"the link ended ({escape(said.detail)})"
        case Gone():
            return f"the bot {escape(said.detail)}"
        case _:
            return "came back: goodbye, no more sessions"


def _is_request(entry: Entry, request_id: int | None) -> bool:
    return isinstance(entry.said, Request) and entry.said.request_id == request_id


def _request_name(request: Request) -> str:
    return f"request {request.request_id} of session {request.session_id}"


def _request_text(request: Request) -> str:
    legal = request.legal
    if isinstance(legal, Subsets):
        answers = f"{legal.least} to {legal.most} of {cards_text(legal.hand)}"
    else:
        answers = ", ".join(action_text(action) for action in legal)
    return f"{_request_name(request)}: {legal.kind}, legal: {answers}"


def answer_text(action: Action | Unreadable) -> str:
    """What came back, for people."""
    if isinstance(action, Unreadable):
        return f"an answer that cannot be read: {escape(action.why)}"
    return action_text(action)


def _ms_text(time_us: int) -> str:
    return f"{time_us / US_PER_MS:.1f} ms" if time_us < 10 * US_PER_MS else f"{time_us // US_PER_MS} ms"
