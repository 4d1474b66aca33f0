"""Deals set up card by card, for tests that are about one position."""

from collections.abc import Mapping

from engine.actions import Action
from engine.cards import PACK_SIZE, Card, Seat, parse_card
from engine.deal import Deal
from engine.events import Decided
from engine.notation import parse_action
from engine.pack import Pack, PackSource
from engine.rules import DealKind, Ruleset, SessionOptions


def cards(text: str) -> tuple[Card, ...]:
    """The cards of a text in canonical notation."""
    return tuple([parse_card(word) for word in text.split()])


def pack_with(
    ruleset: Ruleset, order: tuple[Seat, ...], hands: Mapping[Seat, str], turned: str, stock: str = ""
) -> Pack:
    """A pack, as it lies after the cut, that deals these cards.

    Args:
        ruleset: says how many cards a hand has.
        order: the seats dealt in, forehand first.
        hands: of some seats, whole or in part; missing cards are filled up in index order.
        turned: the turn-up; two cards for a Weli that the dealer takes.
        stock: its top cards.
    """
    named = {seat: list(cards(text)) for seat, text in hands.items()}
    taken = {card for hand in named.values() for card in hand} | {*cards(turned), *cards(stock)}
    others = [card for card in range(PACK_SIZE) if card not in taken]
    dealt = []
    for seat in order:
        hand = named.get(seat, [])
        missing = ruleset.hand_size - len(hand)
        dealt.append(hand + others[:missing])
        others = others[missing:]
    # Five cards are dealt as three and two before the turn-up, four as two and two around it.
    first = 3 if ruleset.hand_size == 5 else 2
    packets = (
        [card for hand in dealt for card in hand[:first]],
        [card for hand in dealt for card in hand[first:]],
    )
    before, after = ((*packets[0], *packets[1]), ()) if first == 3 else packets
    return (*before, *cards(turned), *after, *cards(stock), *others)


def source_of(pack: Pack) -> PackSource:
    """A source that gives this pack, as it lies after the cut, at every shuffle."""
    return lambda _pack_number: ((pack[-1], *pack[:-1]), 1)


def deal_with(
    ruleset: Ruleset,
    hands: Mapping[Seat, str],
    turned: str,
    *,
    stock: str = "",
    players: int = 3,
    dealer: Seat = 0,
    kind: DealKind = DealKind.NORMAL,
    stacks: tuple[int, ...] | None = None,
    pot: int = 0,
) -> Deal:
    """A deal at its first decision, with these cards; see `pack_with`."""
    order = tuple([(dealer + 1 + at) % players for at in range(players)])
    return Deal(
        ruleset,
        SessionOptions(players=players),
        number=0,
        kind=kind,
        dealer=dealer,
        seats=tuple(range(players)),
        stacks=(1000,) * players if stacks is None else stacks,
        pot=pot,
        packs=source_of(pack_with(ruleset, order, hands, turned, stock)),
    )


def answer(deal: Deal, *texts: str) -> None:
    """Give answers, as texts, one after another."""
    for text in texts:
        deal.apply(parse_action(text))


def actions_of(deal: Deal) -> list[tuple[Seat, Action]]:
    """Every decision so far, forced ones included."""
    return [(event.seat, event.action) for event in deal.events if isinstance(event, Decided)]
