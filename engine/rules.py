"""Rulesets as data: every option of `rules.md` §3, its values, the two presets.

The option table `OPTIONS` is the one place that says what an option means and what it
allows; the checks, the command `kratzen rules` and the documents all read it. Nothing
here knows how a deal is played.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias

from engine.errors import RulesError


class AnteFrom(StrEnum):
    """Who pays the ante (`rules.md` §5.1)."""

    EVERYONE = "everyone"
    DEALER = "dealer"


class Contracts(StrEnum):
    """Who speaks in the auction (`rules.md` §7)."""

    NONE = "none"
    DEALER = "dealer"
    AUCTION = "auction"


class OderMeaning(StrEnum):
    """What the contract *Oder* does (`rules.md` §7)."""

    NEW_SUIT = "new_suit"
    EXTRA_EXCHANGE = "extra_exchange"


class ExchangeMode(StrEnum):
    """How cards are swapped with the stock (`rules.md` §9)."""

    NONE = "none"
    PAID = "paid"
    FREE = "free"


class FirstLead(StrEnum):
    """Who leads to the first trick (`rules.md` §10)."""

    FOREHAND = "forehand"
    STRIKER = "striker"


class WeliRank(StrEnum):
    """The Weli's place among the trumps (`rules.md` §1)."""

    SECOND = "second"
    TOP = "top"


class PenaltyMode(StrEnum):
    """What a failure costs (`rules.md` §11.4)."""

    DOUBLE_ANTE = "double_ante"
    POT = "pot"


class MussAfter(StrEnum):
    """Which deals a Muss follows (`rules.md` §11.5)."""

    FAILURE = "failure"
    NORMAL_FAILURE = "normal_failure"
    CLEAN_NORMAL = "clean_normal"


class RemainderTo(StrEnum):
    """Where the chips go that do not divide (`rules.md` §11.3)."""

    POT = "pot"
    STRIKER = "striker"


class WeliCut(StrEnum):
    """What follows a Weli shown in the cut (`rules.md` §5.2)."""

    DEAL = "deal"
    RECUT = "recut"


class DealKind(StrEnum):
    """What a deal is played as (`rules.md` §5)."""

    MUSS = "muss"
    NORMAL = "normal"
    SEVEN_MUSS = "seven_muss"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruleset:
    """Every option of `rules.md` §3 with its value; the defaults are those of `tavern`.

    Build one with `make_ruleset`, which checks it; amounts are whole chips.
    """

    hand_size: int = 5
    ante: int = 10
    ante_from: AnteFrom = AnteFrom.EVERYONE
    cut_ritual: bool = False
    turn_up_to_dealer: bool = False
    contracts: Contracts = Contracts.NONE
    oder: OderMeaning = OderMeaning.EXTRA_EXCHANGE
    last_say: bool = False
    exchange: ExchangeMode = ExchangeMode.NONE
    exchange_limit: int = 2
    exchange_fee: int = 5
    first_lead: FirstLead = FirstLead.FOREHAND
    must_head: bool = False
    weli_rank: WeliRank = WeliRank.SECOND
    weli_as_joker: bool = False
    striker_quota: int = 2
    seven_muss_striker_quota: int | None = None
    muss_pays: bool = True
    short_players_collect: bool = False
    penalty: PenaltyMode = PenaltyMode.DOUBLE_ANTE
    striker_penalty_factor: int = 1
    penalty_limit: int | None = None
    muss_after: MussAfter = MussAfter.FAILURE
    remainder: RemainderTo = RemainderTo.POT
    bettler: bool = False
    bettler_bonus: int = 20
    weli_cut: WeliCut = WeliCut.DEAL


TAVERN: Final = Ruleset()
SALZBURG: Final = Ruleset(
    hand_size=4,
    ante_from=AnteFrom.DEALER,
    cut_ritual=True,
    turn_up_to_dealer=True,
    contracts=Contracts.AUCTION,
    oder=OderMeaning.NEW_SUIT,
    exchange=ExchangeMode.FREE,
    first_lead=FirstLead.STRIKER,
    must_head=True,
    seven_muss_striker_quota=1,
    muss_pays=False,
    short_players_collect=True,
    penalty=PenaltyMode.POT,
    striker_penalty_factor=2,
    muss_after=MussAfter.CLEAN_NORMAL,
)
PRESETS: Final[Mapping[str, Ruleset]] = {"tavern": TAVERN, "salzburg": SALZBURG}

