"""A deal as one seat may imagine it, for bots that try their answers out.

The way back from a `View` to a `Deal`: what the seat knows comes from the view, the other
hands and the stock from the caller, who deals the unseen cards out as it likes; nothing here
is chance. What then still lies where nobody can look is put somewhere possible.
"""

from collections.abc import Sequence
from typing import Final

from engine.actions import Call, Decision, DecisionKind, Legal
from engine.cards import PACK_SIZE, Card, Seat, cards_text
from engine.deal import PHASES, Deal, active_from
from engine.errors import BrokenDealError
from engine.events import Exchanged
from engine.pack import Pack
from engine.trick import NO_TRUMPS, card_order, strongest
from engine.view import View

_PHASE_NAMES: Final = {
    DecisionKind.TRUMP: "trumps",
    DecisionKind.BID: "auction",
    DecisionKind.DECLARE: "declarations",
    DecisionKind.EXCHANGE: "exchange",
    DecisionKind.PLAY: "play",
}


def unseen_cards(view: View) -> tuple[Card, ...]:
    """The cards that the seat cannot place, in index order: in other hands, the stock, or laid away."""
    seen = {*view.hand, *view.laid_away, *view.auction_turned}
    seen.update([card for swap in view.own_exchanges for card in swap.laid])
    seen.update([card for taken in view.tricks for _, card in taken.cards])
    seen.update([card for _, card in view.trick])
    if not view.ruleset.turn_up_to_dealer:
        seen.update(view.turned)
    return tuple([card for card in range(PACK_SIZE) if card not in seen])


def imagine(view: View, legal: Legal, hands: Sequence[Sequence[Card]], stock: Sequence[Card]) -> Deal:
    """A deal that stands at the decision that `view.seat` is asked, to be played on.

    Its view for that seat is `view` again. Which cards the others laid away is made up out of
    those left over; of what they drew it tells no more than everybody saw.

    Args:
        view: what the seat knows.
        legal: what it is asked to choose from.
        hands: by seat, folded ones too, of as many cards as the view says; the seat's own is
            that of the view.
        stock: the cards face down, the top one first.

    Raises:
        ValueError: hands and stock do not fit the view.
    """
    held = [tuple(sorted(hand)) for hand in hands]
    rest = _rest(view, held, stock)
    discards: list[tuple[Card, ...]] = [()] * len(held)
    discards[view.seat] = view.laid_away
    for seat in view.active:
        if seat != view.seat:
            count = _discard_count(view, seat)
            discards[seat], rest = rest[:count], rest[count:]
    deal = _deal(view, legal, held, tuple(stock), discards, _exchanges(view, discards, rest))
    deal.queue = _queue(deal, view.seat)
    return deal


def _rest(view: View, hands: list[tuple[Card, ...]], stock: Sequence[Card]) -> tuple[Card, ...]:
    """The unseen cards that are in no hand and not in the stock, once all of these fit."""
    sizes = tuple([len(hand) for hand in hands])
    if sizes != view.hand_sizes:
        raise ValueError(f"hands of {sizes} cards by seat: this view needs {view.hand_sizes}")
    if len(stock) != view.stock_size:
        raise ValueError(f"a stock of {len(stock)} cards: this view needs {view.stock_size}")
    if hands[view.seat] != view.hand:
        raise ValueError(f"another hand for seat {view.seat}: its own is {cards_text(view.hand)}")
    dealt_out = [*stock, *[card for seat, hand in enumerate(hands) if seat != view.seat for card in hand]]
    placed, unseen = set(dealt_out), unseen_cards(view)
    rest = tuple([card for card in unseen if card not in placed])
    if len(dealt_out) + len(rest) != len(unseen):
        wrong = tuple([card for card in placed if card not in unseen or dealt_out.count(card) > 1])
        raise ValueError(f"{cards_text(wrong)} dealt out: seat {view.seat} has seen it, or it is there twice")
    return rest


def _discard_count(view: View, seat: Seat) -> int:
    """Cards that an active seat has laid away outside the exchange."""
    takes_turned = view.ruleset.turn_up_to_dealer and seat == view.dealer
    dealt = view.ruleset.hand_size + (len(view.turned) if takes_turned else 0)
    extra = sum([swap.bonus_count for swap in view.exchanges if swap.seat == seat])
    played = len(view.tricks) + (seat in [player for player, _ in view.trick])
    return dealt + extra - played - view.hand_sizes[seat]


