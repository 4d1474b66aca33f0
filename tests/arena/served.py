"""An arena as a process of its own, and bots that dial in to it: `kratzen serve` as its users have it."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import grpc
import pytest

from arena.admin import AdminClient, ArenaAddress
from kratzen.v1 import bot_pb2, bot_pb2_grpc

KRATZEN = Path(sys.executable).with_name("kratzen")
LIMIT_S = 30

ENDS_IN_PLAY = """
import os
from kratzen.sdk import run
from sample_bots.random_bot import RandomBot

class Ends(RandomBot):
    def decide(self, request):
        print("no more of this")
        os.sys.stdout.flush()
        os._exit(7)

run(Ends())
"""
"""A bot that says Hello, and ends whenever it is asked."""


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without what it says of arenas, and with some variables more."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("KRATZEN_")}
    return {**plain, **variables}


class Served:
    """A running `kratzen serve`: where it is, and its admin token."""

    def __init__(self, process: "subprocess.Popen[str]", token: str, address: str) -> None:
        self.process = process
        self.token = token
        self.address = address

    @classmethod
    def start(
        cls, folder: Path, *arguments: str, token: str = "", cwd: Path | None = None, **variables: str
    ) -> Self:
        """Start one on a data folder and wait until it listens; `token` is that of an earlier start."""
        process = subprocess.Popen(
            [KRATZEN, "serve", "--data", folder, *(arguments or ("--address", "127.0.0.1:0"))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(**variables),
            cwd=cwd,
        )
        assert process.stdout is not None
        address = ""
        for line in process.stdout:
            name, _, value = line.strip().partition("=")
            if name == "KRATZEN_ADMIN_TOKEN":
                token = value
            if name == "KRATZEN_ADDRESS":
                address = value
                break
        if not address:
            _, said = process.communicate(timeout=LIMIT_S)
            raise AssertionError(f"the arena did not start: {said}")
        return cls(process, token, address)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send it a signal; its exit code and all that it printed on stderr."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, said

    def client(self, token: str | None = None) -> AdminClient:
        """A client with the admin token, or another one."""
        return AdminClient(ArenaAddress(self.address, self.token if token is None else token))

    def kratzen(self, *arguments: str | Path, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run a command against it."""
        return subprocess.run(
            [KRATZEN, *arguments],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env=environment(
                **{"KRATZEN_ADDRESS": self.address, "KRATZEN_ADMIN_TOKEN": self.token, **variables}
            ),
        )

    def bot(self, module: str, token: str, **variables: str) -> "subprocess.Popen[str]":
        """Start a sample bot that dials in with a token."""
        return subprocess.Popen(
            [sys.executable, "-m", f"sample_bots.{module}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(KRATZEN_ADDRESS=self.address, KRATZEN_TOKEN=token, **variables),
        )


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[Served]:
    """A running arena, ended with the block."""
    arena = Served.start(folder, *arguments)
    try:
        yield arena
    finally:
        end(arena.process)


def end(process: "subprocess.Popen[str]") -> None:
    """End a process, if it has not ended, and let go of its pipes."""
    if process.poll() is None:
        process.kill()
    process.communicate(timeout=LIMIT_S)


class RawStream:
    """A stream of a bot that has said Hello and says no more.

    Attributes:
        goodbyes: what it heard of this kind, once its `end` was heard.
        details: the message of the status that it ended with, then.
    """

    def __init__(self, address: str, token: str, *, says_hello: bool = True, max_sessions: int = 1) -> None:
        self.goodbyes: list[bot_pb2.Goodbye] = []
        self.details = ""
        self._says_hello = says_hello
        self._max_sessions = max_sessions
        # A connection each, as bots of different people have.
        self._channel = grpc.insecure_channel(address, (("grpc.use_local_subchannel_pool", 1),))
        self._over = threading.Event()
        self._call = bot_pb2_grpc.BotServiceStub(self._channel).Play(
            self._say_hello(), metadata=(("authorization", f"Bearer {token}"),)
        )
        if says_hello:
            assert next(self._call).welcome.protocol_version == 1
        else:
            # The arena has taken the call in once it has answered with metadata.
            self._call.initial_metadata()

    def _say_hello(self) -> Iterator[bot_pb2.PlayRequest]:
        hello = bot_pb2.Hello(
            protocol_version=1, bot_name="raw", bot_version="1", max_sessions=self._max_sessions
        )
        if self._says_hello:
            yield bot_pb2.PlayRequest(hello=hello)
        self._over.wait(LIMIT_S)

    def cancel(self) -> None:
        """Leave."""
        self._over.set()
        self._call.cancel()
        self._channel.close()

    def end(self) -> grpc.StatusCode:
        """Hear it out; the status it ends with."""
        with pytest.raises(grpc.RpcError):
            self._hear_goodbyes()
        self._over.set()
        code, self.details = self._call.code(), self._call.details()
        self._channel.close()
        return code

    def _hear_goodbyes(self) -> None:
        for said in self._call:
            if said.HasField("goodbye"):
                self.goodbyes.append(said.goodbye)
