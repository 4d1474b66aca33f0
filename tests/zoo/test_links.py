"""Links lost, cut, slow or silent: what a bot that comes back finds, and what it is charged (F7, E08)."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random
from time import monotonic
from typing import Any, Final

import grpc
import pytest

from arena.clock import US_PER_MS
from arena.faults import FaultCause
from arena.lag import Heartbeat
from arena.link import Link, LinkLimits
from arena.runner import Clockwork
from kratzen.sdk.client import Settings
from kratzen.v1 import bot_pb2
from sample_bots.faulty import RawBot
from tests.figures import Figure
from tests.zoo.leftovers import nothing_left_over
from tests.zoo.proxy import Wire, wire_to
from tests.zoo.reference import always, expected, never
from tests.zoo.small_arena import BRISK, CALM, Outcome, Setting, SmallArena, small_arena

ROUNDING_MS: Final = 1
SLACK_MS: Final = 50
"""By so much at most either sight of a request is later than the arena's reckoning, lag aside."""
LOOK_BACK_US: Final = 500_000
"""What the loop of arena and bots was late by in so long a time may have kept a request from being seen."""
REDIAL_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class Sight:
    """A request as a bot saw it: when, and by how much that may have been late."""

    request: bot_pb2.Request
    at_ms: float
    late_ms: float


class Returner(RawBot):
    """Drops its link at every first sight of a request, stays away, and compares what it is offered then.

    Attributes:
        returns: how often it came back to a request.
        differences: what was not as before.
    """

    name = "returner"

    def __init__(self, settings: Settings, clockwork: Clockwork, chance: Random, most_s: float) -> None:
        super().__init__(settings)
        self.returns = 0
        self._clockwork = clockwork
        self.differences: list[str] = []
        self._chance = chance
        self._most_s = most_s
        self._seen: dict[int, Sight] = {}

    async def run(self) -> None:
        """Play on as many streams as it takes."""
        await self.converse()
        while self.status is not None and self.status[0] is grpc.StatusCode.CANCELLED:
            await asyncio.sleep(self._chance.uniform(0, self._most_s))
            await self.converse()

    async def asked(self, request: bot_pb2.Request) -> None:
        """Drop the link, or compare."""
        at_us = self._clockwork.time.now_us()
        late_us = self._clockwork.heartbeat.lag_us(at_us - LOOK_BACK_US, at_us)
        sight = Sight(request, at_us / US_PER_MS, late_us / US_PER_MS)
        if request.request_id not in self._seen:
            self._seen[request.request_id] = sight
            assert self._call is not None
            self._call.cancel()
            return
        self.returns += 1
        self._compare(self._seen[request.request_id], sight)
        await self.answer(request)

    def _compare(self, before: Sight, now: Sight) -> None:
        away_ms = now.at_ms - before.at_ms
        spent_ms = before.request.time_left_ms - now.request.time_left_ms
        # Nothing was given and nothing was taken but the time away; either sight may have come a little late.
        if abs(away_ms - spent_ms) > ROUNDING_MS + SLACK_MS + before.late_ms + now.late_ms:
            self.differences.append(f"away {away_ms} ms, charged {spent_ms} ms")
        same = bot_pb2.Request()
        same.CopyFrom(now.request)
        same.time_left_ms = before.request.time_left_ms
        if same != before.request:
            self.differences.append(f"request {same.request_id} is another one")


@pytest.mark.parametrize(
    ("tables", "most_s", "least"), [(1, 0.1, 10), pytest.param(24, 10, 200, marks=pytest.mark.nightly)]
)
async def test_a_bot_that_comes_back_finds_all_it_had(
    tables: int, most_s: float, least: int, figure: Figure
) -> None:
    """Hand, legal set, id and what is left of the time; the time away is charged, and that is all."""
    async with nothing_left_over():
        outcomes, returns, differences = await play_with_returners(tables, most_s)
    assert differences == []
    assert returns == sum(outcome.bad.asked_count for outcome in outcomes) >= least
    for outcome in outcomes:
        undisturbed(outcome)
    figure("F7", f"n = {returns} returns after up to {most_s} s, all as before")


