import asyncio
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from arena import link
from arena.check import SPEED_DECISIONS
from arena.config import parse_tournament
from arena.hall import MAX_EVENTS_BEHIND
from arena.launcher import MAX_RESTARTS, ExitKind
from arena.ledger import BotEnd, TournamentState
from arena.messages import Goodbye, GoodbyeReason, SessionOver, SessionStart
from arena.refusals import Refusal, RefusedError
from arena.replay import parse
from arena.replay_verify import verify
from arena.results import SlotCounts
from arena.schedule import FORMATS, Block, Plan, round_robin
from arena.status import Verdict
from arena.store import Registry, RegistryBot, Store, StoreError, StoreLockedError
from engine.events import DealBegan, ExchangeSeen, SessionEnded
from engine.view import ActionSeen, DealtSeen
from tests.arena.bots import LinkedBot, Returning
from tests.arena.halls import FILE, NAMES, HeldDisk, Hesitant, TestHall, file_with, last_legal, open_hall

LIMIT_S = 20
"""What is waited for is there by then, or never."""


def goodbyes(bot: LinkedBot) -> list[GoodbyeReason]:
    """Why a bot was sent away."""
    bot.read()
    return [message.reason for message in bot.heard_of(Goodbye) if isinstance(message, Goodbye)]


async def test_a_tournament_is_played_from_entry_to_table(tmp_path: Path) -> None:
    """Created, started, watched to its end: every slot is finished, the table final, the bots stay."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        bots = [arena.come(name) for name in NAMES]
        tournament_id = await arena.create()
        end = await arena.play(tournament_id)
        assert end.state is TournamentState.FINISHED
        assert end.counts == SlotCounts(finished=8, void=0, open=0)
        assert end == await arena.hall.status(tournament_id)
        board = await arena.hall.leaderboard(tournament_id)
        assert (board.is_final, board.rated_block_count, len(board.rows)) == (True, 2, 4)
        assert board.versions == dict.fromkeys(NAMES, "1")
        assert [goodbyes(bot) for bot in bots] == [[], [], [], []]
        assert all(bot.is_there and not bot.is_local for bot in end.bots)


async def test_watching_counts_up_and_ends(tmp_path: Path) -> None:
    """Every status of a watched tournament keeps the number of slots, and finished ones never fall."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        for name in NAMES:
            arena.come(name)
        tournament_id = await arena.create()
        (before,) = [status async for status in arena.hall.watch(tournament_id)]
        assert before.state is TournamentState.CREATED
        await arena.hall.start(tournament_id)
        seen = [status async for status in arena.hall.watch(tournament_id)]
        assert [status.counts.total for status in seen] == [8] * len(seen)
        finished = [status.counts.finished for status in seen]
        assert finished == sorted(finished)
        assert [status.state for status in seen[:-1]] == [TournamentState.RUNNING] * (len(seen) - 1)


async def test_a_running_tournament_tells_its_pace(tmp_path: Path) -> None:
    """Nothing before the first session is over, then decisions a second and the time left."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(8)
        tournament_id = await arena.create(file_with().replace("join_ms = 0", "join_ms = 30000"))
        await arena.hall.start(tournament_id)
        before = await arena.hall.status(tournament_id)
        assert (before.decisions_per_second, before.remaining_ms) == (0, None)
        for name in NAMES[1:]:
            arena.come(name)
        arena.come("alice", hesitant)
        await hesitant.stuck.wait()
        running = await arena.hall.status(tournament_id)
        assert running.counts.finished
        assert running.decisions_per_second > 0
        assert running.remaining_ms is not None


async def test_tournaments_are_listed_the_newest_first(tmp_path: Path) -> None:
    """The list has ids of our own, and every tournament once."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        assert [await arena.create(), await arena.create()] == ["1", "2"]
        assert [entry.tournament_id for entry in await arena.hall.tournaments()] == ["2", "1"]


