"""`kratzen serve` as its users have it: processes, commands, bots that dial in, signals."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any, Self

import grpc
import pytest
from google.protobuf import descriptor_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from arena.admin import AdminClient, AdminError, AdminFailure, ArenaAddress
from arena.cli.main import COMMANDS, TRACE_SWITCH, exit_code
from arena.ledger import TournamentState
from arena.results import AttemptEnd
from arena.store import Registry, StoreReader
from kratzen.v1 import bot_pb2
from tests.arena.served import KRATZEN, LIMIT_S, RawStream, Served, end, environment, served
from tests.figures import Figure

REMOTE = ("remote-a", "remote-b")
MIXED = """
[tournament]
name = "mixed"
seed = 11
blocks_per_group = 3
sessions_at_once = 2
[rules]
muss_after = "normal_failure"
[session]
deals = 6
[[bots]]
name = "remote-a"
[[bots]]
name = "remote-b"
[[bots]]
name = "local-a"
command = "python -m sample_bots.random_bot"
[[bots]]
name = "local-b"
command = "python -m sample_bots.cautious_bot"
"""


def plays(folder: Path) -> dict[str, str]:
    """The digest of every session's play, by label: equal when the same was played."""
    with StoreReader.open(folder) as store:
        return {entry.label: entry.play_sha256 for entry in store.sessions()}


