"""The house as data: who may import whom, and a test that names every arrow that points up.

The table is that of the README's reading order. A new file in `engine/` or `arena/` needs a place in it.
`import` statements are read from the source (`ast`), wherever they stand, so that one inside a function
or under `TYPE_CHECKING` counts too.
"""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent

LAYERS: Final = (
    (
        "edge",
        "arena",
        "cli server auth guests calls admin admin_services hall roster digests hosted running_check",
    ),
    ("edge", "arena", "account archive enrolment store launcher local_bots bot_command"),
    ("edge", "arena", "sandbox check supervisor run_queue aside"),
    ("async", "arena", "tournament books changes identities lobby visits runner lag check_table"),
    ("pure", "arena", "referee link wire frame settings"),
    ("pure", "arena", "replay replay_lines replay_reading replay_stream replay_verify replay_text"),
    ("pure", "arena", "check_trace check_findings"),
    ("small", "arena", "clock faults record results schedule balance ratings standings"),
    (
        "small",
        "arena",
        "config sections seats messages commitment text ledger tally pace status offers places",
    ),
    ("small", "arena", "door refusals address"),
    ("session", "engine", "session view imagine notation fallback"),
    ("deal", "engine", "deal"),
    ("parts", "engine", "trick pot pack actions events"),
    ("words", "engine", "cards rules errors"),
)
"""From the top down: layer, package, modules. Arrows point down or stay in their layer, without a circle."""

LAYER_NAMES: Final = (*dict.fromkeys(name for name, _, _ in LAYERS), "packages")
"""Below all others are the packages' own files, which every import of a module in them runs first."""

LAYER_OF: Final[Mapping[str, str]] = {
    **{f"{package}.{module}": name for name, package, modules in LAYERS for module in modules.split()},
    "engine": "packages",
    "arena": "packages",
}

BAD_BOTS: Final = "sample_bots.faulty"
"""They speak the protocol by hand: the SDK that good bots use would not let them do what they are for."""

CLIENTS: Final[Mapping[str, frozenset[str]]] = {
    "sample_bots": frozenset({"sample_bots", "kratzen.sdk", "engine"}),
    BAD_BOTS: frozenset({BAD_BOTS, "kratzen.sdk", "kratzen.v1", "engine"}),
    "kratzen.sdk": frozenset({"kratzen.sdk", "kratzen.v1", "engine"}),
}
"""What stands beside the arena and talks to it by gRPC alone, and the project's parts that it may import."""

_SERVICES: Final = frozenset({"arena.server", "arena.guests", "arena.admin_services", "arena.admin"})
"""Both ends of gRPC in the arena: streams of bots, what strangers ask, admin services and their client."""
_GRPC_USERS: Final = _SERVICES | {"arena.auth", "arena.calls", "kratzen.sdk", BAD_BOTS}
_PROTOBUF_USERS: Final = _SERVICES | {"arena.wire", "kratzen.sdk", BAD_BOTS}

RESERVED: Final[Mapping[str, frozenset[str]]] = {
    "kratzen.v1": _PROTOBUF_USERS,
    "google.protobuf": _PROTOBUF_USERS,
    "grpc": _GRPC_USERS,
    "grpc_health": _GRPC_USERS,
    "grpc_reflection": _GRPC_USERS,
    "sqlalchemy": frozenset({"arena.store"}),
    "trueskill": frozenset({"arena.ratings"}),
}
"""What only the named modules may import."""

ENGINE_NEVER: Final = frozenset({"asyncio", "time", "random", "os", "pathlib", "logging", "socket"})
"""Parts of the standard library that would bring input, output, time or chance into the rules."""

INSIDE_NEVER: Final = frozenset({"os", "pathlib", "shutil", "socket", "subprocess", "tempfile"})
"""Files, processes and the network: the edge's, and never the layers' below it."""

STDLIB_ALONE: Final = frozenset({"arena.supervisor", "sample_bots"})
"""Modules that run as programs of their own with nothing but Python (and, for bots, their clients' parts)."""