async def test_a_schedule_that_takes_long_delays_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is being made, bots are registered and tournaments are played and stopped."""
    loop, began, goes_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def takes_long(plan: Plan) -> tuple[Block, ...]:
        loop.call_soon_threadsafe(began.set)
        goes_on.wait()
        return round_robin(plan)

    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(3)
        arena.all_come(hesitant)
        tournament_id = await arena.create()
        monkeypatch.setitem(FORMATS, "round_robin", takes_long)
        creating = asyncio.create_task(arena.create())
        try:
            async with asyncio.timeout(LIMIT_S):
                await began.wait()
                await arena.hall.add_bot("erin")
                await arena.hall.start(tournament_id)
                await hesitant.stuck.wait()
                assert (await arena.hall.stop(tournament_id)).state is TournamentState.STOPPED
        finally:
            goes_on.set()
        assert await creating == "2"


async def test_a_stop_does_not_wait_for_a_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asked for the tournament is told why it is not entered (F9)."""
    loop, began, goes_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def takes_long(plan: Plan) -> tuple[Block, ...]:
        loop.call_soon_threadsafe(began.set)
        goes_on.wait()
        return round_robin(plan)

    monkeypatch.setitem(FORMATS, "round_robin", takes_long)
    async with open_hall(tmp_path) as arena:
        await arena.register()
        creating = asyncio.create_task(arena.hall.carry(arena.create))
        try:
            async with asyncio.timeout(LIMIT_S):
                await began.wait()
                await arena.hall.close()
                with pytest.raises(RefusedError, match="the arena is stopping"):
                    await creating
        finally:
            goes_on.set()


async def test_a_damaged_tournament_does_not_hide_the_others(tmp_path: Path) -> None:
    """Its line in the list says what is wrong; whoever asks for it is told, too."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        damaged, sound = await arena.create(), await arena.create()
        (tmp_path / "tournaments" / damaged / "store.sqlite").write_bytes(b"no database at all" * 100)
        entries = {entry.tournament_id: entry for entry in await arena.hall.tournaments()}
        assert entries[sound].failure == ""
        assert "cannot be used" in entries[damaged].failure
        with pytest.raises(StoreError):
            await arena.hall.status(damaged)


async def test_a_stopped_tournament_goes_on_to_the_same_table(tmp_path: Path) -> None:
    """Stopped in the middle of its third session and started again, in another arena: the same table."""
    async with open_hall(tmp_path / "straight") as arena:
        await arena.register()
        for name in NAMES:
            arena.come(name)
        tournament_id = await arena.create()
        await arena.play(tournament_id)
        straight = await arena.hall.leaderboard(tournament_id)
    async with open_hall(tmp_path / "stopped") as arena:
        await arena.register()
        hesitant = Hesitant(20)
        arena.come("alice", hesitant)
        for name in NAMES[1:]:
            arena.come(name)
        tournament_id = await arena.create()
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        stopped = await arena.hall.stop(tournament_id)
        assert stopped.state is TournamentState.STOPPED
        assert 0 < stopped.counts.finished < 8
        assert stopped.counts.open == 8 - stopped.counts.finished
    async with open_hall(tmp_path / "stopped") as arena:
        assert (await arena.hall.status(tournament_id)).state is TournamentState.STOPPED
        for name in NAMES:
            arena.come(name)
        assert (await arena.play(tournament_id)).state is TournamentState.FINISHED
        resumed = await arena.hall.leaderboard(tournament_id)
    times = {"p50_ms": 0, "p95_ms": 0, "p99_ms": 0}
    assert [_without(row, times) for row in resumed.rows] == [_without(row, times) for row in straight.rows]


def _without(row: object, replaced: dict[str, int]) -> dict[str, object]:
    return {name: replaced.get(name, getattr(row, name)) for name in row.__dataclass_fields__}  # type: ignore[attr-defined]


async def test_an_arena_that_was_killed_lists_its_tournament_as_stopped(tmp_path: Path) -> None:
    """A store that still says "running" is of a tournament that can be gone on with."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        tournament_id = await arena.create()
    with Store.open(tmp_path / "tournaments" / tournament_id) as store:
        store.set_state(TournamentState.RUNNING)
    async with open_hall(tmp_path) as arena:
        assert (await arena.hall.status(tournament_id)).state is TournamentState.STOPPED
        assert [entry.state for entry in await arena.hall.tournaments()] == [TournamentState.STOPPED]