@pytest.mark.parametrize("times", [0, 2])
async def test_an_arena_that_charges_the_time_away_wrongly_is_found(
    times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the clock begins anew at a return, or time away counts twice, the bot sees it: F7 can fail."""
    offer_again = Link._offer_again

    def offer_wrongly(link: Link, desk: Any, now_us: int) -> None:  # noqa: ANN401 - the link's own
        if desk.handed_at_us is not None:
            desk.handed_at_us = now_us - times * (now_us - desk.handed_at_us)
        offer_again(link, desk, now_us)

    monkeypatch.setattr(Link, "_offer_again", offer_wrongly)
    _, _, differences = await play_with_returners(tables=1, most_s=0.3)
    assert [text for text in differences if text.startswith("away")]


async def play_with_returners(tables: int, most_s: float) -> tuple[list[Outcome], int, list[str]]:
    """What was played, how often bots came back, and what they did not find again."""
    setting = Setting(tables=tables)
    async with small_arena(setting) as arena:
        arena.seat_good_bots()
        bots = [
            Returner(arena.settings(name), arena.arena.clockwork, Random(name), most_s)  # noqa: S311 - the same every time
            for name in setting.bad_names
        ]
        for bot in bots:
            arena.seat(bot.run())
        outcomes = await arena.play()
    return outcomes, sum(bot.returns for bot in bots), [text for bot in bots for text in bot.differences]


def undisturbed(outcome: Outcome) -> None:
    """Nobody is at fault, and the chips are those of a session without any trouble."""
    assert outcome.faults_of_good == []
    assert outcome.bad.faults == ()
    wanted = expected(outcome, never, max_strikes=CALM.max_strikes)
    assert tuple(seat.stack for seat in outcome.result.seats) == wanted.stacks


class Twelve(RawBot):
    """Waits until it owes twelve answers, loses its link, and comes back once.

    Attributes:
        offered: what the first message after that held: sessions and requests.
    """

    name = "twelve"
    max_sessions = 12

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.offered: tuple[int, int] | None = None
        self._owed = 0

    async def run(self) -> None:
        """Play on two streams."""
        await self.converse()
        await self.converse()

    async def heard(self, response: bot_pb2.PlayResponse) -> None:
        """Look at the first message of the second stream."""
        if self._owed == 12 and self.offered is None:
            self.offered = (len(response.session_starts), len(response.requests))
        await super().heard(response)

    async def asked(self, request: bot_pb2.Request) -> None:
        """Owe, until it is enough."""
        if self._owed == 12:
            await self.answer(request)
            return
        self._owed += 1
        if self._owed == 12:
            assert self._call is not None
            self._call.cancel()


async def test_twelve_sessions_are_offered_again_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session that the bot sits in, with every request that is open, and none is forfeited (E08)."""
    # An arena that is late plays fewer at once, and the bot here waits for all twelve.
    monkeypatch.setattr(Heartbeat, "is_late", False)
    async with nothing_left_over():
        outcomes, offered = await play_with_twelve()
    assert offered == (12, 12)
    for outcome in outcomes:
        undisturbed(outcome)


async def play_with_twelve() -> tuple[list[Outcome], tuple[int, int] | None]:
    """What was played, and what the bot was offered when it came back."""
    async with small_arena(Setting(tables=12, is_one_bot=True)) as arena:
        arena.seat_good_bots()
        bot = Twelve(arena.settings("bad1"))
        arena.seat(bot.run())
        return await arena.play(), bot.offered


class Impatient(RawBot):
    """Gives its first stream a deadline, on which it only waits, and plays on another one.

    Attributes:
        told: what the arena says of the first one.
    """

    name = "impatient"

    def __init__(self, settings: Settings, arena: SmallArena) -> None:
        super().__init__(settings)
        self.told = ""
        self._presence = arena.presence("bad1")
        self._link = arena.arena.lobby.member("bad1").link

    async def run(self) -> None:
        """Play on two streams."""
        self.deadline_s = 0.2
        await self.converse()
        assert self.status is not None
        assert self.status[0] is grpc.StatusCode.DEADLINE_EXCEEDED
        await self._presence.is_over.wait()
        self.told = self._link.absence_detail
        self.deadline_s = None
        await self.converse()

    async def asked(self, request: bot_pb2.Request) -> None:
        """Answer where there is time."""
        if self.deadline_s is None:
            await self.answer(request)


async def test_a_deadline_of_the_call_costs_the_link_and_no_more() -> None:
    """The bot is told by gRPC what ended its stream, and others by the arena; it loses nothing (G12)."""
    async with small_arena(Setting()) as arena:
        arena.seat_good_bots()
        bot = Impatient(arena.settings("bad1"), arena)
        arena.seat(bot.run())
        (outcome,) = await arena.play()
    undisturbed(outcome)
    assert bot.told == "the link was lost: its call had a deadline, and needs none"


# ------------------------------------------------------------------ through a wire that can be spoilt


LOST: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL)
"""How a stream ends whose link is lost; the second is gRPC's own, for a write that came too late."""


