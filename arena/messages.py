"""What a bot and the arena say to each other, as plain values.

The messages of the protocol with the engine's types inside. Nothing here knows how they
travel: `arena.wire` turns them into bytes and back. Text in a message from a bot has been
cleaned (`arena.text`) before it gets here.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from arena.clock import ClockSettings
from arena.results import AttemptEnd
from engine.actions import Action, Legal
from engine.cards import Seat
from engine.notation import action_text
from engine.rules import Ruleset, SessionOptions
from engine.view import SeenEvent, View

PROTOCOL_VERSION: Final = 1
"""The version of the protocol that this arena speaks."""

MAX_TRIES: Final = 3
"""Answers that a bot may give to one request, illegal and unreadable ones counted."""

MAX_LABEL_LENGTH: Final = 64
"""Characters of a version, a digest or any other text of a bot but a note."""

MAX_NOTE_LENGTH: Final = 200
"""Characters of the note that an answer may carry into the replay."""


# ------------------------------------------------------------------ from a bot


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a stream.

    `bot_name` is for show: the token says who it is. `max_sessions` is how many sessions
    the bot will play at once, at least 1. With `skip_events` it is sent no `SessionNews`.
    """

    protocol_version: int
    bot_name: str
    bot_version: str
    build_digest: str
    sdk: str
    max_sessions: int
    skip_events: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An answer that names no action; `why` is one sentence for its author."""

    why: str


def said(action: Action | Unreadable) -> str:
    """What an answer was, for the record: in the notation, or why it cannot be read."""
    return action.why if isinstance(action, Unreadable) else action_text(action)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to one request. `note` is the bot's own remark for the replay, or empty."""

    session_id: str
    request_id: int
    action: Action | Unreadable
    note: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers that travelled together, in the order in which the bot wrote them."""

    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """The bot wants no more sessions; those it sits in are played out (`Goodbye` on the wire)."""


BotMessage: TypeAlias = Hello | Answers | Leave


# ------------------------------------------------------------------ from the arena


@dataclass(frozen=True, slots=True)
class Welcome:
    """The answer to `Hello`: who the arena takes the bot for, and the limits of the link.

    `max_sessions` is what the bot asked for, or less.
    """

    protocol_version: int
    arena_version: str
    bot_name: str
    keepalive_interval_ms: int
    max_message_bytes: int
    max_answers_per_second: int
    max_tries: int
    max_note_length: int
    max_sessions: int


@dataclass(frozen=True, slots=True)
class SeatLabel:
    """Who sits at a seat, as everybody at the table is told."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session begins, or is offered again on a new stream.

    `seats` is indexed by seat; `seat` is the bot's own. `commitment` is
    SHA-256(nonce ‖ seed), 32 bytes. `first_request_id` is above 1 for a session that is played
    again on the same link, where its requests are numbered on.
    """

    session_id: str
    ruleset: Ruleset
    options: SessionOptions
    seats: tuple[SeatLabel, ...]
    seat: Seat
    clock: ClockSettings
    commitment: bytes
    first_request_id: int = 1


@dataclass(frozen=True, slots=True)
class Request:
    """One decision, self-contained: what the seat may know, what it may answer, what time is left.

    Request ids count from 1 per session and seat. `time_left_ms` is all the time for this
    decision, bank included, `bank_ms` the bank as it stood when the decision was first asked;
    both are None when the session has no clocks.
    """

    session_id: str
    request_id: int
    seat: Seat
    legal: Legal
    view: View
    time_left_ms: int | None
    bank_ms: int | None


@dataclass(frozen=True, slots=True)
class SessionNews:
    """What happened in a session since the last news, as the seat may hear it."""

    session_id: str
    events: tuple[SeenEvent, ...]


class RejectReason(StrEnum):
    """Why an answer was not taken."""

    ILLEGAL = "illegal"
    UNREADABLE = "unreadable"
    LATE = "late"
    ALREADY_ANSWERED = "already_answered"
    UNKNOWN_REQUEST = "unknown_request"

    @property
    def uses_a_try(self) -> bool:
        """Whether it counts as one of the answers that a request allows."""
        return self in (RejectReason.ILLEGAL, RejectReason.UNREADABLE)


@dataclass(frozen=True, slots=True)
class Rejected:
    """An answer was not taken. `tries_left` above 0: the request is still open.

    At 0 no answer to it is taken: it is closed, there is none, or an earlier answer is being judged,
    whose own rejection, if it comes to that, says what is left. `time_left_ms` is what is left of the
    clock of that request, 0 when `tries_left` is, None when the session has no clocks.
    """

    session_id: str
    request_id: int
    reason: RejectReason
    detail: str
    tries_left: int
    time_left_ms: int | None


@dataclass(frozen=True, slots=True)
class SessionOver:
    """A session is over for its bots (`SessionEnd` on the wire).

    `places`, `stacks` and `forfeited` are indexed by seat; places count from 1, stacks are
    chips. All three are empty when the attempt was not finished.
    """

    session_id: str
    ending: AttemptEnd
    places: tuple[int, ...]
    stacks: tuple[int, ...]
    forfeited: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class SeedReveal:
    """The seed and the nonce of a session, 32 bytes each, once its whole block is over."""

    session_id: str
    seed: bytes
    nonce: bytes


class GoodbyeReason(StrEnum):
    """Why the arena closes a stream."""

    FINISHED = "finished"
    """There is nothing left to play."""
    LEFT = "left"
    """The bot said goodbye and its sessions are over."""
    STOPPING = "stopping"
    """The arena stops."""
    REPLACED = "replaced"
    """Another stream with the same token took over."""
    NO_HELLO = "no_hello"
    """The stream did not say Hello in time."""
    VERSION = "version"
    """The arena does not speak the bot's version of the protocol."""
    REFUSED = "refused"
    """The bot is not the one that was entered: another version or build."""
    REVOKED = "revoked"
    """The bot's token is no longer valid."""
    PROTOCOL = "protocol"
    """The bot sent what the protocol does not allow."""
    FLOOD = "flood"
    """The bot sent more answers than the limit allows."""
    NOT_READING = "not_reading"
    """The bot left more unread than the limit allows."""


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The last message of a stream. `come_back` says whether another stream makes sense."""

    reason: GoodbyeReason
    come_back: bool
    detail: str


ArenaMessage: TypeAlias = (
    Welcome | SessionStart | SessionNews | Rejected | Request | SessionOver | SeedReveal | Goodbye
)
