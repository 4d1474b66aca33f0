"""What can be read out of a tournament's store for those who ask: its table, its sessions, a replay.

Reading alone, of a tournament that is played or at rest; each function waits for a disk.
"""

from dataclasses import dataclass

from arena.ledger import BotEnd, TournamentFacts, TournamentState
from arena.results import SessionResult, SlotCounts
from arena.schedule import session_id
from arena.standings import leaderboard
from arena.status import Leaderboard, ReplayStatus
from arena.store import StoreError, StoreReader


@dataclass(frozen=True, slots=True)
class KeptReplay:
    """A session's replay as text, its block, and whether that is over."""

    text: bytes
    block: int
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a list says of a tournament, read without all the results.

    Attributes:
        facts: what it was made from.
        counts: its slots by state.
        bots: names, in the order of its file.
        bot_ends: how bots that the arena started ended so far, in order.
    """

    facts: TournamentFacts
    counts: SlotCounts
    bots: tuple[str, ...]
    bot_ends: tuple[BotEnd, ...]


def brief_of(store: StoreReader) -> Brief:
    """What a list says of a tournament."""
    return Brief(
        facts=store.facts(),
        counts=store.slot_counts(),
        bots=tuple([bot.bot for bot in store.bots()]),
        bot_ends=store.bot_ends(),
    )


def state_at_rest(facts: TournamentFacts) -> TournamentState:
    """The state of a tournament that nobody plays: one that was killed while it ran is stopped."""
    return TournamentState.STOPPED if facts.state is TournamentState.RUNNING else facts.state


def leaderboard_of(store: StoreReader) -> Leaderboard:
    """The table as it stands."""
    return Leaderboard(
        rows=leaderboard(store.ratings(), store.block_results(), store.results()),
        versions={bot.bot: bot.version or "" for bot in store.bots()},
        rated_block_count=len(store.rating_steps()),
        is_final=not store.slot_counts().open,
        is_timed=store.facts().timed,
    )


def replays_of(store: StoreReader) -> tuple[ReplayStatus, ...]:
    """All sessions in schedule order."""
    seed, blocks = store.facts().seed, _blocks_over(store)
    results = {(result.block, result.session): result for result in store.results()}
    return tuple(
        [
            _replay_status(
                session_id(seed, slot.block, slot.session),
                slot.block,
                slot.session,
                slot.seating,
                results.get((slot.block, slot.session)),
                is_over=slot.block in blocks,
            )
            for slot in store.slots()
        ]
    )


def replay_of(store: StoreReader, session: str) -> KeptReplay:
    """The replay of a session as `StoreReader.find` finds it; LookupError when there is none."""
    try:
        entry = store.find(session)
    except StoreError as error:
        raise LookupError(str(error)) from None
    block = entry.result.block
    return KeptReplay(store.replay(entry), block, block in _blocks_over(store))


def _blocks_over(store: StoreReader) -> frozenset[int]:
    return frozenset([result.block for result in store.block_results()])


def _replay_status(
    its_id: str,
    block: int,
    session: int,
    bots: tuple[str, ...],
    result: SessionResult | None,
    *,
    is_over: bool,
) -> ReplayStatus:
    seats = () if result is None else result.seats
    return ReplayStatus(
        session_id=its_id,
        block=block,
        session=session,
        is_finished=result is not None,
        is_open=result is not None and is_over,
        bots=bots,
        places=tuple([seat.place for seat in seats]),
        stacks=tuple([seat.stack for seat in seats]),
    )
