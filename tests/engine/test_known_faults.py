"""Faults that other card programs had, tried here: the rows K of `known-faults.md` that rules can have."""

from itertools import combinations, pairwise, product

import pytest
from hypothesis import given

from engine.actions import Bid, Call, DecisionKind, Declare, Exchange, Subsets
from engine.cards import CARD_TEXTS, PACK_SIZE, WELI, Suit, card_text, parse_card
from engine.deal import Deal
from engine.events import CardsDealt, DealBegan, DealSettled, Decided, StrikerFixed, TrickTaken
from engine.fallback import fallback
from engine.notation import action_text
from engine.pack import Pack
from engine.pot import PlayedDeal, settle
from engine.rules import (
    TAVERN,
    Contracts,
    DealKind,
    ExchangeMode,
    FirstLead,
    Ruleset,
    SessionOptions,
    WeliRank,
    make_ruleset,
)
from engine.session import Session
from engine.trick import card_order, legal_cards, strongest
from engine.view import view_of
from tests.engine.oracle import Oracle
from tests.engine.playing import CASES, Case, choose, generator, play, steps
from tests.engine.positions import actions_of, answer, cards, deal_with
from tests.figures import Figure

NO_CUT = make_ruleset("salzburg", {"cut_ritual": False})
TRUMPS = "ELHS"
ORACLES = [
    Oracle(trump, weli_rank, must_head)
    for trump, weli_rank, must_head in product(TRUMPS, ("second", "top"), (False, True))
]


def check_all_hands(oracle: Oracle, trick: tuple[str, ...], hand_size: int) -> int:
    """Compare the engine's legal cards with the oracle's for every hand; how many hands there are."""
    order = card_order(Suit(TRUMPS.index(oracle.trump)), WeliRank(oracle.weli_rank))
    played = [parse_card(card) for card in trick]
    best = strongest(tuple(enumerate(played)), order)[1]
    rest = [card for card in range(PACK_SIZE) if card not in played]
    count = 0
    for hand in combinations(rest, hand_size):
        legal = legal_cards(hand, played[0], best, order, must_head=oracle.must_head)
        assert [CARD_TEXTS[card] for card in legal] == oracle.legal(
            [CARD_TEXTS[card] for card in hand], [*trick]
        )
        count += 1
    return count


def tricks_with_high_trumps(trump: str) -> list[tuple[str, ...]]:
    """Tricks of one or two cards in which the Weli or the Ace of trumps lies."""
    plain = "S" if trump != "S" else "L"
    others = [*(trump + rank for rank in "789TUOK"), f"{plain}7", f"{plain}K"]
    high = ["S6", f"{trump}A"]
    pairs = [pair for card in high for other in others for pair in ((card, other), (other, card))]
    return [("S6",), (f"{trump}A",), ("S6", f"{trump}A"), (f"{trump}A", "S6"), *pairs]


@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_k01_legal_cards_when_a_high_trump_lies(oracle: Oracle) -> None:
    """Every hand of two cards may play what the rules' own words allow when Weli or Ace of trumps lies."""
    tricks = tricks_with_high_trumps(oracle.trump)
    assert sum(check_all_hands(oracle, trick, 2) for trick in tricks) == 2 * 496 + (len(tricks) - 2) * 465


@pytest.mark.nightly
@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_k01_legal_cards_of_larger_hands(oracle: Oracle, figure: Figure) -> None:
    """The same for every hand of three cards."""
    tricks = tricks_with_high_trumps(oracle.trump)
    hands = sum(check_all_hands(oracle, trick, 3) for trick in tricks)
    assert hands == 2 * 4960 + (len(tricks) - 2) * 4495
    figure("K01", f"n = {hands} hands beside {len(tricks)} tricks, as the rules' own words have it")


@pytest.mark.parametrize("oracle", ORACLES[::2], ids=str)
def test_k01_winners_of_all_tricks(oracle: Oracle) -> None:
    """Of any two cards, alone and with a third that could turn the trick, the winner is the oracle's."""
    order = card_order(Suit(TRUMPS.index(oracle.trump)), WeliRank(oracle.weli_rank))
    thirds = ["S6", f"{oracle.trump}A", f"{oracle.trump}7", "SA", "L7"]
    for lead, second in product(CARD_TEXTS, CARD_TEXTS):
        for trick in ((lead, second), *((lead, second, third) for third in thirds)):
            if len(set(trick)) == len(trick):
                played = tuple(enumerate([parse_card(card) for card in trick]))
                assert card_text(strongest(played, order)[1]) == oracle.winner([*trick])


