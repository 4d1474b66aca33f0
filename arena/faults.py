"""What a bot can do wrong, as values that carry the guilty seat.

A bot's mistake is a `Fault`, never an exception; our own mistake is an exception, never a
`Fault`. The list of causes is closed.
"""

from dataclasses import dataclass
from enum import StrEnum

from engine.cards import Seat


class FaultCause(StrEnum):
    """The causes of a fault; `sentence` is what people read."""

    TIMEOUT = "timeout"
    ILLEGAL = "illegal"
    DISCONNECTED = "disconnected"
    EXITED = "exited"
    NO_HANDSHAKE = "no_handshake"
    PROTOCOL = "protocol"
    FLOOD = "flood"
    NOT_READING = "not_reading"

    @property
    def sentence(self) -> str:
        """What happened, as the end of a sentence that begins with the bot's name."""
        return _SENTENCES[self]


_SENTENCES = {
    FaultCause.TIMEOUT: "gave no legal answer before its clock ran out",
    FaultCause.ILLEGAL: "gave an illegal or unreadable answer at every try",
    FaultCause.DISCONNECTED: "had no link up when its clock ran out",
    FaultCause.EXITED: "exited and was not started again",
    FaultCause.NO_HANDSHAKE: "was not there when the join limit was over",
    FaultCause.PROTOCOL: "sent something that the protocol does not allow",
    FaultCause.FLOOD: "sent more than the limits allow",
    FaultCause.NOT_READING: "stopped reading what it was sent",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one seat in one session.

    `deal` and `request_id` name the decision it cost, None when it cost none; `detail` is
    a sentence of at most a line with what was received, already cleaned of control codes.
    """

    seat: Seat
    cause: FaultCause
    deal: int | None = None
    request_id: int | None = None
    detail: str = ""
