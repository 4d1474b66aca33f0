"""Who may come in, by number: streams of bots, watchers, strangers, and what follows wrong tokens.

A state machine that is told what happens and hands back what to do; it knows neither sockets
nor clocks (time is an argument). Whether a token is right is `arena.auth`'s to say.
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Final

from arena.clock import US_PER_MS

REMEMBERED_ADDRESSES: Final = 4096
"""Addresses whose wrong tokens are counted; the one that was quiet longest is forgotten first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorLimits:
    """How many may come in.

    Attributes:
        max_connections: connections on one address, before anything is known of who is there.
        max_streams: streams of all bots together.
        max_streams_per_bot: streams with one bot's token, of which one at most has said Hello.
        max_watchers: calls that watch a tournament or a session, or check a bot.
        max_guests: calls without a token that are being listened to.
        max_guests_per_address: the same of one address.
        guest_ms: how long such a call is listened to.
        max_health_watchers: calls that watch the arena's health, for which no token is needed.
        free_failures: wrong tokens of one address in `failure_window_ms` that are answered at once.
        failure_window_ms: how long a wrong token counts.
        hold_ms: how long the answer to a wrong token is held back after that.
        max_held: answers that are held back at one time; more are given at once. Each is a call that the
            collector of garbage looks at again and again, while everybody waits: so not many.
    """

    max_connections: int = 4096
    max_streams: int = 1024
    max_streams_per_bot: int = 4
    max_watchers: int = 64
    max_guests: int = 16
    max_guests_per_address: int = 4
    guest_ms: int = 5000
    max_health_watchers: int = 64
    free_failures: int = 10
    failure_window_ms: int = 60_000
    hold_ms: int = 1000
    max_held: int = 64


@dataclass(slots=True)
class _Failures:
    """Wrong tokens of one address since `since_us`."""

    since_us: int
    count: int = 0


class Door:
    """Counts who is in, and who tried to get in with a wrong token."""

    def __init__(self, limits: DoorLimits) -> None:
        self.limits = limits
        self._streams: Counter[str] = Counter()
        self._watchers = 0
        self._guests: Counter[str] = Counter()
        self._health_watchers = 0
        self._held = 0
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    # ------------------------------------------------------------------ those with a token

    def enter(self, bot_name: str) -> str | None:
        """A stream of a bot comes: None when it may, and is counted until `leave`; else why not."""
        if self._streams[bot_name] >= self.limits.max_streams_per_bot:
            return (
                f"this bot's token has {self._streams[bot_name]} streams open, as many as are allowed: "
                "close one first, and run one process a token"
            )
        if self._streams.total() >= self.limits.max_streams:
            return f"{self.limits.max_streams} streams are open, as many as this arena takes: try again later"
        self._streams[bot_name] += 1
        return None

    def leave(self, bot_name: str) -> None:
        """A stream that was let in is over."""
        self._streams[bot_name] -= 1
        if not self._streams[bot_name]:
            del self._streams[bot_name]

    def enter_watcher(self) -> str | None:
        """Somebody wants to watch: None when they may, counted until `leave_watcher`; else why not."""
        if self._watchers >= self.limits.max_watchers:
            return f"{self._watchers} are watching, as many as this arena takes: try again later"
        self._watchers += 1
        return None

    def leave_watcher(self) -> None:
        """Somebody watches no longer."""
        self._watchers -= 1

    # ------------------------------------------------------------------ those without

    def enter_guest(self, address: str) -> str | None:
        """A call without a token comes: None when it is listened to, until `leave_guest`; else why not."""
        if self._guests[address] >= self.limits.max_guests_per_address:
            return f"this arena listens to {self._guests[address]} calls of this address already: try again"
        if self._guests.total() >= self.limits.max_guests:
            return f"this arena listens to {self.limits.max_guests} calls without a token already: try again"
        self._guests[address] += 1
        return None

    def leave_guest(self, address: str) -> None:
        """A call without a token is listened to no longer."""
        self._guests[address] -= 1
        if not self._guests[address]:
            del self._guests[address]

    def enter_health_watcher(self) -> str | None:
        """As `enter_watcher`, for the arena's health."""
        if self._health_watchers >= self.limits.max_health_watchers:
            return f"{self._health_watchers} are watching its health, as many as this arena takes: use Check"
        self._health_watchers += 1
        return None

    def leave_health_watcher(self) -> None:
        """Somebody watches the arena's health no longer."""
        self._health_watchers -= 1

    def failures(self, address: str) -> int:
        """Wrong tokens that an address showed in its present window."""
        known = self._failures.get(address)
        return 0 if known is None else known.count

    @property
    def failure_count(self) -> int:
        """Wrong tokens that were shown, by all addresses in their present windows."""
        return sum([known.count for known in self._failures.values()])

    def hold(self, address: str, now_us: int) -> int:
        """Count a wrong token; for how many milliseconds its answer is to be held back.

        Unless that is 0, `release` must follow.
        """
        known = self._failures.get(address)
        if known is None or now_us - known.since_us > self.limits.failure_window_ms * US_PER_MS:
            known = self._failures[address] = _Failures(now_us)
        known.count += 1
        self._failures.move_to_end(address)
        if len(self._failures) > REMEMBERED_ADDRESSES:
            self._failures.popitem(last=False)
        if known.count <= self.limits.free_failures or self._held >= self.limits.max_held:
            return 0
        self._held += 1
        return self.limits.hold_ms

    def release(self) -> None:
        """An answer that was held back is given."""
        self._held -= 1


def address_of(peer: str) -> str:
    """The address of a peer as gRPC names it (`ipv4:10.0.0.7:51324`), without its port."""
    if peer.startswith(("ipv4:", "ipv6:")):
        return peer.rpartition(":")[0]
    return peer.partition(":")[0]
