"""What commands take in alike: files, tournament files, addresses, the option for JSON."""

from pathlib import Path
from typing import Final

import click

from arena.address import is_address
from arena.cli.errors import CommandFailed
from arena.config import TournamentFile, parse_tournament
from arena.sections import ConfigError
from arena.settings import DEFAULT_ADDRESS
from arena.text import escape

json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def read_file(file: Path) -> bytes:
    """The bytes of a file; CommandFailed when it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise CommandFailed(f"{file}: cannot be read: {error.strerror}") from None


def read_tournament_file(file: Path) -> tuple[bytes, TournamentFile]:
    """A tournament file's text and what it says; CommandFailed names the file and the key that is wrong."""
    text = read_file(file)
    try:
        return text, parse_tournament(text)
    except ConfigError as error:
        raise CommandFailed(f"{file}: {error}") from None


def check_is_address(address: str) -> None:
    """Raise CommandFailed when a text is no address."""
    if not is_address(address):
        raise CommandFailed(
            f"{escape(address)} is no address: allowed is host:port, such as {DEFAULT_ADDRESS}"
        )