class Wired(RawBot):
    """Plays through a wire, which is spoilt when it is first asked; dials again when it is cut.

    Attributes:
        is_asked: set from the first request on.
    """

    name = "wired"

    def __init__(self, settings: Settings, wire: Wire) -> None:
        super().__init__(Settings(wire.address, settings.token))
        self.is_asked = asyncio.Event()
        self._is_over = asyncio.Event()

    async def run(self) -> None:
        """Play, and say when it is over."""
        try:
            await self.play()
        finally:
            self._is_over.set()

    async def play(self) -> None:
        """Play on as many streams as it takes."""
        await self.converse()
        while self.status is not None and self.status[0] in LOST:
            # The arena may be gone for good, which is found out at once, again and again.
            await asyncio.sleep(REDIAL_S)
            await self.converse()

    async def asked(self, request: bot_pb2.Request) -> None:
        """Answer once the test has had its turn."""
        first = not self.is_asked.is_set()
        self.is_asked.set()
        if first:
            # The wire is spoilt by whoever waits for this.
            await asyncio.sleep(0)
        await self.answer(request)

    async def until(self, sign: Coroutine[object, object, object]) -> None:
        """Wait for a sign; fails when the bot's run ends without it."""
        seen, over = asyncio.create_task(sign), asyncio.create_task(self._is_over.wait())
        try:
            await asyncio.wait({seen, over}, return_when=asyncio.FIRST_COMPLETED)
            assert seen.done(), f"the bot's run is over, its last stream ended with {self.status}"
        finally:
            seen.cancel()
            over.cancel()


async def seat_wired(arena: SmallArena, stack: AsyncExitStack, name: str) -> tuple[Wired, Wire]:
    """A bot behind a wire of its own."""
    wire = await stack.enter_async_context(wire_to(arena.arena.address))
    bot = Wired(arena.settings(name), wire)
    arena.seat(bot.run())
    return bot, wire


async def test_waiting_for_a_bot_that_was_turned_away_ends() -> None:
    """It fails with what the bot was told, and does not wait for a request that never comes."""
    async with small_arena(Setting()) as arena, wire_to(arena.arena.address) as wire:
        bot = Wired(Settings(wire.address, "kratzen_" + "0" * 43), wire)
        arena.seat(bot.run())
        with pytest.raises(AssertionError, match="UNAUTHENTICATED"):
            await bot.until(bot.is_asked.wait())


async def test_a_black_hole_costs_the_limit_of_what_is_owed() -> None:
    """Nothing says that the peer is gone, and nobody waits longer than for a bot that is silent (G11)."""
    async with small_arena(Setting(clock=BRISK)) as arena, AsyncExitStack() as stack:
        arena.seat_good_bots()
        bot, wire = await seat_wired(arena, stack, "bad1")
        playing = asyncio.create_task(arena.play())
        await bot.until(bot.is_asked.wait())
        wire.stop()
        (outcome,) = await playing
    assert {fault.cause for fault in outcome.bad.faults} == {FaultCause.TIMEOUT}
    assert outcome.faults_of_good == []


async def test_a_connection_that_is_reset_is_taken_up_again() -> None:
    """The bot dials again within its time and loses nothing."""
    async with small_arena(Setting()) as arena, AsyncExitStack() as stack:
        arena.seat_good_bots()
        bot, wire = await seat_wired(arena, stack, "bad1")
        playing = asyncio.create_task(arena.play())
        await bot.until(bot.is_asked.wait())
        wire.cut()
        (outcome,) = await playing
    undisturbed(outcome)


@pytest.mark.parametrize(
    ("delay_s", "bytes_per_s"),
    [
        (0.02, 0),
        (0, 100_000),
        pytest.param(0.5, 0, marks=pytest.mark.nightly),
        pytest.param(0, 1000, marks=pytest.mark.nightly),
    ],
)
async def test_a_slow_wire_costs_its_bot_time_and_nobody_anything_else(
    delay_s: float, bytes_per_s: int, figure: Figure
) -> None:
    """A bot far away, or behind a thin wire, plays as well as any while its clocks allow for it."""
    async with small_arena(Setting(deals=1)) as arena, AsyncExitStack() as stack:
        arena.seat_good_bots()
        _, wire = await seat_wired(arena, stack, "bad1")
        wire.delay_s, wire.bytes_per_s = delay_s, bytes_per_s
        (outcome,) = await arena.play()
    undisturbed(outcome)
    asked = [record for record in outcome.decisions_of_bad if record.request_id]
    assert all(record.charged_us + record.lag_us >= delay_s * 2 * 1_000_000 for record in asked)
    slowest_ms = max(record.charged_us for record in asked) // 1000
    figure("F7", f"n = {len(asked)} decisions behind the wire, {slowest_ms} ms charged at most, no fault")


