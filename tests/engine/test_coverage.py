"""How often each rare event occurs in the recorded sessions, and what each event's name means.

The counts are those that the vectors' own page gives. They are sessions, not deals: a session in
which an event occurs twice counts once. A count that differs means that a vector was lost or that
the meaning written here is not the one of whoever made the vectors.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from tests.engine.recorded import VECTORS, Json, RecordedDeal, RecordedSession, rank, recorded_sessions

OfDeal = Callable[[RecordedDeal], bool]
OfSession = Callable[[RecordedSession], bool]


@dataclass(frozen=True)
class RareEvent:
    """A row of the table: the event's name, in how many sessions it occurs, how to tell."""

    group: str
    name: str
    session_count: int
    occurs: OfSession


def deals(group: str, *rows: tuple[str, int, OfDeal]) -> list[RareEvent]:
    """Events that occur in a session when they occur in one of its deals."""

    def in_one_deal(occurs: OfDeal) -> OfSession:
        return lambda session: any(occurs(deal) for deal in session.deals)

    return [RareEvent(group, name, count, in_one_deal(occurs)) for name, count, occurs in rows]


def sessions(group: str, *rows: tuple[str, int, OfSession]) -> list[RareEvent]:
    """Events of a session as a whole."""
    return [RareEvent(group, name, count, occurs) for name, count, occurs in rows]


# ---------------------------------------------------------------- kinds of deal, the turn-up

DEAL = deals(
    "deal",
    ("muss", 91, lambda deal: deal["kind"] == "muss"),
    ("normal", 71, lambda deal: deal["kind"] == "normal"),
    ("seven muss", 46, lambda deal: deal["kind"] == "seven_muss"),
)


def became_seven_muss(base_kind: str) -> OfDeal:
    """A deal that began as `base_kind` is played as a Seven Muss."""
    return lambda deal: deal["kind"] == "seven_muss" and deal["base_kind"] == base_kind


def seven_by(contract: str) -> OfDeal:
    """A contract turned the Seven that fixes trumps."""
    return lambda deal: (
        deal["kind"] == "seven_muss" and deal["contract"] == contract and bool(deal["auction_turned"])
    )


SEVEN_MUSS = deals(
    "seven muss",
    ("a muss became one", 25, became_seven_muss("muss")),
    ("a normal deal became one", 22, became_seven_muss("normal")),
    (
        "second card after a turned Weli",
        2,
        lambda deal: (
            deal["turned"][0] == "S6" and len(deal["turned"]) == 2 and rank(deal["turned"][1]) == "7"
        ),
    ),
    ("by oder", 3, seven_by("oder")),
    ("by weiter-oder", 2, seven_by("weiter-oder")),
    (
        "striker is not the dealer",
        2,
        lambda deal: deal["kind"] == "seven_muss" and deal.striker != deal.dealer,
    ),
    (
        "striker short of the quota",
        21,
        lambda deal: deal["kind"] == "seven_muss" and deal.striker in deal["failed"],
    ),
    ("pays out", 21, lambda deal: deal["kind"] == "seven_muss" and bool(deal["shares"])),
)


def weli_turned(card_count: int, hand_size: int) -> OfDeal:
    """The Weli is turned up, alone or with the card that fixes trumps."""
    return lambda deal: (
        deal["turned"][0] == "S6"
        and len(deal["turned"]) == card_count
        and deal.ruleset.hand_size == hand_size
    )


WELI_TURNED_UP = deals(
    "Weli turned up",
    ("dealer names trumps, 5 cards", 5, weli_turned(1, 5)),
    ("dealer names trumps, 4 cards", 2, weli_turned(1, 4)),
    ("second card turned, 4 cards", 6, weli_turned(2, 4)),
    ("second card turned, 5 cards", 2, weli_turned(2, 5)),
)

# ------------------------------------------------------------------------------- the cut


def cut(effect: str, holds: Callable[[RecordedDeal, Json], bool] = lambda deal, made: True) -> OfDeal:
    """A cut of the ritual with this effect, of which more holds."""
    return lambda deal: any(made["effect"] == effect and holds(deal, made) for made in deal["cuts"])


