"""Rulesets: the presets, what an option may be, and what is refused (`rules.md` §3)."""

from dataclasses import fields, replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import RulesError
from engine.pack import SEED_BYTES
from engine.rules import (
    OPTIONS,
    PRESETS,
    SALZBURG,
    SESSION_OPTIONS,
    TAVERN,
    Number,
    OderMeaning,
    Option,
    OptionTrial,
    Ruleset,
    SessionOptions,
    WeliCut,
    every_option_value,
    make_ruleset,
    make_session_options,
    ruleset_values,
    session_values,
)
from tests.engine.playing import CASES, STYLES, Case, play, values_of

AS_TOLD: dict[str, tuple[Any, Any]] = {
    "hand_size": (5, 4),
    "ante": (10, 10),
    "ante_from": ("everyone", "dealer"),
    "cut_ritual": (False, True),
    "turn_up_to_dealer": (False, True),
    "contracts": ("none", "auction"),
    "oder": ("extra_exchange", "new_suit"),
    "last_say": (False, False),
    "exchange": ("none", "free"),
    "exchange_limit": (2, 2),
    "exchange_fee": (5, 5),
    "first_lead": ("forehand", "striker"),
    "must_head": (False, True),
    "weli_rank": ("second", "second"),
    "weli_as_joker": (False, False),
    "striker_quota": (2, 2),
    "seven_muss_striker_quota": (None, 1),
    "muss_pays": (True, False),
    "short_players_collect": (False, True),
    "penalty": ("double_ante", "pot"),
    "striker_penalty_factor": (1, 2),
    "penalty_limit": (None, None),
    "muss_after": ("failure", "clean_normal"),
    "remainder": ("pot", "pot"),
    "bettler": (False, False),
    "bettler_bonus": (20, 20),
    "weli_cut": ("deal", "deal"),
}
"""The table of the rules: each option's value in `tavern` and in `salzburg`."""


def test_presets() -> None:
    """The two presets have the values of the rules, every option of them."""
    assert ruleset_values(TAVERN) == {name: values[0] for name, values in AS_TOLD.items()}
    assert ruleset_values(SALZBURG) == {name: values[1] for name, values in AS_TOLD.items()}
    assert {"tavern": TAVERN, "salzburg": SALZBURG} == PRESETS
    assert make_ruleset("tavern") == TAVERN


def test_the_table_describes_every_option() -> None:
    """The table has a row for every option, in one order, each with one sentence and a section."""
    assert [option.name for option in OPTIONS] == [field.name for field in fields(Ruleset)] == list(AS_TOLD)
    assert [option.name for option in SESSION_OPTIONS] == [field.name for field in fields(SessionOptions)]
    for option in (*OPTIONS, *SESSION_OPTIONS):
        assert option.sentence.endswith(".")
        assert option.sentence.count(".") == 1
        assert 1 <= option.section <= 13


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_value_is_taken(preset: str, option: Option) -> None:
    """Every value that the table allows an option is taken, as the plain value of a file."""
    mended = {"oder": "new_suit", "exchange_limit": 0, "seven_muss_striker_quota": None, "striker_quota": 3}
    for value in values_of(option):
        if option.name == "oder" and value == "extra_exchange":
            mended = {"exchange": "paid"}
        if option.name == "exchange_limit":
            mended = {"hand_size": 5}
        ruleset = make_ruleset(preset, {**mended, option.name: value})
        assert ruleset_values(ruleset)[option.name] == value


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"hand_sise": 5}, "unknown option hand_sise: allowed are hand_size, ante,"),
        ({"hand_size": 6}, "hand_size = 6: allowed is one of 4, 5"),
        ({"hand_size": True}, "hand_size = true: allowed is one of 4, 5"),
        ({"hand_size": None}, "hand_size = null: allowed is one of 4, 5"),
        ({"hand_size": "5"}, "hand_size = '5': allowed is one of 4, 5"),
        ({"hand_size": 5.0}, "hand_size = 5.0: allowed is one of 4, 5"),
        ({"ante": 0}, "ante = 0: allowed is a whole number, 1 or more"),
        ({"ante": True}, "ante = true: allowed is a whole number, 1 or more"),
        ({"ante": 2.5}, "ante = 2.5: allowed is a whole number, 1 or more"),
        ({"ante": None}, "ante = null: allowed is a whole number, 1 or more"),
        ({"bettler": 1}, "bettler = 1: allowed is true or false"),
        ({"bettler": "true"}, "bettler = 'true': allowed is true or false"),
        ({"contracts": "all"}, "contracts = 'all': allowed is one of none, dealer, auction"),
        ({"contracts": None}, "contracts = null: allowed is one of none, dealer, auction"),
        ({"striker_quota": 1}, "striker_quota = 1: allowed is one of 2, 3"),
        ({"striker_penalty_factor": True}, "striker_penalty_factor = true: allowed is one of 1, 2"),
        ({"seven_muss_striker_quota": 4}, "seven_muss_striker_quota = 4: allowed is one of 1, 2, 3, null"),
        ({"seven_muss_striker_quota": 3}, "allowed is up to striker_quota (2), or null"),
        ({"penalty_limit": 0}, "penalty_limit = 0: allowed is a whole number, 1 or more, or null"),
        ({"exchange_limit": 6}, "exchange_limit = 6: allowed is a whole number, 0 to 5"),
        ({"exchange_limit": -1}, "exchange_limit = -1: allowed is a whole number, 0 to 5"),
        ({"exchange_limit": 5, "hand_size": 4}, "exchange_limit = 5: allowed is 0 to hand_size (4)"),
        ({"contracts": "dealer", "exchange": "none", "oder": "extra_exchange"}, "allowed is oder = new_suit"),
        ({"ante": "x" * 500}, "..."),
        (
            {"ante": -(10**5000)},
            "ante = a number of thousands of digits: allowed is a whole number, 1 or more",
        ),
        ({"x\ny": 1}, r"unknown option 'x\ny': allowed are hand_size,"),
        ({"x" * 500: 1}, "...: allowed are hand_size,"),
    ],
)
def test_what_cannot_be_is_refused(overrides: dict[str, object], said: str) -> None:
    """An override that cannot be is refused in one short line: option, value, and what is allowed."""
    with pytest.raises(RulesError) as refused:
        make_ruleset("tavern", overrides)
    message = str(refused.value)
    assert said in message
    assert "\n" not in message
    assert len(message) < 700
    assert refused.value.option in overrides


