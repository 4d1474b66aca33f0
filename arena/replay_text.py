"""A replay as text for people: hands, calls, tricks, payments, deal by deal.

Reads a replay as values and gives lines; nothing is played again and nothing is judged, so
that a replay with an error in it can be looked at too. How cards and suits are written is
handed in.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from arena.clock import LATE_US, US_PER_MS
from arena.record import DecisionRecord, Origin, ReplayEnd, SessionHeader
from arena.replay import Replay, Step
from arena.text import counted, escape
from engine.actions import Action, Bid, Call, Declare, Discard, Exchange, NameTrump, Play
from engine.cards import Card, Seat, Suit, card_text
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
from engine.rules import PRESETS, DealKind, Ruleset, ruleset_values


def _suit_name(suit: Suit) -> str:
    return suit.name.capitalize()


@dataclass(frozen=True, slots=True)
class CardNames:
    """How cards and suits are written; the canonical notation and the German suits by default."""

    card: Callable[[Card], str] = card_text
    suit: Callable[[Suit], str] = _suit_name
    between: str = " "

    def cards(self, cards: Sequence[Card]) -> str:
        """Several cards with `between` them, or a dash for none."""
        return self.between.join([self.card(card) for card in cards]) or "–"


CANONICAL: Final = CardNames()

_KINDS: Final = {DealKind.MUSS: "Muss", DealKind.NORMAL: "Normal", DealKind.SEVEN_MUSS: "Seven Muss"}
_CALLS: Final = {
    Call.FOLD: "folds",
    Call.PLAY: "plays",
    Call.BETTLER: "promises to take no trick",
    Call.LAST: "claims the last word",
}
_CUTS: Final = {
    CutEffect.DEAL: "no effect",
    CutEffect.WELI: "the Weli, everyone pays",
    CutEffect.SPRUNG: "Sprung, two Aces move the deal on by two seats",
    CutEffect.HUPF_LEFT: "Hupf, an Ace moves the deal to the left",
    CutEffect.HUPF_RIGHT: "Hupf, a Seven moves the deal to the right",
    CutEffect.ACE_SEVEN: "an Ace and a Seven, the two at the dealer's left pay",
}
_ENDINGS: Final = {
    SessionEnding.DEALS: "all deals are played",
    SessionEnding.TARGET: "the target is reached",
    SessionEnding.BUST: "somebody has no chips left",
}


def show(replay: Replay, names: CardNames = CANONICAL) -> Iterator[str]:
    """A whole session as readable text, line by line, without newlines."""
    text = _Text(replay.header, names)
    yield from text.opening()
    for step in replay.steps:
        yield from text.step(step)
    yield from text.closing(replay.end)


def ruleset_text(ruleset: Ruleset) -> str:
    """The preset that comes nearest and what differs from it: `tavern, bettler = true`."""
    values = ruleset_values(ruleset)
    changes = {
        name: [key for key, value in ruleset_values(preset).items() if values[key] != value]
        for name, preset in PRESETS.items()
    }
    nearest = min(changes, key=lambda name: len(changes[name]))
    return ", ".join([nearest, *[f"{key} = {_toml(values[key])}" for key in changes[nearest]]])


def _toml(value: str | int | bool | None) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass
class _Text:
    """The text as it grows: who sits where, the trick on the table and its remarks, the times."""

    header: SessionHeader
    names: CardNames
    trick_count: int = 0
    remarks: list[str] = field(default_factory=list)
    lags_us: list[int] = field(default_factory=list)
    """By how much the arena was late in each decision that was asked so far."""
    over_us: dict[Seat, list[int]] = field(default_factory=dict)
    """By how much each decision that a seat was asked took longer than it may without the bank."""

    # --------------------------------------------------------------------- before and after

    def opening(self) -> Iterator[str]:
        header, options, clock = self.header, self.header.options, self.header.clock
        yield f"Session {header.block}.{header.session} of {escape(header.tournament)}"
        yield f"  id       {escape(header.session_id)}, attempt {header.attempt}"
        if header.started_at:
            yield f"  started  {escape(header.started_at)}"
        yield f"  rules    {ruleset_text(header.ruleset)}"
        target = "" if options.target is None else f", target {options.target}"
        tie_break = "with" if options.tie_break else "without"
        yield (
            f"  session  {options.players} players, {options.stack} chips each, "
            f"at most {counted(options.deals, 'deal')}{target}, {tie_break} tie-break"
        )
        if clock.timed:
            yield (
                f"  clock    {clock.move_ms} ms a decision, {clock.bank_ms} ms in the bank,"
                f" {clock.max_strikes} strikes forfeit"
            )
        else:
            yield "  clock    none"
        for seat, info in enumerate(header.seats):
            yield f"  seat {seat}   {self._name(seat)} {escape(info.version)}".rstrip()

    def closing(self, end: ReplayEnd) -> Iterator[str]:
        yield ""
        yield f"Result after {counted(end.deals, 'deal')}"
        width = max([len(self._name(seat)) for seat in range(len(end.places))])
        for seat in sorted(range(len(end.places)), key=lambda seat: (end.places[seat], seat)):
            strikes = end.strikes[seat]
            extra = [f"{strikes} strike{'s' * (strikes > 1)}"] if strikes else []
            extra += ["forfeited"] if end.forfeited[seat] else []
            line = f"  {end.places[seat]}. {self._name(seat):{width}}  {end.chips[seat]:+6} chips"
            yield ", ".join([line, *extra])
        yield f"  pot left {end.pot_left}"
        for fault in end.faults:
            where = "" if fault.deal is None else f" (deal {fault.deal + 1})"
            detail = f": {escape(fault.detail)}" if fault.detail else ""
            yield f"  {self._name(fault.seat)} {fault.cause.sentence}{where}{detail}"
        yield from self._overruns()
        yield from self._lateness()
        yield f"  seed     {end.seed.hex()}"
        yield f"  nonce    {end.nonce.hex()}"

    def _overruns(self) -> Iterator[str]:
        """Who was late as far as the bank allows, or further."""
        for seat, over_us in sorted(self.over_us.items()):
            late_us = [time_us for time_us in over_us if time_us > 0]
            if self.header.clock.timed and late_us:
                decisions = counted(len(over_us), "decision")
                yield (
                    f"  {self._name(seat)} took longer than a decision has without the bank in "
                    f"{len(late_us)} of {decisions}, by {max(late_us) / US_PER_MS:.1f} ms at most"
                )

    def _lateness(self) -> Iterator[str]:
        late_us = [lag_us for lag_us in self.lags_us if lag_us > LATE_US]
        if late_us:
            decisions = counted(len(self.lags_us), "decision")
            yield (
                f"  arena    late by more than {LATE_US // US_PER_MS} ms in {len(late_us)} of {decisions}, "
                f"by {max(late_us) // US_PER_MS} ms at most; charged to nobody"
            )

    # --------------------------------------------------------------------- what happened

    def step(self, step: Step) -> Iterator[str]:
        if isinstance(step.event, Decided):
            assert step.decision is not None
            yield from self._decision(step.event, step.decision)
        else:
            yield from self._event(step.event)

    def _event(self, event: Event) -> Iterator[str]:  # noqa: C901 - one row a kind of event
        match event:
            case DealBegan():
                yield from self._deal_began(event)
            case AntesPaid(paid):
                yield f"  antes    {self._chips(paid)}"
            case CutMade():
                yield self._cut(event)
            case CardsDealt():
                yield from self._cards_dealt(event)
            case StrikerFixed():
                yield self._striker(event)
            case Exchanged():
                yield from self._exchanged(event)
            case TrickTaken():
                yield from self._trick(event)
            case DealSettled():
                yield from self._settled(event)
            case SessionEnded():
                yield from self._session_ended(event)
            case Decided():
                raise AssertionError("decisions are written with their record")
            case _:
                assert_never(event)

    def _deal_began(self, event: DealBegan) -> Iterator[str]:
        self.trick_count = 0
        tie_break = " (tie-break)" if event.tie_break else ""
        yield ""
        yield f"Deal {event.deal + 1}{tie_break}, {_KINDS[event.kind]}, dealer {self._name(event.dealer)}"

    def _cut(self, event: CutMade) -> str:
        chips = f": {self._chips(event.paid)}" if any(event.paid) else ""
        return f"  cut      {self.names.cards(event.shown)} – {_CUTS[event.effect]}{chips}"

    def _cards_dealt(self, event: CardsDealt) -> Iterator[str]:
        width = max([len(self._name(seat)) for seat in range(len(event.hands))])
        heading = "hands"
        for seat, hand in enumerate(event.hands):
            if hand:
                dealer = "  (dealer)" if seat == event.dealer else ""
                yield f"  {heading:8} {self._name(seat):{width}}  {self.names.cards(hand)}{dealer}"
                heading = ""
        trump = (
            "the dealer names trumps" if event.trump is None else f"trumps are {self.names.suit(event.trump)}"
        )
        kind = ", a Seven Muss" if event.kind is DealKind.SEVEN_MUSS else ""
        yield f"  turned   {self.names.cards(event.turned)}, {trump}{kind}"

    def _striker(self, event: StrikerFixed) -> str:
        contract = "" if event.contract is None else f" with {event.contract.value}"
        turned = f", turned {self.names.cards(event.turned)}" if event.turned else ""
        kind = ", a Seven Muss" if event.kind is DealKind.SEVEN_MUSS and event.turned else ""
        trump = self.names.suit(event.trump)
        return f"  striker  {self._name(event.striker)}{contract}{turned}, trumps are {trump}{kind}"

    def _exchanged(self, event: Exchanged) -> Iterator[str]:
        if not event.laid:
            return
        cards = self.names.cards
        face_up = f", of these face up {cards(event.face_up)}" if event.face_up else ""
        bonus = f", extra {cards(event.bonus)}" if event.bonus else ""
        paid = f", pays {event.paid}" if event.paid else ""
        yield (
            f"  swap     {self._name(event.seat)} gets {cards(event.drawn)}{face_up}{bonus}{paid};"
            f" stock {event.stock_left}"
        )

    def _trick(self, event: TrickTaken) -> Iterator[str]:
        self.trick_count += 1
        cards = ", ".join([f"{self._name(seat)} {self.names.card(card)}" for seat, card in event.cards])
        yield f"  trick {self.trick_count}  {cards}: {self._name(event.winner)} takes it"
        yield from self.remarks
        self.remarks = []

    def _settled(self, event: DealSettled) -> Iterator[str]:
        if len(event.active) == 1:
            yield f"  alone    everybody else folded: {self._name(event.active[0])} takes every trick"
        yield f"  tricks   {self._counts(event.active, event.tricks_won)}; pot {event.pot_before}"
        for what, chips in (
            ("bonuses", event.bonuses),
            ("shares", event.shares),
            ("penalty", event.penalties),
        ):
            if any(chips):
                yield f"  {what:8} {self._chips(chips)}"
        if event.remainder:
            yield f"  rest     {event.remainder} chips to the striker"
        if event.failed:
            yield f"  failed   {', '.join([self._name(seat) for seat in event.failed])}"
        yield f"  stacks   {self._counts(range(len(event.stacks)), event.stacks)}; pot {event.pot}"

    def _session_ended(self, event: SessionEnded) -> Iterator[str]:
        yield ""
        yield f"The session is over: {_ENDINGS[event.ending]}"
        if event.tied:
            tied = ", ".join([self._name(seat) for seat in event.tied])
            outcome = "parted by one more deal" if event.tie_break_played else "not played out"
            yield f"  tied for the first place: {tied}; {outcome}"

    # --------------------------------------------------------------------- decisions

    def _decision(self, event: Decided, record: DecisionRecord) -> Iterator[str]:
        how = _how(record)
        if record.request_id:
            self._note_times(event.seat, record)
        if isinstance(event.action, Play):
            if how:
                card = self.names.card(event.action.card)
                self.remarks.append(f"           {self._name(event.seat)} {card}: {'; '.join(how)}")
            return
        forced = ["forced"] if record.origin is Origin.FORCED else []
        suffix = f"  ({'; '.join([*forced, *how])})" if forced or how else ""
        yield f"  call     {self._name(event.seat)} {self._action(event.action)}{suffix}"

    def _note_times(self, seat: Seat, record: DecisionRecord) -> None:
        self.lags_us.append(record.lag_us)
        over_us, clock = self.over_us.setdefault(seat, []), self.header.clock
        free_ms = clock.move_ms if over_us else clock.move_ms + clock.first_answer_ms
        over_us.append(record.charged_us - free_ms * US_PER_MS)

    def _action(self, action: Action) -> str:
        match action:
            case NameTrump(suit):
                return f"names {self.names.suit(suit)} trumps"
            case Bid(contract):
                return f"says {contract.value}"
            case Declare(call):
                return _CALLS[call]
            case Exchange(cards):
                return f"exchanges {self.names.cards(cards)}" if cards else "exchanges nothing"
            case Discard(cards):
                return f"lays away {self.names.cards(cards)}"
            case Play(card):
                return f"plays {self.names.card(card)}"
            case _:
                assert_never(action)

    # --------------------------------------------------------------------- small parts

    def _name(self, seat: Seat) -> str:
        seats = self.header.seats
        return escape(seats[seat].bot) if seat < len(seats) else f"seat {seat}"

    def _chips(self, chips: Sequence[int]) -> str:
        """Who gave or got how many, those with none left out."""
        return ", ".join([f"{self._name(seat)} {count}" for seat, count in enumerate(chips) if count]) or "–"

    def _counts(self, seats: Sequence[Seat], counts: Sequence[int]) -> str:
        return ", ".join([f"{self._name(seat)} {counts[seat]}" for seat in seats if seat < len(counts)])


def _how(record: DecisionRecord) -> list[str]:
    """What is worth telling of how a decision came about."""
    told = [f"refused as {refusal.reason}: {escape(refusal.answer)}" for refusal in record.refused]
    if record.origin is Origin.FALLBACK:
        told.append(f"fallback, {'forfeited' if record.cause is None else record.cause.value}")
    if record.note:
        told.append(f"“{escape(record.note)}”")
    return told