class Dialled:
    """Two bots that dial in to an arena, for as long as the block lasts."""

    def __init__(self, arena: Served, tokens: tuple[str, str], **variables: str) -> None:
        modules = ("random_bot", "cautious_bot")
        self.processes = [
            arena.bot(module, token, **variables) for module, token in zip(modules, tokens, strict=True)
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for process in self.processes:
            end(process)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is played when nobody interrupts, by the commands alone, with bots of both kinds."""
    folder = tmp_path_factory.mktemp("straight")
    (folder / "mixed.toml").write_text(MIXED)
    with served(folder / "data") as arena:
        tokens = [add(arena, name) for name in REMOTE]
        with Dialled(arena, (tokens[0], tokens[1])) as bots:
            created = arena.kratzen("tournament", "create", folder / "mixed.toml")
            assert (created.returncode, created.stdout) == (0, "1\n"), created.stderr
            started = arena.kratzen("tournament", "start", "1", "--follow")
            assert started.returncode == 0, started.stderr
            assert "finished, 12 of 12 sessions" in started.stderr.splitlines()[-1]
            check_tables(arena)
            code, said = arena.stop()
            assert (code, "Traceback" in said) == (0, False)
            # Bots that were told to come back wait for the arena.
            assert [bot.poll() for bot in bots.processes] == [None, None]
    return plays(folder / "data" / "tournaments" / "1")


def add(arena: Served, name: str) -> str:
    """Register a bot by the command; its token."""
    added = arena.kratzen("bots", "add", name)
    assert added.returncode == 0, added.stderr
    return added.stdout.strip()


def check_tables(arena: Served) -> None:
    """What the commands say of a finished tournament."""
    status = json.loads(arena.kratzen("tournament", "status", "1", "--json").stdout)
    assert [bot["is_local"] for bot in status["bots"]] == [False, False, True, True]
    assert [row["sessions"] for row in status["leaderboard"]] == [12] * 4
    assert sum(bot["tally"]["strike_count"] for bot in status["bots"]) == 0
    (listed,) = json.loads(arena.kratzen("tournament", "list", "--json").stdout)
    assert (listed["tournament_id"], listed["state"]) == ("1", "finished")
    bots = json.loads(arena.kratzen("bots", "list", "--json").stdout)
    assert [(bot["name"], bot["is_there"]) for bot in bots] == [(name, True) for name in REMOTE]


def test_remote_and_local_bots_meet(straight: dict[str, str]) -> None:
    """Two bots that dialled in and two that the arena started have played every session."""
    assert sorted(straight) == [f"{block}.{session}" for block in (1, 2, 3) for session in (1, 2, 3, 4)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_end_in_the_middle_is_gone_on_with_to_the_same_play(
    straight: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    """Ended while sessions run, the tournament is listed as stopped, and ends with the same play.

    The bots that dialled in come back to the new arena by themselves, and nobody is at fault.
    """
    with served(tmp_path / "data") as arena, arena.client() as client:
        tokens = (client.register_bot(REMOTE[0]), client.register_bot(REMOTE[1]))
        with Dialled(arena, tokens):
            its_id = client.create_tournament(MIXED, str(tmp_path)).tournament_id
            client.start_tournament(its_id)
            seen = next(status for status in client.watch_tournament(its_id) if status.counts.finished)
            code, said = arena.stop(number)
            if number is signal.SIGTERM:
                assert code == 0
                assert f"go on with: kratzen tournament start {its_id}" in said
            folder = tmp_path / "data" / "tournaments" / its_id
            assert seen.counts.finished <= len(plays(folder)) < 12
            go_on(tmp_path / "data", arena, its_id)
    assert plays(folder) == straight
    with StoreReader.open(folder) as store:
        assert not [seat for result in store.results() for seat in result.seats if seat.faults]


def go_on(data: Path, before: Served, its_id: str) -> None:
    """Start the arena again where it was, and play the tournament to its end."""
    arena = Served.start(data, "--address", before.address, token=before.token)
    try:
        with arena.client() as client:
            assert client.tournament(its_id).state is TournamentState.STOPPED
            client.start_tournament(its_id)
            *_, status = client.watch_tournament(its_id)
            assert status.state is TournamentState.FINISHED
    finally:
        end(arena.process)


def test_who_follows_is_told_that_the_arena_stops(tmp_path: Path) -> None:
    """`status --follow` shows the last status, says why it ends, and exits with 1."""
    text = MIXED.replace("[rules]", "[clock]\njoin_ms = 600000\n[rules]")
    with served(tmp_path / "data") as arena, arena.client() as client:
        for name in REMOTE:
            client.register_bot(name)
        its_id = client.create_tournament(text, str(tmp_path)).tournament_id
        client.start_tournament(its_id)
        following = subprocess.Popen(
            [KRATZEN, "tournament", "status", its_id, "--follow", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(KRATZEN_ADDRESS=arena.address, KRATZEN_ADMIN_TOKEN=arena.token),
        )
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["state"] == "running"
        arena.stop()
        said, told = following.communicate(timeout=LIMIT_S)
    assert json.loads(said.splitlines()[-1])["state"] == "stopped"
    assert (following.returncode, told.count("\n")) == (1, 1)
    assert "the arena stops" in told


# ------------------------------------------------------------------ starting


class Here:
    """`kratzen` in this process, in a folder of its own: for what ends before an arena listens."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder = folder
        self._patch = monkeypatch
        self._capsys = capsys
        monkeypatch.chdir(folder)
        for name in [name for name in os.environ if name.startswith("KRATZEN_")]:
            monkeypatch.delenv(name)

    def refused(self, *arguments: str | Path, **variables: str) -> str:
        """The one sentence that a command ends with, with the exit code of bad input."""
        code, out, err = self.run(*arguments, **variables)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        return err

    def run(self, *arguments: str | Path, **variables: str) -> tuple[int, str, str]:
        """Run a command; its exit code, and what it printed."""
        with self._patch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            code = exit_code([str(argument) for argument in arguments])
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """`kratzen` in this process."""
    return Here(tmp_path, monkeypatch, capsys)


def test_a_second_arena_on_the_same_data_is_refused(here: Here) -> None:
    """It names the process of the first; `bots --data` is refused with what to do instead."""
    with Registry.open(here.folder / "data"):
        said = here.refused("serve", "--data", "data", "--address", "127.0.0.1:0")
        assert f"data is in use by another arena (process {os.getpid()})" in said
        for arguments in (("add", "alice"), ("revoke", "alice"), ("list",)):
            assert "leave --data out" in here.refused("bots", *arguments, "--data", "data")


def test_an_address_in_use_is_refused(tmp_path: Path) -> None:
    """The port of another arena is not shared, and no admin token is spent on the attempt."""
    with served(tmp_path / "one") as arena:
        second = subprocess.run(
            [KRATZEN, "serve", "--data", tmp_path / "two", "--address", arena.address],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env=environment(),
        )
    assert (second.returncode, second.stdout) == (2, "")
    assert second.stderr.startswith(f"kratzen: cannot listen on {arena.address}: it is in use")
    assert second.stderr.count("\n") == 1
    with Registry.open(tmp_path / "two") as registry:
        assert registry.admin_hash() is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--address", "0.0.0.0:0"), "0.0.0.0:0 can be reached from other machines, and without TLS"),
        (("--address", "arena.example:7373"), "can be reached from other machines"),
        (("--address", "7373"), "7373 is no address: allowed is host:port"),
        (("--tls-cert", "cert.pem"), "--tls-cert and --tls-key belong together"),
        (("--tls-cert", "no.pem", "--tls-key", "no.key"), "no.pem: cannot be read: No such file"),
        (("--config", "no.toml"), "no.toml: cannot be read: No such file"),
        (("--limit", "max_streams"), "--limit max_streams: allowed is a name and a number"),
        (("--limit", "max_stream=1"), "unknown key limits.max_stream: did you mean max_streams?"),
    ],
)
def test_what_is_wrong_at_the_start_is_one_sentence(
    here: Here, arguments: tuple[str, ...], sentence: str
) -> None:
    """Nothing is made in the data folder before the options are right."""
    assert sentence in here.refused("serve", *arguments)
    assert not (here.folder / "kratzen-data").exists()


