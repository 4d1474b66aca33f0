"""Who is there: a member for every bot that may come, and its seats in the running sessions.

The lobby stands between the links, which know streams, and the sessions, which know seats:
it carries what a link reports to whoever waits for it. It knows asyncio, not gRPC.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import TypeAlias, assert_never

from arena.clock import US_PER_SECOND, Patience, Spared, Time, nothing_spared
from arena.faults import FaultCause
from arena.lag import limited
from arena.link import (
    Answered,
    Down,
    Joined,
    Leaving,
    Link,
    LinkEvent,
    LinkLimits,
    Stray,
    Stream,
    TurnedAway,
)
from arena.messages import (
    Answer,
    ArenaMessage,
    BotMessage,
    Goodbye,
    GoodbyeReason,
    Hello,
    Rejected,
    Request,
    SeedReveal,
    SessionNews,
    SessionOver,
    SessionStart,
    Welcome,
    said,
)
from arena.record import StrayAnswer
from arena.referee import Referee
from arena.seats import Arrived, Away, Gone, Reply, Seat
from arena.visits import Visits

Overhear: TypeAlias = Callable[[ArenaMessage | LinkEvent | Gone, int], None]
"""Hears what is said to a bot and by it, each with the microsecond of the arena's clock."""


def nobody_overhears(said: ArenaMessage | LinkEvent | Gone, at_us: int) -> None:
    """What becomes of what is said while nobody listens in."""


class Member:
    """One bot that may come: its link, whether it will still come, and its seats.

    Attributes:
        link: the conversation.
        there: set while the bot has said Hello and has not gone for good.
        gone: why it will not come (again), or None.
        turned_away: what the last stream that was not let in was told, or None.
        visits: how it came and went.
        overhear: called with all that is handed to the bot's transport and all that its link reports,
            when it is, and with why the bot is gone.
    """

    def __init__(
        self,
        name: str,
        patience: Patience,
        arena_version: str,
        limits: LinkLimits,
        on_joined: Callable[[str, Hello], None],
    ) -> None:
        self.name = name
        self.link = Link(name, arena_version=arena_version, limits=limits)
        self.there = asyncio.Event()
        self.gone: Gone | None = None
        self.turned_away: Goodbye | None = None
        self.visits = Visits(name)
        self.overhear: Overhear = nobody_overhears
        self._patience = patience
        self._time = patience.time
        self._on_joined = on_joined
        self._seats: dict[str, LinkSeat] = {}

    @property
    def hello(self) -> Hello | None:
        """What the bot said of itself last."""
        return self.link.hello

    @property
    def capacity(self) -> int:
        """How many sessions the bot would play at once; before it was there, one."""
        if self.has_left:
            return 0
        return self.link.hello.max_sessions if self.link.hello else 1

    @property
    def has_left(self) -> bool:
        """Whether the bot said that it wants no more sessions, and has not come again since."""
        return self.link.leaving

    @property
    def is_there(self) -> bool:
        """Whether a stream of the bot is up, and it has not gone for good."""
        return self.link.absence is None and self.gone is None

    def now_us(self) -> int:
        """The present, in microseconds of the arena's clock."""
        return self._time.now_us()

    def sit(self, referee: Referee, number: int) -> "LinkSeat":
        """Take seat `number` of a session; `release` gives it back."""
        seat = LinkSeat(self, referee, number)
        self._seats[referee.session_id] = seat
        return seat

    def ask(self, request: Request) -> None:
        """Put a request to the bot, wherever it is."""
        self.link.ask(request, self._time.now_us())
        self.carry()

    def ask_again(self, session_id: str) -> None:
        """Send the open request of a session once more, under its id."""
        self.link.ask_again(session_id, self._time.now_us())
        self.carry()

    def release(self, session_id: str) -> None:
        """Leave a session that is over."""
        self._seats.pop(session_id, None)

    # ---------------------------------------------------------- what a stream reports

    def refused(self, why: str) -> None:
        """A stream of the bot was not opened at all; `why` is the sentence that it was told."""
        self.visits.refused(why, self._time.now_us())

    def received(self, stream: Stream, message: BotMessage) -> None:
        """A stream brought a message."""
        self.link.received(stream, message, self._time.now_us())
        self.carry()

    def garbled(self, stream: Stream, why: str) -> None:
        """A stream brought what is no message; `why` is one sentence."""
        self.link.garbled(stream, why)
        self.carry()

    def too_large(self, stream: Stream, size_bytes: int) -> None:
        """A stream brought a message that is larger than is allowed."""
        self.link.too_large(stream, size_bytes)
        self.carry()

    def stalled(self, stream: Stream, why: str) -> None:
        """A stream's transport has not taken a batch for too long; `why` is one sentence."""
        self.link.stalled(stream, why)
        self.carry()

    def hello_expired(self, stream: Stream) -> None:
        """The time of a stream to say Hello is over."""
        self.link.hello_expired(stream)
        self.carry()

    def lost(self, stream: Stream, note: str = "") -> None:
        """A stream is gone; a note says what may have led to it."""
        self.link.lost(stream, note)
        self.carry()

    def take_batch(self, stream: Stream) -> tuple[ArenaMessage, ...]:
        """All that waits for a stream, handed to its transport at this moment; what came before is sent."""
        now_us = self._time.now_us()
        held_since_us = now_us if stream.held_since_us is None else stream.held_since_us
        spared_us = self._patience.spared_us(held_since_us, now_us)
        batch = self.link.take_batch(stream, now_us, spared_us=spared_us)
        for message in batch:
            self.overhear(self.link.as_asked(message), now_us)
        return batch

    def reveal(self, reveal: SeedReveal) -> None:
        """Open the commitment of a session whose block is over."""
        self.link.reveal(reveal)
        self.carry()

    def close(self, reason: GoodbyeReason, detail: str) -> None:
        """End the bot's stream, if one is up."""
        self.link.close(reason, detail)
        self.carry()

    def shut(self, reason: GoodbyeReason, detail: str) -> None:
        """End every stream of the bot, those too on which it has not said Hello, now and from here on."""
        self.link.shut(reason, detail)
        self.carry()

    def cut(self, detail: str) -> None:
        """End the bot's stream without a word, if one is up."""
        self.link.cut(detail)
        self.carry()

    # ---------------------------------------------------------- for good

    def leave_for_good(self, gone: Gone) -> None:
        """The bot will not come (again): the sessions that it sits in are forfeited at once."""
        self.gone = gone
        self.there.set()
        self.overhear(gone, self._time.now_us())
        for seat in self._seats.values():
            seat.leave(gone)

    def revoke(self, why: str, version: str | None = None) -> None:
        """The bot, or a version of it, may come no more: its stream is closed, and it is gone for good.

        Another version is another member, once the lobby has forgotten this one.
        """
        self.link.revoke(why, version)
        self.carry()
        self.leave_for_good(Gone(FaultCause.DISCONNECTED, why))

    # ---------------------------------------------------------- the one that was entered

    def pin(self, bot_version: str, build_digest: str | None) -> None:
        """From here on only this version (and build, unless None) may come; another one has to go."""
        self.link.pin(bot_version, build_digest)
        self.carry()

    def unpin(self) -> None:
        """Any version of the bot may come."""
        self.link.unpin()

    # ---------------------------------------------------------- inside

    def carry(self) -> None:
        """Carry what the link reports to whoever waits for it."""
        for event in self.link.take_events():
            self.overhear(event, self._time.now_us())
            self.visits.note(event, self._time.now_us())
            match event:
                case Joined(hello):
                    self.there.set()
                    self._on_joined(self.name, hello)
                case Answered(session_id, request_id, action, note, at_us):
                    self._seats[session_id].arrived(
                        Arrived(Answer(session_id, request_id, action, note), at_us)
                    )
                case Stray():
                    self._note_stray(event)
                case TurnedAway(goodbye):
                    self.turned_away = goodbye
                case Down():
                    if self.gone is None:
                        self.there.clear()
                case Leaving():
                    pass
                case _ as never:
                    assert_never(never)

    def _note_stray(self, stray: Stray) -> None:
        seat = self._seats.get(stray.session_id)
        if seat is not None:
            seat.stray(stray)


