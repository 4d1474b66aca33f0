"""Questions for bots: out of sessions under any options, or out of one position."""

from collections.abc import Iterator

from engine.deal import Deal
from engine.session import Session
from engine.view import View, view_of
from kratzen.sdk import Request
from tests.engine.playing import Case, steps


def positions(case: Case) -> Iterator[tuple[Session, View]]:
    """Every decision of a session that is played at random: the session, and the view of the seat asked."""
    session = case.session()
    for _ in steps(session, case):
        assert session.decision is not None
        yield session, session.view(session.decision.seat)


def request_for(
    deal: Deal,
    request_id: int = 1,
    *,
    time_left_ms: int | None = None,
    deadline_s: float | None = None,
) -> Request:
    """The request that a deal stands at."""
    assert deal.decision is not None
    view = view_of(deal, deal.decision.seat)
    return Request(
        "session",
        request_id,
        view,
        deal.decision.legal,
        time_left_ms=time_left_ms,
        deadline_s=deadline_s,
    )
