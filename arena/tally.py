"""What a tournament has given so far, counted session by session: what progress is shown from.

Sums alone, cheap enough to keep while it is played; ratings and error bars are `standings`'s.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from arena.results import SessionResult, SlotCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class BotTally:
    """One bot's sums over its finished sessions.

    Attributes:
        session_count: sessions.
        deal_count: deals in them.
        chips: won over all of them, less those lost.
        strike_count: decisions that the fallback made for it.
    """

    session_count: int
    deal_count: int
    chips: int
    strike_count: int

    def antes_per_deal(self, ante: int) -> float:
        """Chips a deal, in antes; 0 before the first deal."""
        return self.chips / self.deal_count / ante if self.deal_count else 0.0


class Tally:
    """The sums of one tournament."""

    def __init__(self, counts: SlotCounts, results: Iterable[SessionResult] = ()) -> None:
        """Set up.

        Args:
            counts: the slots as they are.
            results: of the sessions that `counts` has as finished.
        """
        self._total = counts.total
        self._void = counts.void
        self._finished = 0
        self._decisions = 0
        self._sessions: Counter[str] = Counter()
        self._deals: Counter[str] = Counter()
        self._chips: Counter[str] = Counter()
        self._strikes: Counter[str] = Counter()
        for result in results:
            self.add(result)

    @property
    def counts(self) -> SlotCounts:
        """The slots by state; those that are being played are open."""
        open_count = self._total - self._finished - self._void
        return SlotCounts(finished=self._finished, void=self._void, open=open_count)

    @property
    def decision_count(self) -> int:
        """Decisions that bots were asked."""
        return self._decisions

    def add(self, result: SessionResult) -> None:
        """Count a finished session in."""
        self._finished += 1
        for seat in result.seats:
            self._decisions += seat.asked_count
            self._sessions[seat.bot] += 1
            self._deals[seat.bot] += result.deals
            self._chips[seat.bot] += seat.chips
            self._strikes[seat.bot] += seat.strikes

    def void(self, count: int = 1) -> None:
        """Count slots as void."""
        self._void += count

    def of(self, bot: str) -> BotTally:
        """The sums of one bot, who need not have played yet."""
        return BotTally(
            session_count=self._sessions[bot],
            deal_count=self._deals[bot],
            chips=self._chips[bot],
            strike_count=self._strikes[bot],
        )
