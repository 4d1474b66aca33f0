import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from arena.cli.status_tables import (
    bots_table,
    print_status,
    status_line,
    status_picture,
    status_values,
    tournaments_table,
)
from arena.ledger import TournamentState
from arena.messages import RejectReason
from arena.results import SlotCounts
from arena.status import BotStanding, BotStatus, Leaderboard, TournamentStatus, VersionStatus
from arena.tally import BotTally

HOSTILE = (
    "\x1b[2J\x1b]0;title\x07",
    "\x1b]8;;http://example.com\x1b\\link",
    "[bold red]mark-up[/]",
    "[link=http://example.com]x[/link]",
    "a\u202egnp.exe",
    "\x9b31m\u200b\x00",
    "new\nline\rand\ttab",
)


def printed(*things: object) -> str:
    """What a terminal gets."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=300, highlight=False, no_color=True)
    for thing in things:
        console.print(thing)
    return file.getvalue()


def is_harmless(text: str) -> bool:
    """Whether nothing but printable characters and ends of lines is in it, styles of tables aside."""
    for style in ("\x1b[1m", "\x1b[0m", "\x1b[2m", "\x1b[3m", "\x1b[1;3m", "\x1b[2;3m"):
        text = text.replace(style, "")
    return all(char.isprintable() or char == "\n" for char in text)


def status(text: str) -> TournamentStatus:
    """A status with a text wherever a text of others can be."""
    tally = BotTally(session_count=1, deal_count=1, chips=1, strike_count=0)
    return TournamentStatus(
        tournament_id=text,
        name=text,
        state=TournamentState.RUNNING,
        created_at_us=0,
        counts=SlotCounts(finished=1, void=1, open=1),
        ante=10,
        failure=text,
        remarks=(text,),
        bots=tuple(
            [
                BotStanding(bot=text, is_local=True, is_there=False, withdrawn=withdrawn, tally=tally)
                for withdrawn in ("", text)
            ]
        ),
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_no_control_code_of_others_reaches_the_terminal(text: str) -> None:
    """Names, versions, reasons: shown escaped, with mark-up as it was written (X06)."""
    version = VersionStatus(version=text, build_digest=text, first_seen_at_us=0, is_revoked=False)
    bot = BotStatus(
        name=text, registered_at_us=0, revoked_at_us=None, is_there=True, versions=(version, version)
    )
    away = replace(bot, is_there=False, absence=text)
    shown = printed(bots_table([bot, away]), tournaments_table([status(text)]), status_line(status(text)))
    assert is_harmless(shown)
    if text.isprintable():
        assert shown.count(text) >= 10


@pytest.mark.parametrize("text", HOSTILE)
def test_pictures_are_harmless_too(text: str) -> None:
    """What is drawn again and again, and the whole status."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=300, highlight=False, no_color=True)
    board = Leaderboard(rows=(), versions={}, rated_block_count=0, is_final=False, is_timed=False)
    print_status(status(text), board, console)
    console.print(status_picture(status(text)))
    assert is_harmless(file.getvalue())


def test_the_bots_are_shown_with_why_they_are_away() -> None:
    """There, away and why, turned away and why, revoked; and how many stray answers came."""
    there = BotStatus(name="x", registered_at_us=0, revoked_at_us=None, is_there=True)
    away = replace(there, is_there=False)
    strays = {RejectReason.LATE: 3, RejectReason.UNKNOWN_REQUEST: 40}
    bots = [
        replace(there, stray_counts=strays),
        away,
        replace(away, absence="the link was lost"),
        replace(away, absence="start version 2", turned_away=True),
        replace(away, absence="it was revoked", revoked_at_us=0),
    ]
    table = bots_table(bots)
    states, counts = [list(table.columns[number].cells) for number in (1, 3)]
    assert [str(state) for state in states] == [
        "there",
        "away",
        "away: the link was lost",
        "turned away: start version 2",
        "revoked 1970-01-01T00:00:00+00:00",
    ]
    assert counts == ["43", "0", "0", "0", "0"]


def test_all_tables_look_alike() -> None:
    """A line below the head, and none around the table or between its columns."""
    bot = BotStatus(name="x", registered_at_us=0, revoked_at_us=None, is_there=True)
    file = io.StringIO()
    console = Console(file=file, width=100, highlight=False)
    for table in (bots_table([bot]), tournaments_table([status("x")]), status_picture(status("x"))):
        console.print(table)
    board = Leaderboard(rows=(), versions={}, rated_block_count=0, is_final=False, is_timed=True)
    print_status(status("x"), board, console)
    lines = file.getvalue().splitlines()
    assert sum(set(line.strip()) == {"─"} for line in lines) == 5
    assert not set(file.getvalue()) & set("│┃━┏┓└┘")


def test_a_status_says_what_matters() -> None:
    """State, sessions, void ones, who is missing, and why it stopped."""
    line = status_line(status("x")).plain
    assert line == "tournament x (x): running, 1 of 3 sessions, 1 void, x is not there, x"


def test_statuses_are_json() -> None:
    """Everything in a status can be written, and is under its own name."""
    values = json.loads(json.dumps(status_values(status("x"))))
    assert (values["state"], values["counts"]) == ("running", {"finished": 1, "void": 1, "open": 1})
    assert values["bots"][0]["tally"]["chips"] == 1
