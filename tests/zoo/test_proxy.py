"""The proxy's own reading of what it carries."""

from tests.zoo.proxy import Frames

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, payload: bytes) -> bytes:
    """An HTTP/2 frame of a connection."""
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + bytes(4) + payload


def test_pings_are_counted_however_they_are_cut() -> None:
    """Pings count, answers to pings and data that looks like one do not, byte by byte and all at once."""
    ping, answer, data = frame(6, 0, bytes(8)), frame(6, 1, bytes(8)), frame(0, 0, frame(6, 0, bytes(8)))
    said = PREFACE + ping + data + answer + ping
    for size in (1, 7, len(said)):
        frames = Frames(PREFACE)
        pieces = [said[at : at + size] for at in range(0, len(said), size)]
        assert sum(frames.pings_in(piece) for piece in pieces) == 2
