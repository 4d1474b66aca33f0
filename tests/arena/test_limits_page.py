"""The tables of limits in docs/serving.md, row by row, against what the code has."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import Final

from arena import admin_services, door, frame, guests, hall, launcher, link, messages, replay_stream, server
from arena.cli import logs
from arena.clock import ManualTime
from arena.door import DoorLimits
from arena.link import LinkLimits
from arena.lobby import Lobby
from arena.text import is_bot_name

PAGE: Final = Path(__file__).parents[2] / "docs" / "serving.md"

_OPTIONS: Final = dict(server._options(Lobby(ManualTime(), arena_version="0"), 1))

FIXED: Final = {
    "characters of a bot's name": max(length for length in range(100) if is_bot_name("a" * length)),
    "characters of a version, a digest, an SDK's name": messages.MAX_LABEL_LENGTH,
    "characters of a note": messages.MAX_NOTE_LENGTH,
    "versions that a bot may come as, whenever": link.MAX_VERSIONS,
    "answers to one request": messages.MAX_TRIES,
    "milliseconds in which a bot's side takes what was sent": link.TAKEN_IN_MS,
    "bytes of any message, as gRPC sees it": server.GRPC_MESSAGE_BYTES,
    "bytes of a message of a call without a token": guests.GUEST_MESSAGE_BYTES,
    "calls on a connection": server.MAX_STREAMS_A_CONNECTION,
    "milliseconds until a ping is answered": server.PING_LIMIT_MS,
    "milliseconds to begin with HTTP/2": server.HANDSHAKE_LIMIT_MS,
    "milliseconds without a call": server.IDLE_LIMIT_MS,
    "milliseconds between pings of a client, at the least": _OPTIONS[
        "grpc.http2.min_ping_interval_without_data_ms"
    ],
    "addresses whose wrong tokens are counted": door.REMEMBERED_ADDRESSES,
    "events that a watcher of a session may be behind": hall.MAX_EVENTS_BEHIND,
    "entries of a list in one message": admin_services.PAGE_SIZE,
    "bytes of a list's entries in one message": admin_services.PAGE_BYTES,
    "bytes of a replay in one message": admin_services.PIECE_BYTES,
    "bytes that a replay may unpack to": frame.FRAME_LIMIT_BYTES,
    "bytes of memory that a frame may ask for to be unpacked": 2**frame._WINDOW_LOG,
    "bytes of a line of a replay": replay_stream.MAX_LINE_BYTES,
    "lines of a replay": replay_stream.MAX_LINES,
    "MiB of memory of a started bot, its children included": launcher.Limits().memory_mib,
    "processes of a started bot": launcher.Limits().process_count,
    "open files of each of its processes": launcher.Limits().open_file_count,
    "MiB of a file that it writes": launcher.Limits().file_mib,
    "KiB of its log": launcher.Limits().log_kib,
    "MiB of the arena's log": logs.LOG_MIB,
    "such files kept": logs.KEPT_LOGS,
    "times that it is started again in a tournament": launcher.MAX_RESTARTS,
}


def rows() -> dict[str, int]:
    """The limits of the page, by what the first column says."""
    _, _, text = PAGE.read_text("utf-8").partition("\n## Limits\n")
    lines = [line for line in text.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0].strip("`"): int(row[1]) for row in cells if row[0] != "limit"}


def test_every_limit_is_on_the_page_with_its_value() -> None:
    """Settings by their names, the others by what they bound; nothing is missing and nothing else there."""
    settings = asdict(LinkLimits()) | asdict(DoorLimits())
    assert rows() == settings | FIXED


def test_every_limit_of_a_started_bot_is_on_the_page() -> None:
    """A new one needs a row."""
    assert len(fields(launcher.Limits)) == 5
