"""Laws that hold in every session, under every option, whatever the players answer."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.actions import (
    PLAYS,
    Action,
    Bid,
    Call,
    Contract,
    DecisionKind,
    Declare,
    Discard,
    Exchange,
    Legal,
    NameTrump,
    Play,
    Subsets,
)
from engine.cards import PACK_SIZE, Card, Suit, card_text
from engine.deal import Deal
from engine.errors import IllegalActionError
from engine.events import (
    AntesPaid,
    CardsDealt,
    CutMade,
    DealBegan,
    DealSettled,
    Decided,
    Event,
    Exchanged,
    SessionEnded,
    StrikerFixed,
    TrickTaken,
)
from engine.fallback import fallback
from engine.notation import action_text, parse_action
from engine.rules import Ruleset, make_ruleset
from engine.session import Session
from engine.view import view_of
from tests.engine.playing import CASES, Case, generator, play, steps
from tests.engine.positions import answer as give
from tests.engine.positions import deal_with

# ------------------------------------------------------------------------------- chips


@dataclass
class Accounts:
    """Stacks and pot as the events tell them, kept apart from the engine's own."""

    stacks: list[int]
    pot: int = 0
    striker: int = 0

    def enter(self, event: Event) -> None:
        """Book the chips that an event moved."""
        match event:
            case AntesPaid(paid) | CutMade(paid=paid):
                self._pay_in(paid)
            case Exchanged(seat, paid=fee):
                self._pay_in(tuple([fee if other == seat else 0 for other in range(len(self.stacks))]))
            case StrikerFixed(striker):
                self.striker = striker
            case DealSettled():
                self._settle(event)
            case SessionEnded():
                assert (tuple(self.stacks), self.pot) == (event.stacks, event.pot_left)

    def _settle(self, event: DealSettled) -> None:
        assert self.pot == event.pot_before
        striker_takes = [0] * len(self.stacks)
        striker_takes[self.striker] = event.remainder
        for taken in (event.bonuses, event.shares, striker_takes):
            self._pay_in(tuple([-chips for chips in taken]))
        self._pay_in(event.penalties)
        assert (tuple(self.stacks), self.pot) == (event.stacks, event.pot)

    def _pay_in(self, paid: tuple[int, ...]) -> None:
        for seat, chips in enumerate(paid):
            self.stacks[seat] -= chips
            self.pot += chips
        assert min(self.stacks) >= 0
        assert self.pot >= 0


@given(CASES)
def test_chips_are_conserved(case: Case) -> None:
    """Stacks and pot hold the same chips after every event, none below nothing, as the events say."""
    session, booked = case.session(), 0
    accounts = Accounts([case.options.stack] * case.options.players)
    total = sum(accounts.stacks)

    def check() -> None:
        nonlocal booked
        for event in session.events[booked:]:
            accounts.enter(event)
            assert sum(accounts.stacks) + accounts.pot == total
        booked = len(session.events)
        assert (session.stacks, session.pot) == (tuple(accounts.stacks), accounts.pot)

    check()
    for _ in steps(session, case):
        check()
    check()
    assert session.result is not None


# ------------------------------------------------------------------------------- cards


def whereabouts(deal: Deal) -> list[Card]:
    """Every card in every place of a deal, sorted; a card that stands twice is there twice."""
    on_table = () if deal.ruleset.turn_up_to_dealer else deal.turned
    places = [*deal.hands, deal.stock, on_table, deal.auction_turned, *deal.discards]
    places += [swap.laid for swap in deal.exchanges]
    places += [tuple([card for _, card in trick.cards]) for trick in deal.tricks]
    places.append(tuple([card for _, card in deal.trick]))
    return sorted(card for place in places for card in place)


@given(CASES)
def test_every_card_is_in_one_place(case: Case) -> None:
    """At every step each of the 33 cards is in exactly one place."""
    session = case.session()
    for _ in steps(session, case):
        assert whereabouts(session.deal) == list(range(PACK_SIZE))
    assert whereabouts(session.deal) == list(range(PACK_SIZE))


