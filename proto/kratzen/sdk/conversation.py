"""A bot's side of the conversation, without I/O: what it was sent, and what it has to say.

One `Conversation` lasts as long as the bot; `opened` begins another stream of it. Sessions
are known by their id, so that one that is offered twice is one. Time is an argument.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, get_args

from engine.actions import Action
from kratzen.sdk import decode, encode
from kratzen.sdk.bot import MS_PER_SECOND, Bot, Rejection, Request, Session
from kratzen.v1 import bot_pb2

_ACTIONS: Final = get_args(Action)


@dataclass(frozen=True, slots=True)
class _Task:
    """A request that the bot owes an answer, and the rejection of its last answer if there was one."""

    request: Request
    rejection: Rejection | None = None


class Conversation:
    """What a bot knows of its link, its sessions and the answers it owes.

    Attributes:
        welcome: the arena's answer to Hello on this stream, None before it came.
        goodbye: the arena's last word on this stream, None before it came.
    """

    def __init__(self, bot: Bot, *, complain: Callable[[str], None] | None = None) -> None:
        """Begin with a bot; `complain` takes lines for its author, as it stands on stderr."""
        self.welcome: bot_pb2.Welcome | None = None
        self.goodbye: bot_pb2.Goodbye | None = None
        self._bot = bot
        self._complain = _to_stderr if complain is None else complain
        self._sessions: dict[str, Session] = {}
        self._asked: dict[str, Request] = {}
        """The last request of each session: an answer to it may be rejected."""
        self._tasks: dict[str, _Task] = {}
        """What the bot owes, by session, which has one open request at most; the oldest first."""
        self._has_left = False
        """Whether the bot has said goodbye on this stream."""

    @property
    def owes(self) -> bool:
        """Whether a request waits for the bot to decide."""
        return bool(self._tasks)

    def opened(self) -> None:
        """A new stream begins: what is still open will be sent again."""
        self.welcome = None
        self.goodbye = None
        self._tasks.clear()
        self._has_left = False

    def take(self, response: bot_pb2.PlayResponse, now_s: float) -> None:
        """Take in all that the arena said, in its order; decisions are left for `answer_next`.

        Args:
            response: what arrived.
            now_s: when it did, by `time.monotonic()`.
        """
        if response.HasField("welcome"):
            self.welcome = response.welcome
            self._forget_all_but({start.session_id for start in response.session_starts})
        for start in response.session_starts:
            self._begin(start)
        for events in response.events:
            if (session := self._sessions.get(events.session_id)) is not None:
                self._bot.news(session, decode.events_from(events))
        for rejected in response.rejected:
            self._take_rejection(rejected, now_s)
        for request in response.requests:
            self._take_request(request, now_s)
        for end in response.session_ends:
            self._end(end)
        for reveal in response.seed_reveals:
            self._bot.seed_revealed(reveal.session_id, reveal.seed, reveal.nonce)
        if response.HasField("goodbye"):
            self.goodbye = response.goodbye

    def leave(self) -> bool:
        """Whether goodbye is to be said now: the bot is leaving, and has not said so on this stream."""
        is_due = self._bot.is_leaving and not self._has_left
        self._has_left = self._has_left or is_due
        return is_due

    def answer_next(self) -> bot_pb2.Answer:
        """Let the bot decide on the oldest request that waits. What it raises is let through.

        Raises:
            TypeError: what it decided is no action.
        """
        task = self._tasks.pop(next(iter(self._tasks)))
        request = task.request
        if task.rejection is None:
            decided = self._bot.decide(request)
        else:
            decided = self._bot.rejected(request, task.rejection)
        action, note = decided if isinstance(decided, tuple) else (decided, "")
        if not isinstance(action, _ACTIONS):
            raise TypeError(
                f"the bot returned {action!r}, which is no action: return one of request.legal, or a pair "
                "of one and a note"
            )
        return encode.answer_of(request.session_id, self._number_of(request), action, note)

    def _number_of(self, request: Request) -> int:
        """The number of a request on the link, where that of another attempt is another one."""
        return request.request_id + self._sessions[request.session_id].first_request_id - 1

    def _begin(self, start: bot_pb2.SessionStart) -> None:
        session = decode.session_from(start)
        known = self._sessions.get(session.session_id)
        if known is not None:
            if known.first_request_id == session.first_request_id:
                return
            # What was known ended while there was no stream, and is played again from its start.
            self._forget(known)
        self._sessions[session.session_id] = session
        self._bot.session_started(session)

    def _take_request(self, request: bot_pb2.Request, now_s: float) -> None:
        session = self._sessions[request.session_id]
        asked = decode.request_from(request, session, now_s)
        self._asked[request.session_id] = asked
        self._tasks.pop(request.session_id, None)
        self._tasks[request.session_id] = _Task(asked)

    def _take_rejection(self, rejected: bot_pb2.Rejected, now_s: float) -> None:
        rejection = decode.rejection_from(rejected)
        self._complain(
            f"session {rejected.session_id}, request {rejected.request_id}: "
            f"answer rejected ({rejection.reason}): {rejection.detail}"
        )
        asked = self._asked.get(rejected.session_id)
        if rejection.tries_left == 0 or asked is None or self._number_of(asked) != rejected.request_id:
            return
        left_ms = rejection.time_left_ms
        deadline_s = None if left_ms is None else now_s + left_ms / MS_PER_SECOND
        again = replace(asked, time_left_ms=left_ms, deadline_s=deadline_s)
        self._tasks[rejected.session_id] = _Task(again, rejection)

    def _end(self, end: bot_pb2.SessionEnd) -> None:
        session = self._sessions.pop(end.session_id, None)
        self._drop(end.session_id)
        if session is not None:
            self._bot.session_ended(session, decode.ending_from(end))

    def _forget_all_but(self, offered: set[str]) -> None:
        """Sessions that are not offered on a new stream ended while there was none."""
        for session in [known for known in self._sessions.values() if known.session_id not in offered]:
            self._forget(session)

    def _forget(self, session: Session) -> None:
        """A session ended unseen."""
        self._drop(session.session_id)
        del self._sessions[session.session_id]
        self._bot.session_ended(session, None)

    def _drop(self, session_id: str) -> None:
        self._asked.pop(session_id, None)
        self._tasks.pop(session_id, None)


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
