"""The bots that the arena itself starts: started again when they end, given up when they end too often.

It ties the processes of `arena.launcher` to the members of the lobby; neither knows the other.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass

from arena.faults import FaultCause
from arena.launcher import BotProcess, BotStart, ExitKind, ExitReport, Launcher, Restarts
from arena.lobby import Lobby, Member
from arena.seats import Gone


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A bot that ended and will not be started again."""

    bot: str
    report: ExitReport
    was_there: bool
    """Whether it had ever said Hello."""


class LocalBots:
    """All bots of one run that are processes of this machine."""

    def __init__(
        self,
        launcher: Launcher,
        lobby: Lobby,
        on_given_up: Callable[[GivenUp], None],
        *,
        on_failed: Callable[[str, Exception], None],
        keep_end: Callable[[str, ExitReport], Coroutine[None, None, None]],
        before: Mapping[str, Sequence[ExitReport]],
    ) -> None:
        """Set up.

        Args:
            launcher: starts the processes.
            lobby: where the bots come in.
            on_given_up: called once for every bot that will not be started again.
            on_failed: called with a bot that the arena cannot look after any more, and why: it could not
                start it again, or keep its end. That is no fault of the bot, which is neither there then
                nor gone for good.
            keep_end: keeps an end that the arena did not wish, before the bot is started again.
            before: what was kept of earlier runs of the same tournament, by bot and in order.
        """
        self._launcher = launcher
        self._lobby = lobby
        self._on_given_up = on_given_up
        self._on_failed = on_failed
        self._keep_end = keep_end
        self._restarts = {name: Restarts(before=reports) for name, reports in before.items()}
        self._keepers: list[asyncio.Task[None]] = []
        self._processes: dict[str, BotProcess] = {}

    @property
    def restarts(self) -> dict[str, tuple[ExitReport, ...]]:
        """Every end of a bot that the arena did not wish, over all runs of the tournament, by bot."""
        return {name: restarts.reports for name, restarts in self._restarts.items() if restarts.reports}

    async def start(self, starts: Sequence[BotStart]) -> None:
        """Start every bot, side by side, and keep each going from here on.

        One that has ended more often than it may, in earlier runs, is not.

        Raises:
            LaunchError: a bot cannot be started as it is to be.
        """
        wanted = []
        for start in starts:
            restarts = self._restarts.setdefault(start.name, Restarts())
            if restarts.is_used_up:
                self._give_up(self._lobby.member(start.name), restarts.reports[-1], was_there=True)
            else:
                wanted.append(start)
        processes = await asyncio.gather(*(self._launcher.start(start) for start in wanted))
        for process in processes:
            self._processes[process.start.name] = process
            self._keepers.append(asyncio.create_task(self._look_after(process)))

    async def stop(self, grace_s: float = 0) -> None:
        """End every bot; who has not ended by itself within `grace_s` is ended within a second."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        ends = [asyncio.create_task(process.wait()) for process in self._processes.values()]
        if ends and grace_s:
            await asyncio.wait(ends, timeout=grace_s)
        await self._launcher.close()
        await asyncio.gather(*ends)

    async def _look_after(self, process: BotProcess) -> None:
        """Keep a bot going; whatever fails of that is told, since nobody waits for this task."""
        try:
            await self._keep_going(process)
        except Exception as error:  # noqa: BLE001 - of any failure the bot would be charged for being away
            self._on_failed(process.start.name, error)

    async def _keep_going(self, process: BotProcess) -> None:
        """Wait for a bot's end, again and again, until it may not be started once more."""
        start = process.start
        member = self._lobby.member(start.name)
        restarts = self._restarts[start.name]
        while True:
            report = await process.wait()
            if member.hello is None:
                # It would only fail in the same way again.
                self._give_up(member, report, was_there=False)
                return
            may_again = restarts.again(report)
            if not may_again:
                self._give_up(member, report, was_there=True)
            if report.kind is not ExitKind.STOPPED:
                # A stop that comes now does not take it back.
                await asyncio.shield(self._keep_end(start.name, report))
            if not may_again:
                return
            process = self._processes[start.name] = await self._launcher.start(start)

    def _give_up(self, member: Member, report: ExitReport, *, was_there: bool) -> None:
        member.leave_for_good(Gone(FaultCause.EXITED, report.sentence))
        self._on_given_up(GivenUp(member.name, report, was_there))
