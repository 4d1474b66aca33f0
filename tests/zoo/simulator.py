"""One table in virtual time: the arena from the link down, and a bot that misbehaves at every turn.

Everything that the server does between the network and the lobby is done here on bytes, without
a network; time stands still until all have said what they have to say. So a session of hours
takes milliseconds, and one seed is one run.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from arena import wire
from arena.clock import ClockSettings
from arena.commitment import commitment
from arena.faults import FaultCause
from arena.link import LinkLimits, Stream
from arena.lobby import Lobby, Member
from arena.messages import MAX_TRIES
from arena.record import SeatInfo, SessionHeader
from arena.referee import Referee
from arena.replay import parse
from arena.replay_verify import verify
from arena.results import AttemptEnd
from arena.runner import SessionRunner
from engine.rules import make_session_options
from kratzen.sdk.conversation import Conversation
from kratzen.v1 import bot_pb2, game_pb2
from sample_bots.faulty.messages import HUGE_BYTES
from sample_bots.faulty.raw import answers_to
from sample_bots.random_bot import RandomBot
from tests.arena.tables import NONCE, TableTime
from tests.zoo.small_arena import RULESET, SEED, Outcome, Setting, bad_name

US: Final = 1000
"""Microseconds in a millisecond."""

LIMITS: Final = LinkLimits(max_strays_per_second=50)

HELLO: Final = bot_pb2.PlayRequest(
    hello=bot_pb2.Hello(protocol_version=1, bot_version="1", max_sessions=1)
).SerializeToString()


class FakeStream:
    """One stream without a network: bytes from the bot go to the arena, batches come back as bytes."""

    def __init__(self, member: Member, hear: Callable[["FakeStream", bytes], None]) -> None:
        self._member = member
        self._hear = hear
        self._limits = member.link.limits
        self.stream: Stream = member.link.open(self._wake)

    @property
    def is_live(self) -> bool:
        """Whether the arena still listens."""
        return self.stream.live

    def send(self, data: bytes) -> None:
        """What the server's reader does with a message."""
        if len(data) > self._limits.max_message_bytes:
            self._member.too_large(self.stream, len(data))
            return
        try:
            message = wire.decode(data)
        except wire.WireError as error:
            self._member.garbled(self.stream, str(error))
        else:
            self._member.received(self.stream, message)

    def lose(self) -> None:
        """The connection breaks."""
        self._member.lost(self.stream)

    def _wake(self) -> None:
        asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        batch = self._member.take_batch(self.stream)
        if batch:
            self._hear(self, wire.encode(batch))


class GoodBot:
    """A sample bot on such a stream, with the SDK's own conversation."""

    def __init__(self, member: Member) -> None:
        self._conversation = Conversation(RandomBot(), complain=lambda _: None)
        FakeStream(member, self._hear).send(HELLO)

    def _hear(self, stream: FakeStream, data: bytes) -> None:
        self._conversation.take(bot_pb2.PlayResponse.FromString(data), 0.0)
        while self._conversation.owes:
            answer = self._conversation.answer_next()
            stream.send(bot_pb2.PlayRequest(answers=bot_pb2.Answers(answers=[answer])).SerializeToString())


@dataclass(frozen=True, slots=True)
class Deed:
    """What a bad bot does with a request: the name of one of `BadBot.DEEDS`, and how long it takes, in ms."""

    name: str
    delay_ms: int


@dataclass(slots=True)
class Owed:
    """What the bad bot knows of one request: when it must be answered, and when it did so well."""

    deadline_us: int
    good_at_us: list[int] = field(default_factory=list)
    bad_count: int = 0
    """Answers that used up a try."""


