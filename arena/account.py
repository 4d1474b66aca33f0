"""What is kept of a tournament: made from its file, and read out of its store to go on with it.

A new store holds the file and the whole schedule; an `Account` is what a store says, with sums
that go on while it is played.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.config import BotEntry, TournamentFile, read_tournament, tournament_values
from arena.ledger import BotEnd, TournamentFacts, TournamentState
from arena.schedule import FORMATS, Block, tournament_seed
from arena.sections import ConfigError
from arena.status import BotStanding, TournamentStatus
from arena.store import Store, StoreError, StoreReader
from arena.tally import Tally


def schedule_of(tournament: TournamentFile) -> tuple[Block, ...]:
    """The whole schedule of a tournament whose seed is set; a large one takes seconds.

    Raises:
        ScheduleError: none can be made of it.
    """
    assert tournament.tournament.seed is not None
    seed = tournament_seed(tournament.tournament.seed)
    return FORMATS[tournament.tournament.format](tournament.plan(seed))


def create_store(
    folder: Path,
    tournament: TournamentFile,
    blocks: Sequence[Block],
    created_at: str,
    *,
    replace_unplayed: bool = False,
) -> Store:
    """The store of a new tournament, in a folder that has none.

    Args:
        folder: made if need be.
        tournament: its seed is set.
        blocks: the whole schedule.
        created_at: UTC, ISO 8601.
        replace_unplayed: whether a tournament at which no attempt was made gives way to this one.

    Raises:
        StoreError: the folder has a tournament already, or cannot be written.
    """
    assert tournament.tournament.seed is not None
    return Store.create(
        folder,
        name=tournament.tournament.name,
        spec=json.dumps(tournament_values(tournament)),
        seed=tournament_seed(tournament.tournament.seed),
        ante=tournament.ruleset.ante,
        timed=tournament.clock.timed,
        bots=[bot.name for bot in tournament.bots],
        blocks=blocks,
        created_at=created_at,
        replace_unplayed=replace_unplayed,
    )


def file_of(facts: TournamentFacts) -> TournamentFile:
    """The tournament file that a store was made from.

    Raises:
        StoreError: it holds what this version cannot read.
    """
    try:
        return read_tournament(json.loads(facts.spec))
    except (ConfigError, ValueError) as error:
        raise StoreError(f"the store's tournament cannot be read by this version: {error}") from None


@dataclass(frozen=True, slots=True)
class Account:
    """What a tournament's store says of it; `tally` and `withdrawn` go on while it is played.

    Attributes:
        facts: what it was made from.
        file: the same, read.
        tally: the sums so far.
        withdrawn: bots that no longer take part, and why.
        seen: version and build digest of the bots as they were first seen.
        bot_ends: how bots that the arena started ended so far, in order.
    """

    facts: TournamentFacts
    file: TournamentFile
    tally: Tally
    withdrawn: dict[str, str]
    seen: Mapping[str, tuple[str, str]]
    bot_ends: tuple[BotEnd, ...]

    @property
    def local_bots(self) -> tuple[BotEntry, ...]:
        """The bots that the arena starts."""
        return tuple([bot for bot in self.file.bots if bot.command is not None])

    @property
    def local_names(self) -> frozenset[str]:
        """Their names."""
        return frozenset([bot.name for bot in self.local_bots])

    def number_of(self, bot: str) -> int:
        """The number of a bot in the tournament's file, from 1."""
        return [entry.name for entry in self.file.bots].index(bot) + 1

    @classmethod
    def of(cls, store: StoreReader) -> "Account":
        """Read it out of a store, which takes a while."""
        facts, bots = store.facts(), store.bots()
        return cls(
            facts=facts,
            file=file_of(facts),
            tally=Tally(store.slot_counts(), store.results()),
            withdrawn={bot.bot: bot.withdrawn for bot in bots if bot.withdrawn is not None},
            seen={bot.bot: (bot.version, bot.build_digest or "") for bot in bots if bot.version is not None},
            bot_ends=store.bot_ends(),
        )

    def status(
        self, tournament_id: str, state: TournamentState, is_there: Callable[[str], bool], failure: str
    ) -> TournamentStatus:
        """How the tournament stands.

        Args:
            tournament_id: the arena's.
            state: what it is doing.
            is_there: whether a stream of a bot is up now.
            failure: why it stopped by itself, or empty.
        """
        return TournamentStatus(
            tournament_id=tournament_id,
            name=self.facts.name,
            state=state,
            created_at_us=self.facts.created_at_us,
            counts=self.tally.counts,
            decision_count=self.tally.decision_count,
            ante=self.facts.ante,
            failure=failure,
            bots=tuple(
                [
                    BotStanding(
                        bot=bot.name,
                        is_local=bot.command is not None,
                        is_there=is_there(bot.name),
                        withdrawn=self.withdrawn.get(bot.name, ""),
                        tally=self.tally.of(bot.name),
                    )
                    for bot in self.file.bots
                ]
            ),
        )
