"""What any bot may need: chance that can be repeated, cards out of answers, answers out of cards.

Nothing here has an opinion about the game.
"""

import random
from collections.abc import Iterable
from hashlib import sha256

from engine.actions import DecisionKind, Discard, Exchange, Legal, Play, Subsets
from engine.cards import Card
from kratzen.sdk import Request


def generator_for(request: Request) -> random.Random:
    """A generator for one decision, seeded from session, seat and request.

    The same question gets the same numbers in every process and whatever was answered in between,
    so that a session can be played again.
    """
    name = f"{request.session_id}/{request.view.seat}/{request.request_id}"
    return random.Random(sha256(name.encode()).digest())  # noqa: S311 - it deals with play, not with secrets


def answer_with(legal: Subsets, cards: Iterable[Card]) -> Exchange | Discard:
    """The exchange or the laying away of `cards`, whichever is asked; they may come in any order."""
    chosen = tuple(sorted(cards))
    return Exchange(chosen) if legal.kind is DecisionKind.EXCHANGE else Discard(chosen)


def cards_of(legal: Legal) -> list[Card]:
    """The cards that may be played, by index."""
    return [action.card for action in legal if isinstance(action, Play)]
