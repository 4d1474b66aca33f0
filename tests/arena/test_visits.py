"""What an organiser is told of a bot that comes and goes: a line in the log for each, and why it is away."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from structlog.testing import capture_logs

from arena.clock import US_PER_SECOND, ManualTime
from arena.link import LinkLimits, Stream
from arena.lobby import Lobby, Member
from arena.messages import PROTOCOL_VERSION, Answer, Answers, GoodbyeReason, Hello
from arena.visits import LOGGED_EVERY_US, Absence
from engine.actions import PLAYS

HELLO: Final = Hello(PROTOCOL_VERSION, "for show", "1.0", "cafe", "test", 8)
ANSWER: Final = Answer("s1", 1, PLAYS[3])


def nothing() -> None:
    """What a stream wakes here."""


class Visitor:
    """A bot in the hand of a test, on a clock that stands still unless moved."""

    def __init__(self) -> None:
        self.time = ManualTime()
        limits = LinkLimits(max_answers_per_second=2)
        self.member: Member = Lobby(self.time, arena_version="0", limits=limits).member("alice")

    def open(self) -> Stream:
        """A stream that says nothing."""
        return self.member.link.open(nothing)

    def come(self, hello: Hello = HELLO) -> Stream:
        """A stream that says Hello."""
        stream = self.open()
        self.member.received(stream, hello)
        return stream

    @property
    def absence(self) -> Absence:
        """Why the bot is away, for an organiser."""
        return self.member.visits.absence


@pytest.fixture
def visitor() -> Visitor:
    """A bot that was never there."""
    return Visitor()


def flood(visitor: Visitor, stream: Stream) -> None:
    """More answers than are allowed."""
    visitor.member.received(stream, Answers((ANSWER,) * 3))


def pin(visitor: Visitor, stream: Stream) -> None:
    """Another build of the bot is the one that was entered."""
    visitor.member.pin("1.0", "beef")


LOSSES: Final[dict[str, tuple[Callable[[Visitor, Stream], None], str, str]]] = {
    "lost": (lambda visitor, stream: visitor.member.lost(stream), "disconnected", "the link was lost"),
    "protocol": (
        lambda visitor, stream: visitor.member.garbled(stream, "that is no message"),
        "protocol",
        "that is no message",
    ),
    "flood": (flood, "flood", "more than 2 answers a second came: send fewer"),
    "not reading": (
        lambda visitor, stream: visitor.member.stalled(stream, "nothing was read"),
        "not_reading",
        "nothing was read",
    ),
    "another build": (
        pin,
        "disconnected",
        "entered is build 'beef' of this bot, not 'cafe': start that one",
    ),
    "closed": (
        lambda visitor, stream: visitor.member.close(GoodbyeReason.STOPPING, "the arena stops"),
        "disconnected",
        "the arena stops",
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_bot_that_is_away_is_told_of_with_the_reason(visitor: Visitor, name: str) -> None:
    """One line for its coming, one for its going, and the reason is kept until it comes again."""
    lose, cause, why = LOSSES[name]
    assert visitor.absence == Absence()
    with capture_logs() as logs:
        stream = visitor.come()
        assert visitor.absence == Absence()
        lose(visitor, stream)
        visitor.member.lost(stream)
    joined, away = logs
    assert joined == {
        "event": "bot joined", "log_level": "info", "bot": "alice", "version": "1.0", "build": "cafe",
    }  # fmt: skip
    level = "info" if cause == "disconnected" else "warning"
    assert away == {"event": "bot away", "log_level": level, "bot": "alice", "cause": cause, "why": why}
    assert visitor.absence == Absence(why)
    visitor.member.unpin()
    visitor.come()
    assert visitor.absence == Absence()


def hello_never(visitor: Visitor) -> None:
    """A stream that says nothing for too long."""
    visitor.member.hello_expired(visitor.open())


def garbage(visitor: Visitor) -> None:
    """A stream that begins with something else."""
    visitor.member.garbled(visitor.open(), "that is no message")


def another_version(visitor: Visitor) -> None:
    """A Hello of a version that was not entered."""
    visitor.member.pin("2.0", None)
    visitor.come()


def barred_version(visitor: Visitor) -> None:
    """A Hello of a version that was revoked."""
    visitor.member.link.bar(frozenset({"1.0"}))
    visitor.come()


@pytest.mark.parametrize(
    ("visit", "reason", "why"),
    [
        (hello_never, "no_hello", "no Hello came within 5000 ms of opening the stream"),
        (garbage, "protocol", "that is no message"),
        (another_version, "refused", "entered is version '2.0' of this bot, not '1.0': start that one"),
        (barred_version, "refused", "version '1.0' of this bot was revoked: start another one"),
        (
            lambda visitor: visitor.come(replace(HELLO, protocol_version=9)),
            "version",
            "this arena speaks version 1 of the protocol, the bot version 9: use an SDK for version 1",
        ),
    ],
)
def test_a_bot_that_is_turned_away_is_told_of_with_what_it_was_told(
    visitor: Visitor, visit: Callable[[Visitor], object], reason: str, why: str
) -> None:
    """A warning, and the sentence is kept."""
    with capture_logs() as logs:
        visit(visitor)
    assert logs == [
        {"event": "bot turned away", "log_level": "warning", "bot": "alice", "reason": reason, "why": why}
    ]
    assert visitor.absence == Absence(why, turned_away=True)


def test_a_bot_that_finds_the_door_shut_is_told_of(visitor: Visitor) -> None:
    """A stream that is not even opened is a line too, and the reason when the bot has no other."""
    with capture_logs() as logs:
        visitor.member.refused("4 streams are open")
    assert [(line["event"], line["why"]) for line in logs] == [
        ("bot refused at the door", "4 streams are open")
    ]
    assert visitor.absence == Absence("4 streams are open", turned_away=True)


def test_a_bot_that_is_there_is_not_away_because_another_stream_was_turned_away(visitor: Visitor) -> None:
    """It is logged, and no more; once its own stream is lost, that is the reason."""
    stream = visitor.come()
    visitor.come(replace(HELLO, protocol_version=9))
    visitor.member.refused("4 streams are open")
    assert visitor.absence == Absence()
    visitor.member.lost(stream)
    assert visitor.absence == Absence("the link was lost")


def test_a_takeover_has_a_name_of_its_own(visitor: Visitor) -> None:
    """So that two processes with one token that take turns are seen as what they are."""
    with capture_logs() as logs:
        visitor.come()
        visitor.come()
    assert [line["event"] for line in logs] == ["bot joined", "bot took over"]


def test_what_a_bot_brings_about_at_will_is_logged_once_a_second_and_counted(visitor: Visitor) -> None:
    """Of each kind of event; the next line of that kind says how many were left out."""
    visits = 50
    with capture_logs() as logs:
        for _ in range(visits):
            visitor.member.lost(visitor.come())
        visitor.time.advance_us(LOGGED_EVERY_US - 1)
        visitor.come()
        assert [line["event"] for line in logs] == ["bot joined", "bot away"]
        visitor.time.advance_us(1)
        visitor.come()
        visitor.time.advance_us(US_PER_SECOND)
        visitor.come()
    assert [(line["event"], line.get("left_out")) for line in logs] == [
        ("bot joined", None),
        ("bot away", None),
        ("bot took over", None),
        ("bot took over", None),
    ]
    with capture_logs() as logs:
        visitor.member.close(GoodbyeReason.STOPPING, "the arena stops")
        visitor.come()
    assert [(line["event"], line.get("left_out")) for line in logs] == [
        ("bot away", visits - 1),
        ("bot joined", visits),
    ]


def test_a_lobby_that_is_closed_tells_whoever_comes_then(visitor: Visitor) -> None:
    """Whether the bot had been there before or not: its stream ends with what the lobby was closed with."""
    lobby = Lobby(visitor.time, arena_version="0")
    before = lobby.member("alice").link
    lobby.close(GoodbyeReason.STOPPING, "the arena stops")
    for link in (before, lobby.member("bob").link):
        closing = link.open(nothing).closing
        assert closing is not None
        assert closing.goodbye.detail == "the arena stops"
