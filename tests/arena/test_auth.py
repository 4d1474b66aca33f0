"""Whose token it is, found out in the same time whatever is offered, and what follows a wrong one."""

import hmac
from hashlib import sha256

import grpc
import pytest

from arena import auth
from arena.auth import AdminPass, Porter, TokenRing, new_token, token_hash
from arena.clock import SystemTime
from arena.door import Door, DoorLimits

NAMES = ("alice", "bob", "carol")


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, bytes]]:
    """Every comparison of secrets, which is the standard library's that takes the same time for all."""
    pairs: list[tuple[bytes, bytes]] = []
    assert vars(auth)["compare_digest"] is hmac.compare_digest

    def compare(offered: bytes, kept: bytes) -> bool:
        pairs.append((offered, kept))
        return hmac.compare_digest(offered, kept)

    monkeypatch.setattr(auth, "compare_digest", compare)
    return pairs


def test_every_token_is_compared_whichever_is_offered(compared: list[tuple[bytes, bytes]]) -> None:
    """The first, the last, one that differs in its last letter and none: as many comparisons, of hashes."""
    ring = TokenRing()
    tokens = {name: ring.issue(name) for name in NAMES}
    near = tokens["alice"][:-1] + ("A" if tokens["alice"][-1] != "A" else "B")
    expected = {tokens["alice"]: "alice", tokens["carol"]: "carol", near: None, new_token(): None, "": None}
    for token, name in expected.items():
        compared.clear()
        assert ring.bot_of(f"Bearer {token}") == name
        hashed = sha256(token.encode()).digest()
        assert compared == [(hashed, token_hash(tokens[bot])) for bot in NAMES]


def test_what_is_no_token_is_nobody(compared: list[tuple[bytes, bytes]]) -> None:
    """Nothing, and another scheme, name nobody, and nothing is compared."""
    ring = TokenRing()
    token = ring.issue("alice")
    assert [ring.bot_of(offered) for offered in (None, token, f"Basic {token}")] == [None] * 3
    assert compared == []


def test_a_token_that_was_replaced_or_revoked_is_nobodys() -> None:
    """One token a bot."""
    ring = TokenRing()
    first, second = ring.issue("alice"), ring.issue("alice")
    assert [ring.bot_of(f"Bearer {token}") for token in (first, second)] == [None, "alice"]
    ring.revoke("alice")
    assert ring.bot_of(f"Bearer {second}") is None


def test_the_admin_token_is_compared_by_its_hash(compared: list[tuple[bytes, bytes]]) -> None:
    """In the same way."""
    token, other = new_token(), new_token()
    admin = AdminPass(token_hash(token))
    assert [admin.admits(f"Bearer {offered}") for offered in (token, other)] == [True, False]
    assert compared == [(token_hash(offered), token_hash(token)) for offered in (token, other)]


class Caller:
    """A call from somewhere."""

    def __init__(self, peer: str) -> None:
        self.code: grpc.StatusCode | None = None
        self.details = ""
        self._peer = peer

    def peer(self) -> str:
        """Where it comes from."""
        return self._peer

    def set_code(self, code: grpc.StatusCode) -> None:
        """How it will end."""
        self.code = code

    def set_details(self, details: str) -> None:
        """With which sentence."""
        self.details = details


async def test_wrong_tokens_are_counted_by_address() -> None:
    """From whichever port; another address has its own count, and what is held back is given up again."""
    door = Door(DoorLimits(free_failures=1, hold_ms=1, max_held=1))
    porter = Porter(door, SystemTime())
    for peer in ("ipv4:10.0.0.7:1", "ipv4:10.0.0.7:2", "ipv4:10.0.0.8:1", "ipv4:10.0.0.7:3"):
        caller = Caller(peer)
        await porter.refuse_token(caller, "no valid token")  # type: ignore[arg-type]
        assert (caller.code, caller.details) == (grpc.StatusCode.UNAUTHENTICATED, "no valid token")
    assert (door.failures("ipv4:10.0.0.7"), door.failures("ipv4:10.0.0.8")) == (3, 1)
    assert door.hold("ipv4:10.0.0.7", SystemTime().now_us()) == 1
