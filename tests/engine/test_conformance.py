"""The engine against vectors from an independent implementation, every field compared."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from engine.actions import Bid, Contract, Decision, Declare, Discard, Exchange, Subsets
from engine.cards import Suit, card_text, parse_card
from engine.events import (
    AntesPaid,
    CardsDealt,
    CutMade,
    DealBegan,
    DealSettled,
    Decided,
    Event,
    Exchanged,
    SessionEnded,
    StrikerFixed,
    TrickTaken,
)
from engine.fallback import fallback
from engine.notation import action_text, parse_action
from engine.pack import shuffle
from engine.pot import PlayedDeal, settle
from engine.rules import DealKind, WeliRank, make_ruleset, make_session_options
from engine.session import Session
from engine.trick import card_order, legal_cards, strongest
from tests.engine.recorded import SESSION_FILES, Json, load


def sessions() -> Iterator[Any]:
    """Every recorded session, as a pytest parameter."""
    for name in SESSION_FILES:
        for number, session in enumerate(load(name, "sessions")):
            yield pytest.param(session, id=f"{name[9:-5]}-{number}-{session['name']}")


def begin(recorded: Json) -> Session:
    """A recorded session at its first decision."""
    ruleset = make_ruleset(recorded["ruleset"], recorded["options"])
    options = make_session_options(ruleset, recorded["session"])
    return Session(ruleset, options, bytes.fromhex(recorded["seed"]))


def by_seat(amounts: tuple[int, ...], seats: Json) -> Json:
    """Amounts in the vectors' form: seats with 0 are left out unless the vector lists them."""
    return {str(seat): n for seat, n in enumerate(amounts) if n or str(seat) in seats}


def texts(cards: tuple[int, ...]) -> list[str]:
    """Cards in canonical notation."""
    return [card_text(card) for card in cards]


def test_shuffle() -> None:
    """The shuffle gives the recorded pack and cut for every recorded seed."""
    cases = load("shuffle.json", "cases")
    assert len(cases) == 20
    for case in cases:
        assert shuffle(bytes.fromhex(case["seed"]), case["d"], case["p"]) == (tuple(case["pack"]), case["c"])


def test_legality() -> None:
    """The legal cards are the recorded ones in every recorded position."""
    cases = load("legality.json", "cases")
    assert len(cases) == 140
    for case in cases:
        order = card_order(Suit("ELHS".index(case["trump"])), WeliRank(case["options"]["weli_rank"]))
        trick = tuple(enumerate([parse_card(card) for card in case["trick"]]))
        led, best = (trick[0][1], strongest(trick, order)[1]) if trick else (None, None)
        hand = tuple(parse_card(card) for card in case["hand"])
        legal = legal_cards(hand, led, best, order, must_head=case["options"]["must_head"])
        assert texts(legal) == case["legal"], case["why"]


def test_settlement() -> None:
    """Every recorded settlement moves the recorded chips."""
    cases = load("settlement.json", "cases")
    assert len(cases) == 91
    for case in cases:
        check_settlement(case)


def check_settlement(case: Json) -> None:
    """Settle one recorded deal and compare every field."""
    seats, dealer, expect = case["seats"], case["dealer"], case["expect"]
    at = seats.index(dealer) + 1
    played = PlayedDeal(
        kind=DealKind(case["kind"]),
        tie_break=expect["next"] is None,
        order=tuple(seats[at:] + seats[:at]),
        active=tuple(case["active"]),
        bettlers=tuple(case["bettlers"]),
        striker=case["striker"],
        tricks_won=tuple(case["tricks_won"]),
        pot=case["pot"],
        stacks=tuple(case["stacks"]),
    )
    done = settle(make_ruleset(case["ruleset"], case["options"]), played)
    assert {
        "quotas": by_seat(done.quotas, expect["quotas"]),
        "bonuses": by_seat(done.bonuses, expect["bonuses"]),
        "shares": by_seat(done.shares, expect["shares"]),
        "remainder_to_striker": done.remainder,
        "penalties_due": by_seat(done.penalties_due, expect["penalties_due"]),
        "penalties": by_seat(done.penalties, expect["penalties"]),
        "failed": list(done.failed),
        "pot": done.pot,
        "stacks": list(done.stacks),
        "next": done.next_kind,
    } == expect, case["why"]


@pytest.mark.parametrize("recorded", list(sessions()))
def test_session(recorded: Json) -> None:
    """A recorded session, played from its seed and its answers, gives every recorded field."""
    session = begin(recorded)
    for entry in recorded["decisions"]:
        if not entry["forced"]:
            assert session.decision is not None
            check_question(session.decision, entry)
            session.apply(parse_action(entry["answer"]))
    assert session.decision is None
    assert list(decided(session.events)) == [
        (entry["deal"], entry["seat"], entry["answer"], entry["forced"]) for entry in recorded["decisions"]
    ]
    deals = split_into_deals(session.events)
    assert len(deals) == len(recorded["deals"])
    for events, expected in zip(deals, recorded["deals"], strict=True):
        assert deal_record(events, expected) == expected
    check_result(session.result, recorded["result"])


@pytest.mark.parametrize("recorded", [each for each in sessions() if each.values[0]["policy"] == "fallback"])
def test_fallback(recorded: Json) -> None:
    """A session answered by the fallback throughout has at every question the answer that was recorded."""
    session = begin(recorded)
    for entry in recorded["decisions"]:
        if not entry["forced"]:
            assert session.decision is not None
            action = fallback(session.view(session.decision.seat), session.decision.legal)
            assert action_text(action) == entry["answer"]
            session.apply(action)
    assert session.decision is None


