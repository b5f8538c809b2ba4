"""One seed, one child stream per concern."""

import zlib
from dataclasses import dataclass

import numpy as np

from tracekit.errors import TracekitError


@dataclass(frozen=True)
class Seeds:
    """Random streams that do not disturb each other, whatever is added later.

    Raises TracekitError for a negative seed.
    """

    seed: int

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise TracekitError(f"the seed is {self.seed}, expected 0 or more")

    def stream(self, concern: str, number: int = 0) -> np.random.Generator:
        """The stream of a concern; ``number`` tells apart its parts: a file, an hour, a minute."""
        key = (zlib.crc32(concern.encode()), number)
        return np.random.Generator(
            np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key))
        )
