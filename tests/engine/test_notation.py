"""Texts of cards and actions: canonical ones and back, and what people are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.actions import Action, Bid, Call, Contract, Declare, Discard, Exchange, NameTrump, Play
from engine.cards import PACK_SIZE, WELI, Suit, card_text, parse_card, parse_suit
from engine.errors import NotationError
from engine.notation import (
    CardStyle,
    Language,
    action_text,
    card_name,
    parse_action,
    show_card,
    show_suit,
)

CARDS = st.integers(0, PACK_SIZE - 1)
CARD_TUPLES = st.lists(CARDS, max_size=7).map(tuple)

ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(NameTrump, st.sampled_from(Suit)),
    st.builds(Bid, st.sampled_from(Contract)),
    st.builds(Declare, st.sampled_from(Call)),
    st.builds(Exchange, CARD_TUPLES),
    st.builds(Discard, CARD_TUPLES),
    st.builds(Play, CARDS),
)


@given(ACTIONS)
def test_parsing_undoes_formatting(action: Action) -> None:
    """The text of any action, also of one that no hand allows, is read back as that action."""
    assert parse_action(action_text(action)) == action


WORDS = (
    "trump",
    "bid",
    "exchange",
    "discard",
    "card",
    "",
    *Call,
    *Contract,
    *"ELHS",
    "EA",
    "S6",
    "s6",
    "E10",
    "X",
)


@given(st.one_of(st.text(max_size=20), st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)))
def test_formatting_undoes_parsing(text: str) -> None:
    """A text is either refused as unreadable or is the one text of the action that it names."""
    try:
        action = parse_action(text)
    except NotationError:
        return
    assert action_text(action) == text


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (NameTrump(Suit.ACORNS), "trump E"),
        (Bid(Contract.WEITER_ODER), "bid weiter-oder"),
        (Declare(Call.FOLD), "fold"),
        (Declare(Call.LAST), "last"),
        (Exchange((0, 9)), "exchange E7 L8"),
        (Exchange(()), "exchange"),
        (Discard((WELI,)), "discard S6"),
        (Play(21), "card HO"),
    ],
)
def test_canonical_texts(action: Action, text: str) -> None:
    """The texts are those of the rules."""
    assert action_text(action) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no action ''"),
        ("raise 10", "it begins with one of"),
        ("fold now", "nothing follows a declaration"),
        ("trump", "exactly one word follows"),
        ("trump EL", "no suit 'EL'"),
        ("bid pass", "a bid is one of weiter, weiter-oder, oder, schlagen"),
        ("bid", "a bid is one of"),
        ("card A♣", "no card 'A♣'"),
        ("card ea", "no card 'ea'"),
        ("exchange E7  L8", "no card ''"),
        ("exchange ", "no card ''"),
    ],
)
def test_an_unreadable_text_is_refused_in_a_sentence(text: str, said: str) -> None:
    """A text that names no action is refused by what is wrong with it; French aliases are never stored."""
    with pytest.raises(NotationError) as refused:
        parse_action(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_canonical_cards() -> None:
    """All 33 cards have texts of their own, in the order of the rules, and are read back."""
    texts = [card_text(card) for card in range(PACK_SIZE)]
    assert texts[0] == "E7"
    assert texts[7] == "EA"
    assert texts[27] == "ST"
    assert texts[WELI] == "S6"
    assert len(set(texts)) == 33
    assert [parse_card(text) for text in texts] == list(range(33))
    assert [parse_suit(letter) for letter in "ELHS"] == list(Suit)


@pytest.mark.parametrize("style", CardStyle)
@pytest.mark.parametrize("weli_as_joker", [False, True])
def test_no_two_cards_look_alike(style: CardStyle, weli_as_joker: bool) -> None:
    """In every style all 33 cards look different."""
    shown = [show_card(card, style, weli_as_joker=weli_as_joker) for card in range(PACK_SIZE)]
    assert len(set(shown)) == 33


def test_no_text_names_two_cards() -> None:
    """What one style shows for a card no other style shows for another."""
    for card in range(PACK_SIZE):
        others = {
            show_card(other, style) for other in range(PACK_SIZE) for style in CardStyle if other != card
        }
        assert not {show_card(card, style) for style in CardStyle} & others


@pytest.mark.parametrize(
    ("canonical", "french", "ascii_text"),
    [
        ("EA", "A♣", "AC"),
        ("LK", "K♠", "KS"),
        ("HO", "Q♥", "QH"),
        ("HU", "J♥", "JH"),
        ("ST", "10♦", "10D"),
        ("S7", "7♦", "7D"),
        ("S6", "6♦", "6D"),
    ],
)
def test_french_suits(canonical: str, french: str, ascii_text: str) -> None:
    """French suits stand for the German ones as the rules pair them."""
    card = parse_card(canonical)
    assert show_card(card, CardStyle.CANONICAL) == canonical
    assert show_card(card, CardStyle.FRENCH) == french
    assert show_card(card, CardStyle.FRENCH_ASCII) == ascii_text
    assert ascii_text.isascii()


def test_weli_as_joker_changes_one_card() -> None:
    """The option shows the Weli as the Joker of a French pack and nothing else otherwise."""
    for style in CardStyle:
        plain = [show_card(card, style) for card in range(PACK_SIZE)]
        joker = [show_card(card, style, weli_as_joker=True) for card in range(PACK_SIZE)]
        assert plain[:WELI] == joker[:WELI]
        assert joker[WELI] == ("S6" if style is CardStyle.CANONICAL else "Joker")


def test_suits_are_named_in_their_pack() -> None:
    """Suits bear the names of the pack that is shown."""
    assert [show_suit(suit, CardStyle.CANONICAL) for suit in Suit] == ["Acorns", "Leaves", "Hearts", "Bells"]
    for style in (CardStyle.FRENCH, CardStyle.FRENCH_ASCII):
        assert [show_suit(suit, style) for suit in Suit] == ["Clubs", "Spades", "Hearts", "Diamonds"]


@pytest.mark.parametrize(
    ("canonical", "english", "german"),
    [
        ("EA", "Ace of Acorns", "Eichel-Sau"),
        ("LK", "King of Leaves", "Laub-König"),
        ("HO", "Ober of Hearts", "Herz-Ober"),
        ("SU", "Unter of Bells", "Schellen-Unter"),
        ("E7", "Seven of Acorns", "Eichel-Sieben"),
        ("ST", "Ten of Bells", "Schellen-Zehn"),
        ("S6", "Weli", "Weli"),
    ],
)
def test_card_names(canonical: str, english: str, german: str) -> None:
    """Cards have names in English and German."""
    assert card_name(parse_card(canonical), Language.ENGLISH) == english
    assert card_name(parse_card(canonical), Language.GERMAN) == german


@pytest.mark.parametrize("language", Language)
def test_names_are_distinct(language: Language) -> None:
    """No two cards share a name."""
    assert len({card_name(card, language) for card in range(PACK_SIZE)}) == 33
