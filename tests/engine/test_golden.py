"""The golden deals: played again they are the same text, and nothing of the game is missing in them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, get_args

import pytest

from engine.actions import KINDS, Action, Bid, Call, Contract, Declare, Discard, Exchange, NameTrump, Play
from engine.cards import Rank, Suit
from engine.deal import PHASES
from engine.events import (
    AntesPaid,
    CardsDealt,
    CutEffect,
    CutMade,
    DealBegan,
    DealSettled,
    Decided,
    Event,
    Exchanged,
    SessionEnded,
    SessionEnding,
    StrikerFixed,
    TrickTaken,
)
from engine.rules import DealKind, OderMeaning
from engine.session import Session
from tests.engine.golden import golden_files, main, read, written

FILES: Final = golden_files()


def name_of(path: Path) -> str:
    """A file's name without its folder."""
    return path.stem


@pytest.fixture(scope="module")
def sessions() -> list[Session]:
    """All golden sessions, played from their files."""
    return [read(path.read_text(encoding="utf-8")).play() for path in FILES]


@pytest.fixture(scope="module")
def events(sessions: list[Session]) -> list[Event]:
    """All that happens in the golden sessions."""
    return [event for session in sessions for event in session.events]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_golden_deal_happens_again(path: Path) -> None:
    """A golden session, played from its own head and answers, gives its text to the letter."""
    text = path.read_text(encoding="utf-8")
    golden = read(text)
    session = golden.play()
    assert session.result is not None
    assert written(golden, session) == text


def test_writing_anew_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written anew a file is the same under the same rules; of a head alone the fallback makes a session."""
    monkeypatch.setattr("tests.engine.golden.FOLDER", tmp_path)
    text = FILES[0].read_text(encoding="utf-8")
    (tmp_path / "whole.txt").write_text(text, encoding="utf-8")
    (tmp_path / "head.txt").write_text("\n".join(text.splitlines()[:4]), encoding="utf-8")
    main()
    assert (tmp_path / "whole.txt").read_text(encoding="utf-8") == text
    assert "ended deals" in (tmp_path / "head.txt").read_text(encoding="utf-8")


# ----------------------------------------------------------------------- nothing is missing


def decided(kind: type[Action]) -> Callable[[Event], bool]:
    """An event that is a decision of this kind."""
    return lambda event: isinstance(event, Decided) and isinstance(event.action, kind)


def is_a(kind: type[Any]) -> Callable[[Event], bool]:
    """An event of this kind."""
    return lambda event: isinstance(event, kind)


SHOWN_BY: Final[dict[str, Callable[[Event], bool]]] = {
    "antes": is_a(AntesPaid),
    "cut": is_a(CutMade),
    "dealing": is_a(CardsDealt),
    "trumps": decided(NameTrump),
    "auction": decided(Bid),
    "contract": is_a(StrikerFixed),
    "declarations": decided(Declare),
    "exchange": is_a(Exchanged),
    "laying_away": decided(Discard),
    "play": decided(Play),
    "settlement": is_a(DealSettled),
    "over": is_a(SessionEnded),
}
"""For each phase, what happens only where the phase does something."""


def test_every_phase_occurs(events: list[Event]) -> None:
    """Every phase of the table does something in a golden deal."""
    assert set(SHOWN_BY) == set(PHASES)
    assert [phase for phase, happens in SHOWN_BY.items() if not any(map(happens, events))] == []


def test_laying_away_occurs_in_and_after_an_exchange(sessions: list[Session]) -> None:
    """Cards are laid away in a turn of the exchange, and in a deal without one before the first lead."""
    found = set()
    for session in sessions:
        for before, event in zip([None, *session.events], session.events, strict=False):
            if decided(Discard)(event):
                found.add(isinstance(before, Exchanged))
    assert found == {True, False}


def test_every_event_and_action_occurs(events: list[Event]) -> None:
    """Every kind of event and of action occurs, and every kind of decision is asked."""
    assert {type(event) for event in events} == set(get_args(Event))
    decisions = [event for event in events if isinstance(event, Decided)]
    assert {type(decision.action) for decision in decisions} == set(get_args(Action))
    assert {KINDS[type(decision.action)] for decision in decisions if not decision.forced} == set(
        KINDS.values()
    )
    assert {type(decision.action) for decision in decisions if decision.forced} == {Exchange, Play}


def test_every_word_occurs(events: list[Event]) -> None:
    """Every bid, contract, call, kind of deal, effect of the cut and ending of a session occurs."""
    actions = [event.action for event in events if isinstance(event, Decided)]
    assert {action.contract for action in actions if isinstance(action, Bid)} == set(Contract)
    assert {action.call for action in actions if isinstance(action, Declare)} == set(Call)
    strikers = [event for event in events if isinstance(event, StrikerFixed)]
    assert {event.contract for event in strikers} == {None, *Contract} - {Contract.WEITER}
    assert {event.kind for event in strikers} == set(DealKind)
    assert {event.effect for event in events if isinstance(event, CutMade)} == set(CutEffect)
    assert {event.ending for event in events if isinstance(event, SessionEnded)} == set(SessionEnding)


def test_the_rare_turns_occur(sessions: list[Session], events: list[Event]) -> None:
    """Both meanings of Oder, a Seven by contract, extra cards, a kept promise, a tie-break with observers."""
    meanings = {
        session.ruleset.oder
        for session in sessions
        for event in session.events
        if isinstance(event, StrikerFixed) and event.contract is Contract.ODER
    }
    assert meanings == set(OderMeaning)
    strikers = [event for event in events if isinstance(event, StrikerFixed)]
    assert any(event.turned and event.kind is DealKind.SEVEN_MUSS for event in strikers)
    assert any(event.bonus for event in events if isinstance(event, Exchanged))
    settled = [event for event in events if isinstance(event, DealSettled)]
    assert any(any(event.bonuses) for event in settled)
    assert any(event.remainder for event in settled)
    assert any(len(event.active) == 1 for event in settled)
    deals = [event for event in events if isinstance(event, CardsDealt)]
    assert any(() in event.hands for event in deals)
    assert {len(event.turned) for event in deals} == {1, 2}
    assert any(event.tie_break for event in events if isinstance(event, DealBegan))
    tricks = [event for event in events if isinstance(event, TrickTaken)]
    assert len({card for trick in tricks for _, card in trick.cards}) == len(Suit) * len(Rank) + 1
