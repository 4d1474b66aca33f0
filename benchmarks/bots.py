"""How strong and how quick the sample bots are, measured in one process without an arena.

    python -m benchmarks.bots tournaments/quickstart.toml
    python -m benchmarks.bots tournaments/salzburg.toml --blocks 24 --seed another

The schedule, the packs and the session ids are those of the tournament file, so that the bots decide as
they do in `kratzen run`. A file's bots are known by their names: `random`, or `random-2` for a second one.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from arena.clock import MS_PER_SECOND
from arena.config import parse_tournament
from arena.schedule import Block, block_seed, round_robin, session_id, tournament_seed
from arena.sections import ConfigError
from arena.standings import estimate
from engine.rules import Ruleset, SessionOptions
from engine.session import Session
from kratzen.sdk import Bot, Request
from sample_bots.cautious_bot import CautiousBot
from sample_bots.counting_bot import CountingBot
from sample_bots.random_bot import RandomBot
from sample_bots.sampling_bot import SamplingBot

BOTS: Final[Mapping[str, Callable[[], Bot]]] = {
    bot.name: bot for bot in (RandomBot, CautiousBot, CountingBot, SamplingBot)
}


@dataclass(slots=True)
class Record:
    """What one bot did: chips a deal for each block, and the CPU time of each decision in milliseconds."""

    chips: list[float] = field(default_factory=list)
    decision_ms: list[float] = field(default_factory=list)


def played(session: Session, bots: list[Bot], name: str) -> Iterator[tuple[int, float]]:
    """Play a session to its end; yields the seat and the CPU time in milliseconds of each decision.

    Args:
        session: at its first decision.
        bots: by seat.
        name: the session's id, from which bots take their seeds.
    """
    asked = [0] * len(bots)
    while (decision := session.decision) is not None:
        seat = decision.seat
        asked[seat] += 1
        request = Request(name, asked[seat], session.view(seat), decision.legal)
        before_s = time.process_time()
        answer = bots[seat].decide(request)
        yield seat, (time.process_time() - before_s) * MS_PER_SECOND
        session.apply(answer[0] if isinstance(answer, tuple) else answer)


def measure(
    block: Block, seed: bytes, ruleset: Ruleset, options: SessionOptions, records: Mapping[str, Record]
) -> None:
    """Play a block, and write down in `records` what each of its bots did."""
    chips, deals = dict.fromkeys(block.group, 0), 0
    for slot in block.slots:
        session = Session(ruleset, options, block_seed(seed, block.number))
        bots = [BOTS[name.partition("-")[0]]() for name in slot.seating]
        for seat, spent_ms in played(session, bots, session_id(seed, slot.block, slot.session)):
            records[slot.seating[seat]].decision_ms.append(spent_ms)
        for name, stack in zip(slot.seating, session.stacks, strict=True):
            chips[name] += stack - options.stack
        deals += session.deal.number + 1
    for name, won in chips.items():
        records[name].chips.append(won / deals)


def line(name: str, record: Record) -> str:
    """One bot's figures; it has played a block."""
    found = estimate(record.chips)
    times_ms = sorted(record.decision_ms)
    span = "" if found.low is None else f" ({found.low:+.2f} to {found.high:+.2f})"
    return (
        f"{name:<12}{found.mean:+8.2f}{span:<22} chips a deal, {len(times_ms)} decisions, CPU "
        f"{sum(times_ms) / len(times_ms):.2f} ms each, {times_ms[len(times_ms) * 99 // 100]:.2f} ms at 99 %"
    )


def main() -> None:
    """Measure what the command line names and print a line a bot."""
    parser = argparse.ArgumentParser(description="Measure the sample bots.")
    parser.add_argument("file", type=Path, help="a tournament file whose bots are sample bots")
    parser.add_argument("--blocks", type=int, help="so many blocks in all")
    parser.add_argument("--seed", help="another seed")
    arguments = parser.parse_args()
    try:
        file = parse_tournament(arguments.file.read_bytes())
    except OSError as error:
        parser.error(f"{arguments.file}: {error.strerror}")
    except ConfigError as error:
        parser.error(f"{arguments.file}: {error}")
    seed = tournament_seed(arguments.seed or file.tournament.seed or file.tournament.name)
    plan = file.plan(seed)
    if unknown := [bot for bot in plan.bots if bot.partition("-")[0] not in BOTS]:
        parser.error(f"{unknown[0]} is no sample bot: allowed are {', '.join(BOTS)}")
    plan = replace(plan, blocks=arguments.blocks or plan.blocks)
    records = {bot: Record() for bot in plan.bots}
    for block in round_robin(plan):
        measure(block, seed, file.ruleset, file.options, records)
    for name, record in records.items():
        # Few blocks need not have a place for every bot.
        if record.chips:
            sys.stdout.write(line(name, record) + "\n")


if __name__ == "__main__":
    main()