async def test_closing_the_arena_tells_every_bot_and_what_is_left(tmp_path: Path) -> None:
    """Bots are told to come back, the running tournament is stopped and named as one to go on with."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(3)
        bots = [arena.come("alice", hesitant), *[arena.come(name) for name in NAMES[1:]]]
        tournament_id = await arena.create()
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        watched = aiter(arena.hall.watch(tournament_id))
        assert (await anext(watched)).state is TournamentState.RUNNING
        (left,) = await arena.hall.close()
        assert (left.tournament_id, left.state) == (tournament_id, TournamentState.STOPPED)
        assert [status.state async for status in watched] == [TournamentState.STOPPED]
        assert [goodbyes(bot) for bot in bots] == [[GoodbyeReason.STOPPING]] * 4
        with pytest.raises(RefusedError, match="stopping"):
            await arena.hall.start(tournament_id)


async def test_closing_the_arena_stops_tournaments_whoever_has_the_turn(tmp_path: Path) -> None:
    """Bots that are being added or revoked, and wait for a disk, delay no stop; it is named all the same."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(3)
        arena.all_come(hesitant)
        tournament_id = await arena.create()
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        async with arena.hall._turn:
            closing = asyncio.create_task(arena.hall.close())
            async with asyncio.timeout(LIMIT_S):
                assert (await arena.end_of(tournament_id)).state is TournamentState.STOPPED
        (left,) = await closing
        assert left.tournament_id == tournament_id


# ------------------------------------------------------------------ who may play


async def refused(call: object, refusal: Refusal) -> str:
    """The sentence that a call is refused with."""
    with pytest.raises(RefusedError) as caught:
        await call  # type: ignore[misc]
    assert caught.value.refusal is refusal
    assert str(caught.value).isprintable()
    return str(caught.value)


async def test_a_bot_that_is_not_registered_is_named(tmp_path: Path) -> None:
    """A tournament with a stranger can be neither entered nor, after a revocation, started."""
    async with open_hall(tmp_path) as arena:
        await arena.register(NAMES[:3])
        create = arena.hall.create(parse_tournament(file_with()), "")
        assert "bot dave has no command" in await refused(create, Refusal.NOT_NOW)
        await arena.register(("dave",))
        tournament_id = await arena.create()
        await arena.hall.revoke_bot("dave")
        assert "kratzen bots add dave" in await refused(arena.hall.start(tournament_id), Refusal.NOT_NOW)


async def test_a_command_and_a_token_do_not_go_together(tmp_path: Path) -> None:
    """A name is either a bot's that dials in or one's that is started here, at any moment."""
    text = file_with(NAMES[:3]) + '[[bots]]\nname = "dave"\ncommand = "python bot.py"\n'
    async with open_hall(tmp_path) as arena:
        await arena.register()
        create = arena.hall.create(parse_tournament(text), str(tmp_path))
        assert "bot dave has a command in the file, and is registered" in await refused(
            create, Refusal.BAD_INPUT
        )


@pytest.mark.parametrize("folder", ["", "nowhere", "\x1b[2J"])
async def test_bots_with_a_command_need_their_folder(tmp_path: Path, folder: str) -> None:
    """A folder that is not on this machine is refused, and shown without control codes."""
    text = file_with(NAMES[:3]) + '[[bots]]\nname = "dave"\ncommand = "python bot.py"\n'
    async with open_hall(tmp_path) as arena:
        await arena.register(NAMES[:3])
        create = arena.hall.create(parse_tournament(text), folder)
        assert "is not there" in await refused(create, Refusal.BAD_INPUT)


async def test_a_bot_plays_in_one_tournament_at_a_time(tmp_path: Path) -> None:
    """A second tournament with the same bots is refused while the first one runs, naming bot and id."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(1)
        for name in NAMES:
            arena.come(name, hesitant)
        first, second = await arena.create(), await arena.create()
        await arena.hall.start(first)
        await hesitant.stuck.wait()
        said = await refused(arena.hall.start(second), Refusal.NOT_NOW)
        assert "bot alice plays in tournament 1" in said
        assert "is running already" in await refused(arena.hall.start(first), Refusal.NOT_NOW)
        await arena.hall.stop(first)
        await arena.hall.start(second)
        assert (await arena.hall.status(second)).state is TournamentState.RUNNING


async def test_what_is_over_or_unknown_is_said(tmp_path: Path) -> None:
    """A finished tournament is not started, one that does not run is not stopped, an odd id not repeated."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        for name in NAMES:
            arena.come(name)
        tournament_id = await arena.create()
        assert "is not running" in await refused(arena.hall.stop(tournament_id), Refusal.NOT_NOW)
        await arena.play(tournament_id)
        assert "finished" in await refused(arena.hall.start(tournament_id), Refusal.NOT_NOW)
        for unknown in ("2", "", "../1", "\x1b[2J", "1" * 5000):
            said = await refused(arena.hall.status(unknown), Refusal.UNKNOWN)
            assert len(said) < 100


