"""How many lines of a file were read, and how many of them are broken: each counts once."""

import numpy as np
from numpy.typing import NDArray

from tracekit.arrays import BoolArray

_ROOM = 1 << 16


class Lines:
    """Lines of which rows, or rejects, were seen: a line may give many of both."""

    def __init__(self) -> None:
        self._read: BoolArray = np.zeros(_ROOM, dtype=np.bool_)
        self._broken: BoolArray = np.zeros(_ROOM, dtype=np.bool_)

    def note(self, good: NDArray[np.generic], broken: NDArray[np.generic]) -> None:
        """Note the lines of some rows and of some rejects."""
        for lines in (good, broken):
            most = int(lines.max(initial=0))
            while most >= self._read.size:
                self._read, self._broken = (
                    np.concatenate([one, np.zeros_like(one)]) for one in (self._read, self._broken)
                )
            self._read[lines.astype(np.int64)] = True
        self._broken[broken.astype(np.int64)] = True

    @property
    def read(self) -> int:
        """Lines that gave a row or a reject."""
        return int(self._read.sum())

    @property
    def broken(self) -> int:
        """Lines that gave a reject."""
        return int(self._broken.sum())
