"""A session: deals one after another until one of the ends holds, then places (`rules.md` §12).

What a caller uses: read `decision`, hand an action to `apply`, read `events`. Everything
follows from the seed and the answers; nothing else is asked for.
"""

from functools import partial

from engine.actions import Action, Decision
from engine.cards import Seat
from engine.deal import Deal
from engine.errors import BrokenDealError, IllegalActionError
from engine.events import Event, SessionEnded, SessionEnding
from engine.pack import SEED_BYTES, PackSource, checked, shuffle
from engine.rules import DealKind, Ruleset, SessionOptions
from engine.view import View, view_of


class Session:
    """A whole session at one table.

    Attributes:
        events: all that has happened, in order; only ever appended to.
        result: the last event once the session is over, else None.
    """

    def __init__(
        self, ruleset: Ruleset, options: SessionOptions, seed: bytes, *, packs: PackSource | None = None
    ) -> None:
        """Begin a session; it runs at once to its first decision.

        Args:
            ruleset: from `engine.rules.make_ruleset`.
            options: from `engine.rules.make_session_options`.
            seed: 32 bytes, from which every pack follows (`rules.md` §4).
            packs: other packs for every deal instead, to set up a position.

        Raises:
            ValueError: the seed is not 32 bytes long.
        """
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed is {SEED_BYTES} bytes long, this one {len(seed)}")
        self.ruleset = ruleset
        self.options = options
        self.events: list[Event] = []
        self.result: SessionEnded | None = None
        self._seed = seed
        self._packs = None if packs is None else checked(packs)
        self._ending: SessionEnding | None = None
        self._tied: tuple[Seat, ...] = ()
        self._places: tuple[int, ...] = ()
        """The places by chips before a tie-break."""
        everyone = tuple(range(options.players))
        # The first deal of a session is a Muss, dealt by seat 0 (`rules.md` §2, §11).
        self.deal = self._begin_deal(0, DealKind.MUSS, 0, everyone, (options.stack,) * options.players, 0)
        self.decision: Decision | None = None
        """The open question; None when the session is over."""
        self._run_on()

    @property
    def stacks(self) -> tuple[int, ...]:
        """Chips by seat."""
        return self.deal.stacks

    @property
    def pot(self) -> int:
        """Chips in the pot."""
        return self.deal.pot

    def view(self, seat: Seat) -> View:
        """What a seat may know of the running deal."""
        return view_of(self.deal, seat)

    def apply(self, action: Action) -> None:
        """Take the answer to the open decision, then run on to the next.

        Raises:
            IllegalActionError: the session is over, or the action is not legal; nothing changes.
        """
        if self.result is not None:
            raise IllegalActionError("the session is over: nothing is asked")
        deal = self.deal
        deal.apply(action)
        self.decision = deal.decision
        if self.decision is None:
            self._run_on()

    def _begin_deal(
        self,
        number: int,
        kind: DealKind,
        dealer: Seat,
        seats: tuple[Seat, ...],
        stacks: tuple[int, ...],
        pot: int,
        *,
        tie_break: bool = False,
    ) -> Deal:
        packs = self._packs or partial(shuffle, self._seed, number)
        return Deal(
            self.ruleset,
            self.options,
            number=number,
            kind=kind,
            dealer=dealer,
            seats=seats,
            stacks=stacks,
            pot=pot,
            packs=packs,
            tie_break=tie_break,
            events=self.events,
        )

    def _run_on(self) -> None:
        """Close deals that are over and begin the next, until someone is asked or all is over."""
        while self.deal.decision is None and self.result is None:
            self._check_laws()
            self._follow_on()
        self.decision = self.deal.decision

    def _follow_on(self) -> None:
        """Begin what follows a deal that is over: the next deal, the one that parts a tie, or the end."""
        if self.deal.tie_break:
            self._end(places_after_tie_break(self._places, self._tied, self.stacks))
            return
        self._ending = self._ending or _ending(self.options, self.deal)
        if self._ending is None:
            kind = self.deal.next_kind
            assert kind is not None
            number, dealer = self.deal.number + 1, self._next_dealer()
            self.deal = self._begin_deal(number, kind, dealer, self.deal.seats, self.stacks, self.pot)
        elif not self._begin_tie_break():
            self._end(places_by_chips(self.stacks))

    def _begin_tie_break(self) -> bool:
        """Begin the deal that parts the tied, if there are any (`rules.md` §12)."""
        most = max(self.stacks)
        tied = tuple([seat for seat, chips in enumerate(self.stacks) if chips == most])
        if len(tied) < 2:
            return False
        self._tied, self._places = tied, places_by_chips(self.stacks)
        if not self.options.tie_break:
            return False
        dealer = self._next_dealer()
        self.deal = self._begin_deal(
            self.deal.number + 1,
            DealKind.NORMAL,
            dealer,
            tuple(sorted({*tied, dealer})),
            self.stacks,
            self.pot,
            tie_break=True,
        )
        return True

    def _next_dealer(self) -> Seat:
        return (self.deal.dealer + 1) % self.options.players

    def _end(self, places: tuple[int, ...]) -> None:
        assert self._ending is not None
        self.result = SessionEnded(
            self._ending, self.stacks, places, self.pot, self._tied, self.deal.tie_break
        )
        self.events.append(self.result)

    def _check_laws(self) -> None:
        self.deal.check_cards()
        if sum(self.stacks) + self.pot != self.options.stack * self.options.players:
            raise BrokenDealError(f"deal {self.deal.number}: chips were created or destroyed")


def _ending(options: SessionOptions, deal: Deal) -> SessionEnding | None:
    if deal.number + 1 >= options.deals:
        return SessionEnding.DEALS
    if options.target is not None and max(deal.stacks) >= options.target:
        return SessionEnding.TARGET
    return SessionEnding.BUST if min(deal.stacks) == 0 else None


def places_by_chips(stacks: tuple[int, ...]) -> tuple[int, ...]:
    """Place of each seat: 1 + the number of seats with more chips (`rules.md` §12)."""
    return tuple([1 + sum([other > chips for other in stacks]) for chips in stacks])


def places_after_tie_break(
    places: tuple[int, ...], tied: tuple[Seat, ...], stacks: tuple[int, ...]
) -> tuple[int, ...]:
    """Places once the tied have played their deal (`rules.md` §12).

    Args:
        places: by seat, before it.
        tied: the seats that shared the first place.
        stacks: by seat, after it.
    """
    most = max([stacks[seat] for seat in tied])
    winners = [seat for seat in tied if stacks[seat] == most]
    return tuple(
        [
            place if seat not in tied else 1 if seat in winners else 1 + len(winners)
            for seat, place in enumerate(places)
        ]
    )