def weli_second_after(first: str) -> OfDeal:
    """The lower packet shows the Weli, the upper one a card of this rank."""
    return cut("weli", lambda deal, made: made["shown"][1] == "S6" and rank(made["shown"][0]) == first)


def ace_and_seven(first: str) -> OfDeal:
    """The cut shows an Ace and a Seven, this rank first."""
    return cut("ace_seven", lambda deal, made: rank(made["shown"][0]) == first)


def dealer_moved(deal: RecordedDeal) -> bool:
    """The cut gave the deal to another seat."""
    return bool(deal.dealer != deal["first_dealer"])


def cut_payment_capped(deal: RecordedDeal) -> bool:
    """A payment of a cut is less than the ante."""
    return any(paid < deal.ruleset.ante for made in deal["cuts"] for paid in made["paid"].values())


CUT = deals(
    "cut",
    ("ordinary", 65, cut("deal")),
    ("Weli first", 6, cut("weli", lambda deal, made: made["shown"][0] == "S6")),
    ("Weli second, after an ace", 2, weli_second_after("A")),
    ("Weli second, after a seven", 2, weli_second_after("7")),
    ("Weli, recut", 2, cut("weli", lambda deal, made: deal.ruleset.weli_cut == "recut")),
    ("sprung", 3, cut("sprung")),
    ("hupf left (ace)", 18, cut("hupf_left")),
    ("hupf right (seven)", 21, cut("hupf_right")),
    (
        "hupf right (two sevens)",
        2,
        cut("hupf_right", lambda deal, made: [rank(card) for card in made["shown"]] == ["7", "7"]),
    ),
    ("ace then seven", 3, ace_and_seven("A")),
    ("seven then ace", 4, ace_and_seven("7")),
    ("three packs or more in one deal", 7, lambda deal: len(deal["cuts"]) >= 3),
    ("dealer moved in a muss", 15, lambda deal: dealer_moved(deal) and deal["base_kind"] == "muss"),
    (
        "dealer moved in a normal deal",
        16,
        lambda deal: dealer_moved(deal) and deal["base_kind"] == "normal" and not deal["tie_break"],
    ),
    ("payment capped at the stack", 2, cut_payment_capped),
)

# ------------------------------------------------------------------------------- auction


def bids(deal: RecordedDeal) -> list[str]:
    """The words of the auction, in order."""
    return [said["bid"] for said in deal["auction"]]


def has_auction(deal: RecordedDeal) -> bool:
    """All seats may speak, not the dealer alone."""
    return deal.ruleset.contracts == "auction" and bool(deal["auction"])


AUCTION = deals(
    "auction",
    ("all weiter", 2, lambda deal: has_auction(deal) and set(bids(deal)) == {"weiter"}),
    (
        "schlagen by the dealer",
        15,
        lambda deal: has_auction(deal) and "schlagen" in bids(deal) and deal.striker == deal.dealer,
    ),
    (
        "schlagen by another seat",
        25,
        lambda deal: has_auction(deal) and "schlagen" in bids(deal) and deal.striker != deal.dealer,
    ),
    ("striker is not the dealer", 31, lambda deal: has_auction(deal) and deal.striker != deal.dealer),
    (
        "two contracts or more",
        29,
        lambda deal: has_auction(deal) and len([bid for bid in bids(deal) if bid != "weiter"]) >= 2,
    ),
)


def dealer_alone(bid: str) -> OfDeal:
    """The dealer, who alone may speak, says this."""
    return lambda deal: deal.ruleset.contracts == "dealer" and bids(deal) == [bid]


DEALER_ALONE = deals(
    "dealer alone",
    ("schlagen", 2, dealer_alone("schlagen")),
    ("weiter", 2, dealer_alone("weiter")),
    ("weiter-oder", 2, dealer_alone("weiter-oder")),
    ("oder", 2, dealer_alone("oder")),
)

# ---------------------------------------------------------- what the contracts turn or give


def is_oder(meaning: str, deal: RecordedDeal) -> bool:
    """*Oder*, in one of its two meanings, is the contract."""
    return bool(deal["contract"] == "oder" and deal.ruleset.oder == meaning)