CLOCK: Final = "arena.clock"
OWN_CLOCK: Final = frozenset({"arena.supervisor", "kratzen.sdk", "sample_bots", BAD_BOTS})
"""Programs of their own, in processes of their own: the arena's clock is not theirs to read."""

PROJECT: Final = frozenset({"engine", "arena", "kratzen", "sample_bots"})


@dataclass(frozen=True, slots=True)
class Arrow:
    """One import: the line of the module that has it, and the module that it asks for."""

    module: str
    line: int
    target: str

    def __str__(self) -> str:
        return f"{self.module} line {self.line} imports {self.target}"


def unit(module: str) -> str:
    """The part of the house that a module belongs to: `arena.cli.main` to `arena.cli`."""
    if module == BAD_BOTS or module.startswith(f"{BAD_BOTS}."):
        return BAD_BOTS
    first, *rest = module.split(".")
    return first if first == "sample_bots" else ".".join([first, *rest[:1]])


def arrows(modules: Mapping[str, str]) -> Iterator[Arrow]:
    """Every import in the sources of the given modules (dotted name to text)."""
    for module, source in modules.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Arrow(module, node.lineno, alias.name)
            elif isinstance(node, ast.ImportFrom):
                if node.level:
                    yield Arrow(module, node.lineno, "." * node.level + (node.module or ""))
                    continue
                assert node.module is not None
                for alias in node.names:
                    yield Arrow(module, node.lineno, _module_named(node.module, alias.name, modules))


def _module_named(parent: str, name: str, modules: Mapping[str, str]) -> str:
    """What `from parent import name` asks for: a module of ours when there is one, else its parent."""
    inner = f"{parent}.{name}"
    is_module = inner in {*modules, *LAYER_OF, *CLIENTS, *RESERVED}
    return inner if is_module else parent


def upward(modules: Mapping[str, str]) -> list[str]:
    """Arrows of the engine and the arena that point up, or out of the house."""
    found = []
    for arrow in arrows(modules):
        source, target = LAYER_OF.get(unit(arrow.module)), LAYER_OF.get(unit(arrow.target))
        if source is None:
            continue
        if unit(arrow.target) in CLIENTS:
            found.append(f"{arrow}: a client, which the arena never imports")
        elif target is not None and LAYER_NAMES.index(target) < LAYER_NAMES.index(source):
            found.append(f"{arrow}: from layer {source} up to layer {target}")
    return found


def circles(modules: Mapping[str, str]) -> list[str]:
    """A circle of imports among units, when there is one."""
    graph: dict[str, set[str]] = {}
    for arrow in arrows(modules):
        source, target = unit(arrow.module), unit(arrow.target)
        if source != target:
            graph.setdefault(source, set()).add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" imports ".join(reversed(error.args[1]))]
    return []


def homeless(modules: Mapping[str, str]) -> list[str]:
    """Modules of the engine and the arena that no layer names."""
    return [
        f"{module} has no place in LAYERS"
        for module in modules
        if module.split(".")[0] in {"engine", "arena"} and unit(module) not in LAYER_OF
    ]


def outside(modules: Mapping[str, str]) -> list[str]:
    """Arrows to what is reserved for others, or forbidden where they stand."""
    return [f"{arrow}: {reason}" for arrow in arrows(modules) for reason in _reasons_against(arrow)]


def _reasons_against(arrow: Arrow) -> Iterator[str]:
    source, target = unit(arrow.module), unit(arrow.target)
    package, top = arrow.module.split(".")[0], arrow.target.split(".")[0]
    own_layer = LAYER_OF.get(source)
    if arrow.target.startswith("."):
        yield "imports name the whole path"
        return
    for reserved, users in RESERVED.items():
        if (arrow.target == reserved or arrow.target.startswith(f"{reserved}.")) and source not in users:
            yield f"only {', '.join(sorted(users))} may"
    if source in CLIENTS and top in PROJECT and not {top, target} & CLIENTS[source]:
        yield f"of the project it may import {', '.join(sorted(CLIENTS[source]))} alone"
    if (package == "engine" or source in STDLIB_ALONE) and top not in sys.stdlib_module_names | PROJECT:
        yield "only the standard library is allowed here"
    if package == "engine" and (top in ENGINE_NEVER or top in PROJECT - {"engine"}):
        yield "the engine has no input, output, time or chance, and knows nobody"
    if source == "arena.supervisor" and top in PROJECT:
        yield "it runs on its own"
    if own_layer in {"async", "pure", "small"} and top in INSIDE_NEVER:
        yield "files, processes and the network are the edge's"
    if own_layer in {"pure", "small"} and top == "asyncio":
        yield "nothing waits below the async layer"


