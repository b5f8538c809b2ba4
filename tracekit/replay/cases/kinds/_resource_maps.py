"""Resource maps of recorded cases as arrays and back; what a map lacks, or states null, is NaN."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ResourceMap = Mapping[str, Any]


def names_of(maps: Iterable[ResourceMap]) -> list[str]:
    """Every resource that a map speaks of, in order of appearance."""
    return list(dict.fromkeys(name for one in maps for name in one))


def rows_of(maps: Iterable[ResourceMap], names: Sequence[str]) -> NDArray[np.float64]:
    """One row per map, one column per name, shape (maps, names)."""
    rows = [[one.get(name) for name in names] for one in maps]
    filled = [[np.nan if value is None else float(value) for value in row] for row in rows]
    return np.array(filled, dtype=np.float64).reshape(len(filled), len(names))


def map_of(row: NDArray[np.float64], names: Sequence[str]) -> dict[str, float]:
    """A row as a map of what is known."""
    return {
        name: float(value) for name, value in zip(names, row, strict=True) if not np.isnan(value)
    }
