"""The arena's own file, `kratzen.toml`: where it listens, where it keeps things, what it allows.

TOML text in, a checked `ArenaSettings` out; what the file leaves out is a default. Whatever is
wrong is a `ConfigError` of one sentence that names the key. Nothing here opens a file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct, structs

from arena.door import DoorLimits
from arena.link import LinkLimits, most_sessions, sessions_bytes
from arena.sections import check_known, read_section, read_toml, refused, table_of

DEFAULT_ADDRESS: Final = "127.0.0.1:7373"
DEFAULT_DATA: Final = "kratzen-data"

_MOST: Final = 10**9
_LINK: Final = LinkLimits()
_DOOR: Final = DoorLimits()

_Count: TypeAlias = Annotated[int, Meta(ge=1, le=_MOST, description=f"a whole number, 1 to {_MOST}")]
_CountOrNone: TypeAlias = Annotated[int, Meta(ge=0, le=_MOST, description=f"a whole number, 0 to {_MOST}")]
_Milliseconds: TypeAlias = Annotated[
    int, Meta(ge=1, le=_MOST, description=f"a whole number of milliseconds, 1 to {_MOST}")
]
_Path: TypeAlias = Annotated[str | None, Meta(description="the path of a file")]


class ServeSection(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """`[serve]`: the options of `kratzen serve`, which come before the file."""

    address: Annotated[str, Meta(description="host:port")] = DEFAULT_ADDRESS
    data: Annotated[str, Meta(min_length=1, description="the path of a folder")] = DEFAULT_DATA
    tls_cert: _Path = None
    tls_key: _Path = None
    insecure: Annotated[bool, Meta(description="true or false")] = False


class LimitsSection(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """`[limits]`: the fields of `LinkLimits` and `DoorLimits`, with their bounds."""

    hello_ms: _Milliseconds = _LINK.hello_ms
    max_sessions: _Count = _LINK.max_sessions
    max_message_bytes: Annotated[
        int, Meta(ge=1024, le=4 * 1024 * 1024, description="a whole number of bytes, 1024 to 4194304")
    ] = _LINK.max_message_bytes
    max_answers_per_second: _Count = _LINK.max_answers_per_second
    max_strays_per_second: _Count = _LINK.max_strays_per_second
    unread_ms: _Milliseconds = _LINK.unread_ms
    max_pending_bytes: Annotated[
        int, Meta(ge=65536, le=_MOST, description=f"a whole number of bytes, 65536 to {_MOST}")
    ] = _LINK.max_pending_bytes
    keepalive_interval_ms: Annotated[
        int, Meta(ge=1000, le=_MOST, description=f"a whole number of milliseconds, 1000 to {_MOST}")
    ] = _LINK.keepalive_interval_ms
    max_connections: _Count = _DOOR.max_connections
    max_streams: _Count = _DOOR.max_streams
    max_streams_per_bot: Annotated[
        int, Meta(ge=2, le=_MOST, description=f"a whole number, 2 to {_MOST}, so that a bot can come back")
    ] = _DOOR.max_streams_per_bot
    max_watchers: _CountOrNone = _DOOR.max_watchers
    max_guests: _Count = _DOOR.max_guests
    max_guests_per_address: _Count = _DOOR.max_guests_per_address
    guest_ms: _Milliseconds = _DOOR.guest_ms
    max_health_watchers: _CountOrNone = _DOOR.max_health_watchers
    free_failures: _CountOrNone = _DOOR.free_failures
    failure_window_ms: _Milliseconds = _DOOR.failure_window_ms
    hold_ms: _Milliseconds = _DOOR.hold_ms
    max_held: _CountOrNone = _DOOR.max_held


@dataclass(frozen=True, slots=True)
class ArenaSettings:
    """All that an arena's file says."""

    serve: ServeSection
    link: LinkLimits
    door: DoorLimits


def read_settings(text: str | bytes, limits: Mapping[str, object] | None = None) -> ArenaSettings:
    """Read an arena's file; bytes are UTF-8.

    Args:
        text: the file's; an empty one stands for the defaults.
        limits: by name, instead of what the file has.

    Raises:
        ConfigError: the text is no TOML, or what it says is not allowed.
    """
    values = read_toml(text)
    check_known(values, ("serve", "limits"), "")
    serve = read_section(ServeSection, table_of(values, "serve"), "serve")
    chosen = structs.asdict(
        read_section(LimitsSection, {**table_of(values, "limits"), **(limits or {})}, "limits")
    )
    link = LinkLimits(**{field.name: chosen[field.name] for field in fields(LinkLimits)})
    _check_return(link)
    return ArenaSettings(
        serve=serve,
        link=link,
        door=DoorLimits(**{field.name: chosen[field.name] for field in fields(DoorLimits)}),
    )


def _check_return(link: LinkLimits) -> None:
    """Raise ConfigError when a bot could not come back to all the sessions that it may sit in."""
    most, needed_bytes = most_sessions(link.max_pending_bytes), sessions_bytes(link.max_sessions)
    if link.max_sessions > most:
        raise refused(
            "limits.max_sessions",
            link.max_sessions,
            f"up to {most} with max_pending_bytes = {link.max_pending_bytes}, so that a bot can come back to "
            f"all its sessions (this many need {needed_bytes} bytes)",
        )
