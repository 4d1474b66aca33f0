from arena.results import SlotCounts
from arena.tally import Tally
from tests.arena.sessions import Table, play


def test_sums_are_those_of_the_sessions() -> None:
    """Two sessions counted in by hand give the same as their results say."""
    results = [play(Table(session=number, play_seed=number)).result for number in (1, 2)]
    tally = Tally(SlotCounts(finished=1, void=0, open=3), results[:1])
    tally.add(results[1])
    anna = [seat for result in results for seat in result.seats if seat.bot == "anna"]
    of_anna = tally.of("anna")
    assert of_anna.session_count == 2
    assert of_anna.deal_count == sum(result.deals for result in results)
    assert of_anna.chips == sum(seat.chips for seat in anna)
    assert of_anna.strike_count == sum(seat.strikes for seat in anna)
    assert tally.decision_count == sum(seat.asked_count for result in results for seat in result.seats)


def test_slots_are_finished_void_or_open_always() -> None:
    """Counting never loses a slot."""
    tally = Tally(SlotCounts(finished=0, void=1, open=4))
    tally.add(play(Table()).result)
    tally.void(2)
    assert tally.counts == SlotCounts(finished=1, void=3, open=1)


def test_a_bot_that_has_not_played_has_won_nothing() -> None:
    """No deal is no division by zero."""
    assert Tally(SlotCounts(finished=0, void=0, open=1)).of("nobody").antes_per_deal(10) == 0
