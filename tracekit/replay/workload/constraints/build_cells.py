"""NUMA cells out of the table of what nodes have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from tracekit.arrays import IntArray
from tracekit.errors import TracekitError
from tracekit.replay.workload.constraints.cells import Cells
from tracekit.units import MILLI_PER_CORE

#: Columns of ``Cells.capacity`` by resource, and what one unit is there.
_CELL = {"cpu": (0, MILLI_PER_CORE), "memory": (1, 1)}


def cells_of(
    nodes: pl.DataFrame,
    cells: pl.DataFrame | None,
    containers: pl.DataFrame,
    *,
    request: IntArray,
    capacity: IntArray,
    whole: Mapping[str, float],
) -> Cells | None:
    """Room in cells, where some container is bound to them and some node has them."""
    if cells is None or "numa_cells" not in containers.columns or "cell" not in cells.columns:
        return None
    bound = containers["numa_cells"].fill_null(0).cast(pl.Int64).to_numpy()
    known = cells.filter(pl.col("cell").fill_null("") != "", pl.col("resource").is_in(list(_CELL)))
    if not bound.any() or not known.height:
        return None
    return Cells(
        capacity=_capacity(nodes, known, capacity, whole),
        request=np.ascontiguousarray(request[:, :2]),
        numa_cells=bound,
    )


def _capacity(
    nodes: pl.DataFrame, known: pl.DataFrame, whole_node: IntArray, whole: Mapping[str, float]
) -> IntArray:
    at = {name: row for row, name in enumerate(nodes["node"])}
    numbers = {
        name: number for number, name in enumerate(sorted(known["cell"].unique(), key=_rank))
    }
    found = np.zeros((nodes.height, len(numbers), 2), dtype=np.int64)
    has = np.zeros(nodes.height, dtype=np.bool_)
    for row in known.iter_rows(named=True):
        node = at.get(row["node"])
        if node is None:
            continue
        column, factor = _CELL[row["resource"]]
        amount = row["amount"]
        if row.get("unit") == "fraction":
            amount *= _whole(whole, row["resource"])
        found[node, numbers[row["cell"]], column] = round(amount * factor)
        has[node] = True
    found[~has, 0] = whole_node[~has, :2]
    return found


def _whole(whole: Mapping[str, float], resource: str) -> float:
    if resource not in whole:
        raise TracekitError(
            f"cells state {resource} as a fraction, and nothing says of how much",
            hint="assume the size of a whole machine",
        )
    return whole[resource]


def _rank(cell: str) -> tuple[int, int, str]:
    """Cells in the order of their numbers; names that are no numbers come after."""
    return (0, int(cell), "") if cell.isdigit() else (1, 0, cell)
