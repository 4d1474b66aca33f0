"""The files that replays lie in: frames one after the other, in parts of bounded size.

A frame is appended whole and synced; it counts once the database says where it lies. What
lies beyond the last one that counts is the remains of a crash. Nothing here knows what a
frame holds, and nothing knows the database.
"""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

PART_LIMIT_BYTES: Final = 256 * 2**20
"""A part that has come to this size is followed by a new one."""

_PART_NAME: Final = re.compile(r"replays(?:\.([2-9]|[1-9][0-9]+))?\.jsonl\.zst")


@dataclass(frozen=True, slots=True)
class FramePlace:
    """Where a frame lies: part from 1, offset and length in bytes, SHA-256 of its bytes in hex."""

    part: int
    offset: int
    length: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the frames that count end: in this part, at this offset in bytes."""

    part: int
    offset: int


def part_name(part: int) -> str:
    """The name of a part's file: `replays.jsonl.zst`, `replays.2.jsonl.zst`."""
    return "replays.jsonl.zst" if part == 1 else f"replays.{part}.jsonl.zst"


def read_bytes(folder: Path, place: FramePlace) -> bytes:
    """The bytes at a place, fewer where the file has fewer; OSError when it cannot be read."""
    with (folder / part_name(place.part)).open("rb") as file:
        file.seek(place.offset)
        return file.read(place.length)


def append(folder: Path, tail: Tail, frame: bytes, *, limit_bytes: int = PART_LIMIT_BYTES) -> FramePlace:
    """Write a frame behind the last one that counts and have it on the disk.

    What lies beyond `tail` is overwritten: it was never reported. A file that ends before
    `tail` has lost frames; nothing is glued to its end, the frame goes into a new part.

    Raises:
        OSError: the frame could not be written; nothing that counts has changed.
    """
    tail = _writable(folder, tail, limit_bytes)
    path = folder / part_name(tail.part)
    is_new = not path.exists()
    with path.open("ab" if is_new else "r+b") as file:
        file.truncate(tail.offset)
        file.seek(tail.offset)
        file.write(frame)
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        _sync_folder(folder)
    return FramePlace(tail.part, tail.offset, len(frame), sha256(frame).hexdigest())


def _writable(folder: Path, tail: Tail, limit_bytes: int) -> Tail:
    """Where the next frame goes."""
    path = folder / part_name(tail.part)
    size = path.stat().st_size if path.exists() else 0
    is_full = tail.offset >= limit_bytes
    return Tail(tail.part + 1, 0) if is_full or size < tail.offset else tail


def cut_off(folder: Path, ends: Mapping[int, int]) -> list[str]:
    """Take away what lies beyond the frames that count, and keep it in files of its own.

    Args:
        folder: of the tournament.
        ends: part to the offset at which its frames end.

    Returns:
        What was found, a sentence for each file that was not as it should be.
    """
    notes = []
    parts = {part: path for path in folder.iterdir() if (part := _part_of(path)) is not None}
    for part in sorted({*parts, *ends}):
        path, end = folder / part_name(part), ends.get(part, 0)
        size = path.stat().st_size if part in parts else 0
        if size < end:
            notes.append(f"{path.name} has {size} bytes where {end} were stored: sessions in it are damaged")
        elif size > end:
            kept = _keep_aside(path, end)
            notes.append(
                f"{size - end} bytes beyond the last stored session of {path.name} are now in {kept}"
            )
    return notes


def _part_of(path: Path) -> int | None:
    match = _PART_NAME.fullmatch(path.name)
    return None if match is None else int(match[1] or 1)


def _keep_aside(path: Path, end: int) -> str:
    """Move the bytes from `end` on into a new file; the name of that is returned."""
    folder = path.parent
    number = 1
    while (aside := folder / f"replays.cut-off-{number}.bin").exists():
        number += 1
    with path.open("r+b") as file:
        file.seek(end)
        with aside.open("xb") as copy:
            shutil.copyfileobj(file, copy)
            copy.flush()
            os.fsync(copy.fileno())
        _sync_folder(folder)
        file.truncate(end)
        file.flush()
        os.fsync(file.fileno())
    if end == 0:
        # An empty file is no zstd file: what reads all parts would stumble over it.
        path.unlink()
        _sync_folder(folder)
    return aside.name


def _sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
