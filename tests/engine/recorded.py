"""The recorded sessions of the conformance vectors as values that tests can ask.

Facts are read from the recording and never from the engine, so that what is asserted of
them holds whatever the engine does. Cards are canonical texts here, as in the files.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.rules import PenaltyMode, Ruleset, make_ruleset

Json = dict[str, Any]

VECTORS = Path(__file__).parent.parent / "conformance"
SESSION_FILES = ("sessions-base.json", "sessions-options.json", "sessions-events.json")


def load(name: str, entries: str) -> list[Json]:
    """The entries of one vector file."""
    document = json.loads((VECTORS / name).read_text("utf-8"))
    assert document["format"] == "kratzen-conformance/1"
    found: list[Json] = document[entries]
    return found


def rank(card: str) -> str:
    """The rank letter of a card; `6` for the Weli alone."""
    return card[1]


@dataclass(frozen=True)
class RecordedDeal:
    """One deal of a recording, with what stood before it."""

    facts: Json
    """The vector's own object for the deal."""
    ruleset: Ruleset
    stacks_before: list[int]
    """Chips by seat before the antes."""
    decisions: list[Json]
    """Those of this deal, in order, forced ones included."""

    def __getitem__(self, field: str) -> Any:  # noqa: ANN401 a field of a JSON object
        return self.facts[field]

    @property
    def dealer(self) -> int:
        """The seat that really dealt."""
        return int(self["dealer"])

    @property
    def striker(self) -> int:
        """The striker's seat."""
        return int(self["striker"])

    @property
    def forehand(self) -> int:
        """The first seat dealt in, clockwise from the dealer."""
        seats: list[int] = self["seats"]
        return seats[(seats.index(self.dealer) + 1) % len(seats)]

    @property
    def bettlers(self) -> list[int]:
        """Seats that promised no trick."""
        return [said["seat"] for said in self["declarations"] if said["call"] == "bettler"]

    @property
    def is_contested(self) -> bool:
        """Whether anyone but the striker was left to play."""
        return len(self["active"]) > 1

    @property
    def pays_out(self) -> bool:
        """Whether the settlement shares out the pot."""
        return self["kind"] == "normal" or self.ruleset.muss_pays

    def strength(self, card: str) -> int:
        """The place of a trump among the trumps, from 0; -1 for a plain card."""
        order = "789TUOK6A" if self.ruleset.weli_rank == "second" else "789TUOKA6"
        return order.index(rank(card)) if card == "S6" or card[0] == self["trump"] else -1

    def is_trump(self, card: str) -> bool:
        """Whether a card is a trump, the Weli included."""
        return self.strength(card) >= 0

    def penalties_due(self) -> Iterator[tuple[int, int, int]]:
        """For each failure: seat, what it owes before `penalty_limit`, and what it owes."""
        pot, limit = self["pot_when_play_ends"], self.ruleset.penalty_limit
        for seat in self["failed"]:
            due = pot
            if seat not in self.bettlers:
                if self.ruleset.penalty is PenaltyMode.DOUBLE_ANTE:
                    due = 2 * self.ruleset.ante
                if seat == self.striker:
                    due *= self.ruleset.striker_penalty_factor
            yield seat, due, due if limit is None else min(due, limit)

    def penalty(self, seat: int) -> int:
        """What a seat paid as penalty."""
        return int(self["penalties"].get(str(seat), 0))


@dataclass(frozen=True)
class RecordedSession:
    """One recorded session."""

    facts: Json
    """The vector's own object for the session."""

    @cached_property
    def ruleset(self) -> Ruleset:
        """Its options."""
        return make_ruleset(self.facts["ruleset"], self.facts["options"])

    @property
    def options(self) -> Json:
        """`players`, `stack`, `deals`, `target`, `tie_break`."""
        return dict(self.facts["session"])

    @property
    def result(self) -> Json:
        """How it ended."""
        return dict(self.facts["result"])

    @cached_property
    def deals(self) -> list[RecordedDeal]:
        """Every deal, the tie-break included."""
        stacks = [self.options["stack"]] * self.options["players"]
        deals = []
        for facts in self.facts["deals"]:
            decisions = [entry for entry in self.facts["decisions"] if entry["deal"] == facts["deal"]]
            deals.append(RecordedDeal(facts, self.ruleset, stacks, decisions))
            stacks = facts["stacks"]
        return deals

    @property
    def last_ordinary(self) -> RecordedDeal:
        """The deal after which the session ended or the tie-break began."""
        return [deal for deal in self.deals if not deal["tie_break"]][-1]

    @property
    def tie_break(self) -> RecordedDeal | None:
        """The tie-break deal, if one was played."""
        return self.deals[-1] if self.deals[-1]["tie_break"] else None


def recorded_sessions() -> list[RecordedSession]:
    """All recorded sessions, in the order of the files."""
    return [RecordedSession(facts) for name in SESSION_FILES for facts in load(name, "sessions")]
