"""The translation layer: what the arena sends is what a bot reads, and the other way round."""

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from arena import wire
from arena.clock import ClockSettings
from arena.messages import (
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
from engine.actions import Action, Bid, Call, Contract, Declare, Discard, Exchange, NameTrump, Play
from engine.cards import RANK_LETTERS, SUIT_LETTERS, WELI, Rank, Suit, card_text
from engine.rules import TAVERN, SessionOptions
from engine.session import Session
from engine.view import seen_by
from kratzen.sdk import decode, encode
from kratzen.sdk.bot import Clock
from kratzen.sdk.bot import Session as BotSession
from kratzen.v1 import bot_pb2, game_pb2
from tests.engine.playing import CASES, Case, steps

SESSION_ID = "0123456789abcdef0123456789abcdef"


def sent(*messages: ArenaMessage) -> bot_pb2.PlayResponse:
    """What a bot gets when these messages wait for it."""
    return bot_pb2.PlayResponse.FromString(wire.encode(messages))


def start_of(case: Case, seat: int = 0) -> SessionStart:
    """The start of a case's session, as a seat is told."""
    labels = tuple([SeatLabel(f"bot{number}", f"{number}.0") for number in range(case.options.players)])
    return SessionStart(
        SESSION_ID, case.ruleset, case.options, labels, seat, ClockSettings(), bytes(range(32))
    )


def received_answer(action: Action, note: str = "") -> Answer:
    """The answer that the arena reads when a bot answers request 7 with an action."""
    answer = encode.answer_of(SESSION_ID, 7, action, note)
    data = bot_pb2.PlayRequest(answers=bot_pb2.Answers(answers=[answer])).SerializeToString()
    message = wire.decode(data)
    assert isinstance(message, Answers)
    (read,) = message.answers
    return read


def decisions(case: Case) -> Iterator[Session]:
    """The session of a case at each of its decisions."""
    session = case.session()
    for _ in steps(session, case):
        yield session


# ------------------------------------------------------------------ from the arena to a bot


@given(CASES)
def test_a_request_arrives_as_it_was_sent(case: Case) -> None:
    """View, legal answers, ids and times of every decision reach the bot unchanged, rules included."""
    bot_session = decode.session_from(sent(start_of(case)).session_starts[0])
    for number, session in enumerate(decisions(case), 1):
        decision = session.decision
        assert decision is not None
        view = session.view(decision.seat)
        request = Request(SESSION_ID, number, decision.seat, decision.legal, view, 1500, 10_000)
        read = decode.request_from(sent(request).requests[0], bot_session, now_s=100.0)
        assert read.view == view
        assert read.legal == decision.legal
        assert (read.session_id, read.request_id) == (SESSION_ID, number)
        assert (read.time_left_ms, read.bank_ms, read.deadline_s) == (1500, 10_000, 101.5)


@given(CASES)
def test_every_seats_view_arrives_as_it_was_sent(case: Case) -> None:
    """The views of the seats that are not asked go through as well."""
    for session in decisions(case):
        for seat in range(case.options.players):
            view = session.view(seat)
            assert session.decision is not None
            request = Request(SESSION_ID, 1, seat, session.decision.legal, view, None, None)
            wired = sent(request).requests[0].view
            assert decode.view_from(wired, case.ruleset, case.options) == view


@given(CASES)
def test_events_arrive_as_they_were_sent(case: Case) -> None:
    """What each seat hears of a whole session reaches it unchanged and in order."""
    session = case.session()
    for _ in steps(session, case):
        pass
    for seat in range(case.options.players):
        news = tuple([seen_by(event, seat) for event in session.events])
        wired = sent(SessionNews(SESSION_ID, news)).events[0]
        assert wired.session_id == SESSION_ID
        assert decode.events_from(wired) == news


@given(CASES, st.booleans())
def test_a_session_start_arrives_as_it_was_sent(case: Case, timed: bool) -> None:
    """Every option, the clocks, the names and the commitment reach the bot."""
    clock = ClockSettings(
        move_ms=1, bank_ms=2, increment_ms=3, first_answer_ms=4, join_ms=5, max_strikes=6, timed=timed
    )
    labels = tuple([SeatLabel(f"bot{seat}", "2") for seat in range(case.options.players)])
    start = SessionStart(SESSION_ID, case.ruleset, case.options, labels, 2, clock, bytes(range(32)))
    wired = sent(start).session_starts[0]
    assert [label.version for label in wired.seats] == ["2"] * case.options.players
    assert decode.session_from(wired) == BotSession(
        session_id=SESSION_ID,
        ruleset=case.ruleset,
        options=case.options,
        names=tuple([label.name for label in labels]),
        seat=2,
        clock=Clock(
            timed=timed, move_ms=1, bank_ms=2, increment_ms=3, first_answer_ms=4, join_ms=5, max_strikes=6
        ),
        commitment=bytes(range(32)),
    )


def test_no_clock_is_told_from_no_time_left() -> None:
    """Without clocks the times are absent, not 0."""
    case = Case(TAVERN, SessionOptions(players=3), bytes(32), "uniform", 0)
    session = case.session()
    assert session.decision is not None
    view, legal = session.view(session.decision.seat), session.decision.legal
    untimed = sent(Request(SESSION_ID, 1, 0, legal, view, None, None)).requests[0]
    over = sent(Request(SESSION_ID, 1, 0, legal, view, 0, 0)).requests[0]
    assert not untimed.HasField("time_left_ms")
    assert not untimed.HasField("bank_ms")
    assert over.HasField("time_left_ms")
    assert over.HasField("bank_ms")


@pytest.mark.parametrize("reason", RejectReason)
@pytest.mark.parametrize("time_left_ms", [None, 0, 250])
def test_a_rejection_arrives_as_it_was_sent(reason: RejectReason, time_left_ms: int | None) -> None:
    """The reason is an enum of the same name, and the rest goes through."""
    wired = sent(Rejected(SESSION_ID, 4, reason, "because", 2, time_left_ms)).rejected[0]
    read = decode.rejection_from(wired)
    assert (wired.session_id, wired.request_id) == (SESSION_ID, 4)
    assert (read.reason, read.detail, read.tries_left, read.time_left_ms) == (
        reason.value,
        "because",
        2,
        time_left_ms,
    )


@pytest.mark.parametrize("ending", AttemptEnd)
def test_the_end_of_a_session_arrives_as_it_was_sent(ending: AttemptEnd) -> None:
    """Why, places, stacks and forfeits reach the bot."""
    wired = sent(SessionOver(SESSION_ID, ending, (1, 3, 2), (1200, 0, 900), (False, True, False)))
    read = decode.ending_from(wired.session_ends[0])
    assert wired.session_ends[0].session_id == SESSION_ID
    assert read.reason == ending.value
    assert (read.places, read.stacks, read.forfeited) == ((1, 3, 2), (1200, 0, 900), (False, True, False))


@pytest.mark.parametrize("reason", GoodbyeReason)
def test_every_goodbye_has_its_number(reason: GoodbyeReason) -> None:
    """The reason is an enum of the same name; whether to come back is said."""
    goodbye = sent(Goodbye(reason, come_back=True, detail="later")).goodbye
    assert bot_pb2.GoodbyeReason.Name(goodbye.reason) == f"GOODBYE_REASON_{reason.name}"
    assert goodbye.come_back
    assert goodbye.detail == "later"


def test_a_welcome_arrives_as_it_was_sent() -> None:
    """Every limit stands in the field of its name."""
    welcome = Welcome(1, "0.1", "alice", 20_000, 65_536, 20_001, 3, 200, 16)
    wired = sent(welcome).welcome
    for field in bot_pb2.Welcome.DESCRIPTOR.fields:
        assert getattr(wired, field.name) == getattr(welcome, field.name)


def test_a_batch_is_one_message() -> None:
    """Everything that waits goes out together, each kind in its own list and in order."""
    response = sent(
        Rejected("a", 1, RejectReason.LATE, "", 0, 0),
        SeedReveal("c", bytes(32), b"\x01" * 32),
        Rejected("b", 2, RejectReason.LATE, "", 0, 0),
        Goodbye(GoodbyeReason.FINISHED, come_back=False, detail=""),
    )
    assert [rejected.session_id for rejected in response.rejected] == ["a", "b"]
    assert response.seed_reveals[0].seed == bytes(32)
    assert response.seed_reveals[0].nonce == b"\x01" * 32
    assert response.HasField("goodbye")
    assert not response.HasField("welcome")


@given(CASES)
def test_the_same_messages_make_the_same_bytes(case: Case) -> None:
    """What is kept between calls does not change what is written."""
    for session in islice(decisions(case), 20):
        assert session.decision is not None
        seat = session.decision.seat
        news = SessionNews(SESSION_ID, tuple([seen_by(event, seat) for event in session.events]))
        request = Request(SESSION_ID, 1, seat, session.decision.legal, session.view(seat), 1, 1)
        assert wire.encode((news, request)) == wire.encode((news, request))


def test_card_numbers_are_named_as_the_rules_name_them() -> None:
    """The enum lists the cards by index, each under the words for its suit and rank."""
    for card, (suit, rank) in enumerate(product(Suit, Rank)):
        assert game_pb2.Card.Name(encode.action_of(Play(card)).play) == f"CARD_{suit.name}_{rank.name}"
        assert card_text(card) == SUIT_LETTERS[suit] + RANK_LETTERS[rank]
    assert encode.action_of(Play(WELI)).play == game_pb2.CARD_WELI
    assert len(game_pb2.Card.values()) == WELI + 2


# ------------------------------------------------------------------ from a bot to the arena


@given(CASES)
def test_every_legal_answer_arrives_as_it_was_given(case: Case) -> None:
    """Whatever a bot may answer is read by the arena as just that."""
    for session in decisions(case):
        assert session.decision is not None
        for action in islice(session.decision.legal, 40):
            read = received_answer(action)
            assert read.action == action
            assert (read.session_id, read.request_id) == (SESSION_ID, 7)


@pytest.mark.parametrize("make", [Exchange, Discard])
def test_cards_may_be_named_in_any_order(make: type[Exchange | Discard]) -> None:
    """The arena puts the cards of an answer into the engine's order."""
    assert received_answer(make((30, 2, 9))).action == make((2, 9, 30))
    assert received_answer(make(())).action == make(())


@pytest.mark.parametrize(
    "action",
    [
        *[NameTrump(suit) for suit in Suit],
        *[Bid(contract) for contract in Contract],
        *[Declare(call) for call in Call],
    ],
)
def test_words_arrive_as_they_were_said(action: Action) -> None:
    """Suits, contracts and calls go through by name, also those that are seldom legal."""
    assert received_answer(action).action == action


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ({}, "the answer holds no action"),
        ({"play": 0}, "the number 0 names no card"),
        ({"play": 34}, "the number 34 names no card"),
        ({"play": -1}, "the number -1 names no card"),
        ({"declare": 0}, "the number 0 names no call"),
        ({"declare": 5}, "the number 5 names no call"),
        ({"bid": 9}, "the number 9 names no contract"),
        ({"trump": 5}, "the number 5 names no suit"),
        ({"exchange": {"cards": [3, 0]}}, "the number 0 names no card"),
        ({"discard": {"cards": [99]}}, "the number 99 names no card"),
    ],
)
def test_an_answer_that_names_nothing_is_unreadable(action: dict[str, Any], why: str) -> None:
    """What cannot be read says what was read, and spoils no other answer of the message."""
    good = encode.answer_of(SESSION_ID, 1, Play(0), "")
    bad = bot_pb2.Answer(session_id=SESSION_ID, request_id=2, action=game_pb2.Action(**action))
    message = wire.decode(requested(answers=bot_pb2.Answers(answers=[bad, good])))
    assert message == Answers(
        (Answer(SESSION_ID, 2, Unreadable(why)), Answer(SESSION_ID, 1, Play(0))),
    )


