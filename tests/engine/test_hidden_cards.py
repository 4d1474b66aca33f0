"""What a seat may not know has no influence on what it is shown (`rules.md` §6).

A deal is played up to some decision. Then cards that one seat cannot have seen so far (other
hands, the stock, what others laid away) change places, and the deal is played again with the
same answers, each naming the card that now lies in the old one's place. Up to the first
difference that the rules make public, such as a card that the new hand may not play, the
seat's views, events and legal answers must be the same. What is hidden is worked out here
from the events and the rules, not from the engine's views.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

import pytest

from engine.actions import Action, Discard, Exchange, Play
from engine.cards import PACK_SIZE, Card, Seat
from engine.deal import Deal
from engine.events import CardsDealt, CutMade, Decided, Event, Exchanged, StrikerFixed
from engine.pack import Pack, shuffle
from engine.rules import DealKind, Ruleset, SessionOptions
from engine.view import seen_by, seen_by_all, view_of
from tests.engine.playing import choose, generator, random_case
from tests.figures import Figure

Watch = Callable[[Deal, Sequence[Event], Seat], Any]
"""All that a seat is shown at a moment: of the deal, and of the events so far."""

WATCHER: Final[Seat] = -1
"""Stands for somebody without a seat, who only watches: it is asked nothing and holds no card."""


@dataclass(frozen=True)
class Setting:
    """A deal about to begin: everything but the answers."""

    ruleset: Ruleset
    options: SessionOptions
    kind: DealKind
    dealer: Seat
    seats: tuple[Seat, ...]
    stacks: tuple[int, ...]
    tie_break: bool
    packs: tuple[tuple[Pack, int], ...]
    """The packs as they will be shuffled, each with its cut."""

    def deal(self) -> Deal:
        """The deal at its first decision."""
        return Deal(
            self.ruleset,
            self.options,
            number=3,
            kind=self.kind,
            dealer=self.dealer,
            seats=self.seats,
            stacks=self.stacks,
            pot=17,
            packs=lambda pack_number: self.packs[pack_number],
            tie_break=self.tie_break,
        )


def random_setting(rng: Random) -> Setting:
    """Any deal: Muss, Normal or tie-break, under any options."""
    case = random_case(rng.randrange(2**64))
    seats = tuple(range(case.options.players))
    dealer = rng.choice(seats)
    kind = rng.choice((DealKind.MUSS, DealKind.NORMAL, DealKind.NORMAL))
    tie_break = kind is DealKind.NORMAL and rng.random() < 0.2
    if tie_break:
        seats = tuple(sorted({dealer, *rng.sample(seats, 2)}))
    stacks = tuple([rng.choice((0, 5, 40, 1000)) for _ in range(case.options.players)])
    packs = tuple([shuffle(case.seed, 0, number) for number in range(40)])
    return Setting(case.ruleset, case.options, kind, dealer, seats, stacks, tie_break, packs)


# -------------------------------------------------------------------- what a seat has seen


def cards_seen(deal: Deal, seat: Seat) -> set[Card]:
    """Every card that a seat has seen by now, or knows to lie in one place (`rules.md` §6)."""
    seen: set[Card] = set()
    for event in deal.events:
        match event:
            case CutMade(shown=shown):
                # Of several packs the last one is dealt: what earlier ones showed lies anywhere.
                seen = set(shown)
            case CardsDealt():
                seen |= {*event.turned, *(() if seat == WATCHER else event.hands[seat])}
            case StrikerFixed(turned=turned):
                seen |= set(turned)
            case Exchanged(actor):
                seen |= set(event.face_up)
                if actor == seat:
                    seen |= {*event.drawn, *event.bonus}
            case Decided(action=Play(card)):
                seen.add(card)
    return seen


def swapped(action: Action, places: Sequence[Card]) -> Action:
    """The same answer for the cards that now lie in the old ones' places."""
    match action:
        case Exchange(cards):
            return Exchange(tuple(sorted([places[card] for card in cards])))
        case Discard(cards):
            return Discard(tuple(sorted([places[card] for card in cards])))
        case Play(card):
            return Play(places[card])
        case _:
            return action


# ------------------------------------------------------------------------ the comparison


@dataclass(frozen=True)
class Moment:
    """What the seat was shown when so many events had happened, and its question if it was asked."""

    shown: Any
    question: Any


