"""The random bot: any answer, each as likely as the others."""

from collections import Counter

import pytest

from engine.actions import Bid, Contract, DecisionKind, Discard, Exchange, Legal, Listed, Subsets
from sample_bots.random_bot import any_answer
from tests.engine.playing import generator

DRAWS = 1000
"""For each of the legal answers."""


@pytest.mark.parametrize(
    "legal",
    [
        Subsets(DecisionKind.EXCHANGE, (0, 5, 9), 0, 2),
        Subsets(DecisionKind.EXCHANGE, (0, 5, 9), 0, 3),
        Subsets(DecisionKind.DISCARD, (0, 5, 9, 32), 2, 2),
        Listed(DecisionKind.BID, tuple([Bid(contract) for contract in Contract])),
    ],
)
def test_every_answer_is_as_likely_as_the_others(legal: Legal) -> None:
    """Over many draws each legal answer comes up about equally often, whatever its size."""
    chance = generator(1)
    counts = Counter(any_answer(legal, chance) for _ in range(DRAWS * len(legal)))
    assert set(counts) == set(legal)
    assert all(0.85 * DRAWS < count < 1.15 * DRAWS for count in counts.values())


@pytest.mark.parametrize("kind", [DecisionKind.EXCHANGE, DecisionKind.DISCARD])
def test_millions_of_subsets_are_drawn_from_at_once(kind: DecisionKind) -> None:
    """A choice among all subsets of a whole pack takes no list of them."""
    legal = Subsets(kind, tuple(range(33)), 0, 33)
    answer = any_answer(legal, generator(1))
    assert answer in legal
    assert isinstance(answer, Exchange if kind is DecisionKind.EXCHANGE else Discard)
