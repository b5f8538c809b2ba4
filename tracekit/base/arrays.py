"""Types of numpy arrays, named by the type of their elements, and random streams.

Each name has a random stream of its own, so that a new policy changes no other result.
"""

import hashlib
import zlib
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Int32Array: TypeAlias = NDArray[np.int32]
Float32Array: TypeAlias = NDArray[np.float32]
UInt8Array: TypeAlias = NDArray[np.uint8]
UInt64Array: TypeAlias = NDArray[np.uint64]


#: The distance between seeds, as a number of orders.
_APART = 1_000_003


def stream(seed: int, name: str) -> np.random.Generator:
    """Return a random generator whose numbers depend on the seed and the name alone.

    Generators of different names are independent: each is the child of ``SeedSequence(seed)`` with
    a hash of the name as its key.
    """
    digest = hashlib.sha256(name.encode()).digest()
    key = tuple(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def order_seed(seed: int, number: int) -> int:
    """Return the seed of the shuffle that makes arrival order ``number`` of the containers.

    The seed of order 0 is ``seed`` itself. Neighbouring values of ``seed`` give disjoint sets of
    order seeds.
    """
    return seed if number == 0 else (seed * _APART + number) % 2**63


def labelled(seed: int, label: str) -> np.random.Generator:
    """Return a random generator whose numbers depend on the seed and a result's label alone."""
    return np.random.Generator(np.random.PCG64([seed, zlib.crc32(label.encode())]))
