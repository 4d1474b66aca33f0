"""Text from strangers cannot control, hide or overflow anything."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.text import clean, counted, escape, is_bot_name

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=400)
"""Every code point, lone surrogates included."""


@pytest.mark.parametrize("name", ["a", "0", "alice", "x.y_z-1", "a" * 32, "con", "aux."])
def test_names_within_the_rule_are_taken(name: str) -> None:
    """Small letters, digits and three signs make a name."""
    assert is_bot_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "Alice",
        ".a",
        "-a",
        "_a",
        "a" * 33,
        "a b",
        " a",
        "a\n",
        "a/b",
        "../x",
        "\u0430lice",
        "alice\u200b",
    ],
)
def test_names_outside_the_rule_are_not(name: str) -> None:
    """Capitals, paths, white space, look-alikes and invisible characters make no name."""
    assert not is_bot_name(name)


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("1.2.3", "1.2.3"),
        ("  spaced out  ", "spaced out"),
        ("\x1b[2Jboo", "[2Jboo"),
        ("a\x00b", "ab"),
        ("a\u202eb", "ab"),
        ("alice\u200b", "alice"),
        ("line\nline\ttab\u2028end", "line line tab end"),
        ("\ufb01ne", "fine"),
        ("e\u0301", "\u00e9"),
        ("Größe ♥ 七", "Größe ♥ 七"),
        ("\ud800x", "x"),
        ("\ue000x", "x"),
        ("", ""),
    ],
)
def test_cleaning_by_example(dirty: str, cleaned: str) -> None:
    """What is readable stays, in one normal form; what controls or hides goes."""
    assert clean(dirty, 64) == cleaned


def test_cleaning_cuts() -> None:
    """No more characters than allowed are left, also when normalising makes them more."""
    assert clean("x" * 1000, 64) == "x" * 64
    assert len(clean("\ufdfa" * 1000, 64)) <= 64
    assert clean("x" * 63 + " y", 64) == "x" * 63


@given(ANY_TEXT, st.integers(1, 80))
def test_cleaned_text_is_harmless(text: str, max_length: int) -> None:
    """Cleaned text is short, printable, normal, and stays as it is when cleaned again."""
    cleaned = clean(text, max_length)
    assert len(cleaned) <= max_length
    assert cleaned.isprintable()
    assert cleaned == cleaned.strip()
    assert unicodedata.is_normalized("NFKC", cleaned)
    assert clean(cleaned, max_length) == cleaned


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain ♥", "plain ♥"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb", "a\\nb"),
        ("\x9b", "\\x9b"),
        ("\u202e", "\\u202e"),
        ("\ud800", "\\ud800"),
    ],
)
def test_escaping_by_example(raw: str, shown: str) -> None:
    """What a terminal would act upon is written out."""
    assert escape(raw) == shown


@given(ANY_TEXT)
def test_escaped_text_is_printable(text: str) -> None:
    """No control code of any kind reaches the terminal."""
    assert escape(text).isprintable()


def test_one_thing_is_not_several() -> None:
    """The noun goes with the number."""
    assert [counted(count, "session") for count in (0, 1, 2)] == ["0 sessions", "1 session", "2 sessions"]
