"""`kratzen replay`: the sessions of a run, listed, shown, verified, exported."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from arena.cli.errors import EXIT_FAILED, CommandFailed
from arena.cli.inputs import json_option
from arena.cli.output import print_json, reader_may_leave
from arena.cli.status_tables import utc_text
from arena.cli.tables import add_figures, add_names, add_words, console_for_data, open_table, print_table
from arena.frame import FRAME_LIMIT_BYTES, FrameError, is_frame, unpack_pieces
from arena.replay import parse
from arena.replay_reading import ReplayError
from arena.replay_stream import PIECE_BYTES, Pieces
from arena.replay_text import CANONICAL, CardNames, show
from arena.replay_verify import verify_pieces
from arena.store import SessionEntry, StoreError, StoreReader, check_session
from arena.text import escape
from engine.notation import CardStyle, Language, card_name, show_card, show_suit, suit_name

_folder = click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")


@click.group(epilog="Example: kratzen replay show runs/quickstart-20261129T120000 7.2")
def replay() -> None:
    """The sessions of a run. ID is block and session (7.2), a session's id, or the beginning of one."""


@contextmanager
def _reader(folder: Path) -> Iterator[StoreReader]:
    try:
        with StoreReader.open(folder) as store:
            yield store
    except StoreError as error:
        raise CommandFailed(str(error)) from None


@replay.command("list", epilog="Example: kratzen replay list runs/mine --json")
@_folder
@json_option
def list_sessions(folder: Path, *, as_json: bool) -> None:
    """List the finished sessions of the run in DIR."""
    with _reader(folder) as store:
        sessions = store.sessions()
    if as_json:
        print_json([_plain(entry) for entry in sessions])
        return
    table = open_table()
    add_words(table, "session", "id", "ended")
    add_figures(table, "deals")
    add_names(table, "bots by place (chips)")
    for entry in sessions:
        order = sorted(entry.result.seats, key=lambda seat: (seat.place, seat.seat))
        bots = ", ".join(f"{seat.place} {seat.bot} ({seat.chips:+d})" for seat in order)
        table.add_row(
            entry.label,
            entry.result.session_id[:8],
            utc_text(entry.ended_at_us),
            str(entry.result.deals),
            bots,
        )
    print_table(table, console_for_data())


@replay.command("show", epilog="Example: kratzen replay show runs/mine 7.2 --suits french")
@_folder
@click.argument("session", metavar="ID")
@click.option(
    "--suits",
    type=click.Choice([style.value for style in CardStyle]),
    help=f"How cards are written. [default: {CardStyle.CANONICAL.value}]",
)
@click.option(
    "--names",
    type=click.Choice([language.value for language in Language]),
    help="Write the names of the cards instead, in English or German.",
)
def show_session(folder: Path, session: str, suits: str | None, names: str | None) -> None:
    """Show a whole session as text: hands, calls, tricks, payments."""
    if suits is not None and names is not None:
        raise CommandFailed(
            "--suits with --names: cards are written in signs or by name, leave out one of them"
        )
    with _reader(folder) as store:
        entry = store.find(session)
        text = store.replay(entry)
    try:
        played = parse(text)
    except ReplayError as error:
        raise CommandFailed(f"{entry.where}: {error}", EXIT_FAILED) from None
    if names is None:
        style = CardStyle.CANONICAL if suits is None else CardStyle(suits)
        written = _signs(style, weli_as_joker=played.header.ruleset.weli_as_joker)
    else:
        written = _names(Language(names))
    for line in show(played, written):
        click.echo(line)


