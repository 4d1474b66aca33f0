"""What a deal shows of its options: for each, how to tell from events that a value was in effect.

Nothing here asks the engine how it came to an event; amounts are compared as `rules.md` §5 to §11 say.
Stacks are taken to be large enough for every payment.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from engine.actions import Action, Bid, Call, Contract, Declare, Discard
from engine.cards import WELI, Card, Rank, Seat, suit_of
from engine.events import (
    AntesPaid,
    CardsDealt,
    CutEffect,
    CutMade,
    DealBegan,
    DealSettled,
    Decided,
    Event,
    Exchanged,
    StrikerFixed,
    TrickTaken,
)
from engine.rules import DealKind, Ruleset

_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class ToldDeal:
    """One deal by its events."""

    ruleset: Ruleset
    events: Sequence[Event]

    def all(self, kind: type[_Kind]) -> list[_Kind]:
        """The events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def one(self, kind: type[_Kind]) -> _Kind:
        """The event that every deal has once."""
        (event,) = self.all(kind)
        return event

    def answers(self, kind: type[_Kind]) -> list[_Kind]:
        """The answers of a kind, forced ones included."""
        actions: list[Action] = [event.action for event in self.all(Decided)]
        return [action for action in actions if isinstance(action, kind)]

    @property
    def settled(self) -> DealSettled:
        """The settlement."""
        return self.one(DealSettled)

    @property
    def striker(self) -> Seat:
        """The striker's seat."""
        return self.one(StrikerFixed).striker

    @property
    def kind(self) -> DealKind:
        """What the deal was played as."""
        return self.one(StrikerFixed).kind

    @property
    def began_as(self) -> DealKind:
        """The kind as the deal began."""
        return self.one(DealBegan).kind

    @property
    def is_normal(self) -> bool:
        """Whether it stayed a Normal deal to its end."""
        return self.kind is DealKind.NORMAL

    @property
    def calls(self) -> list[Call]:
        """The declarations."""
        return [action.call for action in self.answers(Declare)]

    @property
    def bettlers(self) -> list[Seat]:
        """Seats that promised no trick."""
        return [event.seat for event in self.all(Decided) if event.action == Declare(Call.BETTLER)]

    @property
    def plain_failures(self) -> list[Seat]:
        """Seats short of their quota."""
        return [seat for seat in self.settled.failed if seat not in self.bettlers]

    @property
    def swaps(self) -> list[Exchanged]:
        """Turns of the exchange in which cards were swapped."""
        return [swap for swap in self.all(Exchanged) if swap.laid]

    @property
    def usual_penalty(self) -> int:
        """What a failure costs, before factor and limit."""
        return 2 * self.ruleset.ante if self.ruleset.penalty == "double_ante" else self.settled.pot_before

    def penalties(self, seats: Sequence[Seat]) -> list[int]:
        """What these seats paid for a failure."""
        return [self.settled.penalties[seat] for seat in seats]


# ------------------------------------------------------------- rows of more than one line


def _ante_from(deal: ToldDeal, value: str) -> bool:
    payers = sum(paid > 0 for paid in deal.one(AntesPaid).paid)
    return deal.began_as is DealKind.NORMAL and (payers > 1) == (value == "everyone")


def _turn_up_to_dealer(deal: ToldDeal, value: bool) -> bool:
    return deal.began_as is DealKind.MUSS and bool(deal.answers(Discard)) == value


def _contracts(deal: ToldDeal, value: str) -> bool:
    bids = [bid.contract for bid in deal.answers(Bid)]
    match value:
        case "none":
            return deal.is_normal and not bids
        case "dealer":
            return len(bids) == 1 and bids != [Contract.SCHLAGEN]
        case _:
            return len(bids) > 1


def _oder(deal: ToldDeal, value: str) -> bool:
    struck = deal.one(StrikerFixed)
    if struck.contract is not Contract.ODER:
        return False
    turns = [swap.seat for swap in deal.all(Exchanged)].count(struck.striker)
    return bool(struck.turned) if value == "new_suit" else turns == 2