@given(CASES)
def test_k01_k05_play_in_whole_sessions(case: Case) -> None:
    """In play, legal cards and winners are the oracle's, and whoever wins a trick leads the next."""
    session = case.session()
    for _ in steps(session, case):
        decision, deal = session.decision, session.deal
        assert decision is not None
        if decision.kind is DecisionKind.PLAY:
            hand = [card_text(card) for card in deal.hands[decision.seat]]
            legal = oracle_of(deal).legal(hand, [card_text(card) for _, card in deal.trick])
            assert [action_text(action) for action in decision.legal] == [f"card {card}" for card in legal]
    check_tricks(session)


def oracle_of(deal: Deal) -> Oracle:
    """The oracle for a deal's trumps and options."""
    assert deal.trump is not None
    return Oracle(TRUMPS[deal.trump], deal.ruleset.weli_rank, deal.ruleset.must_head)


def check_tricks(session: Session) -> None:
    """Compare every trick of a session with the oracle's winner, and each leader with the winner before."""
    oracle, winner = ORACLES[0], None
    for event in session.events:
        if isinstance(event, StrikerFixed):
            ruleset, winner = session.ruleset, None
            oracle = Oracle(TRUMPS[event.trump], ruleset.weli_rank, ruleset.must_head)
        elif isinstance(event, TrickTaken):
            assert winner in {None, event.leader}
            winner = event.winner
            texts = {card_text(card): seat for seat, card in event.cards}
            assert texts[oracle.winner(list(texts))] == winner


def test_k03_a_trump_beats_the_suit_led() -> None:
    """A plain King is led, trumped with the Seven, an Ace is thrown in: the Seven wins."""
    hands = {1: "LK L7 L8 L9 LT", 2: "H7 E7 E8 E9 ET", 0: "SA S7 S8 S9 ST"}
    deal = deal_with(TAVERN, hands, "HA")
    answer(deal, "play", "play", "card LK")
    # Forced: seat 2 is void in Leaves and holds one trump. Seat 0 throws in what it likes.
    answer(deal, "card SA")
    assert deal.tricks[0].cards == ((1, parse_card("LK")), (2, parse_card("H7")), (0, parse_card("SA")))
    assert deal.tricks[0].winner == 2


def test_k05_a_high_card_of_another_suit_loses_and_the_winner_leads() -> None:
    """An Ace of another suit takes no trick; the seat that wins leads next, wherever it sits."""
    hands = {3: "L7 E7 E8 E9 ET", 0: "LT S7 S8 S9 ST", 1: "SA SO SK EU EO", 2: "L8 EK EA H7 H8"}
    deal = deal_with(TAVERN, hands, "HA", players=4, dealer=2)
    answer(deal, "play", "play", "play", "card L7")
    # Forced: the Ten of Leaves is seat 0's only Leaf, the Eight seat 2's. Seat 1 may throw in anything.
    answer(deal, "card SA")
    assert deal.tricks[0].winner == 0
    assert deal.decision is not None
    assert deal.decision.seat == 0


def legal_texts(trump: str, hand: str, *trick: str, weli_rank: str = "second") -> list[str]:
    """The legal cards of a hand, by the engine, where plain suits need not be headed."""
    order = card_order(Suit(TRUMPS.index(trump)), WeliRank(weli_rank))
    played = cards(" ".join(trick))
    best = strongest(tuple(enumerate(played)), order)[1]
    return [card_text(card) for card in legal_cards(cards(hand), played[0], best, order, must_head=False)]


@pytest.mark.parametrize("trump", TRUMPS)
def test_k06_the_weli_follows_trumps(trump: str) -> None:
    """A trump led obliges a hand whose only trump is the Weli to play it."""
    plain = [f"{suit}8" for suit in TRUMPS if suit != trump]
    assert legal_texts(trump, " ".join([*plain, "S6"]), f"{trump}T") == ["S6"]


@pytest.mark.parametrize("trump", "ELH")
def test_k06_the_weli_does_not_follow_bells(trump: str) -> None:
    """Plain Bells led: a hand with Bells keeps the Weli, one without any trumps with it."""
    other = "L" if trump != "L" else "E"
    assert legal_texts(trump, f"{other}7 S8 S6", "ST") == ["S8"]
    assert legal_texts(trump, f"{other}7 {other}8 S6", "ST") == ["S6"]


