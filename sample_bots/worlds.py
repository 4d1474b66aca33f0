"""Worlds that a seat cannot tell from the real one: the hidden cards, dealt out at random.

They agree with the view: how many cards each hand and the stock hold, which cards everyone saw going
into a hand, what plays have ruled out. Beyond that all hands are equally likely: that those who play
on hold better ones, and those who exchanged, made no difference that could be measured.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from engine.actions import Legal
from engine.cards import Card, Seat
from engine.deal import Deal
from engine.imagine import imagine, unseen_cards
from engine.trick import TRUMPS
from engine.view import View
from sample_bots.judgement import order_of, weakest_first
from sample_bots.memory import possible_cards

TRIES: Final = 10
"""Cards dealt at random may not work out; after so many times, what plays have ruled out is let go."""


@dataclass(frozen=True, slots=True)
class HiddenHand:
    """What is known of another hand.

    Attributes:
        seat: whose it is.
        shown: cards that it holds for certain, or nearly so.
        size: cards that it holds besides.
        possible: the cards that it may hold.
    """

    seat: Seat
    shown: tuple[Card, ...]
    size: int
    possible: frozenset[Card]


def worlds(view: View, legal: Legal, generator: random.Random) -> Iterator[Deal]:
    """Deals without end that look like `view` to its seat, each waiting for an answer out of `legal`."""
    hidden = hidden_hands(view)
    shown = {card for hand in hidden for card in hand.shown}
    loose = [card for card in unseen_cards(view) if card not in shown]
    while True:
        hands, rest = _deal_out(view, hidden, loose, generator)
        yield imagine(view, legal, hands, rest[: view.stock_size])


def hidden_hands(view: View) -> list[HiddenHand]:
    """What is known of the other hands, those with the fewest possible cards first."""
    possible = possible_cards(view)
    anything = frozenset(unseen_cards(view))
    hands = []
    for seat in view.seats:
        if seat != view.seat:
            may_hold = possible.get(seat, anything)
            shown = tuple([card for card in _shown_to_all(view, seat) if card in may_hold])
            shown = shown[: view.hand_sizes[seat]]
            size = view.hand_sizes[seat] - len(shown)
            hands.append(HiddenHand(seat, shown, size, may_hold))
    return sorted(hands, key=lambda hand: len(hand.possible))


def _shown_to_all(view: View, seat: Seat) -> list[Card]:
    """Trumps that everyone saw going into a hand, the highest first: who got them will have kept them."""
    shown = [card for swap in view.exchanges if swap.seat == seat for card in swap.face_up]
    if view.ruleset.turn_up_to_dealer and seat == view.dealer:
        shown += view.turned
    if not shown:
        return []
    order = order_of(view)
    return [card for card in reversed(weakest_first(shown, order)) if order.suits[card] == TRUMPS]


def _deal_out(
    view: View, hidden: list[HiddenHand], loose: list[Card], generator: random.Random
) -> tuple[list[tuple[Card, ...]], list[Card]]:
    """Hands by seat, and the cards that are left in an order of chance."""
    for attempt in range(TRIES + 1):
        rest = sorted(loose, key=lambda _: generator.random())
        hands: list[tuple[Card, ...]] = [()] * len(view.hand_sizes)
        hands[view.seat] = view.hand
        for hand in hidden:
            suitable = [card for card in rest if card in hand.possible] if attempt < TRIES else rest
            taken = suitable[: hand.size]
            if len(taken) < hand.size:
                break
            rest = [card for card in rest if card not in taken]
            hands[hand.seat] = (*hand.shown, *taken)
        else:
            return hands, rest
    raise AssertionError("the unseen cards are too few for the hands of the view")
