import pytest

from arena.address import is_address, is_loopback


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:7373", "127.8.9.10:1", "localhost:7373", "[::1]:7373", "unix:/run/arena.sock"],
)
def test_loopback(address: str) -> None:
    """Addresses that only this machine reaches."""
    assert is_address(address)
    assert is_loopback(address)


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0:7373", "[::]:7373", "10.0.0.7:7373", "arena.example:7373", "localhost.example:7373"],
)
def test_beyond_loopback(address: str) -> None:
    """Addresses that others reach, or may."""
    assert is_address(address)
    assert not is_loopback(address)


@pytest.mark.parametrize(
    "text", ["", "7373", ":7373", "host", "host:", "host:port", "host:65536", "host:-1", "host:٧", "unix:"]
)
def test_no_address(text: str) -> None:
    """What is no host with a port is none."""
    assert not is_address(text)
