"""No message to a seat holds a hidden card: the bytes on the wire are the same whatever is hidden."""

from collections.abc import Sequence

import pytest

from arena import wire
from arena.messages import ArenaMessage, Request, SessionNews
from arena.wire.admin import write_events
from engine.cards import Seat
from engine.deal import Deal
from engine.events import Event
from engine.view import seen_by, seen_by_all, view_of
from tests.engine.test_hidden_cards import WATCHER, Watch, compare_many
from tests.figures import Figure


def bytes_sent(deal: Deal, events: Sequence[Event], seat: Seat) -> bytes:
    """What the arena would send to the seat: the news so far, and its request if it is asked."""
    batch: list[ArenaMessage] = [SessionNews("s", tuple([seen_by(event, seat) for event in events]))]
    if deal.decision is not None and deal.decision.seat == seat:
        batch.append(Request("s", 1, seat, deal.decision.legal, view_of(deal, seat), 1000, 1000))
    return wire.encode(batch)


def bytes_watched(deal: Deal, events: Sequence[Event], seat: Seat) -> bytes:
    """What the arena would send to somebody who watches the session."""
    return write_events(tuple([seen_by_all(event) for event in events])).SerializeToString(deterministic=True)


def check_many(count: int, figure: Figure, watch: Watch = bytes_sent, watcher: Seat | None = None) -> None:
    """Compare so many deals with doubles in which cards hidden from a seat, or a watcher, lie elsewhere."""
    comparisons = compare_many(count, watch, watcher)
    moments = sum(each.moment_count for each in comparisons)
    assert sum(each.swapped_count > 0 for each in comparisons) > 0.9 * count
    assert moments > 5 * count
    figure("F12a", f"n = {count} deals, {moments} moments, no byte differs")


def test_hidden_cards_change_no_byte(figure: Figure) -> None:
    """In 300 deals a seat is sent the same bytes up to the first public difference (X09)."""
    check_many(300, figure)


@pytest.mark.nightly
def test_hidden_cards_change_no_byte_in_many_deals(figure: Figure) -> None:
    """The same in 10,000 deals (F12a)."""
    check_many(10_000, figure)


def test_hidden_cards_change_no_byte_for_a_watcher(figure: Figure) -> None:
    """In 300 deals a watcher is sent the same bytes up to the first public difference (F12a)."""
    check_many(300, figure, bytes_watched, WATCHER)


@pytest.mark.nightly
def test_hidden_cards_change_no_byte_for_a_watcher_in_many_deals(figure: Figure) -> None:
    """The same in 10,000 deals (F12a)."""
    check_many(10_000, figure, bytes_watched, WATCHER)


def test_a_byte_too_many_for_a_watcher_is_found(figure: Figure) -> None:
    """A watcher who is sent what one of the seats is sent fails the comparison."""

    def leaky(deal: Deal, events: Sequence[Event], seat: Seat) -> bytes:
        del deal, seat
        told = write_events(tuple([seen_by(event, 0) for event in events]))
        return told.SerializeToString(deterministic=True)

    with pytest.raises(AssertionError):
        check_many(300, figure, leaky, WATCHER)


def test_a_byte_too_many_is_found(figure: Figure) -> None:
    """A request with another seat's view fails the comparison."""

    def leaky(deal: Deal, events: Sequence[Event], seat: Seat) -> bytes:
        del events
        decision = deal.decision
        if decision is None or decision.seat != seat:
            return b""
        other = (seat + 1) % len(deal.hands)
        return wire.encode([Request("s", 1, seat, decision.legal, view_of(deal, other), 1000, 1000)])

    with pytest.raises(AssertionError):
        check_many(300, figure, leaky)
