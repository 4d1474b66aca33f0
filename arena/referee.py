"""The referee of one session: whom to ask, what an answer means, what a clock's end costs.

A synchronous machine around `engine.Session`. Its caller hands in answers and the time they
took, and is told the next question; nothing here waits, reads a clock or knows a link. It
writes the replay as it goes, so that what is judged and what is recorded cannot differ.
"""

from dataclasses import dataclass

from arena.clock import US_PER_MS, ClockSettings, SeatClock
from arena.faults import Fault, FaultCause
from arena.messages import (
    MAX_TRIES,
    Answer,
    Rejected,
    RejectReason,
    Request,
    SeatLabel,
    SessionStart,
    Unreadable,
    said,
)
from arena.record import DecisionRecord, Origin, Refusal, SessionHeader, StrayAnswer
from arena.replay import ReplayWriter
from arena.results import SeatResult, SessionResult, places_after_forfeits
from engine.actions import Action, Decision
from engine.cards import Seat
from engine.events import DealBegan
from engine.fallback import fallback
from engine.session import Session
from engine.view import SeenEvent, seen_by, seen_by_all


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a seat took: what is charged to it, and what the arena itself was late by."""

    charged_us: int
    lag_us: int = 0


class _Player:
    """The referee's notes on one seat."""

    def __init__(self, settings: ClockSettings) -> None:
        self.clock = SeatClock(settings)
        self.asked_count = 0
        self.told_count = 0
        """Events of the session that the seat has been told."""
        self.strikes = 0
        self.has_forfeited = False
        self.decision_us: list[int] = []


