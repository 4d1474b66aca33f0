"""What bot authors install: the generated code and the SDK, beside whatever else they have."""

import os
import re
import subprocess
import sys
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool

from kratzen.v1 import admin_pb2, bot_pb2, game_pb2

V1 = Path(bot_pb2.__file__).parent
OLDEST_PROTOBUF = (6, 31, 1)
OLDEST_GRPC = "1.78.0"


def test_generated_files_import_each_other_by_package() -> None:
    """No file looks for its sibling at the top level, where a bot's own folder would hide it (Q03)."""
    for path in V1.glob("*_pb2*.py"):
        imports = re.findall(r"^(?:from|import) \S*.*_pb2.*$", path.read_text("utf-8"), re.MULTILINE)
        assert all(line.startswith(("from kratzen.v1 import", "from google.")) for line in imports), path


def test_our_files_are_registered_under_their_package() -> None:
    """Another package may bring its own `game.proto` and `bot.proto` into the same program (Q04)."""
    for module, name in ((game_pb2, "game"), (bot_pb2, "bot"), (admin_pb2, "admin")):
        assert module.DESCRIPTOR.name == f"kratzen/v1/{name}.proto"
        assert module.DESCRIPTOR.package == "kratzen.v1"
        other = descriptor_pb2.FileDescriptorProto(
            name=f"{name}.proto", package=f"other_{name}", syntax="proto3"
        )
        other.message_type.add(name="Request")
        descriptor_pool.Default().Add(other)
        found = descriptor_pool.Default().FindFileByName(f"{name}.proto")
        assert found.package == f"other_{name}"


def test_generated_code_runs_on_the_oldest_runtimes_that_we_allow() -> None:
    """It asks for no newer protobuf and grpcio than the SDK's floors (Q01)."""
    for path in V1.glob("*_pb2.py"):
        asked = re.search(r"Domain\.PUBLIC,\s+(\d+),\s+(\d+),\s+(\d+),", path.read_text("utf-8"))
        assert asked is not None, path
        assert tuple(map(int, asked.groups())) <= OLDEST_PROTOBUF, path
    for path in V1.glob("*_pb2_grpc.py"):
        assert f"GRPC_GENERATED_VERSION = '{OLDEST_GRPC}'" in path.read_text("utf-8"), path


def test_the_sdk_needs_nothing_of_the_arena() -> None:
    """Importing the SDK brings in grpc, protobuf and the engine, and none of the arena's packages."""
    program = "import sys, kratzen.sdk; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    imported = set(ended.stdout.split())
    assert {"grpc", "google", "engine", "kratzen"} <= imported
    assert imported & {"arena", "msgspec", "structlog", "sqlalchemy", "click", "rich", "trueskill"} == set()