class LinkSeat(Seat):
    """A bot's seat in one session, reached over its link."""

    def __init__(self, member: Member, referee: Referee, number: int) -> None:
        self._member = member
        self._referee = referee
        self._number = number
        self._asked_id = 0
        self._closed_at_us: dict[int, int] = {}
        """When each request was over."""
        self._reply: asyncio.Future[Reply] | None = None
        self._early: Reply | None = None
        """An answer to the request that is open, which came while nobody waited for it."""

    def decide(self, request: Request) -> asyncio.Future[Reply]:
        """Ask over the link; asking the same request again waits for the next answer to it."""
        member = self._member
        self._reply = asyncio.get_running_loop().create_future()
        if member.gone is not None:
            self._reply.set_result(member.gone)
        elif request.request_id != self._asked_id:
            self._asked_id = request.request_id
            self._early = None
            member.ask(request)
        elif self._early is not None:
            self._reply.set_result(self._early)
            self._early = None
        return self._reply

    def handed_at_us(self, request: Request, asked_at_us: int) -> int:
        """When the link's transport took the request."""
        handed_at_us = self._member.link.handed_at_us(request.session_id, request.request_id)
        return asked_at_us if handed_at_us is None else handed_at_us

    def absence(self) -> Away | None:
        """Why no stream of the bot is up, or None."""
        link = self._member.link
        return None if link.absence is None else Away(link.absence, link.absence_detail)

    def reject(self, rejected: Rejected) -> None:
        """Tell the bot that its answer was not taken."""
        if rejected.tries_left == 0:
            self._closed_at_us[rejected.request_id] = self._member.now_us()
        self._member.link.reject(rejected)
        self._member.carry()
        if rejected.tries_left == 0:
            self._forfeit_if_gone()

    def settled(self, *, expired: bool) -> None:
        """The open request is over; later answers to it are late, or repeated."""
        if self._asked_id == 0:
            return
        link, session_id = self._member.link, self._referee.session_id
        self._closed_at_us[self._asked_id] = self._member.now_us()
        (link.expire if expired else link.settle)(session_id)
        if not expired:
            self._forfeit_if_gone()

    def tell(self, message: ArenaMessage) -> None:
        """Pass on what happens in the session."""
        link = self._member.link
        match message:
            case SessionStart():
                link.start(message)
            case SessionNews():
                link.tell(message)
            case SessionOver():
                link.end(message)
                self._member.release(message.session_id)
            case Welcome() | Request() | Rejected() | SeedReveal() | Goodbye():
                raise AssertionError(f"{type(message).__name__} is not told at a table")
            case _ as never:
                assert_never(never)
        self._member.carry()

    def arrived(self, reply: Reply) -> None:
        """An answer to the open request came."""
        if self._reply is None or self._reply.done():
            self._early = reply
        else:
            self._reply.set_result(reply)

    def leave(self, gone: Gone) -> None:
        """The bot will not come again: it forfeits, whoever's question is open."""
        decision = self._referee.decision
        if decision is not None and decision.seat == self._number:
            # Whoever asks it hears of this as the reply, now or when it asks, unless an answer came before.
            self.arrived(gone)
        else:
            self._referee.forfeit(self._number, gone.cause, gone.detail)

    def _forfeit_if_gone(self) -> None:
        """Once an answer is judged: the bot may have left since it gave it."""
        gone = self._member.gone
        if gone is not None:
            self._referee.forfeit(self._number, gone.cause, gone.detail)

    def stray(self, stray: Stray) -> None:
        """An answer came that no open request waited for."""
        closed_at_us = self._closed_at_us.get(stray.request_id)
        self._referee.stray(
            StrayAnswer(
                seat=self._number,
                reason=stray.reason,
                request_id=stray.request_id,
                answer=said(stray.action),
                late_us=None if closed_at_us is None else stray.at_us - closed_at_us,
            )
        )


