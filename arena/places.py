"""How many sessions are played side by side, by what the arena can do in time.

More tables than a machine can serve cost bots their time before anything shows that the arena is
late. So it begins with as many as any machine can do, takes on more step by step, and gives half of
them up when it is late. Time is an argument.
"""

from typing import Final

from arena.clock import US_PER_SECOND

FIRST_PLACES: Final = 64
"""So many tables at once are taken on without having seen that the machine can do them."""

LOOK_AGAIN_US = US_PER_SECOND
"""What was changed shows after so long, and more is tried then."""

_STEP: Final = 4
"""While the arena was never late it takes on one in four more at a time."""

_CAREFUL_STEP: Final = 16
"""One in so many once it was late."""


class Places:
    """The places of one tournament, each for a session."""

    def __init__(self, most: int, now_us: int) -> None:
        """Begin at the time `now_us`; there are never more than `most`."""
        self._most = most
        self._count = min(most, FIRST_PLACES)
        self._changed_us = now_us
        self._step = _STEP
        self._is_late = False

    @property
    def is_late(self) -> bool:
        """Whether the arena was late when it was last looked at."""
        return self._is_late

    def look(self, taken_count: int, now_us: int, *, is_late: bool) -> int:
        """How many there are from now on.

        Args:
            taken_count: sessions that are being played; only when that is all places, they are seen to do.
            now_us: the present.
            is_late: whether the arena has more to do than it can in time.
        """
        if is_late is not self._is_late:
            self._is_late = is_late
            self._changed_us = now_us
            if is_late:
                self._count = max(1, self._count // 2)
                self._step = _CAREFUL_STEP
        elif self.wait_us(taken_count, now_us) == 0:
            self._count = min(self._most, self._count + max(1, self._count // self._step))
            self._changed_us = now_us
        return self._count

    def wait_us(self, taken_count: int, now_us: int) -> int | None:
        """Microseconds after which it should be looked again, though nothing else happens; None: never."""
        if self._is_late:
            return LOOK_AGAIN_US
        if taken_count != self._count or self._count == self._most:
            return None
        return max(0, self._changed_us + LOOK_AGAIN_US - now_us)
