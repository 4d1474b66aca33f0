"""What server and clients tell gRPC of pings: a dead peer is noticed, and nobody is cut off for pinging.

gRPC's own defaults are the opposite: pings of clients more often than every 5 minutes end the
connection, and neither side notices that the other is gone.
"""

import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from arena import admin, server
from arena.admin import AdminClient, AdminError, AdminFailure, ArenaAddress
from arena.clock import ManualTime
from arena.lobby import Lobby
from arena.server import PING_LIMIT_MS
from kratzen.sdk import client as sdk
from tests.arena.halls import NAMES, file_with
from tests.arena.served import served

ADDRESSES = ("127.0.0.1:1", "arena.example:1")

Options = dict[str, int]


def taken(patch: pytest.MonkeyPatch, module: Any, name: str, call: Callable[[], object]) -> Options:  # noqa: ANN401 - a module of gRPC
    """The options that a channel is made with."""
    made: list[Sequence[tuple[str, int]]] = []
    original = getattr(module, name)

    def make(address: str, options: Sequence[tuple[str, int]]) -> object:
        made.append(options)
        return original(address, options)

    patch.setattr(module, name, make)
    call()
    return dict(made[-1])


@pytest.mark.parametrize("address", ADDRESSES)
async def test_both_clients_ping_a_quiet_link(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every 20 s, also between calls, as often as they like; no answer in 10 s is the end."""
    channels: list[grpc.aio.Channel] = []
    of_sdk = taken(
        monkeypatch,
        grpc.aio,
        "insecure_channel",
        lambda: channels.append(sdk._channel(sdk.Settings(address, "token"))),
    )
    of_admin = taken(
        monkeypatch, grpc, "insecure_channel", lambda: AdminClient(ArenaAddress(address)).close()
    )
    for options in (of_sdk, of_admin):
        assert options["grpc.keepalive_time_ms"] == 20_000
        assert options["grpc.keepalive_timeout_ms"] == 10_000
        assert options["grpc.http2.ping_timeout_ms"] == 10_000
        assert options["grpc.keepalive_permit_without_calls"] == 1
        assert options["grpc.http2.max_pings_without_data"] == 0
    await channels[0].close()


def test_the_server_pings_and_lets_ping() -> None:
    """As its clients do; a client may ping every 5 to 10 s, also between calls."""
    options = dict(server._options(Lobby(ManualTime(), arena_version="0"), 1))
    assert options["grpc.keepalive_time_ms"] == 20_000
    assert options["grpc.keepalive_timeout_ms"] == PING_LIMIT_MS == 10_000
    assert options["grpc.http2.ping_timeout_ms"] == 10_000
    assert options["grpc.keepalive_permit_without_calls"] == 1
    assert 5_000 <= options["grpc.http2.min_ping_interval_without_data_ms"] <= 10_000


def test_who_follows_an_arena_that_vanished_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process answers no ping: the following ends with a sentence, though nothing was closed."""
    names = ("grpc.keepalive_time_ms", "grpc.keepalive_timeout_ms", "grpc.http2.ping_timeout_ms")
    quick = dict.fromkeys(names, 500)
    monkeypatch.setattr(admin, "_KEEPALIVE", tuple((dict(admin._KEEPALIVE) | quick).items()))
    with served(tmp_path) as arena, arena.client() as client:
        for name in NAMES:
            client.register_bot(name)
        text = file_with().replace("join_ms = 0", "join_ms = 600000")
        its_id = client.create_tournament(text, "").tournament_id
        client.start_tournament(its_id)
        following = client.watch_tournament(its_id)
        next(following)
        arena.process.send_signal(signal.SIGSTOP)
        with pytest.raises(AdminError, match="no answer from an arena at") as caught:
            list(following)
        assert caught.value.failure is AdminFailure.NO_ARENA