def _exchange(deal: ToldDeal, value: str) -> bool:
    if value == "none":
        return deal.is_normal and len(deal.settled.active) > 1 and not deal.all(Exchanged)
    return any((swap.paid > 0) == (value == "paid") for swap in deal.swaps)


def _exchange_limit(deal: ToldDeal, value: int) -> bool:
    """Up to three cards, somebody swaps as many as may be; players who swap nearly a whole hand are rare."""
    turns = [len(swap.laid) for swap in deal.all(Exchanged)]
    return bool(turns) and min(value, 3) <= max(turns) <= value


def _first_lead(deal: ToldDeal, value: str) -> bool:
    leaders = [trick.leader for trick in deal.all(TrickTaken)][:1]
    seats = len(deal.settled.stacks)
    dealer = deal.one(CardsDealt).dealer
    first = min(deal.settled.active, key=lambda seat: (seat - dealer - 1) % seats)
    return first != deal.striker and leaders == [first if value == "forehand" else deal.striker]


def _followers(deal: ToldDeal) -> Iterator[tuple[Card, Card, list[Card]]]:
    """Who followed to a plain suit that was not yet trumped.

    The best card so far, the card played, and others of the suit in hand. All hands are played to
    their end, so that what a seat plays later it holds now.
    """
    tricks, trump = deal.all(TrickTaken), deal.one(StrikerFixed).trump
    for number, trick in enumerate(tricks):
        led = suit_of(trick.cards[0][1])
        for at, (seat, card) in enumerate(trick.cards[1:], 1):
            before = [suit_of(other) for _, other in trick.cards[:at]]
            if led in (None, trump) or suit_of(card) is not led or {trump, None} & {*before}:
                continue
            best = max(other for _, other in trick.cards[:at] if suit_of(other) is led)
            later = [dict(after.cards)[seat] for after in tricks[number + 1 :]]
            yield best, card, [other for other in later if suit_of(other) is led]


def _must_head(deal: ToldDeal, value: bool) -> bool:
    if value:
        return any(card > best and others and min(others) < best for best, card, others in _followers(deal))
    return any(card < best and others and max(others) > best for best, card, others in _followers(deal))


def _weli_rank(deal: ToldDeal, value: str) -> bool:
    ace = 8 * deal.one(StrikerFixed).trump + Rank.ACE
    best = WELI if value == "top" else ace
    tricks = [trick for trick in deal.all(TrickTaken) if {WELI, ace} <= {card for _, card in trick.cards}]
    return any((trick.winner, best) in trick.cards for trick in tricks)


def _striker_quota(deal: ToldDeal, value: int) -> bool:
    is_failed = deal.striker in deal.settled.failed
    has_two = deal.settled.tricks_won[deal.striker] == 2
    return deal.kind is not DealKind.SEVEN_MUSS and has_two and is_failed == (value == 3)


def _short_players_collect(deal: ToldDeal, value: bool) -> bool:
    settled = deal.settled
    shares = [settled.shares[seat] for seat in deal.plain_failures if settled.tricks_won[seat]]
    return deal.is_normal and any((share > 0) == value for share in shares)


def _penalty(deal: ToldDeal, value: str) -> bool:
    ours = [seat for seat in deal.plain_failures if seat != deal.striker]
    dues = {"double_ante": 2 * deal.ruleset.ante, "pot": deal.settled.pot_before}
    return len({*dues.values()}) == 2 and dues[value] in deal.penalties(ours)


def _striker_penalty_factor(deal: ToldDeal, value: int) -> bool:
    strikers = [seat for seat in deal.plain_failures if seat == deal.striker]
    return deal.penalties(strikers) == [value * deal.usual_penalty]


def _penalty_limit(deal: ToldDeal, value: int | None) -> bool:
    most = max(deal.settled.penalties)
    return most == value if value is not None else most >= deal.usual_penalty


