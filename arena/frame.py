"""One session's replay as one zstd frame, with its checksum and its size in front.

A frame is read with a limit on what it unpacks to, so that a small file cannot fill the
memory. Which frame stands where is the store's to know.
"""

import sys
from collections.abc import Iterator
from typing import Final

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FRAME_LIMIT_BYTES: Final = 64 * 2**20
"""What a frame may unpack to."""

_MAGIC: Final = bytes.fromhex("28b52ffd")
"""What every zstd frame begins with; no text does."""

_LEVEL: Final = 3

_WINDOW_LOG: Final = 23
"""The most memory a frame may ask for to be unpacked: 2 to this power, as much as `zstd -19` asks for."""

_PIECE_BYTES: Final = 64 * 1024


class FrameError(ValueError):
    """Bytes that are not one whole frame, or that unpack to too much."""


def pack_frame(text: bytes) -> bytes:
    """One frame that holds `text`; the same text gives the same frame."""
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: _LEVEL,
        zstd.CompressionParameter.checksum_flag: 1,
        zstd.CompressionParameter.content_size_flag: 1,
    }
    return zstd.compress(text, options=options)


def is_frame(data: bytes) -> bool:
    """Whether data begins as a frame does; a replay as text does not."""
    return data.startswith(_MAGIC)


def unpack_frame(frame: bytes, *, limit_bytes: int = FRAME_LIMIT_BYTES) -> bytes:
    """What one frame holds; errors as those of `unpack_pieces`."""
    return b"".join(unpack_pieces(frame, limit_bytes=limit_bytes))


def unpack_pieces(frame: bytes, *, limit_bytes: int = FRAME_LIMIT_BYTES) -> Iterator[bytes]:
    """What one frame holds, piece by piece; whether the checksum is right is known after the last.

    Raises:
        FrameError: these bytes are not one whole frame of ours, its checksum is wrong, or it
            would unpack to more than `limit_bytes`, which is found before it is unpacked.
    """
    try:
        size = zstd.get_frame_info(frame).decompressed_size
        if size is None:
            raise FrameError("the frame does not say what size it unpacks to")
        if size > limit_bytes:
            raise FrameError(f"the frame unpacks to {size} bytes, and {limit_bytes} are allowed")
        decompressor = zstd.ZstdDecompressor(
            options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
        )
        left = size
        piece = decompressor.decompress(frame, max_length=_PIECE_BYTES)
        while piece:
            left -= len(piece)
            yield piece
            if left < 0 or decompressor.eof:
                break
            piece = decompressor.decompress(b"", max_length=_PIECE_BYTES)
    except zstd.ZstdError as error:
        raise FrameError(f"the frame cannot be unpacked: {error}") from None
    if left or not decompressor.eof:
        raise FrameError("the frame is cut off")
    if decompressor.unused_data:
        raise FrameError(f"{len(decompressor.unused_data)} bytes follow the end of the frame")