def clock_readers(modules: Mapping[str, str]) -> list[str]:
    """Places that read a clock elsewhere than in the one module that may."""
    found = []
    for module, source in modules.items():
        if unit(module) in OWN_CLOCK | {CLOCK}:
            continue
        found += [
            f"{arrow}: only {CLOCK} reads a clock"
            for arrow in arrows({module: source})
            if arrow.target == "time"
        ]
        found += [
            f"{module} line {node.lineno} reads a clock ({ast.unparse(node)}): only {CLOCK} may"
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call) and _reads_clock(node)
        ]
    return found


def _reads_clock(call: ast.Call) -> bool:
    """Whether a call is `loop.time()` or one like `datetime.now(UTC)`."""
    if not isinstance(call.func, ast.Attribute):
        return False
    owner = ast.unparse(call.func.value).split(".")[-1]
    of_date = owner in {"datetime", "date"} and call.func.attr in {"now", "utcnow", "today"}
    return of_date or (call.func.attr == "time" and not call.args)


def the_project() -> dict[str, str]:
    """The sources of the house: dotted module name to text; no generated code, no tests."""
    trees = [(ROOT, name) for name in ("engine", "arena", "sample_bots")] + [(ROOT / "proto", "kratzen/sdk")]
    modules = {}
    for root, folder in trees:
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            modules[name] = path.read_text(encoding="utf-8")
    return modules


def test_the_house_is_found() -> None:
    """The walk over the tree sees its packages: an empty walk would pass every other test here."""
    found = the_project()
    assert {"engine", "engine.cards", "engine.rules", "arena.clock"} <= set(found)


@pytest.mark.parametrize("check", [upward, circles, homeless, outside, clock_readers])
def test_the_house_stands(check: Callable[[Mapping[str, str]], list[str]]) -> None:
    """No import of the project points up, runs in a circle or takes what is reserved for others."""
    found = check(the_project())
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("engine.cards", "from engine.deal import Deal", "layer words up to layer deal"),
        ("engine.cards", "from engine import deal", "layer words up to layer deal"),
        ("engine.deal", "def f():\n    import engine.session", "engine.deal line 2 imports engine.session"),
        ("arena.link", "import arena.server", "layer pure up to layer edge"),
        ("arena.runner", "from arena.cli.main import main", "layer async up to layer edge"),
        ("engine.trick", "from arena.clock import Time", "layer parts up to layer small"),
        ("engine", "from engine.cards import Card", "layer packages up to layer words"),
        ("arena.cli.main", "from kratzen.sdk import Bot", "a client"),
        ("arena.launcher", "import sample_bots.random_bot", "a client"),
    ],
)
def test_an_upward_arrow_is_named(module: str, source: str, said: str) -> None:
    """An import that points up fails with its module and both layers."""
    (message,) = upward({module: source})
    assert said in message
    assert message.startswith(module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("arena.server", "from arena.link import Link\nfrom engine.view import View\nimport asyncio"),
        ("arena.cli.main", "from arena.cli.text import table\nimport arena.store"),
        ("engine.session", "from engine.view import View"),
        ("kratzen.sdk.client", "import grpc\nfrom kratzen.v1 import bot_pb2\nfrom engine.view import View"),
        ("sample_bots.random_bot", "import random\nfrom kratzen.sdk import Bot\nimport engine.fallback"),
        ("sample_bots.faulty.raw", "import grpc.aio\nfrom kratzen.v1 import bot_pb2"),
        ("arena.wire", "from kratzen.v1 import bot_pb2"),
        ("arena.clock", "import time\ntime.monotonic_ns()"),
        ("arena.store", "import sqlalchemy as sa\nfrom pathlib import Path"),
    ],
)
def test_a_good_arrow_passes(module: str, source: str) -> None:
    """Imports that the table allows are not complained of."""
    modules = {module: source}
    assert upward(modules) + circles(modules) + homeless(modules) + outside(modules) == []
    assert clock_readers(modules) == []


