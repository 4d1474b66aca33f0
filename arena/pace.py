"""How fast a tournament is played, and how long it will take: what progress and status tell.

It is measured from the moment when the bots were there, so that the time in which they start makes
nothing slow, up to the end of the latest session, since decisions are counted by whole sessions.
"""

from arena.clock import US_PER_MS, US_PER_SECOND, Time
from arena.tally import Tally


class Pace:
    """The pace of one tournament since it was started or gone on with."""

    def __init__(self, time: Time, tally: Tally) -> None:
        """Set up.

        Args:
            time: the arena's.
            tally: goes on by itself while the tournament is played.
        """
        self._time = time
        self._tally = tally
        self._decisions_before = tally.decision_count
        self._finished_before = tally.counts.finished
        self._began_us: int | None = None
        self._latest_us = 0

    def begin(self) -> None:
        """The bots are there: sessions begin."""
        self._began_us = self._latest_us = self._time.now_us()

    def session_finished(self) -> None:
        """The tally has counted a session in."""
        self._latest_us = self._time.now_us()

    @property
    def decisions_per_second(self) -> float:
        """Decisions that bots made; 0 before the end of the first session."""
        played_us = self._played_us
        decisions = self._tally.decision_count - self._decisions_before
        return decisions * US_PER_SECOND / played_us if played_us else 0.0

    @property
    def remaining_ms(self) -> int | None:
        """How long it will take from now on; None before the end of the first session."""
        counts, played_us = self._tally.counts, self._played_us
        if not played_us:
            return None
        needed_us = played_us * counts.open // (counts.finished - self._finished_before)
        return max(0, needed_us - (self._time.now_us() - self._latest_us)) // US_PER_MS

    @property
    def _played_us(self) -> int:
        """From the first session's beginning to the latest one's end; 0 before that."""
        if self._began_us is None or self._tally.counts.finished == self._finished_before:
            return 0
        return self._latest_us - self._began_us