@dataclass(frozen=True)
class Played:
    """A deal played up to some decision, with what one seat was shown on the way."""

    deal: Deal
    moments: dict[int, Moment]
    """By the number of events so far."""

    @property
    def decided(self) -> list[Decided]:
        """Every decision, forced ones included."""
        return [event for event in self.deal.events if isinstance(event, Decided)]


def moment(deal: Deal, seat: Seat, watch: Watch) -> Moment:
    """What the seat is shown now."""
    is_asked = deal.decision is not None and deal.decision.seat == seat
    return Moment(watch(deal, deal.events, seat), deal.decision if is_asked else None)


def play_some(setting: Setting, rng: Random, seat: Seat, watch: Watch) -> Played:
    """Play a deal up to a random decision."""
    deal, style = setting.deal(), rng.choice(("uniform", "keen", "greedy", "beggar"))
    moments = {len(deal.events): moment(deal, seat, watch)}
    for _ in range(rng.randrange(40)):
        if deal.decision is None:
            break
        deal.apply(choose(rng, deal.decision.legal, style))
        moments[len(deal.events)] = moment(deal, seat, watch)
    return Played(deal, moments)


def with_places(setting: Setting, pack_count: int, places: Sequence[Card]) -> Setting:
    """The same setting with cards of the pack that is dealt in other places."""
    packs = list(setting.packs)
    pack, top_size = packs[pack_count - 1]
    packs[pack_count - 1] = tuple([places[card] for card in pack]), top_size
    return replace(setting, packs=tuple(packs))


@dataclass
class Comparison:
    """One deal and its double, seen by one seat; counts what was compared."""

    moment_count: int = 0
    swapped_count: int = 0
    """Cards that changed places."""
    is_whole: bool = False
    """Whether no public difference came before the end."""

    def run(self, rng: Random, watch: Watch, watcher: Seat | None = None) -> None:
        """Play a deal and its double, seen from a seat drawn by chance, or by the watcher.

        Raises:
            AssertionError: the seat was shown a difference that the rules do not make public.
        """
        setting = random_setting(rng)
        seat = rng.randrange(setting.options.players) if watcher is None else watcher
        first = play_some(setting, rng, seat, watch)
        places = self._swap(rng, first.deal, seat)
        double = with_places(setting, max(1, len(first.deal.cuts)), places).deal()
        self._compare(first, double, seat, watch)
        while double.decision is not None and len(double.events) < len(first.deal.events):
            at = sum(isinstance(event, Decided) for event in double.events)
            answer = swapped(first.decided[at].action, places)
            assert double.decision.seat == first.decided[at].seat
            if answer not in double.decision.legal:
                # The new hand may not play that card, and what it plays instead is public.
                assert isinstance(answer, Play)
                assert double.decision.seat != seat
                return
            double.apply(answer)
            if not self._is_same_so_far(first, double, places):
                return
            self._compare(first, double, seat, watch)
        self.is_whole = True

    def _swap(self, rng: Random, deal: Deal, seat: Seat) -> list[Card]:
        """The cards' new places: two hidden cards change theirs, or all of them do."""
        hidden = sorted(set(range(PACK_SIZE)) - cards_seen(deal, seat))
        moved = rng.sample(hidden, 2 if len(hidden) >= 2 and rng.random() < 0.5 else len(hidden))
        places = list(range(PACK_SIZE))
        for old, new in zip(moved, moved[1:] + moved[:1], strict=True):
            places[old] = new
        self.swapped_count += sum(old != new for old, new in enumerate(places))
        return places

    def _is_same_so_far(self, first: Played, double: Deal, places: Sequence[Card]) -> bool:
        """Whether all forced decisions were the same too; only a card played can differ."""
        theirs = [event for event in double.events if isinstance(event, Decided)]
        for one, other in zip(first.decided, theirs, strict=False):
            if swapped(one.action, places) != other.action:
                assert isinstance(other.action, Play)
                return False
        return True

    def _compare(self, first: Played, double: Deal, seat: Seat, watch: Watch) -> None:
        expected = first.moments.get(len(double.events))
        if expected is not None:
            assert moment(double, seat, watch) == expected
            self.moment_count += 1


def shown_by_engine(deal: Deal, events: Sequence[Event], seat: Seat) -> Any:  # noqa: ANN401 whatever is shown
    """What the engine lets a seat see: its view and all that it has heard."""
    return view_of(deal, seat), [seen_by(event, seat) for event in events]


def told_to_all(deal: Deal, events: Sequence[Event], seat: Seat) -> Any:  # noqa: ANN401 whatever is told
    """What the engine lets everybody hear."""
    return [seen_by_all(event) for event in events]


