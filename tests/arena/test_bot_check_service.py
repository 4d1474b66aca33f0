"""The check of a connected bot over gRPC: arena, client and a bot of the SDK meet on loopback."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.admin import AdminClient, AdminError
from arena.config import parse_tournament
from arena.ledger import TournamentState
from arena.lobby import Member
from arena.status import Verdict
from tests.arena.halls import NAMES, file_with
from tests.arena.opened import Opened, opened

ENDLESS = 10**9
"""So many decisions for speed that no check is over by itself."""


def decisions(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Have a check ask for so many decisions in its step for speed."""
    monkeypatch.setattr("arena.check.SPEED_DECISIONS", count)


async def heard(verdicts: Iterator[Verdict]) -> Verdict | None:
    """The next verdict of a check, or None after the last, while the arena in this thread goes on."""
    return await asyncio.to_thread(next, verdicts, None)


async def until_free(client: AdminClient, arena: Opened, member: Member) -> None:
    """Ask the arena for its bots until the check of one is over; each question takes its time."""
    while member.name in arena.hall._checks:
        await asyncio.to_thread(client.bots)
    assert (member.is_there, member.link.session_count) == (True, 0)


async def test_verdicts_come_as_they_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A good bot passes every step, comes back after its link was cut, and can be checked again."""
    decisions(monkeypatch, 50)
    async with opened(tmp_path) as arena:
        member = await arena.dial_in("alice")
        with arena.client() as client:
            for _ in range(2):
                check = client.check_bot("alice", deterministic=True)
                first = await heard(check)
                assert first is not None
                assert first.sentence == "first 1 with kratzen-python/1, connected before"
                found = [first, *await asyncio.to_thread(list, check)]
                assert [verdict for verdict in found if not verdict.passed] == []
                assert found[-1].step == "determinism"
                await until_free(client, arena, member)


@pytest.mark.parametrize("leave", ["closes the call", "is gone"])
async def test_a_check_ends_with_who_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leave: str
) -> None:
    """The bot is out of its sessions, and plays in a tournament that starts then."""
    decisions(monkeypatch, ENDLESS)
    async with opened(tmp_path) as arena:
        members = [await arena.dial_in(name) for name in NAMES]
        with arena.client() as asking, arena.client() as client:
            check = asking.check_bot("alice")
            await heard(check)
            with pytest.raises(AdminError, match="is being checked already"):
                await heard(client.check_bot("alice"))
            await asyncio.to_thread(check.close if leave == "closes the call" else asking.close)
            await until_free(client, arena, members[0])
        its_id = (await arena.hall.create(parse_tournament(file_with()), "")).tournament_id
        await arena.hall.start(its_id)
        *_, end = [status async for status in arena.hall.watch(its_id)]
        assert (end.state, end.counts.finished) == (TournamentState.FINISHED, 8)


async def test_an_arena_that_stops_says_why_the_check_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call ends with UNAVAILABLE and the reason."""
    decisions(monkeypatch, ENDLESS)
    async with opened(tmp_path) as arena:
        member = await arena.dial_in("alice")
        with arena.client() as client:
            check = client.check_bot("alice")
            await heard(check)
            await arena.hall.close()
            assert member.link.session_count == 0
            with pytest.raises(AdminError, match="the arena stops, which ends the check"):
                await asyncio.to_thread(list, check)
