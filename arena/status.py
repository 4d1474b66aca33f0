"""How an arena's bots and tournaments stand, and what checks find, as values for those who ask from outside.

They are made by the arena and shown by commands, which may run elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from arena.ledger import TournamentState
from arena.messages import RejectReason
from arena.results import SlotCounts
from arena.standings import Row
from arena.tally import BotTally


@dataclass(frozen=True, slots=True, kw_only=True)
class BotStanding:
    """How a bot stands in a tournament.

    Attributes:
        bot: its name.
        is_local: whether the arena starts it; otherwise it dials in.
        is_there: whether a stream of it is up now.
        withdrawn: why it no longer takes part, or empty.
        tally: its sums.
    """

    bot: str
    is_local: bool
    is_there: bool
    withdrawn: str
    tally: BotTally


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentStatus:
    """How a tournament stands.

    Attributes:
        tournament_id: the arena's own, never part of a bot's or an organiser's text.
        name: as its file has it.
        state: what it is doing.
        created_at_us: microseconds since 1970, UTC.
        counts: its slots.
        running_count: slots that are being played now; they are open.
        decision_count: decisions that bots were asked in finished sessions; 0 in lists.
        decisions_per_second: since it was started last; 0 unless it runs.
        remaining_ms: how long it will take from now on; None when that is not known.
        ante: chips.
        failure: why it stopped by itself, or empty.
        bots: in the order of its file; empty in lists.
        remarks: what an organiser should know of all its runs, a sentence each.
    """

    tournament_id: str
    name: str
    state: TournamentState
    created_at_us: int
    counts: SlotCounts
    ante: int
    running_count: int = 0
    decision_count: int = 0
    decisions_per_second: float = 0.0
    remaining_ms: int | None = None
    failure: str = ""
    bots: tuple[BotStanding, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """A tournament's table.

    Attributes:
        rows: best first.
        versions: of the bots, as they were first seen; empty before that.
        rated_block_count: blocks whose rating step is in it.
        is_final: whether nothing more will change.
        is_timed: whether there are clocks; without them nothing is rated.
    """

    rows: tuple[Row, ...]
    versions: Mapping[str, str]
    rated_block_count: int
    is_final: bool
    is_timed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStatus:
    """A version that a registered bot has come as.

    Attributes:
        version: as the bot gave it.
        build_digest: likewise.
        first_seen_at_us: microseconds since 1970, UTC.
        is_revoked: whether it is not let in any more.
    """

    version: str
    build_digest: str
    first_seen_at_us: int
    is_revoked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BotStatus:
    """A registered bot.

    Attributes:
        name: its name.
        registered_at_us: microseconds since 1970, UTC.
        revoked_at_us: when it was revoked; None while its token is valid.
        is_there: whether a stream of it is up.
        absence: what became of its last stream, or what it was told when it was turned away last, in a
            sentence; empty when it is there, and when it was not there since the arena began.
        turned_away: whether `absence` is what it was told.
        stray_counts: its answers that fitted no open request, since the arena began, by reason.
        versions: in the order of their first coming.
    """

    name: str
    registered_at_us: int
    revoked_at_us: int | None
    is_there: bool
    absence: str = ""
    turned_away: bool = False
    stray_counts: Mapping[RejectReason, int] = field(default_factory=dict)
    versions: tuple[VersionStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a step of a bot's check found.

    Attributes:
        step: its name.
        passed: whether the bot did what the contract asks.
        sentence: what was seen.
        evidence: lines for its author when it failed: what was sent, what came back.
        skipped: whether it was not taken at all, because it could tell nothing new.
    """

    step: str
    passed: bool
    sentence: str
    evidence: tuple[str, ...] = ()
    skipped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStatus:
    """A session of a tournament, and whether its replay may be fetched.

    Attributes:
        session_id: 32 hex digits.
        block: number of the block, from 1.
        session: number within the block, from 1.
        is_finished: whether it was played to the end.
        is_open: whether its whole block is over besides, so that its replay gives nothing away.
        is_playing: whether it is being played now.
        bots: names by seat.
        places: by seat; empty unless it is finished.
        stacks: chips at the end by seat; empty unless it is finished.
    """

    session_id: str
    block: int
    session: int
    is_finished: bool
    is_open: bool
    is_playing: bool = False
    bots: tuple[str, ...]
    places: tuple[int, ...] = ()
    stacks: tuple[int, ...] = ()