def oder_turned(deal: RecordedDeal) -> list[str]:
    """The cards that *Oder* turned for a new suit."""
    return list(deal["auction_turned"]) if is_oder("new_suit", deal) else []


def turned_from(deal: RecordedDeal) -> str:
    """The suit of trumps as they were before a contract changed them."""
    return str(deal["turned"][-1][0])


def stock_ran_out(deal: RecordedDeal) -> bool:
    """Every card that *Oder* turned was the Weli or of the old trumps."""
    turned = oder_turned(deal)
    return bool(turned) and all(card == "S6" or card[0] == turned_from(deal) for card in turned)


def second_turn(deal: RecordedDeal) -> Json | None:
    """The second turn of the striker's exchange."""
    turns = [swap for swap in deal["exchanges"] if swap["seat"] == deal.striker]
    return turns[1] if is_oder("extra_exchange", deal) and len(turns) == 2 else None


def lays_away_after_first_turn(deal: RecordedDeal) -> bool:
    """The striker lays away between its two turns of the exchange."""
    acts = [entry["kind"] for entry in deal.decisions if entry["seat"] == deal.striker]
    acts = [kind for kind in acts if kind in {"exchange", "discard"}]
    return second_turn(deal) is not None and acts[:3] == ["exchange", "discard", "exchange"]


ODER = deals(
    "oder",
    ("new suit at once", 6, lambda deal: len(oder_turned(deal)) == 1 and not stock_ran_out(deal)),
    ("several cards turned", 5, lambda deal: len(oder_turned(deal)) >= 2),
    ("Weli skipped", 2, lambda deal: "S6" in oder_turned(deal)),
    ("stock ran out", 2, stock_ran_out),
    ("extra exchange", 3, lambda deal: second_turn(deal) is not None),
    ("extra exchange, striker lays away after its first turn", 2, lays_away_after_first_turn),
)


def weiter_oder_turned(deal: RecordedDeal) -> list[str]:
    """The cards that *Weiter-Oder* turned."""
    return list(deal["auction_turned"]) if deal["contract"] == "weiter-oder" else []


WEITER_ODER = deals(
    "weiter-oder",
    (
        "same suit again",
        2,
        lambda deal: bool(weiter_oder_turned(deal)) and deal["trump"] == turned_from(deal),
    ),
    ("new suit", 5, lambda deal: bool(weiter_oder_turned(deal)) and deal["trump"] != turned_from(deal)),
    ("Weli turned", 2, lambda deal: "S6" in weiter_oder_turned(deal)),
)

# --------------------------------------------------------------------------- declarations


def calls(deal: RecordedDeal, call: str) -> list[int]:
    """The seats that made a call."""
    return [said["seat"] for said in deal["declarations"] if said["call"] == call]


def all_fold(deal: RecordedDeal) -> bool:
    """Nobody but the striker is left."""
    return bool(deal["declarations"]) and not deal.is_contested


def asks(deal: RecordedDeal, kind: str) -> bool:
    """A decision of this kind arose, asked or forced."""
    return any(entry["kind"] == kind for entry in deal.decisions)


def striker_is_above_hand_size(deal: RecordedDeal) -> bool:
    """The striker is the dealer and has taken turned cards, which it would lay away."""
    return deal.ruleset.turn_up_to_dealer and deal.striker == deal.dealer


def last_then_bettler(deal: RecordedDeal) -> bool:
    """Who claimed the last word becomes a bettler with it."""
    return bool(set(calls(deal, "last")) & set(deal.bettlers))


DECLARE = deals(
    "declare",
    ("all fold", 3, all_fold),
    (
        "all fold, no exchange is asked",
        2,
        lambda deal: all_fold(deal) and deal.ruleset.exchange != "none" and not asks(deal, "exchange"),
    ),
    (
        "all fold, no laying away is asked",
        2,
        lambda deal: all_fold(deal) and striker_is_above_hand_size(deal) and not asks(deal, "discard"),
    ),
    ("dealer folds", 6, lambda deal: deal.dealer in calls(deal, "fold")),
    ("last claimed", 4, lambda deal: bool(calls(deal, "last"))),
    ("last then bettler", 2, last_then_bettler),
    ("bettler", 7, lambda deal: bool(deal.bettlers)),
    ("two bettlers or more", 5, lambda deal: len(deal.bettlers) >= 2),
    ("nobody folds", 45, lambda deal: bool(deal["declarations"]) and not calls(deal, "fold")),
)