def _nobody_asks(name: str, hello: Hello) -> None:
    """What a lobby does with arrivals that nobody wants to be told of."""


class Lobby:
    """All bots that may come to this arena, by name.

    Attributes:
        limits: of every bot.
        patience: how long bots are waited for.
        on_joined: called with the name and the Hello of every bot that comes.
    """

    def __init__(
        self,
        time: Time,
        *,
        arena_version: str,
        limits: LinkLimits | None = None,
        spared_us: Spared = nothing_spared,
    ) -> None:
        """Begin without bots; `spared_us` is what the arena was late by, for which no bot pays."""
        self.patience = Patience(time, spared_us)
        self._arena_version = arena_version
        self.limits = LinkLimits() if limits is None else limits
        self.on_joined: Callable[[str, Hello], None] = _nobody_asks
        self._members: dict[str, Member] = {}
        self._closed: tuple[GoodbyeReason, str] | None = None
        """What was said when it was closed, if it was."""

    def member(self, name: str) -> Member:
        """The member of that name, who need not have been there yet."""
        if name not in self._members:
            member = Member(name, self.patience, self._arena_version, self.limits, self._tell_joined)
            self._members[name] = member
            if self._closed is not None:
                member.shut(*self._closed)
        return self._members[name]

    def _tell_joined(self, name: str, hello: Hello) -> None:
        self.on_joined(name, hello)

    def forget(self, name: str) -> None:
        """Let the next one of that name be a new member; whoever holds the old one keeps it."""
        self._members.pop(name, None)

    def close(self, reason: GoodbyeReason, detail: str) -> None:
        """End every stream, those too on which no Hello was said, now and from here on."""
        self._closed = (reason, detail)
        for member in self._members.values():
            member.shut(reason, detail)

    async def wait_for_one(self, names: Collection[str]) -> None:
        """Wait until one of these bots is there or gone."""
        waits = [asyncio.create_task(self.member(name).there.wait()) for name in names]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def wait_for(
        self, names: Iterable[str], timeout_s: float, *, since_us: int | None = None
    ) -> tuple[str, ...]:
        """Wait until all these bots are there or gone; the absent ones.

        It takes at most `timeout_s` seconds, from `since_us` on or from now, and longer by what the arena is
        late by itself.
        """
        members = [self.member(name) for name in names]
        return tuple([member.name for member in await self.wait_for_members(members, timeout_s, since_us)])

    async def wait_for_members(
        self, members: Sequence[Member], timeout_s: float, since_us: int | None
    ) -> tuple[Member, ...]:
        """The same for members, of whom one may be forgotten meanwhile; the absent ones."""
        with suppress(TimeoutError):
            async with limited(self.patience, round(timeout_s * US_PER_SECOND), since_us=since_us):
                # One that was there may be away again by the time the last one comes.
                while away := [member for member in members if not member.there.is_set()]:
                    await away[0].there.wait()
        return tuple([member for member in members if not member.is_there])
