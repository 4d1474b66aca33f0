import unicodedata
from pathlib import Path

import pytest

from arena.auth import TOKEN_PREFIX, token_hash
from arena.enrolment import bar_version, enrol, strike_off
from arena.refusals import Refusal, RefusedError
from arena.store import Registry, RegistryTournament, Sighting, StoreError, StoreLockedError
from arena.text import is_bot_name

AT = "2026-11-29T10:00:00+00:00"
AT_US = 1_795_946_400_000_000


def sighting(version: str, digest: str = "", second: int = 0) -> Sighting:
    """That alice came as a version."""
    return Sighting(
        bot="alice", version=version, build_digest=digest, at=f"2026-11-29T10:00:{second:02}+00:00"
    )


def test_a_registered_bot_is_kept_without_its_token(tmp_path: Path) -> None:
    """The hash survives a restart; the token is in no file."""
    with Registry.open(tmp_path) as registry:
        token = enrol(registry, "alice", AT)
    assert token.startswith(TOKEN_PREFIX)
    with Registry.open(tmp_path) as registry:
        (bot,) = registry.bots()
    assert (bot.name, bot.token_hash, bot.added_at_us, bot.is_valid) == (
        "alice",
        token_hash(token),
        AT_US,
        True,
    )
    secret = token.removeprefix(TOKEN_PREFIX).encode()
    assert not [path for path in tmp_path.iterdir() if secret in path.read_bytes()]


@pytest.mark.parametrize(
    "name",
    [
        " alice",
        "alice ",
        "alice\u200b",
        "Alice",
        "\u0430lice",
        "al\x1b[2Jice",
        "x/../../y",
        "",
        "-a",
        "a" * 33,
    ],
)
def test_names_that_look_like_others_are_refused(tmp_path: Path, name: str) -> None:
    """White space, letter case, other scripts, control codes and paths make no name; the rule is told."""
    with Registry.open(tmp_path) as registry:
        enrol(registry, "alice", AT)
        with pytest.raises(RefusedError) as caught:
            enrol(registry, name, AT)
        assert [bot.name for bot in registry.bots()] == ["alice"]
    assert caught.value.refusal is Refusal.BAD_INPUT
    assert str(caught.value).isprintable()


def test_a_name_is_its_own_key() -> None:
    """Whatever the rule allows is unchanged by NFKC and case folding, so no two names have one key."""
    allowed = [char for char in map(chr, range(0x2000)) if is_bot_name("a" + char)]
    assert len(allowed) == 26 + 10 + 3
    for char in allowed:
        assert unicodedata.normalize("NFKC", char).casefold() == char


def test_a_name_is_given_once(tmp_path: Path) -> None:
    """A second registration is refused; after a revocation it gives another token."""
    with Registry.open(tmp_path) as registry:
        first = enrol(registry, "alice", AT)
        with pytest.raises(RefusedError, match="revoke it") as caught:
            enrol(registry, "alice", AT)
        assert caught.value.refusal is Refusal.ALREADY
        strike_off(registry, "alice", AT)
        revoked = registry.bot("alice")
        assert revoked is not None
        assert not revoked.is_valid
        second = enrol(registry, "alice", AT)
        assert second != first
        again = registry.bot("alice")
        assert again is not None
        assert again.token_hash == token_hash(second)


def test_who_is_not_registered_cannot_be_revoked(tmp_path: Path) -> None:
    """Neither a stranger, whose name is shown escaped, nor somebody who was revoked already."""
    with Registry.open(tmp_path) as registry:
        enrol(registry, "alice", AT)
        strike_off(registry, "alice", AT)
        for name in ("alice", "bob", "\x1b[2J"):
            with pytest.raises(RefusedError) as caught:
                strike_off(registry, name, AT)
            assert caught.value.refusal is Refusal.UNKNOWN
            assert str(caught.value).isprintable()


def test_versions_are_kept_in_the_order_of_their_coming(tmp_path: Path) -> None:
    """A version is written down once; one that was revoked is named as barred."""
    with Registry.open(tmp_path) as registry:
        enrol(registry, "alice", AT)
        registry.see_versions([sighting("2", "beef", 2), sighting("1", "cafe", 1)])
        registry.see_versions([sighting("1", "f00d", 3)])
        with pytest.raises(RefusedError, match="its versions: 1, 2"):
            bar_version(registry, "alice", "3", AT)
        bar_version(registry, "alice", "1", AT)
        bot = registry.bot("alice")
    assert bot is not None
    assert [(version.version, version.build_digest) for version in bot.versions] == [
        ("1", "cafe"),
        ("2", "beef"),
    ]
    assert bot.barred_versions == {"1"}


def test_of_many_versions_the_latest_are_named(tmp_path: Path) -> None:
    """A sentence stays one, however many versions a bot has come as."""
    with Registry.open(tmp_path) as registry:
        enrol(registry, "alice", AT)
        registry.see_versions([sighting(f"1.{number}", second=number) for number in range(50)])
        with pytest.raises(RefusedError, match=r"its latest versions: 1\.45, 1\.46, 1\.47, 1\.48, 1\.49$"):
            bar_version(registry, "alice", "3", AT)


def test_the_admin_hash_is_kept(tmp_path: Path) -> None:
    """There is none at first; the latest one counts."""
    with Registry.open(tmp_path) as registry:
        assert registry.admin_hash() is None
        registry.set_admin_hash(b"a" * 32)
        registry.set_admin_hash(b"b" * 32)
    with Registry.open(tmp_path) as registry:
        assert registry.admin_hash() == b"b" * 32


def test_numbers_of_tournaments_are_not_used_twice(tmp_path: Path) -> None:
    """Neither one that was entered nor one whose folder a crash left behind is given again."""
    with Registry.open(tmp_path) as registry:
        assert registry.next_number() == 1
        registry.put_tournament(RegistryTournament(number=1, bot_folder=""))
        assert registry.next_number() == 2
        registry.tournament_folder(2).mkdir(parents=True)
        assert registry.next_number() == 3
        assert registry.tournaments() == (RegistryTournament(number=1, bot_folder=""),)


def test_one_arena_a_folder(tmp_path: Path) -> None:
    """A second registry on the same folder is refused, naming the process of the first."""
    with (
        Registry.open(tmp_path),
        pytest.raises(StoreLockedError, match=r"in use by another arena \(process \d+\)"),
    ):
        Registry.open(tmp_path)
    with Registry.open(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    """A folder below a plain file is refused with the reason."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        Registry.open(tmp_path / "file" / "data")
