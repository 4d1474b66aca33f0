"""The conversation with one bot, driven by hand: no network, no waiting."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from arena import wire
from arena.clock import ClockSettings
from arena.faults import FaultCause
from arena.link import (
    MAX_VERSIONS,
    AnswerBudget,
    Answered,
    CloseStatus,
    Closing,
    Down,
    Joined,
    Leaving,
    Link,
    LinkEvent,
    LinkLimits,
    Stray,
    Stream,
    TurnedAway,
    most_sessions,
    sessions_bytes,
    waiting_bytes,
)
from arena.messages import (
    MAX_LABEL_LENGTH,
    Answer,
    Answers,
    ArenaMessage,
    Goodbye,
    GoodbyeReason,
    Hello,
    Leave,
    Rejected,
    RejectReason,
    Request,
    SeatLabel,
    SeedReveal,
    SessionNews,
    SessionOver,
    SessionStart,
    Unreadable,
    Welcome,
)
from arena.results import AttemptEnd
from arena.text import MAX_BOT_NAME_LENGTH
from engine.actions import PLAYS, Action, Play
from engine.events import AntesPaid, CutEffect, CutMade, DealSettled
from engine.rules import MAX_PLAYERS, SALZBURG, TAVERN, DealKind, Ruleset, SessionOptions
from engine.session import Session
from engine.view import seen_by
from tests.engine.playing import CASES, Case, generator, steps

MS = 1000
"""Microseconds in one."""

HELLO = Hello(1, "alice", "1.0", "abc", "test", 8)
SESSION = Session(TAVERN, SessionOptions(players=3), bytes(32))
LABELS = tuple([SeatLabel(f"bot{seat}", "1") for seat in range(3)])
NEWS = SessionNews("s1", (AntesPaid((10, 10, 10)),))


def start_of(session_id: str, *, timed: bool = True) -> SessionStart:
    """The start of a session with that id."""
    clock = ClockSettings(timed=timed)
    return SessionStart(session_id, TAVERN, SessionOptions(players=3), LABELS, 0, clock, bytes(32))


def request_of(session_id: str, request_id: int, time_left_ms: int | None = 11_000) -> Request:
    """A request; what is asked does not matter to the link."""
    assert SESSION.decision is not None
    return Request(session_id, request_id, 0, SESSION.decision.legal, SESSION.view(0), time_left_ms, 10_000)


def answer_to(session_id: str, request_id: int, action: Action | Unreadable = PLAYS[3]) -> Answers:
    """A message with one answer."""
    return Answers((Answer(session_id, request_id, action),))


def rejection(session_id: str, request_id: int, tries_left: int) -> Rejected:
    """The host's verdict that an answer is illegal."""
    return Rejected(session_id, request_id, RejectReason.ILLEGAL, "not now", tries_left, 500)


class Table:
    """A link and its host in one hand, with a clock that stands still unless moved."""

    def __init__(self, limits: LinkLimits | None = None) -> None:
        self.link = Link("alice", arena_version="0.1", limits=limits)
        self.now_us = 0
        self.wakes = 0

    def open(self) -> Stream:
        """A new stream that has not said anything."""
        return self.link.open(self._woken)

    def join(self) -> Stream:
        """A new stream that has said Hello and was read empty."""
        stream = self.open()
        self.say(stream, HELLO)
        self.read(stream)
        self.link.take_events()
        return stream

    def say(self, stream: Stream, message: Hello | Answers | Leave) -> list[LinkEvent]:
        """The bot says something; what the host is told of it."""
        self.link.received(stream, message, self.now_us)
        return self.link.take_events()

    def read(self, stream: Stream) -> tuple[ArenaMessage, ...]:
        """The bot reads all that waits."""
        return self.link.take_batch(stream, self.now_us)

    def ask(self, session_id: str, request_id: int) -> Request:
        """The host asks."""
        request = request_of(session_id, request_id)
        self.link.ask(request, self.now_us)
        return request

    def _woken(self) -> None:
        self.wakes += 1


@pytest.fixture
def table() -> Table:
    """A link with the usual limits."""
    return Table()


def goodbye_of(stream: Stream) -> Goodbye:
    """The last word to a stream that is closed."""
    assert stream.closing is not None
    return stream.closing.goodbye


def statuses(reason: GoodbyeReason, status: CloseStatus, detail: str, *, come_back: bool) -> Closing:
    """How a stream is expected to be closed."""
    return Closing(status, Goodbye(reason, come_back, detail))


# ------------------------------------------------------------------ hello


def test_hello_is_welcomed(table: Table) -> None:
    """A bot that says Hello is told its name and the limits, and its sessions are cut to them."""
    stream = table.open()
    hello = replace(HELLO, max_sessions=1_000_000)
    assert table.link.absence is FaultCause.NO_HANDSHAKE
    assert table.say(stream, hello) == [Joined(replace(HELLO, max_sessions=256))]
    assert table.read(stream) == (Welcome(1, "0.1", "alice", 20_000, 65_536, 20_000, 3, 200, 256),)
    assert table.link.absence is None
    assert table.link.hello == replace(HELLO, max_sessions=256)
    assert table.wakes > 0


def test_another_protocol_version_is_turned_away(table: Table) -> None:
    """The refusal names both versions and says what to do; the bot need not come back."""
    stream = table.open()
    (event,) = table.say(stream, replace(HELLO, protocol_version=2))
    detail = "this arena speaks version 1 of the protocol, the bot version 2: use an SDK for version 1"
    assert stream.closing == statuses(
        GoodbyeReason.VERSION, CloseStatus.FAILED_PRECONDITION, detail, come_back=False
    )
    assert event == TurnedAway(goodbye_of(stream))
    assert table.read(stream) == (goodbye_of(stream),)
    assert stream.done
    assert table.link.absence is FaultCause.NO_HANDSHAKE


@pytest.mark.parametrize(
    ("hello", "said"),
    [
        (replace(HELLO, bot_version="2.0"), "entered is version '1.0' of this bot, not '2.0'"),
        (replace(HELLO, build_digest="def"), "entered is build 'abc' of this bot, not 'def'"),
    ],
)
def test_another_build_than_was_entered_is_refused(table: Table, hello: Hello, said: str) -> None:
    """A tournament keeps to the version and build that it saw at its start."""
    table.link.pin("1.0", "abc")
    stream = table.open()
    table.say(stream, hello)
    assert goodbye_of(stream).reason is GoodbyeReason.REFUSED
    assert goodbye_of(stream).detail.startswith(said)
    assert table.say(table.open(), HELLO) == [Joined(HELLO)]


def test_a_build_that_is_not_pinned_may_be_any(table: Table) -> None:
    """Where the arena knows the build itself, what the bot says of it does not matter."""
    table.link.pin("1.0", None)
    assert table.say(table.open(), replace(HELLO, build_digest="whatever")) != []
    table.link.unpin()
    assert table.say(table.open(), replace(HELLO, bot_version="9")) != []
    assert table.link.absence is None


