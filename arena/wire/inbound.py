"""What bots send, from bytes to messages.

Every field is checked here for what can be said without the game; text is cleaned. What is
wrong with a whole message is a `WireError`; what is wrong with one answer makes that answer
`Unreadable`, which uses up a try and nothing else.
"""

from collections.abc import Sequence
from typing import Final, assert_never

from google.protobuf.message import DecodeError

from arena.messages import (
    MAX_LABEL_LENGTH,
    MAX_NOTE_LENGTH,
    Answer,
    Answers,
    BotMessage,
    Hello,
    Leave,
    Unreadable,
)
from arena.text import clean
from engine.actions import PLAYS, Action, Bid, Call, Contract, Declare, Discard, Exchange, NameTrump
from engine.cards import PACK_SIZE, Card, Suit
from kratzen.v1 import bot_pb2, game_pb2

_PLAYS: Final = {play.card + 1: play for play in PLAYS}
"""By number on the wire, which is the card's index plus 1."""
_TRUMPS: Final = {game_pb2.Suit.Value(f"SUIT_{suit.name}"): NameTrump(suit) for suit in Suit}
_BIDS: Final = {game_pb2.Contract.Value(f"CONTRACT_{contract.name}"): Bid(contract) for contract in Contract}
_CALLS: Final = {game_pb2.Call.Value(f"CALL_{call.name}"): Declare(call) for call in Call}


SHOWN_BYTES: Final = 32
"""How much of what cannot be read is told, so that the verdict can be checked afterwards."""


class WireError(ValueError):
    """What arrived is no message of the protocol; the text is one sentence for its author."""


def decode(data: bytes) -> BotMessage:
    """The message of a bot that the bytes of a `PlayRequest` hold.

    Raises:
        WireError: they hold none, or a field of it cannot be.
    """
    try:
        request = bot_pb2.PlayRequest.FromString(data)
    except DecodeError:
        shown = data[:SHOWN_BYTES].hex(" ") + (" ..." if len(data) > SHOWN_BYTES else "")
        raise WireError(f"the {len(data)} bytes received are no PlayRequest of kratzen.v1: {shown}") from None
    kind = request.WhichOneof("message")
    match kind:
        case "answers":
            return Answers(tuple([_answer(answer) for answer in request.answers.answers]))
        case "hello":
            return _hello(request.hello)
        case "goodbye":
            return Leave()
        case None:
            raise WireError("a PlayRequest must hold a hello, answers or a goodbye; this one holds none")
        case _:
            assert_never(kind)


def _hello(hello: bot_pb2.Hello) -> Hello:
    if hello.max_sessions < 1:
        raise WireError(f"Hello.max_sessions is {hello.max_sessions}: allowed is 1 or more")
    return Hello(
        protocol_version=hello.protocol_version,
        bot_name=clean(hello.bot_name, MAX_LABEL_LENGTH),
        bot_version=clean(hello.bot_version, MAX_LABEL_LENGTH),
        build_digest=clean(hello.build_digest, MAX_LABEL_LENGTH),
        sdk=clean(hello.sdk, MAX_LABEL_LENGTH),
        max_sessions=hello.max_sessions,
        skip_events=hello.skip_events,
    )


def _answer(answer: bot_pb2.Answer) -> Answer:
    return Answer(
        session_id=clean(answer.session_id, MAX_LABEL_LENGTH),
        request_id=answer.request_id,
        action=_action(answer.action),
        note=clean(answer.note, MAX_NOTE_LENGTH),
    )


def _action(action: game_pb2.Action) -> Action | Unreadable:  # noqa: PLR0911 - one row a kind of action
    kind = action.WhichOneof("action")
    match kind:
        case "play":
            return _PLAYS.get(action.play) or _no_such("card", action.play)
        case "declare":
            return _CALLS.get(action.declare) or _no_such("call", action.declare)
        case "exchange":
            return _subset(Exchange, action.exchange.cards)
        case "discard":
            return _subset(Discard, action.discard.cards)
        case "bid":
            return _BIDS.get(action.bid) or _no_such("contract", action.bid)
        case "trump":
            return _TRUMPS.get(action.trump) or _no_such("suit", action.trump)
        case None:
            return Unreadable("the answer holds no action")
        case _:
            assert_never(kind)


def _subset(make: type[Exchange | Discard], numbers: Sequence[int]) -> Action | Unreadable:
    """Cards in index order, which is the engine's; a bot may name them in any."""
    cards: list[Card] = []
    for number in numbers:
        if not 1 <= number <= PACK_SIZE:
            return _no_such("card", number)
        cards.append(number - 1)
    return make(tuple(sorted(cards)))


def _no_such(what: str, number: int) -> Unreadable:
    return Unreadable(f"the number {number} names no {what}")
