"""Names, titles and labels that were made to do harm, through everything that keeps or shows them (F12c).

The judge is what is written: files and their names, tables, logs, replays, JSON. A control byte
in any of them, a file beside the data folder or two names that are one to a reader is a failure.
"""

import io
import json
import random
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
import structlog
from rich.console import Console

from arena.cli.runs import folder_for
from arena.cli.status_tables import bots_table
from arena.config import TournamentFile, read_tournament
from arena.launcher import log_name
from arena.messages import Answers, Hello
from arena.record import DecisionRecord, SeatInfo
from arena.refusals import RefusedError
from arena.replay import Replay, parse
from arena.replay_text import CANONICAL, show
from arena.replay_verify import verify
from arena.sections import ConfigError
from arena.status import BotStatus
from arena.text import is_bot_name
from arena.wire import WireError, decode
from kratzen.v1 import bot_pb2
from tests.arena.halls import TestHall, open_hall
from tests.arena.sessions import Table, play, rewrite
from tests.figures import Figure
from tests.logs import logging_to

NASTY: Final = (
    *(
        "../",
        "/etc/passwd",
        "..\\",
        "C:\\",
        "~",
        "\x00",
        "\x1b[2J",
        "\x1b]0;t\x07",
        "\x9b31m",
        "\x85",
        "\x7f",
    ),
    *("\r\n", "\u2028", "\u202e", "\u2066", "\u200f", "\u200b", "\u2060", "\ufeff", "\u00ad", "\U000e0041"),
    *("\ud800", "\udfff", "\ue000", "\ufffe", "\u0430", "\u0131", "\uff41", "\u212a", "\ufb01", "e\u0301"),
    *(
        "con",
        "nul",
        "aux.txt",
        "com1",
        "lpt1",
        "PRN",
        "-rf",
        "--",
        "$(id)",
        "`id`",
        "%n",
        "{0}",
        "[bold]x[/]",
    ),
    *('","t":"result', "'; DROP TABLE bots;--", "=1+1", "@x", "alice", "Alice", "a", ".", "..", " ", "\t"),
)
"""Pieces of which the texts are made."""

VERSION_FIELD: Final = bot_pb2.Hello.DESCRIPTOR.fields_by_name["bot_version"].number
NOTE_FIELD: Final = bot_pb2.Answer.DESCRIPTOR.fields_by_name["note"].number
REPLAY: Final = parse(play(Table(deals=1, options={"muss_after": "normal_failure"})).text)
FILE_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


