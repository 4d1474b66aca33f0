"""Whether what the store says of a session and what its replay says are one and the same."""

from arena.frame import FrameError, unpack_pieces
from arena.record import ReplayEnd, SessionHeader
from arena.replay import parse_ends
from arena.replay_reading import ReplayError
from arena.replay_stream import Pieces, pieces_of
from arena.replay_verify import verify_pieces
from arena.schedule import block_seed
from arena.store.errors import DamagedFrameError
from arena.store.parts import read_bytes
from arena.store.reader import SessionEntry, StoreReader


def check_session(store: StoreReader, entry: SessionEntry) -> str | None:
    """Play a stored session again and compare replay and store; a sentence on what is wrong, or None.

    The sentence names part and session, and the line of the replay where one can be named.
    """
    try:
        text = store.replay(entry)
    except DamagedFrameError as error:
        line = _line_at_fault(store, entry)
        return f"{error}; {line}" if line else str(error)
    wrong = _difference(pieces_of(text)) or _against_store(*parse_ends(text), entry, store.facts().seed)
    return f"{entry.where}: {wrong}" if wrong else None


def _difference(pieces: Pieces) -> str | None:
    try:
        difference = verify_pieces(pieces)
    except ReplayError as error:
        return str(error)
    return None if difference is None else str(difference)


def _line_at_fault(store: StoreReader, entry: SessionEntry) -> str | None:
    """What is wrong with the text of a damaged frame, if it still unpacks."""
    try:
        frame = read_bytes(store.folder, entry.frame)
        return _difference(lambda: unpack_pieces(frame))
    except (OSError, FrameError):
        return None


def _against_store(
    header: SessionHeader, end: ReplayEnd, entry: SessionEntry, tournament_seed: bytes
) -> str | None:
    """What a true replay says otherwise than the store."""
    result = entry.result
    pairs: list[tuple[str, object, object]] = [
        ("block", result.block, header.block),
        ("seed of the block", block_seed(tournament_seed, result.block).hex(), end.seed.hex()),
        ("session", result.session, header.session),
        ("session id", result.session_id, header.session_id),
        ("attempt", entry.attempt, header.attempt),
        ("bots", [seat.bot for seat in result.seats], [seat.bot for seat in header.seats]),
        ("deals", result.deals, end.deals),
        ("places", [seat.place for seat in result.seats], list(end.places)),
        ("chips", [seat.chips for seat in result.seats], list(end.chips)),
        ("forfeits", [seat.forfeited for seat in result.seats], list(end.forfeited)),
        ("strikes", [seat.strikes for seat in result.seats], list(end.strikes)),
        ("faults", [fault for seat in result.seats for fault in seat.faults], list(end.faults)),
        ("pot left", result.pot_left, end.pot_left),
        ("digest of the play", entry.play_sha256, end.play_sha256),
    ]
    for what, stored, replayed in pairs:
        if stored != replayed:
            return f"{what}: {stored} in the store, {replayed} in the replay"
    return None
