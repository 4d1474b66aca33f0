"""Sessions that are played at once, by a referee and answers drawn from a number: for replays and stores."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from arena.clock import ClockSettings
from arena.commitment import commitment
from arena.faults import FaultCause
from arena.messages import Answer, RejectReason, Unreadable
from arena.record import DecisionRecord, SeatInfo, SessionHeader, StrayAnswer
from arena.referee import Referee, Timing
from arena.replay import Replay, ReplayWriter
from arena.results import SeatResult, SessionResult
from arena.schedule import block_seed, session_id
from engine.cards import CARD_TEXTS
from engine.rules import make_ruleset, make_session_options

TOURNAMENT_SEED = bytes(range(32))


@dataclass(frozen=True)
class Table:
    """What to play, and how badly; `play_seed` draws the answers, `time_seed` the times."""

    seating: Sequence[str] = ("anna", "berta", "clara", "dora")
    block: int = 1
    session: int = 1
    deals: int = 2
    preset: str = "tavern"
    options: Mapping[str, object] = field(default_factory=dict)
    clock: ClockSettings = field(default_factory=ClockSettings)
    play_seed: int = 1
    time_seed: int = 1
    attempt: int = 1
    fault_rate: float = 0.1
    absent: int | None = None
    tournament_seed: bytes | None = None
    """The tournament that the session is a part of; without one it has a seed of its own."""


LIVELY = Table(
    preset="salzburg",
    deals=12,
    options={"penalty_limit": 60, "bettler": True, "last_say": True},
    fault_rate=0.2,
    clock=ClockSettings(max_strikes=4),
)
"""A session with cuts, bids, exchanges, faults and a forfeit."""


@dataclass(frozen=True)
class PlayedSession:
    """A result and its replay."""

    result: SessionResult
    text: bytes


def play(table: Table) -> PlayedSession:
    """Play a session to its end; the same table gives the same session."""
    play_draws = random.Random(table.play_seed)  # noqa: S311 - repeatable on purpose
    time_draws = random.Random(table.time_seed)  # noqa: S311 - likewise
    if table.tournament_seed is None:
        seed = sha256(f"{table.block} {table.play_seed}".encode()).digest()
    else:
        seed = block_seed(table.tournament_seed, table.block)
    nonce = sha256(f"{table.block}.{table.session}".encode()).digest()
    referee = Referee(_header(table, seed, nonce), seed, nonce)
    if table.absent is not None:
        referee.forfeit(table.absent, FaultCause.NO_HANDSHAKE, "never came")
    while referee.decision is not None:
        timing = Timing(time_draws.randrange(5000), time_draws.randrange(20))
        _decide(referee, play_draws, timing, table.fault_rate)
    return PlayedSession(referee.result(), referee.replay("2026-11-29T10:00:01.500+00:00"))


def rewrite(
    replay: Replay,
    *,
    header: SessionHeader | None = None,
    change: Callable[[DecisionRecord], DecisionRecord] = lambda record: record,
) -> bytes:
    """A replay written once more, with another header or changed records, its checks and digests in order."""
    writer = ReplayWriter(header or replay.header)
    for step in replay.steps:
        writer.event(step.event, step.decision and change(step.decision))
    for answer in replay.end.stray:
        writer.stray(answer)
    end = replay.end
    return writer.close(result_of(replay), seed=end.seed, nonce=end.nonce, ended_at=end.ended_at)


def result_of(replay: Replay) -> SessionResult:
    """The result of a replay, as far as its last line goes."""
    header, end = replay.header, replay.end
    seats = [
        SeatResult(
            bot=info.bot,
            seat=seat,
            stack=header.options.stack + end.chips[seat],
            chips=end.chips[seat],
            place=end.places[seat],
            forfeited=end.forfeited[seat],
            strikes=end.strikes[seat],
            faults=tuple(fault for fault in end.faults if fault.seat == seat),
            asked_count=0,
            decision_us=(),
        )
        for seat, info in enumerate(header.seats)
    ]
    return SessionResult(
        block=header.block,
        session=header.session,
        session_id=header.session_id,
        deals=end.deals,
        pot_left=end.pot_left,
        seats=tuple(seats),
    )


def _header(table: Table, seed: bytes, nonce: bytes) -> SessionHeader:
    ruleset = make_ruleset(table.preset, table.options)
    options = make_session_options(ruleset, {"players": len(table.seating), "deals": table.deals})
    return SessionHeader(
        tournament="tuesday",
        block=table.block,
        session=table.session,
        session_id=session_id(TOURNAMENT_SEED, table.block, table.session),
        ruleset=ruleset,
        options=options,
        seats=tuple(SeatInfo(bot, "1.0", "") for bot in table.seating),
        clock=table.clock,
        commitment=commitment(nonce, seed),
        attempt=table.attempt,
        started_at="2026-11-29T10:00:00.250+00:00",
    )


def _decide(referee: Referee, draws: random.Random, timing: Timing, fault_rate: float) -> None:
    request = referee.request()
    chance = draws.random()
    if chance < fault_rate / 2:
        referee.expire(timing, FaultCause.TIMEOUT)
        stray = StrayAnswer(
            seat=request.seat,
            reason=RejectReason.LATE,
            request_id=request.request_id,
            answer=f"card {draws.choice(CARD_TEXTS)}",
            late_us=timing.lag_us,
        )
        referee.stray(stray)
        return
    action = draws.choice(list(request.legal))
    if chance < fault_rate:
        unreadable = Answer(request.session_id, request.request_id, Unreadable("the answer is empty"))
        referee.receive(unreadable, timing)
    note = draws.choice(["", "", 'said "ü"'])
    referee.receive(Answer(request.session_id, request.request_id, action, note), timing)
