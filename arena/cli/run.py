"""`kratzen run`: an arena of its own, the bots of the file, a progress bar, the leaderboard."""

import asyncio
import secrets
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource

from arena.cli.building import check_address
from arena.cli.embedded import EmbeddedRun, RunOptions
from arena.cli.errors import (
    EXIT_BOT_FAULTS,
    EXIT_FAILED,
    CommandFailed,
)
from arena.cli.inputs import read_tournament_file
from arena.cli.output import print_json, reader_may_leave
from arena.cli.runs import create_run, folder_for, open_run
from arena.cli.signals import EXIT_BY_SIGNAL
from arena.cli.tables import console_for_data, leaderboard_json, print_leaderboard
from arena.config import TournamentFile
from arena.faults import FaultCause
from arena.results import AttemptEnd, SessionResult, SlotCounts
from arena.schedule import FORMATS, ScheduleError, slot_label, tournament_seed
from arena.store import Store, StoreError
from arena.text import counted, escape


@click.command(epilog="Example: kratzen run tournaments/quickstart.toml --seed 7 --out runs/mine")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run.  [default: runs/NAME-TIME]")
@click.option(
    "--seed", help="Seed instead of the file's: 64 hex digits, or any text (a bot can guess a short one)."
)
@click.option(
    "--address", default="127.0.0.1:0", show_default=True, help="Where the arena listens, port 0: any."
)
@click.option(
    "--insecure", is_flag=True, help="Listen where other machines can hear all that is said, tokens too."
)
@click.option("--dry-run", is_flag=True, help="Say what would be played, and play nothing.")
@click.option("--resume", is_flag=True, help="Go on with the run in the folder --out.")
@click.option("--strict", is_flag=True, help=f"Exit with {EXIT_BOT_FAULTS} when a bot was at fault.")
@click.option("--no-timeout", is_flag=True, help="Let bots think as long as they like; nothing is rated.")
@click.option("--json", "as_json", is_flag=True, help="Print the leaderboard as one JSON document.")
@click.pass_context
def run(
    context: click.Context,
    file: Path,
    out: Path | None,
    seed: str | None,
    address: str,
    *,
    insecure: bool,
    dry_run: bool,
    resume: bool,
    strict: bool,
    no_timeout: bool,
    as_json: bool,
) -> int:
    """Play the tournament of FILE here: start its bots, show how it goes, print the table.

    docs/tournament-file.md has every key of FILE.
    """
    tournament = _read(file, seed, timed=not no_timeout)
    if dry_run:
        _show_plan(tournament, as_json=as_json)
        return 0
    check_address(address, has_tls=False, insecure=insecure)
    folder, store = _open(tournament, out, resume=resume)
    with store:
        resume_command, resume_note = _resume_command(context, folder), _resume_note(tournament)
        options = RunOptions(
            folder=folder,
            tournament_folder=file.absolute().parent,
            address=address,
            resume_command=resume_command,
            resume_note=resume_note,
        )
        outcome = asyncio.run(EmbeddedRun(store, options).play())
        remarks = [*outcome.remarks, *_faults(store.results())]
        with reader_may_leave():
            if as_json:
                print_json(leaderboard_json(store) | {"remarks": remarks})
            else:
                print_leaderboard(store, console_for_data())
        counts = store.slot_counts()
        has_faults = strict and _has_faults(store)
    _say_remarks(remarks, outcome.last_words)
    _sum_up(counts, folder, resume_command, resume_note)
    if outcome.failure is not None:
        raise CommandFailed(outcome.failure, EXIT_FAILED)
    if outcome.signal is not None:
        return EXIT_BY_SIGNAL[outcome.signal]
    return EXIT_BOT_FAULTS if has_faults else 0


def _read(file: Path, seed: str | None, *, timed: bool) -> TournamentFile:
    _, tournament = read_tournament_file(file)
    if seed is not None:
        if not (seed and seed.isprintable()):
            raise CommandFailed("--seed: allowed is a text that is not empty, without control codes")
        tournament = tournament.with_seed(seed)
    if not timed:
        tournament = replace(tournament, clock=replace(tournament.clock, timed=False))
    return tournament


