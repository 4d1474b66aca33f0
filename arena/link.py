"""The conversation with one bot, whatever streams it comes by, as a state machine without I/O.

A `Link` is a bot's identity in a running arena: it outlives its streams. It knows in which
sessions the bot sits and which request is open in each, so that a bot that comes back is
offered all of it again, and an answer that is late, repeated or about nothing goes no
further than here. An attempt at a session counts its requests from 1; on the link those of
another attempt count on, so that an answer to the one is never taken for one to the other.
What lives here: who may speak when, limits, what waits to be sent. What
must not: bytes, sockets, tasks, a clock (time is an argument), the legality of an answer.

    stream:  waiting ──Hello──▶ up ──▶ closed        one stream at most is up

The host hands in what happened (`open`, `received`, `garbled`, `hello_expired`, `stalled`, `lost`) and
what it wants said (`start`, `ask`, `tell`, `reject`, `settle`, `expire`, `end`, `reveal`,
`close`, `shut`; `cut` says nothing), collects what it should know (`take_events`), and takes what waits
for a stream as one batch (`take_batch`) whenever the stream's `wake` was called.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, TypeAlias

from arena.clock import US_PER_MS, US_PER_SECOND
from arena.faults import FaultCause
from arena.messages import (
    MAX_LABEL_LENGTH,
    MAX_NOTE_LENGTH,
    MAX_TRIES,
    PROTOCOL_VERSION,
    Answer,
    Answers,
    ArenaMessage,
    BotMessage,
    Goodbye,
    GoodbyeReason,
    Hello,
    Leave,
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
from arena.text import MAX_BOT_NAME_LENGTH
from engine.actions import Action
from engine.events import DealSettled, SessionEnded
from engine.rules import MAX_PLAYERS
from engine.view import SeenEvent

TAKEN_IN_MS: Final = 50
"""A batch that its transport takes longer over was not read by the bot: any other is taken at once, or as
soon as a thread of the transport gets a processor."""

_REMEMBERED_SESSIONS: Final = 256
"""Sessions that are over whose requests are still told apart when an answer comes too late."""

MAX_VERSIONS: Final = 1000
"""Versions that one bot may come as, whenever: each is kept for good and is in every list of bots.

So many are a new one a day for nearly three years; a list has half a MiB of such a bot at the most.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLimits:
    """What a bot may do on its link.

    Attributes:
        hello_ms: time for a new stream to say Hello.
        max_sessions: sessions at once, whatever the bot says it can do.
        max_message_bytes: size of a message from the bot.
        max_answers_per_second: answers, as a mean over a second; as many may come at once.
        max_strays_per_second: the same for answers that fit no open request, and messages without any.
        max_pending_bytes: what may wait for a bot that does not read, as `waiting_bytes` counts.
        unread_ms: how long a batch may wait for the bot's side to take it.
        keepalive_interval_ms: how often a quiet link is pinged.
    """

    hello_ms: int = 5000
    max_sessions: int = 256
    max_message_bytes: int = 64 * 1024
    max_answers_per_second: int = 20_000
    max_strays_per_second: int = 1000
    max_pending_bytes: int = 1024 * 1024
    unread_ms: int = 5000
    keepalive_interval_ms: int = 20_000


# ------------------------------------------------------------------ how a stream ends


class CloseStatus(StrEnum):
    """The status a stream ends with; the members are named as gRPC names its own."""

    OK = "ok"
    INVALID_ARGUMENT = "invalid_argument"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    FAILED_PRECONDITION = "failed_precondition"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    ABORTED = "aborted"
    UNAVAILABLE = "unavailable"
    UNAUTHENTICATED = "unauthenticated"


@dataclass(frozen=True, slots=True)
class _Ending:
    """What a reason to close means: the status, and whether the bot should come back."""

    status: CloseStatus
    come_back: bool


