"""What commands that talk to a running arena share: where it is, the admin token, how errors end."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from arena.admin import AdminClient, AdminError, AdminFailure, ArenaAddress
from arena.cli.errors import EXIT_FAILED, EXIT_USAGE, CommandFailed
from arena.cli.inputs import check_is_address, read_file
from arena.settings import DEFAULT_ADDRESS

ADMIN_TOKEN: Final = "KRATZEN_ADMIN_TOKEN"  # noqa: S105  the name of the variable

F = TypeVar("F", bound=Callable[..., Any])


def remote_options(command: F) -> F:
    """Add the options that say where the arena is; they arrive as `address` and `ca`."""
    command = click.option(
        "--ca",
        envvar="KRATZEN_CA",
        type=click.Path(path_type=Path),
        help="Certificates to trust, PEM: the link is TLS.  [env: KRATZEN_CA]",
    )(command)
    return click.option(
        "--address",
        envvar="KRATZEN_ADDRESS",
        default=DEFAULT_ADDRESS,
        show_default=True,
        help="Where the arena is.  [env: KRATZEN_ADDRESS]",
    )(command)


@contextmanager
def linked(address: str, ca: Path | None) -> Iterator[AdminClient]:
    """A client of the arena, with the admin token of the environment.

    Raises:
        CommandFailed: the arena is not there, or did not do what it was asked.
    """
    check_is_address(address)
    roots = None if ca is None else read_file(ca)
    if roots is not None and b"CERTIFICATE-----" not in roots:
        raise CommandFailed(f"{ca}: there is no certificate (PEM) in this file")
    arena = ArenaAddress(address, os.environ.get(ADMIN_TOKEN, ""), roots)
    try:
        with AdminClient(arena) as client:
            yield client
    except AdminError as error:
        is_refused = error.failure in (AdminFailure.REFUSED, AdminFailure.UNKNOWN)
        code = EXIT_USAGE if is_refused else EXIT_FAILED
        raise CommandFailed(str(error), code) from None
