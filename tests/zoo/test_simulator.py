"""Any mixture of bad deeds, in virtual time: the verdicts are those of the bot's own journal (F4, F7)."""

import itertools
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.clock import ClockSettings
from arena.faults import FaultCause
from arena.link import Link
from arena.messages import MAX_TRIES, Answer
from arena.record import DecisionRecord, Origin
from arena.referee import Referee, Timing
from arena.results import SessionResult
from arena.runner import SessionRunner
from tests.figures import Figure
from tests.zoo.reference import always, at_numbers, expected
from tests.zoo.simulator import US, BadBot, Deed, simulate
from tests.zoo.small_arena import SEED, Outcome

CLOCK = ClockSettings(move_ms=1000, bank_ms=700, first_answer_ms=300, increment_ms=100, max_strikes=4)
ANSWER = Deed("answer", 0)
EDGE_US = 2 * US
"""A bot that comes back is told its time in whole milliseconds; so near the end it cannot know better."""

deeds = st.builds(
    Deed,
    name=st.sampled_from(sorted(BadBot.DEEDS)),
    delay_ms=st.sampled_from((0, 1, 399, 999, 1000, 1001, 1300, 1999, 2500)),
)


@pytest.mark.parametrize("name", sorted(BadBot.DEEDS))
async def test_every_deed_alone(name: str) -> None:
    """A bot that always does the same gets the same verdict as its journal has."""
    for delay_ms in (0, 999, 1300):
        outcome, bot = await simulate(itertools.repeat(Deed(name, delay_ms)), clock=CLOCK, deals=3)
        judge(outcome, bot)


@given(st.lists(deeds, min_size=1, max_size=30))
async def test_any_mixture_of_deeds(done: list[Deed]) -> None:
    """Whatever it does and when, in between it answers well for what it answers well."""
    outcome, bot = await simulate(itertools.chain(done, itertools.repeat(ANSWER)), clock=CLOCK, deals=3)
    judge(outcome, bot)


def judge(outcome: Outcome, bot: BadBot) -> None:
    """Hold every decision against the journal, and the session against the engine alone."""
    assert outcome.faults_of_good == []
    records = {record.request_id: record for record in outcome.decisions_of_bad if record.request_id}
    faults = {fault.request_id: fault.cause for fault in outcome.bad.faults}
    assert set(records) == set(range(1, outcome.bad.asked_count + 1))
    assert set(bot.owed) <= set(records)
    for request_id, record in records.items():
        assert record.request_id == request_id
        assert (record.origin is Origin.FALLBACK) == (request_id in faults)
        judge_decision(request_id, record, bot)
    wanted = expected(outcome, at_numbers(faults), max_strikes=CLOCK.max_strikes)
    assert tuple(seat.stack for seat in outcome.result.seats) == wanted.stacks
    assert tuple(seat.place for seat in outcome.result.seats) == wanted.places
    assert (outcome.bad.strikes, outcome.bad.asked_count) == (wanted.strike_count, wanted.asked_count)


def judge_decision(request_id: int, record: DecisionRecord, bot: BadBot) -> None:
    """An answer in time counts, none in time is a fault of the cause that the journal knows."""
    owed = bot.owed.get(request_id)
    if owed is None:
        # It was away for as long as this was asked.
        assert record.cause not in (None, FaultCause.TIMEOUT, FaultCause.ILLEGAL)
        return
    first_us = min(owed.good_at_us, default=None)
    if record.cause is FaultCause.ILLEGAL:
        assert owed.bad_count >= MAX_TRIES
    elif record.origin is Origin.ASKED:
        assert first_us is not None
        assert first_us <= owed.deadline_us + EDGE_US
    else:
        assert first_us is None or first_us > owed.deadline_us - EDGE_US
        nearby_us = range(owed.deadline_us - EDGE_US, owed.deadline_us + EDGE_US + 1, EDGE_US)
        assert record.cause in [bot.cause_at(at_us) for at_us in nearby_us]