def requested(**field: Message) -> bytes:
    """The bytes of a bot's message with that one field."""
    return bot_pb2.PlayRequest(**field).SerializeToString()  # type: ignore[arg-type]


def test_text_is_cleaned_on_the_way_in() -> None:
    """Names, versions, digests, ids and notes hold no control codes and are not long."""
    dirty = "\x1b[31m" + "x" * 1000
    hello = wire.decode(
        requested(
            hello=bot_pb2.Hello(
                protocol_version=1,
                bot_name=dirty,
                bot_version=dirty,
                build_digest=dirty,
                sdk=dirty,
                max_sessions=3,
                skip_events=True,
            )
        )
    )
    short = ("[31m" + "x" * 1000)[:64]
    assert hello == Hello(1, short, short, short, short, 3, skip_events=True)
    answer = bot_pb2.Answer(session_id=dirty, request_id=1, action=encode.action_of(Play(0)), note=dirty)
    assert wire.decode(requested(answers=bot_pb2.Answers(answers=[answer]))) == Answers(
        (Answer(short, 1, Play(0), ("[31m" + "x" * 1000)[:200]),)
    )


def test_a_goodbye_means_to_leave() -> None:
    """No field of a bot's goodbye needs to be set."""
    assert wire.decode(requested(goodbye=bot_pb2.Goodbye())) == Leave()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "a PlayRequest must hold a hello, answers or a goodbye; this one holds none"),
        (b"\xff\xff\xff", "the 3 bytes received are no PlayRequest of kratzen.v1: ff ff ff"),
        (
            b"\xff" * 99,
            f"the 99 bytes received are no PlayRequest of kratzen.v1: {' '.join(['ff'] * 32)} ...",
        ),
        # Field 15, which no version knows: nothing that can be acted upon.
        (b"\x7a\x01x", "a PlayRequest must hold a hello, answers or a goodbye; this one holds none"),
        (
            b"\x0a\x04\x12\x02\xc3\x28",
            "the 6 bytes received are no PlayRequest of kratzen.v1: 0a 04 12 02 c3 28",
        ),
        (requested(hello=bot_pb2.Hello()), "Hello.max_sessions is 0: allowed is 1 or more"),
        (requested(hello=bot_pb2.Hello(max_sessions=-4)), "Hello.max_sessions is -4: allowed is 1 or more"),
    ],
)
def test_what_is_no_message_gets_a_sentence(data: bytes, sentence: str) -> None:
    """Garbage, emptiness and impossible fields are told apart in words."""
    with pytest.raises(wire.WireError) as caught:
        wire.decode(data)
    assert str(caught.value) == sentence


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_wire_error(data: bytes) -> None:
    """Nothing that a stranger sends raises anything else."""
    try:
        message = wire.decode(data)
    except wire.WireError:
        return
    assert isinstance(message, Hello | Answers | Leave)


def test_unknown_fields_do_no_harm() -> None:
    """A newer bot may say more than this arena understands."""
    data = requested(goodbye=bot_pb2.Goodbye()) + b"\x7a\x01x"
    assert wire.decode(data) == Leave()
