"""What sits at a seat: one method to write, whoever it is.

A bot on a link, a bot in this process, a person at a terminal: the runner asks all of them
alike. Nothing here knows how an answer travels or what it is worth.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeAlias

from arena.faults import FaultCause
from arena.messages import Answer, ArenaMessage, Rejected, Request


@dataclass(frozen=True, slots=True)
class Arrived:
    """An answer and the moment it arrived, in microseconds of the arena's clock."""

    answer: Answer
    at_us: int


@dataclass(frozen=True, slots=True)
class Gone:
    """Whoever sat here will not come back: the session is forfeited at once."""

    cause: FaultCause
    detail: str


Reply: TypeAlias = Arrived | Gone


@dataclass(frozen=True, slots=True)
class Away:
    """Nobody is there now, though somebody may come back: what a time-out is booked as, and what happened."""

    cause: FaultCause
    detail: str


class Seat(ABC):
    """One player of one session."""

    @abstractmethod
    def decide(self, request: Request) -> Awaitable[Reply]:
        """Ask for an answer; cancelled when the clock has run out.

        The same request comes again when the answer before was rejected and may be
        followed by another.
        """

    def reject(self, rejected: Rejected) -> None:
        """Hear why the last answer was not taken; with no tries left the request is over."""
        del rejected

    def handed_at_us(self, request: Request, asked_at_us: int) -> int:
        """When the request was handed over, so that its clock started; until then, when it was asked.

        So a bot that cannot be handed anything, because it reads nothing, does not hold up a session for
        longer than the clock allows.
        """
        return asked_at_us

    def absence(self) -> Away | None:
        """Why nobody is there, which a clock that runs out now is booked as; None: somebody is."""
        return None

    def tell(self, message: ArenaMessage) -> None:
        """Hear what happens at the table; nothing is expected in return."""
        del message

    def settled(self, *, expired: bool) -> None:
        """The open request is over: an answer was taken, or its time had `expired`."""
        del expired