def hostile_texts(count: int) -> Iterator[str]:
    """So many texts, the same every time; one in five hundred has a megabyte."""
    yield from NASTY[:count]
    draws = random.Random(12)  # noqa: S311 - the same texts every time
    for number in range(count - len(NASTY)):
        text = "".join(draws.choices(NASTY, k=draws.randint(1, 6)))
        yield text * (2**20 // len(text)) if number % 500 == 100 else text


def field(number: int, content: bytes) -> bytes:
    """A field of a message as it travels; what gRPC's own classes would not let out can be in it."""
    size, length = b"", len(content)
    while length > 0x7F:
        size += bytes([length & 0x7F | 0x80])
        length >>= 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + content


def hello_with(text: str) -> Hello | None:
    """The Hello that the arena reads when a bot gives this version; None when it refuses the message."""
    plain = bot_pb2.Hello(protocol_version=1, max_sessions=1).SerializeToString()
    message = field(1, plain + field(VERSION_FIELD, text.encode("utf-8", "surrogatepass")))
    assert bot_pb2.PlayRequest.DESCRIPTOR.fields_by_name["hello"].number == 1
    try:
        hello = decode(message)
    except WireError as error:
        assert_harmless(str(error))
        return None
    assert isinstance(hello, Hello)
    return hello


def note_with(text: str) -> str:
    """The note that the arena keeps when a bot gives this one; none when it refuses the message."""
    answer = field(NOTE_FIELD, text.encode("utf-8", "surrogatepass"))
    assert bot_pb2.PlayRequest.DESCRIPTOR.fields_by_name["answers"].number == 2
    try:
        message = decode(field(2, field(1, answer)))
    except WireError as error:
        assert_harmless(str(error))
        return ""
    assert isinstance(message, Answers)
    return message.answers[0].note


def title_with(text: str) -> TournamentFile | None:
    """The tournament of this title; None when it is refused."""
    bots = [{"name": f"bot-{letter}"} for letter in "abcd"]
    try:
        return read_tournament({"tournament": {"name": text}, "bots": bots})
    except ConfigError as error:
        assert_harmless(str(error))
        return None


def assert_harmless(written: str) -> None:
    """Nothing but printable characters and ends of lines."""
    assert all(line.isprintable() for line in written.split("\n")), repr(written[:500])


def assert_replay_is_harmless(version: str, note: str) -> None:
    """A replay with these in it is true; neither its text nor what is shown of it has control codes."""

    def noted(record: DecisionRecord) -> DecisionRecord:
        return replace(record, note=note) if record.request_id is not None else record

    seats = tuple([SeatInfo(seat.bot, version, version) for seat in REPLAY.header.seats])
    text = rewrite(REPLAY, header=replace(REPLAY.header, seats=seats), change=noted)
    assert verify(text) is None
    assert_harmless(text.decode())
    read: Replay = parse(text)
    assert read.header.seats[0].version == version
    for line in show(read, CANONICAL):
        assert_harmless(line)


async def assert_all_are_harmless(folder: Path, count: int, figure: Figure) -> None:
    """Take so many texts through join, tables, log, JSON, replays and the names of files."""
    data = folder / "data"
    data.mkdir()
    with logging_to(data):
        async with open_hall(data) as arena:
            names = await _admit(arena, hostile_texts(count))
            bots = await arena.hall.bots()
            tables = _printed(bots, _titled(hostile_texts(count)))
    assert_harmless(tables)
    assert_harmless((data / "arena.log").read_text())
    assert_files_are_inside(folder, data)
    assert_names_differ(names)
    figure("F12c", f"n = {count} texts, {len(names)} of them names of bots, none did harm")


async def _admit(arena: TestHall, texts: Iterator[str]) -> list[str]:
    """Have texts come as versions and notes, and be asked for as names; those that are names."""
    await arena.hall.add_bot("guest")
    member = arena.premises.lobby.member("guest")
    names = []
    for text in texts:
        structlog.get_logger().info("a stranger said", text=text, error=ValueError(text))
        hello, note = hello_with(text), note_with(text)
        if hello is not None:
            member.received(member.link.open(lambda: None), hello)
            assert_replay_is_harmless(hello.bot_version, note)
        try:
            await arena.hall.add_bot(text)
        except RefusedError as error:
            assert_harmless(str(error))
        else:
            assert FILE_NAME.fullmatch(log_name(1, text))
            names.append(text)
    return names


def _titled(texts: Iterator[str]) -> list[TournamentFile]:
    """The tournaments of those texts that may be titles; what their folders are called is harmless."""
    files = [file for text in texts if (file := title_with(text)) is not None]
    for file in files:
        made = folder_for(file.tournament.name)
        assert made.parent == Path("runs")
        assert FILE_NAME.fullmatch(made.name)
    return files


def _printed(bots: tuple[BotStatus, ...], files: list[TournamentFile]) -> str:
    """What a pipe gets of tables and JSON."""
    out = io.StringIO()
    console = Console(file=out, width=200)
    console.print(bots_table(bots))
    out.write(json.dumps([bot.versions[0].version for bot in bots if bot.versions]))
    out.write(json.dumps([file.tournament.name for file in files]))
    return out.getvalue()


def assert_files_are_inside(folder: Path, data: Path) -> None:
    """Nothing is beside the data folder, and nothing in it has a name that a stranger chose."""
    for file in folder.rglob("*"):
        assert file == data or file.is_relative_to(data)
        assert FILE_NAME.fullmatch(file.name), file


def assert_names_differ(names: list[str]) -> None:
    """No two names are one to a reader or to a file system that takes capitals for small letters."""
    keys = {unicodedata.normalize("NFKC", name).casefold() for name in names}
    assert len(keys) == len(names)
    assert all(is_bot_name(name) for name in names)


async def test_hostile_texts_do_no_harm(tmp_path: Path, figure: Figure) -> None:
    """A few of each kind."""
    await assert_all_are_harmless(tmp_path, 120, figure)


@pytest.mark.nightly
async def test_many_hostile_texts_do_no_harm(tmp_path: Path, figure: Figure) -> None:
    """Five thousand (F12c)."""
    await assert_all_are_harmless(tmp_path, 5000, figure)


def test_a_raw_text_would_be_found() -> None:
    """The judge sees a control code, a direction mark and an invisible character."""
    for text in ("\x1b[2J", "\x9b", "a\u202eb", "a\u200bb", "\x00"):
        with pytest.raises(AssertionError):
            assert_harmless(text)