def compare_many(count: int, watch: Watch = shown_by_engine, watcher: Seat | None = None) -> list[Comparison]:
    """Compare so many deals with their doubles; see `Comparison.run`."""
    comparisons = []
    for number in range(count):
        comparison = Comparison()
        comparison.run(generator(number), watch, watcher)
        comparisons.append(comparison)
    return comparisons


def check_many(
    count: int, figure: Figure, watch: Watch = shown_by_engine, watcher: Seat | None = None
) -> None:
    """Compare, and see that the comparison was worth something."""
    comparisons = compare_many(count, watch, watcher)
    moments = sum(comparison.moment_count for comparison in comparisons)
    whole = sum(comparison.is_whole for comparison in comparisons)
    moved = sum(comparison.swapped_count > 0 for comparison in comparisons)
    assert moved > 0.9 * count
    assert whole > 0.3 * count
    assert moments > 5 * count
    figure(
        "F12a",
        f"n = {count} deals, {moved} with cards swapped, {whole} to the end, {moments} moments",
    )


def test_hidden_cards_change_no_view(figure: Figure) -> None:
    """In 300 deals, swapping cards hidden from a seat changes nothing that the seat is shown."""
    check_many(300, figure)


@pytest.mark.nightly
def test_hidden_cards_change_no_view_in_many_deals(figure: Figure) -> None:
    """In 10,000 deals, swapping cards hidden from a seat changes nothing that the seat is shown."""
    check_many(10_000, figure)


def test_hidden_cards_change_nothing_for_a_watcher(figure: Figure) -> None:
    """In 300 deals, swapping cards that are not public changes nothing that everybody may hear."""
    check_many(300, figure, told_to_all, WATCHER)


@pytest.mark.nightly
def test_hidden_cards_change_nothing_for_a_watcher_in_many_deals(figure: Figure) -> None:
    """In 10,000 deals, swapping cards that are not public changes nothing that everybody may hear."""
    check_many(10_000, figure, told_to_all, WATCHER)


def leaks_a_hand(deal: Deal, events: Sequence[Event], seat: Seat) -> Any:  # noqa: ANN401 whatever is shown
    """A faulty view that holds the next seat's hand."""
    return deal.hands[(seat + 1) % len(deal.hands)]


def leaks_the_stock(deal: Deal, events: Sequence[Event], seat: Seat) -> Any:  # noqa: ANN401 whatever is shown
    """A faulty view that holds the top card of the stock."""
    return deal.stock[:1]


def leaks_what_others_laid_away(deal: Deal, events: Sequence[Event], seat: Seat) -> Any:  # noqa: ANN401 as above
    """A faulty view that holds all cards laid away."""
    return tuple(deal.discards), [swap.laid for swap in deal.exchanges]


def leaks_by_whether_it_was_forced(deal: Deal, events: Sequence[Event], seat: Seat) -> Any:  # noqa: ANN401 as above
    """A faulty event that says whether another seat had a choice."""
    return [event.forced for event in events if isinstance(event, Decided)]


@pytest.mark.parametrize(
    "watch", [leaks_a_hand, leaks_the_stock, leaks_what_others_laid_away, leaks_by_whether_it_was_forced]
)
def test_a_leak_is_found(watch: Watch) -> None:
    """The comparison fails for views that hold what they must not, so that passing it means something."""
    with pytest.raises(AssertionError):
        compare_many(300, watch)


def hears_a_seat(deal: Deal, events: Sequence[Event], seat: Seat) -> Any:  # noqa: ANN401 whatever is told
    """A faulty watcher that is told what seat 0 is told."""
    return [seen_by(event, 0) for event in events]


def hears_what_was_laid_away(deal: Deal, events: Sequence[Event], seat: Seat) -> Any:  # noqa: ANN401 as above
    """A faulty watcher that is told an exchange or a laying away with its cards."""
    return [seen_by(event, event.seat) for event in events if isinstance(event, Decided | Exchanged)]


def hears_the_truth(deal: Deal, events: Sequence[Event], seat: Seat) -> Any:  # noqa: ANN401 as above
    """A faulty watcher that is told everything."""
    return list(events)


@pytest.mark.parametrize("watch", [hears_a_seat, hears_what_was_laid_away, hears_the_truth])
def test_a_leak_to_a_watcher_is_found(watch: Watch) -> None:
    """The comparison fails for a watcher who hears what only a seat may, or what nobody may."""
    with pytest.raises(AssertionError):
        compare_many(300, watch, WATCHER)