def test_k06_the_weli_is_one_more_trump_when_bells_are_trumps() -> None:
    """With Bells as trumps the Weli follows them, and must be played where it alone beats what lies."""
    assert legal_texts("S", "L7 S8 S6", "ST") == ["S6"]
    assert legal_texts("S", "L7 S8 S6", "SA") == ["S8", "S6"]


@pytest.mark.parametrize("trump", TRUMPS)
def test_k07_the_weli_led_leads_trumps(trump: str) -> None:
    """A Weli that is led asks for trumps, whatever suit it is printed with."""
    plain = "L" if trump != "L" else "E"
    assert legal_texts(trump, f"{plain}7 {trump}8", "S6") == [f"{trump}8"]


@pytest.mark.parametrize(("weli_rank", "highest", "next_one"), [("second", "HA", "S6"), ("top", "S6", "HA")])
def test_k07_the_weli_and_the_ace_of_trumps(weli_rank: str, highest: str, next_one: str) -> None:
    """Which of the two is higher comes from the ruleset, for the trick and for the duty to beat it."""
    order = card_order(Suit.HEARTS, WeliRank(weli_rank))
    for trick in ((highest, next_one), (next_one, highest)):
        assert strongest(tuple(enumerate(cards(" ".join(trick)))), order)[1] == parse_card(highest)
    assert legal_texts("H", f"HK {highest}", next_one, weli_rank=weli_rank) == [highest]
    assert legal_texts("H", f"H7 HK {next_one}", highest, weli_rank=weli_rank) == sorted(
        ["H7", "HK", next_one], key=CARD_TEXTS.index
    )


def test_k07_the_weli_turned_up() -> None:
    """A turned Weli: the dealer names trumps, or a second card fixes them and both go to the dealer."""
    deal = deal_with(TAVERN, {}, "S6")
    assert deal.trump is None
    assert deal.decision is not None
    assert (deal.decision.seat, deal.decision.kind) == (0, DecisionKind.TRUMP)
    answer(deal, "trump L")
    assert deal.trump is Suit.LEAVES
    assert all(WELI not in hand for hand in deal.hands)

    deal = deal_with(NO_CUT, {}, "S6 LT", kind=DealKind.MUSS)
    assert deal.trump is Suit.LEAVES
    assert set(cards("S6 LT")) <= set(deal.hands[0])
    assert len(deal.hands[0]) == 6


# ------------------------------------------------------------------- folds, chips, the stock


def test_k09_all_fold() -> None:
    """When all but the striker fold nobody is asked more and the striker takes the shares of all tricks."""
    deal = deal_with(NO_CUT, {}, "HK", stock="LT", players=4, pot=30)
    answer(deal, "bid weiter", "bid weiter", "bid oder", "bid weiter")
    assert deal.striker == 2
    answer(deal, "fold", "fold", "fold")
    assert deal.decision is None
    assert deal.active == (2,)
    assert {type(action) for _, action in actions_of(deal)} == {Bid, Declare}
    assert not deal.tricks
    # The ante of the dealer and 30 chips make 40, ten a trick.
    assert deal.stacks == (990, 1000, 1040, 1000)
    assert deal.pot == 0


@pytest.mark.parametrize("player", [1, 2, 3])
def test_k09_all_but_one_fold(player: int) -> None:
    """When one player stays with the striker these two alone are asked to play, and share the tricks."""
    deal = deal_with(TAVERN, {}, "HK", players=4)
    answer(deal, *["play" if seat == player else "fold" for seat in (1, 2, 3)])
    while deal.decision is not None:
        assert deal.decision.seat in {0, player}
        deal.apply(next(iter(deal.decision.legal)))
    assert deal.active == (0, player)
    assert len(deal.tricks) == 5
    assert deal.tricks[0].leader == player


@given(CASES)
def test_k09_a_folded_seat_is_asked_nothing_more(case: Case) -> None:
    """From its fold to the end of the deal a seat makes no decision, not even a forced one."""
    folded: set[int] = set()
    for event in play(case.session(), case).events:
        match event:
            case DealBegan():
                folded = set()
            case Decided(seat, action):
                assert seat not in folded
                if action == Declare(Call.FOLD):
                    folded.add(seat)


