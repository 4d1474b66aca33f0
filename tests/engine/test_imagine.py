"""A deal imagined from a view goes on as the real one would."""

from collections import Counter
from itertools import chain

import pytest

from engine.actions import Action, DecisionKind
from engine.deal import Deal
from engine.events import Decided
from engine.view import imagine, unseen_cards, view_of
from tests.engine.playing import choose, generator, random_case


def rest_of(deal: Deal, answers: list[Action]) -> tuple[list[Decided], tuple[int, ...], int]:
    """Every decision from here on, forced ones too, and the money at the end."""
    for action in answers:
        deal.apply(action)
    return [event for event in deal.events if isinstance(event, Decided)], deal.stacks, deal.pot


def play_deal(deal: Deal, chance: int) -> list[Action]:
    """Play a deal to its end; the answers that were given."""
    rng, answers = generator(chance), []
    while deal.decision is not None:
        answers.append(choose(rng, deal.decision.legal, "uniform"))
        deal.apply(answers[-1])
    return answers


def test_with_the_true_cards_every_decision_leads_to_the_true_end() -> None:
    """In 200 random sessions, at every decision of every kind, imagined and real deal go on alike."""
    kinds: Counter[DecisionKind] = Counter()
    for number in range(200):
        case = random_case(number)
        session, rng = case.session(), generator(number)
        while (decision := session.decision) is not None:
            deal, view = session.deal, session.view(decision.seat)
            real = deal.copy()
            answers = play_deal(deal.copy(), number)
            imagined = imagine(view, decision.legal, tuple(deal.hands), deal.stock)
            assert imagined.decision == decision
            assert view_of(imagined, decision.seat).hand == view.hand
            assert rest_of(imagined, answers) == rest_of(real, answers)
            kinds[decision.kind] += 1
            session.apply(choose(rng, decision.legal, case.style))
    assert set(kinds) == set(DecisionKind)


def test_unseen_cards_are_those_that_lie_where_the_seat_cannot_look() -> None:
    """Other hands, the stock and what others laid away, but for the turned cards that a dealer took."""
    for number in range(50):
        case = random_case(number)
        session, rng = case.session(), generator(number)
        while (decision := session.decision) is not None:
            deal, seat = session.deal, decision.seat
            hidden = {*deal.stock}
            for other in range(case.options.players):
                if other != seat:
                    hidden |= {*deal.hands[other], *deal.discards[other]}
            hidden.update(chain.from_iterable(swap.laid for swap in deal.exchanges if swap.seat != seat))
            assert set(unseen_cards(session.view(seat))) == hidden
            session.apply(choose(rng, decision.legal, case.style))


@pytest.mark.parametrize(
    "wrong", ["a hand too small", "another own hand", "a card twice", "a stock too small"]
)
def test_hands_that_do_not_fit_the_view_are_refused(wrong: str) -> None:
    """The caller is told in a sentence what does not fit."""
    session = random_case(3).session()
    decision = session.decision
    assert decision is not None
    hands, stock = list(session.deal.hands), session.deal.stock
    other = (decision.seat + 1) % len(hands)
    if wrong == "a hand too small":
        hands[other] = hands[other][:-1]
    elif wrong == "another own hand":
        hands[decision.seat], hands[other] = hands[other], hands[decision.seat]
    elif wrong == "a card twice":
        hands[other] = (*hands[other][:-1], hands[decision.seat][0])
    else:
        stock = stock[1:]
    with pytest.raises(ValueError, match=r"needed|hand of its view|two places"):
        imagine(session.view(decision.seat), decision.legal, hands, stock)