class BadBot:
    """Does a deed from a list with every request that it is offered; keeps its own journal.

    Attributes:
        owed: by request id.
        links: when its link changed: the moment, and why it was down from then on, or None.
    """

    def __init__(self, member: Member, time: TableTime, deeds: Iterator[Deed]) -> None:
        self.owed: dict[int, Owed] = {}
        self.links: list[tuple[int, FaultCause | None]] = []
        self._member = member
        self._time = time
        self._deeds = deeds
        self._stream = self._connect()

    def cause_at(self, at_us: int) -> FaultCause:
        """What a clock that runs out then is to be booked as."""
        why = [cause for moment_us, cause in self.links if moment_us <= at_us][-1]
        return FaultCause.TIMEOUT if why is None else why

    # -------------------------------------------------------------- deeds

    def _answer(self, request: bot_pb2.Request) -> None:
        self._say_good(request)

    def _say_nothing(self, request: bot_pb2.Request) -> None:
        pass

    def _answer_twice(self, request: bot_pb2.Request) -> None:
        self._say_good(request)
        self._send(answers_to(request).SerializeToString())

    def _answer_previous(self, request: bot_pb2.Request) -> None:
        self._send(answers_to(request, request_id=request.request_id - 1).SerializeToString())

    def _answer_future(self, request: bot_pb2.Request) -> None:
        future_id = request.request_id + 1
        # Once that is asked it would be an answer to it.
        if future_id not in self.owed:
            self._send(answers_to(request, request_id=future_id).SerializeToString())

    def _cheat(self, request: bot_pb2.Request) -> None:
        for delay_ms in range(MAX_TRIES):
            self._later(delay_ms, lambda: self._say_bad(request))

    def _cheat_then_answer(self, request: bot_pb2.Request) -> None:
        self._say_bad(request)
        self._later(1, lambda: self._say_good(request))

    def _garble(self, request: bot_pb2.Request) -> None:
        self._break(b"\xff\xff", FaultCause.PROTOCOL)

    def _say_hello_again(self, request: bot_pb2.Request) -> None:
        self._break(HELLO, FaultCause.PROTOCOL)

    def _send_too_much(self, request: bot_pb2.Request) -> None:
        self._break(bytes(HUGE_BYTES), FaultCause.FLOOD)

    def _chatter(self, request: bot_pb2.Request) -> None:
        nothing = bot_pb2.PlayRequest(answers=bot_pb2.Answers()).SerializeToString()
        while self._stream.is_live:
            self._send(nothing)

    def _drop(self, request: bot_pb2.Request) -> None:
        if self._stream.is_live:
            self._stream.lose()
            self._went_down(FaultCause.DISCONNECTED)

    def _take_over(self, request: bot_pb2.Request) -> None:
        self._stream = self._connect()

    DEEDS = {  # noqa: RUF012 - a table of methods
        "answer": _answer,
        "say_nothing": _say_nothing,
        "answer_twice": _answer_twice,
        "answer_previous": _answer_previous,
        "answer_future": _answer_future,
        "cheat": _cheat,
        "cheat_then_answer": _cheat_then_answer,
        "garble": _garble,
        "say_hello_again": _say_hello_again,
        "send_too_much": _send_too_much,
        "chatter": _chatter,
        "drop": _drop,
        "take_over": _take_over,
    }

    RETURN_MS: Final = 450
    """How long it stays away."""

    # -------------------------------------------------------------- how they are done

    def _connect(self) -> FakeStream:
        stream = FakeStream(self._member, self._hear)
        self.links.append((self._time.now_us(), None))
        stream.send(HELLO)
        return stream

    def _hear(self, stream: FakeStream, data: bytes) -> None:
        response = bot_pb2.PlayResponse.FromString(data)
        for request in response.requests:
            if request.request_id not in self.owed:
                self.owed[request.request_id] = Owed(self._time.now_us() + request.time_left_ms * US)
            self._do(next(self._deeds), request)

    def _do(self, deed: Deed, request: bot_pb2.Request) -> None:
        self._later(deed.delay_ms, lambda: self.DEEDS[deed.name](self, request))

    def _later(self, delay_ms: int, call: Callable[[], None]) -> None:
        if delay_ms:
            self._time.call_at(self._time.now_us() + delay_ms * US, call)
        else:
            call()

    def _say_good(self, request: bot_pb2.Request) -> None:
        if self._stream.is_live:
            self.owed[request.request_id].good_at_us.append(self._time.now_us())
            self._send(answers_to(request).SerializeToString())

    def _say_bad(self, request: bot_pb2.Request) -> None:
        if self._stream.is_live:
            self.owed[request.request_id].bad_count += 1
            self._send(answers_to(request, game_pb2.Action()).SerializeToString())

    def _break(self, data: bytes, cause: FaultCause) -> None:
        """Send what ends the link."""
        self._send(data, cause)
        assert not self._stream.is_live

    def _send(self, data: bytes, cause: FaultCause = FaultCause.FLOOD) -> None:
        """Send, and note when that was too much."""
        if self._stream.is_live:
            self._stream.send(data)
            if not self._stream.is_live:
                self._went_down(cause)

    def _went_down(self, cause: FaultCause) -> None:
        self.links.append((self._time.now_us(), cause))
        self._time.call_at(self._time.now_us() + self.RETURN_MS * US, self._return)

    def _return(self) -> None:
        if not self._stream.is_live:
            self._stream = self._connect()


async def simulate(
    deeds: Iterator[Deed], *, clock: ClockSettings, deals: int, seed: bytes = SEED
) -> tuple[Outcome, BadBot]:
    """Play one session in virtual time."""
    time = TableTime()
    lobby = Lobby(time, arena_version="0", limits=LIMITS)
    seating = Setting().block(1).slots[0].seating
    header = SessionHeader(
        tournament="simulated",
        block=1,
        session=1,
        session_id="0" * 32,
        ruleset=RULESET,
        options=make_session_options(RULESET, {"players": 4, "deals": deals}),
        seats=tuple([SeatInfo(name, "1", "") for name in seating]),
        clock=clock,
        commitment=commitment(NONCE, seed),
    )
    members = [lobby.member(name) for name in seating]
    for member in members:
        if member.name != bad_name(1):
            GoodBot(member)
    bad = BadBot(lobby.member(bad_name(1)), time, deeds)
    referee = Referee(header, seed, NONCE)
    runner = SessionRunner(
        referee, [member.sit(referee, seat) for seat, member in enumerate(members)], time.clockwork()
    )
    runner.open()
    played = await runner.play()
    runner.close(AttemptEnd.FINISHED)
    assert verify(played.replay) is None
    return Outcome(played.result, parse(played.replay)), bad
