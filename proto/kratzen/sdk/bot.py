"""What a bot author sees: the class to derive from, and the values that it is handed.

No protobuf and no gRPC here: a bot can be tried without an arena by calling `decide`.
"""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from engine.actions import Action, Legal
from engine.cards import Seat
from engine.rules import Ruleset, SessionOptions
from engine.view import SeenEvent, View

MS_PER_SECOND = 1000


@dataclass(frozen=True, slots=True)
class Clock:
    """The clocks of a session; without `timed` nothing runs out and the rest means nothing.

    Attributes:
        timed: whether there are clocks.
        move_ms: time for each decision.
        bank_ms: time for the whole session, spent when a decision takes longer than `move_ms`.
        increment_ms: added to the bank at the start of every deal but the first.
        first_answer_ms: added to the first decision of the session.
        join_ms: time to be there, from the offer of a session.
        max_strikes: the strike with this number forfeits the session.
    """

    timed: bool
    move_ms: int
    bank_ms: int
    increment_ms: int
    first_answer_ms: int
    join_ms: int
    max_strikes: int


@dataclass(frozen=True, slots=True)
class Session:
    """A session that the bot sits in.

    Attributes:
        session_id: opaque, the same on every link; a good seed for a bot's own random generator.
        ruleset: every option of the game.
        options: the frame of the session.
        names: who plays, by seat.
        seat: the bot's own seat.
        clock: the clocks.
        commitment: SHA-256 over the nonce followed by the seed, 32 bytes.
        first_request_id: the number of its first request on the link, which is above 1 when the session
            is played again from its start; `Request.request_id` counts from 1 all the same.
    """

    session_id: str
    ruleset: Ruleset
    options: SessionOptions
    names: tuple[str, ...]
    seat: Seat
    clock: Clock
    commitment: bytes
    first_request_id: int = 1


@dataclass(frozen=True, slots=True)
class Request:
    """One decision. It holds all that is needed to answer it.

    Attributes:
        session_id: the session.
        request_id: counts from 1 in each session, and anew when one is played again from its start, so
            that a bot that draws by it draws the same.
        view: what the seat may know, rules and options included.
        legal: the legal answers: iterate, count, or ask with `in`.
        time_left_ms: all the time for this decision when it arrived, bank included; None without clocks.
        bank_ms: the bank when the decision was first asked; None without clocks.
        deadline_s: the moment of `time.monotonic()` at which the time is over; None without clocks.
    """

    session_id: str
    request_id: int
    view: View
    legal: Legal
    time_left_ms: int | None = None
    bank_ms: int | None = None
    deadline_s: float | None = None

    def remaining_ms(self) -> float | None:
        """What is left of the time now, 0 or more; None without clocks."""
        if self.deadline_s is None:
            return None
        return max(0.0, (self.deadline_s - time.monotonic()) * MS_PER_SECOND)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why an answer was not taken.

    Attributes:
        reason: `illegal`, `unreadable`, `late`, `already_answered` or `unknown_request`.
        detail: one sentence for people.
        tries_left: above 0, the request is still open.
        time_left_ms: what is left of its clock, 0 when no try is; None without clocks.
    """

    reason: str
    detail: str
    tries_left: int
    time_left_ms: int | None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a session ended. The tuples are by seat, and empty unless it was `finished`.

    Attributes:
        reason: `finished`, `operator_stop`, `arena_error` or `bots_absent`.
        places: from 1, equal ones shared.
        stacks: chips at the end.
        forfeited: which bots forfeited.
    """

    reason: str
    places: tuple[int, ...]
    stacks: tuple[int, ...]
    forfeited: tuple[bool, ...]


class Bot(ABC):
    """A player. One object plays all sessions: what it remembers belongs under a session id."""

    name: ClassVar[str] = "bot"
    """For show; the token says who the bot is."""
    version: ClassVar[str] = "1"
    """Each version is rated on its own."""
    build_digest: ClassVar[str] = ""
    """A digest of what the bot is made of, if it likes to say."""
    max_sessions: ClassVar[int] = 64
    """How many sessions the bot plays at once. It decides for one after the other."""

    is_leaving: bool = False
    """Whether the bot wants no more sessions; `leave` says so."""

    def leave(self) -> None:
        """Want no more sessions: those that the bot sits in are played out, then the arena ends the link.

        To be called from the other methods; it is said after what they answer. It is for bots that dial
        in: one that the arena starts is started again when it ends before its tournament does.
        """
        self.is_leaving = True

    @abstractmethod
    def decide(self, request: Request) -> Action | tuple[Action, str]:
        """The answer to a request, one of `request.legal`; with a note for the replay if it likes."""

    def rejected(self, request: Request, rejection: Rejection) -> Action | tuple[Action, str]:
        """Another answer in place of one that was illegal or unreadable; as it stands, `decide` again."""
        return self.decide(request)

    def session_started(self, session: Session) -> None:  # noqa: B027 - need not be written
        """A session begins. Told once, however often the link is lost."""

    def news(self, session: Session, events: tuple[SeenEvent, ...]) -> None:  # noqa: B027 - need not be written
        """What happened at a table. Only a bot that writes this method is sent it.

        What happens while the link is lost is never told.
        """

    def session_ended(self, session: Session, ending: Ending | None) -> None:  # noqa: B027 - need not be written
        """A session is over; None when it ended while the link was lost."""

    def seed_revealed(self, session_id: str, seed: bytes, nonce: bytes) -> None:  # noqa: B027 - need not be written
        """The whole block of a session is over: here is what its commitment was made of."""
