"""Can a bot guess others' cards from what it is told? A guesser, and where seeds come from (F12b, X12)."""

import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from arena.config import parse_tournament
from arena.schedule import block_seed, session_id, tournament_seed
from arena.store import Store
from engine.cards import PACK_SIZE, Card
from engine.pack import shuffle
from tests.arena.halls import file_with, open_hall
from tests.cli.calling import TOURNAMENT
from tests.cli.test_run import run_at_once
from tests.figures import Figure

DEALS: Final = 1000
LEARNED_FROM: Final = 50
"""Of the deals, those that a guesser chooses its rule by; in the others it guesses."""
OWN: Final = slice(0, 4)
OTHERS: Final = slice(4, 16)
"""Where in the pack the cards of the guesser's hand lie, and those of the three others'."""
CHANCE: Final = 0.01
"""A guesser of pure chance is as good as ours with more than this probability."""

START_MS: Final = 1_785_491_234_567
NEAR_MS: Final = 250
"""So near a guesser knows the moment at which the tournament was made."""
DRAWN: Final = "5e7bd60c9f3a4218c6d1f02b88a794e3307c5ad9be1146f2875d03cbe92f61a4"
"""A seed of 256 bits, as an arena draws it; always this one, so that the test says the same each time."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a guesser knows of a deal before it sees a card.

    Attributes:
        block: its number, from 1; each block's first deal is taken.
        session_id: as `SessionStart` has it.
        opened: the seed of the block before, which is shown when that is over; empty for the first.
    """

    block: int
    session_id: str
    opened: bytes


Rule: TypeAlias = Callable[[Told], bytes]
"""What a guesser takes for the seed of the block."""


@dataclass(frozen=True, slots=True)
class OwnDeal:
    """A deal: what was told before it, and how the cards lay once they were cut."""

    told: Told
    cards: tuple[Card, ...]


def dealt(seed: bytes) -> tuple[Card, ...]:
    """The cut pack of the first deal from a seed."""
    pack, top_size = shuffle(seed, 0, 0)
    return pack[top_size:] + pack[:top_size]


def deals_of(seeds: Rule, ids: bytes) -> list[OwnDeal]:
    """A thousand deals whose seeds follow a rule; `ids` is the seed that the sessions' ids follow from."""
    deals, opened = [], b""
    for block in range(1, DEALS + 1):
        told = Told(block, session_id(ids, block, 1), opened)
        opened = seeds(told)
        deals.append(OwnDeal(told, dealt(opened)))
    return deals


def of_tournament(seed: bytes) -> Rule:
    """The rule of the arena, by which the seed of a block follows from the tournament's."""
    return lambda told: block_seed(seed, told.block)


def of_time(moment: int) -> Rule:
    """The rule of an arena that draws no seed, and takes the time for one."""
    return of_tournament(tournament_seed(moment))


def of_id(told: Told) -> bytes:
    """The rule of an arena that makes the seed from what everybody is told."""
    return sha256(told.session_id.encode()).digest()


def of_block_before(told: Told) -> bytes:
    """The rule of an arena that makes each seed from the one before."""
    return sha256(told.opened).digest()


def of_number(told: Told) -> bytes:
    """The rule of an arena whose blocks have the same cards in every tournament."""
    return sha256(str(told.block).encode()).digest()


