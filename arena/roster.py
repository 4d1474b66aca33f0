"""The bots that are registered with a long-lived arena, while it runs: registry, tokens and links together.

`enrolment` says who may be registered; here that takes effect on who is there.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import structlog

from arena.account import Account
from arena.config import TournamentFile
from arena.enrolment import bar_version, bot_status, enrol, strike_off, unknown_bot
from arena.hosted import Premises
from arena.lobby import Member
from arena.messages import Hello
from arena.refusals import Refusal, RefusedError
from arena.status import BotStatus
from arena.store import Registry, RegistryBot, Sighting, Store, StoreError

log = structlog.get_logger()


class Roster:
    """Who may come. Calls that change it are made one after the other."""

    def __init__(self, premises: Premises, registry: Registry) -> None:
        self._premises = premises
        self._registry = registry
        self._names: set[str] = set()
        """Bots with a valid token."""
        self._sightings: dict[tuple[str, str], Sighting] = {}
        """What is to be written down of bots that came, by name and version."""
        self._writer: asyncio.Task[None] | None = None
        """Writes that down, as long as there is any."""

    async def open(self) -> None:
        """Let in the bots of the registry."""
        for bot in await self._premises.keep(self._registry.bots):
            if bot.is_valid:
                self._let_in(bot)
        self._premises.lobby.on_joined = self._note_version

    async def close(self) -> None:
        """Have everything written down."""
        if self._writer is not None:
            await self._writer

    async def add(self, name: str) -> str:
        """Register a bot; its token.

        Raises:
            RefusedError: the name is none or is taken.
        """
        token = await self._premises.keep(lambda: enrol(self._registry, name, self._now()))
        # Who came by that name before, if anybody, had been revoked.
        self._premises.lobby.forget(name)
        self._let_in(await self._kept(name))
        return token

    async def revoke(self, name: str, version: str | None) -> str | None:
        """Let a bot, or one version of it, in no more, and close its stream.

        Returns:
            Why it is to be withdrawn from what it plays in; None when it came as another version.

        Raises:
            RefusedError: there is no such bot, or it never came as this version.
        """
        premises, registry = self._premises, self._registry
        if version is None:
            await premises.keep(lambda: strike_off(registry, name, self._now()))
            premises.tokens.revoke(name)
            self._names.discard(name)
            why = _revoked(name)
            premises.lobby.member(name).revoke(why)
            return why
        await premises.keep(partial(_bar, registry, self._take_sightings(), name, version, self._now()))
        bot = await self._kept(name)
        # From here on nobody comes in between: the next one of that name is not let in before it is barred.
        member, why = premises.lobby.member(name), _revoked(name, version)
        came_as_it = member.hello is not None and member.hello.bot_version == version
        if came_as_it:
            member.revoke(why, version)
            # Another version of it may come.
            premises.lobby.forget(name)
        self._let_in(bot)
        return why if came_as_it else None

    async def statuses(self) -> tuple[BotStatus, ...]:
        """All bots that were ever registered, by name."""
        bots = await self._premises.keep(partial(_statuses, self._registry))
        return tuple([_with_link(bot, self._premises.lobby.member(bot.name)) for bot in bots])

    def present(self, name: str) -> Member:
        """A registered bot that is connected.

        Raises:
            RefusedError: there is no such bot, or it is not connected.
        """
        if name not in self._names:
            raise unknown_bot(name, self._names)
        member = self._premises.lobby.member(name)
        if not member.is_there:
            raise RefusedError(
                Refusal.NOT_NOW,
                f"bot {name} is not connected: start it first, with KRATZEN_ADDRESS and its KRATZEN_TOKEN",
            )
        return member

    # ------------------------------------------------------------------ for a tournament

    def strangers(self, tournament: TournamentFile) -> tuple[str, ...]:
        """The bots that are to dial in and cannot.

        Raises:
            RefusedError: a bot with a command has the name of one that dials in.
        """
        for bot in tournament.bots:
            if bot.command is not None and bot.name in self._names:
                raise RefusedError(
                    Refusal.BAD_INPUT,
                    f"bot {bot.name} has a command in the file, and is registered as one that dials in: "
                    "give one of the two another name",
                )
        return tuple(
            [bot.name for bot in tournament.bots if bot.command is None and bot.name not in self._names]
        )

    async def withdraw_revoked(self, store: Store, account: Account) -> Account:
        """Withdraw the bots that were revoked since a tournament began; what its store says then."""
        bots = {bot.name: bot for bot in await self._premises.keep(self._registry.bots)}
        gone = {}
        for name, (version, _) in account.seen.items():
            bot = bots.get(name)
            if bot is None or name in account.withdrawn or name in account.local_names:
                continue
            if not bot.is_valid:
                gone[name] = _revoked(name)
            elif version in bot.barred_versions:
                gone[name] = _revoked(name, version)

        def withdraw() -> Account:
            for name, why in gone.items():
                store.withdraw(name, why)
            return Account.of(store)

        return await self._premises.keep(withdraw) if gone else account

    # ------------------------------------------------------------------ inside

    def _now(self) -> str:
        return self._premises.clockwork.time.utc_text()

    async def _kept(self, name: str) -> RegistryBot:
        bot = await self._premises.keep(lambda: self._registry.bot(name))
        assert bot is not None
        return bot

    def _let_in(self, bot: RegistryBot) -> None:
        link = self._premises.lobby.member(bot.name).link
        link.bar(bot.barred_versions)
        link.know([version.version for version in bot.versions])
        self._premises.tokens.admit(bot.name, bot.token_hash)
        self._names.add(bot.name)

    def _note_version(self, name: str, hello: Hello) -> None:
        """Have it written down that a registered bot came as a version of it."""
        if name not in self._names:
            return
        version = hello.bot_version
        self._sightings.setdefault(
            (name, version),
            Sighting(bot=name, version=version, build_digest=hello.build_digest, at=self._now()),
        )
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_versions())

    async def _write_versions(self) -> None:
        """Write down who came as what: all at once that came meanwhile, so that one write waits at a time."""
        try:
            while sightings := self._take_sightings():
                await self._write(sightings)
        finally:
            self._writer = None

    async def _write(self, sightings: Sequence[Sighting]) -> None:
        try:
            await self._premises.keep(partial(self._registry.see_versions, sightings))
        except StoreError:
            log.exception("versions not written", bots=sorted({seen.bot for seen in sightings}))

    def _take_sightings(self) -> Sequence[Sighting]:
        sightings, self._sightings = tuple(self._sightings.values()), {}
        return sightings


def _bar(registry: Registry, sightings: Sequence[Sighting], name: str, version: str, at: str) -> None:
    """Bar a version of a bot, which may be one that is still to be written down."""
    registry.see_versions(sightings)
    bar_version(registry, name, version, at)


def _statuses(registry: Registry) -> Sequence[BotStatus]:
    """All bots as the registry has them."""
    return [bot_status(bot, is_there=False) for bot in registry.bots()]


def _with_link(bot: BotStatus, member: Member) -> BotStatus:
    """A registered bot for those who ask, with what its link knows."""
    return replace(
        bot,
        is_there=member.is_there,
        absence=member.visits.absence.sentence,
        turned_away=member.visits.absence.turned_away,
        stray_counts=dict(member.link.stray_counts),
    )


def _revoked(name: str, version: str | None = None) -> str:
    which = f"bot {name}" if version is None else f"version {version!r} of bot {name}"
    return f"{which} was revoked by the organiser"
