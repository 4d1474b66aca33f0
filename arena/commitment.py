"""The commitment to a seed, and what shows later that it was kept.

A bot is told the commitment before the first card; once the block is over seed and nonce
are revealed, and anybody can compare. A leaf: no other module of the project is known here.
"""

from hashlib import sha256
from hmac import compare_digest


def commitment(nonce: bytes, seed: bytes) -> bytes:
    """SHA-256(nonce ‖ seed): 32 bytes that give nothing away while the nonce is secret."""
    return sha256(nonce + seed).digest()


def is_kept(committed: bytes, nonce: bytes, seed: bytes) -> bool:
    """Whether seed and nonce are those that were committed to."""
    return compare_digest(committed, commitment(nonce, seed))