def test_a_bot_comes_as_so_many_versions_and_no_more(table: Table) -> None:
    """Another one is refused, in this run and with those of earlier ones; those that came may come again."""
    table.link.know([f"0.{number}" for number in range(MAX_VERSIONS - 1)])
    assert table.say(table.open(), HELLO) == [Joined(HELLO)]
    stream = table.open()
    table.say(stream, replace(HELLO, bot_version="2.0"))
    assert goodbye_of(stream).reason is GoodbyeReason.REFUSED
    assert goodbye_of(stream).detail.startswith(f"this bot has come as {MAX_VERSIONS} versions")
    for known in ("0.0", HELLO.bot_version):
        again = replace(HELLO, bot_version=known)
        assert Joined(again) in table.say(table.open(), again)


def test_a_stream_without_hello_is_closed(table: Table) -> None:
    """Whoever opens a stream and says nothing is closed at the limit, and may try again."""
    stream = table.open()
    table.link.hello_expired(stream)
    assert stream.closing == statuses(
        GoodbyeReason.NO_HELLO,
        CloseStatus.DEADLINE_EXCEEDED,
        "no Hello came within 5000 ms of opening the stream",
        come_back=True,
    )
    assert table.say(stream, HELLO) == [TurnedAway(goodbye_of(stream))]
    assert table.link.absence is FaultCause.NO_HANDSHAKE


def test_to_shut_a_link_ends_the_streams_without_hello_too(table: Table) -> None:
    """Each with the same last word; one that is lost, or was closed before, is left as it is."""
    lost, closed, silent = table.open(), table.open(), table.open()
    living = table.join()
    table.link.lost(lost)
    table.link.hello_expired(closed)
    before = closed.closing
    table.link.take_events()
    table.link.shut(GoodbyeReason.STOPPING, "bye")
    told = statuses(GoodbyeReason.STOPPING, CloseStatus.UNAVAILABLE, "bye", come_back=True)
    assert [stream.closing for stream in (living, silent, closed, lost)] == [told, told, before, None]
    assert table.read(silent) == (told.goodbye,)
    assert table.link.take_events() == [Down(FaultCause.DISCONNECTED, "bye"), TurnedAway(told.goodbye)]


def test_a_stream_of_a_link_that_is_shut_hears_why(table: Table) -> None:
    """One that is opened only then is told at once, and its Hello is not heard."""
    table.link.shut(GoodbyeReason.STOPPING, "bye")
    stream = table.open()
    table.say(stream, HELLO)
    told = statuses(GoodbyeReason.STOPPING, CloseStatus.UNAVAILABLE, "bye", come_back=True)
    assert stream.closing == told
    assert table.read(stream) == (told.goodbye,)
    assert table.link.absence is FaultCause.NO_HANDSHAKE


def test_the_hello_limit_spares_whoever_said_hello(table: Table) -> None:
    """The deadline has no effect once Hello was accepted."""
    stream = table.join()
    table.link.hello_expired(stream)
    assert stream.closing is None
    assert table.link.absence is None


@pytest.mark.parametrize("message", [Leave(), Answers(()), answer_to("s1", 1)])
def test_the_first_message_must_be_hello(table: Table, message: Answers | Leave) -> None:
    """Anything else closes the stream, and only that one."""
    living = table.join()
    stream = table.open()
    table.say(stream, message)
    assert stream.closing == statuses(
        GoodbyeReason.PROTOCOL,
        CloseStatus.INVALID_ARGUMENT,
        "the first message of a stream must be Hello",
        come_back=False,
    )
    assert living.closing is None
    assert table.link.absence is None


def test_hello_is_said_once(table: Table) -> None:
    """A second Hello on a stream is a fault of the kind `protocol`."""
    stream = table.join()
    assert table.say(stream, HELLO) == [Down(FaultCause.PROTOCOL, "Hello was said twice on one stream")]
    assert table.link.absence is FaultCause.PROTOCOL


def test_garbage_is_a_protocol_fault(table: Table) -> None:
    """What is no message takes the link down with the sentence of the reader as the reason."""
    stream = table.join()
    table.link.garbled(stream, "the bytes received are no PlayRequest of kratzen.v1")
    (event,) = table.link.take_events()
    assert event == Down(FaultCause.PROTOCOL, "the bytes received are no PlayRequest of kratzen.v1")
    assert goodbye_of(stream).reason is GoodbyeReason.PROTOCOL
    table.link.garbled(stream, "more of it")
    assert table.link.take_events() == []


# ------------------------------------------------------------------ answers


def test_an_answer_reaches_the_host(table: Table) -> None:
    """The answer to the open request is passed on, with its note and the time it came."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.read(stream)
    table.now_us = 7
    answers = Answers((Answer("s1", 1, Play(4), "hm"),))
    assert table.say(stream, answers) == [Answered("s1", 1, Play(4), "hm", 7)]


def test_answers_of_many_sessions_travel_together(table: Table) -> None:
    """One message answers several sessions; each answer goes to its own."""
    stream = table.join()
    for session_id in ("s1", "s2"):
        table.link.start(start_of(session_id))
        table.ask(session_id, 1)
    table.read(stream)
    events = table.say(stream, Answers((Answer("s2", 1, Play(1)), Answer("s1", 1, Play(2)))))
    assert events == [Answered("s2", 1, Play(1), "", 0), Answered("s1", 1, Play(2), "", 0)]


def test_an_unreadable_answer_reaches_the_host(table: Table) -> None:
    """Whether it uses up a try is the host's to say."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    unreadable = Unreadable("the answer holds no action")
    assert table.say(stream, answer_to("s1", 1, unreadable)) == [Answered("s1", 1, unreadable, "", 0)]


def rejections(batch: tuple[ArenaMessage, ...]) -> list[Rejected]:
    """Those of a batch."""
    return [message for message in batch if isinstance(message, Rejected)]


def stray(table: Table, stream: Stream, answers: Answers) -> RejectReason:
    """The reason for which the one answer is rejected; it must not reach a session."""
    table.read(stream)
    counted = table.link.stray_counts.total()
    (event,) = table.say(stream, answers)
    assert isinstance(event, Stray)
    (rejected,) = table.read(stream)
    assert isinstance(rejected, Rejected)
    assert (rejected.session_id, rejected.request_id) == (event.session_id, event.request_id)
    assert (rejected.reason, rejected.tries_left) == (event.reason, 0)
    assert rejected.time_left_ms == 0
    assert rejected.detail
    assert table.link.stray_counts.total() == counted + 1
    return event.reason


