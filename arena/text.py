"""Text from strangers, cleaned on the way in, escaped on the way out to a terminal; and counts in words.

Pure functions on strings. A bot's name has a rule of its own; every other text (versions,
digests, notes) may be in any script, but holds no character that controls anything.
"""

import re
import unicodedata
from typing import Final

MAX_BOT_NAME_LENGTH: Final = 32
BOT_NAME_RULE: Final = (
    f"1 to {MAX_BOT_NAME_LENGTH} of the characters a-z 0-9 . _ -, the first a letter or digit"
)
"""What `is_bot_name` asks for, for messages."""

_BOT_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{MAX_BOT_NAME_LENGTH - 1}}}")

_KEPT_CLASSES: Final = "LNPS"
"""Letters, numbers, punctuation, symbols; of the marks only those that take no room of their own."""
_KEPT_MARKS: Final = ("Mn", "Mc")


def is_bot_name(text: str) -> bool:
    """Whether a text may be a bot's name; `BOT_NAME_RULE` says what that is."""
    return _BOT_NAME.fullmatch(text) is not None


def clean(text: str, max_length: int) -> str:
    """A stranger's text in Unicode's form NFKC, of allowed characters, at most `max_length` of them.

    White space of every kind becomes a plain space, none at the ends. Control codes, direction
    marks, invisible and unassigned characters are left out. Cleaning twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text.strip()[:max_length].rstrip()
    # Whoever sends much more than is allowed does not get all of it looked at.
    text = unicodedata.normalize("NFKC", text[: 4 * max_length])
    kept = "".join([" " if char.isspace() else char for char in text if char.isspace() or _is_kept(char)])
    # Leaving characters out can bring others together that NFKC joins.
    return unicodedata.normalize("NFKC", kept).strip()[:max_length].rstrip()


def escape(text: str) -> str:
    r"""A text for one line of a terminal: what cannot be printed is written as `\x1b` or `\u202e`."""
    if text.isprintable():
        return text
    return "".join([char if char.isprintable() else _escaped(char) for char in text])


def counted(count: int, noun: str) -> str:
    """A number of things in words: `1 session`, `2 sessions`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _is_kept(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] in _KEPT_CLASSES or category in _KEPT_MARKS


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