async def test_a_store_that_is_in_use_is_not_started(tmp_path: Path) -> None:
    """Another process on the tournament's folder is named; the arena lives on."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        tournament_id = await arena.create()
        with Store.open(tmp_path / "tournaments" / tournament_id), pytest.raises(StoreLockedError):
            await arena.hall.start(tournament_id)
        assert (await arena.hall.status(tournament_id)).state is TournamentState.CREATED


# ------------------------------------------------------------------ revoking


async def test_revoking_a_bot_closes_its_stream_and_voids_its_slots(tmp_path: Path) -> None:
    """It is told why, its token is void, the session in flight is forfeited, the rest of its slots void."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(1)
        alice = arena.all_come(hesitant)
        tournament_id = await arena.create()
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        assert await arena.hall.revoke_bot("alice") == (tournament_id,)
        end = await arena.end_of(tournament_id)
        assert goodbyes(alice) == [GoodbyeReason.REVOKED]
        assert end.state is TournamentState.FINISHED
        assert end.counts == SlotCounts(finished=1, void=7, open=0)
        assert [bot.withdrawn != "" for bot in end.bots] == [True, False, False, False]
        assert end.counts == (await arena.hall.status(tournament_id)).counts
        (_, *others) = await arena.hall.bots()
        assert all(bot.revoked_at_us is None for bot in others)
        replays = await arena.hall.replays(tournament_id)
        (finished,) = [replay for replay in replays if replay.is_finished]
        assert finished.places[finished.bots.index("alice")] == 4


async def test_revoking_opens_the_name_for_another_token(tmp_path: Path) -> None:
    """The old token is not taken any more, a new registration's is, and that bot comes as a new one."""
    async with open_hall(tmp_path) as arena:
        tokens = arena.premises.tokens
        first = await arena.hall.add_bot("alice")
        assert tokens.bot_of(f"Bearer {first}") == "alice"
        await arena.hall.revoke_bot("alice")
        assert tokens.bot_of(f"Bearer {first}") is None
        second = await arena.hall.add_bot("alice")
        assert tokens.bot_of(f"Bearer {second}") == "alice"
        assert goodbyes(arena.come("alice")) == []


async def test_who_was_revoked_meanwhile_is_withdrawn_when_a_tournament_goes_on(tmp_path: Path) -> None:
    """A tournament that began with a bot goes on without it: the bot's open slots are void."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(20)
        arena.come("alice", hesitant)
        for name in NAMES[1:]:
            arena.come(name)
        tournament_id = await arena.create()
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        stopped = await arena.hall.stop(tournament_id)
        await arena.hall.revoke_bot("alice")
        end = await arena.play(tournament_id)
        assert end.counts == SlotCounts(finished=stopped.counts.finished, void=stopped.counts.open, open=0)


async def test_who_was_withdrawn_and_never_came_is_not_asked_for_when_a_tournament_goes_on(
    tmp_path: Path,
) -> None:
    """A bot that was revoked during a run has no open slots, and need not be registered for the rest."""
    async with open_hall(tmp_path) as arena:
        await arena.register((*NAMES, "erin"))
        hesitant = Hesitant(1)
        alice = arena.all_come(hesitant)
        tournament_id = await arena.create(file_with((*NAMES, "erin")))
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        await arena.hall.revoke_bot("erin")
        stopped = await arena.hall.stop(tournament_id)
        hesitant.go_on(alice)
        end = await arena.play(tournament_id)
        assert end.state is TournamentState.FINISHED
        assert end.counts.void == stopped.counts.void > 0


async def test_a_version_can_be_revoked_alone(tmp_path: Path) -> None:
    """That version is sent away and not let in again, another one is; both are listed."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        old = arena.come("alice", version="1")
        await arena.versions_written()
        assert await arena.hall.revoke_bot("alice", "1") == ()
        assert goodbyes(old) == [GoodbyeReason.REVOKED]
        assert goodbyes(arena.come("alice", version="1")) == [GoodbyeReason.REFUSED]
        assert goodbyes(arena.come("alice", version="2")) == []
        await arena.versions_written()
        (alice, *_) = await arena.hall.bots()
        assert alice.is_there
        assert [(version.version, version.is_revoked) for version in alice.versions] == [
            ("1", True),
            ("2", False),
        ]