def test_k10_folded_chips_stay_in_the_game() -> None:
    """What players paid before they folded is in the pot that is shared out; the rest is carried over."""
    ruleset = make_ruleset("tavern", {"muss_after": "normal_failure", "ante": 7})
    session = Session(ruleset, SessionOptions(players=4, deals=20), bytes(range(32)))
    while session.decision is not None:
        session.apply(fallback(session.view(session.decision.seat), session.decision.legal))
        assert sum(session.stacks) + session.pot == 4000
    settled = [event for event in session.events if isinstance(event, DealSettled)]
    folded = [event for event in settled if len(event.active) == 1]
    assert len(settled) == 20
    assert len(folded) >= 10
    for event in folded:
        assert sum(event.shares) == event.pot_before // 5 * 5
        assert event.pot == event.pot_before % 5
    assert sum(session.stacks) + session.pot == 4000


@pytest.mark.parametrize("pot", [12, 13, 14, 15])
@pytest.mark.parametrize("tricks_won", [(2, 1, 1), (2, 2, 0), (4, 0, 0)])
@pytest.mark.parametrize("remainder", ["pot", "striker"])
def test_k11_shares_are_equal_for_equal_tricks(pot: int, tricks_won: tuple[int, ...], remainder: str) -> None:
    """Every trick earns the same whole chips; what does not divide goes where the option says."""
    ruleset = make_ruleset("tavern", {"hand_size": 4, "remainder": remainder})
    done = settle(
        ruleset,
        PlayedDeal(
            kind=DealKind.NORMAL,
            tie_break=False,
            order=(1, 2, 0),
            active=tuple([seat for seat in range(3) if tricks_won[seat]]),
            bettlers=(),
            striker=0,
            tricks_won=tricks_won,
            pot=pot,
            stacks=(100, 100, 100),
        ),
    )
    assert not done.failed
    assert done.shares == tuple([3 * won for won in tricks_won])
    assert (done.remainder, done.pot) == ((pot - 12, 0) if remainder == "striker" else (0, pot - 12))


def test_k13_the_stock_runs_dry() -> None:
    """Six players swap all they can: each is offered what the stock still has, and then nobody is asked."""
    deal = deal_with(NO_CUT, {}, "HK", players=6)
    answer(deal, "bid schlagen", "play", "play", "play", "play", "play")
    in_stock = 8
    while deal.decision is not None and deal.decision.kind in {DecisionKind.EXCHANGE, DecisionKind.DISCARD}:
        legal = deal.decision.legal
        assert isinstance(legal, Subsets)
        if legal.kind is DecisionKind.EXCHANGE:
            assert legal.most == min(4, in_stock)
            assert len(deal.stock) == in_stock
            deal.apply(Exchange(legal.hand[: legal.most]))
            in_stock -= legal.most + len(deal.exchanges[-1].bonus)
        else:
            deal.apply(next(iter(legal)))
    assert deal.stock == ()
    assert [swap.stock_left for swap in deal.exchanges][-4:] == [0, 0, 0, 0]
    assert [action for _, action in actions_of(deal) if isinstance(action, Exchange)][-4:] == [
        Exchange(())
    ] * 4
    deal.check_cards()


# --------------------------------------------------------------------------- who deals, leads


def test_k14_the_deal_goes_round() -> None:
    """Over 20 deals of every kind, with cuts that move it and an absent seat, the deal goes to the left."""
    ruleset = make_ruleset("salzburg", {"penalty_limit": 20, "hand_size": 5})
    session = Session(ruleset, SessionOptions(players=4, stack=10_000, deals=20), bytes(32))
    rng = generator(14)
    while session.decision is not None:
        seat, legal = session.decision.seat, session.decision.legal
        absent = seat == 2
        session.apply(fallback(session.view(seat), legal) if absent else choose(rng, legal, "uniform"))
    began = [event for event in session.events if isinstance(event, DealBegan)]
    dealt = [event for event in session.events if isinstance(event, CardsDealt)]
    settled = [event for event in session.events if isinstance(event, DealSettled)]
    assert len(began) == len(dealt) == 20
    for before, after in pairwise(zip(began, dealt, strict=True)):
        assert after[0].dealer == (before[1].dealer + 1) % 4
    assert {event.kind for event in dealt} == set(DealKind)
    assert any(first.dealer != really.dealer for first, really in zip(began, dealt, strict=True))
    assert any(len(event.active) == 1 for event in settled)


