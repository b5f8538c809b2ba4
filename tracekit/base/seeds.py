"""Random streams: one per name, so that adding a policy changes no other result."""

import hashlib
import zlib

import numpy as np

#: Seeds are so many orders apart.
_APART = 1_000_003


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator of a seed and a name: a child of SeedSequence(seed) keyed by the name."""
    digest = hashlib.sha256(name.encode()).digest()
    key = tuple(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def order_seed(seed: int, number: int) -> int:
    """The seed of one of several orders of arrival; the first has the seed itself.

    Next seeds share no order: whoever asks again with another seed meets others.
    """
    return seed if number == 0 else (seed * _APART + number) % 2**63


def labelled(seed: int, label: str) -> np.random.Generator:
    """The generator of a seed and the label of a result of an analysis."""
    return np.random.Generator(np.random.PCG64([seed, zlib.crc32(label.encode())]))