@pytest.mark.parametrize("least", [100, pytest.param(2000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", ["say_nothing", "drop", "garble"])
async def test_no_way_of_not_answering_pays(name: str, least: int, figure: Figure) -> None:
    """The chips of every session are those of a bot that answers with the fallback itself (K18, F7)."""
    deals, numbers = 0, itertools.count()
    while deals < least:
        seed = sha256(f"stalling {next(numbers)}".encode()).digest()
        deals += await see_that_it_does_not_pay(name, seed)
    figure("F7", f"n = {deals} deals, difference 0 in each")


async def see_that_it_does_not_pay(name: str, seed: bytes = SEED) -> int:
    """Have a bot do the same at every turn, and hold its chips against the fallback's; how many deals."""
    patient = ClockSettings(move_ms=1000, bank_ms=0, first_answer_ms=0, max_strikes=10**6)
    outcome, _ = await simulate(itertools.repeat(Deed(name, 0)), clock=patient, deals=100, seed=seed)
    wanted = expected(outcome, always, max_strikes=10**6)
    assert tuple(seat.stack for seat in outcome.result.seats) == wanted.stacks
    assert outcome.bad.strikes == wanted.strike_count
    return outcome.result.deals


async def test_a_bonus_for_not_answering_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a seat gains a chip by its strikes, its chips are not those of the fallback: K18 can fail."""
    honest = Referee.result

    def generous(referee: Referee) -> SessionResult:
        result = honest(referee)
        seats = [replace(seat, stack=seat.stack + (seat.strikes > 0)) for seat in result.seats]
        return replace(result, seats=tuple(seats))

    monkeypatch.setattr(Referee, "result", generous)
    with pytest.raises(AssertionError, match=r"assert \(\d"):
        await see_that_it_does_not_pay("say_nothing")


@pytest.mark.parametrize(("load_ms", "allowed"), [(1300, True), (1301, False)])
async def test_a_first_decision_may_take_as_long_as_loading_does(load_ms: int, allowed: bool) -> None:
    """Fifty cold starts: within the first allowance none is late, a millisecond over it all are (T10)."""
    clock = ClockSettings(move_ms=1000, bank_ms=0, first_answer_ms=300)
    for number in range(50):
        seed = sha256(f"loading {number}".encode()).digest()
        deeds = itertools.chain([Deed("answer", load_ms)], itertools.repeat(ANSWER))
        outcome, _ = await simulate(deeds, clock=clock, deals=3, seed=seed)
        assert outcome.bad.asked_count > 0
        causes = [(fault.cause, fault.request_id) for fault in outcome.bad.faults]
        assert causes == ([] if allowed else [(FaultCause.TIMEOUT, 1)])


async def test_the_simulator_reaches_every_cause_that_a_link_can_have() -> None:
    """All but those of bots that never come, never read or are processes."""
    causes: Counter[FaultCause] = Counter()
    for name in BadBot.DEEDS:
        outcome, _ = await simulate(itertools.repeat(Deed(name, 0)), clock=CLOCK, deals=3)
        causes.update(fault.cause for fault in outcome.bad.faults)
    elsewhere = {FaultCause.EXITED, FaultCause.NO_HANDSHAKE, FaultCause.NOT_READING}
    assert set(causes) == set(FaultCause) - elsewhere


async def test_an_arena_without_an_id_check_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where any answer counts for the request that is open, the journal says otherwise (E05)."""
    careful = Link._receive_answer

    def careless(link: Link, answer: Answer, now_us: int) -> None:
        asked_id = link._desks[answer.session_id].last_id
        careful(link, replace(answer, request_id=asked_id), now_us)

    monkeypatch.setattr(Link, "_receive_answer", careless)
    outcome, bot = await simulate(itertools.repeat(Deed("answer_previous", 0)), clock=CLOCK, deals=3)
    with pytest.raises(AssertionError):
        judge(outcome, bot)


async def test_an_arena_that_charges_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the clock starts a little too early, answers in time are faults, and the journal says so."""
    honest = SessionRunner._timing

    def greedy(*arguments: Any) -> Timing:  # noqa: ANN401 - whatever it takes
        timing = honest(*arguments)
        return replace(timing, charged_us=timing.charged_us + 400_000)

    monkeypatch.setattr(SessionRunner, "_timing", greedy)
    outcome, bot = await simulate(itertools.repeat(Deed("answer", 999)), clock=CLOCK, deals=3)
    with pytest.raises(AssertionError):
        judge(outcome, bot)