MIN_PLAYERS: Final = 3
MAX_PLAYERS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """The frame of a session (`rules.md` §3, §12).

    Attributes:
        players: seats at the table, 3..6.
        stack: chips of each player at the start.
        deals: how many deals are played at the most, the tie-break not counted.
        target: a stack at which the session ends, or None.
        tie_break: whether a tie for the first place is played out.
    """

    players: int
    stack: int = 1000
    deals: int = 40
    target: int | None = None
    tie_break: bool = True


# --------------------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class OneOf:
    """Values from a short list; None may be one of them."""

    values: tuple[str | int | None, ...]

    def read(self, value: object) -> str | int | None:
        """The value itself when it is allowed; otherwise ValueError with what is."""
        allowed = [v for v in self.values if v == value and type(v) in (type(value), type(None))]
        if not allowed and isinstance(value, str):
            allowed = [v for v in self.values if isinstance(v, StrEnum) and v.value == value]
        if not allowed:
            raise ValueError(self.describe())
        return allowed[0]

    def describe(self) -> str:
        """What is allowed, for a message."""
        return "one of " + ", ".join("null" if v is None else str(v) for v in self.values)


@dataclass(frozen=True, slots=True)
class YesNo:
    """`true` or `false`; a number is neither."""

    def read(self, value: object) -> bool:
        """The value itself when it is a bool; otherwise ValueError."""
        if not isinstance(value, bool):
            raise ValueError(self.describe())
        return value

    def describe(self) -> str:
        """What is allowed, for a message."""
        return "true or false"


@dataclass(frozen=True, slots=True)
class Number:
    """Whole numbers from `least` to `most` (no end when None); None itself when `or_null`."""

    least: int
    most: int | None = None
    or_null: bool = False

    def read(self, value: object) -> int | None:
        """The value itself when it is allowed; otherwise ValueError. `true` is not a number."""
        if value is None and self.or_null:
            return None
        if (
            not isinstance(value, int)
            or isinstance(value, bool)
            or value < self.least
            or (self.most is not None and value > self.most)
        ):
            raise ValueError(self.describe())
        return value

    def describe(self) -> str:
        """What is allowed, for a message."""
        span = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
        return f"a whole number, {span}{', or null' if self.or_null else ''}"


Values: TypeAlias = OneOf | YesNo | Number


@dataclass(frozen=True, slots=True)
class Option:
    """One row of the option table: what is allowed, what it means, where it is defined."""

    name: str
    values: Values
    sentence: str
    section: int
    """The section of `rules.md`."""


def _one_of(kind: type[StrEnum]) -> OneOf:
    return OneOf(tuple(kind))


OPTIONS: Final[tuple[Option, ...]] = (
    Option("hand_size", OneOf((4, 5)), "Cards in a hand, and tricks in a deal.", 5),
    Option("ante", Number(1), "Chips that a player owes the pot before the cards are dealt.", 5),
    Option("ante_from", _one_of(AnteFrom), "Everyone pays the ante, or in a Normal deal the dealer alone.", 5),
    Option("cut_ritual", YesNo(), "The cards shown in the cut cost chips and can move the deal.", 5),
    Option("turn_up_to_dealer", YesNo(), "The dealer takes the turned cards into the hand.", 5),
    Option("contracts", _one_of(Contracts), "Who may bid for the trumps: nobody, the dealer alone, or all in turn.", 7),
    Option("oder", _one_of(OderMeaning), "What the contract Oder does: turn a new suit, or exchange once more.", 7),
    Option("last_say", YesNo(), "One player a deal may put off the declaration until all others have spoken.", 8),
    Option("exchange", _one_of(ExchangeMode), "Whether cards may be swapped with the stock, and whether that costs chips.", 9),
    Option("exchange_limit", Number(0, 5), "Cards that a paid exchange may swap; never above hand_size.", 9),
    Option("exchange_fee", Number(0), "Chips that each card of a paid exchange costs.", 9),
    Option("first_lead", _one_of(FirstLead), "Who leads to the first trick.", 10),
    Option("must_head", YesNo(), "In plain suits too, whoever can beat the trick must do so.", 10),
    Option("weli_rank", _one_of(WeliRank), "The Weli stands second among the trumps, below the Ace, or on top.", 1),
    Option("weli_as_joker", YesNo(), "French-suited cards show the Weli as the Joker; nothing else changes.", 1),
    Option("striker_quota", OneOf((2, 3)), "Tricks that the striker owes.", 11),
    Option("seven_muss_striker_quota", OneOf((1, 2, 3, None)), "Tricks that the striker owes in a Seven Muss; null: striker_quota.", 11),
    Option("muss_pays", YesNo(), "A Muss pays the pot out.", 11),
    Option("short_players_collect", YesNo(), "In a Normal deal a player short of the quota keeps the shares of the tricks won.", 11),
    Option("penalty", _one_of(PenaltyMode), "What a failure costs: twice the ante, or the whole pot.", 11),
    Option("striker_penalty_factor", OneOf((1, 2)), "How many times the penalty the striker pays.", 11),
    Option("penalty_limit", Number(1, or_null=True), "No single penalty is higher; null: no limit.", 11),
    Option("muss_after", _one_of(MussAfter), "Which deals a Muss follows.", 11),
    Option("remainder", _one_of(RemainderTo), "Where the chips go that do not divide by the tricks.", 11),
    Option("bettler", YesNo(), "A player may promise to take no trick.", 8),
    Option("bettler_bonus", Number(0), "Chips that a kept promise earns from the pot.", 11),
    Option("weli_cut", _one_of(WeliCut), "After a Weli in the cut: deal, or shuffle and cut again.", 5),
)  # fmt: skip

