"""What the admin services say, from values to messages and back; each pair side by side.

Both ends are ours: the arena writes, the commands read. What others may write, a tournament as
a message, is read into the values that a tournament file has, and checked like one.
"""

from collections.abc import Sequence
from typing import Any, Final

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from arena.clock import US_PER_MS
from arena.ledger import TournamentState
from arena.messages import RejectReason
from arena.results import SlotCounts
from arena.standings import Estimate, Row
from arena.status import (
    BotStanding,
    BotStatus,
    Leaderboard,
    ReplayStatus,
    TournamentStatus,
    Verdict,
    VersionStatus,
)
from arena.tally import BotTally
from arena.wire.outbound import event_message
from engine.view import SeenEvent
from kratzen.v1 import admin_pb2, bot_pb2

_STATES: Final = {
    TournamentState.CREATED: admin_pb2.TOURNAMENT_STATE_CREATED,
    TournamentState.RUNNING: admin_pb2.TOURNAMENT_STATE_RUNNING,
    TournamentState.STOPPED: admin_pb2.TOURNAMENT_STATE_STOPPED,
    TournamentState.FINISHED: admin_pb2.TOURNAMENT_STATE_OVER,
}
_REJECT_REASONS: Final = {
    reason: bot_pb2.RejectReason.Value(f"REJECT_REASON_{reason.name}") for reason in RejectReason
}
_REJECT_REASON_OF: Final = {number: reason for reason, number in _REJECT_REASONS.items()}
_STATE_OF: Final = {number: state for state, number in _STATES.items()}


def _moment(at_us: int | None) -> Timestamp | None:
    """A time of microseconds since 1970; None stays None."""
    if at_us is None:
        return None
    moment = Timestamp()
    moment.FromMicroseconds(at_us)
    return moment


# ------------------------------------------------------------------ bots


def write_bot(bot: BotStatus) -> admin_pb2.RegisteredBot:
    """A registered bot."""
    return admin_pb2.RegisteredBot(
        name=bot.name,
        registered_at=_moment(bot.registered_at_us),
        revoked_at=_moment(bot.revoked_at_us),
        connected=bot.is_there,
        absence=bot.absence,
        turned_away=bot.turned_away,
        stray_answers=[
            admin_pb2.StrayAnswers(reason=_REJECT_REASONS[reason], count=count)
            for reason, count in bot.stray_counts.items()
        ],
        versions=[
            admin_pb2.BotVersion(
                version=version.version,
                build_digest=version.build_digest,
                first_seen_at=_moment(version.first_seen_at_us),
                revoked=version.is_revoked,
            )
            for version in bot.versions
        ],
    )


def read_bot(message: admin_pb2.RegisteredBot) -> BotStatus:
    """A registered bot; KeyError for a reason of stray answers that this program does not know."""
    return BotStatus(
        name=message.name,
        registered_at_us=message.registered_at.ToMicroseconds(),
        revoked_at_us=message.revoked_at.ToMicroseconds() if message.HasField("revoked_at") else None,
        is_there=message.connected,
        absence=message.absence,
        turned_away=message.turned_away,
        stray_counts={_REJECT_REASON_OF[stray.reason]: stray.count for stray in message.stray_answers},
        versions=tuple(
            [
                VersionStatus(
                    version=version.version,
                    build_digest=version.build_digest,
                    first_seen_at_us=version.first_seen_at.ToMicroseconds(),
                    is_revoked=version.revoked,
                )
                for version in message.versions
            ]
        ),
    )


def write_verdict(verdict: Verdict) -> admin_pb2.Verdict:
    """What a step of a check found."""
    return admin_pb2.Verdict(
        step=verdict.step,
        passed=verdict.passed,
        sentence=verdict.sentence,
        evidence=verdict.evidence,
        skipped=verdict.skipped,
    )


def read_verdict(message: admin_pb2.Verdict) -> Verdict:
    """What a step of a check found."""
    return Verdict(message.step, message.passed, message.sentence, tuple(message.evidence), message.skipped)


# ------------------------------------------------------------------ tournaments


