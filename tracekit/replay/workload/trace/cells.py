"""Rows of a table put into the cells of a matrix, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.jit import compiled

IntArray = NDArray[np.int64]


@compiled
def put_rows(
    cell: IntArray,
    rank: NDArray[Any],
    cpu: NDArray[np.float64],
    memory: NDArray[np.float64],
    held: NDArray[Any],
    cpu_out: NDArray[np.float32],
    memory_out: NDArray[np.float32],
) -> None:
    """Put each row into its cell unless what is there has the same rank or a lower one.

    Parameters
    ----------
    cell, rank, cpu, memory : shape (rows,)
    held, cpu_out, memory_out : shape (cells,), changed
    """
    for row in range(len(cell)):
        at = cell[row]
        if rank[row] < held[at]:
            held[at] = rank[row]
            cpu_out[at] = cpu[row]
            memory_out[at] = memory[row]
