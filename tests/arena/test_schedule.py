import hashlib
from collections import Counter
from itertools import combinations, permutations
from math import comb, factorial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.schedule import (
    FORMATS,
    MOST_BLOCKS,
    Plan,
    Rotations,
    ScheduleError,
    Slot,
    block_count,
    block_seed,
    round_robin,
    session_id,
    session_nonce,
    sessions_per_block,
    tournament_seed,
)

SEED = bytes(range(32))


def names(count: int) -> tuple[str, ...]:
    """So many different bots."""
    return tuple(f"bot-{number}" for number in range(count))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans that are small enough to be fast."""
    size = draw(st.integers(3, 6))
    rotations = draw(st.sampled_from(Rotations)) if size < 6 else Rotations.CYCLIC
    seed = draw(st.binary(min_size=32, max_size=32))
    if draw(st.booleans()):
        count, blocks = draw(st.integers(size, 40)), draw(st.integers(1, 30))
        return Plan(bots=names(count), table_size=size, seed=seed, rotations=rotations, blocks=blocks)
    count, per_group = draw(st.integers(size, 7)), draw(st.integers(1, 3))
    return Plan(
        bots=names(count), table_size=size, seed=seed, rotations=rotations, blocks_per_group=per_group
    )


@given(plans())
def test_a_schedule_has_the_blocks_and_sessions_that_were_promised(plan: Plan) -> None:
    """Blocks and sessions are numbered from 1 without a gap, and nobody plays against itself."""
    blocks = round_robin(plan)
    assert [block.number for block in blocks] == list(range(1, block_count(plan) + 1))
    for block in blocks:
        assert len(set(block.group)) == plan.table_size
        assert set(block.group) <= set(plan.bots)
        assert [slot.session for slot in block.slots] == list(range(1, sessions_per_block(plan) + 1))
        assert {slot.block for slot in block.slots} == {block.number}
        assert all(sorted(slot.seating) == sorted(block.group) for slot in block.slots)


@given(plans())
def test_bots_play_equally_often_and_sit_in_every_chair_equally_often(plan: Plan) -> None:
    """Bots differ by one block at the most, and a bot's chairs by one session at the most."""
    blocks = round_robin(plan)
    played = Counter(dict.fromkeys(plan.bots, 0))
    played.update(bot for block in blocks for bot in block.group)
    assert max(played.values()) - min(played.values()) <= 1
    seated = Counter(
        (bot, seat) for block in blocks for slot in block.slots for seat, bot in enumerate(slot.seating)
    )
    for bot in plan.bots:
        chairs = [seated[bot, seat] for seat in range(plan.table_size)]
        assert max(chairs) - min(chairs) <= 1


@given(plans())
def test_every_turn_of_a_block_seats_each_bot_in_each_chair_once(plan: Plan) -> None:
    """With rotations every n sessions in a row are a whole turn, so that no chair is favoured on the way."""
    if plan.rotations is Rotations.NONE:
        return
    for block in round_robin(plan):
        for start in range(0, len(block.slots), plan.table_size):
            turn = block.slots[start : start + plan.table_size]
            for seat in range(plan.table_size):
                assert sorted(slot.seating[seat] for slot in turn) == sorted(block.group)


@settings(max_examples=30)
@given(plans(), st.randoms(use_true_random=False))
def test_a_schedule_follows_from_the_plan_alone(plan: Plan, random: Random) -> None:
    """The order in which the bots are listed has no effect, on chairs or anything else."""
    listed = list(plan.bots)
    random.shuffle(listed)
    other = Plan(
        bots=tuple(listed),
        table_size=plan.table_size,
        seed=plan.seed,
        rotations=plan.rotations,
        blocks_per_group=plan.blocks_per_group,
        blocks=plan.blocks,
    )
    assert round_robin(other) == round_robin(plan)


@given(st.integers(3, 5), st.integers(1, 3), st.integers(0, 3))
def test_round_robin_plays_every_group_equally_often(size: int, per_group: int, more: int) -> None:
    """Every group of the bots plays `blocks_per_group` blocks."""
    bots = names(size + more)
    blocks = round_robin(Plan(bots=bots, table_size=size, seed=SEED, blocks_per_group=per_group))
    groups = Counter(tuple(sorted(block.group)) for block in blocks)
    assert groups == Counter({tuple(sorted(group)): per_group for group in combinations(bots, size)})


def test_all_rotations_are_all_seatings() -> None:
    """Every one of the n! seatings comes once."""
    (block,) = round_robin(Plan(bots=names(4), table_size=4, seed=SEED, rotations=Rotations.ALL))
    assert {slot.seating for slot in block.slots} == set(permutations(names(4)))
    assert len(block.slots) == factorial(4)


def test_without_rotations_a_block_is_one_session() -> None:
    """One seating, and the next block of the same bots has another first chair."""
    plan = Plan(bots=names(3), table_size=3, seed=SEED, rotations=Rotations.NONE, blocks_per_group=3)
    blocks = round_robin(plan)
    assert all(block.slots == (Slot(block.number, 1, block.group),) for block in blocks)
    assert {block.group[0] for block in blocks} == set(names(3))


