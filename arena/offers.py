"""Sessions on offer to bots that were never there: since when, and when their join limit is over.

To wait for such a bot takes nothing that a session needs, so all sessions that lack one are on
offer together, and waiting for many of them takes no longer than for one. Time is an argument.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from arena.clock import Spared
from arena.ledger import SlotEntry


@dataclass(frozen=True, slots=True)
class Moment:
    """A time: microseconds of the arena's clock, and the same as UTC in ISO 8601."""

    at_us: int
    utc: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A slot that lacks bots which were never there.

    Attributes:
        since: when it was offered.
        missing: who lacks, in seat order.
    """

    since: Moment
    missing: tuple[str, ...]


class Offers:
    """The slots that lack bots which were never there."""

    def __init__(self, join_us: int, spared_us: Spared) -> None:
        """Begin without an offer.

        Args:
            join_us: the join limit, microseconds to be there from the offer on.
            spared_us: by how much it is longer, since the arena was late meanwhile.
        """
        self._join_us = join_us
        self._spared_us = spared_us
        self._offers: dict[SlotEntry, Offer] = {}

    def renew(self, slots: Iterable[SlotEntry], unseen: AbstractSet[str], now: Moment) -> None:
        """Offer every open slot that lacks an unseen bot and is not on offer; drop the others.

        Args:
            slots: those that are open.
            unseen: bots that were never there.
            now: the present.
        """
        before, self._offers = self._offers, {}
        if not unseen:
            return
        for slot in slots:
            if unseen.isdisjoint(slot.seating):
                continue
            missing = tuple([name for name in slot.seating if name in unseen])
            known = before.get(slot)
            self._offers[slot] = Offer(now if known is None else known.since, missing)

    def hold(self, slot: SlotEntry, now_us: int) -> bool:
        """Whether a slot is not to be played yet: its bots may still come, or too many of them did not."""
        offer = self._offers.get(slot) if self._offers else None
        return offer is not None and (len(offer.missing) > 1 or self._left_us(offer.since, now_us) > 0)

    def failed(self, now_us: int) -> tuple[tuple[SlotEntry, Offer], ...]:
        """The slots whose time is over and that lack two bots or more: nobody's loss, and not played."""
        over = {since for since in self._since() if self._left_us(since, now_us) <= 0}
        if not over:
            return ()
        return tuple(
            [
                (slot, offer)
                for slot, offer in self._offers.items()
                if len(offer.missing) > 1 and offer.since in over
            ]
        )

    def withdraw(self, slot: SlotEntry) -> None:
        """An offer has come to nothing; the next one of the slot begins anew."""
        del self._offers[slot]

    def left_us(self, now_us: int) -> int | None:
        """How long until the next offer's time is over, None when none has time left."""
        left = [self._left_us(since, now_us) for since in self._since()]
        return min([us for us in left if us > 0], default=None)

    def _since(self) -> frozenset[Moment]:
        """When offers were made: thousands of slots are offered at once."""
        return frozenset([offer.since for offer in self._offers.values()])

    def _left_us(self, since: Moment, now_us: int) -> int:
        return self._join_us - (now_us - since.at_us) + self._spared_us(since.at_us, now_us)
