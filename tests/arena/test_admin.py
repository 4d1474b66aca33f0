"""The admin services of a running arena, asked by the client that commands use, and by others."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from arena.admin import AdminClient, AdminError, AdminFailure, ArenaAddress
from arena.admin_services import PAGE_BYTES
from arena.auth import TOKEN_PREFIX
from arena.enrolment import enrol
from arena.ledger import TournamentState
from arena.link import MAX_VERSIONS
from arena.messages import MAX_LABEL_LENGTH
from arena.replay_verify import verify
from arena.store import Registry, Sighting
from arena.wire import admin as admin_wire
from kratzen.v1 import admin_pb2, admin_pb2_grpc, bot_pb2, bot_pb2_grpc
from tests.arena.halls import NAMES, file_with
from tests.arena.served import ENDS_IN_PLAY, KRATZEN, LIMIT_S, RawStream, Served, environment, served

LOCAL = """
[tournament]
name = "local"
seed = 3
blocks_per_group = 1
[rules]
muss_after = "normal_failure"
[session]
deals = 2
""" + "".join(
    [f'[[bots]]\nname = "local-{name}"\ncommand = "python -m sample_bots.random_bot"\n' for name in "abcd"]
)


AT = "2026-11-29T10:00:00+00:00"


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One arena for all tests here; each uses bots and tournaments of its own."""
    # Wrong tokens are held back for a moment only, since some tests show many of them.
    with served(
        tmp_path_factory.mktemp("admin"), "--address", "127.0.0.1:0", "--limit", "hold_ms=1"
    ) as running:
        yield running