def write_status(status: TournamentStatus) -> admin_pb2.Tournament:
    """How a tournament stands."""
    return admin_pb2.Tournament(
        tournament_id=status.tournament_id,
        name=status.name,
        state=_STATES[status.state],
        created_at=_moment(status.created_at_us),
        slot_count=status.counts.total,
        finished_count=status.counts.finished,
        void_count=status.counts.void,
        running_count=status.running_count,
        decision_count=status.decision_count,
        decisions_per_second=status.decisions_per_second,
        remaining_ms=status.remaining_ms,
        ante=status.ante,
        failure=status.failure,
        bots=[_write_standing(bot) for bot in status.bots],
        remarks=status.remarks,
    )


def read_status(message: admin_pb2.Tournament) -> TournamentStatus:
    """How a tournament stands; KeyError when its state is one that this program does not know."""
    finished, void = message.finished_count, message.void_count
    return TournamentStatus(
        tournament_id=message.tournament_id,
        name=message.name,
        state=_STATE_OF[message.state],
        created_at_us=message.created_at.ToMicroseconds(),
        counts=SlotCounts(finished=finished, void=void, open=message.slot_count - finished - void),
        running_count=message.running_count,
        decision_count=message.decision_count,
        decisions_per_second=message.decisions_per_second,
        remaining_ms=message.remaining_ms if message.HasField("remaining_ms") else None,
        ante=message.ante,
        failure=message.failure,
        bots=tuple([_read_standing(bot) for bot in message.bots]),
        remarks=tuple(message.remarks),
    )


def _write_standing(bot: BotStanding) -> admin_pb2.BotStanding:
    return admin_pb2.BotStanding(
        name=bot.bot,
        local=bot.is_local,
        connected=bot.is_there,
        withdrawn=bot.withdrawn,
        session_count=bot.tally.session_count,
        deal_count=bot.tally.deal_count,
        chips=bot.tally.chips,
        strike_count=bot.tally.strike_count,
    )


def _read_standing(message: admin_pb2.BotStanding) -> BotStanding:
    return BotStanding(
        bot=message.name,
        is_local=message.local,
        is_there=message.connected,
        withdrawn=message.withdrawn,
        tally=BotTally(
            session_count=message.session_count,
            deal_count=message.deal_count,
            chips=message.chips,
            strike_count=message.strike_count,
        ),
    )


# ------------------------------------------------------------------ tables


def write_leaderboard(board: Leaderboard) -> admin_pb2.GetLeaderboardResponse:
    """A tournament's table."""
    return admin_pb2.GetLeaderboardResponse(
        rows=[_write_row(row, board.versions.get(row.bot, "")) for row in board.rows],
        rated_block_count=board.rated_block_count,
        is_final=board.is_final,
        timed=board.is_timed,
    )


def read_leaderboard(message: admin_pb2.GetLeaderboardResponse) -> Leaderboard:
    """A tournament's table."""
    return Leaderboard(
        rows=tuple([_read_row(row) for row in message.rows]),
        versions={row.bot: row.version for row in message.rows},
        rated_block_count=message.rated_block_count,
        is_final=message.is_final,
        is_timed=message.timed,
    )


def _write_row(row: Row, version: str) -> admin_pb2.LeaderboardRow:
    estimate = row.chips_per_deal
    return admin_pb2.LeaderboardRow(
        place=row.place,
        bot=row.bot,
        version=version,
        rating=row.rating,
        mu=row.mu,
        sigma=row.sigma,
        chips_per_deal=admin_pb2.Estimate(
            block_count=estimate.blocks, mean=estimate.mean, low=estimate.low, high=estimate.high
        ),
        session_count=row.sessions,
        forfeit_count=row.forfeits,
        strike_count=row.strikes,
        decision_count=row.decisions,
        p50_us=_microseconds(row.p50_ms),
        p95_us=_microseconds(row.p95_ms),
        p99_us=_microseconds(row.p99_ms),
    )


