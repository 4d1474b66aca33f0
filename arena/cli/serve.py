"""`kratzen serve`: an arena that stays, for bots and tournaments that come and go."""

import asyncio
import ssl
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from arena.auth import AdminPass, new_token, token_hash
from arena.cli.building import Site, check_address, open_arena, raise_file_limit
from arena.cli.errors import CommandFailed
from arena.cli.inputs import read_file
from arena.cli.logs import log_to
from arena.cli.signals import say_stopping, stopped_by_signals
from arena.sections import ConfigError
from arena.server import Tls
from arena.settings import DEFAULT_ADDRESS, ArenaSettings, read_settings
from arena.status import TournamentStatus
from arena.store import Registry, StoreError

SETTINGS_FILE: Final = "kratzen.toml"

F = TypeVar("F", bound=Callable[..., Any])


def _setting(
    variable: str,
    *names: str,
    sentence: str,
    shown_default: str = "",
    **how: Any,  # noqa: ANN401 - click's own
) -> Callable[[F], F]:
    """An option that a variable and the settings' file can give too; its help says so."""
    shown = f"  [default: {shown_default}]" if shown_default else ""
    return click.option(*names, envvar=variable, help=f"{sentence}  [env: {variable}]{shown}", **how)


@click.command(
    epilog="Example: kratzen serve --address 0.0.0.0:7373 --tls-cert arena.pem --tls-key arena.key"
)
@_setting("KRATZEN_ADDRESS", "--address", sentence="Where to listen.", shown_default=DEFAULT_ADDRESS)
@_setting("KRATZEN_DATA", "--data", sentence="Folder of bots and tournaments.", shown_default="kratzen-data")
@_setting("KRATZEN_TLS_CERT", "--tls-cert", sentence="Certificate, with those above it, PEM.")
@_setting("KRATZEN_TLS_KEY", "--tls-key", sentence="Its private key, PEM.")
@_setting(
    "KRATZEN_INSECURE",
    "--insecure",
    sentence="Listen without TLS where other machines can hear all that is said, tokens too.",
    is_flag=True,
    default=None,
)
@_setting(
    "KRATZEN_LIMITS",
    "--limit",
    "limits",
    sentence="A limit instead of its default, such as max_streams=200; docs/serving.md lists them.",
    multiple=True,
    metavar="NAME=NUMBER",
)
@_setting(
    "KRATZEN_CONFIG",
    "--config",
    sentence="File with what is not said here.",
    shown_default=f"{SETTINGS_FILE}, if it is there",
    type=click.Path(path_type=Path),
)
@click.option("--new-admin-token", is_flag=True, help="Make a new admin token; the old one is void.")
def serve(
    address: str | None,
    data: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    *,
    insecure: bool | None,
    limits: tuple[str, ...],
    config: Path | None,
    new_admin_token: bool,
) -> int:
    """Run an arena until Ctrl-C, SIGTERM or the end of its terminal (nohup keeps it from that).

    It prints its admin token once, at its first start.

    Everything may be said in kratzen.toml, too; options come before variables, and these before
    the file.
    """
    settings = _settings(config, limits)
    file = settings.serve
    address = file.address if address is None else address
    tls = _tls(tls_cert or file.tls_cert, tls_key or file.tls_key)
    check_address(address, has_tls=tls is not None, insecure=file.insecure if insecure is None else insecure)
    raise_file_limit()
    try:
        with Registry.open(Path(file.data if data is None else data)) as registry:
            log_to(registry.folder)
            token = new_token() if new_admin_token or registry.admin_hash() is None else None
            hashed = registry.admin_hash() if token is None else token_hash(token)
            admin = AdminPass(hashed)
            site = Site(address=address, tls=tls, admin=admin, link=settings.link, door=settings.door)
            asyncio.run(_serve(site, registry, token))
    except StoreError as error:
        raise CommandFailed(str(error)) from None
    return 0


async def _serve(site: Site, registry: Registry, token: str | None) -> None:
    """Serve until a signal comes; `token` is the admin token, if it is a new one."""
    stopping = asyncio.Event()

    def stop(signal: str) -> None:
        del signal
        stopping.set()
        say_stopping("once the arena runs again, go on with: kratzen tournament start ID")

    with stopped_by_signals(stop):
        async with open_arena(site, registry) as arena:
            if token is not None:
                registry.set_admin_hash(token_hash(token))
                click.echo(f"KRATZEN_ADMIN_TOKEN={token}")
                click.echo("this is the admin token, which commands need; it is not shown again", err=True)
            click.echo(f"KRATZEN_ADDRESS={arena.address}")
            click.echo(f"the arena keeps bots and tournaments in {registry.folder}", err=True)
            await stopping.wait()
            left = await arena.hall.close()
    for status in left:
        click.echo(_how_to_resume(status), err=True)


def _how_to_resume(status: TournamentStatus) -> str:
    counts = status.counts
    return (
        f"tournament {status.tournament_id} ({status.name}) was stopped after {counts.finished} of "
        f"{counts.total} sessions; once the arena runs again, go on with: "
        f"kratzen tournament start {status.tournament_id}"
    )


# ------------------------------------------------------------------ what is asked for


def _settings(config: Path | None, limits: Iterable[str]) -> ArenaSettings:
    file = Path(SETTINGS_FILE) if config is None else config
    text = read_file(file) if config is not None or file.exists() else b""
    try:
        return read_settings(text, dict([_limit(limit) for limit in limits]))
    except ConfigError as error:
        raise CommandFailed(f"{file}: {error}" if text else str(error)) from None


def _limit(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not (number.isascii() and number.isdecimal()):
        raise CommandFailed(f"--limit {text}: allowed is a name and a number, such as max_streams=200")
    return name, int(number)


def _tls(certificate: str | None, key: str | None) -> Tls | None:
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise CommandFailed("--tls-cert and --tls-key belong together: give both, or neither")
    tls = Tls(read_file(Path(certificate)), read_file(Path(key)))
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except ssl.SSLError:
        raise CommandFailed(
            f"{certificate} and {key} are not a certificate and its private key, both PEM, the key without a "
            "password"
        ) from None
    return tls
