"""A bot for tests that remembers all that it was told, and what an arena may say to it."""

from collections.abc import Callable

from arena import wire
from arena.clock import ClockSettings
from arena.messages import ArenaMessage, Rejected, RejectReason, Request, SeatLabel, SessionStart, Welcome
from engine.actions import Action
from engine.rules import TAVERN, SessionOptions
from engine.session import Session
from engine.view import SeenEvent
from kratzen.sdk import Bot, Ending, Rejection
from kratzen.sdk import Request as Asked
from kratzen.sdk import Session as Sitting
from kratzen.v1 import bot_pb2

TABLE = Session(TAVERN, SessionOptions(players=3), bytes(32))
WELCOME = Welcome(1, "0.1", "alice", 20_000, 65_536, 20_000, 3, 200, 8)


def first_legal(request: Asked) -> Action:
    """The first of the legal answers."""
    return next(iter(request.legal))


class Diary(Bot):
    """Answers as it is told to and writes down everything that happens."""

    name = "diary"
    version = "1.2"
    max_sessions = 5

    def __init__(self, decide: Callable[[Asked], Action | tuple[Action, str]] = first_legal) -> None:
        self.entries: list[str] = []
        self.asked: list[Asked] = []
        self._decide = decide

    def decide(self, request: Asked) -> Action | tuple[Action, str]:
        """What the test decides."""
        self.entries.append(f"decide {request.session_id} {request.request_id}")
        self.asked.append(request)
        return self._decide(request)

    def rejected(self, request: Asked, rejection: Rejection) -> Action | tuple[Action, str]:
        """The same again."""
        self.entries.append(f"rejected {rejection.reason} {rejection.tries_left}")
        return super().rejected(request, rejection)

    def session_started(self, session: Sitting) -> None:
        """Written down."""
        self.entries.append(f"started {session.session_id}")

    def news(self, session: Sitting, events: tuple[SeenEvent, ...]) -> None:
        """Counted."""
        self.entries.append(f"news {session.session_id} {len(events)}")

    def session_ended(self, session: Sitting, ending: Ending | None) -> None:
        """Written down."""
        reason = "unseen" if ending is None else ending.reason
        self.entries.append(f"ended {session.session_id} {reason}")

    def seed_revealed(self, session_id: str, seed: bytes, nonce: bytes) -> None:
        """Written down, shortened."""
        self.entries.append(f"revealed {session_id} {seed.hex()[:2]} {nonce.hex()[:2]}")


def response(*messages: ArenaMessage) -> bot_pb2.PlayResponse:
    """All of these in one message, as the arena sends it."""
    return bot_pb2.PlayResponse.FromString(wire.encode(messages))


def start_of(session_id: str, first_request_id: int = 1) -> SessionStart:
    """A session that begins."""
    labels = tuple([SeatLabel(f"bot{seat}", "1") for seat in range(3)])
    options, clock = SessionOptions(players=3), ClockSettings()
    return SessionStart(session_id, TAVERN, options, labels, 0, clock, bytes(32), first_request_id)


def request_of(session_id: str, request_id: int, time_left_ms: int | None = 1000) -> Request:
    """A decision, always the same one."""
    assert TABLE.decision is not None
    seat = TABLE.decision.seat
    return Request(session_id, request_id, seat, TABLE.decision.legal, TABLE.view(seat), time_left_ms, 10_000)


def rejection_of(session_id: str, request_id: int, tries_left: int) -> Rejected:
    """An illegal answer."""
    return Rejected(session_id, request_id, RejectReason.ILLEGAL, "not now", tries_left, 400)