def _read_row(message: admin_pb2.LeaderboardRow) -> Row:
    estimate = message.chips_per_deal
    return Row(
        place=message.place,
        bot=message.bot,
        rating=message.rating,
        mu=message.mu,
        sigma=message.sigma,
        chips_per_deal=Estimate(
            blocks=estimate.block_count,
            mean=estimate.mean if estimate.HasField("mean") else None,
            low=estimate.low if estimate.HasField("low") else None,
            high=estimate.high if estimate.HasField("high") else None,
        ),
        sessions=message.session_count,
        forfeits=message.forfeit_count,
        strikes=message.strike_count,
        decisions=message.decision_count,
        p50_ms=message.p50_us / US_PER_MS if message.HasField("p50_us") else None,
        p95_ms=message.p95_us / US_PER_MS if message.HasField("p95_us") else None,
        p99_ms=message.p99_us / US_PER_MS if message.HasField("p99_us") else None,
    )


def _microseconds(value_ms: float | None) -> int | None:
    return None if value_ms is None else round(value_ms * US_PER_MS)


# ------------------------------------------------------------------ replays


def write_replay(replay: ReplayStatus) -> admin_pb2.ReplaySummary:
    """A session of a tournament."""
    return admin_pb2.ReplaySummary(
        session_id=replay.session_id,
        block=replay.block,
        session=replay.session,
        finished=replay.is_finished,
        available=replay.is_open,
        bots=replay.bots,
        places=replay.places,
        stacks=replay.stacks,
        running=replay.is_playing,
    )


def read_replay(message: admin_pb2.ReplaySummary) -> ReplayStatus:
    """A session of a tournament."""
    return ReplayStatus(
        session_id=message.session_id,
        block=message.block,
        session=message.session,
        is_finished=message.finished,
        is_open=message.available,
        is_playing=message.running,
        bots=tuple(message.bots),
        places=tuple(message.places),
        stacks=tuple(message.stacks),
    )


def write_events(events: Sequence[SeenEvent]) -> admin_pb2.WatchSessionResponse:
    """What happened at a table, as everybody may hear it."""
    return admin_pb2.WatchSessionResponse(events=[event_message(event) for event in events])


# ------------------------------------------------------------------ a tournament as a message


def read_spec(spec: admin_pb2.TournamentSpec) -> dict[str, Any]:
    """The values of a tournament file that a message gives, as `arena.config.read_tournament` takes them.

    What the message leaves out is left out; nothing is checked here.
    """
    tournament = _plain(spec, ("name", "seed", "format", "table_size", "rotations", "sessions_at_once"))
    blocks = spec.WhichOneof("block_count")
    if blocks is not None:
        tournament[blocks] = getattr(spec, blocks)
    values: dict[str, Any] = {
        "tournament": tournament,
        "rules": {"preset": spec.preset} if spec.preset else {},
        "bots": [_bot(bot) for bot in spec.bots],
    }
    if spec.HasField("ruleset"):
        values["rules"] |= _all_fields(spec.ruleset)
    if spec.HasField("options"):
        # The number of players is that of the tables.
        values["session"] = {
            key: value for key, value in _all_fields(spec.options).items() if key != "players"
        }
    if spec.HasField("clock"):
        values["clock"] = _all_fields(spec.clock)
    return values


def _bot(bot: admin_pb2.TournamentBot) -> dict[str, Any]:
    values = _plain(bot, ("name", "sandbox"))
    return {**values, "command": list(bot.command)} if bot.command else values


def _plain(message: Message, names: Sequence[str]) -> dict[str, Any]:
    """Some fields by name, without those that say nothing."""
    return {name: _value(message, name) for name in names if getattr(message, name)}


def _all_fields(message: Message) -> dict[str, Any]:
    """Every field by name; None for one that is absent."""
    return {field.name: _value(message, field.name) for field in message.DESCRIPTOR.fields}


def _value(message: Message, name: str) -> object:
    """The value of a field: of an enum the name, less what all of its names begin with, in small letters."""
    field = message.DESCRIPTOR.fields_by_name[name]
    if field.has_presence and not message.HasField(name):
        return None
    value: object = getattr(message, name)
    if field.enum_type is None:
        return value
    known = field.enum_type.values_by_number.get(int(getattr(message, name)))
    if known is None:
        return value
    unspecified = field.enum_type.values_by_number[0].name
    return known.name.removeprefix(unspecified.removesuffix("UNSPECIFIED")).lower()
