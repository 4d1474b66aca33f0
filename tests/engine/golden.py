"""Golden deals: whole sessions as text, kept under `tests/golden/`, to be read and compared.

A file holds the ruleset, the frame, the seed, and then every event and decision as one line in
canonical notation; numbers in a row are by seat. It can be played again from itself: the
decisions that are not forced are the answers.

Run as a program (`python -m tests.engine.golden`) this writes every file anew from its own
head and answers, which is to be done, and the difference read, when the rules themselves have
changed. A new file needs its head alone: where an answer is missing or no longer legal the
fallback is played.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, assert_never

from engine.cards import SUIT_LETTERS, Card, Seat, card_text, cards_text
from engine.events import (
    AntesPaid,
    CardsDealt,
    CutMade,
    DealBegan,
    DealSettled,
    Decided,
    Event,
    Exchanged,
    SessionEnded,
    StrikerFixed,
    TrickTaken,
)
from engine.fallback import fallback
from engine.notation import action_text, parse_action
from engine.rules import make_ruleset, make_session_options
from engine.session import Session

FOLDER: Final = Path(__file__).parent.parent / "golden"

FORCED: Final = " (forced)"
"""The end of a line of a decision that nobody was asked for."""

Value = str | int | bool | None


@dataclass(frozen=True)
class Golden:
    """All that decides a golden session."""

    about: str
    """What is to be seen in it, in one line."""
    preset: str
    overrides: dict[str, Value]
    session: dict[str, Value]
    seed: bytes
    answers: tuple[str, ...]
    """In order, those that are not forced."""

    def begin(self) -> Session:
        """The session at its first decision."""
        ruleset = make_ruleset(self.preset, self.overrides)
        return Session(ruleset, make_session_options(ruleset, self.session), self.seed)

    def play(self) -> Session:
        """The session played to its end; every answer must be legal."""
        session = self.begin()
        for answer in self.answers:
            session.apply(parse_action(answer))
        return session

    def play_anew(self) -> Session:
        """The session played to its end, with the fallback where an answer is missing or not legal."""
        session, answers = self.begin(), iter(self.answers)
        while session.decision is not None:
            legal = session.decision.legal
            action = fallback(session.view(session.decision.seat), legal)
            if (answer := next(answers, None)) is not None and parse_action(answer) in legal:
                action = parse_action(answer)
            session.apply(action)
        return session


# ------------------------------------------------------------------------------- writing


def written(golden: Golden, session: Session) -> str:
    """The whole text of a session."""
    head = [
        f"# {golden.about}",
        " ".join(["rules", golden.preset, *_pairs(golden.overrides)]),
        " ".join(["session", *_pairs(golden.session)]),
        f"seed {golden.seed.hex()}",
    ]
    return "\n".join([*head, *[line for event in session.events for line in lines_of(event)], ""])


def _pairs(values: dict[str, Value]) -> list[str]:
    return [f"{name}={_word(value)}" for name, value in values.items()]


def _word(value: Value) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def lines_of(event: Event) -> Iterator[str]:  # noqa: C901 one case an event
    """The lines of one event."""
    match event:
        case DealBegan(deal, dealer, kind, tie_break, seats):
            yield ""
            yield f"deal {deal} {kind}{' tie-break' * tie_break} dealer {dealer} seats {_row(seats)}"
        case AntesPaid(paid):
            yield f"antes {_row(paid)}"
        case CutMade(dealer, shown, effect, paid):
            yield f"cut dealer {dealer} shown {cards_text(shown)} effect {effect} paid {_row(paid)}"
        case CardsDealt(dealer, hands, turned, trump, kind):
            suit = "-" if trump is None else SUIT_LETTERS[trump]
            yield f"dealt dealer {dealer} turned {cards_text(turned)} trump {suit} kind {kind}"
            for seat, hand in enumerate(hands):
                yield f"  hand {seat} {cards_text(hand) or '-'}"
        case Decided(seat, action, forced):
            yield f"{seat}: {action_text(action)}{FORCED * forced}"
        case StrikerFixed(striker, contract, turned, trump, kind):
            yield (
                f"striker {striker} contract {contract or '-'} turned {cards_text(turned) or '-'}"
                f" trump {SUIT_LETTERS[trump]} kind {kind}"
            )
        case Exchanged():
            yield _exchanged(event)
        case TrickTaken(leader, cards, winner):
            yield f"trick leader {leader} cards {_plays(cards)} winner {winner}"
        case DealSettled():
            yield from _settled(event)
        case SessionEnded():
            yield ""
            yield f"ended {event.ending} stacks {_row(event.stacks)} places {_row(event.places)}"
            played = _word(event.tie_break_played)
            yield f"  pot-left {event.pot_left} tied {_row(event.tied)} tie-break {played}"
        case _:
            assert_never(event)


def _exchanged(event: Exchanged) -> str:
    named = {"laid": event.laid, "drawn": event.drawn, "face-up": event.face_up, "bonus": event.bonus}
    cards = " ".join([f"{name} {cards_text(cards) or '-'}" for name, cards in named.items()])
    return f"exchanged {event.seat} {cards} paid {event.paid} stock {event.stock_left}"


def _plays(cards: Sequence[tuple[Seat, Card]]) -> str:
    return " ".join([f"{seat}:{card_text(card)}" for seat, card in cards])


def _settled(event: DealSettled) -> Iterator[str]:
    yield f"settled active {_row(event.active)} tricks {_row(event.tricks_won)} pot {event.pot_before}"
    yield f"  bonuses {_row(event.bonuses)} shares {_row(event.shares)} remainder {event.remainder}"
    yield f"  penalties {_row(event.penalties)} failed {_row(event.failed)}"
    yield f"  pot {event.pot} stacks {_row(event.stacks)} next {event.next_kind or '-'}"


def _row(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers)) or "-"


# ------------------------------------------------------------------------------- reading


def read(text: str) -> Golden:
    """The head of a text and its answers, of which everything else follows."""
    about, rules, session, seed, *lines = text.splitlines()
    _, preset, *overrides = rules.split()
    decisions = [found[1] for line in lines if (found := re.fullmatch(r"\d: (.*)", line))]
    return Golden(
        about=about.removeprefix("# "),
        preset=preset,
        overrides=_values(overrides),
        session=_values(session.split()[1:]),
        seed=bytes.fromhex(seed.split()[1]),
        answers=tuple([decision for decision in decisions if not decision.endswith(FORCED)]),
    )


def _values(pairs: list[str]) -> dict[str, Value]:
    return {name: _value(word) for name, _, word in (pair.partition("=") for pair in pairs)}


def _value(word: str) -> Value:
    words: dict[str, Value] = {"true": True, "false": False, "null": None}
    return words.get(word, int(word) if word.isdigit() else word)


def golden_files() -> list[Path]:
    """Every golden file."""
    return sorted(FOLDER.glob("*.txt"))


def main() -> None:
    """Write every file anew."""
    for path in golden_files():
        golden = read(path.read_text(encoding="utf-8"))
        path.write_text(written(golden, golden.play_anew()), encoding="utf-8")


if __name__ == "__main__":
    main()
