"""The lines of a replay: one JSON object each, and what it says as a value.

Every kind of line is a struct with its two directions side by side, exact inverses; its text is
made here, and read back by `arena.replay_reading`. What may differ between two runs of the same
play stands under the key `run`, always the last; it ends with `check`, the CRC-32 of its line, so
that a changed byte is found in its line even where the engine cannot tell. Nothing here knows
files, or plays a session again.
"""

from dataclasses import asdict
from typing import Annotated, Final, Literal, TypeAlias, assert_never
from zlib import crc32

import msgspec
from msgspec import Meta

from arena.clock import ClockSettings
from arena.faults import Fault, FaultCause
from arena.messages import RejectReason
from arena.record import (
    DecisionRecord,
    Origin,
    Refusal,
    ReplayEnd,
    SeatInfo,
    SessionHeader,
    StrayAnswer,
)
from engine.actions import KINDS, Contract, DecisionKind
from engine.cards import CARD_TEXTS, SUIT_LETTERS, Card, Suit, parse_card, parse_suit
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
from engine.notation import action_text, parse_action
from engine.rules import DealKind, make_ruleset, make_session_options, ruleset_values, session_values

FORMAT: Final = "kratzen-replay"
VERSION: Final = 1
"""The version of the format that is written, and the newest that is read."""

UNASKED: Final = "forfeited"
"""Why a fallback was played for a seat that is no longer asked."""

