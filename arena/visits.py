"""How a bot comes and goes: said in the arena's log, and kept for an organiser who asks why it is away.

Much of it a bot can bring about as often as it likes. So of each kind of event a bot gets one line
a second at the most, and the next line of that kind says how many were left out.
"""

from dataclasses import dataclass
from typing import Final, assert_never

import structlog

from arena.clock import US_PER_SECOND
from arena.faults import FaultCause
from arena.link import Answered, Down, Joined, Leaving, LinkEvent, Stray, TurnedAway

log = structlog.get_logger()

LOGGED_EVERY_US: Final = US_PER_SECOND
"""Of a bot's events of one kind, no two are logged within this time."""


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a bot has no stream up.

    Attributes:
        sentence: what became of its last stream, or what it was told when it was turned away last;
            empty when it has one up, or was never there.
        turned_away: which of the two it is.
    """

    sentence: str = ""
    turned_away: bool = False


@dataclass(slots=True)
class _Line:
    """When a kind of event was logged last, and how many were left out since."""

    at_us: int
    left_out: int = 0


class Visits:
    """The comings and goings of one bot.

    Attributes:
        absence: why it is away.
    """

    def __init__(self, bot_name: str) -> None:
        self.absence = Absence()
        self._bot_name = bot_name
        self._is_up = False
        self._lines: dict[str, _Line] = {}

    def note(self, event: LinkEvent, now_us: int) -> None:
        """The bot's link reports something; answers are nothing of ours."""
        match event:
            case Joined(hello):
                what = "bot took over" if self._is_up else "bot joined"
                self._is_up, self.absence = True, Absence()
                self._log(what, now_us, version=hello.bot_version, build=hello.build_digest)
            case Down(cause, detail):
                self._is_up, self.absence = False, Absence(detail)
                self._log(
                    "bot away", now_us, warns=cause is not FaultCause.DISCONNECTED, cause=cause, why=detail
                )
            case TurnedAway(goodbye):
                self._keep_out(goodbye.detail)
                reason = goodbye.reason.name.lower()
                self._log("bot turned away", now_us, warns=True, reason=reason, why=goodbye.detail)
            case Answered() | Stray() | Leaving():
                pass
            case _ as never:
                assert_never(never)

    def refused(self, why: str, now_us: int) -> None:
        """A stream of the bot was not opened at all; `why` is the sentence that it was told."""
        self._keep_out(why)
        self._log("bot refused at the door", now_us, warns=True, why=why)

    def _keep_out(self, why: str) -> None:
        """Keep why a stream was not let in, unless the bot has another one up."""
        if not self._is_up:
            self.absence = Absence(why, turned_away=True)

    def _log(self, what: str, now_us: int, *, warns: bool = False, **facts: str) -> None:
        line = self._lines.get(what)
        if line is not None and now_us - line.at_us < LOGGED_EVERY_US:
            line.left_out += 1
            return
        count = {} if line is None or line.left_out == 0 else {"left_out": line.left_out}
        self._lines[what] = _Line(now_us)
        (log.warning if warns else log.info)(what, bot=self._bot_name, **facts, **count)