def test_a_circle_is_named() -> None:
    """Two modules of one layer that import each other fail."""
    (message,) = circles({"engine.pot": "import engine.trick", "engine.trick": "from engine import pot"})
    assert "engine.pot imports engine.trick" in message


def test_a_module_without_a_place_is_named() -> None:
    """A new file of the engine or the arena fails until the table has it."""
    assert homeless({"arena.helpers": "", "arena.cli.text": "", "sample_bots.lucky_bot": ""}) == [
        "arena.helpers has no place in LAYERS"
    ]


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        (
            "arena.runner",
            "import grpc.aio",
            "only arena.admin, arena.admin_services, arena.auth, arena.calls, arena.guests, arena.server",
        ),
        (
            "arena.launcher",
            "import grpc",
            "only arena.admin, arena.admin_services, arena.auth, arena.calls, arena.guests, arena.server",
        ),
        ("arena.lobby", "from kratzen.v1 import bot_pb2", "imports kratzen.v1"),
        (
            "arena.replay",
            "import kratzen.v1.bot_pb2",
            "only arena.admin, arena.admin_services, arena.guests, arena.server, arena.wire",
        ),
        ("sample_bots.lucky_bot", "from arena.messages import Hello", "of the project it may import"),
        ("sample_bots.lucky_bot", "from kratzen.v1 import bot_pb2", "of the project it may import"),
        ("sample_bots.faulty.raw", "from arena.messages import Hello", "of the project it may import"),
        ("kratzen.sdk.bot", "import arena.wire", "of the project it may import"),
        ("sample_bots.lucky_bot", "import numpy", "only the standard library"),
        ("engine.pack", "import msgspec", "only the standard library"),
        ("engine.pack", "import random", "no input, output, time or chance"),
        ("engine.pack", "from os import urandom", "no input, output, time or chance"),
        ("engine.pack", "import kratzen.sdk", "no input, output, time or chance"),
        ("engine.pack", "from .cards import Card", "imports name the whole path"),
        ("arena.supervisor", "from arena.faults import Fault", "runs on its own"),
        ("arena.config", "from pathlib import Path", "the edge's"),
        ("arena.link", "import asyncio", "nothing waits"),
        (
            "arena.link",
            "from google.protobuf.message import Message",
            "only arena.admin, arena.admin_services",
        ),
        ("arena.standings", "import trueskill", "only arena.ratings may"),
        ("arena.cli.run", "from sqlalchemy import select", "only arena.store may"),
    ],
)
def test_a_reserved_import_is_named(module: str, source: str, said: str) -> None:
    """An import of what is another module's alone fails with who may have it, or why not."""
    messages = outside({module: source})
    assert any(said in message for message in messages), messages


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from time import monotonic",
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "import datetime\ndatetime.date.today()",
        "import asyncio\nasyncio.get_running_loop().time()",
        "def f(loop):\n    return loop.time() + 1",
    ],
)
def test_a_second_clock_is_named(source: str) -> None:
    """A module that reads a clock of its own fails."""
    (message,) = clock_readers({"arena.runner": source})
    assert "arena.clock" in message


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_line_answers_without_heavy_imports(option: str) -> None:
    """`kratzen --help` and `--version` import neither grpc nor sqlalchemy, which take most of a second."""
    program = "from arena.cli.main import main; main()"
    command = [sys.executable, "-X", "importtime", "-c", program, option]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    lines = ended.stderr.splitlines()
    said = [line for line in lines if not line.startswith("import time:")]
    imported = {line.rpartition("|")[2].strip() for line in lines}
    assert ended.returncode == 0, "\n".join(said)
    assert "click" in imported
    assert imported & {"grpc", "sqlalchemy", "google.protobuf"} == set()
