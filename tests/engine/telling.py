"""Events as plain English sentences, as `docs/rules.md` tells a deal; one a line."""

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from engine.actions import Action, Bid, Call, Contract, Declare, Discard, Exchange, NameTrump, Play
from engine.cards import Card, Seat, Suit
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
from engine.notation import CardStyle, Language, card_name, show_suit

NAMES: Final = ("Anna", "Bruno", "Clara", "David")
"""Who sits where, seat 0 first."""

CALLS: Final = {
    Call.FOLD: "folds",
    Call.PLAY: "plays",
    Call.BETTLER: "promises no trick",
    Call.LAST: "claims the last word",
}
CONTRACTS: Final = {
    Contract.WEITER: "Weiter",
    Contract.WEITER_ODER: "Weiter-Oder",
    Contract.ODER: "Oder",
    Contract.SCHLAGEN: "Schlagen",
}


def named(card: Card) -> str:
    """A card in a sentence."""
    return f"the {card_name(card, Language.ENGLISH)}"


def listed(cards: Sequence[Card]) -> str:
    """Cards in a list, without articles."""
    return ", ".join([card_name(card, Language.ENGLISH) for card in cards])


def suit_named(suit: Suit) -> str:
    """A suit in a sentence."""
    return show_suit(suit, CardStyle.CANONICAL)


def told(events: Sequence[Event]) -> Iterator[str]:  # noqa: C901 one case an event
    """The lines of one deal."""
    tricks = 0
    for event in events:
        match event:
            case DealBegan():
                yield f"{NAMES[event.dealer]} deals, a {event.kind.capitalize()} deal."
            case AntesPaid(paid):
                yield f"Antes: {chips(paid)}."
            case CutMade():
                shown = " and ".join(map(named, event.shown))
                paid_in = f" {chips(event.paid)}." if any(event.paid) else ""
                yield f"The cut for {NAMES[event.dealer]} shows {shown}.{paid_in}"
            case CardsDealt():
                yield from dealt(event)
            case Decided(seat, action):
                yield from decided(seat, action)
            case StrikerFixed():
                turned = f" turns {listed(event.turned)};" if event.turned else " is the striker;"
                yield f"{NAMES[event.striker]}{turned} trumps are {suit_named(event.trump)}."
            case Exchanged():
                yield exchanged(event)
            case TrickTaken():
                tricks += 1
                yield trick(tricks, event)
            case DealSettled():
                yield from settled(event)
            case SessionEnded():
                pass
            case _:
                assert_never(event)


def chips(paid: Sequence[int]) -> str:
    """Who paid how many."""
    return ", ".join([f"{NAMES[seat]} pays {count}" for seat, count in enumerate(paid) if count])


def dealt(event: CardsDealt) -> Iterator[str]:
    """Hands and the turn-up."""
    for seat, hand in enumerate(event.hands):
        yield f"- {NAMES[seat]}: {listed(hand)}"
    suit = "" if event.trump is None else f" Trumps are {suit_named(event.trump)}."
    yield f"{NAMES[event.dealer]} turns up {' and '.join(map(named, event.turned))}.{suit}"


def decided(seat: Seat, action: Action) -> Iterator[str]:
    """What a seat says or lays away; exchanges and cards played are told when they are complete."""
    match action:
        case NameTrump(suit):
            yield f"{NAMES[seat]} names {suit_named(suit)}."
        case Bid(contract):
            yield f"{NAMES[seat]} says *{CONTRACTS[contract]}*."
        case Declare(call):
            yield f"{NAMES[seat]} {CALLS[call]}."
        case Discard(cards):
            yield f"{NAMES[seat]} lays away: {listed(cards)}."
        case Exchange() | Play():
            pass
        case _:
            assert_never(action)


def exchanged(event: Exchanged) -> str:
    """A turn of the exchange."""
    if not event.laid:
        return f"{NAMES[event.seat]} exchanges nothing."
    down = [card for card in event.drawn if card not in event.face_up]
    up = f"; face up: {listed(event.face_up)}" if event.face_up else ""
    bonus = f"; extra: {listed(event.bonus)}" if event.bonus else ""
    return f"{NAMES[event.seat]} swaps: {listed(event.laid)}; draws: {listed(down)}{up}{bonus}."


def trick(number: int, event: TrickTaken) -> str:
    """A trick, card by card."""
    (leader, led), *others = event.cards
    plays = ", ".join([f"{NAMES[seat]} plays {named(card)}" for seat, card in others])
    return f"**Trick {number}.** {NAMES[leader]} leads {named(led)}, {plays}. {NAMES[event.winner]} wins it."


def settled(event: DealSettled) -> Iterator[str]:
    """The settlement as a table."""
    yield f"The pot holds {event.pot_before} chips."
    yield "| player | tricks | takes | pays | stack |"
    for seat, stack in enumerate(event.stacks):
        won = event.tricks_won[seat] if seat in event.active else "folded"
        takes = event.shares[seat] + event.bonuses[seat]
        yield f"| {NAMES[seat]} | {won} | {takes} | {event.penalties[seat]} | {stack} |"
    yield f"The pot for the next deal holds {event.pot} chips."
