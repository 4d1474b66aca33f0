"""Bots on links without a wire, and a ledger in memory: a whole tournament in one event loop."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from arena.ledger import Attempt, BotEntry, SlotEntry, TournamentFacts, TournamentState
from arena.link import Stream
from arena.lobby import Member
from arena.messages import (
    PROTOCOL_VERSION,
    Answer,
    Answers,
    ArenaMessage,
    Hello,
    Leave,
    Rejected,
    Request,
    SeedReveal,
    SessionOver,
    SessionStart,
)
from arena.ratings import Rating
from arena.record import ReplayEnd, SessionHeader
from arena.replay import parse_ends
from arena.results import AttemptEnd, BlockResult, SessionResult, SlotState, slot_state
from arena.schedule import Block
from engine.actions import Action

Script = Callable[[Request], Action | None]


def first_legal(request: Request) -> Action:
    """The first legal answer."""
    return next(iter(request.legal))


class LinkedBot:
    """A bot on a member's link: answers each request by a script, None meaning not at all."""

    def __init__(
        self,
        member: Member,
        script: Script = first_legal,
        *,
        max_sessions: int = 8,
        version: str = "1",
        build: str = "",
    ) -> None:
        self.heard: list[ArenaMessage] = []
        self.most_at_once = 0
        self._at_once = 0
        self._member = member
        self._script = script
        self._max_sessions = max_sessions
        self._version = version
        self._build = build
        self._stream = self._open()

    def heard_of(self, kind: type[ArenaMessage]) -> list[ArenaMessage]:
        """What the bot heard of one kind."""
        return [message for message in self.heard if isinstance(message, kind)]

    def reconnect(self) -> None:
        """Lose the stream and come back on another."""
        self._member.lost(self._stream)
        self.come_back()

    def come_back(self) -> None:
        """Open another stream."""
        self._stream = self._open()

    def leave(self) -> None:
        """Want no more sessions."""
        self._member.received(self._stream, Leave())

    def vanish(self) -> None:
        """Lose the stream for good."""
        self._member.lost(self._stream)

    def _open(self) -> Stream:
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon(self.read)

        stream = self._member.link.open(wake)
        hello = Hello(
            PROTOCOL_VERSION, self._member.name, self._version, self._build, "test", self._max_sessions
        )
        self._member.received(stream, hello)
        return stream

    def on(self, message: ArenaMessage) -> None:
        """Nothing but requests matters to this bot."""

    def answer(self, request: Request) -> None:
        """Answer a request by the script."""
        if (action := self._script(request)) is not None:
            self.say(request, action)

    def say(self, request: Request, action: Action | None = None) -> None:
        """Send an answer to a request, the first legal one unless it is said."""
        answer = Answer(request.session_id, request.request_id, action or first_legal(request))
        self._member.received(self._stream, Answers((answer,)))

    def read(self) -> None:
        """Take in what waits, and answer it."""
        for message in self._member.take_batch(self._stream):
            self.heard.append(message)
            self._count(message)
            self.on(message)
            if isinstance(message, Request):
                self.answer(message)

    def _count(self, message: ArenaMessage) -> None:
        if isinstance(message, SessionStart):
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        elif isinstance(message, SessionOver):
            self._at_once -= 1


class Returning(LinkedBot):
    """Comes back when its link was lost, answers again when it was rejected: what a check asks of a bot."""

    def __init__(
        self, member: Member, script: Script = first_legal, *, max_sessions: int = 8, version: str = "1"
    ) -> None:
        self._asked: dict[str, Request] = {}
        super().__init__(member, script, max_sessions=max_sessions, version=version)

    def read(self) -> None:
        """Take in what waits; when that was the last of the stream, open another one."""
        stream = self._stream
        super().read()
        closing = stream.closing
        if stream is self._stream and closing is not None and closing.goodbye.come_back:
            asyncio.get_running_loop().call_soon(self.come_back)

    def on(self, message: ArenaMessage) -> None:
        """React to what is no request."""
        if isinstance(message, Request):
            self._asked[message.session_id] = message
        elif isinstance(message, Rejected) and message.tries_left:
            self.answer(self._asked[message.session_id])