def test_a_late_answer_goes_no_further(table: Table) -> None:
    """After the clock ran out the answer is late, also while the next request is open."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.read(stream)
    table.link.expire("s1")
    assert stray(table, stream, answer_to("s1", 1)) is RejectReason.LATE
    table.ask("s1", 2)
    assert stray(table, stream, answer_to("s1", 1)) is RejectReason.LATE
    assert table.say(stream, answer_to("s1", 2)) == [Answered("s1", 2, Play(3), "", 0)]


def test_a_repeated_answer_goes_no_further(table: Table) -> None:
    """The first answer counts, whether it is still judged or was taken, and whatever the second says."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.say(stream, answer_to("s1", 1))
    assert stray(table, stream, answer_to("s1", 1)) is RejectReason.ALREADY_ANSWERED
    assert stray(table, stream, answer_to("s1", 1, Play(9))) is RejectReason.ALREADY_ANSWERED
    table.link.settle("s1")
    assert stray(table, stream, answer_to("s1", 1)) is RejectReason.ALREADY_ANSWERED
    table.ask("s1", 2)
    assert stray(table, stream, answer_to("s1", 1)) is RejectReason.ALREADY_ANSWERED


def test_two_answers_in_one_message_are_one_too_many(table: Table) -> None:
    """The second of two answers to a request is rejected before the first was judged."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    events = table.say(stream, Answers((Answer("s1", 1, Play(1)), Answer("s1", 1, Play(2)))))
    assert events == [
        Answered("s1", 1, Play(1), "", 0),
        Stray("s1", 1, RejectReason.ALREADY_ANSWERED, Play(2), 0),
    ]


@pytest.mark.parametrize(
    ("session_id", "request_id"), [("s1", 2), ("s1", 99), ("s1", 0), ("s1", -1), ("s2", 1), ("", 1)]
)
def test_answers_to_what_was_not_asked_go_no_further(table: Table, session_id: str, request_id: int) -> None:
    """A future request, an impossible one, and one of a session that the bot does not sit in."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    reason = stray(table, stream, answer_to(session_id, request_id))
    assert reason is RejectReason.UNKNOWN_REQUEST
    assert table.say(stream, answer_to("s1", 1)) == [Answered("s1", 1, Play(3), "", 0)]


def test_what_is_left_is_not_said_without_clocks(table: Table) -> None:
    """Of a session that has none, over or not; of one that there is not, nothing is left."""
    stream = table.join()
    table.link.start(start_of("s1", timed=False))
    table.ask("s1", 1)
    table.read(stream)
    table.link.expire("s1")
    for session_id, request_id in [("s1", 1), ("s1", 2), ("s2", 1)]:
        table.say(stream, answer_to(session_id, request_id))
    table.link.end(SessionOver("s1", AttemptEnd.OPERATOR_STOP, (), (), ()))
    table.say(stream, answer_to("s1", 1))
    assert [told.time_left_ms for told in rejections(table.read(stream))] == [None, None, 0, None]


def test_a_request_whose_answer_is_judged_takes_no_other(table: Table) -> None:
    """The second is told of no tries and no time; the rejection of the first says what is left."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.read(stream)
    table.say(stream, answer_to("s1", 1))
    table.say(stream, answer_to("s1", 1))
    table.link.reject(rejection("s1", 1, 2))
    second, first = rejections(table.read(stream))
    assert (second.reason, second.tries_left, second.time_left_ms) == (RejectReason.ALREADY_ANSWERED, 0, 0)
    assert (first.reason, first.tries_left, first.time_left_ms) == (RejectReason.ILLEGAL, 2, 500)
    assert table.say(stream, answer_to("s1", 1)) == [Answered("s1", 1, Play(3), "", 0)]


def test_an_answer_after_the_session_is_late(table: Table) -> None:
    """The last request of a session that is over is still told from one that never was."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.link.end(SessionOver("s1", AttemptEnd.OPERATOR_STOP, (), (), ()))
    assert stray(table, stream, answer_to("s1", 1)) is RejectReason.LATE
    assert stray(table, stream, answer_to("s1", 2)) is RejectReason.UNKNOWN_REQUEST


def test_sessions_that_are_over_are_forgotten_in_time(table: Table) -> None:
    """What is remembered of them is bounded."""
    stream = table.join()
    for number in range(300):
        table.link.start(start_of(f"s{number}"))
        table.ask(f"s{number}", 1)
        table.link.end(SessionOver(f"s{number}", AttemptEnd.FINISHED, (), (), ()))
        table.read(stream)
    assert stray(table, stream, answer_to("s299", 1)) is RejectReason.LATE
    assert stray(table, stream, answer_to("s0", 1)) is RejectReason.UNKNOWN_REQUEST


SPOILED = SessionOver("s1", AttemptEnd.ARENA_ERROR, (), (), ())


def test_a_session_may_be_played_again(table: Table) -> None:
    """Another attempt counts its requests from 1; on the link, where the bot is told so, they count on."""
    stream = table.join()
    for attempt in range(3):
        table.link.start(start_of("s1"))
        for own_id in (1, 2):
            table.ask("s1", own_id)
            sent = table.read(stream)[-1]
            assert isinstance(sent, Request)
            assert sent.request_id == 2 * attempt + own_id
            answered = table.say(stream, answer_to("s1", sent.request_id))
            assert answered == [Answered("s1", own_id, Play(3), "", 0)]
            table.link.settle("s1")
        table.link.end(SPOILED)
        table.read(stream)


def test_an_answer_to_an_earlier_attempt_goes_no_further(table: Table) -> None:
    """It arrives when the same request of the next attempt is open; that one is answered by its own (E05)."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.say(stream, answer_to("s1", 1))
    table.link.settle("s1")
    table.ask("s1", 2)
    table.link.end(SPOILED)
    table.read(stream)
    table.link.start(start_of("s1"))
    for own_id in (1, 2):
        request = table.ask("s1", own_id)
        (sent,) = [message for message in table.read(stream) if isinstance(message, Request)]
        assert (sent.request_id, table.link.as_asked(sent)) == (own_id + 2, request)
        said = table.say(stream, Answers((*answer_to("s1", 2).answers, *answer_to("s1", 1).answers)))
        assert said == [
            Stray("s1", 0, RejectReason.LATE, Play(3), 0),
            Stray("s1", -1, RejectReason.ALREADY_ANSWERED, Play(3), 0),
        ]
        told = rejections(table.read(stream))
        assert [(each.request_id, each.tries_left) for each in told] == [(2, 0), (1, 0)]
        assert [table.link.as_asked(each) for each in told] == [
            replace(each, request_id=each.request_id - 2) for each in told
        ]
        assert table.say(stream, answer_to("s1", own_id + 2)) == [Answered("s1", own_id, Play(3), "", 0)]
        table.link.settle("s1")
    assert table.link.stray_counts.total() == 4


def test_a_bot_is_told_where_a_session_counts_on(table: Table) -> None:
    """Every offer of an attempt says the number of its first request, on another stream too."""
    stream = table.join()
    table.link.start(start_of("s1"))
    for request_id in (1, 2, 3):
        table.ask("s1", request_id)
        table.link.settle("s1")
    table.link.end(SPOILED)
    table.read(stream)
    table.link.start(start_of("s1"))
    again = replace(start_of("s1"), first_request_id=4)
    assert table.read(stream)[-1] == again
    table.ask("s1", 1)
    stream = table.open()
    table.say(stream, HELLO)
    told = table.read(stream)
    assert again in told
    assert [message.request_id for message in told if isinstance(message, Request)] == [4]


def test_a_rejection_names_the_request_as_the_bot_knows_it(table: Table) -> None:
    """In a later attempt too, where the host's number is another one."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.link.end(SPOILED)
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.read(stream)
    table.read(stream)
    table.say(stream, answer_to("s1", 2))
    table.link.reject(rejection("s1", 1, 2))
    assert table.read(stream) == (rejection("s1", 2, 2),)
    assert table.say(stream, answer_to("s1", 2)) == [Answered("s1", 1, Play(3), "", 0)]


