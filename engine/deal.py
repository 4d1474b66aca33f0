"""One deal as a machine of phases (`rules.md` §5), driven from outside.

`PHASES` at the end of the file is the table: what a phase does when it begins, what its
next seat may answer, what an answer does, which phase follows. A phase whose queue of
seats is empty is over. One dispatcher, `Deal._next_phases`, walks the table; a phase takes forced
decisions by itself and stops where a seat must be asked (`run`).

A deal knows its cards and chips; sessions, dealers to come and views are not its business.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from operator import attrgetter, itemgetter
from reprlib import Repr
from typing import Final

from engine.actions import (
    BIDS,
    CONTRACTS_UPWARDS,
    DECLARES,
    PLAYS,
    Action,
    Bid,
    Call,
    Contract,
    Decision,
    DecisionKind,
    Declare,
    Discard,
    Exchange,
    Legal,
    Listed,
    NameTrump,
    Play,
    Subsets,
)
from engine.cards import PACK_SIZE, WELI, Card, Rank, Seat, Suit, rank_of, suit_of
from engine.errors import BrokenDealError, IllegalActionError
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
    ExchangeSeen,
    StrikerFixed,
    TrickTaken,
)
from engine.pack import PackSource, cut, deal_packets
from engine.pot import PlayedDeal, pay, settle
from engine.rules import (
    MAX_PLAYERS,
    AnteFrom,
    Contracts,
    DealKind,
    ExchangeMode,
    FirstLead,
    OderMeaning,
    Ruleset,
    SessionOptions,
    WeliCut,
)
from engine.trick import NO_TRUMPS, CardOrder, card_order, legal_cards, strongest

FREE_EXCHANGE_LIMIT = 5
"""Cards that a free exchange may swap (`rules.md` §9)."""

FACE_DOWN_DRAWS = 3
"""Of a free exchange the first cards come face down, the rest face up."""


@dataclass(slots=True, eq=False, repr=False)
class Deal:
    """A deal from the antes to the settlement.

    It begins as soon as it is made and runs to its first decision; one that is made in a later
    phase stands there as its fields say. Fields are there to be read and never written from
    outside. Tuples and lists of hands, chips or tricks are indexed by seat.
    """

    ruleset: Ruleset
    options: SessionOptions
    number: int
    """Of the deal in its session, from 0."""
    kind: DealKind
    """What it is played as: `MUSS` or `NORMAL` at first."""
    dealer: Seat
    """The seat that deals, unless the cut moves the deal."""
    seats: tuple[Seat, ...]
    """Those dealt in, ascending."""
    stacks: tuple[int, ...]
    pot: int
    packs: PackSource
    """Where the shuffled packs come from; they are taken as they are."""
    tie_break: bool = False
    """Whether this is the deal that parts the tied (`rules.md` §12)."""
    events: list[Event] = field(default_factory=list)
    """Is told what happens."""
    base_kind: DealKind = DealKind.NORMAL
    """The kind as the deal began."""
    first_dealer: Seat = 0
    """The dealer before the cut moved the deal."""
    antes: tuple[int, ...] = ()
    cuts: tuple[CutMade, ...] = ()
    stock: tuple[Card, ...] = ()
    """The cards face down, the top one first: all 33, then what the deal left of them."""
    hands: list[tuple[Card, ...]] = field(default_factory=list)
    """Each in index order."""
    hand_sizes: list[int] = field(default_factory=list)
    """Cards in each hand."""
    discards: list[tuple[Card, ...]] = field(default_factory=list)
    """What each seat laid away outside the exchange."""
    turned: tuple[Card, ...] = ()
    trump: Suit | None = None
    order: CardOrder = NO_TRUMPS
    """What beats what under the present trumps."""
    bids: tuple[tuple[Seat, Contract], ...] = ()
    contract: Contract | None = None
    auction_turned: tuple[Card, ...] = ()
    striker: Seat | None = None
    declarations: tuple[tuple[Seat, Call], ...] = ()
    forehand_order: tuple[Seat, ...] = ()
    """The seats dealt in, clockwise from forehand, the dealer last; known once the cards are dealt."""
    active: tuple[Seat, ...] = ()
    """Those that have not folded, ascending."""
    exchanges: tuple[Exchanged, ...] = ()
    exchanges_seen: tuple[ExchangeSeen, ...] = ()
    """The same as everybody sees them."""
    has_swapped: bool = False
    """Whether the seat whose turn of the exchange it is has drawn, and lays away next."""
    tricks: tuple[TrickTaken, ...] = ()
    trick: tuple[tuple[Seat, Card], ...] = ()
    winning: tuple[Seat, Card] | None = None
    """The play that takes the trick as it lies; None before a lead."""
    tricks_won: list[int] = field(default_factory=list)
    phase: "Phase" = field(default_factory=lambda: PHASES["antes"])
    queue: tuple[Seat, ...] = ()
    """The seats that the present phase will still ask, the next one first."""
    decision: Decision | None = None
    """The open question; None when the deal is over."""
    next_kind: DealKind | None = None
    """The kind of the next deal, once this one is settled."""

    def __post_init__(self) -> None:
        if self.phase is PHASES["antes"]:
            self._begin()

    def _begin(self) -> None:
        player_count = self.options.players
        self.hands, self.discards = [()] * player_count, [()] * player_count
        self.hand_sizes, self.tricks_won = [0] * player_count, [0] * player_count
        self.base_kind, self.first_dealer, self.active = self.kind, self.dealer, self.seats
        self.events.append(DealBegan(self.number, self.dealer, self.kind, self.tie_break, self.seats))
        self.phase.begin(self)
        self._next_phases()

    @property
    def is_over(self) -> bool:
        """Whether the deal is settled."""
        return self.decision is None

    def apply(self, action: Action) -> None:
        """Take the answer to the open decision, then run on to the next.

        Raises:
            IllegalActionError: nothing is asked, or the action is not legal; nothing changes.
        """
        decision = self.decision
        if decision is None:
            raise IllegalActionError("the deal is over: nothing is asked")
        if action not in decision.legal:
            raise IllegalActionError(
                f"{_SHORT.repr(action)} is not among the {len(decision.legal)} legal answers"
            )
        seat = decision.seat
        if isinstance(action, Play):
            self.events.append(_PLAYED[seat][action.card])
        else:
            self.events.append(Decided(seat, action, False))
        self.phase.apply(self, seat, action)
        self.phase.run(self)
        if not self.queue:
            self._next_phases()

    def copy(self) -> "Deal":
        """A deal in the same state that can be played on by itself; its list of events is empty."""
        twin = Deal(*_FIELDS_OF(self))
        twin.events = []
        twin.hands, twin.hand_sizes = self.hands[:], self.hand_sizes[:]
        twin.discards, twin.tricks_won = self.discards[:], self.tricks_won[:]
        return twin

    def clockwise_from(self, seat: Seat) -> tuple[Seat, ...]:
        """The seats dealt in, clockwise, beginning with `seat`, which is one of them."""
        return _clockwise(self.seats, seat)

    def left_of(self, seat: Seat) -> Seat:
        """The next seat dealt in, clockwise (`rules.md` §2, §12)."""
        return self.seats[(self.seats.index(seat) + 1) % len(self.seats)]

    @property
    def is_open_normal(self) -> bool:
        """Whether players may bid, declare and exchange: a Normal deal that parts no tie."""
        return self.kind is _NORMAL and not self.tie_break

    @property
    def is_contested(self) -> bool:
        """Whether anyone but the striker is left to play."""
        return len(self.active) > 1

    def check_cards(self) -> None:
        """See that each of the 33 cards is in exactly one place.

        Raises:
            BrokenDealError: a card is missing or stands in two places.
        """
        places = [*self.stock, *self.auction_turned]
        if not self.ruleset.turn_up_to_dealer:
            places += self.turned
        for cards in (*self.hands, *self.discards):
            places += cards
        for swap in self.exchanges:
            places += swap.laid
        places += [card for taken in self.tricks for _, card in taken.cards]
        places += [card for _, card in self.trick]
        if len(places) != PACK_SIZE or len(set(places)) != PACK_SIZE:
            raise BrokenDealError(f"deal {self.number}: a card is missing or stands in two places")

    # ---------------------------------------------------------------- the dispatcher

    def _next_phases(self) -> None:
        """From a phase that is over on to the next one that asks somebody, or to the end."""
        phase = self.phase
        while not self.queue:
            if phase.then is None:
                self.decision = None
                return
            phase = self.phase = PHASES[phase.then]
            phase.begin(self)
            if self.queue:
                phase.run(self)

    # ---------------------------------------------------------------- small steps

    def collect(self, payers: tuple[Seat, ...], due: int) -> tuple[int, ...]:
        """The same due from some seats into the pot, each capped at the stack; what was paid, by seat."""
        paid, self.stacks = pay(self.stacks, payers, due)
        self.pot += sum(paid)
        return paid

    def shuffle(self, pack_number: int) -> tuple[Card, Card]:
        """Shuffle and cut; the bottom cards of the top and of the lower packet."""
        pack, top_size = self.packs(pack_number)
        self.stock = cut(pack, top_size)
        return pack[top_size - 1], pack[-1]

    def draw(self, count: int) -> tuple[Card, ...]:
        """The top cards of the stock, as far as it goes."""
        drawn, self.stock = self.stock[:count], self.stock[count:]
        return drawn

    def take_from_hand(self, seat: Seat, cards: tuple[Card, ...]) -> None:
        """Remove cards from a hand."""
        self.hands[seat] = tuple([card for card in self.hands[seat] if card not in cards])
        self.hand_sizes[seat] -= len(cards)

    def give(self, seat: Seat, cards: tuple[Card, ...]) -> None:
        """Add cards to a hand, which stays in index order."""
        self.hands[seat] = tuple(sorted(self.hands[seat] + cards))
        self.hand_sizes[seat] += len(cards)

    def name_trump(self, suit: Suit) -> None:
        """A suit is trumps from now on."""
        self.trump, self.order = suit, card_order(suit, self.ruleset.weli_rank)

    def fix_trump(self, card: Card) -> None:
        """An ordinary card fixes trumps; a Seven makes the deal a Seven Muss (`rules.md` §5.4)."""
        suit = suit_of(card)
        assert suit is not None
        self.name_trump(suit)
        if rank_of(card) is Rank.SEVEN:
            self.kind = _SEVEN_MUSS


@cache
def _clockwise(seats: tuple[Seat, ...], first: Seat) -> tuple[Seat, ...]:
    """The seats, ascending, from one of them on and round."""
    at = seats.index(first)
    return seats[at:] + seats[:at]


_SHORT: Final = Repr()
"""Shows whatever a caller takes for an action, be it as long as it likes."""
_SHORT.maxother = 100

_FIELDS_OF: Final = attrgetter(*[field.name for field in fields(Deal)])

# Read once: Python 3.11 takes long to read a member from its enum.
_MUSS: Final = DealKind.MUSS
_NORMAL: Final = DealKind.NORMAL
_SEVEN_MUSS: Final = DealKind.SEVEN_MUSS
_FOLD: Final = Call.FOLD
_BETTLER: Final = Call.BETTLER
_LAST: Final = Call.LAST
_PLAY: Final = DecisionKind.PLAY
_NO_EXCHANGE: Final = ExchangeMode.NONE
_FREE_EXCHANGE: Final = ExchangeMode.FREE
_NO_CONTRACTS: Final = Contracts.NONE
_NEW_SUIT: Final = OderMeaning.NEW_SUIT
_STRIKER_LEADS: Final = FirstLead.STRIKER

# Most decisions are plays. There is one event for each, made beforehand.
_PLAYED: Final = [[Decided(seat, play, False) for play in PLAYS] for seat in range(MAX_PLAYERS)]
_HAD_TO_PLAY: Final = [[Decided(seat, play, True) for play in PLAYS] for seat in range(MAX_PLAYERS)]


# ------------------------------------------------------------------ antes, cut, dealing


def _begin_antes(deal: Deal) -> None:
    if deal.ruleset.ante_from is AnteFrom.EVERYONE:
        payers = deal.seats
    elif deal.base_kind is _MUSS:
        # The dealer pays for the Muss and for the deal.
        payers = (*deal.seats, deal.dealer)
    else:
        payers = (deal.dealer,)
    deal.antes = deal.collect(payers, deal.ruleset.ante)
    deal.events.append(AntesPaid(deal.antes))


def _begin_cut(deal: Deal) -> None:
    top, lower = deal.shuffle(0)
    while deal.ruleset.cut_ritual and _cut_moves_on(deal, top, lower):
        top, lower = deal.shuffle(len(deal.cuts))


def _cut_moves_on(deal: Deal, top: Card, lower: Card) -> bool:
    """One cut of the ritual (`rules.md` §5.2); whether the pack is shuffled and cut again."""
    is_special = top == WELI or rank_of(top) in (Rank.ACE, Rank.SEVEN)
    shown = (top, lower) if is_special else (top,)
    effect = _cut_effect(shown)
    payers, new_dealer = _cut_consequences(deal, effect)
    made = CutMade(deal.dealer, shown, effect, deal.collect(payers, deal.ruleset.ante))
    deal.cuts += (made,)
    deal.events.append(made)
    if new_dealer is not None:
        deal.dealer = new_dealer
        return True
    return effect is CutEffect.WELI and deal.ruleset.weli_cut is WeliCut.RECUT


def _cut_consequences(deal: Deal, effect: CutEffect) -> tuple[tuple[Seat, ...], Seat | None]:
    """Who pays the ante for a cut, and who deals instead of the dealer, if anyone (`rules.md` §5.2)."""
    forehand = deal.left_of(deal.dealer)
    beyond = deal.left_of(forehand)
    right = deal.seats[deal.seats.index(deal.dealer) - 1]
    match effect:
        case CutEffect.DEAL:
            return (), None
        case CutEffect.WELI:
            return deal.seats, None
        case CutEffect.ACE_SEVEN:
            return (forehand, beyond), None
        case CutEffect.SPRUNG:
            return (forehand, beyond), beyond
        case CutEffect.HUPF_LEFT:
            return (forehand,), forehand
        case CutEffect.HUPF_RIGHT:
            return (right,), right


def _cut_effect(shown: tuple[Card, ...]) -> CutEffect:
    if len(shown) == 1:
        return CutEffect.DEAL
    if WELI in shown:
        return CutEffect.WELI
    first, second = rank_of(shown[0]), rank_of(shown[1])
    if {first, second} == {Rank.ACE, Rank.SEVEN}:
        return CutEffect.ACE_SEVEN
    if first is Rank.SEVEN:
        return CutEffect.HUPF_RIGHT
    return CutEffect.SPRUNG if second is Rank.ACE else CutEffect.HUPF_LEFT


def _begin_dealing(deal: Deal) -> None:
    order = deal.forehand_order = deal.clockwise_from(deal.left_of(deal.dealer))
    ruleset, pack = deal.ruleset, deal.stock
    packets, before_turn = ((3, 2), 5) if ruleset.hand_size == 5 else ((2, 2), 2)
    turn_at = before_turn * len(order)
    turn_end = turn_at + (2 if pack[turn_at] == WELI and ruleset.turn_up_to_dealer else 1)
    turned, rest = pack[turn_at:turn_end], pack[:turn_at] + pack[turn_end:]
    for seat, hand in zip(order, deal_packets(rest, len(order), packets), strict=True):
        deal.hands[seat], deal.hand_sizes[seat] = hand, ruleset.hand_size
    deal.stock = rest[ruleset.hand_size * len(order) :]
    deal.turned = turned
    if turned[-1] != WELI:
        deal.fix_trump(turned[-1])
    deal.events.append(CardsDealt(deal.dealer, tuple(deal.hands), turned, deal.trump, deal.kind))
    if ruleset.turn_up_to_dealer:
        deal.give(deal.dealer, turned)


# ----------------------------------------------------------------------------- trumps


def _begin_trumps(deal: Deal) -> None:
    deal.queue = (deal.dealer,) if deal.trump is None else ()


_ALL_TRUMPS = Listed(DecisionKind.TRUMP, tuple([NameTrump(suit) for suit in Suit]))


def _legal_trumps(deal: Deal, seat: Seat) -> Legal:
    return _ALL_TRUMPS


def _apply_trumps(deal: Deal, seat: Seat, action: Action) -> None:
    assert isinstance(action, NameTrump)
    deal.name_trump(action.suit)
    deal.queue = ()


# ---------------------------------------------------------------------------- auction


def _begin_auction(deal: Deal) -> None:
    contracts = deal.ruleset.contracts
    if contracts is _NO_CONTRACTS or not deal.is_open_normal:
        return
    deal.queue = (deal.dealer,) if contracts is Contracts.DEALER else deal.clockwise_from(deal.dealer)


def _legal_bids(deal: Deal, seat: Seat) -> Legal:
    highest = max([CONTRACTS_UPWARDS.index(contract) for _, contract in deal.bids], default=0)
    return _bids_above(highest, deal.ruleset.oder is _NEW_SUIT, bool(deal.stock))


@cache
def _bids_above(highest: int, oder_turns: bool, has_stock: bool) -> Listed:
    turning = [Contract.WEITER_ODER, *([Contract.ODER] if oder_turns else [])]
    higher = [bid for bid in CONTRACTS_UPWARDS[highest + 1 :] if has_stock or bid not in turning]
    return Listed(DecisionKind.BID, tuple([BIDS[contract] for contract in (Contract.WEITER, *higher)]))


def _apply_bid(deal: Deal, seat: Seat, action: Action) -> None:
    assert isinstance(action, Bid)
    deal.bids += ((seat, action.contract),)
    deal.queue = () if action.contract is Contract.SCHLAGEN else deal.queue[1:]


def _begin_contract(deal: Deal) -> None:
    """The highest bid takes effect (`rules.md` §7)."""
    deal.striker = deal.dealer
    if deal.bids:
        deal.contract = Contract.SCHLAGEN
        for seat, contract in deal.bids:
            # Each contract outbids those before it, so that the last one stands.
            if contract is not Contract.WEITER:
                deal.striker, deal.contract = seat, contract
        if deal.contract is Contract.WEITER_ODER:
            _turn_until(deal, lambda card: True)
        elif deal.contract is Contract.ODER and deal.ruleset.oder is OderMeaning.NEW_SUIT:
            old = deal.trump
            _turn_until(deal, lambda card: suit_of(card) is not old)
    assert deal.trump is not None
    deal.events.append(StrikerFixed(deal.striker, deal.contract, deal.auction_turned, deal.trump, deal.kind))


def _turn_until(deal: Deal, fixes_trump: Callable[[Card], bool]) -> None:
    """Turn cards of the stock until one fixes trumps; the Weli never does."""
    while deal.stock:
        (card,) = deal.draw(1)
        deal.auction_turned += (card,)
        if card != WELI and fixes_trump(card):
            deal.fix_trump(card)
            return


# ----------------------------------------------------------------------- declarations


def _begin_declarations(deal: Deal) -> None:
    if deal.is_open_normal:
        deal.queue = tuple([seat for seat in deal.forehand_order if seat != deal.striker])


def _legal_calls(deal: Deal, seat: Seat) -> Legal:
    ruleset = deal.ruleset
    may_wait = (
        ruleset.last_say and len(deal.queue) > 1 and _LAST not in [call for _, call in deal.declarations]
    )
    return _calls(ruleset.bettler, may_wait)


@cache
def _calls(bettler: bool, last: bool) -> Listed:
    calls = (Call.FOLD, Call.PLAY, *[Call.BETTLER] * bettler, *[Call.LAST] * last)
    return Listed(DecisionKind.DECLARE, tuple([DECLARES[call] for call in calls]))


def _apply_call(deal: Deal, seat: Seat, action: Action) -> None:
    assert isinstance(action, Declare)
    deal.declarations += ((seat, action.call),)
    deal.queue = deal.queue[1:]
    if action.call is _LAST:
        deal.queue += (seat,)
    elif action.call is _FOLD:
        deal.active = tuple([other for other in deal.active if other != seat])


# --------------------------------------------------------------- exchange, laying away


def _begin_exchange(deal: Deal) -> None:
    ruleset = deal.ruleset
    if ruleset.exchange is _NO_EXCHANGE or not deal.is_open_normal or not deal.is_contested:
        return
    deal.queue = exchange_turns(deal)


def exchange_turns(deal: Deal) -> tuple[Seat, ...]:
    """Whose turns the exchange has, in order; the striker's second one last (`rules.md` §7, §9)."""
    turns = tuple([seat for seat in deal.forehand_order if seat in deal.active])
    is_extra = deal.contract is Contract.ODER and deal.ruleset.oder is OderMeaning.EXTRA_EXCHANGE
    return (*turns, deal.striker) if is_extra and deal.striker is not None else turns