SeatNumber: TypeAlias = Annotated[int, Meta(ge=0, le=5)]
Seats: TypeAlias = tuple[SeatNumber, ...]
Chips: TypeAlias = Annotated[int, Meta(ge=0)]
ChipsBySeat: TypeAlias = Annotated[tuple[Chips, ...], Meta(min_length=3, max_length=6)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Number: TypeAlias = Annotated[int, Meta(ge=1)]
Cards: TypeAlias = tuple[str, ...]
Hex32: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Check: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{8}$")]
Why: TypeAlias = Annotated[str, Meta(pattern=f"^({'|'.join([*FaultCause, UNASKED])})$")]
Plain: TypeAlias = str | int | bool | None


# ------------------------------------------------------------------------- parts of lines


def _texts(cards: tuple[Card, ...]) -> Cards:
    return tuple([CARD_TEXTS[card] for card in cards])


def _cards(texts: Cards) -> tuple[Card, ...]:
    return tuple([parse_card(text) for text in texts])


def _letter(suit: Suit | None) -> str | None:
    return None if suit is None else SUIT_LETTERS[suit]


def _suit(letter: str | None) -> Suit | None:
    return None if letter is None else parse_suit(letter)


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    """An object inside a line."""


BLANK_CHECK: Final = "00000000"


class _Run(_Part):
    """What may differ between two runs of the same play; `check` comes last in every subclass."""


class HeaderRun(_Run):
    """`attempt` counts from 1; `started_at` is UTC."""

    attempt: Number
    started_at: str
    host: str
    check: Check = BLANK_CHECK


class RefusalPart(_Part):
    """An answer that used up a try."""

    reason: RejectReason
    answer: str


class DecisionRun(_Run, kw_only=True, omit_defaults=True):
    """Microseconds charged, microseconds of arena lag, the bot's note if it sent one."""

    charged_us: Count
    lag_us: Count
    note: str = ""
    check: Check


class StrayPart(_Part):
    """An answer that fitted no open request; `late_us` counts from when its request was closed."""

    seat: SeatNumber
    reason: RejectReason
    request: int
    answer: str
    late_us: int | None


class EndRun(_Run):
    """`sha256` is over all lines before; `details` belong to the faults of the line, one each."""

    ended_at: str
    details: tuple[str, ...]
    stray_counts: tuple[Count, ...]
    stray: tuple[StrayPart, ...]
    sha256: Hex32
    check: Check = BLANK_CHECK


class FaultPart(_Part):
    """A fault; `deal` (from 0) and `request` name the decision that it cost, if any."""

    seat: SeatNumber
    cause: FaultCause
    deal: Count | None
    request: Number | None


class SeatPart(_Part):
    """The bot at a seat."""

    bot: str
    version: str
    build_digest: str


class ClockPart(_Part):
    """The clocks, as in `arena.clock.ClockSettings`."""

    move_ms: int
    bank_ms: int
    increment_ms: int
    first_answer_ms: int
    join_ms: int
    max_strikes: int
    timed: bool


class Line(_Part, tag_field="t"):
    """A line: `t` says which kind, `v` the version of that kind."""

    v: Literal[1]


# ------------------------------------------------------------------------- the first line


class HeaderLine(Line, tag="session"):
    """The first line: format, ids, every option, seats, clocks, commitment."""

    format: Literal["kratzen-replay"]
    version: Literal[1]
    tournament: str
    block: Number
    session: Number
    session_id: str
    ruleset: dict[str, Plain]
    options: dict[str, Plain]
    seats: tuple[SeatPart, ...]
    clock: ClockPart
    commitment: Hex32
    run: HeaderRun

    @classmethod
    def of(cls, header: SessionHeader) -> "HeaderLine":
        """The line of a header."""
        return cls(
            v=1,
            format=FORMAT,
            version=VERSION,
            tournament=header.tournament,
            block=header.block,
            session=header.session,
            session_id=header.session_id,
            ruleset=ruleset_values(header.ruleset),
            options=session_values(header.options),
            seats=tuple(
                [
                    SeatPart(bot=seat.bot, version=seat.version, build_digest=seat.build_digest)
                    for seat in header.seats
                ]
            ),
            clock=ClockPart(**asdict(header.clock)),
            commitment=header.commitment.hex(),
            run=HeaderRun(attempt=header.attempt, started_at=header.started_at, host=header.host),
        )

    def header(self) -> SessionHeader:
        """What the line says; RulesError when a ruleset or an option is none."""
        ruleset = make_ruleset("tavern", self.ruleset)
        options = make_session_options(ruleset, self.options)
        if len(self.seats) != options.players:
            raise ValueError(f"there are {len(self.seats)} seats for {options.players} players")
        return SessionHeader(
            tournament=self.tournament,
            block=self.block,
            session=self.session,
            session_id=self.session_id,
            ruleset=ruleset,
            options=options,
            seats=tuple([SeatInfo(seat.bot, seat.version, seat.build_digest) for seat in self.seats]),
            clock=ClockSettings(**msgspec.structs.asdict(self.clock)),
            commitment=bytes.fromhex(self.commitment),
            attempt=self.run.attempt,
            started_at=self.run.started_at,
            host=self.run.host,
        )


# ------------------------------------------------------------------------- what happened


class EventLine(Line):
    """A line between the first and the last; `deal` counts from 0."""

    deal: Count


class DealLine(EventLine, tag="deal"):
    """A deal begins: `dealer` before any cut moves the deal, `seats` dealt in."""

    dealer: SeatNumber
    kind: DealKind
    tie_break: bool
    seats: Seats

    @classmethod
    def of(cls, event: DealBegan) -> "DealLine":
        """The line of an event."""
        return cls(
            v=1,
            deal=event.deal,
            dealer=event.dealer,
            kind=event.kind,
            tie_break=event.tie_break,
            seats=event.seats,
        )

    def event(self) -> DealBegan:
        """What the line says."""
        return DealBegan(self.deal, self.dealer, self.kind, self.tie_break, self.seats)


class AntesLine(EventLine, tag="antes"):
    """The antes, chips by seat."""

    paid: ChipsBySeat

    @classmethod
    def of(cls, deal: int, event: AntesPaid) -> "AntesLine":
        """The line of an event."""
        return cls(v=1, deal=deal, paid=event.paid)

    def event(self) -> AntesPaid:
        """What the line says."""
        return AntesPaid(self.paid)


class CutLine(EventLine, tag="cut"):
    """One cut: the dealer of that moment, the cards shown, what they did, chips by seat."""

    dealer: SeatNumber
    shown: Cards
    effect: CutEffect
    paid: ChipsBySeat

    @classmethod
    def of(cls, deal: int, event: CutMade) -> "CutLine":
        """The line of an event."""
        return cls(
            v=1,
            deal=deal,
            dealer=event.dealer,
            shown=_texts(event.shown),
            effect=event.effect,
            paid=event.paid,
        )

    def event(self) -> CutMade:
        """What the line says."""
        return CutMade(self.dealer, _cards(self.shown), self.effect, self.paid)


class CardsLine(EventLine, tag="cards"):
    """The hands by seat as dealt, the turn-up, and the trumps unless the dealer names them."""

    dealer: SeatNumber
    hands: tuple[Cards, ...]
    turned: Cards
    trump: str | None
    kind: DealKind

    @classmethod
    def of(cls, deal: int, event: CardsDealt) -> "CardsLine":
        """The line of an event."""
        return cls(
            v=1,
            deal=deal,
            dealer=event.dealer,
            hands=tuple([_texts(hand) for hand in event.hands]),
            turned=_texts(event.turned),
            trump=_letter(event.trump),
            kind=event.kind,
        )

    def event(self) -> CardsDealt:
        """What the line says."""
        hands = tuple([_cards(hand) for hand in self.hands])
        return CardsDealt(self.dealer, hands, _cards(self.turned), _suit(self.trump), self.kind)


class DecisionLine(EventLine, tag="decision", omit_defaults=True):
    """A decision: `how` it came about and, for a fallback, `why`; `tries` are the answers refused before."""

    seat: SeatNumber
    kind: DecisionKind
    answer: str
    how: Origin
    why: Why | None = None
    request: Number | None = None
    tries: tuple[RefusalPart, ...] = ()
    run: DecisionRun | None = None

    @classmethod
    def of(cls, deal: int, event: Decided, record: DecisionRecord) -> "DecisionLine":
        """The line of a decision and of how it came about."""
        forced = record.origin is Origin.FORCED
        return cls(
            v=1,
            deal=deal,
            seat=event.seat,
            kind=KINDS[type(event.action)],
            answer=action_text(event.action),
            how=record.origin,
            why=(record.cause or UNASKED) if record.origin is Origin.FALLBACK else None,
            request=record.request_id,
            tries=tuple([RefusalPart(reason=try_.reason, answer=try_.answer) for try_ in record.refused]),
            run=None
            if forced
            else DecisionRun(
                charged_us=record.charged_us, lag_us=record.lag_us, note=record.note, check=BLANK_CHECK
            ),
        )

    def event(self) -> Decided:
        """What was decided; NotationError when the answer names no action."""
        return Decided(self.seat, parse_action(self.answer), self.how is Origin.FORCED)

    def record(self) -> DecisionRecord:
        """How it came about."""
        run = self.run or DecisionRun(charged_us=0, lag_us=0, check=BLANK_CHECK)
        return DecisionRecord(
            origin=self.how,
            cause=None if self.why in (None, UNASKED) else FaultCause(self.why),
            request_id=self.request,
            refused=tuple([Refusal(try_.reason, try_.answer) for try_ in self.tries]),
            charged_us=run.charged_us,
            lag_us=run.lag_us,
            note=run.note,
        )


class StrikerLine(EventLine, tag="striker"):
    """Striker and trumps are settled; `turned` are the cards that the contract turned."""

    striker: SeatNumber
    contract: Contract | None
    turned: Cards
    trump: str
    kind: DealKind

    @classmethod
    def of(cls, deal: int, event: StrikerFixed) -> "StrikerLine":
        """The line of an event."""
        return cls(
            v=1,
            deal=deal,
            striker=event.striker,
            contract=event.contract,
            turned=_texts(event.turned),
            trump=SUIT_LETTERS[event.trump],
            kind=event.kind,
        )

    def event(self) -> StrikerFixed:
        """What the line says."""
        return StrikerFixed(
            self.striker, self.contract, _cards(self.turned), parse_suit(self.trump), self.kind
        )


class ExchangeLine(EventLine, tag="exchange"):
    """One turn of the exchange; `drawn` in order, `paid` in chips, `stock_left` in cards."""

    seat: SeatNumber
    laid: Cards
    drawn: Cards
    face_up: Cards
    bonus: Cards
    paid: Chips
    stock_left: Count

    @classmethod
    def of(cls, deal: int, event: Exchanged) -> "ExchangeLine":
        """The line of an event."""
        return cls(
            v=1,
            deal=deal,
            seat=event.seat,
            laid=_texts(event.laid),
            drawn=_texts(event.drawn),
            face_up=_texts(event.face_up),
            bonus=_texts(event.bonus),
            paid=event.paid,
            stock_left=event.stock_left,
        )

    def event(self) -> Exchanged:
        """What the line says."""
        return Exchanged(
            self.seat,
            _cards(self.laid),
            _cards(self.drawn),
            _cards(self.face_up),
            _cards(self.bonus),
            self.paid,
            self.stock_left,
        )


class TrickLine(EventLine, tag="trick"):
    """A complete trick, `cards` as pairs of seat and card in the order played."""

    leader: SeatNumber
    cards: tuple[tuple[SeatNumber, str], ...]
    winner: SeatNumber

    @classmethod
    def of(cls, deal: int, event: TrickTaken) -> "TrickLine":
        """The line of an event."""
        cards = tuple([(seat, CARD_TEXTS[card]) for seat, card in event.cards])
        return cls(v=1, deal=deal, leader=event.leader, cards=cards, winner=event.winner)

    def event(self) -> TrickTaken:
        """What the line says."""
        return TrickTaken(
            self.leader, tuple([(seat, parse_card(text)) for seat, text in self.cards]), self.winner
        )


class SettlementLine(EventLine, tag="settlement"):
    """The settlement, chips by seat; `remainder` is what the striker took of it."""

    active: Seats
    tricks_won: tuple[Count, ...]
    pot_before: Chips
    bonuses: ChipsBySeat
    shares: ChipsBySeat
    remainder: Chips
    penalties: ChipsBySeat
    failed: Seats
    pot: Chips
    stacks: ChipsBySeat
    next_kind: DealKind | None

    @classmethod
    def of(cls, deal: int, event: DealSettled) -> "SettlementLine":
        """The line of an event."""
        return cls(
            v=1,
            deal=deal,
            active=event.active,
            tricks_won=event.tricks_won,
            pot_before=event.pot_before,
            bonuses=event.bonuses,
            shares=event.shares,
            remainder=event.remainder,
            penalties=event.penalties,
            failed=event.failed,
            pot=event.pot,
            stacks=event.stacks,
            next_kind=event.next_kind,
        )

    def event(self) -> DealSettled:
        """What the line says."""
        return DealSettled(
            active=self.active,
            tricks_won=self.tricks_won,
            pot_before=self.pot_before,
            bonuses=self.bonuses,
            shares=self.shares,
            remainder=self.remainder,
            penalties=self.penalties,
            failed=self.failed,
            pot=self.pot,
            stacks=self.stacks,
            next_kind=self.next_kind,
        )


class EndLine(EventLine, tag="end"):
    """The session is over by the rules; `places` by chips and tie-break, forfeits not yet counted."""

    ending: SessionEnding
    stacks: ChipsBySeat
    places: tuple[Number, ...]
    pot_left: Chips
    tied: Seats
    tie_break_played: bool

    @classmethod
    def of(cls, deal: int, event: SessionEnded) -> "EndLine":
        """The line of an event."""
        return cls(
            v=1,
            deal=deal,
            ending=event.ending,
            stacks=event.stacks,
            places=event.places,
            pot_left=event.pot_left,
            tied=event.tied,
            tie_break_played=event.tie_break_played,
        )

    def event(self) -> SessionEnded:
        """What the line says."""
        return SessionEnded(
            self.ending, self.stacks, self.places, self.pot_left, self.tied, self.tie_break_played
        )


AnyEventLine: TypeAlias = (
    DealLine
    | AntesLine
    | CutLine
    | CardsLine
    | DecisionLine
    | StrikerLine
    | ExchangeLine
    | TrickLine
    | SettlementLine
    | EndLine
)


def event_line(deal: int, event: Event, record: DecisionRecord | None) -> AnyEventLine:  # noqa: PLR0911 C901 - one row a kind of event
    """The line of an event.

    Args:
        deal: number of the deal that it belongs to, from 0.
        event: what happened.
        record: how it came about, for a `Decided` and only for that.
    """
    match event:
        case Decided():
            assert record is not None
            return DecisionLine.of(deal, event, record)
        case TrickTaken():
            return TrickLine.of(deal, event)
        case DealBegan():
            return DealLine.of(event)
        case AntesPaid():
            return AntesLine.of(deal, event)
        case CutMade():
            return CutLine.of(deal, event)
        case CardsDealt():
            return CardsLine.of(deal, event)
        case StrikerFixed():
            return StrikerLine.of(deal, event)
        case Exchanged():
            return ExchangeLine.of(deal, event)
        case DealSettled():
            return SettlementLine.of(deal, event)
        case SessionEnded():
            return EndLine.of(deal, event)
        case _:
            assert_never(event)


# ------------------------------------------------------------------------- the last line


class ResultLine(Line, tag="result"):
    """The last line: the result with forfeits counted, and what was hidden until now."""

    deals: Count
    places: tuple[Number, ...]
    chips: tuple[int, ...]
    forfeited: tuple[bool, ...]
    strikes: tuple[Count, ...]
    faults: tuple[FaultPart, ...]
    pot_left: Chips
    seed: Hex32
    nonce: Hex32
    play_sha256: Hex32
    run: EndRun

    @classmethod
    def of(cls, end: ReplayEnd) -> "ResultLine":
        """The line of a result."""
        return cls(
            v=1,
            deals=end.deals,
            places=end.places,
            chips=end.chips,
            forfeited=end.forfeited,
            strikes=end.strikes,
            faults=tuple(
                [
                    FaultPart(seat=fault.seat, cause=fault.cause, deal=fault.deal, request=fault.request_id)
                    for fault in end.faults
                ]
            ),
            pot_left=end.pot_left,
            seed=end.seed.hex(),
            nonce=end.nonce.hex(),
            play_sha256=end.play_sha256,
            run=EndRun(
                ended_at=end.ended_at,
                details=tuple([fault.detail for fault in end.faults]),
                stray_counts=end.stray_counts,
                stray=tuple([_stray_part(answer) for answer in end.stray]),
                sha256=end.sha256,
            ),
        )

    def end(self) -> ReplayEnd:
        """What the line says; ValueError when its lists do not belong together."""
        lengths = {len(self.places), len(self.chips), len(self.forfeited), len(self.strikes)}
        if len(lengths) != 1 or len(self.run.details) != len(self.faults):
            raise ValueError("its lists by seat or by fault differ in length")
        return ReplayEnd(
            deals=self.deals,
            places=self.places,
            chips=self.chips,
            forfeited=self.forfeited,
            strikes=self.strikes,
            faults=tuple(
                [
                    Fault(part.seat, part.cause, part.deal, part.request, detail)
                    for part, detail in zip(self.faults, self.run.details, strict=True)
                ]
            ),
            pot_left=self.pot_left,
            seed=bytes.fromhex(self.seed),
            nonce=bytes.fromhex(self.nonce),
            play_sha256=self.play_sha256,
            sha256=self.run.sha256,
            ended_at=self.run.ended_at,
            stray_counts=self.run.stray_counts,
            stray=tuple([_stray_answer(part) for part in self.run.stray]),
        )


def _stray_part(answer: StrayAnswer) -> StrayPart:
    return StrayPart(
        seat=answer.seat,
        reason=answer.reason,
        request=answer.request_id,
        answer=answer.answer,
        late_us=answer.late_us,
    )


def _stray_answer(part: StrayPart) -> StrayAnswer:
    return StrayAnswer(
        seat=part.seat, reason=part.reason, request_id=part.request, answer=part.answer, late_us=part.late_us
    )


AnyLine: TypeAlias = HeaderLine | AnyEventLine | ResultLine


# ------------------------------------------------------------------------- text

_ENCODER: Final = msgspec.json.Encoder()
_CHECK_KEY: Final = b'"check":"'
_CHECK_END: Final = b'"}}'
_CHECK_SIZE: Final = len(BLANK_CHECK) + len(_CHECK_END)
_RUN: Final = b',"run":{'


def line_text(line: AnyLine) -> bytes:
    """The text of a line, its check worked out, without the newline.

    The check is the CRC-32 of the text with `BLANK_CHECK` in the check's place.
    """
    text = _ENCODER.encode(line)
    before = text[:-_CHECK_SIZE]
    if not before.endswith(_CHECK_KEY):
        return text
    check = crc32(before + BLANK_CHECK.encode() + _CHECK_END)
    return b"%b%08x%b" % (before, check, _CHECK_END)


def without_run(text: bytes) -> bytes:
    """A line's text without what may differ between two runs of the same play.

    Inside a JSON string every quote has a backslash before it, so the key is found by its bytes.
    """
    before, run, _ = text.partition(_RUN)
    return before + b"}" if run else text