@pytest.mark.parametrize(("size", "per_group"), [(3, 2), (4, 6), (5, 24)])
def test_everyone_sits_at_the_left_of_everyone_equally_often(size: int, per_group: int) -> None:
    """With as many blocks as there are orders round a table no neighbour is favoured."""
    blocks = round_robin(Plan(bots=names(size), table_size=size, seed=SEED, blocks_per_group=per_group))
    beside = Counter(
        (slot.seating[seat - 1], slot.seating[seat])
        for block in blocks
        for slot in block.slots
        for seat in range(size)
    )
    assert {beside[pair] for pair in permutations(names(size), 2)} == {per_group * size // (size - 1)}


def test_the_first_chair_differs_from_seed_to_seed() -> None:
    """Who begins where is drawn: over many seeds every bot has the first chair of the first session."""
    firsts = Counter(
        round_robin(Plan(bots=names(4), table_size=4, seed=bytes([number]) * 32))[0].group[0]
        for number in range(200)
    )
    assert set(firsts) == set(names(4))
    assert max(firsts.values()) < 80


def test_early_blocks_bring_everyone_together() -> None:
    """No pair meets for the fifth time before every pair has met."""
    met: Counter[frozenset[str]] = Counter()
    for block in round_robin(Plan(bots=names(9), table_size=4, seed=SEED)):
        met.update(frozenset(pair) for pair in combinations(block.group, 2))
        if max(met.values()) >= 5:
            assert len(met) == comb(9, 2)


def test_the_schedule_of_a_seed_stays_as_it_is() -> None:
    """A stored tournament is resumed with the schedule it began with, so this one is a constant."""
    blocks = round_robin(Plan(bots=("a", "b", "c", "d", "e"), table_size=3, seed=SEED, blocks=5))
    seatings = ["".join(slot.seating) for block in blocks for slot in block.slots]
    assert " ".join(seatings) == "aed eda dae cba bac acb dec ecd cde abe bea eab cbd bdc dcb"


@pytest.mark.parametrize(
    ("plan", "key", "message"),
    [
        (
            Plan(bots=("a", "b", "a"), table_size=3, seed=SEED),
            "bots",
            "a is there twice, allowed is each name once",
        ),
        (
            Plan(bots=("a", "b"), table_size=3, seed=SEED),
            "bots",
            "there are 2 for tables of 3, allowed is 3 or more",
        ),
        (
            Plan(bots=names(40), table_size=6, seed=SEED),
            "blocks_per_group",
            (
                "makes 3838380 blocks with 23030280 sessions, allowed is 1 to 20000 blocks and up to 200000 "
                "sessions; blocks asks for a balanced part of all groups"
            ),
        ),
        (
            Plan(bots=names(6), table_size=6, seed=SEED, blocks=1000, rotations=Rotations.ALL),
            "blocks",
            "makes 1000 blocks with 720000 sessions, allowed is 1 to 20000 blocks and up to 200000 sessions",
        ),
        (
            Plan(bots=names(6), table_size=6, seed=SEED, blocks=0),
            "blocks",
            "makes 0 blocks with 0 sessions, allowed is 1 to 20000 blocks and up to 200000 sessions",
        ),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_a_sentence(plan: Plan, key: str, message: str) -> None:
    """The error names the field and what is allowed, before anything long is begun."""
    with pytest.raises(ScheduleError) as caught:
        round_robin(plan)
    assert (caught.value.key, str(caught.value)) == (key, message)


def test_formats_are_found_by_the_name_in_the_file() -> None:
    """A later format needs a line in the table and nothing else."""
    assert FORMATS["round_robin"] is round_robin


# --------------------------------------------------------------------------- seeds and ids


def test_a_tournaments_seed_is_its_hex_digits_or_the_hash_of_its_text() -> None:
    """64 hex digits, of either case, are the 32 bytes; all else is hashed, a number as its decimal text."""
    assert tournament_seed("000102030405060708090A0B0C0D0E0F101112131415161718191a1b1c1d1e1f") == SEED
    assert tournament_seed("42") == tournament_seed(42) == hashlib.sha256(b"42").digest()
    assert tournament_seed("München") == hashlib.sha256("München".encode()).digest()
    assert tournament_seed("0" * 63) == hashlib.sha256(b"0" * 63).digest()
    assert tournament_seed(" " + "0" * 63) == hashlib.sha256(b" " + b"0" * 63).digest()


def test_seeds_ids_and_nonces_are_those_of_the_design() -> None:
    """HMAC-SHA-256 of the tournament's seed over a label: constants, made by another program (OpenSSL)."""
    assert block_seed(SEED, 7).hex() == "9d9c30b51498402367f2fb0c5617a61145f619b790345dd253edba466904d087"
    assert session_id(SEED, 7, 2) == "145a85f503db5acbb819b4bbe26c0c4e"
    assert (
        session_nonce(SEED, 7, 2).hex() == "73e988d4f800c6d8077124335978f77c96e3a927be8aa632e96d79321221a2b2"
    )


@given(st.binary(min_size=32, max_size=32))
def test_no_two_blocks_or_slots_share_a_seed_an_id_or_a_nonce(seed: bytes) -> None:
    """What is derived differs from block to block and slot to slot, `1.11` from `11.1` too."""
    slots = [(block, session) for block in range(1, 13) for session in range(1, 13)]
    derived = {block_seed(seed, block) for block in range(1, 13)}
    derived |= {session_nonce(seed, *slot) for slot in slots}
    assert len(derived) == 12 + len(slots)
    ids = {session_id(seed, *slot) for slot in slots}
    assert len(ids) == len(slots)
    assert all(len(text) == 32 and set(text) <= set("0123456789abcdef") for text in ids)


def test_a_slots_label_is_what_people_write() -> None:
    """Block and session with a dot between, as on the command line."""
    assert Slot(7, 2, names(3)).label == "7.2"


def test_the_limit_on_blocks_admits_what_it_says() -> None:
    """The longest schedule is counted without being made."""
    plan = Plan(bots=names(40), table_size=3, seed=SEED, blocks=MOST_BLOCKS)
    assert block_count(plan) * sessions_per_block(plan) == 3 * MOST_BLOCKS
