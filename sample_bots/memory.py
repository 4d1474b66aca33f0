"""What a player who remembers the deal knows: which cards are still out, and who cannot hold which.

It is all read off the tricks in the view, so that nothing has to be kept from one request to the next.
"""

from collections.abc import Mapping
from functools import cache
from math import comb

from engine.cards import PACK_SIZE, Card, Seat
from engine.imagine import unseen_cards
from engine.trick import CardOrder, beats, legal_cards, strongest
from engine.view import View
from sample_bots.judgement import order_of


def possible_cards(view: View) -> dict[Seat, frozenset[Card]]:
    """The cards that each other active seat may still hold, as far as its plays tell."""
    unseen = frozenset(unseen_cards(view))
    possible = {seat: unseen for seat in view.active if seat != view.seat}
    for trick in (*[taken.cards for taken in view.tricks], view.trick):
        for at, (seat, card) in enumerate(trick):
            if at and seat in possible:
                order = order_of(view)
                best = strongest(trick[:at], order)[1]
                possible[seat] -= ruled_out_by(card, trick[0][1], best, order, view.ruleset.must_head)
    return possible


@cache
def ruled_out_by(card: Card, led: Card, best: Card, order: CardOrder, must_head: bool) -> frozenset[Card]:
    """The cards that whoever played `card` cannot have held: beside any of them it was not legal.

    Args:
        card: what was played.
        led: the first card of the trick.
        best: the card that was winning it.
        order: the cards under the present trumps.
        must_head: the option of that name.
    """
    others = [other for other in range(PACK_SIZE) if other != card]
    hands = [(other, tuple(sorted((card, other)))) for other in others]
    return frozenset(
        [
            other
            for other, hand in hands
            if card not in legal_cards(hand, led, best, order, must_head=must_head)
        ]
    )


def chance_to_win(view: View, card: Card, possible: Mapping[Seat, frozenset[Card]]) -> float:
    """The chance that nobody still to play beats `card`, played now; 0 when it does not lead the trick.

    Args:
        view: of the seat to play.
        card: one of its legal cards.
        possible: as `possible_cards` has it.
    """
    order = order_of(view)
    if view.trick and not beats(card, strongest(view.trick, order)[1], order):
        return 0.0
    led = view.trick[0][1] if view.trick else card
    done = [seat for seat, _ in view.trick]
    chance = 1.0
    for seat, cards in possible.items():
        if seat not in done:
            chance *= _chance_not_to_beat(card, led, cards, view.hand_sizes[seat], order)
    return chance


def _chance_not_to_beat(
    card: Card, led: Card, cards: frozenset[Card], hand_size: int, order: CardOrder
) -> float:
    """The chance that a hand of `hand_size`, any of `cards`, does not beat `card`."""
    suit = order.suits[led]
    followers = [other for other in cards if order.suits[other] == suit]
    higher = [other for other in followers if beats(other, card, order)]
    trumping = [other for other in cards if order.suits[other] != suit and beats(other, card, order)]
    is_void = _chance_of_none(len(cards), len(followers), hand_size)
    cannot_head = _chance_of_none(len(cards), len(higher), hand_size)
    cannot_ruff = _chance_of_none(len(cards) - len(followers), len(trumping), hand_size)
    return cannot_head - is_void + is_void * cannot_ruff


def _chance_of_none(pool_size: int, wanted_count: int, drawn_count: int) -> float:
    """The chance that cards drawn from a pool hold none of the wanted ones."""
    if drawn_count > pool_size - wanted_count:
        return 0.0
    return comb(pool_size - wanted_count, drawn_count) / comb(pool_size, drawn_count)
