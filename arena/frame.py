"""One session's replay as one zstd frame, with its checksum and its size in front.

A frame is read with a limit on what it unpacks to, so that a small file cannot fill the
memory. Which frame stands where is the store's to know.
"""

import sys
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

_WINDOW_LOG: Final = 26
"""The most memory a frame may ask for to be unpacked: 2 to this power, `FRAME_LIMIT_BYTES`."""


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


def text_of(data: bytes) -> bytes:
    """An exported session as text, whether it was exported as text or as one frame; FrameError as below."""
    return unpack_frame(data) if data.startswith(_MAGIC) else data


def unpack_frame(frame: bytes, *, limit_bytes: int = FRAME_LIMIT_BYTES) -> bytes:
    """What one frame holds.

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
        # One byte more than promised: a frame that holds more than it says does not come to its end.
        text = decompressor.decompress(frame, max_length=size + 1)
    except zstd.ZstdError as error:
        raise FrameError(f"the frame cannot be unpacked: {error}") from None
    if not decompressor.eof or len(text) != size:
        raise FrameError("the frame is cut off")
    if decompressor.unused_data:
        raise FrameError(f"{len(decompressor.unused_data)} bytes follow the end of the frame")
    return text
