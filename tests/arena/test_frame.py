import io
import sys
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.frame import FRAME_LIMIT_BYTES, FrameError, is_frame, pack_frame, unpack_frame

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@given(st.binary(max_size=2000))
def test_unpacking_is_the_inverse_of_packing(text: bytes) -> None:
    """What was packed comes out again, and the same text gives the same frame."""
    assert unpack_frame(pack_frame(text)) == text
    assert pack_frame(text) == pack_frame(text)


def test_a_frame_is_told_from_text() -> None:
    """By its first bytes, with which no text begins."""
    assert is_frame(pack_frame(b"text"))
    assert not is_frame(b"text")
    assert not is_frame(b"")


def test_frames_in_a_row_are_a_zstd_file() -> None:
    """Frames that are written one after the other are read by any zstd reader as one text."""
    file = io.BytesIO(pack_frame(b"one\n") + pack_frame(b"two\n"))
    with zstd.open(file) as reader:
        assert reader.read() == b"one\ntwo\n"


def test_every_cut_frame_is_refused() -> None:
    """A frame that ends too early, or goes on too long, is refused."""
    frame = pack_frame(b"some text " * 20)
    for length in range(len(frame)):
        with pytest.raises(FrameError):
            unpack_frame(frame[:length])
    with pytest.raises(FrameError, match="follow the end"):
        unpack_frame(frame + frame)


def test_changed_byte_is_refused() -> None:
    """The checksum of a frame finds a changed byte of its text."""
    frame = bytearray(pack_frame(bytes(range(256))))
    frame[-100] ^= 1
    with pytest.raises(FrameError):
        unpack_frame(bytes(frame))


def bomb(size: int, *, told: bool) -> bytes:
    """A small frame that unpacks to `size` zero bytes and says so, or not."""
    compressor = zstd.ZstdCompressor()
    if told:
        compressor.set_pledged_input_size(size)
    chunk = bytes(2**20)
    parts = [compressor.compress(chunk) for _ in range(size // len(chunk))]
    return b"".join([*parts, compressor.flush()])


@pytest.mark.parametrize("told", [True, False])
def test_small_frame_that_unpacks_to_much_is_refused_at_once(told: bool) -> None:
    """A frame that would unpack to more than the limit is refused without being unpacked (X16)."""
    frame = bomb(2 * FRAME_LIMIT_BYTES, told=told)
    assert len(frame) < 100_000
    tracemalloc.start()
    started = time.perf_counter()
    with pytest.raises(FrameError):
        unpack_frame(frame)
    assert time.perf_counter() - started < 1
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_frame_that_lies_about_its_size_is_refused() -> None:
    """A frame that holds more than it says is refused, and no more than it says is unpacked."""
    frame = bytearray(pack_frame(b"x" * 200))
    said = frame.index(200, 4)
    frame[said] = 100
    with pytest.raises(FrameError):
        unpack_frame(bytes(frame))


def test_limit_is_exact() -> None:
    """A text of exactly the limit is unpacked, one byte more is not."""
    assert unpack_frame(pack_frame(b"12345"), limit_bytes=5) == b"12345"
    with pytest.raises(FrameError, match="6 bytes, and 5 are allowed"):
        unpack_frame(pack_frame(b"123456"), limit_bytes=5)