def _muss_after(deal: ToldDeal, value: str) -> bool:
    is_failed, follows = bool(deal.settled.failed), deal.settled.next_kind
    match value:
        case "failure":
            return not deal.is_normal and is_failed and follows is DealKind.MUSS
        case "normal_failure":
            return deal.is_normal and is_failed and follows is DealKind.MUSS
        case _:
            return deal.is_normal and is_failed and follows is DealKind.NORMAL


def _remainder(deal: ToldDeal, value: str) -> bool:
    settled = deal.settled
    pays_out = deal.is_normal or deal.ruleset.muss_pays
    left = (settled.pot_before - sum(settled.bonuses)) % deal.ruleset.hand_size
    return pays_out and left > 0 and settled.remainder == (left if value == "striker" else 0)


def _bettler(deal: ToldDeal, value: bool) -> bool:
    return bool(deal.calls) and bool(deal.bettlers) == value


def _bettler_bonus(deal: ToldDeal, value: int) -> bool:
    """A promise is made, and whoever kept one has the bonus; that it is kept is too rare to wait for."""
    kept = [seat for seat in deal.bettlers if seat not in deal.settled.failed]
    return bool(deal.bettlers) and all(deal.settled.bonuses[seat] == value for seat in kept)


def _weli_cut(deal: ToldDeal, value: str) -> bool:
    is_last = [cut is deal.all(CutMade)[-1] for cut in deal.all(CutMade) if cut.effect is CutEffect.WELI]
    return (value == "deal") in is_last


SHOWN: Final[dict[str, Callable[[ToldDeal, Any], bool]]] = {
    "hand_size": lambda deal, value: len(deal.all(TrickTaken)) == value,
    "ante": lambda deal, value: value in deal.one(AntesPaid).paid,
    "ante_from": _ante_from,
    "cut_ritual": lambda deal, value: bool(deal.all(CutMade)) == value,
    "turn_up_to_dealer": _turn_up_to_dealer,
    "contracts": _contracts,
    "oder": _oder,
    "last_say": lambda deal, value: len(deal.calls) > 1 and (Call.LAST in deal.calls) == value,
    "exchange": _exchange,
    "exchange_limit": _exchange_limit,
    "exchange_fee": lambda deal, value: any(swap.paid == value * len(swap.laid) for swap in deal.swaps),
    "first_lead": _first_lead,
    "must_head": _must_head,
    "weli_rank": _weli_rank,
    "striker_quota": _striker_quota,
    "seven_muss_striker_quota": lambda deal, value: deal.kind is DealKind.SEVEN_MUSS,
    "muss_pays": lambda deal, value: not deal.is_normal and any(deal.settled.shares) == value,
    "short_players_collect": _short_players_collect,
    "penalty": _penalty,
    "striker_penalty_factor": _striker_penalty_factor,
    "penalty_limit": _penalty_limit,
    "muss_after": _muss_after,
    "remainder": _remainder,
    "bettler": _bettler,
    "bettler_bonus": _bettler_bonus,
    "weli_cut": _weli_cut,
}
"""Whether a deal shows that an option has a value; `weli_as_joker` shows in no event."""


def told_deals(ruleset: Ruleset, events: Sequence[Event]) -> Iterator[ToldDeal]:
    """The deals of a session that has been played to its end, but for a tie-break."""
    starts = [at for at, event in enumerate(events) if isinstance(event, DealBegan)]
    for start, end in zip(starts, [*starts[1:], len(events)], strict=True):
        deal = ToldDeal(ruleset, events[start:end])
        if not deal.one(DealBegan).tie_break:
            yield deal


def is_shown(ruleset: Ruleset, option: str, value: object, events: Sequence[Event]) -> bool:
    """Whether a session shows, in one of its deals, that an option has a value."""
    return option not in SHOWN or any(SHOWN[option](deal, value) for deal in told_deals(ruleset, events))
