"""The commitment to a seed, which shows later that nobody chose the cards meanwhile.

A bot is told the commitment before the first card; once the block is over seed and nonce
are revealed, and anybody can compare. A leaf: no other module of the project is known here.
"""

from hashlib import sha256


def commitment(nonce: bytes, seed: bytes) -> bytes:
    """SHA-256(nonce ‖ seed): 32 bytes that give nothing away while the nonce is secret."""
    return sha256(nonce + seed).digest()