def rules() -> Iterator[Rule]:
    """All that a guesser tries."""
    yield from (of_number, of_id, of_block_before)
    yield from (of_time(START_MS // 1000 + seconds) for seconds in range(-2, 3))
    yield from (of_time(START_MS + ms) for ms in range(-NEAR_MS, NEAR_MS + 1))


def right(rule: Rule, deals: list[OwnDeal], where: slice) -> int:
    """How many cards of these deals the rule has in their places."""
    return sum(
        guessed == card
        for deal in deals
        for guessed, card in zip(dealt(rule(deal.told))[where], deal.cards[where], strict=True)
    )


def chance_of(hits: int, deal_count: int) -> float:
    """How likely pure chance has so many cards of others right, or more.

    Each place is right with 1 in 33; of two packs in chance order the places that agree are nearly
    independent, and in so many deals their number is normal.
    """
    places, share = OTHERS.stop - OTHERS.start, 1 / PACK_SIZE
    together = places * (places - 1) * (1 / (PACK_SIZE * (PACK_SIZE - 1)) - share**2)
    variance = deal_count * (places * share * (1 - share) + together)
    above = (hits - 0.5 - deal_count * places * share) / math.sqrt(variance)
    return math.erfc(above / math.sqrt(2)) / 2


def guess(deals: list[OwnDeal]) -> tuple[int, float]:
    """Cards of others that the guesser has right, and how likely chance is as good.

    It takes the rule that has most of its own cards right in the first deals, and guesses by that one.
    """
    seen, unseen = deals[:LEARNED_FROM], deals[LEARNED_FROM:]
    best = max(rules(), key=lambda rule: right(rule, seen, OWN))
    hits = right(best, unseen, OTHERS)
    return hits, chance_of(hits, len(unseen))


def test_a_guesser_who_knows_start_time_and_ids_does_no_better_than_chance(figure: Figure) -> None:
    """Of a thousand own deals from a seed that was drawn it learns nothing about the others' cards (F12b)."""
    seed = tournament_seed(DRAWN)
    hits, chance = guess(deals_of(of_tournament(seed), seed))
    figure("F12b", f"n = {DEALS} own deals: {hits} cards of others right, p = {chance:.3f}")
    assert chance > CHANCE


@pytest.mark.parametrize(
    "fault",
    [of_time(START_MS // 1000 - 1), of_time(START_MS + 120), of_id, of_block_before, of_number],
    ids=["seconds", "milliseconds", "id", "block before", "number"],
)
def test_a_guesser_finds_seeds_that_can_be_guessed(fault: Rule) -> None:
    """Where they follow from the start time, or from what is told, it has every card of every other."""
    hits, chance = guess(deals_of(fault, tournament_seed(DRAWN)))
    assert hits == (DEALS - LEARNED_FROM) * (OTHERS.stop - OTHERS.start)
    assert chance < 1e-9


# ------------------------------------------------------------------ where the seed comes from


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All that is drawn from the system's source of random numbers, which `secrets` reads."""
    all_drawn: list[bytes] = []
    draw = secrets.token_bytes

    def recording(size: int | None = None) -> bytes:
        all_drawn.append(draw(size))
        return all_drawn[-1]

    monkeypatch.setattr(secrets, "token_bytes", recording)
    return all_drawn


def seed_kept_in(folder: Path) -> bytes:
    """The seed of the tournament in a folder."""
    with Store.open(folder) as store:
        return store.facts().seed


def test_a_run_whose_file_has_no_seed_draws_one(
    tmp_path: Path, drawn: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 256 bits from the system's random source, another for each run (X12)."""
    file = tmp_path / "t.toml"
    file.write_text(TOURNAMENT.replace("seed = 1\n", ""))
    for name in ("first", "second"):
        assert run_at_once(monkeypatch, file, "--out", tmp_path / name).code == 0
    kept = [seed_kept_in(tmp_path / name) for name in ("first", "second")]
    assert kept == drawn
    assert [len(seed) for seed in drawn] == [32, 32]
    assert kept[0] != kept[1]


async def test_a_tournament_that_is_entered_without_a_seed_gets_one(
    tmp_path: Path, drawn: list[bytes]
) -> None:
    """Of 256 bits from the system's random source, another for each tournament (X12)."""
    tournament = parse_tournament(file_with().replace("seed = 7\n", ""))
    async with open_hall(tmp_path) as arena:
        await arena.register()
        drawn.clear()
        entered = [await arena.hall.create(tournament, "") for _ in range(2)]
        folders = [arena.hall._entry(status.tournament_id).folder for status in entered]
    kept = [seed_kept_in(folder) for folder in folders]
    assert kept == drawn
    assert [len(seed) for seed in drawn] == [32, 32]
    assert kept[0] != kept[1]