class Table:
    """Hands and stock as the events tell them, kept apart from the engine's own."""

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        self.hands: list[set[Card]] = []
        self.stock: set[Card] = set()

    def enter(self, event: Event) -> None:
        """Move the cards that an event moved, each from where it was."""
        match event:
            case CardsDealt():
                self.hands = [set(hand) for hand in event.hands]
                self.stock = set(range(PACK_SIZE)).difference(event.turned, *event.hands)
                if self.ruleset.turn_up_to_dealer:
                    self.hands[event.dealer] |= set(event.turned)
            case StrikerFixed():
                self._leave_stock(event.turned)
            case Exchanged():
                self._leave_stock(event.drawn + event.bonus)
                self._leave_hand(event.seat, event.laid)
                self.hands[event.seat] |= {*event.drawn, *event.bonus}
                assert set(event.face_up) <= set(event.drawn)
                assert event.stock_left == len(self.stock)
            case Decided(seat, Discard(cards)):
                self._leave_hand(seat, cards)
            case Decided(seat, Play(card)):
                self._leave_hand(seat, (card,))

    def _leave_stock(self, cards: tuple[Card, ...]) -> None:
        assert set(cards) <= self.stock
        self.stock -= set(cards)

    def _leave_hand(self, seat: int, cards: tuple[Card, ...]) -> None:
        assert set(cards) <= self.hands[seat]
        self.hands[seat] -= set(cards)


@given(CASES)
def test_events_account_for_every_card(case: Case) -> None:
    """Whoever follows the events alone knows every hand and the cards of the stock at every step."""
    session, table, entered = case.session(), Table(case.ruleset), 0
    for _ in steps(session, case):
        for event in session.events[entered:]:
            table.enter(event)
        entered = len(session.events)
        assert [tuple(sorted(hand)) for hand in table.hands] == session.deal.hands
        assert table.stock == set(session.deal.stock)


# --------------------------------------------------------------------------- decisions


def universe(legal: Legal) -> Iterator[Action]:
    """Answers of every kind, the legal ones and many that are not."""
    yield from PLAYS
    yield from map(NameTrump, Suit)
    yield from map(Bid, Contract)
    yield from map(Declare, Call)
    hand = legal.hand if isinstance(legal, Subsets) else tuple(range(5))
    for make in (Exchange, Discard):
        for size in range(len(hand) + 1):
            cards = hand[:size]
            yield make(cards)
            yield make(cards[::-1])
            yield make((*cards[:-1], PACK_SIZE - 1))
            yield make((*cards[:1], *cards))


def canonical_key(action: Action) -> tuple[object, ...]:
    """What the canonical order of the rules sorts by."""
    match action:
        case NameTrump(suit):
            return (suit,)
        case Bid(contract):
            return (["weiter", "weiter-oder", "oder", "schlagen"].index(contract),)
        case Declare(call):
            return (["fold", "play", "bettler", "last"].index(call),)
        case Exchange(cards) | Discard(cards):
            return (len(cards), cards)
        case Play(card):
            return (card,)


ACTION_KINDS: dict[DecisionKind, type[Action]] = {
    DecisionKind.TRUMP: NameTrump,
    DecisionKind.BID: Bid,
    DecisionKind.DECLARE: Declare,
    DecisionKind.EXCHANGE: Exchange,
    DecisionKind.DISCARD: Discard,
    DecisionKind.PLAY: Play,
}


@given(CASES)
def test_legal_sets(case: Case) -> None:
    """A question has two answers or more, all of its kind, in canonical order; count and membership agree."""
    session = case.session()
    for _ in steps(session, case):
        decision = session.decision
        assert decision is not None
        answers = list(decision.legal)
        assert len(answers) >= 2
        assert len(answers) == len(decision.legal) == len(set(answers))
        assert answers == sorted(answers, key=canonical_key)
        assert {type(answer) for answer in answers} == {ACTION_KINDS[decision.kind]}
        assert all(answer in decision.legal for answer in answers)
        for action in universe(decision.legal):
            assert (action in decision.legal) == (action in answers)
        for answer in answers:
            assert parse_action(action_text(answer)) == answer


@given(CASES)
def test_the_fallback_is_legal(case: Case) -> None:
    """At every question the fallback is one of the legal answers."""
    session = case.session()
    for _ in steps(session, case):
        decision = session.decision
        assert decision is not None
        assert fallback(session.view(decision.seat), decision.legal) in decision.legal