_ENDINGS: Final = {
    GoodbyeReason.FINISHED: _Ending(CloseStatus.OK, come_back=False),
    GoodbyeReason.LEFT: _Ending(CloseStatus.OK, come_back=False),
    GoodbyeReason.STOPPING: _Ending(CloseStatus.UNAVAILABLE, come_back=True),
    GoodbyeReason.REPLACED: _Ending(CloseStatus.ABORTED, come_back=False),
    GoodbyeReason.NO_HELLO: _Ending(CloseStatus.DEADLINE_EXCEEDED, come_back=True),
    GoodbyeReason.VERSION: _Ending(CloseStatus.FAILED_PRECONDITION, come_back=False),
    GoodbyeReason.REFUSED: _Ending(CloseStatus.FAILED_PRECONDITION, come_back=False),
    GoodbyeReason.REVOKED: _Ending(CloseStatus.UNAUTHENTICATED, come_back=False),
    GoodbyeReason.PROTOCOL: _Ending(CloseStatus.INVALID_ARGUMENT, come_back=False),
    GoodbyeReason.FLOOD: _Ending(CloseStatus.RESOURCE_EXHAUSTED, come_back=True),
    GoodbyeReason.NOT_READING: _Ending(CloseStatus.RESOURCE_EXHAUSTED, come_back=True),
}

_VIOLATIONS: Final = {
    GoodbyeReason.PROTOCOL: FaultCause.PROTOCOL,
    GoodbyeReason.FLOOD: FaultCause.FLOOD,
    GoodbyeReason.NOT_READING: FaultCause.NOT_READING,
}

_STILL_DELIVERED: Final = (GoodbyeReason.FINISHED, GoodbyeReason.LEFT, GoodbyeReason.STOPPING)
"""The orderly endings: what waits for the stream is sent before the last word."""


@dataclass(frozen=True, slots=True)
class Closing:
    """How a stream is to end once its last batch is out; `goodbye.detail` is the status message."""

    status: CloseStatus
    goodbye: Goodbye


# ------------------------------------------------------------------ what the host is told


@dataclass(frozen=True, slots=True)
class Joined:
    """A stream has said Hello and speaks for the bot now; `hello.max_sessions` is within the limits."""

    hello: Hello


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to the open request of a session. The host owes `settle`, `expire` or `reject`."""

    session_id: str
    request_id: int
    action: Action | Unreadable
    note: str
    at_us: int


@dataclass(frozen=True, slots=True)
class Stray:
    """An answer that no open request waited for; it was rejected and goes no further.

    A `request_id` of 0 or less can be that of an earlier attempt: 0 is its last request.
    """

    session_id: str
    request_id: int
    reason: RejectReason
    action: Action | Unreadable
    at_us: int


@dataclass(frozen=True, slots=True)
class Leaving:
    """The bot wants no more sessions."""


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """A stream was closed before its Hello was accepted; the bot's other stream, if any, lives on."""

    goodbye: Goodbye


@dataclass(frozen=True, slots=True)
class Down:
    """The bot has no stream any more; `cause` is what a clock that runs out now is booked as."""

    cause: FaultCause
    detail: str


LinkEvent: TypeAlias = Joined | Answered | Stray | Leaving | TurnedAway | Down


# ------------------------------------------------------------------ parts