def test_a_session_begins_again_in_the_batch_after_its_end(table: Table) -> None:
    """A bot reads starts before ends: one batch with both would end what has just begun."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.link.end(SessionOver("s1", AttemptEnd.ARENA_ERROR, (), (), ()))
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    assert [type(message) for message in table.read(stream)] == [SessionStart, SessionOver]
    wakes = table.wakes
    assert [type(message) for message in table.read(stream)] == [SessionStart, Request]
    assert wakes > 0
    assert table.read(stream) == ()


def test_an_open_request_can_be_sent_once_more(table: Table) -> None:
    """It keeps its id; while it still waits to be sent it is not doubled."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.link.ask_again("s1", table.now_us)
    sent = [message for message in table.read(stream) if isinstance(message, Request)]
    table.link.ask_again("s1", table.now_us)
    sent += [message for message in table.read(stream) if isinstance(message, Request)]
    assert [request.request_id for request in sent] == [1, 1]


def test_a_rejected_answer_may_be_followed_by_another(table: Table) -> None:
    """With tries left the request is open again under the same id; without, it is over."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    for tries_left in (2, 1, 0):
        table.read(stream)
        assert table.say(stream, answer_to("s1", 1)) == [Answered("s1", 1, Play(3), "", 0)]
        table.link.reject(rejection("s1", 1, tries_left))
        assert table.read(stream) == (rejection("s1", 1, tries_left),)
    assert stray(table, stream, answer_to("s1", 1)) is RejectReason.ALREADY_ANSWERED


def test_an_answer_that_the_host_found_late_stays_late(table: Table) -> None:
    """An answer that arrived as the clock ran out closes its request like a time-out."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.say(stream, answer_to("s1", 1))
    table.link.reject(Rejected("s1", 1, RejectReason.LATE, "by 1 ms", 0, 0))
    assert table.link.stray_counts == {RejectReason.LATE: 1}
    assert stray(table, stream, answer_to("s1", 1)) is RejectReason.LATE


# ------------------------------------------------------------------ what is sent


def test_everything_that_waits_is_one_batch(table: Table) -> None:
    """What was said since the last batch goes out together, in order, once."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.link.tell(NEWS)
    request = table.ask("s1", 1)
    reveal = SeedReveal("s0", bytes(32), bytes(32))
    table.link.reveal(reveal)
    assert table.read(stream) == (start_of("s1"), NEWS, request, reveal)
    assert table.read(stream) == ()


def test_a_request_that_is_over_is_taken_back(table: Table) -> None:
    """A request whose clock ran out before it was sent is not sent any more."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.link.start(start_of("s2"))
    table.ask("s1", 1)
    other = table.ask("s2", 1)
    table.link.expire("s1")
    news = SessionNews("s1", (AntesPaid((1, 1, 1)),))
    table.link.tell(news)
    assert table.read(stream) == (start_of("s1"), start_of("s2"), other, news)