@given(CASES)
def test_only_seats_with_something_to_decide_are_asked(case: Case) -> None:
    """Whoever is asked is dealt in and has not folded; in a Muss nobody is asked to bid, fold or exchange."""
    session = case.session()
    for _ in steps(session, case):
        decision, deal = session.decision, session.deal
        assert decision is not None
        assert decision.seat in deal.active
        if deal.kind != "normal" or deal.tie_break:
            assert decision.kind not in {DecisionKind.DECLARE, DecisionKind.EXCHANGE}
        if deal.base_kind == "muss" or deal.tie_break:
            assert decision.kind is not DecisionKind.BID


def state_of(thing: Any) -> Any:  # noqa: ANN401 whatever a session is made of
    """A copy of everything that can change in a session, to be compared later."""
    match thing:
        case Session():
            return {name: state_of(value) for name, value in vars(thing).items()}
        case Deal():
            return {field.name: state_of(getattr(thing, field.name)) for field in fields(thing)}
        case dict():
            return {key: state_of(value) for key, value in thing.items()}
        case list():
            return [state_of(value) for value in thing]
        case _:
            return thing


@given(CASES, st.integers(0, 2**32))
def test_an_illegal_answer_changes_nothing(case: Case, chance: int) -> None:
    """An answer that is not legal raises an error of one sentence and leaves the whole session as it was."""
    session = case.session()
    rng = generator(chance)
    for _ in steps(session, case):
        if rng.random() < 0.8:
            continue
        decision = session.decision
        assert decision is not None
        illegal = [action for action in universe(decision.legal) if action not in decision.legal]
        before = state_of(session)
        for action in rng.sample(illegal, 3):
            with pytest.raises(IllegalActionError, match=r"^[^\n]+$"):
                session.apply(action)
            assert state_of(session) == before
    before = state_of(session)
    with pytest.raises(IllegalActionError):
        session.apply(PLAYS[0])
    assert state_of(session) == before


@given(CASES)
def test_an_exchange_is_paid_in_full(case: Case) -> None:
    """A paid exchange costs its fee for every card, so that nobody may name more than the chips buy."""
    for event in play(case.session(), case).events:
        if isinstance(event, Exchanged):
            fee = case.ruleset.exchange_fee if case.ruleset.exchange == "paid" else 0
            assert event.paid == fee * len(event.laid)


@pytest.mark.parametrize(
    ("fee", "chips", "most"),
    [(1, 1, 1), (1, 2, 2), (2, 3, 1), (5, 14, 2), (5, 15, 3), (5, 500, 4), (0, 1, 4)],
)
def test_chips_limit_a_paid_exchange(fee: int, chips: int, most: int) -> None:
    """Of four cards as many may be named as the chips that are left after the ante can pay."""
    ruleset = make_ruleset("tavern", {"exchange": "paid", "exchange_limit": 4, "exchange_fee": fee})
    deal = deal_with(ruleset, {}, "L8", stacks=(1000, ruleset.ante + chips, 1000))
    give(deal, "play", "play")
    assert deal.decision is not None
    assert deal.decision.seat == 1
    assert isinstance(deal.decision.legal, Subsets)
    assert (deal.decision.legal.least, deal.decision.legal.most) == (0, most)


class OwnPlay(Play):
    """Somebody else's kind of play."""


def other_values(action: Action) -> list[Any]:
    """What an action could hold in place of what it holds: equal to it, or another way to say it."""
    match action:
        case NameTrump(suit):
            return [int(suit), suit.name]
        case Bid(Contract() as word) | Declare(Call() as word):
            return [word.value]
        case Exchange(cards) | Discard(cards):
            floats = tuple([float(card) for card in cards])
            return [[*cards], 7, "", (None,), ("E7",), *([floats] if cards else [])]
        case Play(card):
            return [float(card), card_text(card), True]


def look_alikes(action: Action) -> Iterator[Any]:
    """Values that say the same as a legal answer, or equal it, and are none."""
    yield from (None, 0, action_text(action), ANY, (action,))
    kind: Any = type(action)
    for value in (None, 10**5000, *other_values(action)):
        yield kind(value)
    if isinstance(action, Play):
        yield OwnPlay(action.card)