@pytest.mark.parametrize(
    "arguments", ["serve", "run t.toml", "bot check -- true", "bots list", "tournament list"]
)
def test_a_trace_that_prints_tokens_is_refused(here: Here, arguments: str) -> None:
    """GRPC's own trace would print tokens: it takes a second switch, whichever the command (X15)."""
    said = here.refused(*arguments.split(), GRPC_TRACE="http")
    assert "GRPC_TRACE is set" in said
    assert TRACE_SWITCH in said
    assert list(here.folder.iterdir()) == []


def test_commands_that_have_no_tokens_do_not_mind_a_trace(here: Here) -> None:
    """They open neither server nor channel; no command is forgotten."""
    assert {name for name, command in COMMANDS.items() if not command.has_tokens} == {
        "leaderboard",
        "replay",
        "rules",
    }
    assert here.run("rules", "show", "tavern", GRPC_TRACE="http")[0] == 0


def test_options_come_before_variables_and_these_before_the_file(here: Here) -> None:
    """The data folder is that of the option, else of the variable, else of kratzen.toml, else a default."""
    variable = {"KRATZEN_DATA": "of-variable"}
    with ExitStack() as held:
        for folder in ("kratzen-data", "of-file", "of-variable", "of-option"):
            held.enter_context(Registry.open(here.folder / folder))
        assert here.refused("serve").startswith("kratzen: kratzen-data is in use")
        (here.folder / "kratzen.toml").write_text('[serve]\ndata = "of-file"\n')
        assert here.refused("serve").startswith("kratzen: of-file is in use")
        assert here.refused("serve", **variable).startswith("kratzen: of-variable is in use")
        said = here.refused("serve", "--data", "of-option", **variable)
        assert said.startswith("kratzen: of-option is in use")


def test_limits_come_from_options_variables_and_the_file(here: Here) -> None:
    """Whoever names a limit that is none is told, wherever that was."""
    said = "unknown key limits.max_stream: did you mean max_streams?"
    assert said in here.refused("serve", KRATZEN_LIMITS="max_streams=9 max_stream=9")
    (here.folder / "kratzen.toml").write_text("[limits]\nmax_stream = 9\n")
    assert here.refused("serve") == f"kratzen: kratzen.toml: {said}\n"


def test_the_admin_token_is_printed_once(tmp_path: Path) -> None:
    """A second start prints none; with --new-admin-token the old one is void."""
    with served(tmp_path) as arena:
        first = arena.token
    with served(tmp_path) as arena:
        assert arena.token == ""
        with arena.client(first) as client:
            assert client.bots() == ()
    with served(tmp_path, "--address", "127.0.0.1:0", "--new-admin-token") as arena:
        assert arena.token not in ("", first)
        with arena.client(first) as client, pytest.raises(AdminError, match="admin token"):
            client.bots()


def test_bots_are_registered_in_the_folder_of_an_arena_that_does_not_run(here: Here) -> None:
    """`bots --data` works on it, and an arena that starts later knows who was registered."""
    code, token, _ = here.run("bots", "add", "alice", "--data", "data")
    assert (code, token.startswith("kratzen_")) == (0, True)
    assert here.run("bots", "add", "bob", "--data", "data")[0] == 0
    assert here.run("bots", "revoke", "bob", "--data", "data")[0] == 0
    assert "registered already" in here.refused("bots", "add", "alice", "--data", "data")
    for arguments in (("list",), ("revoke", "alice")):
        assert "dada is no data folder" in here.refused("bots", *arguments, "--data", "dada")
    assert not (here.folder / "dada").exists()
    assert "is no name for a bot" in here.refused("bots", "add", "Alice\x1b[2J", "--data", "data")
    with served(here.folder / "data") as arena, arena.client() as client:
        assert {bot.name: bot.revoked_at_us is None for bot in client.bots()} == {"alice": True, "bob": False}