class MemoryLedger:
    """A ledger that keeps nothing; it counts what was recorded."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.attempt_ends: dict[tuple[int, int], list[AttemptEnd]] = {}
        self.recorded: list[SessionResult] = []
        self.headers: dict[tuple[int, int], SessionHeader] = {}
        self.ends: dict[tuple[int, int], ReplayEnd] = {}
        """The first and the last lines of the replays."""
        self.attempts_at_once: list[int] = []
        """How many attempts each call recorded."""
        self.states: list[TournamentState] = []
        self.withdrawn: dict[str, str] = {}
        self.seen: tuple[BotEntry, ...] = ()
        self.fail_next: Exception | None = None
        self.before_writing: Callable[[], None] = lambda: None
        self._slots = {(slot.block, slot.session): slot.seating for block in blocks for slot in block.slots}
        self._void: set[tuple[int, int]] = set()

    def slots(self) -> tuple[SlotEntry, ...]:
        """The whole schedule."""
        return tuple(
            [
                SlotEntry(
                    block=place[0],
                    session=place[1],
                    seating=seating,
                    state=self.state(place),
                    attempts=len(self.attempt_ends.get(place, ())),
                )
                for place, seating in self._slots.items()
            ]
        )

    def state(self, place: tuple[int, int]) -> SlotState:
        """The state of a slot."""
        return slot_state(self.attempt_ends.get(place, ()), withdrawn=place in self._void)

    def record_session(self, result: SessionResult, replay: bytes) -> bool:
        """Count a result."""
        self.before_writing()
        if self.fail_next is not None:
            error, self.fail_next = self.fail_next, None
            raise error
        place = (result.block, result.session)
        self.headers[place], self.ends[place] = parse_ends(replay)
        self.attempt_ends.setdefault((result.block, result.session), []).append(AttemptEnd.FINISHED)
        self.recorded.append(result)
        return True

    def record_attempts(self, attempts: Sequence[Attempt]) -> tuple[SlotState, ...]:
        """Count attempts; a slot of a bot that was withdrawn is void then."""
        self.before_writing()
        self.attempts_at_once.append(len(attempts))
        for attempt in attempts:
            place = (attempt.block, attempt.session)
            self.attempt_ends.setdefault(place, []).append(attempt.ending)
            if not self.withdrawn.keys().isdisjoint(self._slots[place]):
                self._void.add(place)
        return tuple([self.state((attempt.block, attempt.session)) for attempt in attempts])

    def withdraw(self, bot: str, why: str, running: Collection[tuple[int, int]] = ()) -> None:
        """Make a bot's open slots void."""
        self.before_writing()
        self.withdrawn[bot] = why
        self._void |= {
            place for place, seating in self._slots.items() if bot in seating and place not in running
        }

    def see_bot(self, bot: str, version: str, build_digest: str) -> BotEntry:
        """Keep to what was seen first."""
        for entry in self.seen:
            if entry.bot == bot:
                return entry
        entry = BotEntry(bot=bot, version=version, build_digest=build_digest, withdrawn=None)
        self.seen += (entry,)
        return entry

    def set_state(self, state: TournamentState) -> None:
        """Keep a state."""
        self.states.append(state)

    def facts(self) -> TournamentFacts:
        """Not asked for by a tournament."""
        raise AssertionError

    def results(self) -> tuple[SessionResult, ...]:
        """What was recorded."""
        return tuple(self.recorded)

    def block_results(self) -> tuple[BlockResult, ...]:
        """Not asked for by a tournament."""
        raise AssertionError

    def ratings(self) -> dict[str, Rating]:
        """Not asked for by a tournament."""
        raise AssertionError

    def bots(self) -> tuple[BotEntry, ...]:
        """Who was seen before."""
        return self.seen


def reveals(bot: LinkedBot) -> list[SeedReveal]:
    """The seeds that a bot was told."""
    return [message for message in bot.heard if isinstance(message, SeedReveal)]
