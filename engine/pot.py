"""Money: payments that never exceed a stack, and the settlement of a deal (`rules.md` §2, §11).

Pure arithmetic on whole chips. Stacks and payments are tuples by seat. Nothing here knows
cards or whose turn it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.cards import Seat
from engine.errors import BrokenDealError
from engine.rules import DealKind, MussAfter, PenaltyMode, RemainderTo, Ruleset


class Purse:
    """Stacks and pot while chips move; creates and destroys none."""

    def __init__(self, stacks: tuple[int, ...], pot: int) -> None:
        self._stacks = list(stacks)
        self.pot = pot

    @property
    def stacks(self) -> tuple[int, ...]:
        """Chips by seat."""
        return tuple(self._stacks)

    def pay(self, seat: Seat, amount: int) -> int:
        """Move up to `amount` from a stack into the pot; the chips that moved (`rules.md` §2)."""
        paid = min(amount, self._stacks[seat])
        self._stacks[seat] -= paid
        self.pot += paid
        return paid

    def take(self, seat: Seat, amount: int) -> int:
        """Move up to `amount` from the pot to a stack; the chips that moved."""
        taken = min(amount, self.pot)
        self._stacks[seat] += taken
        self.pot -= taken
        return taken

    def collect(self, dues: Iterable[tuple[Seat, int]]) -> tuple[int, ...]:
        """Pay several dues into the pot, in order; the chips that moved, by seat."""
        paid = [0] * len(self._stacks)
        for seat, amount in dues:
            paid[seat] += self.pay(seat, amount)
        return tuple(paid)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedDeal:
    """A deal at the end of play.

    Attributes:
        order: the seats dealt in, clockwise from forehand.
        active: those that did not fold.
        tricks_won: by seat; a striker whom folds left alone has every trick.
        pot: P of `rules.md` §11.
    """

    kind: DealKind
    tie_break: bool
    order: tuple[Seat, ...]
    active: tuple[Seat, ...]
    bettlers: tuple[Seat, ...]
    striker: Seat
    tricks_won: tuple[int, ...]
    pot: int
    stacks: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What a settlement moved, chips by seat, and what comes next.

    Attributes:
        quotas: tricks owed, by seat; 0 for seats that owed none.
        remainder: what the striker took of the chips that do not divide.
        penalties_due: after `penalty_limit`, before the cap at the stack.
        failed: ascending.
        next_kind: None after a tie-break deal.
    """

    quotas: tuple[int, ...]
    bonuses: tuple[int, ...]
    shares: tuple[int, ...]
    remainder: int
    penalties_due: tuple[int, ...]
    penalties: tuple[int, ...]
    failed: tuple[Seat, ...]
    pot: int
    stacks: tuple[int, ...]
    next_kind: DealKind | None


def settle(ruleset: Ruleset, deal: PlayedDeal) -> Settlement:
    """The settlement of a deal (`rules.md` §11).

    Raises:
        BrokenDealError: chips were created or destroyed.
    """
    players = [seat for seat in deal.order if seat in deal.active]
    quotas = {seat: _quota(ruleset, deal, seat) for seat in players}
    failed = tuple([seat for seat in players if _failed(deal, seat, quotas[seat])])
    purse = Purse(deal.stacks, deal.pot)

    bonuses = [0] * len(deal.stacks)
    for seat in players:
        if seat in deal.bettlers and seat not in failed:
            bonuses[seat] = purse.take(seat, ruleset.bettler_bonus)
    shares, remainder = _pay_out(ruleset, deal, purse, players, failed)
    dues = tuple([(seat, _penalty(ruleset, deal, seat)) for seat in failed])
    penalties = purse.collect(dues)

    if sum(purse.stacks) + purse.pot != sum(deal.stacks) + deal.pot:
        raise BrokenDealError("a settlement created or destroyed chips")
    return Settlement(
        quotas=_by_seat(deal, quotas.items()),
        bonuses=tuple(bonuses),
        shares=shares,
        remainder=remainder,
        penalties_due=_by_seat(deal, dues),
        penalties=penalties,
        failed=tuple(sorted(failed)),
        pot=purse.pot,
        stacks=purse.stacks,
        next_kind=None if deal.tie_break else _next_kind(ruleset, deal.kind, bool(failed)),
    )


def _quota(ruleset: Ruleset, deal: PlayedDeal, seat: Seat) -> int:
    if seat in deal.bettlers:
        return 0
    if seat != deal.striker:
        return 1
    if deal.kind is DealKind.SEVEN_MUSS and ruleset.seven_muss_striker_quota is not None:
        return ruleset.seven_muss_striker_quota
    return ruleset.striker_quota


def _failed(deal: PlayedDeal, seat: Seat, quota: int) -> bool:
    won = deal.tricks_won[seat]
    return won > 0 if seat in deal.bettlers else won < quota


def _pay_out(
    ruleset: Ruleset, deal: PlayedDeal, purse: Purse, players: list[Seat], failed: tuple[Seat, ...]
) -> tuple[tuple[int, ...], int]:
    """Shares by seat and the remainder that the striker takes (`rules.md` §11.2, §11.3)."""
    shares = [0] * len(deal.stacks)
    is_muss = deal.kind is not DealKind.NORMAL
    if is_muss and not ruleset.muss_pays:
        return tuple(shares), 0
    share, left = divmod(purse.pot, ruleset.hand_size)
    short_collect = is_muss or ruleset.short_players_collect
    for seat in players:
        if seat not in deal.bettlers and (short_collect or seat not in failed):
            shares[seat] = purse.take(seat, share * deal.tricks_won[seat])
    to_striker = left if ruleset.remainder is RemainderTo.STRIKER else 0
    return tuple(shares), purse.take(deal.striker, to_striker)


def _penalty(ruleset: Ruleset, deal: PlayedDeal, seat: Seat) -> int:
    if seat in deal.bettlers:
        due = deal.pot
    else:
        due = 2 * ruleset.ante if ruleset.penalty is PenaltyMode.DOUBLE_ANTE else deal.pot
        if seat == deal.striker:
            due *= ruleset.striker_penalty_factor
    return due if ruleset.penalty_limit is None else min(due, ruleset.penalty_limit)


def _next_kind(ruleset: Ruleset, kind: DealKind, anyone_failed: bool) -> DealKind:
    if ruleset.muss_after is MussAfter.FAILURE:
        muss = anyone_failed
    else:
        muss = kind is DealKind.NORMAL and anyone_failed is (ruleset.muss_after is MussAfter.NORMAL_FAILURE)
    return DealKind.MUSS if muss else DealKind.NORMAL


def _by_seat(deal: PlayedDeal, amounts: Iterable[tuple[Seat, int]]) -> tuple[int, ...]:
    by_seat = [0] * len(deal.stacks)
    for seat, amount in amounts:
        by_seat[seat] = amount
    return tuple(by_seat)