@replay.command(
    "verify",
    short_help="Play sessions again and compare every line.",
    epilog="Example: kratzen replay verify runs/mine",
)
@click.argument("source", type=click.Path(path_type=Path), metavar="DIR|FILE")
@click.argument("session", metavar="[ID]", required=False)
def verify_sessions(source: Path, session: str | None) -> int:
    """Play sessions again from their seeds and answers, and compare every line.

    DIR is a run: all its sessions, or the one of ID, also against what the store says of
    them. FILE is an exported session.
    """
    if not source.exists():
        raise CommandFailed(f"there is no file or folder {source}")
    if not source.is_dir():
        if session is not None:
            raise CommandFailed(f"{source} is a file, which holds one session: leave out the ID")
        return _verify_file(source)
    with _reader(source) as store:
        entries = store.sessions() if session is None else (store.find(session),)
        wrong = [found for entry in entries if (found := check_session(store, entry)) is not None]
    with reader_may_leave():
        for sentence in wrong:
            click.echo(escape(sentence))
    click.echo(f"{len(entries) - len(wrong)} of {len(entries)} sessions verified", err=True)
    return EXIT_FAILED if wrong else 0


@replay.command("export", epilog="Example: kratzen replay export runs/mine 7.2 --out session.jsonl")
@_folder
@click.argument("session", metavar="ID")
@click.option("--out", type=click.Path(path_type=Path), help="File to write.  [default: stdout]")
def export_session(folder: Path, session: str, out: Path | None) -> None:
    """Write one session's replay, as JSON Lines."""
    with _reader(folder) as store:
        text = store.replay(store.find(session))
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_bytes(text)
    except OSError as error:
        raise CommandFailed(f"{out}: cannot be written: {error.strerror}") from None


def _verify_file(file: Path) -> int:
    if not file.is_file():
        raise CommandFailed(f"{file} is neither a folder nor a file that can be read to its end")
    try:
        difference = verify_pieces(_pieces_of(file))
    except OSError as error:
        raise CommandFailed(f"{file}: cannot be read: {error.strerror}") from None
    except FrameError as error:
        raise CommandFailed(
            f"{file}: {error}; a file holds one exported session, all of a run are in its folder", EXIT_FAILED
        ) from None
    except ReplayError as error:
        raise CommandFailed(f"{file}: {error}", EXIT_FAILED) from None
    if difference is not None:
        click.echo(escape(f"{file}: {difference}"))
        return EXIT_FAILED
    click.echo("1 of 1 sessions verified", err=True)
    return 0


def _pieces_of(file: Path) -> Pieces:
    """What an exported session holds, whether it was exported as text or as one frame."""
    if file.stat().st_size > FRAME_LIMIT_BYTES:
        raise FrameError(f"no session is larger than {FRAME_LIMIT_BYTES} bytes")
    with file.open("rb") as opened:
        begin = opened.read(4)
    if not is_frame(begin):
        return lambda: _read_pieces(file)
    frame = file.read_bytes()
    return lambda: unpack_pieces(frame)


def _read_pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(PIECE_BYTES):
            yield piece


def _names(language: Language) -> CardNames:
    return CardNames(
        card=lambda card: card_name(card, language),
        suit=lambda suit: suit_name(suit, language),
        between=", ",
    )


def _signs(style: CardStyle, *, weli_as_joker: bool) -> CardNames:
    if style is CardStyle.CANONICAL:
        return CANONICAL
    return CardNames(
        card=lambda card: show_card(card, style, weli_as_joker=weli_as_joker),
        suit=lambda suit: show_suit(suit, style),
    )


def _plain(entry: SessionEntry) -> dict[str, Any]:
    result = entry.result
    return {
        "session": entry.label,
        "id": result.session_id,
        "attempt": entry.attempt,
        "started_at": utc_text(entry.started_at_us),
        "ended_at": utc_text(entry.ended_at_us),
        "deals": result.deals,
        "pot_left": result.pot_left,
        "play_sha256": entry.play_sha256,
        "seats": [
            {
                "seat": seat.seat,
                "bot": seat.bot,
                "place": seat.place,
                "chips": seat.chips,
                "strikes": seat.strikes,
                "forfeited": seat.forfeited,
                "faults": [fault.cause.value for fault in seat.faults],
            }
            for seat in result.seats
        ],
    }
