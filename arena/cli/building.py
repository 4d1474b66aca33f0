"""An arena put together and taken apart again: for a single run and for one that lives long.

This is where the concrete parts meet: the clock, the lobby, the server, the thread that writes,
the hall. It decides nothing about the play.
"""

import asyncio
import resource
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version

from arena.address import is_loopback
from arena.admin_services import SERVICE_NAMES, register
from arena.auth import AdminGate, AdminPass, Porter, TokenRing
from arena.cli.errors import CommandFailed
from arena.cli.inputs import check_is_address
from arena.cli.sockets import SOCKET, socket_folder
from arena.clock import SystemTime
from arena.door import Door, DoorLimits
from arena.guests import GuestGate
from arena.hall import Hall
from arena.hosted import Dial, Premises
from arena.lag import Heartbeat, beat_forever
from arena.link import LinkLimits
from arena.lobby import Lobby
from arena.run_queue import thread_waited_us
from arena.runner import Clockwork
from arena.server import OPEN_SERVICES, BotServer, ServerError, Tls
from arena.store import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where an arena listens, and whom it lets in.

    Attributes:
        address: `host:port`, port 0 for one that is free.
        tls: for an encrypted link; plain text without.
        admin: who may use the admin services; None: they are not served.
        link: limits of a bot.
        door: limits of all.
    """

    address: str
    tls: Tls | None = None
    admin: AdminPass | None = None
    link: LinkLimits = field(default_factory=LinkLimits)
    door: DoorLimits = field(default_factory=DoorLimits)


@dataclass(frozen=True, slots=True)
class OpenArena:
    """An arena that listens: its hall, its tokens, its clocks, the address that bots dial, its door."""

    hall: Hall
    lobby: Lobby
    tokens: TokenRing
    clockwork: Clockwork
    address: str
    door: Door


@asynccontextmanager
async def open_arena(site: Site, registry: Registry | None = None) -> AsyncIterator[OpenArena]:
    """Put an arena together and have it listen, until the end of the block.

    Raises:
        CommandFailed: it cannot listen.
    """
    time = SystemTime()
    heartbeat = Heartbeat(time.now_us(), thread_waited_us())
    lobby = Lobby(time, arena_version=version("kratzen"), limits=site.link, spared_us=heartbeat.spared_us)
    tokens, porter = TokenRing(), Porter(Door(site.door), time)
    async with AsyncExitStack() as stack:
        beat = asyncio.create_task(beat_forever(heartbeat, time, thread_waited_us))
        stack.callback(beat.cancel)
        disk = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="disk"))
        folder = stack.enter_context(socket_folder())
        admin = site.admin
        is_open = admin is not None and not admin.is_needed
        gates = (
            GuestGate(OPEN_SERVICES + (SERVICE_NAMES if is_open else ()), porter.door, lobby.patience),
            *(() if admin is None else (AdminGate(SERVICE_NAMES, admin, porter),)),
        )
        server = BotServer(lobby, tokens, porter, gates)
        try:
            address = server.listen(site.address, site.tls)
            socket = server.listen(f"unix:{folder / SOCKET}")
        except ServerError as error:
            raise CommandFailed(str(error)) from None
        # The certificate of an encrypted link is not for this machine's own bots.
        dial = Dial(address if site.tls is None and is_loopback(address) else socket, socket)
        premises = Premises(
            lobby=lobby, tokens=tokens, clockwork=Clockwork(time, heartbeat), disk=disk, dial=dial
        )
        hall = Hall(premises, registry)
        if admin is not None:
            server.add(
                SERVICE_NAMES,
                lambda its_server: register(
                    its_server,
                    hall,
                    porter.door,
                    patience=lobby.patience,
                    unread_ms=site.link.unread_ms,
                    is_token_needed=admin.is_needed,
                ),
            )
        if registry is not None:
            await hall.open()
        await server.start()
        stack.push_async_callback(server.stop)
        yield OpenArena(hall, lobby, tokens, premises.clockwork, address, porter.door)


def check_address(address: str, *, has_tls: bool, insecure: bool) -> None:
    """Raise CommandFailed when others could listen to what is said, and nobody has agreed to that."""
    check_is_address(address)
    if not (has_tls or insecure or is_loopback(address)):
        raise CommandFailed(
            f"{address} can be reached from other machines, and without TLS all that is said there, tokens "
            "too, can be read on the way: have `kratzen serve` show a certificate (--tls-cert, --tls-key), "
            "or accept that with --insecure"
        )


def raise_file_limit() -> None:
    """Allow this process as many open files as the system lets it have: every bot takes one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