SESSION_OPTIONS: Final[tuple[Option, ...]] = (
    Option("players", Number(MIN_PLAYERS, MAX_PLAYERS), "Seats at the table.", 2),
    Option("stack", Number(1), "Chips of each player at the start.", 3),
    Option("deals", Number(1), "Deals in a session, the tie-break not counted.", 12),
    Option("target", Number(1, or_null=True), "A stack at which the session ends; null: none.", 12),
    Option("tie_break", YesNo(), "A tie for the first place is played out in one more deal.", 12),
)

_BY_NAME: Final = {option.name: option for option in OPTIONS}
_SESSION_BY_NAME: Final = {option.name: option for option in SESSION_OPTIONS}


def make_ruleset(preset: str, overrides: Mapping[str, object] | None = None) -> Ruleset:
    """A preset with some of its options changed (`rules.md` §3).

    Args:
        preset: `tavern` or `salzburg`.
        overrides: option name to value; enum values as their text.

    Raises:
        RulesError: an unknown preset or option, a value outside its list, or a
            combination that cannot work. The message names option, value and what is allowed.
    """
    if preset not in tuple(PRESETS):  # A caller's value may have no hash.
        raise RulesError("preset", f"preset = {_shown(preset)}: allowed is one of {', '.join(PRESETS)}")
    read = _read(_BY_NAME, overrides or {})
    ruleset = replace(PRESETS[preset], **read)
    _check_combination(ruleset, read)
    return ruleset


def make_session_options(ruleset: Ruleset, values: Mapping[str, object]) -> SessionOptions:
    """The frame of a session, checked against its ruleset (`rules.md` §3, §12).

    Raises:
        RulesError: as `make_ruleset`; a stack below the ante is one of them.
    """
    read = _read(_SESSION_BY_NAME, values)
    if "players" not in read:
        raise RulesError(
            "players", f"players is missing: allowed is {_SESSION_BY_NAME['players'].values.describe()}"
        )
    options = SessionOptions(**read)
    if options.stack < ruleset.ante:
        raise RulesError(
            "stack", f"stack = {options.stack}: allowed is the ante ({_shown(ruleset.ante)}) or more"
        )
    return options


def ruleset_values(ruleset: Ruleset) -> dict[str, str | int | bool | None]:
    """Every option with its plain value, in the order of the table; `make_ruleset` reads it back."""
    return {option.name: _plain(getattr(ruleset, option.name)) for option in OPTIONS}


def session_values(options: SessionOptions) -> dict[str, str | int | bool | None]:
    """The frame of a session as plain values; `make_session_options` reads it back."""
    return {field.name: getattr(options, field.name) for field in fields(options)}


