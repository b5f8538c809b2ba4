"""Rows of a table put into the cells of a matrix, compiled."""

from typing import Any

from numpy.typing import NDArray

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.base.jit import compiled


@compiled
def put_rows(
    cell: IntArray,
    rank: NDArray[Any],
    cpu: FloatArray,
    memory: FloatArray,
    held: NDArray[Any],
    cpu_out: Float32Array,
    memory_out: Float32Array,
) -> None:
    """Put each row into its cell, unless the cell holds a row of the same or a lower rank.

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