def test_the_clock_starts_when_the_request_is_taken(table: Table) -> None:
    """The hand-over is the moment at which the transport took the request, not that of asking."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.now_us = 100
    table.ask("s1", 1)
    assert table.link.handed_at_us("s1", 1) is None
    table.now_us = 130
    table.read(stream)
    assert table.link.handed_at_us("s1", 1) == 130


@pytest.mark.parametrize(
    ("read_at_us", "spared_us", "handed_at_us"),
    [
        (50 * MS, 0, 50 * MS),
        (50 * MS + 1, 0, 10 * MS),
        (90 * MS, 40 * MS, 90 * MS),
        (90 * MS, 30 * MS, 10 * MS),
    ],
)
def test_the_clock_of_a_bot_that_did_not_read_starts_at_once(
    table: Table, read_at_us: int, spared_us: int, handed_at_us: int
) -> None:
    """That is when its transport held a batch for more than 50 ms, less what the arena was late by itself."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.now_us = 10 * MS
    asked = table.ask("s1", 1)
    table.now_us = read_at_us
    *_, handed = table.link.take_batch(stream, read_at_us, spared_us=spared_us)
    assert table.link.handed_at_us("s1", 1) == handed_at_us
    assert handed == replace(asked, time_left_ms=11_000 - (read_at_us - handed_at_us) // MS)


def test_a_transport_that_holds_nothing_has_not_been_held_up(table: Table) -> None:
    """However long the stream was quiet: the clock starts at the hand-over."""
    stream = table.join()
    assert table.read(stream) == ()
    table.link.start(start_of("s1"))
    table.now_us = 1000 * MS
    table.ask("s1", 1)
    table.now_us = 1001 * MS
    table.read(stream)
    assert table.link.handed_at_us("s1", 1) == 1001 * MS


def test_a_request_that_is_sent_again_keeps_its_clock(table: Table) -> None:
    """What held up the second hand-over changes nothing about the first, but the time that is left."""
    stream = table.join()
    table.read(stream)
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.read(stream)
    table.now_us = 100 * MS
    table.link.ask_again("s1", table.now_us)
    table.now_us = 300 * MS
    (again,) = table.read(stream)
    assert again == replace(request_of("s1", 1), time_left_ms=10_700)
    assert table.link.handed_at_us("s1", 1) == 0


def test_the_clock_of_an_absent_bot_starts_at_once(table: Table) -> None:
    """Nobody gains time by not being there when asked, or by going before the request was sent."""
    table.link.start(start_of("s1"))
    table.now_us = 100
    table.ask("s1", 1)
    assert table.link.handed_at_us("s1", 1) == 100
    stream = table.join()
    table.link.settle("s1")
    table.now_us = 200
    table.ask("s1", 2)
    table.now_us = 250
    table.link.lost(stream)
    assert table.link.handed_at_us("s1", 2) == 200


def test_a_request_that_was_not_asked_yet_was_not_handed_over(table: Table) -> None:
    """The time of the one before is not its own."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.ask("s1", 1)
    table.read(stream)
    table.link.settle("s1")
    assert table.link.handed_at_us("s1", 2) is None


def test_a_bot_may_do_without_news(table: Table) -> None:
    """Whoever says so in Hello is sent no events, and everything else."""
    stream = table.open()
    table.say(stream, replace(HELLO, skip_events=True))
    table.link.start(start_of("s1"))
    table.link.tell(NEWS)
    assert [type(message) for message in table.read(stream)] == [Welcome, SessionStart]


# ------------------------------------------------------------------ coming and going


def test_a_bot_that_comes_back_gets_everything_that_is_open(table: Table) -> None:
    """All its sessions and open requests come again in one batch, with what is left of each clock."""
    stream = table.join()
    for session_id in ("s1", "s2", "s3"):
        table.link.start(start_of(session_id))
        table.ask(session_id, 1)
    table.link.tell(NEWS)
    table.read(stream)
    table.say(stream, answer_to("s2", 1))
    table.link.settle("s2")
    table.now_us = 3_000 * MS
    table.link.lost(stream)
    assert table.link.take_events() == [Down(FaultCause.DISCONNECTED, "the link was lost")]
    assert table.link.absence is FaultCause.DISCONNECTED
    table.link.tell(NEWS)
    table.now_us = 4_500 * MS
    again = table.open()
    table.say(again, HELLO)
    welcome, *rest = table.read(again)
    assert isinstance(welcome, Welcome)
    assert rest == [
        start_of("s1"),
        start_of("s2"),
        start_of("s3"),
        request_of("s1", 1, time_left_ms=6_500),
        request_of("s3", 1, time_left_ms=6_500),
    ]
    assert table.say(again, answer_to("s1", 1)) == [Answered("s1", 1, Play(3), "", 4_500 * MS)]


def test_the_clock_goes_on_while_a_bot_is_away(table: Table) -> None:
    """Coming back does not start a clock again, however often, and nothing below 0 is left."""
    table.link.start(start_of("s1"))
    table.now_us = 1_000 * MS
    table.ask("s1", 1)
    for now_ms, left_ms in ((2_000, 10_000), (9_000, 3_000), (20_000, 0)):
        table.now_us = now_ms * MS
        stream = table.open()
        table.say(stream, HELLO)
        requests = [message for message in table.read(stream) if isinstance(message, Request)]
        assert [request.time_left_ms for request in requests] == [left_ms]
        assert table.link.handed_at_us("s1", 1) == 1_000 * MS
        table.link.lost(stream)


def test_a_bot_without_clocks_comes_back_without_clocks(table: Table) -> None:
    """No time left is sent where nothing runs out."""
    table.link.start(start_of("s1"))
    table.link.ask(request_of("s1", 1, time_left_ms=None), 0)
    table.now_us = 1_000 * MS
    stream = table.open()
    table.say(stream, HELLO)
    assert table.read(stream)[-1] == request_of("s1", 1, time_left_ms=None)


def test_sessions_that_ended_meanwhile_are_not_offered(table: Table) -> None:
    """What is over is over; it is not offered again."""
    table.link.start(start_of("s1"))
    table.link.start(start_of("s2"))
    table.link.end(SessionOver("s1", AttemptEnd.FINISHED, (), (), ()))
    stream = table.open()
    table.say(stream, HELLO)
    assert table.read(stream)[1:] == (start_of("s2"),)
    assert table.link.session_count == 1


def test_a_link_that_is_cut_says_nothing_more(table: Table) -> None:
    """Not even goodbye; what waited is offered again to the bot that comes back, and its clock went on."""
    stream = table.join()
    table.link.start(start_of("s1"))
    request = table.ask("s1", 1)
    table.link.cut("a try")
    assert table.link.take_events() == [Down(FaultCause.DISCONNECTED, "a try")]
    assert stream.done
    assert table.read(stream) == ()
    table.now_us += 700 * MS
    back = table.open()
    table.say(back, HELLO)
    assert table.read(back)[1:] == (start_of("s1"), replace(request, time_left_ms=10_300))


def test_a_link_that_is_down_can_be_cut(table: Table) -> None:
    """Nobody is there to lose anything."""
    table.link.cut("a try")
    assert table.link.take_events() == []


def test_a_second_stream_takes_over(table: Table) -> None:
    """The first is closed with ABORTED and a reason; sessions go on on the second, nothing is lost."""
    first = table.join()
    table.link.start(start_of("s1"))
    request = table.ask("s1", 1)
    second = table.open()
    assert table.say(second, HELLO) == [Joined(HELLO)]
    assert first.closing == statuses(
        GoodbyeReason.REPLACED,
        CloseStatus.ABORTED,
        "another stream with this bot's token took over: run one process a token",
        come_back=False,
    )
    assert table.read(first) == (goodbye_of(first),)
    assert table.read(second)[1:] == (start_of("s1"), request)
    assert table.say(first, answer_to("s1", 1)) == []
    assert table.say(second, answer_to("s1", 1)) == [Answered("s1", 1, Play(3), "", 0)]
    table.link.lost(first)
    assert table.link.take_events() == []
    assert table.link.absence is None


def test_a_takeover_gains_no_time(table: Table) -> None:
    """A request that the first stream had not taken counts from the asking, as when the link is lost."""
    table.join()
    table.link.start(start_of("s1"))
    table.now_us = 10 * MS
    table.ask("s1", 1)
    table.now_us = 4000 * MS
    second = table.open()
    table.say(second, HELLO)
    table.read(second)
    assert table.link.handed_at_us("s1", 1) == 10 * MS


def test_a_stream_takes_over_only_by_hello(table: Table) -> None:
    """A second stream that says nothing does not disturb the first."""
    first = table.join()
    table.open()
    table.link.start(start_of("s1"))
    assert first.closing is None
    assert table.read(first) == (start_of("s1"),)


def test_a_bot_that_leaves_plays_its_sessions_out(table: Table) -> None:
    """Goodbye stops new sessions; the stream ends when the last running one does."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.link.start(start_of("s2"))
    assert table.say(stream, Leave()) == [Leaving()]
    assert table.link.leaving
    table.link.end(SessionOver("s1", AttemptEnd.FINISHED, (), (), ()))
    assert stream.closing is None
    over = SessionOver("s2", AttemptEnd.FINISHED, (), (), ())
    table.link.end(over)
    assert stream.closing == statuses(
        GoodbyeReason.LEFT,
        CloseStatus.OK,
        "the bot said goodbye and its sessions are over",
        come_back=False,
    )
    assert table.read(stream)[-2:] == (over, goodbye_of(stream))
    assert stream.done


def test_a_bot_that_leaves_an_empty_table_is_let_go(table: Table) -> None:
    """With no session running, goodbye is answered at once; a later Hello undoes it."""
    stream = table.join()
    events = table.say(stream, Leave())
    assert events[0] == Leaving()
    assert goodbye_of(stream).reason is GoodbyeReason.LEFT
    table.join()
    assert not table.link.leaving


@pytest.mark.parametrize(
    ("reason", "status", "come_back"),
    [
        (GoodbyeReason.FINISHED, CloseStatus.OK, False),
        (GoodbyeReason.STOPPING, CloseStatus.UNAVAILABLE, True),
    ],
)
def test_an_orderly_end_delivers_what_waits(
    table: Table, reason: GoodbyeReason, status: CloseStatus, come_back: bool
) -> None:
    """The ends of sessions reach the bot before the last word."""
    stream = table.join()
    table.link.start(start_of("s1"))
    over = SessionOver("s1", AttemptEnd.FINISHED, (), (), ())
    table.link.end(over)
    table.link.close(reason, "that is all")
    assert stream.closing == statuses(reason, status, "that is all", come_back=come_back)
    assert table.read(stream) == (start_of("s1"), over, Goodbye(reason, come_back, "that is all"))
    assert stream.done
    assert table.say(stream, answer_to("s1", 1)) == [Down(FaultCause.DISCONNECTED, "that is all")]


def test_a_session_may_end_after_the_last_word(table: Table) -> None:
    """Requests that wait on a stream that closes do no harm when their session ends first."""
    stream = table.join()
    table.link.start(start_of("s1"))
    request = table.ask("s1", 1)
    table.link.close(GoodbyeReason.STOPPING, "bye", come_back=False)
    table.link.end(SessionOver("s1", AttemptEnd.OPERATOR_STOP, (), (), ()))
    assert table.read(stream) == (start_of("s1"), request, goodbye_of(stream))
    assert not goodbye_of(stream).come_back


def test_a_revoked_bot_hears_nothing_but_that(table: Table) -> None:
    """What waits is dropped when the bot has no right to it any more."""
    stream = table.join()
    table.link.start(start_of("s1"))
    table.link.close(GoodbyeReason.REVOKED, "the token is no longer valid")
    assert stream.closing is not None
    assert stream.closing.status is CloseStatus.UNAUTHENTICATED
    assert table.read(stream) == (goodbye_of(stream),)


def test_a_bot_that_was_revoked_says_hello_in_vain(table: Table) -> None:
    """Its stream that is up is closed, and so is one that was opened before, once it says Hello."""
    up, opened = table.join(), table.open()
    table.link.revoke("bot alice was revoked")
    table.say(opened, HELLO)
    for stream in (up, opened):
        assert stream.closing == statuses(
            GoodbyeReason.REVOKED, CloseStatus.UNAUTHENTICATED, "bot alice was revoked", come_back=False
        )
    assert table.link.absence is not None


def test_a_version_that_was_revoked_says_hello_in_vain_and_another_dials_again(table: Table) -> None:
    """On streams that were opened before; a version that is not revoked is not told that it was."""
    table.join()
    first, second = table.open(), table.open()
    table.link.revoke("version '1.0' was revoked", "1.0")
    table.say(first, HELLO)
    table.say(second, replace(HELLO, bot_version="2.0"))
    assert goodbye_of(first).reason is GoodbyeReason.REVOKED
    assert second.closing == statuses(
        GoodbyeReason.STOPPING,
        CloseStatus.UNAVAILABLE,
        "version '1.0' of this bot was revoked meanwhile: dial again",
        come_back=True,
    )
    assert table.link.absence is not None


# ------------------------------------------------------------------ limits


def test_a_flood_of_answers_closes_the_link(table: Table) -> None:
    """One answer more than a second's worth is a fault of the kind `flood`; the bot may come back."""
    table = Table(LinkLimits(max_answers_per_second=10))
    stream = table.join()
    table.link.start(start_of("s1"))
    assert len(table.say(stream, Answers((Answer("x", 1, Play(1)),) * 10))) == 10
    (event,) = table.say(stream, answer_to("x", 1))
    assert event == Down(FaultCause.FLOOD, "more than 10 answers a second came: send fewer")
    assert stream.closing == statuses(
        GoodbyeReason.FLOOD,
        CloseStatus.RESOURCE_EXHAUSTED,
        "more than 10 answers a second came: send fewer",
        come_back=True,
    )
    assert table.read(stream) == (goodbye_of(stream),)
    assert table.link.absence is FaultCause.FLOOD


def test_a_new_stream_is_no_way_around_the_limit() -> None:
    """The answers are counted for the bot, not for its stream."""
    table = Table(LinkLimits(max_answers_per_second=10))
    table.say(table.join(), Answers((Answer("x", 1, Play(1)),) * 10))
    stream = table.join()
    table.say(stream, answer_to("x", 1))
    assert goodbye_of(stream).reason is GoodbyeReason.FLOOD


def test_messages_without_answers_are_counted_too() -> None:
    """Chatter is bounded like answers."""
    table = Table(LinkLimits(max_answers_per_second=10))
    stream = table.join()
    for _ in range(10):
        table.say(stream, Answers(()))
    assert stream.closing is None
    table.say(stream, Answers(()))
    assert goodbye_of(stream).reason is GoodbyeReason.FLOOD


def test_answers_to_nothing_are_bounded_by_themselves(table: Table) -> None:
    """More than a second's worth of them is a flood, and the rest of the message is not looked at."""
    table = Table(LinkLimits(max_strays_per_second=3))
    stream = table.join()
    events = table.say(stream, Answers((Answer("x", 1, Play(1)),) * 10))
    detail = "more than 3 messages a second came that answer nothing: answer each request once"
    assert [type(event) for event in events] == [Stray, Stray, Stray, Stray, Down]
    assert events[-1] == Down(FaultCause.FLOOD, detail)
    assert table.link.stray_counts.total() == 4
    assert table.read(stream) == (goodbye_of(stream),)


def test_messages_that_say_nothing_are_answers_to_nothing(table: Table) -> None:
    """Empty messages and a goodbye said again and again are bounded like those."""
    for message in (Answers(()), Leave()):
        table = Table(LinkLimits(max_strays_per_second=3))
        table.link.start(start_of("s1"))
        stream = table.join()
        for _ in range(3):
            table.say(stream, message)
        assert stream.closing is None
        table.say(stream, message)
        assert goodbye_of(stream).reason is GoodbyeReason.FLOOD


def test_answers_to_what_was_asked_are_no_chatter(table: Table) -> None:
    """A bot that answers each request once may answer as many as the limit of all answers allows."""
    table = Table(LinkLimits(max_strays_per_second=1))
    stream = table.join()
    table.link.start(start_of("s1"))
    for request_id in range(1, 100):
        table.ask("s1", request_id)
        table.read(stream)
        table.say(stream, answer_to("s1", request_id))
        table.link.settle("s1")
    assert stream.closing is None


def test_a_message_that_is_too_large_closes_the_link(table: Table) -> None:
    """It is a fault of the kind `flood`, and the bot is told both sizes."""
    stream = table.join()
    table.link.too_large(stream, 70_000)
    detail = "a message of 70000 bytes came, allowed are 65536"
    assert table.link.take_events() == [Down(FaultCause.FLOOD, detail)]
    assert table.link.absence_detail == detail
    assert stream.closing == statuses(
        GoodbyeReason.FLOOD, CloseStatus.RESOURCE_EXHAUSTED, detail, come_back=True
    )


def test_the_budget_fills_as_time_goes_by() -> None:
    """A tenth of a second gives a tenth of the answers, and never more than a second's worth waits."""
    budget = AnswerBudget(10)
    assert budget.take(10, 5_000_000)
    assert not budget.take(1, 5_099_999)
    assert budget.take(1, 5_100_000)
    assert not budget.take(11, 9_000_000)
    assert budget.take(10, 9_000_000)
    assert not budget.take(1, 9_000_000)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3_000_000)), max_size=60))