# ------------------------------------------------------------------ stopping


def test_an_idle_arena_stops_at_once_and_tells_its_bots(tmp_path: Path) -> None:
    """Ctrl-C: exit 0, and a bot that waited is told to come back."""
    with served(tmp_path) as arena, arena.client() as client:
        token = client.register_bot("alice")
        bot = arena.bot("random_bot", token)
        _until_there(client, "alice")
        code, said = arena.stop(signal.SIGINT)
        assert (code, "Traceback" in said) == (0, False)
        assert bot.stderr is not None
        assert "the arena stops: come back" in bot.stderr.readline()
        end(bot)


def test_the_second_signal_ends_at_once(tmp_path: Path) -> None:
    """While sessions that hang get their moment, another signal is the end; nothing reported is lost (F9)."""
    text = MIXED.replace("[rules]", "[clock]\ntimed = false\n[rules]")
    text = text.replace("blocks_per_group = 3", "blocks_per_group = 300")
    with served(tmp_path / "data") as arena, arena.client() as client:
        tokens = (client.register_bot(REMOTE[0]), client.register_bot(REMOTE[1]))
        with Dialled(arena, tokens) as bots:
            its_id = client.create_tournament(text, str(tmp_path)).tournament_id
            client.start_tournament(its_id)
            next(status for status in client.watch_tournament(its_id) if status.counts.finished >= 4)
            bots.processes[0].send_signal(signal.SIGSTOP)
            assert arena.process.stderr is not None
            arena.process.send_signal(signal.SIGTERM)
            while "once more to stop at once" not in arena.process.stderr.readline():
                pass
            reported = client.tournament(its_id).counts.finished
            began_s = monotonic()
            code, _ = arena.stop(signal.SIGTERM)
            assert (code, monotonic() - began_s < 1) == (143, True)
    assert len(plays(tmp_path / "data" / "tournaments" / its_id)) >= reported >= 4


CROWDED = """
[tournament]
name = "crowded"
seed = 11
blocks_per_group = 10
sessions_at_once = 40
[clock]
timed = false
""" + "".join([f'[[bots]]\nname = "remote-{letter}"\n' for letter in "abcd"])


@pytest.mark.parametrize(
    ("rounds", "streams"),
    [
        (1, 40),
        pytest.param(4, 100, marks=pytest.mark.nightly),
        pytest.param(100, 100, marks=pytest.mark.soak),
    ],
)
def test_many_streams_and_watchers_do_not_hold_it_up(
    rounds: int, streams: int, tmp_path: Path, figure: Figure
) -> None:
    """With 40 open decisions and 20 watchers it is out in 5 s, and each is told why, every time (F9)."""
    all_s = []
    for number in range(rounds):
        signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        all_s.append(stop_with_a_crowd(tmp_path / str(number), signals[number % 3], streams))
    assert max(all_s) <= 5
    figure("F9", f"n = {rounds}, stopped with {streams} streams: ended in {max(all_s):.2f} s at most")


def stop_with_a_crowd(folder: Path, number: signal.Signals, stream_count: int) -> float:
    """Stop an arena that waits for 40 decisions; how long it took, in seconds."""
    with served(folder / "data") as arena, arena.client() as client:
        names = [f"remote-{letter}" for letter in "abcd"] + [f"idle-{i}" for i in range(stream_count - 4)]
        streams = [RawStream(arena.address, client.register_bot(name), max_sessions=40) for name in names]
        its_id = client.create_tournament(CROWDED, "").tournament_id
        client.start_tournament(its_id)
        watchers = [client.watch_tournament(its_id) for _ in range(20)]
        for watcher in watchers:
            next(status for status in watcher if status.running_count == 40)
        began_s = monotonic()
        code, said = arena.stop(number)
        taken_s = monotonic() - began_s
        assert (code, "Traceback" in said) == (0, False), said
        for stream in streams:
            assert_told_to_come_back(stream)
        for watcher in watchers:
            with pytest.raises(AdminError, match="the arena stops"):
                list(watcher)
    with StoreReader.open(folder / "data" / "tournaments" / its_id) as store:
        assert [attempt.ending for attempt in store.attempts()] == [AttemptEnd.OPERATOR_STOP] * 40
    return taken_s