class AnswerBudget:
    """How many answers may still come: a bucket of one second's worth that fills as time goes by."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._full = per_second * US_PER_SECOND
        self._level = self._full
        self._seen_us: int | None = None

    def take(self, count: int, now_us: int) -> bool:
        """Whether `count` answers may come at `now_us`; if so they are booked."""
        if self._seen_us is not None:
            gained = max(0, now_us - self._seen_us) * self._per_second
            self._level = min(self._full, self._level + gained)
        self._seen_us = now_us
        cost = count * US_PER_SECOND
        if cost > self._level:
            return False
        self._level -= cost
        return True


_REQUEST_BYTES: Final = 640
_START_BYTES: Final = 512
_OTHER_BYTES: Final = 256
_EVENT_BYTES: Final = 64
_LONG_EVENT_BYTES: Final = 192
_NEWS_BYTES: Final = 1024
"""What a session has to tell between two questions of a seat, as a mean. Where no start waits beside it, as
in play, there is room for three times as much."""


def _seat_bytes(name_length: int, version_length: int) -> int:
    return 8 + name_length + 4 * version_length


def _event_bytes(event: SeenEvent) -> int:
    return _LONG_EVENT_BYTES if isinstance(event, DealSettled | SessionEnded) else _EVENT_BYTES


def waiting_bytes(message: ArenaMessage) -> int:
    """An upper estimate of what a message takes on the wire, without making it.

    It bounds what may pile up for a bot that does not read; a test holds it against the
    real sizes.
    """
    match message:
        case Request():
            return _REQUEST_BYTES
        case SessionStart():
            return _START_BYTES + sum(
                [_seat_bytes(len(seat.name), len(seat.version)) for seat in message.seats]
            )
        case SessionNews():
            return 64 + sum([_event_bytes(event) for event in message.events])
        case Rejected() | Goodbye():
            return 256 + 4 * len(message.detail)
        case _:
            return _OTHER_BYTES


def sessions_bytes(session_count: int) -> int:
    """The most that waits at once for a bot that reads, in so many sessions, as `waiting_bytes` counts.

    That is the welcome and, of each session, the start, news and an open request: what a bot that
    comes back is sent, and what it hears until it has read that.
    """
    seats_bytes = MAX_PLAYERS * _seat_bytes(MAX_BOT_NAME_LENGTH, MAX_LABEL_LENGTH)
    return _OTHER_BYTES + session_count * (_START_BYTES + seats_bytes + _NEWS_BYTES + _REQUEST_BYTES)


def most_sessions(pending_bytes: int) -> int:
    """In how many sessions a bot may sit so that it can come back where so many bytes may wait for it."""
    return max(0, pending_bytes - sessions_bytes(0)) // (sessions_bytes(1) - sessions_bytes(0))


class Stream:
    """One stream of a bot: what waits to be sent on it, and how it ends. Made by `Link.open`.

    `wake` is called whenever there is something to do: a batch to take, or an end to carry out.
    The host looks; only the link changes it.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.closing: Closing | None = None
        """How it is to end, once that is settled."""
        self.live = True
        """Whether it is neither closed nor lost: only then is it heard."""
        self.waiting_bytes = 0
        """What waits to be sent, as the function `waiting_bytes` counts it."""
        self.taken_bytes = 0
        """The same for the batch that was taken last, which its transport may still hold."""
        self.held_since_us: int | None = None
        """When that batch was taken; None when nothing has been handed to the transport that it may hold."""
        self._wake = wake
        self._waiting: deque[ArenaMessage] = deque()

    @property
    def done(self) -> bool:
        """Whether nothing waits and nothing will: the stream may end with the status of `closing`."""
        return self.closing is not None and not self._waiting

    def add(self, message: ArenaMessage) -> None:
        """Let a message wait."""
        self._waiting.append(message)
        self.waiting_bytes += waiting_bytes(message)
        self._wake()

    def withdraw(self, session_id: str) -> None:
        """Take back the request of a session that waits."""
        waiting = next(m for m in self._waiting if isinstance(m, Request) and m.session_id == session_id)
        self._waiting.remove(waiting)
        self.waiting_bytes -= waiting_bytes(waiting)

    def take(self) -> tuple[ArenaMessage, ...]:
        """All that waits, which waits no longer; what was taken before has been sent.

        A bot reads the starts of a batch before its ends. So a session that is over and
        begins again, as an attempt that was spoiled does, begins in the next batch.
        """
        batch: list[ArenaMessage] = []
        over: set[str] = set()
        before_bytes = self.waiting_bytes
        while self._waiting:
            message = self._waiting[0]
            if isinstance(message, SessionStart) and message.session_id in over:
                self._wake()
                break
            if isinstance(message, SessionOver):
                over.add(message.session_id)
            batch.append(self._waiting.popleft())
        self.waiting_bytes = sum([waiting_bytes(message) for message in self._waiting])
        self.taken_bytes = before_bytes - self.waiting_bytes
        return tuple(batch)

    def close(self, closing: Closing) -> None:
        """Nothing but the last word comes after what waits; most endings drop that too."""
        if closing.goodbye.reason not in _STILL_DELIVERED:
            self._drop_waiting()
        self.closing = closing
        self.live = False
        self.add(closing.goodbye)

    def cut(self, closing: Closing) -> None:
        """Nothing comes any more, not even the last word: what waits is lost."""
        self._drop_waiting()
        self.closing = closing
        self.live = False
        self._wake()

    def _drop_waiting(self) -> None:
        self._waiting.clear()
        self.waiting_bytes = 0