@pytest.mark.parametrize("first_lead", FirstLead)
@pytest.mark.parametrize("contracts", Contracts)
@pytest.mark.parametrize("exchange", ExchangeMode)
def test_k16_the_first_leader(first_lead: str, contracts: str, exchange: str) -> None:
    """Whichever phases a deal lacks, the leader is the striker, or the first active seat from forehand."""
    overrides = {"first_lead": first_lead, "contracts": contracts, "exchange": exchange, "oder": "new_suit"}
    leaders = set()
    for number, (preset, kind) in enumerate(product(("tavern", "salzburg"), DealKind.__members__.values())):
        ruleset = make_ruleset(preset, {**overrides, "cut_ritual": False})
        for style, dealer in product(("uniform", "keen", "greedy"), range(4)):
            base = DealKind.MUSS if kind is DealKind.MUSS else DealKind.NORMAL
            turned = "L7" if kind is DealKind.SEVEN_MUSS else "LK"
            deal = deal_with(ruleset, {}, turned, players=4, dealer=dealer, kind=base)
            rng = generator(number)
            while deal.decision is not None:
                deal.apply(choose(rng, deal.decision.legal, style))
            if deal.tricks:
                expected = deal.striker
                if first_lead == "forehand":
                    expected = next(seat for seat in deal.forehand_order if seat in deal.active)
                assert deal.tricks[0].leader == expected
                leaders.add(expected)
    assert leaders == {0, 1, 2, 3}


# --------------------------------------------------------------------- packs, owed payments


def broken_packs() -> list[tuple[str, Pack]]:
    """Packs that are none, each with the card that shows it."""
    whole = tuple(range(PACK_SIZE))
    return [
        ("EA", (*whole[:-1], parse_card("EA"))),
        ("HO", tuple([card for card in whole if card != parse_card("HO")])),
        ("S7", (*whole, parse_card("S7"))),
        ("S6", whole[:-1]),
    ]


@pytest.mark.parametrize(("card", "pack"), broken_packs())
def test_k17_a_pack_that_is_none_is_refused(card: str, pack: Pack) -> None:
    """A pack with a card twice or missing is refused by that card's name before anything is dealt."""
    with pytest.raises(ValueError, match=card):
        Session(TAVERN, SessionOptions(players=4), bytes(32), packs=lambda _pack_number: (pack, 14))


@given(CASES)
def test_k18_stalling_pays_what_is_owed(case: Case) -> None:
    """A seat that never answers pays, by the fallback, each penalty in full or all it has."""
    session, rng = case.session(), generator(case.answers)
    while session.decision is not None:
        seat, legal = session.decision.seat, session.decision.legal
        is_absent = seat == 0
        session.apply(fallback(session.view(seat), legal) if is_absent else choose(rng, legal, case.style))
    striker, bettlers = 0, set[int]()
    for event in session.events:
        match event:
            case StrikerFixed():
                striker, bettlers = event.striker, set()
            case Decided(seat, Declare(Call.BETTLER)):
                bettlers.add(seat)
            case DealSettled():
                for seat in event.failed:
                    due = penalty_due(case.ruleset, event.pot_before, seat in bettlers, seat == striker)
                    assert event.penalties[seat] == min(due, event.stacks[seat] + event.penalties[seat])
                assert all(
                    not event.penalties[seat]
                    for seat in range(case.options.players)
                    if seat not in event.failed
                )


def penalty_due(ruleset: Ruleset, pot: int, is_bettler: bool, is_striker: bool) -> int:
    """What a failure costs (`rules.md` §11.4)."""
    due = pot if is_bettler or ruleset.penalty == "pot" else 2 * ruleset.ante
    if is_striker and not is_bettler:
        due *= ruleset.striker_penalty_factor
    return due if ruleset.penalty_limit is None else min(due, ruleset.penalty_limit)


def test_k18_who_plays_cannot_leave() -> None:
    """Once a seat has said that it plays, silence for the rest of the deal costs the penalty of a failure."""
    hands = {1: "L7 L8 E7 E8 S7", 2: "LA LK EA EK SA", 0: "HO HK HU HT H9"}
    deal = deal_with(TAVERN, hands, "HA")
    answer(deal, "play", "play")
    while deal.decision is not None:
        deal.apply(fallback(view_of(deal, deal.decision.seat), deal.decision.legal))
    assert deal.tricks_won == [5, 0, 0]
    settled = deal.events[-1]
    assert isinstance(settled, DealSettled)
    assert settled.failed == (1, 2)
    assert settled.penalties == (0, 20, 20)
