import pytest

from arena.door import REMEMBERED_ADDRESSES, Door, DoorLimits, address_of

SECOND_US = 1_000_000


def test_streams_of_a_bot_are_counted() -> None:
    """As many streams as are allowed come in, the next one is refused, and leaving makes room."""
    door = Door(DoorLimits(max_streams_per_bot=2))
    assert door.enter("alice") is None
    assert door.enter("alice") is None
    refusal = door.enter("alice")
    assert refusal is not None
    assert "2 streams" in refusal
    assert door.enter("bob") is None
    door.leave("alice")
    assert door.enter("alice") is None


def test_streams_in_all_are_counted() -> None:
    """A bot that has none open is refused when the arena is full."""
    door = Door(DoorLimits(max_streams=2))
    assert door.enter("alice") is None
    assert door.enter("bob") is None
    assert door.enter("carol") is not None
    door.leave("bob")
    assert door.enter("carol") is None


def test_watchers_are_counted() -> None:
    """The watcher above the limit is refused."""
    door = Door(DoorLimits(max_watchers=1))
    assert door.enter_watcher() is None
    assert door.enter_watcher() is not None
    door.leave_watcher()
    assert door.enter_watcher() is None


def test_wrong_tokens_are_held_back_after_a_few() -> None:
    """The first wrong tokens of an address are answered at once, those after them later, others' not."""
    door = Door(DoorLimits(free_failures=2, hold_ms=700))
    assert [door.hold("ipv4:10.0.0.7", 0) for _ in range(4)] == [0, 0, 700, 700]
    assert door.failures("ipv4:10.0.0.7") == 4
    assert door.hold("ipv4:10.0.0.8", 0) == 0


def test_wrong_tokens_are_forgotten_after_their_window() -> None:
    """An address begins anew once its window is over, and not before."""
    door = Door(DoorLimits(free_failures=1, failure_window_ms=1000, hold_ms=5))
    assert [door.hold("ipv4:10.0.0.7", at) for at in (0, SECOND_US)] == [0, 5]
    assert door.hold("ipv4:10.0.0.7", SECOND_US + 1) == 0
    door.hold("ipv4:10.0.0.8", SECOND_US + 1)
    assert door.failure_count == 2


def test_answers_held_back_are_bounded() -> None:
    """With as many held back as are allowed, the next is answered at once; a release makes room."""
    door = Door(DoorLimits(free_failures=0, hold_ms=5, max_held=1))
    assert [door.hold("ipv4:10.0.0.7", 0) for _ in range(2)] == [5, 0]
    door.release()
    assert door.hold("ipv4:10.0.0.7", 0) == 5


def test_remembered_addresses_are_bounded() -> None:
    """A flood of addresses forgets the ones that were quiet longest."""
    door = Door(DoorLimits())
    for number in range(REMEMBERED_ADDRESSES + 1):
        door.hold(f"ipv4:{number}", 0)
    assert door.failures("ipv4:0") == 0
    assert door.failures("ipv4:1") == 1


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:127.0.0.1:51324", "ipv4:127.0.0.1"),
        ("ipv6:[::1]:51324", "ipv6:[::1]"),
        ("ipv6:%5B::1%5D:51324", "ipv6:%5B::1%5D"),
        ("unix:", "unix"),
        ("unix:/run/arena.sock", "unix"),
    ],
)
def test_the_port_of_a_peer_does_not_count(peer: str, address: str) -> None:
    """Two connections of one machine are one address."""
    assert address_of(peer) == address