def _read(table: Mapping[str, Option], values: Mapping[str, object]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in values.items():
        option = table.get(name)
        if option is None:
            raise RulesError(name, f"unknown option {_name_shown(name)}: allowed are {', '.join(table)}")
        try:
            read[name] = option.values.read(value)
        except ValueError as allowed:
            raise RulesError(name, f"{name} = {_shown(value)}: allowed is {allowed}") from None
    return read


def _check_combination(ruleset: Ruleset, written: Collection[str]) -> None:
    """Refuse what cannot work together; `written` are the options that the preset did not set."""
    if (
        ruleset.oder is OderMeaning.EXTRA_EXCHANGE
        and ruleset.exchange is ExchangeMode.NONE
        and ruleset.contracts is not Contracts.NONE
    ):
        # What was written comes first; the rest may be the preset's and unknown to the author.
        names = sorted(("oder", "contracts", "exchange"), key=lambda name: name not in written)
        first, *others = [f"{name} = {getattr(ruleset, name)}" for name in names]
        raise RulesError(
            names[0],
            f"{first} with {' and '.join(others)}: "
            "allowed is oder = new_suit, exchange = paid or free, or contracts = none",
        )
    if ruleset.exchange_limit > ruleset.hand_size:
        raise RulesError(
            "exchange_limit",
            f"exchange_limit = {ruleset.exchange_limit}: allowed is 0 to hand_size ({ruleset.hand_size})",
        )
    quota = ruleset.seven_muss_striker_quota
    if quota is not None and quota > ruleset.striker_quota:
        raise RulesError(
            "seven_muss_striker_quota",
            f"seven_muss_striker_quota = {quota}: allowed is up to striker_quota ({ruleset.striker_quota}), or null",
        )


def _plain(value: object) -> str | int | bool | None:
    if isinstance(value, StrEnum):
        return value.value
    assert value is None or isinstance(value, str | int)
    return value


def _shown(value: object) -> str:
    """A value as a configuration file would write it, on one line and cut to a readable length."""
    names: dict[object, str] = {True: "true", False: "false", None: "null"}
    try:
        text = names[value] if isinstance(value, bool | None) else " ".join(repr(value).splitlines())
    except ValueError:  # An integer too long to be written in decimal.
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


def _name_shown(name: object) -> str:
    """The name of an option, in quotes when it is not a plain word."""
    is_word = isinstance(name, str) and name.isidentifier() and len(name) <= 60
    return str(name) if is_word else _shown(name)


# --------------------------------------------------------------------------- every value


@dataclass(frozen=True, slots=True)
class OptionTrial:
    """One value of one option, in a ruleset in which it has an effect."""

    option: str
    value: str | int | bool | None
    ruleset: Ruleset


_GIVES_EFFECT: Final[Mapping[str, Mapping[str, Any]]] = {
    "oder": {"contracts": Contracts.AUCTION},
    "exchange_limit": {"exchange": ExchangeMode.PAID},
    "exchange_fee": {"exchange": ExchangeMode.PAID},
    "short_players_collect": {"striker_quota": 3},  # Good players are seldom short of two.
    "remainder": {"ante": 7},  # Antes of 10 often divide by the tricks.
    "bettler_bonus": {"bettler": True},
    "weli_cut": {"cut_ritual": True},
}
"""What else a ruleset needs for an option to matter in it, and often."""


def every_option_value() -> tuple[OptionTrial, ...]:
    """Each preset with each value of each option, for those who try them all.

    The preset is changed so that the value has an effect: what switches the option on is on, and
    Normal deals come, in which alone many options matter. Where a value does not go with the rest,
    the other option gives way. Of numbers without an upper end the least stands for all, beside
    the preset's own.
    """
    trials = []
    for preset in PRESETS.values():
        for option in OPTIONS:
            base = replace(_with_normal_deals(preset), **_GIVES_EFFECT.get(option.name, {}))
            for value in _values_to_try(option, getattr(preset, option.name)):
                ruleset = _made_possible(replace(base, **{option.name: value}), option.name)
                trials.append(OptionTrial(option.name, _plain(value), ruleset))
    return tuple(trials)


def _with_normal_deals(preset: Ruleset) -> Ruleset:
    """The preset, unless one Muss follows another in it: then a Normal deal comes after each."""
    if preset.muss_after is MussAfter.FAILURE:
        return replace(preset, muss_after=MussAfter.NORMAL_FAILURE)
    return preset


def _values_to_try(option: Option, own: object) -> tuple[Any, ...]:
    match option.values:
        case OneOf(values):
            return values
        case YesNo():
            return (False, True)
        case Number(least, most):
            return tuple(dict.fromkeys((least, own))) if most is None else tuple(range(least, most + 1))


def _made_possible(ruleset: Ruleset, kept: str) -> Ruleset:
    """The ruleset with its impossible combinations resolved in favour of the option `kept`."""
    if kept in ("oder", "contracts") and ruleset.exchange is ExchangeMode.NONE:
        if ruleset.oder is OderMeaning.EXTRA_EXCHANGE and ruleset.contracts is not Contracts.NONE:
            ruleset = replace(ruleset, exchange=ExchangeMode.PAID)
    elif kept == "exchange" and ruleset.exchange is ExchangeMode.NONE:
        ruleset = replace(ruleset, oder=OderMeaning.NEW_SUIT)
    if ruleset.exchange_limit > ruleset.hand_size:
        ruleset = replace(ruleset, hand_size=5)
    quota = ruleset.seven_muss_striker_quota
    if quota is not None and quota > ruleset.striker_quota:
        ruleset = replace(ruleset, striker_quota=max(quota, 2))
    return ruleset