def assert_told_to_come_back(stream: RawStream) -> None:
    """The bot heard Goodbye, as the last of everything, with the reason; the status says it too."""
    detail = "the arena stops: come back when it is there again"
    assert stream.end() is grpc.StatusCode.UNAVAILABLE
    reason = bot_pb2.GOODBYE_REASON_STOPPING
    assert stream.goodbyes == [bot_pb2.Goodbye(reason=reason, come_back=True, detail=detail)]
    assert stream.details == detail


def test_who_has_not_said_hello_yet_is_told_too(tmp_path: Path) -> None:
    """A stream that has only just been opened, beside one that has said Hello, hears the same."""
    with served(tmp_path) as arena, arena.client() as client:
        token = client.register_bot("alice")
        streams = [RawStream(arena.address, token), RawStream(arena.address, token, says_hello=False)]
        assert arena.stop()[0] == 0
        for stream in streams:
            assert_told_to_come_back(stream)


def test_a_check_does_not_hold_it_up(tmp_path: Path) -> None:
    """While a bot that is checked leaves a question open the arena is out in 5 s, and both are told why."""
    with served(tmp_path) as arena, arena.client() as client:
        stream = RawStream(arena.address, client.register_bot("alice"))
        check = client.check_bot("alice")
        assert next(check).passed
        began = os.times().elapsed
        code, said = arena.stop()
        took_s = os.times().elapsed - began
        assert (code, "Traceback" in said, took_s < 5) == (0, False, True), took_s
        with pytest.raises(AdminError, match="the arena stops, which ends the check"):
            next(check)
        assert_told_to_come_back(stream)


def _until_there(client: AdminClient, name: str) -> None:
    """Ask until a bot is there; each question takes its time."""
    while not [bot for bot in client.bots() if bot.name == name and bot.is_there]:
        pass


# ------------------------------------------------------------------ TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost and its key."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate and its key, made by the call of openssl that docs/serving.md shows."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    docs = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    (call,) = re.findall(r"^openssl req .*?[^\\]$", docs, re.MULTILINE | re.DOTALL)
    subprocess.run(["/bin/sh", "-c", call], cwd=folder, check=True, capture_output=True)
    return folder / "arena.pem", folder / "arena.key"