def test_the_fallback_was_recorded() -> None:
    """Seven sessions were answered by the fallback; every kind of question but the exchange is in them."""
    played = [each.values[0] for each in sessions() if each.values[0]["policy"] == "fallback"]
    asked = [entry["kind"] for recorded in played for entry in recorded["decisions"] if not entry["forced"]]
    assert len(played) == 7
    assert Counter(asked) == {"play": 241, "bid": 20, "declare": 16, "discard": 9, "trump": 1}


def check_question(decision: Decision, entry: Json) -> None:
    """Seat, kind and the legal answers of one recorded question."""
    assert (decision.seat, decision.kind) == (entry["seat"], entry["kind"])
    if isinstance(decision.legal, Subsets):
        legal = decision.legal
        assert (texts(legal.hand), legal.least, legal.most) == (entry["from"], entry["min"], entry["max"])
    else:
        assert [action_text(action) for action in decision.legal] == entry["legal"]


def decided(events: list[Event]) -> Iterator[tuple[int, int, str, bool]]:
    """Every decision as (deal, seat, answer, forced)."""
    deal = -1
    for event in events:
        if isinstance(event, DealBegan):
            deal = event.deal
        elif isinstance(event, Decided):
            yield deal, event.seat, action_text(event.action), event.forced


def split_into_deals(events: list[Event]) -> list[list[Event]]:
    """The events of a session, deal by deal."""
    deals: list[list[Event]] = []
    for event in events:
        if isinstance(event, DealBegan):
            deals.append([])
        deals[-1].append(event)
    return deals


def deal_record(events: list[Event], expected: Json) -> Json:
    """The events of one deal in the vectors' form."""
    record: Json = {
        name: [] for name in ("cuts", "auction", "declarations", "exchanges", "discards", "tricks")
    }
    for event in events:
        record |= fields_of(event, expected)
        for name, entry in entries_of(event, record, expected):
            record[name].append(entry)
    return record


def fields_of(event: Event, expected: Json) -> Json:
    """What an event that happens once a deal says, in the vectors' form."""
    match event:
        case DealBegan():
            return {
                "deal": event.deal,
                "tie_break": event.tie_break,
                "seats": list(event.seats),
                "first_dealer": event.dealer,
                "base_kind": event.kind,
            }
        case AntesPaid():
            return {"antes": by_seat(event.paid, expected["antes"])}
        case CardsDealt():
            hands = [texts(hand) for hand in event.hands]
            return {"dealer": event.dealer, "hands": hands, "turned": texts(event.turned)}
        case StrikerFixed():
            return {
                "striker": event.striker,
                "contract": event.contract,
                "auction_turned": texts(event.turned),
                "trump": "ELHS"[event.trump],
                "kind": event.kind,
            }
        case DealSettled():
            return settlement_fields(event, expected)
        case _:
            return {}


def settlement_fields(event: DealSettled, expected: Json) -> Json:
    """A settlement in the vectors' form."""
    return {
        "active": list(event.active),
        "tricks_won": list(event.tricks_won),
        "pot_when_play_ends": event.pot_before,
        "bonuses": by_seat(event.bonuses, expected["bonuses"]),
        "shares": by_seat(event.shares, expected["shares"]),
        "remainder_to_striker": event.remainder,
        "penalties": by_seat(event.penalties, expected["penalties"]),
        "failed": list(event.failed),
        "pot": event.pot,
        "stacks": list(event.stacks),
        "next": event.next_kind,
    }


def entries_of(event: Event, record: Json, expected: Json) -> Iterator[tuple[str, Json]]:
    """The list of a deal's record that an event adds to, if any, and the entry."""
    match event:
        case CutMade():
            paid = by_seat(event.paid, expected["cuts"][len(record["cuts"])]["paid"])
            shown = texts(event.shown)
            yield "cuts", {"dealer": event.dealer, "shown": shown, "effect": event.effect, "paid": paid}
        case Decided(seat, Bid(contract)):
            yield "auction", {"seat": seat, "bid": contract}
        case Decided(seat, Declare(call)):
            yield "declarations", {"seat": seat, "call": call}
        case Decided(seat, Discard(cards)):
            yield "discards", {"seat": seat, "laid": texts(cards)}
        case Exchanged():
            swapped = {name: texts(getattr(event, name)) for name in ("laid", "drawn", "face_up", "bonus")}
            yield (
                "exchanges",
                {
                    "seat": event.seat,
                    **swapped,
                    "paid": event.paid,
                    "stock_left": event.stock_left,
                },
            )
        case TrickTaken():
            played = [[seat, card_text(card)] for seat, card in event.cards]
            yield "tricks", {"leader": event.leader, "cards": played, "winner": event.winner}


def check_result(result: SessionEnded | None, expected: Json) -> None:
    """Compare the end of a session."""
    assert result is not None
    assert {
        "stacks": list(result.stacks),
        "places": list(result.places),
        "pot_left": result.pot_left,
        "end": result.ending,
        "tied": list(result.tied),
        "tie_break_played": result.tie_break_played,
    } == expected


def test_exchange_and_contract_names_are_those_of_the_vectors() -> None:
    """The words of the vectors are the engine's own, so that no comparison above is vacuous."""
    assert Exchange(()) == parse_action("exchange")
    assert list(Contract) == ["weiter", "weiter-oder", "oder", "schlagen"]