def _exchanges(view: View, discards: list[tuple[Card, ...]], rest: tuple[Card, ...]) -> tuple[Exchanged, ...]:
    """The turns of the exchange so far; the others laid away what `rest` holds."""
    own, swaps = iter(view.own_exchanges), []
    for at, swap in enumerate(view.exchanges):
        if swap.seat == view.seat:
            swaps.append(next(own))
            continue
        laid, rest = rest[: swap.laid_count], rest[swap.laid_count :]
        # Whoever got extra cards has laid as many away again.
        bonus = discards[swap.seat][: swap.bonus_count]
        drawn_later = sum([later.laid_count + later.bonus_count for later in view.exchanges[at + 1 :]])
        stock_left = view.stock_size + drawn_later
        swaps.append(Exchanged(swap.seat, laid, swap.face_up, swap.face_up, bonus, swap.paid, stock_left))
    return tuple(swaps)


def _deal(
    view: View,
    legal: Legal,
    hands: list[tuple[Card, ...]],
    stock: tuple[Card, ...],
    discards: list[tuple[Card, ...]],
    exchanges: tuple[Exchanged, ...],
) -> Deal:
    """The deal without its queue: the facts of the view, and the cards as imagined."""
    order = NO_TRUMPS if view.trump is None else card_order(view.trump, view.ruleset.weli_rank)
    forehand_at = view.seats.index(view.dealer) + 1
    return Deal(
        ruleset=view.ruleset,
        options=view.options,
        number=view.deal,
        kind=view.kind,
        dealer=view.dealer,
        seats=view.seats,
        stacks=view.stacks,
        pot=view.pot,
        packs=_no_pack,
        tie_break=view.tie_break,
        base_kind=view.base_kind,
        first_dealer=view.first_dealer,
        antes=view.antes,
        cuts=view.cuts,
        stock=stock,
        hands=hands,
        hand_sizes=list(view.hand_sizes),
        discards=discards,
        turned=view.turned,
        trump=view.trump,
        order=order,
        bids=view.bids,
        contract=view.contract,
        auction_turned=view.auction_turned,
        striker=view.striker,
        declarations=view.declarations,
        forehand_order=view.seats[forehand_at:] + view.seats[:forehand_at],
        active=view.active,
        exchanges=exchanges,
        exchanges_seen=view.exchanges,
        tricks=view.tricks,
        trick=view.trick,
        winning=strongest(view.trick, order) if view.trick else None,
        tricks_won=list(view.tricks_won),
        has_swapped=legal.kind is DecisionKind.DISCARD and bool(view.exchanges),
        phase=PHASES[_phase_name(view, legal.kind)],
        decision=Decision(view.seat, legal),
    )


def _no_pack(pack_number: int) -> tuple[Pack, int]:
    raise BrokenDealError(f"an imagined deal asked for pack {pack_number}: its cards are dealt")


def _phase_name(view: View, kind: DecisionKind) -> str:
    if kind is DecisionKind.DISCARD:
        # Who exchanges lays away in the same turn, so that after an exchange nobody has to.
        return "exchange" if view.exchanges else "laying_away"
    return _PHASE_NAMES[kind]


def _queue(deal: Deal, seat: Seat) -> tuple[Seat, ...]:
    """The seats that the phase will still ask, beginning with `seat`."""
    if deal.phase is PHASES["play"]:
        leader = deal.trick[0][0] if deal.trick else seat
        return active_from(deal, leader)[len(deal.trick) :]
    deal.phase.begin(deal)
    if deal.phase is PHASES["declarations"]:
        # The last word of each seat; who has claimed the last one will speak again.
        calls = dict(deal.declarations)
        claimed = [other for other, call in calls.items() if call is Call.LAST]
        return tuple([other for other in deal.queue if other not in calls] + claimed)
    taken = {"auction": len(deal.bids), "exchange": len(deal.exchanges) - deal.has_swapped}
    return deal.queue[taken.get(deal.phase.name, 0) :]
