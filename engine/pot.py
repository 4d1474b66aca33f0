"""Money: payments that never exceed a stack, and the settlement of a deal (`rules.md` §2, §11).

Pure arithmetic on whole chips. Amounts are tuples by seat, with 0 for a seat that has no part
in them. Nothing here knows cards or whose turn it is.
"""

from collections.abc import Sequence
from operator import add, sub
from typing import NamedTuple

from engine.cards import Seat
from engine.rules import DealKind, MussAfter, PenaltyMode, RemainderTo, Ruleset


def pay(stacks: Sequence[int], dues: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What each seat pays of its due, capped at its stack (`rules.md` §2), and the stacks after that."""
    paid = tuple([min(due, stack) for due, stack in zip(dues, stacks, strict=True)])
    return paid, tuple(map(sub, stacks, paid))


class PlayedDeal(NamedTuple):
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


class Settlement(NamedTuple):
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
    """The settlement of a deal (`rules.md` §11)."""
    quotas = _quotas(ruleset, deal)
    failed = _failed(deal, quotas)
    bonuses = _bonuses(ruleset, deal, failed)
    pot = deal.pot - sum(bonuses)
    shares, remainder = _shares(ruleset, deal, pot, failed)
    stacks = list(map(add, map(add, deal.stacks, bonuses), shares))
    stacks[deal.striker] += remainder
    dues = _penalties(ruleset, deal, failed)
    penalties, stacks_after = pay(stacks, dues)
    return Settlement(
        tuple(quotas),
        tuple(bonuses),
        tuple(shares),
        remainder,
        tuple(dues),
        penalties,
        failed,
        pot - sum(shares) - remainder + sum(penalties),
        stacks_after,
        None if deal.tie_break else _next_kind(ruleset, deal.kind, bool(failed)),
    )


def _quotas(ruleset: Ruleset, deal: PlayedDeal) -> list[int]:
    quotas, bettlers = [0] * len(deal.stacks), deal.bettlers
    for seat in deal.active:
        if seat not in bettlers:
            quotas[seat] = 1
    quotas[deal.striker] = ruleset.striker_quota
    if ruleset.seven_muss_striker_quota is not None and deal.kind is DealKind.SEVEN_MUSS:
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
    is_muss = deal.kind is not DealKind.NORMAL
    if is_muss and not ruleset.muss_pays:
        return shares, 0
    share, remainder = divmod(pot, ruleset.hand_size)
    short_collect = is_muss or ruleset.short_players_collect
    for seat in deal.active:
        if seat not in bettlers and (short_collect or seat not in failed):
            shares[seat] = share * won[seat]
    return shares, remainder if ruleset.remainder is RemainderTo.STRIKER else 0


def _penalties(ruleset: Ruleset, deal: PlayedDeal, failed: tuple[Seat, ...]) -> list[int]:
    """What the failures cost, by seat, before the cap at the stack (`rules.md` §11.4)."""
    penalties = [0] * len(deal.stacks)
    usual = 2 * ruleset.ante if ruleset.penalty is PenaltyMode.DOUBLE_ANTE else deal.pot
    for seat in failed:
        due = deal.pot if seat in deal.bettlers else usual
        if seat == deal.striker:
            due *= ruleset.striker_penalty_factor
        penalties[seat] = due if ruleset.penalty_limit is None else min(due, ruleset.penalty_limit)
    return penalties


def _next_kind(ruleset: Ruleset, kind: DealKind, anyone_failed: bool) -> DealKind:
    if ruleset.muss_after is MussAfter.FAILURE:
        muss = anyone_failed
    else:
        muss = kind is DealKind.NORMAL and anyone_failed is (ruleset.muss_after is MussAfter.NORMAL_FAILURE)
    return DealKind.MUSS if muss else DealKind.NORMAL