def test_an_unknown_preset_is_refused() -> None:
    """A preset that does not exist is refused with those that do."""
    with pytest.raises(RulesError, match=r"^preset = 'inn': allowed is one of tavern, salzburg$"):
        make_ruleset("inn")


@pytest.mark.parametrize(
    ("preset", "overrides", "option", "sentence"),
    [
        (
            "tavern",
            {"contracts": "auction"},
            "contracts",
            "contracts = auction with oder = extra_exchange and",
        ),
        (
            "salzburg",
            {"oder": "extra_exchange", "exchange": "none"},
            "oder",
            "oder = extra_exchange with exchange",
        ),
        (
            "tavern",
            {"exchange": "none", "contracts": "dealer"},
            "contracts",
            "contracts = dealer with exchange",
        ),
    ],
)
def test_what_was_written_is_named_first(
    preset: str, overrides: dict[str, object], option: str, sentence: str
) -> None:
    """Of values that do not go together the one is named that the author wrote, not one of the preset."""
    with pytest.raises(RulesError) as refused:
        make_ruleset(preset, overrides)
    assert refused.value.option == option
    assert str(refused.value).startswith(sentence)
    assert str(refused.value).endswith(
        ": allowed is oder = new_suit, exchange = paid or free, or contracts = none"
    )


@pytest.mark.parametrize("preset", [None, 1, [], {}, "Tavern", "x\ny"])
def test_what_is_no_preset_is_refused(preset: Any) -> None:  # noqa: ANN401 whatever a caller hands in
    """Whatever is handed in as a preset and is none is refused in one line."""
    with pytest.raises(RulesError, match=r"^preset = [^\n]+: allowed is one of tavern, salzburg$"):
        make_ruleset(preset)


def test_an_ante_of_thousands_of_digits_is_told() -> None:
    """A stack below such an ante is refused in one line too."""
    with pytest.raises(
        RulesError, match=r"^stack = 1000: allowed is the ante \(a number of thousands of digits\)"
    ):
        make_session_options(make_ruleset("tavern", {"ante": 10**5000}), {"players": 4})


def test_oder_needs_an_exchange_only_where_it_can_be_bid() -> None:
    """`oder` may ask for an extra exchange where there is none as long as nobody can bid it."""
    assert make_ruleset("tavern", {"oder": "extra_exchange", "exchange": "none"}) == TAVERN


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "players is missing: allowed is a whole number, 3 to 6"),
        ({"players": 2}, "players = 2: allowed is a whole number, 3 to 6"),
        ({"players": 7}, "players = 7: allowed is a whole number, 3 to 6"),
        ({"players": 4, "stack": 9}, "stack = 9: allowed is the ante (10) or more"),
        ({"players": 4, "stack": 0}, "stack = 0: allowed is a whole number, 1 or more"),
        ({"players": 4, "deals": 0}, "deals = 0: allowed is a whole number, 1 or more"),
        ({"players": 4, "target": 0}, "target = 0: allowed is a whole number, 1 or more, or null"),
        ({"players": 4, "tie_break": None}, "tie_break = null: allowed is true or false"),
        ({"players": 4, "bettler": True}, "unknown option bettler: allowed are players, stack, deals"),
    ],
)
def test_a_session_that_cannot_be_is_refused(values: dict[str, object], said: str) -> None:
    """The frame of a session is checked in the same way, against its ruleset."""
    with pytest.raises(RulesError) as refused:
        make_session_options(TAVERN, values)
    assert said in str(refused.value)


