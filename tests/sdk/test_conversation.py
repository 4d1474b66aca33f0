"""A bot's side of the conversation, without a network."""

from typing import Any

import pytest
from hypothesis import given, settings

from arena import wire
from arena.clock import ClockSettings
from arena.link import Answered, Joined, Link
from arena.messages import (
    Answers,
    Goodbye,
    GoodbyeReason,
    Hello,
    Rejected,
    RejectReason,
    Request,
    SeatLabel,
    SeedReveal,
    SessionNews,
    SessionOver,
    SessionStart,
    Unreadable,
)
from arena.results import AttemptEnd
from engine.actions import Action
from engine.events import AntesPaid
from engine.view import SeenEvent, seen_by
from kratzen.sdk import Bot
from kratzen.sdk import Request as Asked
from kratzen.sdk import Session as Sitting
from kratzen.sdk.conversation import Conversation
from kratzen.sdk.encode import hello_of
from kratzen.v1 import bot_pb2
from tests.engine.playing import CASES, Case
from tests.sdk.scripted import WELCOME, Diary, first_legal, rejection_of, request_of, response, start_of

SPOILED = SessionOver("s1", AttemptEnd.ARENA_ERROR, (), (), ())


class Silent(Bot):
    """The least that a bot can be."""

    def decide(self, request: Asked) -> Action:
        """The first of the legal answers."""
        return first_legal(request)


def said(conversation: Conversation) -> list[tuple[str, int]]:
    """What the bot answers now: session and request."""
    answers = []
    while conversation.owes:
        answer = conversation.answer_next()
        answers.append((answer.session_id, answer.request_id))
    return answers


def deaf(line: str) -> None:
    """Complaints that no test looks at."""


# ------------------------------------------------------------------ hello


def test_hello_says_who_the_bot_is() -> None:
    """The class attributes stand in Hello."""
    assert wire.decode(hello_of(Diary(), "test/1").SerializeToString()) == Hello(
        1, "diary", "1.2", "", "test/1", 5, skip_events=False
    )


def test_a_bot_that_writes_no_news_is_sent_none() -> None:
    """Whether events are wanted follows from the methods that were written."""
    assert hello_of(Silent(), "").hello.skip_events
    assert not hello_of(Diary(), "").hello.skip_events


# ------------------------------------------------------------------ sessions and requests


def test_a_batch_is_taken_in_order() -> None:
    """Starts, news, decisions, ends and seeds come to the bot in the order of the protocol."""
    diary = Diary()
    conversation = Conversation(diary, complain=deaf)
    news = SessionNews("s1", (AntesPaid((1, 1, 1)), AntesPaid((2, 2, 2))))
    conversation.take(
        response(
            WELCOME,
            start_of("s1"),
            start_of("s2"),
            news,
            request_of("s1", 1),
            SessionOver("s2", AttemptEnd.FINISHED, (1, 2, 3), (3, 2, 1), (False,) * 3),
            SeedReveal("s0", b"\xab" * 32, b"\xcd" * 32),
        ),
        0.0,
    )
    assert said(conversation) == [("s1", 1)]
    assert diary.entries == [
        "started s1",
        "started s2",
        "news s1 2",
        "ended s2 finished",
        "revealed s0 ab cd",
        "decide s1 1",
    ]


@pytest.mark.parametrize("answer", [None, 3, "card EA", (None, "a note")])
def test_what_is_no_action_is_told_to_the_author(answer: Any) -> None:  # noqa: ANN401 - anything
    """A `decide` that forgets to return, or returns something else, raises what says so."""
    conversation = Conversation(Diary(lambda request: answer), complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    with pytest.raises(TypeError, match=r"which is no action: return one of request\.legal"):
        conversation.answer_next()


def test_a_request_comes_with_its_rules_and_its_deadline() -> None:
    """The view holds the session's rules, and the deadline counts from the arrival."""
    diary = Diary()
    conversation = Conversation(diary, complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1, 1500)), 20.0)
    said(conversation)
    (asked,) = diary.asked
    assert asked.view == request_of("s1", 1).view
    assert asked.legal == request_of("s1", 1).legal
    assert asked.deadline_s == 21.5
    assert asked.remaining_ms() is not None


def test_without_clocks_there_is_no_deadline() -> None:
    """A bot without clocks is not told 0."""
    diary = Diary()
    conversation = Conversation(diary, complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1, None)), 20.0)
    said(conversation)
    assert diary.asked[0].time_left_ms is None
    assert diary.asked[0].remaining_ms() is None


