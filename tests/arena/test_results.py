from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.results import (
    AttemptEnd,
    BlockEntry,
    SeatResult,
    SessionResult,
    SlotState,
    block_result,
    count_slots,
    places,
    places_after_forfeits,
    slot_state,
)

GROUP = ("anna", "bert", "cilli")


def seat(bot: str, number: int, chips: int, *, forfeited: bool = False, strikes: int = 0) -> SeatResult:
    """What a bot got out of a session."""
    return SeatResult(
        bot=bot,
        seat=number,
        stack=1000 + chips,
        chips=chips,
        place=1,
        forfeited=forfeited,
        strikes=strikes,
        faults=(),
        asked_count=0,
        decision_us=(),
    )


def session(number: int, *seats: SeatResult, block: int = 1, deals: int = 20) -> SessionResult:
    """A finished session of these seats."""
    return SessionResult(
        block=block, session=number, session_id="0" * 32, deals=deals, pot_left=0, seats=tuple(seats)
    )


def three_seats(*chips: int, out: tuple[str, ...] = ()) -> list[SeatResult]:
    """The chips of anna, bert and cilli; who is `out` has forfeited."""
    return [
        seat(bot, number, amount, forfeited=bot in out, strikes=5 * (bot in out))
        for number, (bot, amount) in enumerate(zip(GROUP, chips, strict=True))
    ]


def test_places_count_those_ahead_and_equal_ones_share() -> None:
    """The place is 1 + the number of those ahead: 1, 2, 2, 4."""
    assert places([(5,), (7,), (7,), (9,)]) == (1, 2, 2, 4)


def test_a_forfeit_goes_behind_all_others() -> None:
    """Who forfeits a session is placed last whatever its chips, and the others' order stands."""
    assert places_after_forfeits((1, 2, 2, 4), (True, False, False, False)) == (4, 1, 1, 3)
    assert places_after_forfeits((1, 2, 3, 4), (True, False, True, False)) == (3, 1, 4, 2)


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=3, max_size=6))
def test_places_follow_from_the_order_alone(seats: list[tuple[int, bool]]) -> None:
    """Whoever forfeited is behind everyone who did not; inside both groups the order stays."""
    after = places_after_forfeits([place for place, _ in seats], [out for _, out in seats])
    for (one, other), (new_one, new_other) in zip(
        product(seats, repeat=2), product(after, repeat=2), strict=True
    ):
        if one[1] == other[1]:
            assert (new_one < new_other) == (one[0] < other[0])
        else:
            assert (new_one < new_other) == (one[1] < other[1])


def test_a_block_adds_up_its_sessions() -> None:
    """A bot's result is its chips over all sessions of the block; places go by them, ties kept."""
    result = block_result(
        1,
        GROUP,
        [session(2, *three_seats(-30, 20, 10)), session(1, *three_seats(50, 0, -60), deals=15)],
        slot_count=2,
        ante=10,
    )
    assert result.deals == 35
    assert result.rated
    assert result.averaged
    assert [(entry.bot, entry.chips, entry.place) for entry in result.entries] == [
        ("anna", 20, 1),
        ("bert", 20, 1),
        ("cilli", -50, 3),
    ]


def test_who_forfeited_a_session_of_a_block_is_behind_those_who_did_not() -> None:
    """One forfeit is enough, whatever the chips; among themselves those who forfeited go by chips."""
    result = block_result(
        1,
        GROUP,
        [session(1, *three_seats(90, 10, -100)), session(2, *three_seats(-10, 5, 5, out=("anna", "bert")))],
        slot_count=2,
        ante=10,
    )
    assert result.entries == (
        BlockEntry(bot="cilli", chips=-95, place=1, forfeited_sessions=0, strikes=0),
        BlockEntry(bot="anna", chips=80, place=2, forfeited_sessions=1, strikes=5),
        BlockEntry(bot="bert", chips=15, place=3, forfeited_sessions=1, strikes=5),
    )


def test_a_block_with_a_void_slot_is_kept_but_counts_for_nothing() -> None:
    """A slot without a result makes the block neither rated nor averaged."""
    result = block_result(1, GROUP, [session(1, *three_seats(5, 0, -5))], slot_count=3, ante=10)
    assert result.void_count == 2
    assert not result.rated
    assert not result.averaged
    assert [entry.chips for entry in result.entries] == [5, 0, -5]