def test_session_defaults() -> None:
    """A session has 1000 chips a player, 40 deals, no target and a tie-break unless it says otherwise."""
    options = make_session_options(TAVERN, {"players": 4})
    expected = {"players": 4, "stack": 1000, "deals": 40, "target": None, "tie_break": True}
    assert session_values(options) == expected


@given(CASES, st.sampled_from(sorted(PRESETS)))
def test_plain_values_make_the_same_rules(case: Case, preset: str) -> None:
    """A ruleset and a session's frame written as plain values are read back the same, from either preset."""
    assert make_ruleset(preset, ruleset_values(case.ruleset)) == case.ruleset
    assert make_session_options(case.ruleset, session_values(case.options)) == case.options


def with_idle_options_changed(ruleset: Ruleset) -> Ruleset:
    """The ruleset with other values for every option that another one switches off, or that only shows."""
    changes: dict[str, Any] = {"weli_as_joker": not ruleset.weli_as_joker}
    if ruleset.exchange != "paid":
        changes |= {"exchange_limit": (ruleset.exchange_limit + 1) % 5, "exchange_fee": 999}
    if ruleset.contracts == "none":
        changes |= {"oder": next(meaning for meaning in OderMeaning if meaning is not ruleset.oder)}
    if not ruleset.cut_ritual:
        changes |= {"weli_cut": next(value for value in WeliCut if value is not ruleset.weli_cut)}
    if not ruleset.bettler:
        changes |= {"bettler_bonus": 777}
    return replace(ruleset, **changes)


@given(CASES)
def test_an_option_that_another_switches_off_has_no_effect(case: Case) -> None:
    """Options that are switched off, and how the Weli is shown, change nothing in a session."""
    other = replace(case, ruleset=with_idle_options_changed(case.ruleset))
    assert play(other.session(), other).events == play(case.session(), case).events


def trials_of(preset: Ruleset) -> list[OptionTrial]:
    """The trials that begin from a preset, which come one preset after another."""
    trials = every_option_value()
    half = len(trials) // len(PRESETS)
    at = [*PRESETS.values()].index(preset) * half
    return list(trials[at : at + half])


def same_play(one: OptionTrial, other: OptionTrial, number: int) -> bool:
    """Whether a session of this number, answered by the same chance, goes the same way in both trials."""
    events = []
    for trial in (one, other):
        options = make_session_options(trial.ruleset, {"players": 3 + number % 4, "deals": 3})
        style = STYLES[number % len(STYLES)]
        case = Case(trial.ruleset, options, number.to_bytes(SEED_BYTES, "big"), style, number)
        events.append(play(case.session(), case).events)
    return events[0] == events[1]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_value_is_tried_where_it_has_an_effect(preset: str) -> None:
    """Of the trials of one option any two lead to different play; but the Joker only shows, and null is 2."""
    without_effect = {("weli_as_joker", False, True), ("seven_muss_striker_quota", 2, None)}
    trials = trials_of(PRESETS[preset])
    assert {trial.option for trial in trials} == {option.name for option in OPTIONS}
    for one, other in combinations(trials, 2):
        if one.option == other.option:
            is_same = all(same_play(one, other, number) for number in range(60))
            assert is_same == ((one.option, one.value, other.value) in without_effect), (one, other)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_value_of_a_short_list_is_tried(preset: str) -> None:
    """Of every option all values are tried, of numbers without an end the least and the preset's own."""
    tried = [(trial.option, trial.value) for trial in trials_of(PRESETS[preset])]
    assert len(set(tried)) == len(tried)
    for option in OPTIONS:
        values = {value for name, value in tried if name == option.name}
        if isinstance(option.values, Number) and option.values.most is None:
            assert values == {option.values.least, ruleset_values(PRESETS[preset])[option.name]}
        else:
            assert values == set(values_of(option))
    for trial in trials_of(PRESETS[preset]):
        assert ruleset_values(trial.ruleset)[trial.option] == trial.value
        assert make_ruleset(preset, ruleset_values(trial.ruleset)) == trial.ruleset
