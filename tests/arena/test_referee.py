"""The referee of a session: what an answer means, what a clock's end costs, what is recorded."""

from dataclasses import replace

import pytest

from arena.clock import ClockSettings
from arena.faults import FaultCause
from arena.messages import MAX_TRIES, Answer, RejectReason, Unreadable
from arena.referee import Referee, Timing
from arena.replay import parse
from arena.replay_verify import verify
from engine.actions import Action
from engine.fallback import fallback
from tests.arena import tables

QUICK = Timing(1000, 10)


def answer(referee: Referee, action: Action | None = None) -> Answer:
    """An answer to the open question, the first legal one by default, with the id that it would get."""
    request = referee.request()
    return Answer(request.session_id, request.request_id, action or next(iter(request.legal)))


def play_out(referee: Referee) -> None:
    """Answer every question at once with the first legal answer."""
    while referee.decision is not None:
        assert referee.receive(answer(referee), QUICK) is None


def test_a_session_of_legal_answers_gives_a_result_and_a_replay_that_proves_itself() -> None:
    """Chips add up, nobody is at fault, and the replay verifies."""
    referee = tables.referee()
    play_out(referee)
    result = referee.result()
    assert sum(seat.stack for seat in result.seats) + result.pot_left == 4000
    assert not any(seat.faults or seat.strikes or seat.forfeited for seat in result.seats)
    replay = referee.replay("2026-01-01T00:00:00.000+00:00")
    assert verify(replay) is None
    asked = [step.decision for step in parse(replay).steps if step.decision and step.decision.request_id]
    assert len(asked) == sum(seat.asked_count for seat in result.seats)
    assert {(record.charged_us, record.lag_us) for record in asked} == {(1000, 10)}


def test_an_illegal_answer_is_rejected_and_another_may_follow() -> None:
    """The rejection names the request and what is left; the question stays open."""
    referee = tables.referee()
    request = referee.request()
    bad = Answer(request.session_id, request.request_id, tables.illegal(request))
    rejected = referee.receive(bad, Timing(2_000_000))
    assert rejected is not None
    assert (rejected.reason, rejected.request_id, rejected.tries_left) == (
        RejectReason.ILLEGAL,
        1,
        MAX_TRIES - 1,
    )
    # 1 s for the move, 5 s for the first answer, 10 s in the bank, less what was used.
    assert rejected.time_left_ms == 14_000
    assert referee.decision is not None
    assert referee.decision.seat == request.seat
    assert referee.receive(replace(bad, action=next(iter(request.legal))), QUICK) is None


def test_the_third_illegal_answer_gets_the_fallback_and_a_strike() -> None:
    """Unreadable answers count like illegal ones; the cause is booked on the seat that gave them."""
    referee = tables.referee()
    request = referee.request()
    expected = fallback(request.view, request.legal)
    garbage = Answer(request.session_id, request.request_id, Unreadable("no card 99"))
    bad = replace(garbage, action=tables.illegal(request))
    reasons = [rejected.reason for each in (bad, garbage, bad) if (rejected := referee.receive(each, QUICK))]
    assert reasons == [RejectReason.ILLEGAL, RejectReason.UNREADABLE, RejectReason.ILLEGAL]
    play_out(referee)
    seat = referee.result().seats[request.seat]
    assert [(fault.cause, fault.request_id) for fault in seat.faults] == [(FaultCause.ILLEGAL, 1)]
    assert (seat.strikes, seat.forfeited) == (1, False)
    first = next(
        step for step in parse(referee.replay("")).steps if step.decision and step.decision.request_id
    )
    assert first.decision is not None
    assert (first.decision.origin, first.decision.cause) == ("fallback", FaultCause.ILLEGAL)
    assert [refusal.answer for refusal in first.decision.refused][1] == "no card 99"
    assert first.event.action == expected  # type: ignore[union-attr]  # a step with a decision


@pytest.mark.parametrize(("timed", "left_ms"), [(True, [15_999, 15_999, 0]), (False, [None] * 3)])
def test_a_request_that_is_closed_has_no_time_left(*, timed: bool, left_ms: list[int | None]) -> None:
    """After the third illegal answer it is 0, as the tries are; without clocks it is never said."""
    referee = tables.referee(clock=ClockSettings(timed=timed))
    request = referee.request()
    bad = Answer(request.session_id, request.request_id, tables.illegal(request))
    told = [rejected for _ in range(MAX_TRIES) if (rejected := referee.receive(bad, Timing(1000)))]
    assert [rejected.tries_left for rejected in told] == [2, 1, 0]
    assert [rejected.time_left_ms for rejected in told] == left_ms


@pytest.mark.parametrize(
    ("over_us", "cause"), [(0, None), (1, FaultCause.TIMEOUT)], ids=["exactly in time", "1 us late"]
)
def test_the_allowance_is_in_time_and_a_microsecond_more_is_not(
    over_us: int, cause: FaultCause | None
) -> None:
    """A time-out is given, and just not, at the same clock."""
    referee = tables.referee()
    request = referee.request()
    allowance_us = referee.allowance_us()
    assert allowance_us == 16_000_000
    rejected = referee.receive(
        Answer(request.session_id, request.request_id, next(iter(request.legal))),
        Timing(allowance_us + over_us),
    )
    assert (rejected.reason if rejected else None) == (RejectReason.LATE if cause else None)
    play_out(referee)
    assert [fault.cause for fault in referee.result().seats[request.seat].faults] == (
        [cause] if cause else []
    )
    end = parse(referee.replay("")).end
    assert [(stray.seat, stray.reason, stray.request_id, stray.late_us) for stray in end.stray] == (
        [(request.seat, RejectReason.LATE, 1, over_us)] if cause else []
    )