def test_a_session_that_is_offered_twice_is_one() -> None:
    """The bot hears of a session's start once, however often it is offered."""
    diary = Diary()
    conversation = Conversation(diary, complain=deaf)
    conversation.take(response(WELCOME, start_of("s1")), 0.0)
    conversation.take(response(start_of("s1")), 0.0)
    conversation.opened()
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    assert said(conversation) == [("s1", 1)]
    assert diary.entries == ["started s1", "decide s1 1"]


def test_a_session_that_is_played_again_counts_from_1_for_the_bot() -> None:
    """Its requests are numbered on, on the link only: a bot that draws by their numbers draws the same."""
    diary = Diary()
    conversation = Conversation(diary, complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    assert said(conversation) == [("s1", 1)]
    conversation.take(response(SPOILED), 0.0)
    conversation.take(response(start_of("s1", 2), request_of("s1", 2)), 0.0)
    assert said(conversation) == [("s1", 2)]
    conversation.take(response(rejection_of("s1", 1, 2)), 0.0)
    assert said(conversation) == []
    conversation.take(response(rejection_of("s1", 2, 2)), 0.0)
    assert said(conversation) == [("s1", 2)]
    assert diary.entries == [
        "started s1",
        "decide s1 1",
        "ended s1 arena_error",
        "started s1",
        "decide s1 1",
        "rejected illegal 2",
        "decide s1 1",
    ]


def test_another_attempt_that_began_unseen_is_another_session() -> None:
    """A bot that was away meanwhile hears of the end of the one it knew."""
    diary = Diary()
    conversation = Conversation(diary, complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    conversation.opened()
    conversation.take(response(WELCOME, start_of("s1", 2), request_of("s1", 2)), 0.0)
    assert said(conversation) == [("s1", 2)]
    assert diary.entries == ["started s1", "ended s1 unseen", "started s1", "decide s1 1"]


def test_an_arena_that_names_no_first_request_means_the_first() -> None:
    """The field is younger than the protocol."""
    conversation = Conversation(Diary(), complain=deaf)
    conversation.take(response(WELCOME, start_of("s1", 0), request_of("s1", 1)), 0.0)
    assert said(conversation) == [("s1", 1)]


def test_a_new_stream_brings_everything_that_is_open() -> None:
    """What was not answered when the link was lost is answered once, when it comes again."""
    conversation = Conversation(Diary(), complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    conversation.opened()
    assert said(conversation) == []
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    assert said(conversation) == [("s1", 1)]


def test_a_session_that_is_not_offered_again_is_over() -> None:
    """What ended while the link was lost is forgotten, and the bot is told so."""
    diary = Diary()
    conversation = Conversation(diary, complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), start_of("s2")), 0.0)
    conversation.opened()
    conversation.take(response(WELCOME, start_of("s2")), 0.0)
    assert diary.entries == ["started s1", "started s2", "ended s1 unseen"]


def test_a_newer_request_takes_the_place_of_the_older() -> None:
    """No time is spent on a request whose clock has run out meanwhile."""
    conversation = Conversation(Diary(), complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), start_of("s2"), request_of("s1", 1)), 0.0)
    conversation.take(response(request_of("s2", 1)), 0.0)
    conversation.take(response(request_of("s1", 2)), 0.0)
    assert said(conversation) == [("s2", 1), ("s1", 2)]


