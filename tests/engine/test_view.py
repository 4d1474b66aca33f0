"""What stands in a view, field by field."""

from engine.deal import Deal
from engine.events import ExchangeSeen
from engine.view import View, view_of
from tests.engine.playing import choose, generator, random_case


def expected(deal: Deal, seat: int) -> View:
    """The view of a seat, with every field given by its name."""
    return View(
        seat=seat,
        ruleset=deal.ruleset,
        options=deal.options,
        deal=deal.number,
        tie_break=deal.tie_break,
        base_kind=deal.base_kind,
        kind=deal.kind,
        first_dealer=deal.first_dealer,
        dealer=deal.dealer,
        seats=deal.seats,
        stacks=deal.stacks,
        pot=deal.pot,
        antes=deal.antes,
        cuts=deal.cuts,
        turned=deal.turned,
        trump=deal.trump,
        bids=deal.bids,
        contract=deal.contract,
        auction_turned=deal.auction_turned,
        striker=deal.striker,
        declarations=deal.declarations,
        active=deal.active,
        hand=deal.hands[seat],
        hand_sizes=tuple([len(hand) for hand in deal.hands]),
        stock_size=len(deal.stock),
        exchanges=tuple(
            [
                ExchangeSeen(swap.seat, len(swap.laid), swap.face_up, len(swap.bonus), swap.paid)
                for swap in deal.exchanges
            ]
        ),
        own_exchanges=tuple([swap for swap in deal.exchanges if swap.seat == seat]),
        laid_away=deal.discards[seat],
        tricks=deal.tricks,
        trick=deal.trick,
        tricks_won=tuple(deal.tricks_won),
    )


def test_every_field_of_a_view_holds_what_its_name_says() -> None:
    """At every decision of random sessions, every seat's view has each fact in the field of that name."""
    for number in range(60):
        case = random_case(number)
        session, rng = case.session(), generator(number)
        while (decision := session.decision) is not None:
            for seat in range(case.options.players):
                view = view_of(session.deal, seat)
                assert isinstance(view, View)
                assert view._asdict() == expected(session.deal, seat)._asdict()
            session.apply(choose(rng, decision.legal, case.style))