def test_no_second_gives_more_than_two_seconds_worth(calls: list[tuple[int, int]]) -> None:
    """Within any second at most what was saved and what was earned gets through."""
    budget, now_us, taken = AnswerBudget(20), 0, []
    for count, later_us in calls:
        now_us += later_us
        if budget.take(count, now_us):
            taken.append((now_us, count))
    for first_us, _ in taken:
        within = [count for at_us, count in taken if first_us <= at_us < first_us + 1_000_000]
        assert sum(within) <= 40


def test_a_bot_that_does_not_read_is_dropped() -> None:
    """When more waits than the bound, the link is closed and what waited is let go."""
    table = Table(LinkLimits(max_pending_bytes=10_000))
    stream = table.join()
    table.link.start(start_of("s1"))
    while stream.closing is None:
        assert stream.waiting_bytes <= 10_000
        table.link.tell(NEWS)
    detail = "more than 10000 bytes were left unread: read while you think"
    assert stream.closing == statuses(
        GoodbyeReason.NOT_READING, CloseStatus.RESOURCE_EXHAUSTED, detail, come_back=True
    )
    assert table.link.take_events() == [Down(FaultCause.NOT_READING, detail)]
    assert table.link.absence is FaultCause.NOT_READING
    assert table.read(stream) == (goodbye_of(stream),)


