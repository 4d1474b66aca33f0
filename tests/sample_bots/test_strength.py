"""Who is better than whom, measured as a tournament would."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from arena.config import parse_tournament
from arena.schedule import Plan, round_robin, tournament_seed
from arena.standings import Estimate, estimate
from benchmarks.bots import Record, measure
from engine.rules import SessionOptions, make_ruleset
from tests.figures import Figure

QUICKSTART = Path(__file__).parent.parent.parent / "tournaments" / "quickstart.toml"
SEED = tournament_seed("strength")


def is_ahead(better: Estimate, worse: Estimate) -> bool:
    """Whether the whole interval lies above the other."""
    assert better.low is not None
    assert worse.high is not None
    return better.low > worse.high


@pytest.mark.parametrize(
    ("preset", "overrides"),
    [("tavern", {"muss_after": "normal_failure"}), ("salzburg", {"penalty_limit": 100})],
)
def test_advice_and_memory_beat_chance(preset: str, overrides: Mapping[str, object]) -> None:
    """In both games the cautious and the counting bot win chips that the random one loses."""
    bots = ("random", "cautious", "counting")
    ruleset = make_ruleset(preset, overrides)
    records = {bot: Record() for bot in bots}
    for block in round_robin(Plan(bots=bots, table_size=3, seed=SEED, blocks=8)):
        measure(block, SEED, ruleset, SessionOptions(players=3, deals=20), records)
    chips = {bot: estimate(record.chips) for bot, record in records.items()}
    assert is_ahead(chips["cautious"], chips["random"])
    assert is_ahead(chips["counting"], chips["random"])


@pytest.mark.slow
def test_the_quickstart_tells_sampling_from_random(figure: Figure) -> None:
    """Over the blocks of the quickstart the intervals of the best and the worst bot do not overlap."""
    file = parse_tournament(QUICKSTART.read_bytes())
    plan = file.plan(SEED)
    records = {bot: Record() for bot in plan.bots}
    for block in round_robin(plan):
        measure(block, SEED, file.ruleset, file.options, records)
    best, worst = (estimate(records[bot].chips) for bot in ("sampling", "random"))
    assert is_ahead(best, worst)
    figure(
        "strength",
        f"n = {best.blocks} blocks, sampling above {best.low:+.2f} chips, random below {worst.high:+.2f}",
    )
