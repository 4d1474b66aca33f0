"""What is on offer to bots that were never there, and for how long."""

from arena.clock import nothing_spared
from arena.ledger import SlotEntry
from arena.offers import Moment, Offers
from arena.results import SlotState

JOIN_US = 100


def slot(session: int, *seating: str) -> SlotEntry:
    """An open slot."""
    return SlotEntry(block=1, session=session, seating=seating, state=SlotState.OPEN, attempts=0)


ALL_THERE, ONE_LACKS, TWO_LACK = slot(1, "a", "b"), slot(2, "a", "y"), slot(3, "x", "y")
SLOTS = (ALL_THERE, ONE_LACKS, TWO_LACK)
UNSEEN = frozenset({"x", "y"})


def offered_at(at_us: int) -> Offers:
    """All slots, offered at that time."""
    offers = Offers(JOIN_US, nothing_spared)
    offers.renew(SLOTS, UNSEEN, Moment(at_us, f"at {at_us}"))
    return offers


def test_a_slot_is_held_while_a_bot_that_was_never_there_may_come() -> None:
    """Not one microsecond longer; a slot that lacks nobody never is."""
    offers = offered_at(1000)
    assert [offers.hold(slot, 1099) for slot in SLOTS] == [False, True, True]
    assert not offers.hold(ONE_LACKS, 1100)


def test_a_slot_that_lacks_two_has_failed_when_the_limit_is_over() -> None:
    """It is held all the same: it is not played without them."""
    offers = offered_at(1000)
    assert offers.failed(1099) == ()
    ((failed, offer),) = offers.failed(1100)
    assert (failed, offer.missing, offer.since.utc) == (TWO_LACK, ("x", "y"), "at 1000")
    assert offers.hold(TWO_LACK, 1100)


def test_an_offer_goes_on_until_it_comes_to_nothing() -> None:
    """Offering again leaves the time as it is; after a failed attempt it begins anew."""
    offers = offered_at(1000)
    offers.renew(SLOTS, UNSEEN, Moment(1050, ""))
    assert offers.left_us(1050) == 50
    offers.withdraw(TWO_LACK)
    offers.renew(SLOTS, UNSEEN, Moment(1100, ""))
    assert offers.failed(1199) == ()
    assert offers.left_us(1100) == JOIN_US
    assert [failed for failed, _ in offers.failed(1200)] == [TWO_LACK]


def test_a_bot_that_comes_ends_its_offers() -> None:
    """What lacks nobody is no longer held, what lacks one fewer keeps its time."""
    offers = offered_at(1000)
    offers.renew(SLOTS, frozenset({"x"}), Moment(1050, ""))
    assert [offers.hold(slot, 1099) for slot in SLOTS] == [False, False, True]
    assert offers.failed(1100) == ()
    assert not offers.hold(TWO_LACK, 1100)


def test_a_slot_that_is_no_longer_open_is_on_offer_no_more() -> None:
    """It was voided in the meantime."""
    offers = offered_at(1000)
    offers.renew((ALL_THERE, ONE_LACKS), UNSEEN, Moment(1050, ""))
    assert offers.failed(1100) == ()
    assert not offers.hold(TWO_LACK, 1050)


def test_without_an_offer_nothing_runs_out() -> None:
    """Neither when none was made nor when the time of all is over."""
    assert Offers(JOIN_US, nothing_spared).left_us(0) is None
    assert offered_at(1000).left_us(1100) is None


def test_the_limit_is_longer_by_what_the_arena_was_late_by() -> None:
    """Neither is a slot played without its bot, nor has it failed, before they had all of their time."""
    offers = Offers(JOIN_US, lambda since_us, at_us: 50 if (since_us, at_us) >= (1000, 1050) else 0)
    offers.renew(SLOTS, UNSEEN, Moment(1000, ""))
    assert offers.hold(ONE_LACKS, 1149)
    assert offers.failed(1149) == ()
    assert offers.left_us(1100) == 50
    assert not offers.hold(ONE_LACKS, 1150)
    assert [failed for failed, _ in offers.failed(1150)] == [TWO_LACK]