def test_a_time_out_empties_the_bank_and_the_next_decision_has_the_move_alone() -> None:
    """The first-answer allowance and the bank are gone after a time-out."""
    referee = tables.referee()
    seat = referee.request().seat
    referee.expire(Timing(16_000_001), FaultCause.TIMEOUT)
    while referee.decision is not None and referee.decision.seat != seat:
        referee.receive(answer(referee), QUICK)
    assert referee.allowance_us() == 1_000_000


def test_time_over_the_move_comes_out_of_the_bank() -> None:
    """What a decision takes beyond `move_ms` is missing later, and no more than that."""
    referee = tables.referee(clock=ClockSettings(first_answer_ms=0))
    request = referee.request()
    referee.receive(
        Answer(request.session_id, request.request_id, next(iter(request.legal))), Timing(4_000_000)
    )
    while referee.decision is not None and referee.decision.seat != request.seat:
        referee.receive(answer(referee), QUICK)
    assert referee.request().bank_ms == 7000


def test_the_increment_comes_with_every_deal_but_the_first() -> None:
    """A bank grows by the increment as a deal begins."""
    referee = tables.referee(deals=3, clock=ClockSettings(increment_ms=500))
    banks: dict[int, int | None] = {}
    while referee.decision is not None:
        request = referee.request()
        banks.setdefault(request.view.deal, request.bank_ms)
        referee.receive(Answer(request.session_id, request.request_id, next(iter(request.legal))), QUICK)
    assert banks == {0: 10_000, 1: 10_500, 2: 11_000}


def test_the_last_strike_forfeits_the_session_and_no_more_is_asked() -> None:
    """The seat plays on by the fallback, is placed last whatever its chips, and the others' result stands."""
    referee = tables.referee(deals=6, clock=ClockSettings(max_strikes=2))
    asked: list[int] = []
    while referee.decision is not None:
        request = referee.request()
        asked.append(request.seat)
        if request.seat == 2:
            referee.expire(Timing(16_000_001), FaultCause.DISCONNECTED)
        else:
            referee.receive(Answer(request.session_id, request.request_id, next(iter(request.legal))), QUICK)
    assert asked.count(2) == 2
    result = referee.result()
    assert [seat.forfeited for seat in result.seats] == [False, False, True, False]
    assert result.seats[2].place == 4
    assert [fault.cause for fault in result.seats[2].faults] == [FaultCause.DISCONNECTED] * 2
    assert verify(referee.replay("")) is None


def test_a_seat_that_forfeits_at_the_start_is_never_asked() -> None:
    """One bot that is not there does not keep the others from playing."""
    referee = tables.referee()
    referee.forfeit(3, FaultCause.NO_HANDSHAKE)
    seats = set()
    while referee.decision is not None:
        seats.add(referee.decision.seat)
        referee.receive(answer(referee), QUICK)
    result = referee.result()
    assert 3 not in seats
    assert [fault.cause for fault in result.seats[3].faults] == [FaultCause.NO_HANDSHAKE]
    assert (result.seats[3].asked_count, result.seats[3].place) == (0, 4)


def test_a_forfeit_names_the_decision_that_it_cost_and_no_other() -> None:
    """None while another is asked, and none while a question is not put yet: not the one before (P5)."""
    referee = tables.referee()
    while True:
        first = referee.request()
        referee.receive(Answer(first.session_id, first.request_id, next(iter(first.legal))), QUICK)
        assert referee.decision is not None
        if referee.decision.seat == first.seat:
            break
    referee.forfeit(first.seat, FaultCause.EXITED)
    asked = referee.request()
    referee.forfeit(asked.seat, FaultCause.EXITED)
    play_out(referee)
    seats = referee.result().seats
    assert [fault.request_id for fault in seats[first.seat].faults] == [None]
    assert [fault.request_id for fault in seats[asked.seat].faults] == [asked.request_id]


def test_without_clocks_nothing_runs_out() -> None:
    """An hour is as good as a second when the session is not timed."""
    referee = tables.referee(clock=ClockSettings(timed=False))
    assert referee.allowance_us() is None
    request = referee.request()
    assert (request.time_left_ms, request.bank_ms) == (None, None)
    in_time = Answer(request.session_id, request.request_id, next(iter(request.legal)))
    assert referee.receive(in_time, Timing(3_600_000_000)) is None


def test_request_ids_count_per_seat_without_a_gap() -> None:
    """A gap would tell of another's forced decision."""
    referee = tables.referee(deals=4)
    seen: dict[int, list[int]] = {seat: [] for seat in range(4)}
    while referee.decision is not None:
        request = referee.request()
        seen[request.seat].append(request.request_id)
        referee.receive(Answer(request.session_id, request.request_id, next(iter(request.legal))), QUICK)
    assert all(ids == list(range(1, len(ids) + 1)) for ids in seen.values())


def test_stalling_pays_no_better_than_answering_with_the_fallback() -> None:
    """A seat that never answers ends with the chips of one that answers with the fallback itself (K18)."""
    chips = []
    for stalls in (True, False):
        referee = tables.referee(deals=12, clock=ClockSettings(max_strikes=1000))
        while referee.decision is not None:
            request = referee.request()
            if request.seat != 1:
                referee.receive(
                    Answer(request.session_id, request.request_id, next(iter(request.legal))), QUICK
                )
            elif stalls:
                referee.expire(Timing(16_000_001), FaultCause.TIMEOUT)
            else:
                action = fallback(request.view, request.legal)
                referee.receive(Answer(request.session_id, request.request_id, action), QUICK)
        chips.append([seat.chips for seat in referee.result().seats])
    assert chips[0] == chips[1]