def refusal(call: object) -> str:
    """The sentence that the arena refuses a call with."""
    with pytest.raises(AdminError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.failure in (AdminFailure.REFUSED, AdminFailure.UNKNOWN)
    assert str(caught.value).isprintable()
    return str(caught.value)


def metadata(arena: Served) -> tuple[tuple[str, str], ...]:
    """What a call of the raw client needs."""
    return (("authorization", f"Bearer {arena.token}"),)


# ------------------------------------------------------------------ tokens


METHODS = [
    (f"/{service.full_name}/{method.name}", method.server_streaming)
    for service in admin_pb2.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
"""Every method of the admin services that the protocol has, and whether it answers with a stream."""


def end_of_call(channel: grpc.Channel, method: str, token: str, *, streams: bool) -> tuple[object, str]:
    """Call a method as a client of it does, with a request that would register a bot; code and sentence."""
    request = admin_pb2.RegisterBotRequest(name="mallory").SerializeToString()
    stub: Any = (channel.unary_stream if streams else channel.unary_unary)(method)
    options = {"metadata": (("authorization", f"Bearer {token}"),), "timeout": LIMIT_S}
    with pytest.raises(grpc.RpcError) as caught:
        list(stub(request, **options))
    call: Any = caught.value
    return call.code(), call.details()


@pytest.mark.parametrize("token", ["", "kratzen_wrong", TOKEN_PREFIX])
def test_without_the_admin_token_nothing_is_told_and_nothing_done(arena: Served, token: str) -> None:
    """Every call that there is gets refused with what is needed, looking on too."""
    with grpc.insecure_channel(arena.address) as channel:
        for method, streams in METHODS:
            code, sentence = end_of_call(channel, method, token, streams=streams)
            assert (code, "admin token" in sentence) == (grpc.StatusCode.UNAUTHENTICATED, True), method
    with arena.client() as client:
        assert "mallory" not in [bot.name for bot in client.bots()]


@pytest.mark.parametrize("method", ["kratzen.v1.RegistryService/Forge", "kratzen.v1.Other/ListBots"])
def test_a_method_that_there_is_not_is_no_secret(arena: Served, method: str) -> None:
    """With the admin token and without it is as unknown, in a service that there is and in none."""
    with grpc.insecure_channel(arena.address) as channel:
        for token in ("kratzen_wrong", arena.token):
            code, _ = end_of_call(channel, f"/{method}", token, streams=False)
            assert code is grpc.StatusCode.UNIMPLEMENTED


def test_a_bots_token_is_no_admin_token(arena: Served) -> None:
    """Who may play may not administrate."""
    with arena.client() as client:
        token = client.register_bot("tokenholder")
    with arena.client(token) as client:
        assert "admin token" in refusal(client.bots)


def test_a_right_token_does_not_wait_for_wrong_ones(tmp_path: Path) -> None:
    """While answers to wrong tokens are held back, a call with the right one is answered."""
    (tmp_path / "kratzen.toml").write_text("[limits]\nfree_failures = 0\nhold_ms = 1000000\n")
    options = ("--address", "127.0.0.1:0", "--config", str(tmp_path / "kratzen.toml"))
    with served(tmp_path / "data", *options) as arena, grpc.insecure_channel(arena.address) as channel:
        stub = admin_pb2_grpc.RegistryServiceStub(channel)
        wrong = (("authorization", "Bearer x"),)
        held = [stub.ListBots.future(admin_pb2.ListBotsRequest(), metadata=wrong) for _ in range(20)]
        assert not stub.ListBots(admin_pb2.ListBotsRequest(), metadata=metadata(arena)).bots
        assert not any(call.done() for call in held)
        for call in held:
            call.cancel()


# ------------------------------------------------------------------ bots


def test_bots_are_registered_listed_and_revoked(arena: Served) -> None:
    """A name gives a token once; the list tells who is revoked."""
    with arena.client() as client:
        token = client.register_bot("alice")
        assert token.startswith(TOKEN_PREFIX)
        assert "registered already" in refusal(lambda: client.register_bot("alice"))
        assert "is no name for a bot" in refusal(lambda: client.register_bot("Alice\x1b[2J"))
        assert client.revoke_bot("alice") == ()
        assert "no bot 'alice' is registered" in refusal(lambda: client.revoke_bot("alice"))
        (alice,) = [bot for bot in client.bots() if bot.name == "alice"]
    assert alice.revoked_at_us is not None
    assert alice.revoked_at_us >= alice.registered_at_us


def test_lists_come_page_by_page(arena: Served) -> None:
    """Pages of one make up the list; a token that is none is refused."""
    with arena.client() as client:
        for name in ("page-1", "page-2", "page-3"):
            client.register_bot(name)
        whole = [bot.name for bot in client.bots()]
    with grpc.insecure_channel(arena.address) as channel:
        stub = admin_pb2_grpc.RegistryServiceStub(channel)
        names, token = [], ""
        while True:
            request = admin_pb2.ListBotsRequest(page_size=1, page_token=token)
            page = stub.ListBots(request, metadata=metadata(arena))
            names += [bot.name for bot in page.bots]
            token = page.next_page_token
            if not token:
                break
        assert names == whole
        no_token = admin_pb2.ListBotsRequest(page_token="../1")  # noqa: S106
        with pytest.raises(grpc.RpcError, match="page_token: allowed is"):
            stub.ListBots(no_token, metadata=metadata(arena))


def test_a_list_of_bots_with_many_versions_goes_into_its_messages(tmp_path: Path) -> None:
    """More than a client takes in one message come in several, whatever the bots called their versions."""
    names = [f"bot-{number}" for number in range(9)]
    longest = "\U0001f0a1" * (MAX_LABEL_LENGTH - 4)
    with Registry.open(tmp_path) as registry:
        for name in names:
            enrol(registry, name, AT)
            registry.see_versions(
                [
                    Sighting(bot=name, version=f"{longest}{number:04}", build_digest=longest, at=AT)
                    for number in range(MAX_VERSIONS)
                ]
            )
    with served(tmp_path) as arena, arena.client() as client:
        bots = client.bots()
    assert [(bot.name, len(bot.versions)) for bot in bots] == [(name, MAX_VERSIONS) for name in names]
    sizes = [admin_wire.write_bot(bot).ByteSize() for bot in bots]
    assert sum(sizes) > 4 * 2**20
    assert max(sizes) <= PAGE_BYTES


def test_streams_with_one_token_are_bounded(arena: Served) -> None:
    """The stream above the limit is refused with the limit; the newest of those before it is up."""
    with arena.client() as client:
        token = client.register_bot("many-streams")
        streams = [RawStream(arena.address, token, says_hello=False) for _ in range(3)]
        last = RawStream(arena.address, token)
        (listed,) = [bot for bot in client.bots() if bot.name == "many-streams"]
        assert listed.is_there
        with pytest.raises(grpc.RpcError, match="4 streams open"):
            RawStream(arena.address, token)
        (listed,) = [bot for bot in client.bots() if bot.name == "many-streams"]
        assert (listed.is_there, listed.absence) == (True, "")
        for stream in (*streams, last):
            stream.cancel()


def test_an_organiser_sees_why_a_bot_is_away(tmp_path: Path) -> None:
    """In the list of bots, as text and as JSON, beside its stray answers; and in the arena's log."""
    with served(tmp_path, "--address", "127.0.0.1:0", "--limit", "max_streams_per_bot=2") as arena:
        with arena.client() as client:
            tokens = [client.register_bot(name) for name in ("faulty", "late-comer")]
        end_by_a_second_hello(arena, tokens[0])
        silent = [RawStream(arena.address, tokens[1], says_hello=False) for _ in range(2)]
        with pytest.raises(grpc.RpcError, match="has 2 streams open"):
            RawStream(arena.address, tokens[1])
        bots = json.loads(arena.kratzen("bots", "list", "--json").stdout)
        rows = arena.kratzen("bots", "list").stdout.strip().splitlines()
        for stream in silent:
            stream.cancel()
    said = ("Hello was said twice on one stream", "this bot's token has 2 streams open")
    for bot, turned_away, why in zip(bots, (False, True), said, strict=True):
        assert (bot["is_there"], bot["turned_away"]) == (False, turned_away)
        assert bot["absence"].startswith(why)
        how = "turned away" if turned_away else "away"
        assert any(f" {bot['name']} " in row and f" {how}: {why}" in row for row in rows)
    assert [bot["stray_counts"] for bot in bots] == [{"unknown_request": 2}, {}]
    logged = [json.loads(line) for line in (tmp_path / "arena.log").read_text().splitlines()]
    assert [(line["event"], line["bot"], line.get("why", "").partition(",")[0]) for line in logged] == [
        ("bot joined", "faulty", ""),
        ("bot away", "faulty", said[0]),
        ("bot refused at the door", "late-comer", said[1]),
    ]


def end_by_a_second_hello(arena: Served, token: str) -> None:
    """A stream with two answers to nothing, which the bot breaks the protocol on."""
    hello = bot_pb2.PlayRequest(hello=bot_pb2.Hello(protocol_version=1, bot_version="1", max_sessions=1))
    answer = bot_pb2.Answer(session_id="none", request_id=1)
    stray = bot_pb2.PlayRequest(answers=bot_pb2.Answers(answers=[answer, answer]))
    with grpc.insecure_channel(arena.address) as channel:
        play = bot_pb2_grpc.BotServiceStub(channel).Play
        call = play(iter([hello, stray, hello]), metadata=(("authorization", f"Bearer {token}"),))
        with pytest.raises(grpc.RpcError, match="Hello was said twice"):
            list(call)


def test_a_revoked_bot_is_cut_off(arena: Served) -> None:
    """Its stream ends with UNAUTHENTICATED and the reason, and another one is not let in."""
    with arena.client() as client:
        token = client.register_bot("cut-off")
        stream = RawStream(arena.address, token)
        client.revoke_bot("cut-off")
        assert stream.end() is grpc.StatusCode.UNAUTHENTICATED
        with pytest.raises(grpc.RpcError, match="no valid token"):
            RawStream(arena.address, token)


# ------------------------------------------------------------------ tournaments


def test_a_tournament_of_bots_that_the_arena_starts(arena: Served, tmp_path: Path) -> None:
    """Created, started, watched to the end; its table and its replays are there."""
    with arena.client() as client:
        status = client.create_tournament(LOCAL, str(tmp_path))
        assert status.state is TournamentState.CREATED
        its_id = status.tournament_id
        client.start_tournament(its_id)
        seen = list(client.watch_tournament(its_id))
        assert seen[-1].state is TournamentState.FINISHED
        assert seen[-1].counts.finished == 4
        assert [row.sessions for row in client.leaderboard(its_id).rows] == [4] * 4
        assert its_id in [entry.tournament_id for entry in client.tournaments()]
        replays = client.replays(its_id)
        assert [(replay.block, replay.session, replay.is_open) for replay in replays] == [
            (1, session, True) for session in (1, 2, 3, 4)
        ]
        assert verify(client.replay(its_id, "1.3")) is None
        assert verify(client.replay(its_id, replays[0].session_id)) is None
        assert "7.7" in refusal(lambda: client.replay(its_id, "7.7"))


def test_a_bot_that_cannot_be_started_stops_its_tournament(arena: Served, tmp_path: Path) -> None:
    """The status says which bot and why; the arena lives on, and another start tries again."""
    text = LOCAL.replace("local-a", "broken").replace("sample_bots.random_bot", "no_such_module", 1)
    # It is started once more at the end, while another test may want bots of its own.
    text = text.replace("local-", "near-")
    with arena.client() as client:
        its_id = client.create_tournament(text, str(tmp_path)).tournament_id
        client.start_tournament(its_id)
        left = list(client.watch_tournament(its_id))[-1]
        assert left.state is TournamentState.STOPPED
        assert left.failure.startswith("bot broken exited with code 1 before it said Hello")
        assert client.tournament(its_id).failure == left.failure
        assert client.start_tournament(its_id).state is TournamentState.RUNNING


def test_a_bot_that_is_given_up_is_remarked_on(arena: Served, tmp_path: Path) -> None:
    """In the status and in the list, while it runs and after: how often, why, where its log is."""
    (tmp_path / "ends.py").write_text(ENDS_IN_PLAY)
    text = LOCAL.replace("local-a", "ends").replace("-m sample_bots.random_bot", "ends.py", 1)
    text = text.replace("local-", "beside-")
    with arena.client() as client:
        its_id = client.create_tournament(text, str(tmp_path)).tournament_id
        client.start_tournament(its_id)
        left = list(client.watch_tournament(its_id))[-1]
        assert left.state is TournamentState.FINISHED
        (remark,) = left.remarks
        assert remark.startswith(
            "bot ends ended 4 times and is not started again: it exited with code 7; its log"
        )
        assert remark.endswith("01-ends.log")
        assert client.tournament(its_id).remarks == left.remarks
        assert [entry.remarks for entry in client.tournaments() if entry.tournament_id == its_id] == [
            (remark,)
        ]
    assert remark in json.loads(arena.kratzen("tournament", "status", its_id, "--json").stdout)["remarks"]


def test_bad_input_is_one_sentence(arena: Served) -> None:
    """What cannot be played, does not exist or is too large is refused, and says what it is about."""
    with arena.client() as client:
        assert "tournament.name is missing" in refusal(lambda: client.create_tournament("", ""))
        assert "usable TOML" in refusal(lambda: client.create_tournament("[tournament", ""))
        assert "bot alice-2 has no command" in refusal(
            lambda: client.create_tournament(file_with(("alice-2", *NAMES[1:])), "")
        )
        assert "larger" in refusal(lambda: client.create_tournament(file_with() + "#" * 9_000_000, ""))
        for its_id in ("999", "../1", "\x1b[2J"):
            assert "there is no tournament" in refusal(lambda its_id=its_id: client.tournament(its_id))


def test_a_tournament_may_come_as_a_message(arena: Served, tmp_path: Path) -> None:
    """Bots and a name are enough; the rest is a default, and the arena draws a seed."""
    bots = [admin_pb2.TournamentBot(name=f"m-{n}", command=["python", "-V"]) for n in "abcd"]
    spec = admin_pb2.TournamentSpec(name="by-message", bots=bots)
    with grpc.insecure_channel(arena.address) as channel:
        stub = admin_pb2_grpc.TournamentServiceStub(channel)
        request = admin_pb2.CreateTournamentRequest(spec=spec, bot_folder=str(tmp_path))
        made = stub.CreateTournament(request, metadata=metadata(arena)).tournament
    assert (made.name, made.slot_count) == ("by-message", 4)
    assert made.state == admin_pb2.TOURNAMENT_STATE_CREATED


# ------------------------------------------------------------------ around it


def test_no_arena_is_one_sentence() -> None:
    """An address where nobody listens is named."""
    with AdminClient(ArenaAddress("127.0.0.1:1")) as client, pytest.raises(AdminError) as caught:
        client.bots()
    assert caught.value.failure is AdminFailure.NO_ARENA
    assert "127.0.0.1:1" in str(caught.value)


def test_what_a_newer_arena_says_is_one_sentence(
    arena: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state that this program does not know: it says so, and what to do."""
    monkeypatch.delitem(admin_wire._STATE_OF, admin_pb2.TOURNAMENT_STATE_CREATED)
    with arena.client() as client, pytest.raises(AdminError) as caught:
        client.create_tournament(LOCAL.replace('"local', '"newer'), str(tmp_path))
    assert caught.value.failure is AdminFailure.BROKEN
    assert f"the arena at {arena.address} says something that this kratzen does not know" in str(caught.value)
    assert "install the version of kratzen that the arena has" in str(caught.value)


def test_health_and_reflection_answer(arena: Served) -> None:
    """Without a token: every service is healthy, and named by reflection."""
    services = ("BotService", "RegistryService", "TournamentService", "LeaderboardService", "ReplayService")
    with grpc.insecure_channel(arena.address) as channel:
        check: Any = health_pb2_grpc.HealthStub(channel)
        for service in ("", *[f"kratzen.v1.{name}" for name in services]):
            answer = check.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        reflection: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        (listed,) = reflection.ServerReflectionInfo(iter([request]))
        names = {service.name for service in listed.list_services_response.service}
    assert names >= {f"kratzen.v1.{name}" for name in services} | {"grpc.health.v1.Health"}


def test_a_single_run_can_be_looked_at_and_not_changed(tmp_path: Path) -> None:
    """The arena of `kratzen run` tells how it goes without a token; everything else is refused."""
    (tmp_path / "t.toml").write_text(file_with().replace("join_ms = 0", "join_ms = 600000"))
    process = subprocess.Popen(
        [KRATZEN, "run", tmp_path / "t.toml", "--out", tmp_path / "run"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        assert process.stderr is not None
        waiting = process.stderr.readline()
        address = waiting.partition("KRATZEN_ADDRESS=")[2].split()[0]
        with AdminClient(ArenaAddress(address)) as client:
            (status,) = client.tournaments()
            assert (status.tournament_id, status.name) == ("1", "weekly")
            assert len(client.tournament("1").bots) == 4
            assert client.leaderboard("1").rows
            # Everybody may ask, bots too: which sessions have the same cards is not for them to know.
            assert client.replays("1") == ()
            for call in (
                lambda: client.register_bot("alice"),
                lambda: next(client.check_bot("alice")),
                lambda: client.create_tournament(file_with(), ""),
                lambda: client.stop_tournament("1"),
            ):
                assert "looked at, but not changed" in refusal(call)
            assert "`kratzen serve`" in refusal(client.bots)
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == 143