def _legal_exchange(deal: Deal, seat: Seat) -> Legal:
    if deal.has_swapped:
        return _legal_discard(deal, seat)
    hand, ruleset = deal.hands[seat], deal.ruleset
    most = min(len(hand), len(deal.stock))
    if ruleset.exchange is _FREE_EXCHANGE:
        most = min(most, FREE_EXCHANGE_LIMIT)
    else:
        most = min(most, ruleset.exchange_limit)
        if ruleset.exchange_fee:
            most = min(most, deal.stacks[seat] // ruleset.exchange_fee)
    return Subsets(DecisionKind.EXCHANGE, hand, 0, most)


def _apply_exchange(deal: Deal, seat: Seat, action: Action) -> None:
    if isinstance(action, Discard):
        _apply_discard(deal, seat, action)
        deal.has_swapped = False
        return
    assert isinstance(action, Exchange)
    _swap(deal, seat, action.cards)
    if len(deal.hands[seat]) > deal.ruleset.hand_size:
        deal.has_swapped = True
    else:
        deal.queue = deal.queue[1:]


def _swap(deal: Deal, seat: Seat, laid: tuple[Card, ...]) -> None:
    """Lay cards away and draw as many; with `free`, extra cards for what came face up (`rules.md` §9)."""
    is_free = deal.ruleset.exchange is _FREE_EXCHANGE
    paid = 0 if is_free else deal.collect((seat,), deal.ruleset.exchange_fee * len(laid))[seat]
    drawn = deal.draw(len(laid))
    face_up = drawn[FACE_DOWN_DRAWS:] if is_free else ()
    bonus = deal.draw(sum([_extra_cards(deal, card) for card in face_up]))
    deal.take_from_hand(seat, laid)
    deal.give(seat, drawn + bonus)
    swap = Exchanged(seat, laid, drawn, face_up, bonus, paid, len(deal.stock))
    deal.exchanges += (swap,)
    deal.exchanges_seen += (swap.as_seen(),)
    deal.events.append(swap)


def _extra_cards(deal: Deal, face_up: Card) -> int:
    if face_up != WELI and suit_of(face_up) is not deal.trump:
        return 0
    return 5 if rank_of(face_up) is Rank.ACE else 1


def _begin_laying_away(deal: Deal) -> None:
    # Whoever got extra cards in an exchange has laid as many away in the same turn.
    if deal.ruleset.turn_up_to_dealer and deal.is_contested:
        deal.queue = tuple([seat for seat in deal.active if len(deal.hands[seat]) > deal.ruleset.hand_size])


def _legal_discard(deal: Deal, seat: Seat) -> Legal:
    hand = deal.hands[seat]
    surplus = len(hand) - deal.ruleset.hand_size
    return Subsets(DecisionKind.DISCARD, hand, surplus, surplus)


def _apply_discard(deal: Deal, seat: Seat, action: Action) -> None:
    assert isinstance(action, Discard)
    deal.take_from_hand(seat, action.cards)
    deal.discards[seat] += action.cards
    deal.queue = deal.queue[1:]


# ------------------------------------------------------------------------------- play


def _begin_play(deal: Deal) -> None:
    striker = deal.striker
    assert striker is not None
    if not deal.is_contested:
        deal.tricks_won[striker] = deal.ruleset.hand_size
    else:
        deal.queue = active_from(deal, first_leader(deal))


def first_leader(deal: Deal) -> Seat:
    """Who leads to the first trick, once the striker is known (`rules.md` §10)."""
    assert deal.striker is not None
    if deal.ruleset.first_lead is _STRIKER_LEADS:
        return deal.striker
    return next(seat for seat in deal.forehand_order if seat in deal.active)


def active_from(deal: Deal, seat: Seat) -> tuple[Seat, ...]:
    """The active seats, clockwise, beginning with `seat`, which is one of them."""
    return _clockwise(deal.active, seat)


def _legal_plays(deal: Deal, seat: Seat) -> Legal:
    cards = _playable(deal, seat)
    return Listed(_PLAY, itemgetter(*cards)(PLAYS)) if len(cards) > 1 else Listed(_PLAY, (PLAYS[cards[0]],))


def _playable(deal: Deal, seat: Seat) -> tuple[Card, ...]:
    hand, winning = deal.hands[seat], deal.winning
    if winning is None or len(hand) == 1:
        return hand
    return legal_cards(hand, deal.trick[0][1], winning[1], deal.order, deal.ruleset.must_head)


def _apply_play(deal: Deal, seat: Seat, action: Action) -> None:
    assert isinstance(action, Play)
    card, hand = action.card, deal.hands[seat]
    at = hand.index(card)
    deal.hands[seat] = hand[:at] + hand[at + 1 :]
    deal.hand_sizes[seat] -= 1
    play = (seat, card)
    deal.trick += (play,)
    if deal.winning is None or card in deal.order.beaten_by[deal.winning[1]]:
        deal.winning = play
    deal.queue = deal.queue[1:]
    if not deal.queue:
        _take_trick(deal, deal.winning[0])


def _run_play(deal: Deal) -> None:
    """What `_ask_in_turn` does, made quick for cards, which most decisions are about."""
    while deal.queue:
        seat = deal.queue[0]
        cards = _playable(deal, seat)
        if len(cards) > 1:
            deal.decision = Decision(seat, Listed(_PLAY, itemgetter(*cards)(PLAYS)))
            return
        if deal.winning is None:
            _play_last_trick(deal)
            return
        deal.events.append(_HAD_TO_PLAY[seat][cards[0]])
        _apply_play(deal, seat, PLAYS[cards[0]])


def _play_last_trick(deal: Deal) -> None:
    """Whoever leads a last card has everybody follow with theirs."""
    deal.trick = tuple([(seat, deal.hands[seat][0]) for seat in deal.queue])
    for seat, card in deal.trick:
        deal.events.append(_HAD_TO_PLAY[seat][card])
        deal.hands[seat], deal.hand_sizes[seat] = (), 0
    deal.queue = ()
    _take_trick(deal, strongest(deal.trick, deal.order)[0])


def _take_trick(deal: Deal, winner: Seat) -> None:
    taken = TrickTaken(deal.trick[0][0], deal.trick, winner)
    deal.tricks += (taken,)
    deal.events.append(taken)
    deal.trick, deal.winning = (), None
    deal.tricks_won[winner] += 1
    if len(deal.tricks) < deal.ruleset.hand_size:
        deal.queue = active_from(deal, winner)


# ------------------------------------------------------------------------- settlement


def _begin_settlement(deal: Deal) -> None:
    assert deal.striker is not None
    played = PlayedDeal(
        deal.kind,
        deal.tie_break,
        deal.forehand_order,
        deal.active,
        tuple([seat for seat, call in deal.declarations if call is _BETTLER]),
        deal.striker,
        tuple(deal.tricks_won),
        deal.pot,
        deal.stacks,
    )
    done = settle(deal.ruleset, played)
    deal.stacks, deal.pot, deal.next_kind = done.stacks, done.pot, done.next_kind
    deal.events.append(
        DealSettled(
            played.active,
            played.tricks_won,
            played.pot,
            done.bonuses,
            done.shares,
            done.remainder,
            done.penalties,
            done.failed,
            done.pot,
            done.stacks,
            done.next_kind,
        )
    )


# ------------------------------------------------------------------- the phase table


def _nothing_begins(deal: Deal) -> None:
    pass


def _nothing_legal(deal: Deal, seat: Seat) -> Legal:
    raise BrokenDealError("a phase without decisions was asked for its legal answers")


def _ask_in_turn(deal: Deal) -> None:
    """Ask the seats of the queue, and take what is forced, until one has a choice."""
    while deal.queue:
        seat = deal.queue[0]
        legal = deal.phase.legal(deal, seat)
        forced = legal.sole()
        if forced is None:
            deal.decision = Decision(seat, legal)
            return
        deal.events.append(Decided(seat, forced, True))
        deal.phase.apply(deal, seat, forced)


def _nothing_applies(deal: Deal, seat: Seat, action: Action) -> None:
    raise BrokenDealError("a phase without decisions was given an answer")


@dataclass(frozen=True, slots=True)
class Phase:
    """One row of the table (`rules.md` §5).

    Attributes:
        name: of the phase, and its key in `PHASES`.
        then: the phase that follows; None at the end.
        begin: takes the steps that need no decision and queues the seats to be asked.
        legal: what the next seat of the queue may answer.
        apply: carries an answer out and moves the queue on.
        run: goes through the queue, and has the deal wait for the first seat that has a choice.
    """

    name: str
    then: str | None
    begin: Callable[[Deal], None] = _nothing_begins
    legal: Callable[[Deal, Seat], Legal] = _nothing_legal
    apply: Callable[[Deal, Seat, Action], None] = _nothing_applies
    run: Callable[[Deal], None] = _ask_in_turn


PHASES: Final[dict[str, Phase]] = {
    phase.name: phase
    for phase in (
        Phase("antes", "cut", _begin_antes),
        Phase("cut", "dealing", _begin_cut),
        Phase("dealing", "trumps", _begin_dealing),
        Phase("trumps", "auction", _begin_trumps, _legal_trumps, _apply_trumps),
        Phase("auction", "contract", _begin_auction, _legal_bids, _apply_bid),
        Phase("contract", "declarations", _begin_contract),
        Phase("declarations", "exchange", _begin_declarations, _legal_calls, _apply_call),
        Phase("exchange", "laying_away", _begin_exchange, _legal_exchange, _apply_exchange),
        Phase("laying_away", "play", _begin_laying_away, _legal_discard, _apply_discard),
        Phase("play", "settlement", _begin_play, _legal_plays, _apply_play, _run_play),
        Phase("settlement", "over", _begin_settlement),
        Phase("over", None),
    )
}
"""The phases of a deal in the order in which they follow each other."""
