from dataclasses import replace

import pytest
from google.protobuf.descriptor import ServiceDescriptor

from arena import admin_services
from arena.clock import ClockSettings
from arena.config import parse_tournament, read_tournament, tournament_values
from arena.ledger import TournamentState
from arena.messages import RejectReason
from arena.results import SlotCounts
from arena.sections import ConfigError
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
from arena.wire import admin as wire
from arena.wire.outbound import ruleset_message, session_options_message
from engine.rules import PRESETS
from kratzen.v1 import admin_pb2, admin_pb2_grpc, bot_pb2
from tests.arena.halls import file_with

AT_US = 1_795_946_400_123_456


@pytest.mark.parametrize("service", admin_pb2.DESCRIPTOR.services_by_name.values(), ids=lambda it: it.name)
def test_every_call_of_the_contract_is_served(service: ServiceDescriptor) -> None:
    """None is left to the generated base, which answers that it is not implemented."""
    ours, generated = (
        getattr(admin_services, service.name),
        getattr(admin_pb2_grpc, f"{service.name}Servicer"),
    )
    calls = [method.name for method in service.methods]
    assert calls
    assert [call for call in calls if getattr(ours, call) is getattr(generated, call)] == []


@pytest.mark.parametrize("revoked_at_us", [None, AT_US])
def test_bots_come_through_unchanged(revoked_at_us: int | None) -> None:
    """What is read is what was written, to the microsecond."""
    version = VersionStatus(version="1", build_digest="cafe", first_seen_at_us=AT_US, is_revoked=True)
    bot = BotStatus(
        name="alice", registered_at_us=AT_US, revoked_at_us=revoked_at_us, is_there=True, versions=(version,)
    )
    away = replace(
        bot,
        is_there=False,
        absence="the bot is of another version",
        turned_away=True,
        stray_counts={reason: number for number, reason in enumerate(RejectReason, start=2**40)},
    )
    for one in (bot, away):
        assert wire.read_bot(wire.write_bot(one)) == one


def test_verdicts_come_through_unchanged() -> None:
    """What is read is what was written, with every line of the evidence."""
    verdict = Verdict("speed", passed=False, sentence="it was late", evidence=("sent: a", "came back: b"))
    skipped = Verdict("exit", passed=False, sentence="skipped: it is gone", skipped=True)
    for one in (verdict, skipped):
        assert wire.read_verdict(wire.write_verdict(one)) == one


@pytest.mark.parametrize("state", TournamentState)
@pytest.mark.parametrize("remaining_ms", [None, 0, 90_000])
def test_statuses_come_through_unchanged(state: TournamentState, remaining_ms: int | None) -> None:
    """Every state, with and without a time that is left."""
    tally = BotTally(session_count=1, deal_count=2, chips=-3, strike_count=4)
    standing = BotStanding(bot="alice", is_local=True, is_there=False, withdrawn="gone", tally=tally)
    status = TournamentStatus(
        tournament_id="3",
        name="weekly",
        state=state,
        created_at_us=AT_US,
        counts=SlotCounts(finished=1, void=2, open=3),
        ante=10,
        running_count=1,
        decision_count=99,
        decisions_per_second=12.5,
        remaining_ms=remaining_ms,
        failure="it failed",
        bots=(standing,),
        remarks=("one", "two"),
    )
    assert wire.read_status(wire.write_status(status)) == status


@pytest.mark.parametrize("known", [True, False])
def test_leaderboards_come_through_unchanged(*, known: bool) -> None:
    """Rows with everything known, and those of a bot that has not played."""
    row = Row(
        place=1,
        bot="alice",
        rating=-1.5,
        mu=25.0,
        sigma=8.25,
        chips_per_deal=Estimate(
            blocks=2, mean=0.5 if known else None, low=-1.0 if known else None, high=2.0 if known else None
        ),
        sessions=8,
        forfeits=1,
        strikes=5,
        decisions=123,
        p50_ms=1.25 if known else None,
        p95_ms=2.5 if known else None,
        p99_ms=0.0 if known else None,
    )
    board = Leaderboard(
        rows=(row,), versions={"alice": "1"}, rated_block_count=2, is_final=True, is_timed=known
    )
    assert wire.read_leaderboard(wire.write_leaderboard(board)) == board


def test_replays_come_through_unchanged() -> None:
    """What is read is what was written."""
    replay = ReplayStatus(
        session_id="ab" * 16,
        block=7,
        session=2,
        is_finished=True,
        is_open=True,
        is_playing=True,
        bots=("a", "b"),
        places=(1, 1),
        stacks=(5, 6),
    )
    assert wire.read_replay(wire.write_replay(replay)) == replay


# ------------------------------------------------------------------ a tournament as a message


@pytest.mark.parametrize("preset", PRESETS)
def test_a_tournament_as_a_message_is_that_of_the_file(preset: str) -> None:
    """A file as a message, every option of the rules spelled out, reads as the same tournament."""
    text = file_with().replace('muss_after = "normal_failure"', f'preset = "{preset}"')
    file = parse_tournament(text)
    spec = admin_pb2.TournamentSpec(
        name="weekly",
        seed="7",
        format=admin_pb2.TOURNAMENT_FORMAT_ROUND_ROBIN,
        table_size=4,
        blocks_per_group=2,
        rotations=admin_pb2.ROTATIONS_CYCLIC,
        sessions_at_once=1,
        preset=preset,
        ruleset=ruleset_message(file.ruleset),
        options=session_options_message(file.options),
        clock=bot_pb2.Clock(timed=False, move_ms=1000, bank_ms=10_000, first_answer_ms=5000, max_strikes=5),
        bots=[admin_pb2.TournamentBot(name=bot.name) for bot in file.bots],
    )
    assert tournament_values(read_tournament(wire.read_spec(spec))) == tournament_values(file.with_seed("7"))


def test_what_a_message_leaves_out_is_a_default() -> None:
    """A message with bots alone is a file with bots alone."""
    bots = [admin_pb2.TournamentBot(name=name, command=["python", "bot.py"]) for name in "abcd"]
    spec = admin_pb2.TournamentSpec(name="weekly", bots=bots)
    file = read_tournament(wire.read_spec(spec))
    assert file.clock == ClockSettings()
    assert file.tournament.blocks_per_group == 1
    assert [bot.command for bot in file.bots] == [("python", "bot.py")] * 4


@pytest.mark.parametrize(
    ("spec", "key"),
    [
        (admin_pb2.TournamentSpec(), "tournament.name"),
        (admin_pb2.TournamentSpec(name="x", table_size=7), "tournament.table_size"),
        (admin_pb2.TournamentSpec(name="x", rotations=9), "tournament.rotations"),  # type: ignore[arg-type]
        (admin_pb2.TournamentSpec(name="x", preset="poker"), "rules.preset"),
        (admin_pb2.TournamentSpec(name="x"), "bots"),
    ],
)
def test_what_is_wrong_with_a_message_is_named(spec: admin_pb2.TournamentSpec, key: str) -> None:
    """A message is checked like a file, with the file's keys."""
    with pytest.raises(ConfigError) as caught:
        read_tournament(wire.read_spec(spec))
    assert caught.value.key == key