@dataclass(slots=True)
class _Desk:
    """The bot's seat in one session: what it was asked, and what became of it."""

    start: SessionStart
    last_id: int = 0
    """Of the requests, as they are numbered on the link; those of earlier attempts count."""
    request: Request | None = None
    """The open request, numbered likewise."""
    judging: bool = False
    """Whether an answer to the open request is with the host."""
    waiting: bool = False
    """Whether the open request waits to be sent."""
    asked_at_us: int = 0
    handed_at_us: int | None = None
    """When the open request was first handed to the transport.

    It is the time of asking when there was no transport, or what it held was not read.
    """
    expired: set[int] = field(default_factory=set)
    """The requests whose clock ran out."""

    def again(self, start: SessionStart) -> "_Desk":
        """The desk of the next attempt at the session, whose requests are numbered on."""
        return _Desk(replace(start, first_request_id=self.last_id + 1), self.last_id, expired=self.expired)

    @property
    def asked_before(self) -> int:
        """How many requests earlier attempts made: by so much the link's numbers are above the host's."""
        return self.start.first_request_id - 1

    def time_left_ms(self, now_us: int) -> int | None:
        """What is left for the open request, 0 or more; None without clocks."""
        assert self.request is not None
        if self.request.time_left_ms is None:
            return None
        since_us = self.asked_at_us if self.handed_at_us is None else self.handed_at_us
        return max(0, self.request.time_left_ms - (now_us - since_us) // US_PER_MS)

    def stray_reason(self, request_id: int) -> RejectReason | None:
        """Why nobody waits for an answer to this request; None when the open one is meant."""
        if not 1 <= request_id <= self.last_id:
            return RejectReason.UNKNOWN_REQUEST
        if request_id in self.expired:
            return RejectReason.LATE
        if self.request is None or self.request.request_id != request_id or self.judging:
            return RejectReason.ALREADY_ANSWERED
        return None

    def handed(self, now_us: int) -> None:
        """The open request goes to the transport; only the first time starts its clock."""
        self.waiting = False
        if self.handed_at_us is None:
            self.handed_at_us = now_us

    def count_from_asking(self) -> None:
        """No transport took the open request when it was to be handed over: its clock runs since then."""
        if self.handed_at_us is None:
            self.handed_at_us = self.asked_at_us

    def close(self, *, expired: bool) -> None:
        """The open request is over, if there is one."""
        if expired and self.request is not None:
            self.expired.add(self.request.request_id)
        self.request = None
        self.judging = False
        self.waiting = False


_STRAY_DETAILS: Final = {
    RejectReason.LATE: "the clock of this request had run out",
    RejectReason.ALREADY_ANSWERED: "this request has an answer already; one answer at a time is judged",
    RejectReason.UNKNOWN_REQUEST: "this bot has not been sent such a request",
}


@dataclass(frozen=True, slots=True)
class _Revoked:
    """That the bot, or a version of it, may come no more; `why` is one sentence."""

    why: str
    version: str | None


# ------------------------------------------------------------------ the link


class Link:
    """The conversation with one bot.

    Args:
        bot_name: the name that the bot's token stands for.
        arena_version: told to the bot.
        limits: what the bot may do.
    """

    def __init__(self, bot_name: str, *, arena_version: str, limits: LinkLimits | None = None) -> None:
        self.bot_name = bot_name
        self.limits = LinkLimits() if limits is None else limits
        self.hello: Hello | None = None
        """What the bot said of itself last; None until it was there."""
        self.leaving = False
        """Whether the bot wants no more sessions."""
        self.stray_counts: Counter[RejectReason] = Counter()
        """Answers that nobody waited for, by reason."""
        self._arena_version = arena_version
        self._budget = AnswerBudget(self.limits.max_answers_per_second)
        self._stray_budget = AnswerBudget(self.limits.max_strays_per_second)
        self._pinned: tuple[str, str | None] | None = None
        self._barred: frozenset[str] = frozenset()
        self._versions: set[str] = set()
        """What the bot has come as."""
        self._revoked: _Revoked | None = None
        self._stream: Stream | None = None
        self._unheard: set[Stream] = set()
        """The streams that are open and have not said Hello."""
        self._shut: tuple[GoodbyeReason, str] | None = None
        """What every stream is told from here on, if none is to be let in any more."""
        self._down = Down(FaultCause.NO_HANDSHAKE, "")
        self._desks: dict[str, _Desk] = {}
        self._over: dict[str, _Desk] = {}
        self._events: list[LinkEvent] = []

    # -------------------------------------------------------------- what the host may ask

    @property
    def absence(self) -> FaultCause | None:
        """What a clock that runs out now is booked as because the bot is not there; None while it is."""
        return None if self._stream is not None else self._down.cause

    @property
    def absence_detail(self) -> str:
        """What became of the bot's last stream, in one sentence; empty when it never had one, or has one."""
        return "" if self._stream is not None else self._down.detail

    @property
    def session_count(self) -> int:
        """In how many sessions the bot sits."""
        return len(self._desks)

    def handed_at_us(self, session_id: str, request_id: int) -> int | None:
        """When a session's last request was first handed to the transport.

        None while it still waits, or was not asked yet. While no stream is up the clock runs all the
        same, and while the bot leaves unread what was sent before: then it is the time of asking.
        """
        desk = self._desks[session_id]
        return desk.handed_at_us if request_id == desk.last_id else None

    def take_events(self) -> list[LinkEvent]:
        """What happened since the last call, in order."""
        events, self._events = self._events, []
        return events

    def pin(self, bot_version: str, build_digest: str | None) -> None:
        """From here on only this version (and build, unless None) of the bot is let in.

        A stream that is up and speaks for another one is closed.
        """
        self._pinned = (bot_version, build_digest)
        if self._stream is None or self.hello is None:
            return
        mismatch = self._mismatch(self.hello)
        if mismatch is not None:
            self._close(self._stream, GoodbyeReason.REFUSED, mismatch)

    def unpin(self) -> None:
        """Any version of the bot may come."""
        self._pinned = None

    def bar(self, bot_versions: frozenset[str]) -> None:
        """These versions of the bot are let in no more; a stream that is up is left to the host."""
        self._barred = bot_versions

    def know(self, bot_versions: Iterable[str]) -> None:
        """The bot came as these versions before; no more than `MAX_VERSIONS` in all are let in."""
        self._versions.update(bot_versions)

    def revoke(self, why: str, version: str | None = None) -> None:
        """Let the bot in no more, whatever streams it has opened, and end the one that is up.

        Where only a version is revoked, another one gets in by another link, on a stream that it opens anew.
        """
        self._revoked = _Revoked(why, version)
        self.close(GoodbyeReason.REVOKED, why)

    # -------------------------------------------------------------- what happened

    def open(self, wake: Callable[[], None]) -> Stream:
        """A new stream with the bot's token. It speaks for the bot once it has said Hello."""
        stream = Stream(wake)
        if self._shut is None:
            self._unheard.add(stream)
        else:
            self._close(stream, *self._shut)
        return stream

    def received(self, stream: Stream, message: BotMessage, now_us: int) -> None:
        """The bot said something. What comes from a stream that is closed or lost is not heard."""
        if not stream.live:
            return
        if isinstance(message, Hello):
            self._receive_hello(stream, message, now_us)
        elif stream is not self._stream:
            self._close(stream, GoodbyeReason.PROTOCOL, "the first message of a stream must be Hello")
        elif not self._budget.take(_answer_count(message), now_us):
            detail = f"more than {self.limits.max_answers_per_second} answers a second came: send fewer"
            self._close(stream, GoodbyeReason.FLOOD, detail)
        elif isinstance(message, Answers) and message.answers:
            for answer in message.answers:
                if stream.live:
                    self._receive_answer(answer, now_us)
        elif not self._stray_budget.take(1, now_us):
            self._close_chatter(stream)
        elif isinstance(message, Leave):
            self.leaving = True
            self._events.append(Leaving())
            self._let_go_if_done()

    def garbled(self, stream: Stream, why: str) -> None:
        """What arrived is no message of the protocol; `why` is one sentence."""
        if stream.live:
            self._close(stream, GoodbyeReason.PROTOCOL, why)

    def too_large(self, stream: Stream, size_bytes: int) -> None:
        """A message arrived that is larger than is allowed, and was not looked at."""
        if stream.live:
            detail = f"a message of {size_bytes} bytes came, allowed are {self.limits.max_message_bytes}"
            self._close(stream, GoodbyeReason.FLOOD, detail)

    def hello_expired(self, stream: Stream) -> None:
        """The time for Hello is over; no effect on a stream that has said it."""
        if stream.live and stream is not self._stream:
            detail = f"no Hello came within {self.limits.hello_ms} ms of opening the stream"
            self._close(stream, GoodbyeReason.NO_HELLO, detail)

    def stalled(self, stream: Stream, why: str) -> None:
        """The transport has not taken a batch for too long; `why` is one sentence."""
        if stream.live:
            self._close(stream, GoodbyeReason.NOT_READING, why)

    def lost(self, stream: Stream, note: str = "") -> None:
        """The stream is gone, or the bot has closed its side of it; a note says what may have led to it."""
        stream.live = False
        self._unheard.discard(stream)
        if stream is self._stream:
            said = f"the link was lost: {note}" if note else "the link was lost"
            self._went_down(FaultCause.DISCONNECTED, said)

    def take_batch(self, stream: Stream, now_us: int, *, spared_us: int = 0) -> tuple[ArenaMessage, ...]:
        """All that waits for a stream, now handed to the transport; empty when nothing waits.

        To be called again once the transport has sent what was taken.

        Args:
            stream: one of the bot.
            now_us: the present.
            spared_us: what the arena itself was late by since the batch before was taken.
        """
        held_since_us = stream.held_since_us
        batch = stream.take()
        stream.held_since_us = now_us if batch else None
        if stream is not self._stream:
            return batch
        is_held_up = (
            held_since_us is not None and now_us - held_since_us - spared_us > TAKEN_IN_MS * US_PER_MS
        )
        return tuple([self._handed(message, now_us, is_held_up=is_held_up) for message in batch])

    def as_asked(self, message: ArenaMessage) -> ArenaMessage:
        """A message that was taken, with the number that its request has for the host."""
        if not isinstance(message, Request | Rejected):
            return message
        desk = self._desks.get(message.session_id) or self._over.get(message.session_id)
        if desk is None or not desk.asked_before:
            return message
        return replace(message, request_id=message.request_id - desk.asked_before)

    # -------------------------------------------------------------- what the host wants said

    def start(self, start: SessionStart) -> None:
        """The bot sits down in a session, perhaps not for the first time."""
        assert start.session_id not in self._desks
        before = self._over.pop(start.session_id, None)
        desk = self._desks[start.session_id] = _Desk(start) if before is None else before.again(start)
        self._send(desk.start)

    def ask(self, request: Request, now_us: int) -> None:
        """Ask the next request of a session; the one before must be over."""
        desk = self._desks[request.session_id]
        assert desk.request is None
        desk.last_id += 1
        assert request.request_id == desk.last_id - desk.asked_before
        if desk.asked_before:
            request = replace(request, request_id=desk.last_id)
        desk.request = request
        desk.asked_at_us = now_us
        desk.handed_at_us = now_us if self._stream is None else None
        self._offer(desk, request)

    def ask_again(self, session_id: str, now_us: int) -> None:
        """Send the open request of a session once more, under its id; nothing when none is open."""
        desk = self._desks[session_id]
        if not desk.waiting:
            self._offer_again(desk, now_us)

    def tell(self, news: SessionNews) -> None:
        """Say what happened in a session; a bot that is away or does without news never hears it."""
        if self.hello is not None and not self.hello.skip_events:
            self._send(news)

    def settle(self, session_id: str) -> None:
        """The answer to the open request of a session was taken; no effect when none is open."""
        self._close_request(self._desks[session_id], expired=False)

    def expire(self, session_id: str) -> None:
        """The open request of a session is over, later answers are late; no effect when none is open."""
        self._close_request(self._desks[session_id], expired=True)

    def reject(self, rejected: Rejected) -> None:
        """The answer that was judged is not taken. With tries left, the request is open again."""
        desk = self._desks[rejected.session_id]
        assert desk.judging
        desk.judging = False
        if rejected.reason is RejectReason.LATE:
            self.stray_counts[RejectReason.LATE] += 1
        if rejected.tries_left == 0:
            self._close_request(desk, expired=rejected.reason is RejectReason.LATE)
        self._send(replace(rejected, request_id=rejected.request_id + desk.asked_before))

    def end(self, over: SessionOver) -> None:
        """A session is over for the bot, whatever is open in it."""
        desk = self._desks[over.session_id]
        self._close_request(desk, expired=True)
        del self._desks[over.session_id]
        self._over[over.session_id] = desk
        if len(self._over) > _REMEMBERED_SESSIONS:
            del self._over[next(iter(self._over))]
        self._send(over)
        self._let_go_if_done()

    def reveal(self, reveal: SeedReveal) -> None:
        """Open the commitment of a session whose block is over."""
        self._send(reveal)

    def close(self, reason: GoodbyeReason, detail: str, *, come_back: bool | None = None) -> None:
        """End the bot's stream; `come_back` says otherwise than is usual for the reason."""
        if self._stream is not None:
            self._close(self._stream, reason, detail, come_back=come_back)

    def shut(self, reason: GoodbyeReason, detail: str) -> None:
        """End the bot's stream, all that have not said Hello, and whatever is opened from here on."""
        self._shut = (reason, detail)
        self.close(reason, detail)
        for stream in tuple(self._unheard):
            self._close(stream, reason, detail)

    def cut(self, detail: str) -> None:
        """End the bot's stream without a word, as a network does that fails."""
        if self._stream is not None:
            self._stream.cut(_closing(GoodbyeReason.STOPPING, detail))
            self._went_down(FaultCause.DISCONNECTED, detail)

    # -------------------------------------------------------------- inside

    def _receive_hello(self, stream: Stream, hello: Hello, now_us: int) -> None:
        if stream is self._stream:
            self._close(stream, GoodbyeReason.PROTOCOL, "Hello was said twice on one stream")
        elif hello.protocol_version != PROTOCOL_VERSION:
            detail = (
                f"this arena speaks version {PROTOCOL_VERSION} of the protocol, the bot version "
                f"{hello.protocol_version}: use an SDK for version {PROTOCOL_VERSION}"
            )
            self._close(stream, GoodbyeReason.VERSION, detail)
        elif self._revoked is not None:
            self._turn_away_revoked(stream, hello, self._revoked)
        elif (mismatch := self._mismatch(hello)) is not None:
            self._close(stream, GoodbyeReason.REFUSED, mismatch)
        else:
            self._join(stream, hello, now_us)

    def _turn_away_revoked(self, stream: Stream, hello: Hello, revoked: _Revoked) -> None:
        """Close a stream that was opened before the bot, or a version of it, was revoked."""
        if revoked.version in (None, hello.bot_version):
            self._close(stream, GoodbyeReason.REVOKED, revoked.why)
        else:
            detail = f"version {revoked.version!r} of this bot was revoked meanwhile: dial again"
            self._close(stream, GoodbyeReason.STOPPING, detail)

    def _mismatch(self, hello: Hello) -> str | None:
        """How the bot differs from one that may come, or None."""
        if hello.bot_version in self._barred:
            return f"version {hello.bot_version!r} of this bot was revoked: start another one"
        version, digest = self._pinned or (None, None)
        if version is not None and hello.bot_version != version:
            return f"entered is version {version!r} of this bot, not {hello.bot_version!r}: start that one"
        if digest is not None and hello.build_digest != digest:
            return f"entered is build {digest!r} of this bot, not {hello.build_digest!r}: start that one"
        if hello.bot_version not in self._versions and len(self._versions) >= MAX_VERSIONS:
            return (
                f"this bot has come as {MAX_VERSIONS} versions, and no more are taken: start one of those, "
                "or have it registered under another name"
            )
        return None

    def _join(self, stream: Stream, hello: Hello, now_us: int) -> None:
        if self._stream is not None:
            detail = "another stream with this bot's token took over: run one process a token"
            old, self._stream = self._stream, None
            old.close(_closing(GoodbyeReason.REPLACED, detail))
            self._count_from_asking()
        self.hello = replace(hello, max_sessions=min(hello.max_sessions, self.limits.max_sessions))
        self.leaving = False
        self._versions.add(hello.bot_version)
        self._unheard.discard(stream)
        self._stream = stream
        self._events.append(Joined(self.hello))
        self._send(self._welcome(self.hello))
        for desk in self._desks.values():
            self._send(desk.start)
        for desk in self._desks.values():
            self._offer_again(desk, now_us)

    def _welcome(self, hello: Hello) -> Welcome:
        return Welcome(
            protocol_version=PROTOCOL_VERSION,
            arena_version=self._arena_version,
            bot_name=self.bot_name,
            keepalive_interval_ms=self.limits.keepalive_interval_ms,
            max_message_bytes=self.limits.max_message_bytes,
            max_answers_per_second=self.limits.max_answers_per_second,
            max_tries=MAX_TRIES,
            max_note_length=MAX_NOTE_LENGTH,
            max_sessions=hello.max_sessions,
        )

    def _receive_answer(self, answer: Answer, now_us: int) -> None:
        session_id, request_id = answer.session_id, answer.request_id
        desk = self._desks.get(session_id) or self._over.get(session_id)
        reason = RejectReason.UNKNOWN_REQUEST if desk is None else desk.stray_reason(request_id)
        own_id = request_id if desk is None else request_id - desk.asked_before
        if desk is not None and reason is None:
            desk.judging = True
            self._events.append(Answered(session_id, own_id, answer.action, answer.note, now_us))
            return
        assert reason is not None
        self.stray_counts[reason] += 1
        self._events.append(Stray(session_id, own_id, reason, answer.action, now_us))
        if not self._stray_budget.take(1, now_us):
            assert self._stream is not None
            self._close_chatter(self._stream)
            return
        # Also while another answer is judged, for until then none is taken: should the request be open again,
        # the rejection of that one says so.
        left_ms = 0 if desk is None or desk.start.clock.timed else None
        self._send(Rejected(session_id, request_id, reason, _STRAY_DETAILS[reason], 0, left_ms))

    def _handed(self, message: ArenaMessage, now_us: int, *, is_held_up: bool) -> ArenaMessage:
        """A message as it goes to the transport; a request that was held up says what is left by now."""
        if not isinstance(message, Request):
            return message
        desk = self._desks[message.session_id]
        if is_held_up:
            desk.count_from_asking()
            message = replace(message, time_left_ms=desk.time_left_ms(now_us))
        desk.handed(now_us)
        return message

    def _offer(self, desk: _Desk, request: Request) -> None:
        desk.waiting = self._stream is not None
        self._send(request)

    def _offer_again(self, desk: _Desk, now_us: int) -> None:
        if desk.request is not None:
            self._offer(desk, replace(desk.request, time_left_ms=desk.time_left_ms(now_us)))

    def _close_request(self, desk: _Desk, *, expired: bool) -> None:
        if desk.waiting and self._stream is not None:
            self._stream.withdraw(desk.start.session_id)
        desk.close(expired=expired)

    def _send(self, message: ArenaMessage) -> None:
        """Let a message wait for the stream that is up; a bot that leaves too much unread loses it."""
        stream = self._stream
        if stream is None:
            return
        stream.add(message)
        if stream.waiting_bytes + stream.taken_bytes > self.limits.max_pending_bytes:
            detail = f"more than {self.limits.max_pending_bytes} bytes were left unread: read while you think"
            self._close(stream, GoodbyeReason.NOT_READING, detail)

    def _let_go_if_done(self) -> None:
        if self.leaving and not self._desks:
            self.close(GoodbyeReason.LEFT, "the bot said goodbye and its sessions are over")

    def _close_chatter(self, stream: Stream) -> None:
        detail = (
            f"more than {self.limits.max_strays_per_second} messages a second came that answer nothing: "
            "answer each request once"
        )
        self._close(stream, GoodbyeReason.FLOOD, detail)

    def _close(
        self, stream: Stream, reason: GoodbyeReason, detail: str, *, come_back: bool | None = None
    ) -> None:
        closing = _closing(reason, detail, come_back)
        self._unheard.discard(stream)
        stream.close(closing)
        if stream is self._stream:
            self._went_down(_VIOLATIONS.get(reason, FaultCause.DISCONNECTED), detail)
        else:
            self._events.append(TurnedAway(closing.goodbye))

    def _went_down(self, cause: FaultCause, detail: str) -> None:
        """No stream is up any more. Requests that were not sent yet count from when they were asked."""
        self._stream = None
        self._down = Down(cause, detail)
        self._count_from_asking()
        self._events.append(self._down)

    def _count_from_asking(self) -> None:
        """The clocks of requests that no stream has taken run from when they were asked."""
        for desk in self._desks.values():
            if desk.request is not None:
                desk.count_from_asking()


def _answer_count(message: Answers | Leave) -> int:
    """What a message costs of the budget; one without answers is work too."""
    return max(1, len(message.answers)) if isinstance(message, Answers) else 1


def _closing(reason: GoodbyeReason, detail: str, come_back: bool | None = None) -> Closing:
    ending = _ENDINGS[reason]
    return Closing(
        ending.status, Goodbye(reason, ending.come_back if come_back is None else come_back, detail)
    )