def test_bots_and_commands_come_in_by_tls(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    """With the certificate trusted both work, and bots that the arena starts need none."""
    cert, key = certificate
    options = ("--address", "localhost:0", "--tls-cert", str(cert), "--tls-key", str(key))
    with served(tmp_path / "data", *options) as arena:
        added = arena.kratzen("bots", "add", "remote-a", "--ca", cert)
        assert added.returncode == 0, added.stderr
        with AdminClient(ArenaAddress(arena.address, arena.token, cert.read_bytes())) as client:
            tokens = (added.stdout.strip(), client.register_bot("remote-b"))
            text = MIXED.replace("blocks_per_group = 3", "blocks_per_group = 1")
            its_id = client.create_tournament(text, str(tmp_path)).tournament_id
            with Dialled(arena, tokens, KRATZEN_CA=str(cert)):
                client.start_tournament(its_id)
                *_, status = client.watch_tournament(its_id)
            assert (status.state, status.counts.finished) == (TournamentState.FINISHED, 4)


def test_who_does_not_trust_the_certificate_does_not_get_in(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """Plain text, another certificate, a name that is not in it: no answer, but what to do."""
    cert, key = certificate
    options = ("--address", "localhost:0", "--tls-cert", str(cert), "--tls-key", str(key))
    with served(tmp_path / "data", *options) as arena:
        number = arena.address.replace("localhost", "127.0.0.1")
        another, _ = make_certificate(tmp_path)
        for address, said in (
            (ArenaAddress(arena.address, arena.token), "as one with TLS does: name its certificate by --ca"),
            (
                ArenaAddress(arena.address, arena.token, another.read_bytes()),
                "its certificate is not among those to trust",
            ),
            (ArenaAddress(number, arena.token, cert.read_bytes()), "is not one for 127.0.0.1: dial a name"),
        ):
            with AdminClient(address) as client, pytest.raises(AdminError, match=said) as caught:
                client.bots()
            assert caught.value.failure is AdminFailure.NO_ARENA


def test_an_address_of_elsewhere_is_told(here: Here) -> None:
    """It is not confused with one that is in use."""
    said = here.refused("serve", "--address", "192.0.2.1:0", "--insecure")
    assert "cannot listen on 192.0.2.1:0: it is no address of this machine" in said


def test_a_certificate_that_is_none_is_refused(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    """A key that does not belong to the certificate is one sentence."""
    cert, _ = certificate
    done = subprocess.run(
        [
            KRATZEN,
            "serve",
            "--data",
            tmp_path,
            "--address",
            "localhost:0",
            "--tls-cert",
            cert,
            "--tls-key",
            cert,
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "are not a certificate and its private key, both PEM" in done.stderr


def test_an_arena_without_tls_says_so_to_those_who_ask_for_it(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """The sentence says what to leave out."""
    cert, _ = certificate
    with served(tmp_path / "data") as arena:
        done = arena.kratzen("bots", "list", "--ca", cert)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert "it does not speak TLS: leave out --ca and KRATZEN_CA" in done.stderr


# ------------------------------------------------------------------ from other tools


def lines_of_docs(page: str, tool: str) -> list[str]:
    """The calls of a tool that a page of the docs shows."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text("utf-8")
    return [line.strip() for line in text.splitlines() if line.strip().startswith(f"{tool} ")]


def test_the_lines_for_buf_work(tmp_path: Path) -> None:
    """`buf curl` finds the services by reflection and lists the tournaments, as the docs show."""
    buf = KRATZEN.with_name("buf")
    if not buf.exists():
        pytest.skip("buf is not installed")
    (listing,), (calling,) = (lines_of_docs(page, "buf curl") for page in ("protocol.md", "serving.md"))
    said = []
    with served(tmp_path) as arena:
        for line in (listing, calling):
            words = line.replace("127.0.0.1:7373", arena.address).replace("$KRATZEN_ADMIN_TOKEN", arena.token)
            done = subprocess.run(
                [buf, *shlex.split(words)[1:]], capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
            assert done.returncode == 0, done.stderr
            said.append(done.stdout)
    assert {"kratzen.v1.BotService", "kratzen.v1.TournamentService"} <= set(said[0].split())
    assert json.loads(said[1]) == {}


def test_what_the_lines_for_grpcurl_name_is_found_by_reflection(tmp_path: Path) -> None:
    """The message that is described and the call that is made, by the symbols that grpcurl asks for."""
    (describing,), (calling,) = (lines_of_docs(page, "grpcurl") for page in ("protocol.md", "serving.md"))
    *_, address, verb, message = describing.split()
    assert (address, verb) == ("127.0.0.1:7373", "describe")
    *_, address, method = calling.split()
    assert address == "127.0.0.1:7373"
    service, _, called = method.partition("/")
    with served(tmp_path) as arena:
        described = file_of_symbol(arena, message)
        (found,) = [it for it in file_of_symbol(arena, service).service if it.name == service.split(".")[-1]]
    assert message.split(".")[-1] in [it.name for it in described.message_type]
    assert called in [it.name for it in found.method]


def file_of_symbol(arena: Served, symbol: str) -> descriptor_pb2.FileDescriptorProto:
    """The file that reflection says a symbol is in."""
    asked = reflection_pb2.ServerReflectionRequest(file_containing_symbol=symbol)
    with grpc.insecure_channel(arena.address) as channel:
        reflection: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        (answer,) = reflection.ServerReflectionInfo(iter([asked]))
    (file, *_) = answer.file_descriptor_response.file_descriptor_proto
    return descriptor_pb2.FileDescriptorProto.FromString(file)


def test_connections_are_bounded_whoever_makes_them(tmp_path: Path) -> None:
    """The connection above the limit is closed at once."""
    options = ("--address", "127.0.0.1:0", "--limit", "max_connections=2")
    with served(tmp_path / "data", *options) as arena, ExitStack() as held:
        host, port = arena.address.split(":")
        for _ in range(2):
            connection = held.enter_context(socket.create_connection((host, int(port)), LIMIT_S))
            assert connection.recv(9)
        with socket.create_connection((host, int(port)), LIMIT_S) as third:
            assert third.recv(9) == b""