class Referee:
    """Judges one session from its first question to its result."""

    def __init__(self, header: SessionHeader, seed: bytes, nonce: bytes) -> None:
        """Begin the session.

        Args:
            header: the facts that open the replay; `seats` is indexed by seat.
            seed: 32 bytes, from which the cards follow.
            nonce: 32 bytes; with the seed it gives the header's commitment.
        """
        self._header = header
        self._seed, self._nonce = seed, nonce
        self._session = Session(header.ruleset, header.options, seed)
        self._players = [_Player(header.clock) for _ in header.seats]
        self._faults: list[Fault] = []
        self._writer = ReplayWriter(header)
        self._written_count = 0
        self._refused: list[Refusal] = []
        """Answers to the open question that used up a try."""
        self._is_asked = False
        """Whether the open question was put to its seat."""
        self._write_events(None)

    @property
    def session_id(self) -> str:
        """The session's id, 32 hex digits."""
        return self._header.session_id

    @property
    def decision(self) -> Decision | None:
        """The open question, or None when the session is over."""
        return self._session.decision

    @property
    def is_unasked(self) -> bool:
        """Whether the open question is put to nobody, since its seat has forfeited: `go_on` comes next."""
        decision = self._session.decision
        return decision is not None and self._players[decision.seat].has_forfeited

    @property
    def is_over(self) -> bool:
        """Whether the session is over."""
        return self._session.result is not None

    @property
    def event_count(self) -> int:
        """How much has happened so far."""
        return len(self._session.events)

    @property
    def deal_start(self) -> int:
        """The number of the event, from 0, with which the running deal began."""
        events = self._session.events
        return max([number for number, event in enumerate(events) if isinstance(event, DealBegan)], default=0)

    def public_events(self, start: int) -> tuple[SeenEvent, ...]:
        """What happened from event number `start` on, as everybody may hear it."""
        return tuple([seen_by_all(event) for event in self._session.events[start:]])

    def start_of(self, seat: Seat) -> SessionStart:
        """What a seat is told before the first card."""
        header = self._header
        return SessionStart(
            session_id=header.session_id,
            ruleset=header.ruleset,
            options=header.options,
            seats=tuple([SeatLabel(info.bot, info.version) for info in header.seats]),
            seat=seat,
            clock=header.clock,
            commitment=header.commitment,
        )

    def request(self) -> Request:
        """The open question as its seat is asked it; the seat's first time to be asked counts its id up."""
        decision = self._open_decision()
        player = self._players[decision.seat]
        player.asked_count += 1
        self._is_asked = True
        timed = self._header.clock.timed
        return Request(
            session_id=self.session_id,
            request_id=player.asked_count,
            seat=decision.seat,
            legal=decision.legal,
            view=self._session.view(decision.seat),
            time_left_ms=player.clock.allowance_us() // US_PER_MS if timed else None,
            bank_ms=player.clock.bank_us // US_PER_MS if timed else None,
        )

    def allowance_us(self) -> int | None:
        """What the open decision may take, None when no clock runs."""
        if not self._header.clock.timed:
            return None
        return self._players[self._open_decision().seat].clock.allowance_us()

    def free_us(self) -> int | None:
        """What the open decision may take before the bank is touched, None when no clock runs."""
        if not self._header.clock.timed:
            return None
        return self._players[self._open_decision().seat].clock.free_us()

    def news_for(self, seat: Seat) -> tuple[SeenEvent, ...]:
        """What happened since the seat was last told, as it may hear it."""
        player, events = self._players[seat], self._session.events
        fresh = events[player.told_count :]
        player.told_count = len(events)
        return tuple([seen_by(event, seat) for event in fresh])

    def receive(self, answer: Answer, timing: Timing) -> Rejected | None:
        """Judge an answer to the open request.

        Args:
            answer: from the seat that was asked, naming the request that is open.
            timing: since the request was handed over, all tries together.

        Returns:
            None when the answer was taken. Otherwise what to tell the bot; with no tries
            left the question is settled by the fallback.
        """
        decision = self._open_decision()
        allowance_us = self.allowance_us()
        if allowance_us is not None and timing.charged_us > allowance_us:
            self._note_late(answer, timing.charged_us - allowance_us)
            self.expire(timing, FaultCause.TIMEOUT)
            return self._rejected(answer, RejectReason.LATE, "the clock had run out", 0, 0)
        refusal = _refusal(answer, decision)
        if refusal is None:
            assert not isinstance(answer.action, Unreadable)
            self._settle(answer.action, Origin.ASKED, timing, note=answer.note)
            return None
        self._refused.append(refusal)
        tries_left = MAX_TRIES - len(self._refused)
        if tries_left == 0:
            self._strike(FaultCause.ILLEGAL, timing, refusal.answer)
        left_us = None
        if allowance_us is not None:
            left_us = allowance_us - timing.charged_us if tries_left else 0
        return self._rejected(answer, refusal.reason, refusal.answer, tries_left, left_us)

    def expire(self, timing: Timing, cause: FaultCause, detail: str = "") -> None:
        """The clock of the open request has run out: the fallback is played, a strike recorded.

        Args:
            timing: what the seat has used.
            cause: `TIMEOUT`, or why no link was up.
            detail: what became of the link, in one sentence, or empty.
        """
        self._players[self._open_decision().seat].clock.ran_out()
        self._strike(cause, timing, detail)

    def forfeit(self, seat: Seat, cause: FaultCause, detail: str = "") -> None:
        """A seat gives up the session: it is played by the fallback, unasked, to the end."""
        player = self._players[seat]
        if player.has_forfeited or self.is_over:
            return
        is_asked = self._is_asked and self._open_decision().seat == seat
        self._faults.append(
            Fault(
                seat,
                cause,
                deal=self._session.deal.number if is_asked else None,
                request_id=player.asked_count if is_asked else None,
                detail=detail,
            )
        )
        player.has_forfeited = True
        self.go_on()

    def go_on(self) -> None:
        """Play the fallback for seats that have forfeited: until another is asked, or for a deal at most.

        A session that everybody has forfeited would otherwise be played to its end in one go, and
        whoever else waits with it.
        """
        began = self._session.deal.number
        while self.is_unasked and self._session.deal.number <= began + 1:
            self._apply(self._fallback(self._open_decision()), DecisionRecord(origin=Origin.FALLBACK))

    def stray(self, answer: StrayAnswer) -> None:
        """Note an answer that fitted no open request."""
        self._writer.stray(answer)

    def result(self) -> SessionResult:
        """What the session gave every bot; forfeiters are placed behind the others.

        Only once the session is over.
        """
        ended = self._session.result
        assert ended is not None
        header = self._header
        places = places_after_forfeits(ended.places, [player.has_forfeited for player in self._players])
        seats = [
            SeatResult(
                bot=info.bot,
                seat=seat,
                stack=ended.stacks[seat],
                chips=ended.stacks[seat] - header.options.stack,
                place=places[seat],
                forfeited=player.has_forfeited,
                strikes=player.strikes,
                faults=tuple([fault for fault in self._faults if fault.seat == seat]),
                asked_count=player.asked_count,
                decision_us=tuple(player.decision_us),
            )
            for seat, (info, player) in enumerate(zip(header.seats, self._players, strict=True))
        ]
        return SessionResult(
            block=header.block,
            session=header.session,
            session_id=header.session_id,
            deals=self._session.deal.number + 1,
            pot_left=ended.pot_left,
            seats=tuple(seats),
        )

    def replay(self, ended_at: str) -> bytes:
        """The whole replay, once the session is over; `ended_at` is UTC, ISO 8601."""
        return self._writer.close(self.result(), seed=self._seed, nonce=self._nonce, ended_at=ended_at)

    # ------------------------------------------------------------------------ inside

    def _note_late(self, answer: Answer, late_us: int) -> None:
        """Count an answer that came before the clock was seen to have run out like one that came after."""
        self.stray(
            StrayAnswer(
                seat=self._open_decision().seat,
                reason=RejectReason.LATE,
                request_id=answer.request_id,
                answer=said(answer.action),
                late_us=late_us,
            )
        )

    def _rejected(
        self, answer: Answer, reason: RejectReason, detail: str, tries_left: int, left_us: int | None
    ) -> Rejected:
        return Rejected(
            session_id=self.session_id,
            request_id=answer.request_id,
            reason=reason,
            detail=detail,
            tries_left=tries_left,
            time_left_ms=None if left_us is None else left_us // US_PER_MS,
        )

    def _open_decision(self) -> Decision:
        decision = self._session.decision
        assert decision is not None, "the session is over: nothing is asked"
        return decision

    def _fallback(self, decision: Decision) -> Action:
        return fallback(self._session.view(decision.seat), decision.legal)

    def _strike(self, cause: FaultCause, timing: Timing, detail: str) -> None:
        """Play the fallback for the open question and write the fault down; the last strike forfeits."""
        decision = self._open_decision()
        player = self._players[decision.seat]
        deal = self._session.deal.number
        self._faults.append(Fault(decision.seat, cause, deal, player.asked_count, detail))
        player.strikes += 1
        if player.strikes >= self._header.clock.max_strikes:
            player.has_forfeited = True
        self._settle(self._fallback(decision), Origin.FALLBACK, timing, cause=cause)

    def _settle(
        self,
        action: Action,
        origin: Origin,
        timing: Timing,
        *,
        cause: FaultCause | None = None,
        note: str = "",
    ) -> None:
        """Carry out the decision of a seat that was asked, book its time and write it down."""
        player = self._players[self._open_decision().seat]
        record = DecisionRecord(
            origin=origin,
            cause=cause,
            request_id=player.asked_count,
            refused=tuple(self._refused),
            charged_us=timing.charged_us,
            lag_us=timing.lag_us,
            note=note,
        )
        player.decision_us.append(timing.charged_us)
        player.clock.answered(timing.charged_us)
        self._apply(action, record)
        self.go_on()

    def _apply(self, action: Action, record: DecisionRecord) -> None:
        """Carry out the open decision, and write down what followed from it."""
        self._refused.clear()
        self._is_asked = False
        self._session.apply(action)
        self._write_events(record)

    def _write_events(self, record: DecisionRecord | None) -> None:
        """Write what happened since the last time; `record` belongs to the first of it."""
        events = self._session.events
        for event in events[self._written_count :]:
            self._writer.event(event, record)
            record = None
            if isinstance(event, DealBegan) and event.deal > 0:
                for player in self._players:
                    player.clock.deal_began()
        self._written_count = len(events)


def _refusal(answer: Answer, decision: Decision) -> Refusal | None:
    """Why an answer cannot be taken, judged by exactly what the bot was sent."""
    if isinstance(answer.action, Unreadable):
        return Refusal(RejectReason.UNREADABLE, said(answer.action))
    if answer.action not in decision.legal:
        return Refusal(RejectReason.ILLEGAL, said(answer.action))
    return None
