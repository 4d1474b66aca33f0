"""What a bot says, from the engine's values to protobuf messages."""

from collections.abc import Sequence
from typing import Final, assert_never

from engine.actions import Action, Bid, Call, Contract, Declare, Discard, Exchange, NameTrump, Play
from engine.cards import Card
from kratzen.sdk.bot import Bot
from kratzen.v1 import bot_pb2, game_pb2

PROTOCOL_VERSION: Final = 1
"""The version of the protocol that this SDK speaks."""

MAX_NOTE_LENGTH: Final = 200
"""Characters of a note that the arena keeps."""

_CARDS: Final = tuple(game_pb2.Card.values()[1:])
"""The number of each card on the wire, by index."""
_SUITS: Final = tuple(game_pb2.Suit.values()[1:])
_CONTRACTS: Final = {c: game_pb2.Contract.Value(f"CONTRACT_{c.name}") for c in Contract}
_CALLS: Final = {call: game_pb2.Call.Value(f"CALL_{call.name}") for call in Call}


def hello_of(bot: Bot, sdk: str) -> bot_pb2.PlayRequest:
    """The first message of a stream. A bot that does not hear news is not sent any."""
    return bot_pb2.PlayRequest(
        hello=bot_pb2.Hello(
            protocol_version=PROTOCOL_VERSION,
            bot_name=bot.name,
            bot_version=bot.version,
            build_digest=bot.build_digest,
            sdk=sdk,
            max_sessions=bot.max_sessions,
            skip_events=type(bot).news is Bot.news,
        )
    )


def answer_of(session_id: str, request_id: int, action: Action, note: str) -> bot_pb2.Answer:
    """The answer to a request; of a note only what the arena keeps is sent."""
    return bot_pb2.Answer(
        session_id=session_id, request_id=request_id, action=action_of(action), note=note[:MAX_NOTE_LENGTH]
    )


def action_of(action: Action) -> game_pb2.Action:
    """An action; cards may stand in any order."""
    match action:
        case Play(card):
            return game_pb2.Action(play=_CARDS[card])
        case Declare(call):
            return game_pb2.Action(declare=_CALLS[call])
        case Exchange(cards):
            return game_pb2.Action(exchange=_cards(cards))
        case Discard(cards):
            return game_pb2.Action(discard=_cards(cards))
        case Bid(contract):
            return game_pb2.Action(bid=_CONTRACTS[contract])
        case NameTrump(suit):
            return game_pb2.Action(trump=_SUITS[suit])
        case _:
            assert_never(action)


def _cards(cards: Sequence[Card]) -> game_pb2.Cards:
    return game_pb2.Cards(cards=[_CARDS[card] for card in cards])
