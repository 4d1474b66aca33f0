"""Money: payments that never exceed a stack, and the settlement of a deal (`rules.md` §2, §11).

Pure arithmetic on whole chips. Amounts are tuples by seat, with 0 for a seat that has no part
in them. Nothing here knows cards or whose turn it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import add
from typing import Final

from engine.cards import Seat
from engine.rules import DealKind, MussAfter, PenaltyMode, RemainderTo, Ruleset

# Read once: Python 3.11 takes long to read a member from its enum.
_MUSS: Final = DealKind.MUSS
_NORMAL: Final = DealKind.NORMAL
_SEVEN_MUSS: Final = DealKind.SEVEN_MUSS
_TO_STRIKER: Final = RemainderTo.STRIKER


def pay(stacks: tuple[int, ...], payers: Iterable[Seat], due: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What each payer pays of a due, capped at its stack (`rules.md` §2), and the stacks after that.

    A seat that stands among the payers twice pays twice.
    """
    left, paid = list(stacks), [0] * len(stacks)
    for seat in payers:
        amount = min(due, left[seat])
        left[seat] -= amount
        paid[seat] += amount
    return tuple(paid), tuple(left)


@dataclass(slots=True)
class PlayedDeal:
    """A deal at the end of play. Nobody changes one; not frozen, because that makes it dear.

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


@dataclass(slots=True)
class Settlement:
    """What a settlement moved, chips by seat, and what comes next. Like `PlayedDeal` never changed.

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
    """The settlement of a deal (`rules.md` §11)."""
    quotas = _quotas(ruleset, deal)
    failed = _failed(deal, quotas)
    bonuses = _bonuses(ruleset, deal, failed) if deal.bettlers else [0] * len(quotas)
    pot = deal.pot - sum(bonuses)
    shares, remainder = _shares(ruleset, deal, pot, failed)
    stacks = list(map(add, map(add, deal.stacks, bonuses), shares))
    stacks[deal.striker] += remainder
    pot -= sum(shares) + remainder
    dues, penalties = [0] * len(stacks), [0] * len(stacks)
    for seat in failed:
        dues[seat] = _penalty(ruleset, deal, seat)
        penalties[seat] = min(dues[seat], stacks[seat])
        stacks[seat] -= penalties[seat]
        pot += penalties[seat]
    return Settlement(
        tuple(quotas),
        tuple(bonuses),
        tuple(shares),
        remainder,
        tuple(dues),
        tuple(penalties),
        failed,
        pot,
        tuple(stacks),
        None if deal.tie_break else _next_kind(ruleset, deal.kind, bool(failed)),
    )


def _quotas(ruleset: Ruleset, deal: PlayedDeal) -> list[int]:
    quotas = [0] * len(deal.stacks)
    for seat in deal.active:
        quotas[seat] = 1
    for seat in deal.bettlers:
        quotas[seat] = 0
    quotas[deal.striker] = ruleset.striker_quota
    if ruleset.seven_muss_striker_quota is not None and deal.kind is _SEVEN_MUSS:
        quotas[deal.striker] = ruleset.seven_muss_striker_quota
    return quotas


def _failed(deal: PlayedDeal, quotas: list[int]) -> tuple[Seat, ...]:
    """Who is short of the quota, or a bettler with a trick; ascending."""
    won, bettlers = deal.tricks_won, deal.bettlers
    return tuple(
        [seat for seat in deal.active if won[seat] < quotas[seat] or (seat in bettlers and won[seat] > 0)]
    )


def _bonuses(ruleset: Ruleset, deal: PlayedDeal, failed: tuple[Seat, ...]) -> list[int]:
    """What successful bettlers take, clockwise from forehand, while the pot lasts (`rules.md` §11.1)."""
    bonuses, left = [0] * len(deal.stacks), deal.pot
    for seat in [seat for seat in deal.order if seat in deal.bettlers and seat not in failed]:
        bonuses[seat] = min(ruleset.bettler_bonus, left)
        left -= bonuses[seat]
    return bonuses


def _shares(ruleset: Ruleset, deal: PlayedDeal, pot: int, failed: tuple[Seat, ...]) -> tuple[list[int], int]:
    """Shares by seat and the remainder that the striker takes (`rules.md` §11.2, §11.3)."""
    shares, won, bettlers = [0] * len(deal.stacks), deal.tricks_won, deal.bettlers
    is_muss = deal.kind is not _NORMAL
    if is_muss and not ruleset.muss_pays:
        return shares, 0
    share, remainder = divmod(pot, ruleset.hand_size)
    short_collect = is_muss or ruleset.short_players_collect
    for seat in deal.active:
        if seat not in bettlers and (short_collect or seat not in failed):
            shares[seat] = share * won[seat]
    return shares, remainder if ruleset.remainder is _TO_STRIKER else 0


def _penalty(ruleset: Ruleset, deal: PlayedDeal, seat: Seat) -> int:
    """What its failure costs a seat, before the cap at the stack (`rules.md` §11.4)."""
    is_double_ante = ruleset.penalty is PenaltyMode.DOUBLE_ANTE and seat not in deal.bettlers
    due = 2 * ruleset.ante if is_double_ante else deal.pot
    if seat == deal.striker:
        due *= ruleset.striker_penalty_factor
    return due if ruleset.penalty_limit is None else min(due, ruleset.penalty_limit)


def _next_kind(ruleset: Ruleset, kind: DealKind, anyone_failed: bool) -> DealKind:
    if ruleset.muss_after is MussAfter.FAILURE:
        muss = anyone_failed
    else:
        muss = kind is _NORMAL and anyone_failed is (ruleset.muss_after is MussAfter.NORMAL_FAILURE)
    return _MUSS if muss else _NORMAL
