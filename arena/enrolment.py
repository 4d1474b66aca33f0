"""Registering bots and revoking them, in a registry that an arena has open or that nobody uses.

What an arena that runs does besides, such as to close a stream, is the hall's.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from arena.auth import new_token, token_hash
from arena.refusals import Refusal, RefusedError
from arena.status import BotStatus, VersionStatus
from arena.store import Registry, RegistryBot
from arena.text import BOT_NAME_RULE, escape, is_bot_name


def enrol(registry: Registry, name: str, at: str) -> str:
    """Register a bot; its token, which is nowhere else.

    Args:
        registry: where it is kept.
        name: the bot's; one that was revoked may be registered again.
        at: UTC, ISO 8601.

    Raises:
        RefusedError: the name is none or is taken.
        StoreError: it cannot be kept.
    """
    if not is_bot_name(name):
        raise RefusedError(
            Refusal.BAD_INPUT, f"'{escape(name)[:80]}' is no name for a bot: allowed are {BOT_NAME_RULE}"
        )
    known = registry.bot(name)
    if known is not None and known.is_valid:
        raise RefusedError(
            Refusal.ALREADY, f"bot {name} is registered already: revoke it to give it a new token"
        )
    token = new_token()
    registry.put_bot(name, token_hash(token), at)
    return token


def strike_off(registry: Registry, name: str, at: str) -> None:
    """Make a bot's token invalid; `at` is UTC, ISO 8601.

    Raises:
        RefusedError: no such bot is registered.
        StoreError: it cannot be kept.
    """
    _registered(registry, name)
    registry.revoke_bot(name, at)


SHOWN_VERSIONS: Final = 5
"""Of a bot, in a sentence; it may have come as many more."""


def bar_version(registry: Registry, name: str, version: str, at: str) -> None:
    """Let a version of a bot not in any more; `at` is UTC, ISO 8601.

    Raises:
        RefusedError: no such bot is registered, or it never came as this version.
        StoreError: it cannot be kept.
    """
    known = [entry.version for entry in _registered(registry, name).versions]
    if version not in known:
        its = "its versions" if len(known) <= SHOWN_VERSIONS else "its latest versions"
        came_as = escape(", ".join(known[-SHOWN_VERSIONS:])) if known else "none yet"
        raise RefusedError(
            Refusal.UNKNOWN,
            f"bot {name} has not come as version '{escape(version)[:80]}'; {its}: {came_as}",
        )
    registry.revoke_version(name, version, at)


def bot_status(bot: RegistryBot, *, is_there: bool) -> BotStatus:
    """A registered bot for those who ask; `is_there` says whether a stream of it is up."""
    return BotStatus(
        name=bot.name,
        registered_at_us=bot.added_at_us,
        revoked_at_us=bot.revoked_at_us,
        is_there=is_there,
        versions=tuple(
            [
                VersionStatus(
                    version=version.version,
                    build_digest=version.build_digest,
                    first_seen_at_us=version.first_seen_at_us,
                    is_revoked=version.is_revoked,
                )
                for version in bot.versions
            ]
        ),
    )


def unknown_bot(name: str, names: Iterable[str]) -> RefusedError:
    """The error of a name that is none of those registered."""
    shown = escape(name)[:80]
    near = get_close_matches(shown, sorted(names), n=1)
    hint = f"did you mean {near[0]}?" if near else "`kratzen bots list` shows all"
    return RefusedError(Refusal.UNKNOWN, f"no bot '{shown}' is registered: {hint}")


def _registered(registry: Registry, name: str) -> RegistryBot:
    known = registry.bot(name)
    if known is None or not known.is_valid:
        raise unknown_bot(name, [bot.name for bot in registry.bots() if bot.is_valid])
    return known
