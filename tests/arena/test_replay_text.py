"""Replays as text, and the golden replay of every format that was ever released."""

from dataclasses import replace
from pathlib import Path

import pytest

from arena.messages import RejectReason
from arena.record import Refusal
from arena.replay import Replay, Step, parse
from arena.replay_lines import VERSION
from arena.replay_text import CardNames, ruleset_text, show
from arena.replay_verify import verify
from engine.actions import Call, Declare
from engine.cards import Suit
from engine.events import DealSettled, Decided
from engine.rules import PRESETS, make_ruleset
from tests.arena.sessions import Table, play, rewrite

GOLDEN = Path(__file__).parent / "golden"


def lively() -> Replay:
    """A session with a bit of everything, as values."""
    return parse((GOLDEN / "replay-1.jsonl").read_bytes())


def test_newest_golden_replay_is_written_again() -> None:
    """A session that is written today has the bytes that it had when the format was released."""
    text = (GOLDEN / f"replay-{VERSION}.jsonl").read_bytes()
    assert rewrite(parse(text)) == text


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("replay-*.jsonl")), ids=lambda path: path.stem)
def test_golden_replay_verifies_and_reads_as_ever(path: Path) -> None:
    """Every replay of a released format verifies and is shown as it always was (known fault P07)."""
    text = path.read_bytes()
    assert verify(text) is None
    assert len(text) < 200_000
    assert [*show(parse(text))] == path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()


def session_of_folders(play_seed: int) -> Replay | None:
    """A session in which somebody was left alone, or None."""
    table = Table(options={"muss_after": "clean_normal"}, deals=6, fault_rate=0.0, play_seed=play_seed)
    replay = parse(play(table).text)
    alone = [
        step for step in replay.steps if isinstance(step.event, DealSettled) and len(step.event.active) == 1
    ]
    return replay if alone else None


def test_deal_in_which_all_fold_is_shown() -> None:
    """A deal that everybody but the striker folded is shown as such (known fault P11)."""
    replay = next(replay for replay in map(session_of_folders, range(300)) if replay is not None)
    text = "\n".join(show(replay))
    assert "everybody else folded" in text
    assert text.count("\nDeal ") == replay.end.deals


def test_every_option_of_display_is_handed_in() -> None:
    """Cards and suits are written as the caller wants them."""
    names = CardNames(card=lambda card: f"<{card}>", suit=lambda suit: f"suit {int(suit)}")
    text = "\n".join(show(lively(), names))
    assert "trumps are suit" in text
    assert "<32>" in text or "<7>" in text
    assert not any(suit.name.capitalize() in text for suit in Suit)


def test_a_session_in_which_the_arena_was_late_is_marked() -> None:
    """In how many decisions, and by how much at most: its times are to be read with that in mind (F5)."""
    replay = lively()
    asked = [step.decision for step in replay.steps if step.decision and step.decision.request_id]
    lags_us = iter([20_000, 20_001, 143_999, *[0] * len(asked)])
    steps = [
        replace(step, decision=replace(step.decision, lag_us=next(lags_us)))
        if step.decision and step.decision.request_id
        else step
        for step in replay.steps
    ]
    (told,) = [line for line in show(replace(replay, steps=tuple(steps))) if line.startswith("  arena")]
    assert told == (
        f"  arena    late by more than 20 ms in 2 of {len(asked)} decisions, by 143 ms at most; "
        "charged to nobody"
    )


def test_a_bot_that_was_late_within_its_bank_is_told_of() -> None:
    """In how many decisions, and by how much at most; the first one may take longer (T11)."""
    replay = lively()
    asked = [step for step in replay.steps if step.decision and step.decision.request_id]
    (seat, name), *_ = enumerate([seat.bot for seat in replay.header.seats])
    count = sum(isinstance(step.event, Decided) and step.event.seat == seat for step in asked)
    charged_us = iter([6_000_000, 1_000_000, 1_000_001, 1_019_960, *[0] * count])
    steps = [
        replace(step, decision=replace(step.decision, charged_us=next(charged_us)))
        if step in asked and isinstance(step.event, Decided) and step.decision and step.event.seat == seat
        else step
        for step in replay.steps
    ]
    late = replace(replay, steps=tuple(steps))
    told = (
        f"  {name} took longer than a decision has without the bank in 2 of {count} decisions, "
        "by 20.0 ms at most"
    )
    assert [line for line in show(late) if "without the bank" in line] == [told]
    header = replace(late.header, clock=replace(late.header.clock, timed=False))
    assert not [line for line in show(replace(late, header=header)) if "without the bank" in line]


def test_text_of_strangers_is_escaped() -> None:
    """Nothing that a bot said or is called reaches a terminal unescaped (known fault X01)."""
    replay = lively()
    evil = "\x1b[2J\u202e\n"
    steps = [
        Step(
            step.deal,
            step.event,
            step.decision
            and replace(step.decision, note=evil, refused=(Refusal(RejectReason.ILLEGAL, evil),)),
        )
        for step in replay.steps
    ]
    seats = tuple(replace(seat, bot=evil, version=evil) for seat in replay.header.seats)
    faults = tuple(replace(fault, detail=evil) for fault in replay.end.faults)
    replay = Replay(
        replace(replay.header, tournament=evil, session_id=evil, started_at=evil, seats=seats),
        tuple(steps),
        replace(replay.end, faults=faults),
    )
    text = [*show(replay)]
    assert all(line.isprintable() for line in text)
    assert any("\\x1b[2J\\u202e\\n" in line for line in text)


def test_replay_with_an_error_in_it_is_shown() -> None:
    """A seat that is not at the table is no reason to show nothing."""
    replay = lively()
    stranger = Step(
        0,
        Decided(5, Declare(Call.FOLD), forced=False),
        next(step.decision for step in replay.steps if step.decision),
    )
    assert "  call     seat 5 folds" in "\n".join(
        show(Replay(replay.header, (*replay.steps, stranger), replay.end))
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_ruleset_is_named_by_what_differs(preset: str) -> None:
    """A ruleset is told by the nearest preset and the options that differ from it."""
    assert ruleset_text(make_ruleset(preset)) == preset
    changed = make_ruleset(preset, {"bettler": True, "penalty_limit": 70})
    assert ruleset_text(changed) == f"{preset}, penalty_limit = 70, bettler = true"