def _show_plan(tournament: TournamentFile, *, as_json: bool) -> None:
    seed = tournament.tournament.seed
    blocks = FORMATS[tournament.tournament.format](
        tournament.plan(tournament_seed(0 if seed is None else seed))
    )
    sessions = sum(len(block.slots) for block in blocks)
    plan = {
        "name": tournament.tournament.name,
        "bots": [bot.name for bot in tournament.bots],
        "blocks": len(blocks),
        "sessions": sessions,
        "deals_at_most": sessions * tournament.options.deals,
    }
    if as_json:
        print_json(plan)
        return
    click.echo(f"{plan['name']}: {len(tournament.bots)} bots at tables of {tournament.tournament.table_size}")
    click.echo(
        f"{counted(len(blocks), 'block')}, {counted(sessions, 'session')}, "
        f"at most {counted(sessions * tournament.options.deals, 'deal')}"
    )


def _open(tournament: TournamentFile, out: Path | None, *, resume: bool) -> tuple[Path, Store]:
    if resume and out is None:
        raise CommandFailed("--resume needs the folder of the run: --out DIR")
    folder = folder_for(tournament.tournament.name) if out is None else out
    try:
        if resume:
            return folder, open_run(folder, tournament)
        seed = tournament.tournament.seed
        tournament = tournament.with_seed(secrets.token_hex(32) if seed is None else seed)
        return folder, create_run(folder, tournament)
    except ScheduleError as error:
        raise CommandFailed(f"{tournament.tournament.name}: {error}") from None
    except StoreError as error:
        raise CommandFailed(str(error)) from None


def _has_faults(store: Store) -> bool:
    """Whether a bot did anything wrong in a session, or let one fail by not being there."""
    return any(seat.faults for result in store.results() for seat in result.seats) or any(
        attempt.ending is AttemptEnd.BOTS_ABSENT for attempt in store.attempts()
    )


def _faults(results: Iterable[SessionResult]) -> list[str]:
    """A line for every cause of a bot's faults: how often, and where it is seen first."""
    seen: dict[tuple[str, FaultCause], list[str]] = {}
    for result in results:
        for seat in result.seats:
            for fault in seat.faults:
                labels = seen.setdefault((seat.bot, fault.cause), [])
                labels.append(slot_label(result.block, result.session))
    return [
        f"bot {bot} {cause.sentence}: {counted(len(labels), 'time')}, first in session {labels[0]}"
        for (bot, cause), labels in sorted(seen.items())
    ]


def _say_remarks(remarks: Iterable[str], last_words: Mapping[str, tuple[str, ...]]) -> None:
    """Say what became of bots on stderr, and what they printed before that."""
    for line in remarks:
        click.echo(escape(line), err=True)
    for bot, lines in last_words.items():
        click.echo("\n  ".join([f"the last that bot {bot} printed:", *(lines or ["(nothing)"])]), err=True)


def _sum_up(counts: SlotCounts, folder: Path, resume_command: str, resume_note: str) -> None:
    """Say what is left to say on stderr, the run's folder last."""
    if counts.void:
        click.echo(
            f"{counts.void} of {counts.total} sessions void: their blocks are neither rated nor averaged",
            err=True,
        )
    quoted = shlex.quote(str(folder))
    click.echo(
        f"Store, replays and bot logs are in {folder}; look at them with\n"
        f"  kratzen leaderboard {quoted}\n"
        f"  kratzen replay list {quoted}\n"
        f"  kratzen replay show {quoted} 1.1",
        err=True,
    )
    if counts.open:
        if resume_note:
            click.echo(resume_note, err=True)
        click.echo(f"{counted(counts.open, 'session')} left; go on with: {resume_command}", err=True)
    click.echo(str(folder), err=True)


def _resume_note(tournament: TournamentFile) -> str:
    """What those need to know whose bots dial in; empty when there are none."""
    if all(bot.command is not None for bot in tournament.bots):
        return ""
    return (
        "a run that is gone on with gives bots that dial in new tokens, and another port unless --address "
        "names one"
    )


def _resume_command(context: click.Context, folder: Path) -> str:
    """The command that goes on: this one with what it was told, for the folder that it took."""
    words = ["kratzen", "run", str(context.params["file"]), "--out", str(folder), "--resume"]
    for option in context.command.get_params(context):
        name = option.name or ""
        is_default = context.get_parameter_source(name) is ParameterSource.DEFAULT
        if is_default or name in ("file", "out", "resume"):
            continue
        value = context.params[name]
        words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return shlex.join(words)