async def test_a_version_does_not_slip_in_while_it_is_being_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever says Hello as that version while the registry is asked is sent away all the same."""
    loop, its_bot = asyncio.get_running_loop(), Registry.bot
    async with open_hall(tmp_path) as arena:
        await arena.register()
        arena.come("alice", version="1")
        await arena.versions_written()

        def come_meanwhile(registry: Registry, name: str) -> RegistryBot | None:
            loop.call_soon_threadsafe(arena.come, name)
            return its_bot(registry, name)

        monkeypatch.setattr(Registry, "bot", come_meanwhile)
        await arena.hall.revoke_bot("alice", "1")
        assert not arena.premises.lobby.member("alice").is_there


async def test_a_revoked_version_stays_out_after_a_restart(tmp_path: Path) -> None:
    """What was revoked is kept in the data folder."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        arena.come("alice", version="1")
        await arena.versions_written()
        await arena.hall.revoke_bot("alice", "1")
    async with open_hall(tmp_path) as arena:
        assert goodbyes(arena.come("alice", version="1")) == [GoodbyeReason.REFUSED]


async def test_what_waits_to_be_written_of_bots_that_come_is_bounded(tmp_path: Path) -> None:
    """However many versions come while the disk is busy, one write waits; all of them are written by it."""
    disk = HeldDisk()
    async with open_hall(tmp_path, disk) as arena:
        await arena.register(("alice", "bob"))
        with disk.held():
            for number in range(100):
                arena.come("alice", version=f"1.{number}")
                arena.come("bob", version=f"2.{number}")
                await asyncio.sleep(0)
            assert disk.waiting == 1
        await arena.versions_written()
        assert [len(bot.versions) for bot in await arena.hall.bots()] == [100, 100]


async def test_a_version_that_is_not_written_yet_can_be_revoked(tmp_path: Path) -> None:
    """What a bot has just come as is known, though the disk has not had the time for it."""
    disk = HeldDisk()
    async with open_hall(tmp_path, disk) as arena:
        await arena.register()
        with disk.held():
            arena.come("alice", version="1")
            await disk.asked.wait()
            latest = arena.come("alice", version="2")
            revoking = asyncio.create_task(arena.hall.revoke_bot("alice", "2"))
            await asyncio.sleep(0)
        assert await revoking == ()
        assert goodbyes(latest) == [GoodbyeReason.REVOKED]


async def test_versions_are_counted_over_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot that has come as too many is let in as none but those, by another arena and after revocations."""
    monkeypatch.setattr(link, "MAX_VERSIONS", 2)
    async with open_hall(tmp_path) as arena:
        await arena.register()
        for version in ("1", "2"):
            assert goodbyes(arena.come("alice", version=version)) == []
    async with open_hall(tmp_path) as arena:
        assert goodbyes(arena.come("alice", version="3")) == [GoodbyeReason.REFUSED]
        assert goodbyes(arena.come("alice", version="2")) == []
        await arena.hall.revoke_bot("alice", "2")
        assert goodbyes(arena.come("alice", version="3")) == [GoodbyeReason.REFUSED]
        await arena.hall.revoke_bot("alice")
        await arena.hall.add_bot("alice")
        assert goodbyes(arena.come("alice", version="3")) == [GoodbyeReason.REFUSED]
        assert goodbyes(arena.come("alice", version="1")) == []


async def test_a_tournament_keeps_to_the_version_that_it_began_with(tmp_path: Path) -> None:
    """Who is there as another version when it goes on is sent away; the right one plays to the end."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(20)
        alice = arena.all_come(hesitant)
        tournament_id = await arena.create()
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        await arena.hall.stop(tournament_id)
        alice.vanish()
        other = arena.come("alice", version="2")
        assert goodbyes(other) == []
        await arena.hall.start(tournament_id)
        assert goodbyes(other) == [GoodbyeReason.REFUSED]
        arena.come("alice", version="1")
        assert (await arena.end_of(tournament_id)).counts.finished == 8
        assert goodbyes(arena.come("alice", version="2")) == []


