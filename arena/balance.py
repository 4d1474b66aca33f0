"""Which bots meet, and in which chairs, as evenly as can be: pure combinatorics.

Bots are numbers 0..n-1 here, and whoever calls gives them out; where two choices are equally
good the smaller number goes first. Nothing here knows names, games or results.
"""

import hashlib
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, count, pairwise, permutations
from math import comb
from typing import Final, NamedTuple, TypeAlias

Group: TypeAlias = tuple[int, ...]

_TRIES_PER_CHAIR: Final = 200
"""Exchanges tried for each chair of a schedule; more than this no longer improves it."""

_MOST_TRIES: Final = 200_000
"""Exchanges tried in all, so that a long schedule too is made in a few seconds."""


class Draws:
    """Whole numbers from a seed, the same on every machine and in every version of Python."""

    def __init__(self, seed: bytes) -> None:
        self._numbers = _numbers(seed)

    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1; for the bounds of a schedule as good as uniform."""
        return next(self._numbers) * bound >> 32

    def shuffled(self, group: Group) -> Group:
        """The same bots in a drawn order."""
        bots = list(group)
        for last in range(len(bots) - 1, 0, -1):
            other = self.below(last + 1)
            bots[last], bots[other] = bots[other], bots[last]
        return tuple(bots)


def _numbers(seed: bytes) -> Iterator[int]:
    """Numbers of 32 bits without end."""
    for block in count():
        yield from struct.unpack(">8I", hashlib.sha256(seed + block.to_bytes(8, "big")).digest())


class _Meetings:
    """How often each bot has played, and how often each pair has met."""

    def __init__(self, bot_count: int) -> None:
        self.played = [0] * bot_count
        self.met = [[0] * bot_count for _ in range(bot_count)]

    def add(self, group: Sequence[int]) -> None:
        for bot in group:
            self.played[bot] += 1
        for one, other in combinations(group, 2):
            self.met[one][other] += 1
            self.met[other][one] += 1

    def urgency(self, bot: int, group: Sequence[int]) -> tuple[int, int, int]:
        """The smaller, the better the bot fits into the group: who played least, then who met it least."""
        return (self.played[bot], sum(self.met[bot][other] for other in group), bot)


def spread_out(groups: Sequence[Group], bot_count: int) -> list[Group]:
    """The same groups in an order in which every start of the list is as even as the whole allows."""
    left = Counter(part for group in groups for part in _parts(group))
    meetings = _Meetings(bot_count)
    ordered = []
    for _ in groups:
        chosen: Group = ()
        while len(chosen) < len(groups[0]):
            fitting = [bot for bot in range(bot_count) if bot not in chosen and left[_with(chosen, bot)]]
            chosen = _with(chosen, min(fitting, key=lambda bot: meetings.urgency(bot, chosen)))
        left.subtract(_parts(chosen))
        meetings.add(chosen)
        ordered.append(chosen)
    return ordered


def _with(group: Group, bot: int) -> Group:
    return tuple(sorted((*group, bot)))


def _parts(group: Group) -> list[Group]:
    """Every non-empty part of a sorted group."""
    return [part for size in range(1, len(group) + 1) for part in combinations(group, size)]


def balanced_groups(bot_count: int, size: int, group_count: int, draws: Draws) -> list[Group]:
    """As many groups as asked for, in which bots play and pairs meet as equally often as can be had.

    Bots play equally often, or with a difference of one. As long as there are enough groups to
    take every possible one, all are taken; the rest is made one by one and then improved by
    exchanges. The groups stand in no particular order.
    """
    copies, rest = divmod(group_count, comb(bot_count, size))
    every = list(combinations(range(bot_count), size)) if copies else []
    return every * copies + _improved(_first_draft(bot_count, size, rest), bot_count, draws)


def _first_draft(bot_count: int, size: int, group_count: int) -> list[list[int]]:
    meetings = _Meetings(bot_count)
    groups = []
    for _ in range(group_count):
        group: list[int] = []
        while len(group) < size:
            others = (bot for bot in range(bot_count) if bot not in group)
            group.append(min(others, key=lambda bot: meetings.urgency(bot, group)))
        meetings.add(group)
        groups.append(group)
    return groups


class _Exchange(NamedTuple):
    """Two bots of two groups change places; neither is in the other's group."""

    first: list[int]
    leaving: int
    second: list[int]
    joining: int


def _improved(groups: list[list[int]], bot_count: int, draws: Draws) -> list[Group]:
    """Let bots of two groups change places as long as pairs meet no less evenly for it.

    How often a bot plays never changes.
    """
    meetings = _Meetings(bot_count)
    for group in groups:
        meetings.add(group)
    weights = _weights(groups, bot_count)
    chair_count = sum(map(len, groups))
    for _ in range(min(chair_count * _TRIES_PER_CHAIR, _MOST_TRIES)):
        first, second = groups[draws.below(len(groups))], groups[draws.below(len(groups))]
        leaving, joining = first[draws.below(len(first))], second[draws.below(len(second))]
        if leaving in second or joining in first:
            continue
        exchange = _Exchange(first, leaving, second, joining)
        if _cost(exchange, meetings.met, weights) <= 0:
            _carry_out(exchange, meetings.met)
    return [tuple(sorted(group)) for group in groups]