async def test_half_of_24_links_stop_and_go_on_in_another_order() -> None:
    """Each table waits for its own bot alone, and all of them end as if nothing had been (F7)."""
    setting = Setting(tables=24, at_once=24)
    chance = Random(7)  # noqa: S311 - the same order every time
    async with small_arena(setting) as arena, AsyncExitStack() as stack:
        arena.seat_good_bots()
        wired = [await seat_wired(arena, stack, name) for name in setting.bad_names]
        playing = asyncio.create_task(arena.play())
        stopped = chance.sample(wired, 12)
        for bot, wire in stopped:
            await bot.until(bot.is_asked.wait())
            wire.stop()
        for _, wire in chance.sample(stopped, 12):
            wire.free()
        outcomes = await playing
    for outcome in outcomes:
        undisturbed(outcome)


@pytest.mark.nightly
@pytest.mark.parametrize("pings", [0, 15])
async def test_a_peer_that_vanishes_is_noticed_though_it_owes_nothing(pings: int, figure: Figure) -> None:
    """By the keepalive, once its interval and 10 s are over: with the default of 20 s that is 30 s (G11).

    However long it was quiet before, and however often it was pinged.
    """
    interval_s = 2
    limits = LinkLimits(keepalive_interval_ms=interval_s * 1000)
    async with small_arena(Setting(limits=limits)) as arena, AsyncExitStack() as stack:
        presence = arena.presence("bad1")
        bot, wire = await seat_wired(arena, stack, "bad1")
        await asyncio.wait_for(presence.wait(), 30)
        await bot.until(wire.pings_of_arena.more(pings))
        wire.stop()
        began_s = monotonic()
        await asyncio.wait_for(presence.is_over.wait(), interval_s + 20)
        figure("F7", f"n = 1 silent peer, noticed after {monotonic() - began_s:.1f} s")
        wire.cut()


def pinging(every_s: int) -> type[Wired]:
    """A bot that pings a quiet stream, as clients in other languages do."""

    class Pinging(Wired):
        """Pings every so often."""

        name = "pinging"
        options = (
            *RawBot.options,
            ("grpc.keepalive_time_ms", every_s * 1000),
            ("grpc.keepalive_timeout_ms", 5_000),
            ("grpc.http2.max_pings_without_data", 0),
        )

        async def play(self) -> None:
            """Play on one stream: that it is cut off is not to be made good."""
            await self.converse()

    return Pinging


@pytest.mark.parametrize(
    "pings", [pytest.param(6, marks=pytest.mark.nightly), pytest.param(180, marks=pytest.mark.soak)]
)
async def test_pings_cut_nobody_off(pings: int, figure: Figure) -> None:
    """Bots that wait for their turn and ping every 10, 20 and 30 s keep their links (G01).

    Those of 20 and 30 s hear the arena's own pings before, and may have nothing to ask.
    """
    async with small_arena(Setting()) as arena, AsyncExitStack() as stack:
        running, bots, wires = [], {}, {}
        for every_s in (10, 20, 30):
            wires[every_s] = await stack.enter_async_context(wire_to(arena.arena.address))
            bots[every_s] = pinging(every_s)(arena.settings(f"bad{every_s}"), wires[every_s])
            running.append(arena.seat(bots[every_s].run()))
        await bots[10].until(wires[10].pings_of_bot.more(pings))
        assert not any(task.done() for task in running)
        assert all(arena.arena.lobby.member(f"bad{every_s}").is_there for every_s in wires)
    seen = {f"{every_s} s": wire.pings_of_bot.count for every_s, wire in wires.items()}
    figure("F7", f"n = {sum(seen.values())} pings on quiet streams, no GOAWAY; by interval {seen}")


async def test_a_bot_that_never_answers_gets_what_the_fallback_gets() -> None:
    """The same over real links as in virtual time: silence does not pay (K18)."""
    async with small_arena(Setting(clock=BRISK)) as arena, AsyncExitStack() as stack:
        arena.seat_good_bots()
        _, wire = await seat_wired(arena, stack, "bad1")
        await asyncio.wait_for(arena.arena.lobby.member("bad1").there.wait(), 30)
        wire.stop()
        (outcome,) = await arena.play()
    wanted = expected(outcome, always, max_strikes=BRISK.max_strikes)
    assert tuple(seat.stack for seat in outcome.result.seats) == wanted.stacks
