"""Recorded amounts as the integer columns of a workload: units, and resources nobody requests."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.units import MILLI_PER_CORE, SHARE, in_stored_unit
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.sizes import Sizes
from tracekit.cluster.resources import (
    BASE,
    CPU,
    MEMORY,
    PODS,
    UNLIMITED,
    column_order,
    rounded_down,
    rounded_up,
)

#: Names of columns; what is not here keeps the name it has.
_COLUMNS = {
    "cpu": CPU,
    "memory": MEMORY,
    "disk": "disk_bytes",
    "gpu": "gpu_milli",
}
#: The same for resources that are counted otherwise in another unit.
_NETWORK = {"kbit/s": ("net_kbit", 1.0), "bytes/s": ("net_kbit", 0.008)}
#: What one of a unit is in the unit of a column, by column.
_FACTORS = {
    (CPU, "cores"): MILLI_PER_CORE,
    (MEMORY, "bytes"): 1,
    ("disk_bytes", "bytes"): 1,
    ("gpu_milli", "count"): 1000,
}
#: A fraction of what nobody knows the whole of is counted in millionths.
_MILLIONTHS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """Capacities and requests by column.

    Parameters
    ----------
    resources : tuple of str
    capacity : int64, shape (nodes, resources)
    request, limit : int64, shape (containers, resources)
    stated : bool, shape (containers, resources)
        Whether the request is recorded.
    cells : DataFrame
        Amounts of single NUMA cells: node, cell, column, amount.
    assumed : tuple of str
        Resources of which some node's amount is assumed.
    """

    resources: tuple[str, ...]
    capacity: IntArray
    request: IntArray
    limit: IntArray
    stated: BoolArray
    cells: pl.DataFrame
    assumed: tuple[str, ...]


def amounts_of(
    found: Sizes,
    nodes: Sequence[str],
    assumptions: SizedAssumptions,
    used: Collection[str] = (),
) -> Amounts:
    """A column for each resource that some container requests.

    Requests are rounded up, and capacities down.

    Parameters
    ----------
    nodes : the names of all nodes, recorded or assumed
    used : resources that have a column because their use is recorded

    Raises
    ------
    TracekitError
        For a resource that ``resources`` names and no container requests.
    """
    asked = in_columns(found.requests, assumptions, ("request", "limit"))
    have = in_columns(found.capacity, assumptions, ("amount",))
    whole, cells = have.filter(pl.col("cell").is_null()), have.drop_nulls("cell")
    resources = _wanted(asked, whole, assumptions, used)
    request, stated = _matrix(
        asked, "container", found.containers["container"], resources, "request"
    )
    limit, _ = _matrix(asked, "container", found.containers["container"], resources, "limit")
    capacity, known = _matrix(
        whole, "node", pl.Series("node", nodes, pl.String), resources, "amount"
    )
    counted = _whole(rounded_up(request))
    room = _whole(rounded_down(capacity))
    if PODS in resources:
        at = resources.index(PODS)
        counted[:, at], stated[:, at] = 1, True
        room[~known[:, at], at] = UNLIMITED
    assumed = tuple(_assume(room, known, resources, assumptions))
    return Amounts(
        resources=resources,
        capacity=room,
        request=counted,
        limit=_whole(rounded_up(limit)),
        stated=stated,
        cells=cells,
        assumed=assumed,
    )


def _whole(amounts: FloatArray) -> IntArray:
    """Amounts as whole numbers; one too large to be added up becomes the largest that can be."""
    return np.asarray(np.minimum(amounts, float(UNLIMITED // 2)).astype(np.int64))


def in_columns(
    rows: pl.DataFrame, assumptions: SizedAssumptions, values: Sequence[str]
) -> pl.DataFrame:
    """Rows of amounts with their ``column`` and with values in the unit of that column."""
    pairs = rows.select("resource", "unit").unique()
    wanted = [_column(r, u or "", assumptions) for r, u in pairs.iter_rows()]
    known = pairs.with_columns(
        pl.Series("column", [name for name, _ in wanted], pl.String),
        pl.Series("factor", [factor for _, factor in wanted], pl.Float64),
    )
    return (
        rows.join(known, on=["resource", "unit"], how="left", nulls_equal=True)
        .with_columns(pl.col(name) * pl.col("factor") for name in values)
        .drop("factor")
    )


def _column(resource: str, unit: str, assumptions: SizedAssumptions) -> tuple[str, float]:
    """The column of a resource, and how much of the column's unit one of the given unit is."""
    if resource == "net" and unit in _NETWORK:
        return _NETWORK[unit]
    column = _COLUMNS.get(resource, resource)
    # an older store keeps units as they were stated
    base, times, per = in_stored_unit(resource, unit) or (unit, 1, 1)
    whole = {
        CPU: assumptions.full_cpu_cores * MILLI_PER_CORE,
        MEMORY: float(assumptions.full_memory_bytes),
        "disk_bytes": float(assumptions.full_disk_bytes),
        "gpu_milli": 1000.0,
    }
    if base == SHARE:
        return column, whole.get(column, _MILLIONTHS)
    return column, float(_FACTORS.get((column, base), 1)) * times / per


def _wanted(
    asked: pl.DataFrame, whole: pl.DataFrame, assumptions: SizedAssumptions, used: Collection[str]
) -> tuple[str, ...]:
    """CPU, memory, and each resource that some container requests or uses and some node has."""
    some = {*asked.filter(pl.col("request") > 0)["column"], *used}
    there = set(whole["column"])
    found = column_order({*some & there, *(there & {PODS})})
    if assumptions.resources == "all":
        return found
    names = {**_COLUMNS, **({"net": "net_kbit"} if "net_kbit" in found else {})}
    named = {names.get(one, one) for one in assumptions.resources.split("+")}
    strange = sorted(named - set(found))
    if strange:
        raise TracekitError(
            f"resource '{strange[0]}' is asked for by no container, or no node has it",
            hint=f"resources of this store: {', '.join(found)}",
        )
    return column_order(named)


def _matrix(
    rows: pl.DataFrame, entity: str, ids: pl.Series, resources: Sequence[str], value: str
) -> tuple[np.ndarray, BoolArray]:
    """Amounts by entity and resource, and whether each is stated; shapes (ids, resources)."""
    at = pl.DataFrame({entity: ids, "at": np.arange(len(ids))})
    column = pl.DataFrame({"column": list(resources), "of": np.arange(len(resources))})
    found = rows.join(at, on=entity).join(column, on="column").drop_nulls(value)
    amounts = np.zeros((len(ids), len(resources)))
    known = np.zeros(amounts.shape, dtype=np.bool_)
    place = found["at"].to_numpy(), found["of"].to_numpy()
    amounts[place], known[place] = found[value].to_numpy(), True
    return amounts, known


def _assume(
    room: IntArray, known: BoolArray, resources: Sequence[str], assumptions: SizedAssumptions
) -> list[str]:
    """Fill in assumed CPU and memory for nodes whose amounts are not recorded."""
    sizes = {
        CPU: round(assumptions.node_cpu_cores * MILLI_PER_CORE),
        MEMORY: assumptions.node_memory_bytes,
    }
    assumed = []
    for name in BASE:
        at = resources.index(name)
        missing = ~known[:, at]
        room[missing, at] = sizes[name]
        if missing.any():
            assumed.append(name)
    return assumed