def test_a_stream_that_takes_nothing_is_dropped(table: Table) -> None:
    """A transport that stands still is a fault of the kind `not_reading`, of that stream alone."""
    first = table.join()
    table.link.stalled(first, "nothing was read for 5 s")
    assert table.link.take_events() == [Down(FaultCause.NOT_READING, "nothing was read for 5 s")]
    assert goodbye_of(first).reason is GoodbyeReason.NOT_READING
    table.join()
    table.link.stalled(first, "nothing was read for 5 s")
    assert table.link.take_events() == []
    assert table.link.absence is None


def test_a_bot_that_reads_may_hear_any_amount() -> None:
    """Only what waits counts, not what was sent before."""
    table = Table(LinkLimits(max_pending_bytes=10_000))
    stream = table.join()
    table.link.start(start_of("s1"))
    for _ in range(1000):
        table.link.tell(NEWS)
        table.read(stream)
    assert stream.closing is None
    assert stream.waiting_bytes == 0


def test_what_the_transport_still_holds_counts_as_unread() -> None:
    """A batch counts until the next one is taken, by which its transport says that it is sent."""
    table = Table(LinkLimits(max_pending_bytes=10_000))
    table.link.start(start_of("s1"))
    for is_sent in (True, False):
        stream = table.join()
        table.read(stream)
        for _ in range(50):
            table.link.tell(NEWS)
        table.read(stream)
        if is_sent:
            table.read(stream)
        for _ in range(50):
            table.link.tell(NEWS)
        assert (stream.closing is None) is is_sent


@pytest.mark.parametrize("missing_bytes", [0, 1])
@pytest.mark.parametrize("max_sessions", [1, 19, LinkLimits().max_sessions, 1000])
def test_a_bot_comes_back_to_all_its_sessions_where_the_limits_allow_it(
    max_sessions: int, missing_bytes: int
) -> None:
    """With the longest names everywhere, and news of all, it takes exactly what the settings ask for."""
    pending_bytes = sessions_bytes(max_sessions) - missing_bytes
    assert most_sessions(pending_bytes) == max_sessions - missing_bytes
    table = Table(LinkLimits(max_sessions=max_sessions, max_pending_bytes=pending_bytes))
    longest = tuple([SeatLabel("x" * MAX_BOT_NAME_LENGTH, "♥" * MAX_LABEL_LENGTH)] * MAX_PLAYERS)
    for number in range(max_sessions):
        table.link.start(replace(start_of(f"s{number}"), seats=longest))
        table.ask(f"s{number}", 1)
    stream = table.open()
    table.say(stream, HELLO)
    for number in range(max_sessions):
        table.link.tell(SessionNews(f"s{number}", NEWS.events * 15))
    if missing_bytes:
        assert goodbye_of(stream).reason is GoodbyeReason.NOT_READING
    else:
        assert stream.closing is None
        assert len(table.read(stream)) == 1 + 3 * max_sessions


SETTLED = DealSettled(
    active=(0, 1, 2, 3, 4, 5),
    tricks_won=(5,) * 6,
    pot_before=2**40,
    bonuses=(2**40, 0, 0, 0, 0, 0),
    shares=(2**40,) * 6,
    remainder=5,
    penalties=(2**40,) * 6,
    failed=(1, 2, 3, 4, 5),
    pot=2**40,
    stacks=(2**40,) * 6,
    next_kind=DealKind.MUSS,
)


def largest_moment(ruleset: Ruleset, number: int) -> tuple[SessionNews, Request]:
    """Of a session of six, the question of a seat that has most to say with the news before it."""
    session = Session(ruleset, SessionOptions(players=6, deals=3), number.to_bytes(32, "big"))
    told, chance, moments = [0] * 6, generator(number), []
    while (decision := session.decision) is not None:
        answers, seat = list(decision.legal), decision.seat
        if len(answers) > 1:
            fresh, told[seat] = session.events[told[seat] :], len(session.events)
            news = SessionNews(f"s{number}", tuple([seen_by(event, seat) for event in fresh]))
            request = Request(f"s{number}", 1, seat, decision.legal, session.view(seat), 11_000, 10_000)
            moments.append((news, request))
        session.apply(chance.choice(answers))
    return max(moments, key=lambda moment: sum(waiting_bytes(message) for message in moment))