async def test_a_bot_that_was_given_up_is_remarked_on_after_a_restart(tmp_path: Path) -> None:
    """Status and list tell it from the store, over all runs; one that may be started again is told of too."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        tournament_id = await arena.create()
        folder = arena.hall._entries[tournament_id].folder
    with Store.open(folder) as store:
        for name, count in (("alice", MAX_RESTARTS + 1), (NAMES[1], 1)):
            for code in range(count):
                end = BotEnd(bot=name, kind=ExitKind.EXITED, sentence=f"exited with code {code}")
                store.record_bot_end(end, "2026-11-29T10:00:00+00:00")
    remarks = (
        (
            "bot alice ended 4 times and is not started again: it exited with code 3; "
            f"its log is {folder}/logs/01-alice.log"
        ),
        (
            f"bot {NAMES[1]} ended once (it is started again 3 times at most): it exited with code 0; "
            f"its log is {folder}/logs/02-{NAMES[1]}.log"
        ),
    )
    async with open_hall(tmp_path) as arena:
        assert (await arena.hall.status(tournament_id)).remarks == remarks
        assert [status.remarks for status in await arena.hall.tournaments()] == [remarks]


# ------------------------------------------------------------------ replays


async def test_a_replay_is_there_once_its_block_is_over(tmp_path: Path) -> None:
    """Not while a session of the block is open; then it is the whole session, and it verifies."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(8)
        arena.come("alice", hesitant)
        for name in NAMES[1:]:
            arena.come(name)
        tournament_id = await arena.create()
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        replays = await arena.hall.replays(tournament_id)
        assert [(replay.block, replay.session) for replay in replays] == [
            (block, session) for block in (1, 2) for session in (1, 2, 3, 4)
        ]
        assert replays[0].is_finished
        assert not replays[0].is_open
        assert sum(replay.is_playing for replay in replays) == 1
        said = await refused(arena.hall.replay(tournament_id, "1.1"), Refusal.NOT_NOW)
        assert "block 1 is still being played" in said
        await refused(arena.hall.replay(tournament_id, "2.4"), Refusal.UNKNOWN)
        await arena.hall.stop(tournament_id)
        arena.come("alice")
        await arena.play(tournament_id)
        text = await arena.hall.replay(tournament_id, "1.1")
        assert verify(text) is None
        assert parse(text).header.session_id == replays[0].session_id
        assert all(replay.is_open for replay in await arena.hall.replays(tournament_id))


async def test_a_session_is_watched_without_anybodys_cards(tmp_path: Path) -> None:
    """From the start of the running deal on to the end: no hand, no card laid away, no private exchange."""
    text = FILE.replace('muss_after = "normal_failure"', 'preset = "salzburg"')
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(2, last_legal)
        alice = arena.all_come(hesitant, last_legal)
        tournament_id = await arena.create(file_with(text=text))
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        (playing,) = [replay for replay in await arena.hall.replays(tournament_id) if replay.is_playing]
        watched = aiter(arena.hall.watch_session(tournament_id, playing.session_id))
        events = list(await anext(watched))
        assert isinstance(events[0], DealBegan)
        hesitant.go_on(alice)
        async for more in watched:
            events += more
        assert isinstance(events[-1], SessionEnded)
        assert {type(event) for event in events} >= {DealtSeen, ActionSeen, ExchangeSeen}
        for event in events:
            if isinstance(event, DealtSeen):
                assert event.hand == ()
        await arena.end_of(tournament_id)
        said = await refused(
            anext(arena.hall.watch_session(tournament_id, playing.session_id)), Refusal.NOT_NOW
        )
        assert "being played" in said


async def test_a_watcher_who_does_not_keep_up_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a number of events behind, the watching ends with the reason."""
    assert MAX_EVENTS_BEHIND > 100
    monkeypatch.setattr("arena.hall.MAX_EVENTS_BEHIND", 3)
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(2)
        for name in NAMES:
            arena.come(name, hesitant)
        tournament_id = await arena.create()
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        (playing,) = [replay for replay in await arena.hall.replays(tournament_id) if replay.is_playing]
        watched = anext(arena.hall.watch_session(tournament_id, playing.session_id))
        await refused(watched, Refusal.TOO_SLOW)


# ------------------------------------------------------------------ checking


@pytest.fixture
def _few_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less is played for speed, which is not what these tests are about."""
    assert SPEED_DECISIONS > 1
    monkeypatch.setattr("arena.check.SPEED_DECISIONS", 1)


