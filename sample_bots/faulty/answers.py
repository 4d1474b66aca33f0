"""Behaviours of answers: at the limit, twice, under another id, against the rules."""

import asyncio
from typing import ClassVar, Final

from kratzen.v1 import bot_pb2, game_pb2
from sample_bots.faulty.raw import RawBot

PACK: Final = tuple(game_pb2.Card.values()[1:])


class AnswersAtLimit(RawBot):
    """Answers `offset_ms` after its time is over; a negative one is before.

    The time is what the request says, from the moment that it is read. An untimed session is
    answered at once.
    """

    offset_ms: ClassVar[int]

    async def asked(self, request: bot_pb2.Request) -> None:
        """Wait, then answer."""
        if request.HasField("time_left_ms"):
            await asyncio.sleep((request.time_left_ms + self.offset_ms) / 1000)
        await self.answer(request)


class Answers50MsEarly(AnswersAtLimit):
    """Answers 50 ms before its time is over: no fault."""

    name = "answers_50_ms_early"
    offset_ms = -50


class Answers1MsEarly(AnswersAtLimit):
    """Answers 1 ms before its time is over: the way to the arena decides."""

    name = "answers_1_ms_early"
    follows = "timeout or none"
    offset_ms = -1


class Answers1MsLate(AnswersAtLimit):
    """Answers 1 ms after its time is over: the way to the bot decides."""

    name = "answers_1_ms_late"
    follows = "timeout or none"
    offset_ms = 1


class Answers50MsLate(AnswersAtLimit):
    """Answers 50 ms after its time is over."""

    name = "answers_50_ms_late"
    follows = "timeout"
    offset_ms = 50


class AnswersTwiceSame(RawBot):
    """Gives every answer twice: the second is rejected and counted."""

    name = "answers_twice_same"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Answer and answer."""
        await self.answer(request)
        await self.answer(request)


class AnswersTwiceDifferent(RawBot):
    """Gives two different answers to every request: the first counts."""

    name = "answers_twice_different"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Answer, and think better of it."""
        await self.answer(request)
        await self.answer(request, _other_answer(request.legal))


class AnswersPreviousId(RawBot):
    """Answers its first request, and from then on always the one before."""

    name = "answers_previous_id"
    follows = "timeout"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Answer what is over."""
        await self.answer(request, request_id=max(1, request.request_id - 1))


class AnswersFutureId(RawBot):
    """Answers the request that may come next."""

    name = "answers_future_id"
    follows = "timeout"

    async def asked(self, request: bot_pb2.Request) -> None:
        """Answer what was not asked yet."""
        await self.answer(request, request_id=request.request_id + 1)


class _Cheats(RawBot):
    """Answers against the rules when it is asked one kind of question, and well otherwise."""

    follows = "illegal"
    kind: ClassVar[int]

    async def asked(self, request: bot_pb2.Request) -> None:
        """Answer well, or not."""
        if request.legal.kind == self.kind:
            await self.answer(request, self.illegal_answer(request))
        else:
            await self.answer(request)

    def illegal_answer(self, request: bot_pb2.Request) -> game_pb2.Action:
        """What is not allowed here."""
        raise NotImplementedError


class IllegalCard(_Cheats):
    """Plays cards that it does not hold."""

    name = "illegal_card"
    kind = game_pb2.DECISION_KIND_PLAY

    def illegal_answer(self, request: bot_pb2.Request) -> game_pb2.Action:
        """A card of somebody else."""
        return game_pb2.Action(play=_foreign_cards(request)[0])


class FoldsInPlay(_Cheats):
    """Folds when it is to play a card."""

    name = "folds_in_play"
    kind = game_pb2.DECISION_KIND_PLAY

    def illegal_answer(self, request: bot_pb2.Request) -> game_pb2.Action:
        """A word of another phase."""
        return game_pb2.Action(declare=game_pb2.CALL_FOLD)


class ExchangesForeignCards(_Cheats):
    """Exchanges cards that it does not hold."""

    name = "exchanges_foreign_cards"
    kind = game_pb2.DECISION_KIND_EXCHANGE

    def illegal_answer(self, request: bot_pb2.Request) -> game_pb2.Action:
        """A card of somebody else."""
        return game_pb2.Action(exchange=game_pb2.Cards(cards=_foreign_cards(request)[:1]))


class ExchangesTooMany(_Cheats):
    """Exchanges more cards than the stock has: the whole pack."""

    name = "exchanges_too_many"
    kind = game_pb2.DECISION_KIND_EXCHANGE

    def illegal_answer(self, request: bot_pb2.Request) -> game_pb2.Action:
        """Everything."""
        return game_pb2.Action(exchange=game_pb2.Cards(cards=PACK))


def _foreign_cards(request: bot_pb2.Request) -> list["game_pb2.Card.ValueType"]:
    return [card for card in PACK if card not in request.view.hand]


def _other_answer(legal: game_pb2.Legal) -> game_pb2.Action:
    """Another legal answer than the bot would give."""
    if legal.kind == game_pb2.DECISION_KIND_EXCHANGE:
        return game_pb2.Action(exchange=game_pb2.Cards(cards=legal.hand[: legal.most]))
    if legal.kind == game_pb2.DECISION_KIND_DISCARD:
        return game_pb2.Action(discard=game_pb2.Cards(cards=legal.hand[-legal.least :]))
    return legal.actions[-1]


BEHAVIOURS: Final = (
    Answers50MsEarly,
    Answers1MsEarly,
    Answers1MsLate,
    Answers50MsLate,
    AnswersTwiceSame,
    AnswersTwiceDifferent,
    AnswersPreviousId,
    AnswersFutureId,
    IllegalCard,
    FoldsInPlay,
    ExchangesForeignCards,
    ExchangesTooMany,
)