def test_a_block_without_any_result_still_names_its_bots() -> None:
    """All slots void: every bot is there with no chips."""
    result = block_result(4, GROUP, [], slot_count=3, ante=10)
    assert [(entry.bot, entry.chips) for entry in result.entries] == [("anna", 0), ("bert", 0), ("cilli", 0)]
    assert result.deals == 0


def test_a_block_without_clocks_is_averaged_but_not_rated() -> None:
    """`--no-timeout` results are shown with their chips and change no rating."""
    result = block_result(1, GROUP, [session(1, *three_seats(5, 0, -5))], slot_count=1, ante=10, timed=False)
    assert result.averaged
    assert not result.rated


@pytest.mark.parametrize(
    "sessions",
    [
        pytest.param([session(1, *three_seats(0, 0, 0)), session(1, *three_seats(0, 0, 0))], id="twice"),
        pytest.param([session(4, *three_seats(0, 0, 0))], id="no such slot"),
        pytest.param([session(1, *three_seats(0, 0, 0), block=2)], id="other block"),
        pytest.param(
            [session(1, seat("anna", 0, 0), seat("bert", 1, 0), seat("dora", 2, 0))], id="other bots"
        ),
        pytest.param(
            [session(1, seat("anna", 0, 0), seat("anna", 1, 0), seat("bert", 2, 0))], id="bot twice"
        ),
    ],
)
def test_what_does_not_belong_to_the_block_is_refused(sessions: list[SessionResult]) -> None:
    """A session counted twice, or of another block or table, never gets into a result."""
    with pytest.raises(ValueError, match=r"\bblock 1\b|session 1\.1 was not played"):
        block_result(1, GROUP, sessions, slot_count=3, ante=10)


def test_a_group_with_a_bot_twice_is_refused() -> None:
    """A bot does not play against itself."""
    with pytest.raises(ValueError, match="a bot is there twice in anna, anna, bert"):
        block_result(1, ("anna", "anna", "bert"), [], slot_count=3, ante=10)


@pytest.mark.parametrize(
    ("attempts", "state"),
    [
        ([], SlotState.OPEN),
        ([AttemptEnd.FINISHED], SlotState.FINISHED),
        ([AttemptEnd.BOTS_ABSENT, AttemptEnd.ARENA_ERROR], SlotState.OPEN),
        ([AttemptEnd.BOTS_ABSENT, AttemptEnd.ARENA_ERROR, AttemptEnd.BOTS_ABSENT], SlotState.VOID),
        ([AttemptEnd.OPERATOR_STOP] * 10 + [AttemptEnd.ARENA_ERROR] * 2, SlotState.OPEN),
        ([AttemptEnd.ARENA_ERROR] * 2 + [AttemptEnd.FINISHED], SlotState.FINISHED),
    ],
)
def test_three_spoiled_attempts_make_a_slot_void_and_stops_do_not_count(
    attempts: list[AttemptEnd], state: SlotState
) -> None:
    """Only the absence of bots and the arena's own errors count towards the three."""
    assert slot_state(attempts) is state


def test_a_withdrawn_bot_makes_open_slots_void_and_leaves_finished_ones() -> None:
    """What was played stands."""
    assert slot_state([], withdrawn=True) is SlotState.VOID
    assert slot_state([AttemptEnd.FINISHED], withdrawn=True) is SlotState.FINISHED


@given(st.lists(st.tuples(st.lists(st.sampled_from(AttemptEnd), max_size=6), st.booleans()), max_size=40))
def test_slots_are_finished_void_or_open_and_nothing_else(slots: list[tuple[list[AttemptEnd], bool]]) -> None:
    """Slots = finished + void + open, always."""
    counts = count_slots(slot_state(attempts, withdrawn=withdrawn) for attempts, withdrawn in slots)
    assert counts.total == len(slots)
    assert counts.finished == sum(AttemptEnd.FINISHED in attempts for attempts, _ in slots)


def test_every_end_of_an_attempt_has_a_sentence_of_its_own() -> None:
    """The reason is an enum; what people read is made from it."""
    sentences = {end.sentence for end in AttemptEnd}
    assert len(sentences) == len(AttemptEnd)
    assert all(sentence.endswith(".") for sentence in sentences)