async def began(arena: TestHall, bot: LinkedBot, hesitant: Hesitant) -> AsyncGenerator[Verdict]:
    """A check of alice in its second step, with an open question."""
    check = arena.hall.check_bot("alice")
    assert (await anext(check)).passed
    await hesitant.stuck.wait()
    assert sessions(bot) != []
    return check


def sessions(bot: LinkedBot) -> list[str]:
    """The sessions that a bot was told of and not yet that they are over."""
    bot.read()
    starts = [message.session_id for message in bot.heard if isinstance(message, SessionStart)]
    overs = {message.session_id for message in bot.heard if isinstance(message, SessionOver)}
    return [session_id for session_id in starts if session_id not in overs]


@pytest.mark.usefixtures("_few_decisions")
async def test_a_connected_bot_is_checked_and_then_plays(tmp_path: Path) -> None:
    """It passes all steps there are for a bot that somebody else started, and is there for a tournament."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        alice = Returning(arena.premises.lobby.member("alice"))
        for name in NAMES[1:]:
            arena.come(name)
        verdicts = [verdict async for verdict in arena.hall.check_bot("alice", deterministic=True)]
        assert [verdict.step for verdict in verdicts if not verdict.passed] == []
        assert [verdicts[0].step, verdicts[-1].step, len(verdicts)] == ["hello", "determinism", 10]
        assert sessions(alice) == []
        end = await arena.play(await arena.create())
        assert (end.state, end.counts.finished) == (TournamentState.FINISHED, 8)


async def test_a_bot_that_cannot_be_checked_now_is_named_with_the_reason(tmp_path: Path) -> None:
    """Nobody of that name, not connected, playing: each is one sentence that says what to do."""
    async with open_hall(tmp_path) as arena:
        await arena.register()

        async def refused_check(name: str, refusal: Refusal) -> str:
            return await refused(anext(arena.hall.check_bot(name)), refusal)

        assert "no bot 'alise' is registered: did you mean alice?" in await refused_check(
            "alise", Refusal.UNKNOWN
        )
        assert "`kratzen bots list` shows all" in await refused_check("\x1b[2J" * 9000, Refusal.UNKNOWN)
        assert "bot alice is not connected" in await refused_check("alice", Refusal.NOT_NOW)
        hesitant = Hesitant(1)
        for name in NAMES:
            arena.come(name, hesitant)
        tournament_id = await arena.create()
        await arena.hall.start(tournament_id)
        await hesitant.stuck.wait()
        said = await refused_check("alice", Refusal.NOT_NOW)
        assert f"bot alice plays in tournament {tournament_id}, and a check would disturb it" in said


async def test_a_bot_is_in_one_check_at_a_time_and_in_no_tournament_meanwhile(tmp_path: Path) -> None:
    """Another check and a tournament are refused until the check is closed; then the bot is out of it."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(20)
        alice = arena.all_come(hesitant)
        tournament_id = await arena.create()
        check = await began(arena, alice, hesitant)
        again = anext(arena.hall.check_bot("alice"))
        assert "alice is being checked already" in await refused(again, Refusal.NOT_NOW)
        said = await refused(arena.hall.start(tournament_id), Refusal.NOT_NOW)
        assert "bot alice is being checked: wait until that is over" in said
        await check.aclose()
        assert sessions(alice) == []
        hesitant.go_on(alice)
        assert (await arena.play(tournament_id)).state is TournamentState.FINISHED


async def test_closing_the_arena_ends_a_check(tmp_path: Path) -> None:
    """The verdicts end, the bot is told that its sessions are over, and then to come back."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(20)
        alice = arena.come("alice", hesitant)
        check = await began(arena, alice, hesitant)
        assert await arena.hall.close() == ()
        assert [verdict async for verdict in check] == []
        assert sessions(alice) == []
        assert goodbyes(alice) == [GoodbyeReason.STOPPING]
        assert "stopping" in await refused(anext(arena.hall.check_bot("alice")), Refusal.NOT_NOW)


async def test_revoking_a_bot_ends_its_check(tmp_path: Path) -> None:
    """The step that it is in fails with the reason, and is the last that is taken."""
    async with open_hall(tmp_path) as arena:
        await arena.register()
        hesitant = Hesitant(20)
        check = await began(arena, arena.come("alice", hesitant), hesitant)
        await arena.hall.revoke_bot("alice")
        (last,) = [verdict async for verdict in check if not verdict.skipped]
        assert not last.passed
        assert "revoked by the organiser" in last.sentence
