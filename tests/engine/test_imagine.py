"""A deal imagined from a view stands where the real one stands, and goes on as that would."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random

import pytest

from engine.actions import Action, Decision, DecisionKind
from engine.cards import Card, card_text
from engine.deal import Deal
from engine.errors import BrokenDealError
from engine.events import Event
from engine.imagine import imagine, unseen_cards
from engine.view import View, view_of
from tests.engine.playing import choose, generator, random_case


@dataclass(frozen=True)
class Moment:
    """A decision in a random session: the deal, what is asked, and the view of the seat that is asked."""

    deal: Deal
    decision: Decision
    view: View
    rng: Random

    def imagined(self) -> Deal:
        """The deal as the seat would imagine it if it guessed every card right."""
        return imagine(self.view, self.decision.legal, self.deal.hands, self.deal.stock)


def moments(session_count: int) -> Iterator[Moment]:
    """Every decision of so many random sessions under random options."""
    for number in range(session_count):
        case = random_case(number)
        session, rng = case.session(), generator(number)
        while (decision := session.decision) is not None:
            yield Moment(session.deal, decision, session.view(decision.seat), rng)
            session.apply(choose(rng, decision.legal, case.style))


def play_out(deal: Deal, rng: Random) -> list[Action]:
    """Play a deal to its end; the answers that were given."""
    answers = []
    while deal.decision is not None:
        answers.append(choose(rng, deal.decision.legal, "uniform"))
        deal.apply(answers[-1])
    return answers


def rest_of(deal: Deal, answers: list[Action]) -> tuple[list[Event], tuple[int, ...], int]:
    """What happens when a deal without events goes on with these answers, and the money at the end."""
    for action in answers:
        deal.apply(action)
    assert deal.is_over
    return deal.events, deal.stacks, deal.pot


def test_with_the_true_cards_every_decision_leads_to_the_true_end() -> None:
    """At every decision of every kind, the same answers make the same events in imagined and real deal."""
    kinds: Counter[DecisionKind] = Counter()
    for moment in moments(200):
        answers = play_out(moment.deal.copy(), moment.rng)
        assert rest_of(moment.imagined(), answers) == rest_of(moment.deal.copy(), answers)
        kinds[moment.decision.kind] += 1
    assert set(kinds) == set(DecisionKind)


def test_an_imagined_deal_looks_to_its_seat_as_the_real_one_does() -> None:
    """The seat's view, the question and its legal answers are those of the real deal, the cards all there."""
    for moment in moments(60):
        deal, seat = moment.imagined(), moment.decision.seat
        assert view_of(deal, seat) == moment.view
        assert deal.decision == moment.decision
        assert (deal.queue, deal.phase) == (moment.deal.queue, moment.deal.phase)
        assert deal.phase.legal(deal, seat) == moment.decision.legal
        assert deal.events == []
        deal.check_cards()


def dealt_out(view: View, rng: Random) -> tuple[list[tuple[Card, ...]], list[Card]]:
    """The unseen cards dealt out at random: hands by seat, and the stock."""
    cards = list(unseen_cards(view))
    rng.shuffle(cards)
    hands = []
    for seat, size in enumerate(view.hand_sizes):
        hands.append(view.hand if seat == view.seat else tuple(cards[:size]))
        cards = cards if seat == view.seat else cards[size:]
    return hands, cards[: view.stock_size]


def test_unseen_cards_dealt_out_at_random_make_a_deal_that_can_be_played_out() -> None:
    """However the unseen cards lie, the deal is played to a settlement, with 33 cards and no chip lost."""
    for moment in moments(60):
        hands, stock = dealt_out(moment.view, moment.rng)
        deal = imagine(moment.view, moment.decision.legal, hands, stock)
        assert [sorted(hand) for hand in hands] == [list(hand) for hand in deal.hands]
        assert view_of(deal, moment.decision.seat) == moment.view
        play_out(deal, moment.rng)
        deal.check_cards()
        assert sum(deal.stacks) + deal.pot == sum(moment.view.stacks) + moment.view.pot


def test_playing_an_imagined_deal_leaves_view_and_hands_alone() -> None:
    """Imagined deals share nothing that playing changes, neither with the caller nor with each other."""
    for moment in moments(10):
        hands = list(moment.deal.hands)
        first = imagine(moment.view, moment.decision.legal, hands, moment.deal.stock)
        answers = play_out(first.copy(), moment.rng)
        once = rest_of(first, answers)
        assert hands == moment.deal.hands
        assert rest_of(moment.imagined(), answers) == once


def test_unseen_cards_are_those_that_lie_where_the_seat_cannot_look() -> None:
    """Other hands, the stock and what others laid away, but for the turned cards that a dealer took."""
    for moment in moments(50):
        deal, seat = moment.deal, moment.decision.seat
        others = [other for other in range(len(deal.hands)) if other != seat]
        hidden = {*deal.stock}
        hidden.update(*[deal.hands[other] for other in others], *[deal.discards[other] for other in others])
        hidden.update(chain.from_iterable(swap.laid for swap in deal.exchanges if swap.seat != seat))
        assert unseen_cards(moment.view) == tuple(sorted(hidden))


def a_moment() -> Moment:
    """The first decision of a session of which nothing is remarkable."""
    return next(moments(1))


def refused(moment: Moment, hands: Sequence[tuple[Card, ...]], stock: Sequence[Card]) -> str:
    """The sentence with which hands and stock are refused."""
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        imagine(moment.view, moment.decision.legal, hands, stock)
    return str(caught.value)


def test_hands_that_do_not_fit_the_view_are_refused() -> None:
    """Sizes, the own hand, a card given twice and a card the seat has seen are each named in a sentence."""
    moment = a_moment()
    view, hands, stock = moment.view, moment.deal.hands, moment.deal.stock
    seat, other = view.seat, (view.seat + 1) % len(hands)

    def with_hand(at: int, hand: tuple[Card, ...]) -> list[tuple[Card, ...]]:
        return [hand if number == at else old for number, old in enumerate(hands)]

    assert "cards by seat: this view needs" in refused(moment, with_hand(other, hands[other][1:]), stock)
    assert "cards by seat: this view needs" in refused(moment, hands[1:], stock)
    assert f"this view needs {len(stock)}" in refused(moment, hands, stock[1:])
    own = with_hand(seat, (stock[0], *view.hand[1:]))
    assert refused(moment, own, stock).startswith(
        f"another hand for seat {seat}: its own is {card_text(view.hand[0])} "
    )
    given_twice = with_hand(other, (stock[0], *hands[other][1:]))
    assert refused(moment, given_twice, stock).startswith(f"{card_text(stock[0])} dealt out: ")
    seen = with_hand(other, (view.hand[0], *hands[other][1:]))
    assert refused(moment, seen, stock).startswith(
        f"{card_text(view.hand[0])} dealt out: seat {seat} has seen it"
    )


def test_an_imagined_deal_has_no_pack() -> None:
    """What is imagined has been dealt: it never asks for another pack."""
    deal = a_moment().imagined()
    with pytest.raises(BrokenDealError, match="its cards are dealt"):
        deal.packs(0)
