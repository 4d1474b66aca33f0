"""The pack: the shuffle that is the same in every language, and the deal of the cards.

`rules.md` §4 defines the byte stream and the shuffle. Nothing here knows chips, trumps or
whose turn it is.
"""

from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from itertools import chain, count
from operator import itemgetter
from typing import Final, TypeAlias

from engine.cards import PACK_SIZE, Card, card_text

SEED_BYTES: Final = 32
_LABEL: Final = b"kratzen/1/"

Pack: TypeAlias = tuple[Card, ...]
"""All 33 cards, position 0 on top."""

PackSource: TypeAlias = Callable[[int], tuple[Pack, int]]
"""From a pack number to the shuffled pack before the cut, and the size of the top packet."""

_IN_ORDER: Final = list(range(PACK_SIZE))


def _uniform(size: int) -> tuple[int | None, ...]:
    """What each byte means as a number below `size`; None for those that are refused (`rules.md` §4)."""
    refused = 256 % size
    return (*[byte % size for byte in range(256 - refused)], *[None] * refused)


_STEPS: Final = tuple([(size - 1, _uniform(size)) for size in range(PACK_SIZE, 1, -1)])
"""The steps of a shuffle: the last position still open, and the one that each byte swaps it with."""


def _byte_stream(seed: bytes, deal: int, pack_number: int) -> Iterator[int]:
    prefix = seed + _LABEL + deal.to_bytes(4, "big") + pack_number.to_bytes(4, "big")

    def block(counter: int) -> bytes:
        return sha256(prefix + counter.to_bytes(4, "big")).digest()

    # Two blocks are always needed and mostly enough.
    return chain(block(0), block(1), chain.from_iterable(map(block, count(2))))


def shuffle(seed: bytes, deal: int, pack_number: int) -> tuple[Pack, int]:
    """The shuffled pack of a deal before the cut, and the size of the top packet (`rules.md` §4).

    Args:
        seed: the session's seed, 32 bytes.
        deal: number of the deal in its session, from 0.
        pack_number: 0 for the first shuffle of the deal, one more for each reshuffle.

    Raises:
        ValueError: the seed is not 32 bytes long.
    """
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed is {SEED_BYTES} bytes long, this one {len(seed)}")
    stream = _byte_stream(seed, deal, pack_number)
    pack = _IN_ORDER[:]
    for last, others in _STEPS:
        for byte in stream:
            other = others[byte]
            if other is not None:
                pack[last], pack[other] = pack[other], pack[last]
                break
    # 256 is a multiple of the 32 possible cuts, so that no byte is refused.
    return tuple(pack), 1 + next(stream) % (PACK_SIZE - 1)


def checked(packs: PackSource) -> PackSource:
    """The same packs, each of them checked before a card of it is dealt."""

    def next_pack(pack_number: int) -> tuple[Pack, int]:
        pack, top_size = packs(pack_number)
        check_pack(pack, top_size)
        return pack, top_size

    return next_pack


def check_pack(pack: Pack, top_size: int) -> None:
    """Refuse what is no shuffled pack.

    Raises:
        ValueError: a card is missing, stands there twice or is none, or the cut is no cut.
    """
    if sorted(pack) != _IN_ORDER:
        unknown = [card for card in pack if card not in _IN_ORDER]
        if unknown:
            raise ValueError(f"the pack holds {unknown[0]}, which is no card")
        twice = [card_text(card) for card in _IN_ORDER if pack.count(card) > 1]
        missing = [card_text(card) for card in _IN_ORDER if card not in pack]
        raise ValueError(f"the pack holds twice: {' '.join(twice)}; it lacks: {' '.join(missing)}")
    if not 1 <= top_size < PACK_SIZE:
        raise ValueError(f"a top packet of {top_size} cards: allowed is 1 to {PACK_SIZE - 1}")


def cut(pack: Pack, top_size: int) -> Pack:
    """The pack after the top packet of `top_size` cards has gone below."""
    return pack[top_size:] + pack[:top_size]


def deal_packets(pack: Pack, hand_count: int, packets: tuple[int, int]) -> tuple[tuple[Card, ...], ...]:
    """Hands in dealing order, sorted by index: each gets `packets[0]` cards, then `packets[1]`."""
    return tuple([tuple(sorted(cards_of(pack))) for cards_of in _hands_of(hand_count, packets)])


@cache
def _hands_of(hand_count: int, packets: tuple[int, int]) -> tuple[Callable[[Pack], tuple[Card, ...]], ...]:
    """For each hand, what picks its cards from a pack."""
    first, second = packets
    rest = first * hand_count
    return tuple(
        [
            itemgetter(
                *range(at * first, (at + 1) * first),
                *range(rest + at * second, rest + (at + 1) * second),
            )
            for at in range(hand_count)
        ]
    )
