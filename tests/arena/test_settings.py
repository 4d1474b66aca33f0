import re
from dataclasses import fields
from pathlib import Path

import pytest

from arena.door import DoorLimits
from arena.link import LinkLimits, most_sessions, sessions_bytes
from arena.sections import ConfigError
from arena.settings import LimitsSection, read_settings


def test_an_empty_file_gives_the_defaults() -> None:
    """What the file leaves out is what the parts have by themselves."""
    settings = read_settings("")
    assert settings.link == LinkLimits()
    assert settings.door == DoorLimits()
    assert settings.serve.address == "127.0.0.1:7373"
    assert not settings.serve.insecure


def test_every_limit_can_be_set() -> None:
    """The section has the limits of links and of the door, all of them and no others."""
    known = {field.name for part in (LinkLimits, DoorLimits) for field in fields(part)}
    assert set(LimitsSection.__struct_fields__) == known
    doubled = {name: 2 * getattr(LimitsSection(), name) for name in known}
    settings = read_settings("", doubled)
    for part in (settings.link, settings.door):
        for field in fields(part):
            assert getattr(part, field.name) == doubled[field.name]


def test_the_docs_have_every_limit_with_its_default() -> None:
    """The table of docs/serving.md is that of the code."""
    docs = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", docs, re.MULTILINE))
    limits = LimitsSection()
    assert table == {name: str(getattr(limits, name)) for name in LimitsSection.__struct_fields__}


def test_given_limits_come_before_the_file() -> None:
    """A limit of the command line replaces that of the file, and leaves the others."""
    settings = read_settings("[limits]\nmax_streams = 7\nmax_watchers = 8", {"max_streams": 9})
    assert (settings.door.max_streams, settings.door.max_watchers) == (9, 8)


def test_a_bot_can_come_back_to_all_its_sessions_or_the_limits_are_refused() -> None:
    """One session more, or one byte less, than can be offered again at once is told in a sentence."""
    small = "[limits]\nmax_pending_bytes = 65536"
    assert read_settings(small, {"max_sessions": 16}).link.max_sessions == 16
    with pytest.raises(ConfigError) as caught:
        read_settings(small, {"max_sessions": 17})
    assert str(caught.value) == (
        "limits.max_sessions = 17: allowed is up to 16 with max_pending_bytes = 65536, so that a bot can "
        "come back to all its sessions (this many need 67440 bytes)"
    )
    edge = sessions_bytes(1000)
    assert read_settings("", {"max_sessions": 1000, "max_pending_bytes": edge}).link.max_pending_bytes == edge
    with pytest.raises(ConfigError, match=r"max_sessions = 1000: allowed is up to 999 with"):
        read_settings("", {"max_sessions": 1000, "max_pending_bytes": edge - 1})


def test_the_docs_say_how_many_sessions_fit() -> None:
    """The divisor, what is taken off before and the example are those of the code."""
    docs = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    (rule,) = re.findall(r"\(`max_pending_bytes` - (\d+)\) / (\d+), rounded down: (\d+)", docs)
    one = sessions_bytes(1) - sessions_bytes(0)
    most = most_sessions(LinkLimits().max_pending_bytes)
    assert [int(number) for number in rule] == [sessions_bytes(0), one, most]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[serve]\naddres = 'x:1'", "unknown key serve.addres: did you mean address?"),
        ("[serve]\ndata = 3", "serve.data = 3: allowed is the path of a folder"),
        ("[serve]\ninsecure = 1", "serve.insecure = 1: allowed is true or false"),
        ("[limits]\nhello_ms = 0", "limits.hello_ms = 0: allowed is a whole number of milliseconds, 1 to"),
        ("[limits]\nmax_streams_per_bot = 1", "limits.max_streams_per_bot = 1: allowed is a whole number, 2"),
        ("[limits]\nmax_stream = 1", "unknown key limits.max_stream: did you mean max_streams?"),
        ("[server]", "unknown key server: did you mean serve?"),
        ("serve = 1", "serve = 1: allowed is a table"),
        ("[serve", "the file is not usable TOML"),
    ],
)
def test_what_is_wrong_is_one_sentence(text: str, sentence: str) -> None:
    """Each mistake names its key and what is allowed."""
    with pytest.raises(ConfigError) as caught:
        read_settings(text)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)