def test_a_session_that_ends_takes_its_request_along() -> None:
    """Nothing is decided for a session that is over."""
    conversation = Conversation(Diary(), complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    conversation.take(response(SessionOver("s1", AttemptEnd.OPERATOR_STOP, (), (), ())), 0.0)
    assert said(conversation) == []


def test_a_session_may_come_again_after_its_end() -> None:
    """Another attempt has the same id and is another session to the bot."""
    diary = Diary()
    conversation = Conversation(diary, complain=deaf)
    over = SessionOver("s1", AttemptEnd.ARENA_ERROR, (), (), ())
    conversation.take(response(WELCOME, start_of("s1")), 0.0)
    conversation.take(response(over), 0.0)
    conversation.take(response(start_of("s1"), request_of("s1", 1)), 0.0)
    assert said(conversation) == [("s1", 1)]
    assert diary.entries == ["started s1", "ended s1 arena_error", "started s1", "decide s1 1"]


def test_the_last_word_is_kept() -> None:
    """Goodbye is there for whoever holds the link, until another stream begins."""
    conversation = Conversation(Diary(), complain=deaf)
    conversation.take(response(Goodbye(GoodbyeReason.STOPPING, come_back=True, detail="later")), 0.0)
    assert conversation.goodbye is not None
    assert conversation.goodbye.come_back
    conversation.opened()
    assert conversation.goodbye is None


# ------------------------------------------------------------------ answers


def test_a_note_goes_with_the_answer() -> None:
    """A bot may return its action with a note, of which 200 characters are sent."""
    action = first_legal
    conversation = Conversation(Diary(lambda request: (action(request), "n" * 300)), complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    answer = conversation.answer_next()
    assert answer.note == "n" * 200


def test_a_rejected_answer_is_given_again() -> None:
    """With tries left the bot is asked again, knowing what is left of its clock; its author is told why."""
    complaints: list[str] = []
    diary = Diary()
    conversation = Conversation(diary, complain=complaints.append)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    assert said(conversation) == [("s1", 1)]
    conversation.take(response(rejection_of("s1", 1, 2)), 5.0)
    assert said(conversation) == [("s1", 1)]
    assert diary.entries[-2:] == ["rejected illegal 2", "decide s1 1"]
    assert diary.asked[-1].time_left_ms == 400
    assert diary.asked[-1].deadline_s == 5.4
    assert complaints == ["session s1, request 1: answer rejected (illegal): not now"]


@pytest.mark.parametrize(
    "rejected",
    [
        rejection_of("s1", 1, 0),
        Rejected("s1", 1, RejectReason.LATE, "too late", 0, 0),
        rejection_of("s1", 7, 2),
        rejection_of("elsewhere", 1, 2),
    ],
)
def test_a_rejection_of_what_is_over_asks_nothing(rejected: Rejected) -> None:
    """Without a try left, or for another request than the last, there is nothing to answer."""
    complaints: list[str] = []
    conversation = Conversation(Diary(), complain=complaints.append)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    said(conversation)
    conversation.take(response(rejected), 0.0)
    assert said(conversation) == []
    assert len(complaints) == 1


def test_what_a_bot_raises_comes_out() -> None:
    """A mistake in a bot is its author's to see."""

    def fail(request: Asked) -> Action:
        raise ZeroDivisionError

    conversation = Conversation(Diary(fail), complain=deaf)
    conversation.take(response(WELCOME, start_of("s1"), request_of("s1", 1)), 0.0)
    with pytest.raises(ZeroDivisionError):
        conversation.answer_next()


# ------------------------------------------------------------------ against the arena's side


class Witness(Diary):
    """A diary that keeps the news themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[SeenEvent] = []

    def news(self, session: Sitting, events: tuple[SeenEvent, ...]) -> None:
        """Kept."""
        self.heard += events


@given(CASES)
@settings(max_examples=30)
def test_a_whole_session_through_bytes(case: Case) -> None:
    """A bot and a link that only exchange bytes play a session to its end, with every view as it was."""
    session, witness = case.session(), Witness()
    conversation, link = Conversation(witness), Link("diary", arena_version="0.1")
    stream = link.open(lambda: None)
    link.received(stream, wire.decode(hello_of(witness, "").SerializeToString()), 0)
    assert isinstance(link.take_events()[0], Joined)
    seats = tuple([SeatLabel("diary", "1.2")] * case.options.players)
    link.start(SessionStart("s1", case.ruleset, case.options, seats, 0, ClockSettings(), bytes(32)))
    told, request_id = 0, 0
    while session.decision is not None:
        request_id += 1
        seat, legal = session.decision.seat, session.decision.legal
        link.tell(SessionNews("s1", tuple([seen_by(event, 0) for event in session.events[told:]])))
        told = len(session.events)
        link.ask(Request("s1", request_id, seat, legal, session.view(seat), 1000, 0), 0)
        arrived = bot_pb2.PlayResponse.FromString(wire.encode(link.take_batch(stream, 0)))
        conversation.take(arrived, 0.0)
        assert conversation.owes
        assert arrived.requests[0].request_id == request_id
        answer = conversation.answer_next()
        assert witness.asked[-1].view == session.view(seat)
        sent = bot_pb2.PlayRequest(answers=bot_pb2.Answers(answers=[answer])).SerializeToString()
        message = wire.decode(sent)
        assert isinstance(message, Answers)
        link.received(stream, message, 0)
        (answered,) = link.take_events()
        assert isinstance(answered, Answered)
        assert not isinstance(answered.action, Unreadable)
        session.apply(answered.action)
        link.settle("s1")
    assert witness.heard == [seen_by(event, 0) for event in session.events[:told]]