# ------------------------------------------------------------------ exchange, laying away


def swaps(deal: RecordedDeal, mode: str) -> list[Json]:
    """Turns of an exchange of this mode in which cards were swapped."""
    return [swap for swap in deal["exchanges"] if swap["laid"]] if deal.ruleset.exchange == mode else []


def limits(deal: RecordedDeal) -> list[tuple[int, int, int]]:
    """A paid exchange with a fee: for each turn cards allowed, cards in the stock, cards that chips buy."""
    fee = deal.ruleset.exchange_fee
    if deal.ruleset.exchange != "paid" or not fee:
        return []
    stacks = [
        before
        - deal["antes"].get(str(seat), 0)
        - sum(made["paid"].get(str(seat), 0) for made in deal["cuts"])
        for seat, before in enumerate(deal.stacks_before)
    ]
    found = []
    for swap in deal["exchanges"]:
        in_stock = swap["stock_left"] + len(swap["drawn"]) + len(swap["bonus"])
        found.append((deal.ruleset.exchange_limit, in_stock, stacks[swap["seat"]] // fee))
        stacks[swap["seat"]] -= swap["paid"]
    return found


def face_up_trumps(swap: Json, deal: RecordedDeal) -> list[str]:
    """The trumps among the cards drawn face up."""
    return [card for card in swap["face_up"] if deal.is_trump(card)]


def earned(swap: Json, deal: RecordedDeal) -> int:
    """Extra cards that the face-up cards of a turn call for."""
    return sum(5 if rank(card) == "A" else 1 for card in face_up_trumps(swap, deal))


def swapped(deal: RecordedDeal, holds: Callable[[Json], bool]) -> bool:
    """Something holds of a turn of a free exchange."""
    return any(holds(swap) for swap in swaps(deal, "free"))


EXCHANGE = deals(
    "exchange",
    ("paid, one card or more", 10, lambda deal: bool(swaps(deal, "paid"))),
    (
        "paid, limited by the stack",
        2,
        lambda deal: any(chips < min(allowed, stock) for allowed, stock, chips in limits(deal)),
    ),
    (
        "paid, limited by the stock",
        2,
        lambda deal: any(stock < min(allowed, chips) for allowed, stock, chips in limits(deal)),
    ),
    ("paid, fee 0", 2, lambda deal: bool(swaps(deal, "paid")) and deal.ruleset.exchange_fee == 0),
    (
        "k = 0, forced",
        16,
        lambda deal: any(entry["kind"] == "exchange" and entry["forced"] for entry in deal.decisions),
    ),
    (
        "second turn of the striker, one card or more",
        3,
        lambda deal: bool((second_turn(deal) or {"laid": []})["laid"]),
    ),
    (
        "a bettler exchanges",
        6,
        lambda deal: any(swap["laid"] and swap["seat"] in deal.bettlers for swap in deal["exchanges"]),
    ),
    ("five cards", 4, lambda deal: swapped(deal, lambda swap: len(swap["laid"]) == 5)),
    ("face-up trump", 14, lambda deal: swapped(deal, lambda swap: bool(face_up_trumps(swap, deal)))),
    ("face-up Weli", 3, lambda deal: swapped(deal, lambda swap: "S6" in swap["face_up"])),
    (
        "face-up ace of trumps",
        3,
        lambda deal: swapped(deal, lambda swap: f"{deal['trump']}A" in swap["face_up"]),
    ),
    ("two face-up trumps", 2, lambda deal: swapped(deal, lambda swap: len(face_up_trumps(swap, deal)) == 2)),
    (
        "extra cards cut short by the stock",
        2,
        lambda deal: swapped(deal, lambda swap: len(swap["bonus"]) < earned(swap, deal)),
    ),
    (
        "stock used up",
        17,
        lambda deal: any(swap["laid"] and not swap["stock_left"] for swap in deal["exchanges"]),
    ),
)

DISCARD = deals(
    "discard",
    ("two cards or more", 13, lambda deal: any(len(laying["laid"]) >= 2 for laying in deal["discards"])),
    (
        "twice in an extra exchange",
        2,
        lambda deal: [laying["seat"] for laying in deal["discards"]].count(deal.striker) == 2,
    ),
    ("in a muss", 66, lambda deal: deal["kind"] != "normal" and bool(deal["discards"])),
)

# ----------------------------------------------------------------------------------- play


def best_of(trick: Json) -> str:
    """The card that won a trick."""
    cards: dict[int, str] = dict(trick["cards"])
    return cards[trick["winner"]]


def meets_ace_of_trumps(deal: RecordedDeal, winner: str) -> bool:
    """Weli and Ace of trumps lie in one trick, which `winner` wins."""
    both = {"S6", f"{deal['trump']}A"}
    return any(
        both <= {card for _, card in trick["cards"]} and best_of(trick) == winner for trick in deal["tricks"]
    )


def weli_kept(deal: RecordedDeal) -> bool:
    """Bells, not trumps, are led; a seat follows with Bells while the Weli stays in its hand."""
    if deal["trump"] == "S":
        return False
    holders = {
        seat: at for at, trick in enumerate(deal["tricks"]) for seat, card in trick["cards"] if card == "S6"
    }
    return any(
        trick["cards"][0][1][0] == "S"
        and trick["cards"][0][1] != "S6"
        and any(
            card[0] == "S" and card != "S6" and at < holders.get(seat, -1)
            for seat, card in trick["cards"][1:]
        )
        for at, trick in enumerate(deal["tricks"])
    )


def first_leader(deal: RecordedDeal) -> int | None:
    """Who led to the first trick, if there was one."""
    return int(deal["tricks"][0]["leader"]) if deal["tricks"] else None


def next_seat_leads(deal: RecordedDeal) -> bool:
    """By the rule forehand leads, but it has folded, so that a seat further on does."""
    return (
        deal.ruleset.first_lead == "forehand"
        and deal.forehand not in deal["active"]
        and first_leader(deal) is not None
    )


PLAY = deals(
    "play",
    ("Weli led", 33, lambda deal: any(trick["cards"][0][1] == "S6" for trick in deal["tricks"])),
    ("Weli wins a trick", 79, lambda deal: any(best_of(trick) == "S6" for trick in deal["tricks"])),
    ("Weli beaten by the ace of trumps", 25, lambda deal: meets_ace_of_trumps(deal, f"{deal['trump']}A")),
    ("Weli beats the ace of trumps", 2, lambda deal: meets_ace_of_trumps(deal, "S6")),
    ("Bells led and followed, Weli kept in hand", 28, weli_kept),
    ("forehand folded, next active seat leads", 3, next_seat_leads),
    (
        "leader is a striker who is not the dealer",
        28,
        lambda deal: (
            first_leader(deal) == deal.striker != deal.dealer and deal.ruleset.first_lead == "striker"
        ),
    ),
    ("only two active", 18, lambda deal: len(deal["active"]) == 2),
)

# ----------------------------------------------------------------------------- settlement


def short(deal: RecordedDeal) -> list[int]:
    """Players but bettlers who missed their quota."""
    return [seat for seat in deal["failed"] if seat not in deal.bettlers]


def bettler_succeeds(deal: RecordedDeal) -> bool:
    """A promise to take no trick is kept."""
    return any(seat not in deal["failed"] for seat in deal.bettlers)


def quota_reached(deal: RecordedDeal) -> bool:
    """An active player but a bettler reached the quota."""
    return any(seat not in deal["failed"] and seat not in deal.bettlers for seat in deal["active"])


def is_short_striker_with_a_trick(deal: RecordedDeal) -> bool:
    """The striker is short of the quota and won a trick, in a deal that pays out."""
    return deal.striker in deal["failed"] and deal["tricks_won"][deal.striker] > 0 and deal.pays_out


def short_striker_collects(deal: RecordedDeal) -> bool:
    """A striker short of the quota keeps the shares of its tricks, be they of no chips at all."""
    collects = deal["kind"] != "normal" or deal.ruleset.short_players_collect
    return is_short_striker_with_a_trick(deal) and collects


def share_of(deal: RecordedDeal) -> tuple[int, int]:
    """The share for a trick, and what does not divide."""
    pot: int = deal["pot_when_play_ends"] - sum(deal["bonuses"].values())
    return divmod(pot, deal.ruleset.hand_size)


def unclaimed(deal: RecordedDeal) -> bool:
    """Shares that nobody took stay in the pot."""
    share, _ = share_of(deal)
    return deal.pays_out and sum(deal["shares"].values()) < share * deal.ruleset.hand_size


def penalty_is(mode: str) -> OfDeal:
    """Somebody but a bettler pays a penalty of this kind."""
    return lambda deal: deal.ruleset.penalty == mode and bool(short(deal))


def striker_pays_twice(deal: RecordedDeal) -> bool:
    """The striker's penalty is doubled."""
    return deal.ruleset.striker_penalty_factor == 2 and deal.striker in deal["failed"]


SETTLE = deals(
    "settle",
    ("striker short", 89, lambda deal: deal.striker in deal["failed"]),
    ("another player short", 98, lambda deal: any(seat != deal.striker for seat in short(deal))),
    ("striker and another short", 69, lambda deal: deal.striker in deal["failed"] and len(short(deal)) > 1),
    ("bettler succeeds", 5, bettler_succeeds),
    ("bettler fails", 6, lambda deal: any(seat in deal["failed"] for seat in deal.bettlers)),
    (
        "bonus cut short by the pot",
        2,
        lambda deal: any(
            deal["bonuses"].get(str(seat), 0) < deal.ruleset.bettler_bonus
            for seat in deal.bettlers
            if seat not in deal["failed"]
        ),
    ),
    ("nobody reaches the quota", 2, lambda deal: not quota_reached(deal)),
    (
        "short striker collects, normal",
        25,
        lambda deal: short_striker_collects(deal) and deal["kind"] == "normal",
    ),
    (
        "short striker collects, muss",
        25,
        lambda deal: short_striker_collects(deal) and deal["kind"] != "normal",
    ),
    (
        "short striker gets nothing",
        8,
        lambda deal: is_short_striker_with_a_trick(deal) and not short_striker_collects(deal),
    ),
    ("unclaimed shares stay", 13, unclaimed),
    ("remainder stays", 34, lambda deal: deal.pays_out and share_of(deal)[1] > deal["remainder_to_striker"]),
    ("remainder to the striker", 2, lambda deal: deal["remainder_to_striker"] > 0),
    (
        "remainder to a short striker",
        2,
        lambda deal: deal["remainder_to_striker"] > 0 and deal.striker in deal["failed"],
    ),
    ("muss without payout", 65, lambda deal: not deal.pays_out),
    (
        "penalty held by the limit",
        5,
        lambda deal: any(due < before for _, before, due in deal.penalties_due()),
    ),
    (
        "penalty capped at the stack",
        15,
        lambda deal: any(deal.penalty(seat) < due for seat, _, due in deal.penalties_due()),
    ),
    (
        "penalty of 0 (empty stack)",
        2,
        lambda deal: any(deal.penalty(seat) == 0 < due for seat, _, due in deal.penalties_due()),
    ),
    ("penalty double ante", 38, penalty_is("double_ante")),
    ("penalty pot", 64, penalty_is("pot")),
    ("striker factor 2", 56, striker_pays_twice),
    (
        "striker factor 2 on double ante",
        3,
        lambda deal: striker_pays_twice(deal) and deal.ruleset.penalty == "double_ante",
    ),
    (
        "ante capped at the stack",
        3,
        lambda deal: any(paid < deal.ruleset.ante for paid in deal["antes"].values()),
    ),
    ("no chips in the pot afterwards", 12, lambda deal: deal["pot"] == 0),
)

# -------------------------------------------------------------------------- the next deal


MUSS = frozenset({"muss"})
SEVEN = frozenset({"seven_muss"})
NORMAL = frozenset({"normal"})


def followed(kinds: frozenset[str], by: str, *, failed: bool | None = None) -> OfDeal:
    """After a deal of these kinds, in which somebody failed or nobody did, comes a deal of that kind."""
    return lambda deal: (
        deal["kind"] in kinds and deal["next"] == by and (failed is None or bool(deal["failed"]) is failed)
    )


def under(muss_after: str, *rows: tuple[str, int, OfDeal]) -> list[RareEvent]:
    """Events of deals under one value of `muss_after`."""

    def with_option(occurs: OfDeal) -> OfDeal:
        return lambda deal: deal.ruleset.muss_after == muss_after and occurs(deal)

    return deals(
        f"next ({muss_after})", *[(name, count, with_option(occurs)) for name, count, occurs in rows]
    )


NEXT = [
    *under(
        "normal_failure",
        ("muss after a failure", 5, followed(NORMAL, "muss", failed=True)),
        ("normal after a muss with a failure", 6, followed(MUSS | SEVEN, "normal", failed=True)),
        ("normal after a clean normal deal", 2, followed(NORMAL, "normal", failed=False)),
    ),
    *under(
        "failure",
        ("muss after a failure", 34, followed(MUSS | SEVEN | NORMAL, "muss", failed=True)),
        ("normal", 5, followed(MUSS | SEVEN | NORMAL, "normal", failed=False)),
    ),
    *under(
        "clean_normal",
        ("normal after a muss", 56, followed(MUSS, "normal")),
        ("normal after a seven muss", 25, followed(SEVEN, "normal")),
        ("muss after a clean normal deal", 3, followed(NORMAL, "muss", failed=False)),
        ("normal after a normal deal with a failure", 44, followed(NORMAL, "normal", failed=True)),
        ("muss after all fold", 2, lambda deal: all_fold(deal) and deal["next"] == "muss"),
    ),
]

# ----------------------------------------------------------------------- the session's end


def reasons(session: RecordedSession) -> list[str]:
    """The ends that hold after the last ordinary deal."""
    stacks, target = session.last_ordinary["stacks"], session.options["target"]
    holds = {
        "deals": session.last_ordinary["deal"] + 1 >= session.options["deals"],
        "target": target is not None and max(stacks) >= target,
        "bust": min(stacks) == 0,
    }
    return [reason for reason, does_hold in holds.items() if does_hold]


END = sessions(
    "end",
    ("deals", 89, lambda session: session.result["end"] == "deals"),
    ("target", 4, lambda session: session.result["end"] == "target"),
    (
        "target reached exactly",
        2,
        lambda session: session.options["target"] in session.last_ordinary["stacks"],
    ),
    ("bust", 10, lambda session: session.result["end"] == "bust"),
    ("two reasons at once", 5, lambda session: len(reasons(session)) >= 2),
    ("two bust or more", 10, lambda session: session.last_ordinary["stacks"].count(0) >= 2),
)

# -------------------------------------------------------------------------- the tie-break


def tied(session: RecordedSession) -> list[int]:
    """The seats that tied for the most chips."""
    return list(session.result["tied"])


def tie_break(session: RecordedSession, count: int, *, dealer_tied: bool | None = None) -> bool:
    """A tie-break of `count` tied seats, the first dealer among them or not."""
    deal = session.tie_break
    if deal is None or len(tied(session)) != count:
        return False
    return dealer_tied is None or (deal["first_dealer"] in tied(session)) is dealer_tied


def places_of_tied(session: RecordedSession) -> list[int]:
    """The places of the tied after a tie-break, sorted."""
    return sorted(session.result["places"][seat] for seat in tied(session)) if session.tie_break else []


def in_tie_break(occurs: OfDeal) -> OfSession:
    """Something holds of the tie-break deal."""
    return lambda session: session.tie_break is not None and occurs(session.tie_break)


def untied_dealer_has_more(session: RecordedSession) -> bool:
    """A dealer who was not tied ends with more chips than a tied player, and stays behind."""
    deal = session.tie_break
    if deal is None or deal.dealer in tied(session):
        return False
    stacks = session.result["stacks"]
    return bool(stacks[deal.dealer] > max(stacks[seat] for seat in tied(session)))


TIE_BREAK = sessions(
    "tie-break",
    ("2 tied, dealer among them (two play)", 8, lambda session: tie_break(session, 2, dealer_tied=True)),
    ("2 tied, dealer not among them", 8, lambda session: tie_break(session, 2, dealer_tied=False)),
    ("3 tied", 2, lambda session: tie_break(session, 3)),
    ("3 tied, dealer not among them", 2, lambda session: tie_break(session, 3, dealer_tied=False)),
    ("4 tied or more", 2, lambda session: any(tie_break(session, count) for count in (4, 5, 6))),
    (
        "still equal, first place shared",
        2,
        lambda session: places_of_tied(session)[:2] == [1, 1],
    ),
    (
        "3 tied, one wins, two share place 2",
        2,
        lambda session: places_of_tied(session) == [1, 2, 2],
    ),
    ("dealer moved in the cut", 2, in_tie_break(dealer_moved)),
    ("seven muss", 2, in_tie_break(lambda deal: deal["kind"] == "seven_muss")),
    ("dealer names trumps", 2, in_tie_break(lambda deal: asks(deal, "trump"))),
    ("untied dealer ends with more chips", 2, untied_dealer_has_more),
    (
        "with cut ritual, two players, sprung",
        2,
        in_tie_break(lambda deal: len(deal["seats"]) == 2 and cut("sprung")(deal)),
    ),
    ("after a bust", 4, lambda session: session.tie_break is not None and "bust" in reasons(session)),
    (
        "after a target",
        2,
        lambda session: session.tie_break is not None and session.result["end"] == "target",
    ),
    (
        "off, tied players share",
        2,
        lambda session: bool(tied(session)) and not session.options["tie_break"],
    ),
)


def shared_further_down(session: RecordedSession) -> bool:
    """Two seats share a place behind the first."""
    places = [place for place in session.result["places"] if place > 1]
    return len(set(places)) < len(places)


PLACES = sessions("places", ("shared further down", 25, shared_further_down))

COVERAGE = [
    *(DEAL + SEVEN_MUSS + WELI_TURNED_UP + CUT + AUCTION + DEALER_ALONE + ODER + WEITER_ODER),
    *(DECLARE + EXCHANGE + DISCARD + PLAY + SETTLE + NEXT + END + TIE_BREAK + PLACES),
]


@cache
def all_sessions() -> list[RecordedSession]:
    """The recorded sessions, read once."""
    return recorded_sessions()


@pytest.mark.parametrize("event", COVERAGE, ids=lambda event: f"{event.group}: {event.name}")
def test_rare_event_occurs(event: RareEvent) -> None:
    """A rare event of the vectors' table occurs in exactly as many sessions as the table says."""
    assert sum(event.occurs(session) for session in all_sessions()) == event.session_count


def rows_of_the_page() -> dict[tuple[str, str], int]:
    """The vectors' own table: group and event, and in how many sessions it occurs."""
    _, table = (VECTORS / "README.md").read_text(encoding="utf-8").split("## Coverage\n")
    rows = {}
    for group, events in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, flags=re.MULTILINE):
        for event in events.split("; "):
            name, count = event.rsplit(" ", 1)
            if count.isdigit():
                rows[group, name] = int(count)
    return rows


def test_the_table_is_the_one_of_the_vectors() -> None:
    """Groups, names and counts are those of the page that came with the vectors, every row of it."""
    assert {(event.group, event.name): event.session_count for event in COVERAGE} == rows_of_the_page()


def test_the_table_is_whole() -> None:
    """Every row of the vectors' table is asserted, once, over all their sessions."""
    assert len(all_sessions()) == 103
    assert len({(event.group, event.name) for event in COVERAGE}) == len(COVERAGE) == 138