@pytest.mark.parametrize("ruleset", [TAVERN, SALZBURG], ids=["tavern", "salzburg"])
def test_a_bot_that_reads_hears_all_its_sessions_at_their_longest(ruleset: Ruleset) -> None:
    """In as many sessions as are allowed all may have most to say at one moment."""
    table, sessions = Table(), LinkLimits().max_sessions
    for number in range(sessions):
        table.link.start(start_of(f"s{number}"))
    stream = table.join()
    table.read(stream)
    for number in range(sessions):
        news, request = largest_moment(ruleset, number)
        table.link.tell(news)
        table.link.ask(request, 0)
    assert stream.closing is None
    assert len(table.read(stream)) == 2 * sessions


@given(CASES)
def test_what_waits_is_never_less_than_it_is_counted(case: Case) -> None:
    """The estimate is above the real size of every request, start and piece of news."""
    session = case.session()
    seats = range(case.options.players)
    labels = tuple([SeatLabel("x" * 32, "♥" * 64) for _ in seats])
    start = SessionStart("f" * 32, case.ruleset, case.options, labels, 0, ClockSettings(), bytes(range(32)))
    messages: list[ArenaMessage] = [start]
    for _ in steps(session, case):
        assert session.decision is not None
        seat = session.decision.seat
        messages.append(
            Request("f" * 32, 99, seat, session.decision.legal, session.view(seat), 2**31 - 1, 2**31 - 1)
        )
    messages += [SessionNews("f" * 32, (seen_by(event, seat),)) for event in session.events for seat in seats]
    for message in messages:
        assert len(wire.encode((message,))) <= waiting_bytes(message)


@pytest.mark.parametrize(
    "message",
    [
        Rejected("♥" * 64, 2**31 - 1, RejectReason.UNKNOWN_REQUEST, "♥" * 300, 3, 2**31 - 1),
        Goodbye(GoodbyeReason.REFUSED, come_back=True, detail="♥" * 300),
        SeedReveal("f" * 32, bytes(32), bytes(32)),
        SessionNews("f" * 32, (AntesPaid((2**40,) * 6),)),
        SessionNews("f" * 32, (CutMade(5, (31, 32), CutEffect.ACE_SEVEN, (2**40,) * 6),)),
        SessionNews("f" * 32, (SETTLED,)),
        SessionOver("f" * 32, AttemptEnd.FINISHED, (6,) * 6, (2**40,) * 6, (True,) * 6),
        Welcome(1, "♥" * 20, "x" * 32, 2**31 - 1, 2**31 - 1, 2**31 - 1, 3, 200, 256),
    ],
)
def test_other_messages_are_not_counted_too_low(message: ArenaMessage) -> None:
    """The estimate is above the real size of the longest of each other kind."""
    assert len(wire.encode((message,))) <= waiting_bytes(message)


# ------------------------------------------------------------------ any order of things


class Conversation(RuleBasedStateMachine):
    """A bot, a host and two streams that do what they like, against a model of one session."""

    def __init__(self) -> None:
        super().__init__()
        self.table = Table(LinkLimits(max_answers_per_second=10**7, max_strays_per_second=10**7))
        self.table.link.start(start_of("s1"))
        self.streams: list[Stream] = []
        self.up: Stream | None = None
        self.asked = 0
        self.open_id = 0
        """The request that waits for an answer; 0: none."""
        self.judged_id = 0
        """The request whose answer is with the host; 0: none."""
        self.fates: dict[int, RejectReason] = {}

    @rule()
    def connect(self) -> None:
        """A new stream says Hello and is offered what is open."""
        stream = self.table.open()
        assert self.table.say(stream, HELLO) == [Joined(HELLO)]
        self.streams.append(stream)
        self.up = stream
        offered = [m.request_id for m in self.table.read(stream) if isinstance(m, Request)]
        assert offered == [self.open_id or self.judged_id][: bool(self.open_id or self.judged_id)]

    @precondition(lambda self: self.up is not None)
    @rule()
    def disconnect(self) -> None:
        """The stream that is up is lost."""
        assert self.up is not None
        self.table.link.lost(self.up)
        assert self.table.link.take_events() == [Down(FaultCause.DISCONNECTED, "the link was lost")]
        self.up = None

    @precondition(lambda self: self.open_id == self.judged_id == 0)
    @rule()
    def ask(self) -> None:
        """The host asks the next request."""
        self.asked += 1
        self.open_id = self.asked
        self.table.ask("s1", self.asked)

    @precondition(lambda self: self.streams)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        """A stream, dead or alive, answers any request."""
        stream = data.draw(st.sampled_from(self.streams))
        request_id = data.draw(st.integers(0, self.asked + 1))
        events = self.table.say(stream, answer_to("s1", request_id))
        if stream is not self.up:
            assert events == []
        elif request_id == self.open_id != 0:
            assert events == [Answered("s1", request_id, Play(3), "", 0)]
            self.open_id, self.judged_id = 0, request_id
        else:
            reason = self.fates.get(request_id, RejectReason.UNKNOWN_REQUEST)
            if request_id == self.judged_id != 0:
                reason = RejectReason.ALREADY_ANSWERED
            assert events == [Stray("s1", request_id, reason, PLAYS[3], 0)]

    @precondition(lambda self: self.judged_id)
    @rule(tries_left=st.integers(0, 2))
    def reject(self, tries_left: int) -> None:
        """The host finds the answer illegal."""
        self.table.link.reject(rejection("s1", self.judged_id, tries_left))
        if tries_left:
            self.open_id = self.judged_id
        else:
            self.fates[self.judged_id] = RejectReason.ALREADY_ANSWERED
        self.judged_id = 0

    @precondition(lambda self: self.judged_id)
    @rule()
    def settle(self) -> None:
        """The host takes the answer."""
        self.table.link.settle("s1")
        self.fates[self.judged_id] = RejectReason.ALREADY_ANSWERED
        self.judged_id = 0

    @precondition(lambda self: self.open_id)
    @rule()
    def expire(self) -> None:
        """The clock runs out."""
        self.table.link.expire("s1")
        self.fates[self.open_id] = RejectReason.LATE
        self.open_id = 0

    @precondition(lambda self: self.up is not None)
    @rule()
    def read(self) -> None:
        """The bot reads; it never sees a request that is over."""
        assert self.up is not None
        requests = [m for m in self.table.read(self.up) if isinstance(m, Request)]
        assert all(request.request_id in (self.open_id, self.judged_id) for request in requests)

    @invariant()
    def only_one_stream_lives(self) -> None:
        """Every stream but the one that is up is closed or lost."""
        assert [stream for stream in self.streams if stream.live] == ([self.up] if self.up else [])
        assert (self.table.link.absence is None) == (self.up is not None)


TestConversation = Conversation.TestCase