def _weights(groups: Sequence[Sequence[int]], bot_count: int) -> list[int]:
    """What one more meeting costs a pair that has met 0, 1, 2, ... times.

    It is the growth of the fourth power of the distance from the mean, which is taken in parts of a
    meeting so that it is a whole number: a pair far off weighs more than many that are slightly off.
    """
    pair_count = comb(bot_count, 2)
    meeting_count = sum(comb(len(group), 2) for group in groups)
    power = [(met * pair_count - meeting_count) ** 4 for met in range(len(groups) + 2)]
    return [after - before for before, after in pairwise(power)]


def _cost(exchange: _Exchange, met: list[list[int]], weights: list[int]) -> int:
    """What the exchange adds to the weights of all pairs; whoever is in both groups meets the same two."""
    first, leaving, second, joining = exchange
    old, new = met[leaving], met[joining]
    in_first = (bot for bot in first if bot != leaving and bot not in second)
    in_second = (bot for bot in second if bot != joining and bot not in first)
    return sum(weights[new[bot]] - weights[old[bot] - 1] for bot in in_first) + sum(
        weights[old[bot]] - weights[new[bot] - 1] for bot in in_second
    )


def _carry_out(exchange: _Exchange, met: list[list[int]]) -> None:
    first, leaving, second, joining = exchange
    for group, out, into in ((first, leaving, joining), (second, joining, leaving)):
        group.remove(out)
        for bot in group:
            _count(met, bot, out, -1)
            _count(met, bot, into, 1)
        group.append(into)


def _count(met: list[list[int]], one: int, other: int, by: int) -> None:
    met[one][other] += by
    met[other][one] += by


def varied_neighbours(seatings: Sequence[Group]) -> list[Group]:
    """The same groups, each round its table in an order in which everyone sits beside everyone evenly.

    Beside means at the left of; a turn of all round the table leaves that as it is. The order is
    the best for the groups so far, the first chair is left as it was, and among equally good
    orders the one nearest to the seating given is taken.
    """
    beside: Counter[tuple[int, int]] = Counter()
    varied = []
    for seating in seatings:
        orders = ((seating[0], *others) for others in permutations(seating[1:]))
        best = min(orders, key=lambda order: sum(beside[pair] for pair in _neighbours(order)))
        beside.update(_neighbours(best))
        varied.append(best)
    return varied


def _neighbours(order: Group) -> list[tuple[int, int]]:
    """Everyone with whoever sits at the left."""
    return list(zip(order, (*order[1:], order[0]), strict=True))


def balanced_chairs(groups: Sequence[Sequence[int]]) -> list[Group]:
    """Seat each group once so that a bot sits in every chair equally often, or with a difference of one.

    A bot's appearances are cut, in order, into runs of as many as there are chairs; within a run
    every chair comes once at the most. That is an edge colouring of a bipartite graph of groups
    and runs, and one with as many colours as there are chairs always exists (Kőnig 1916).
    """
    size = len(groups[0])
    played: Counter[int] = Counter()
    chairs = _Chairs()
    for number, group in enumerate(groups):
        for bot in group:
            chairs.seat(number, (bot, played[bot] // size), size)
            played[bot] += 1
    return [chairs.seating(number, size) for number in range(len(groups))]


_Run: TypeAlias = tuple[int, int]
"""A bot and the number of its run of appearances."""


class _Chairs:
    """Who sits where: by group and chair, and the same by run and chair."""

    def __init__(self) -> None:
        self.of_group: dict[tuple[int, int], _Run] = {}
        self.of_run: dict[tuple[_Run, int], int] = {}

    def seating(self, group: int, size: int) -> Group:
        """The bots of a fully seated group, by chair."""
        return tuple(self.of_group[group, chair][0] for chair in range(size))

    def seat(self, group: int, run: _Run, size: int) -> None:
        """Seat one more, after moving others if no chair is free for both the group and the run."""
        chair = next(chair for chair in range(size) if (group, chair) not in self.of_group)
        spare = next(chair for chair in range(size) if (run, chair) not in self.of_run)
        path = self._path(run, chair, spare)
        for other_group, other_run, taken in path:
            del self.of_group[other_group, taken], self.of_run[other_run, taken]
        for other_group, other_run, taken in path:
            self._put(other_group, other_run, spare if taken == chair else chair)
        self._put(group, run, chair)

    def _path(self, run: _Run, chair: int, spare: int) -> list[tuple[int, _Run, int]]:
        """All who must change between the two chairs so that the run has `chair` free."""
        path = []
        while (run, chair) in self.of_run:
            group = self.of_run[run, chair]
            path.append((group, run, chair))
            if (group, spare) not in self.of_group:
                break
            run = self.of_group[group, spare]
            path.append((group, run, spare))
        return path

    def _put(self, group: int, run: _Run, chair: int) -> None:
        self.of_group[group, chair] = run
        self.of_run[run, chair] = group
