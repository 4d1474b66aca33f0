"""A bot that tries its answers out: it deals the hidden cards at random and plays on to the settlement.

In these worlds everybody declares and exchanges as the counting bot does, and plays cards by a quicker
rule. The answer is given that leaves most chips in the mean.
"""

import math
import time
from collections.abc import Iterator
from itertools import islice
from typing import Final

from engine.actions import PLAYS, Action, Call, Decision, DecisionKind, Legal, Listed
from engine.deal import Deal
from engine.view import View, view_of
from kratzen.sdk import Bot, Request, run
from sample_bots.basics import answer_with, cards_of, generator_for
from sample_bots.counting_bot import CountingBot
from sample_bots.judgement import quick_card
from sample_bots.worlds import worlds

PLAYOUTS: Final = 80
"""Deals played to their end for a decision, all answers together."""

RESERVE_MS: Final = 250
"""Time kept for the answer to reach the arena; half of what there is when that is less."""

LAST_CARDS: Final = 4
"""Of so many cards one is chosen as the last to be laid away."""


class SamplingBot(Bot):
    """Plays out a fixed number of deals for each decision, fewer only when its clock would run out."""

    name = "sampling"
    version = "1"

    def __init__(self, playouts: int = PLAYOUTS) -> None:
        self._book = CountingBot()
        self._playouts = playouts

    def decide(self, request: Request) -> tuple[Action, str]:
        """The best answer, and a note of what it promised.

        The poorer half of the answers is dropped again and again, so that most deals are spent on
        those that are hard to tell apart.
        """
        view = request.view
        contenders = self.contenders(view, request.legal)
        outcomes: dict[Action, list[int]] = {action: [] for action in contenders}
        halvings = (len(contenders) - 1).bit_length()
        dealt = _until(_stop_s(request), worlds(view, request.legal, generator_for(request)))
        while len(contenders) > 1:
            for world in islice(dealt, self._playouts // (halvings * len(contenders))):
                for action in contenders:
                    outcomes[action].append(self.play_out(world.copy(), action, view))
            contenders.sort(key=lambda action: sum(outcomes[action]), reverse=True)
            contenders = contenders[: (len(contenders) + 1) // 2]
        return contenders[0], _note(outcomes[contenders[0]])

    def contenders(self, view: View, legal: Legal) -> list[Action]:
        """The answers to try, the book's own first: the others have to be better."""
        own = self._book.choose(view, legal)
        return [own, *[action for action in self._candidates(view, legal) if action != own]]

    def _candidates(self, view: View, legal: Legal) -> list[Action]:
        """All answers that are listed; of subsets those that part with the worst cards."""
        if isinstance(legal, Listed):
            return list(legal)
        worst = self._book.worst_first(view, legal.hand)
        if legal.kind is DecisionKind.EXCHANGE:
            return [answer_with(legal, worst[:count]) for count in range(legal.most + 1)]
        surely = worst[: legal.least - 1]
        return [answer_with(legal, [*surely, last]) for last in worst[legal.least - 1 :][:LAST_CARDS]]

    def play_out(self, deal: Deal, action: Action, view: View) -> int:
        """The chips that the seat of `view` gains when it answers `action`, by the end of the deal."""
        deal.apply(action)
        while (decision := deal.decision) is not None:
            deal.apply(self._quick_answer(deal, decision))
        return deal.stacks[view.seat] - view.stacks[view.seat]

    def _quick_answer(self, deal: Deal, decision: Decision) -> Action:
        """What a player in one of the worlds does."""
        if decision.kind is not DecisionKind.PLAY:
            return self._book.choose(view_of(deal, decision.seat), decision.legal)
        card = quick_card(
            cards_of(decision.legal),
            deal.trick[0][1] if deal.trick else None,
            deal.winning[1] if deal.winning else None,
            deal.order,
            is_last=len(deal.queue) == 1,
            is_bettler=(decision.seat, Call.BETTLER) in deal.declarations,
        )
        return PLAYS[card]


def _stop_s(request: Request) -> float:
    """The moment of `time.monotonic()` at which to answer with what is known."""
    if request.deadline_s is None or request.time_left_ms is None:
        return math.inf
    return request.deadline_s - min(RESERVE_MS, request.time_left_ms / 2) / 1000


def _until(stop_s: float, dealt: Iterator[Deal]) -> Iterator[Deal]:
    """Worlds as long as there is time."""
    while time.monotonic() < stop_s:
        yield next(dealt)


def _note(outcomes: list[int]) -> str:
    if not outcomes:
        return "no time to try it"
    return f"{sum(outcomes) / len(outcomes):+.1f} chips in {len(outcomes)} deals"


if __name__ == "__main__":
    run(SamplingBot())