@given(CASES, st.integers(0, 2**32))
def test_a_look_alike_is_no_answer(case: Case, chance: int) -> None:
    """Whatever merely equals a legal answer, or says the same, is illegal and changes nothing."""
    session = case.session()
    rng = generator(chance)
    for answer in steps(session, case):
        if rng.random() < 0.8:
            continue
        before = state_of(session)
        for action in look_alikes(answer):
            with pytest.raises(IllegalActionError):
                session.apply(action)
            assert state_of(session) == before


# ------------------------------------------------------------------ what follows from what


@given(CASES)
def test_the_same_seed_and_answers_give_the_same_events(case: Case) -> None:
    """A session follows from its seed and the answers: played from its own record it happens again."""
    first = play(case.session(), case)
    again = case.session()
    for event in first.events:
        if isinstance(event, Decided) and not event.forced:
            assert again.decision is not None
            assert again.decision.seat == event.seat
            again.apply(event.action)
    assert again.decision is None
    assert again.events == first.events


@given(CASES)
def test_events_are_only_appended(case: Case) -> None:
    """What has been told stays told: every list of events begins with the one before it."""
    session = case.session()
    told: list[Event] = []
    for _ in steps(session, case):
        assert session.events[: len(told)] == told
        told = session.events[:]


@given(CASES, st.integers(0, 2**32))
def test_a_copied_deal_is_played_by_itself(case: Case, chance: int) -> None:
    """Playing a copy of a deal to its end changes nothing in the session, and happens as the deal would."""
    session = case.session()
    for step, _ in enumerate(steps(session, case)):
        if (chance + step) % 7:
            continue
        before = state_of(session)
        twin, other = session.deal.copy(), session.deal.copy()
        while twin.decision is not None:
            action = fallback(view_of(twin, twin.decision.seat), twin.decision.legal)
            twin.apply(action)
            other.apply(action)
        assert state_of(session) == before
        assert twin.events == other.events
        assert twin.is_over


# ------------------------------------------------------------------------ from deal to deal


def deals_of(session: Session) -> list[list[Event]]:
    """The events of a session, deal by deal."""
    deals: list[list[Event]] = []
    for event in session.events:
        if isinstance(event, DealBegan):
            deals.append([])
        deals[-1].append(event)
    return deals


def only(events: list[Event], kind: type[Any]) -> Any:  # noqa: ANN401 an event of that kind
    """The one event of its kind in a deal."""
    (event,) = [event for event in events if isinstance(event, kind)]
    return event


@given(CASES)
def test_the_next_dealer_sits_left_of_the_last(case: Case) -> None:
    """The deal passes to the left of the seat that really dealt, the cut and the tie-break included."""
    deals = deals_of(play(case.session(), case))
    assert only(deals[0], DealBegan).dealer == 0
    for before, after in pairwise(deals):
        dealt = only(before, CardsDealt).dealer
        assert only(after, DealBegan).dealer == (dealt + 1) % case.options.players


@given(CASES)
def test_a_deal_has_all_its_tricks_or_ends_by_folds(case: Case) -> None:
    """A deal has `hand_size` tricks, each with a card of every active seat, or none when all others fold."""
    for events in deals_of(play(case.session(), case)):
        settled = only(events, DealSettled)
        tricks = [event for event in events if isinstance(event, TrickTaken)]
        assert sum(settled.tricks_won) == case.ruleset.hand_size
        if len(settled.active) == 1:
            assert not tricks
        else:
            assert len(tricks) == case.ruleset.hand_size
            assert all(sorted(seat for seat, _ in trick.cards) == list(settled.active) for trick in tricks)


@given(CASES)
def test_places_follow_from_chips(case: Case) -> None:
    """A place is one more than the players ahead, who without a tie-break are those with more chips."""
    result = play(case.session(), case).result
    assert result is not None
    if not result.tie_break_played:
        assert result.places == tuple(
            [1 + sum(other > chips for other in result.stacks) for chips in result.stacks]
        )
    assert min(result.places) == 1
    assert all(place == 1 + sum(other < place for other in result.places) for place in result.places)
