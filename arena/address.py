"""Addresses as people write them: `host:port`, `[::1]:port`, or `unix:` and a path."""

from ipaddress import ip_address


def host_of(address: str) -> str:
    """The host of an address, without brackets and port; empty for every host, and for a Unix socket."""
    return "" if address.startswith("unix:") else address.rpartition(":")[0].strip("[]")


def is_loopback(address: str) -> bool:
    """Whether an address is reached from this machine alone.

    A name other than `localhost` is not taken for one, whatever it stands for today.
    """
    if address.startswith("unix:") or host_of(address) == "localhost":
        return True
    try:
        return ip_address(host_of(address)).is_loopback
    except ValueError:
        return False


def is_address(text: str) -> bool:
    """Whether a text is a host and a port number, or `unix:` and a path."""
    if text.startswith("unix:"):
        return len(text) > len("unix:")
    host, colon, port = text.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and int(port) < 65_536
    return bool(host and colon and is_port)
