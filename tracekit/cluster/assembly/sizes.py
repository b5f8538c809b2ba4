"""The tables of a store with sizes, and recorded amounts as integer columns of a workload."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.units import MILLI_PER_CORE, SHARE, in_stored_unit
from tracekit.base.words import counted
from tracekit.cluster.assumptions import SizedAssumptions
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
from tracekit.store import never_ran
from tracekit.store.broken_rows import broken_rows
from tracekit.store.folder import Store
from tracekit.store.node_states import begins_ms, nodes_of, without_size
from tracekit.store.views import read

_MS = "time_ms"
#: What shows the broken rows of lists of containers.
_REJECTS = """tracekit query STORE "FROM reject WHERE \\"table\\" = 'container'\""""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The tables of a store that state nodes, containers and their sizes; ``sizes_of`` reads them.

    Attributes
    ----------
    nodes : DataFrame
        A row for each node of the table ``node``, as it is when the replay begins, in the order of
        the source, without ``set_aside``.
    capacity : DataFrame
        Rows of ``node_resource`` for these nodes, of whole nodes and of NUMA cells.
    containers : DataFrame
        The last row of each container in ``container``, by time, then in the source's order.
    requests : DataFrame
        The table ``container_resource``: the first row of each container and resource.
    rules : DataFrame
        The table ``sharing_rule``.
    set_aside : Series
        Names of nodes left out: those whose CPU or memory is not stated although others' is, and
        those with neither use nor containers although others have either.
    unmeasured : int
        Number of nodes without recorded use, where other nodes have use.
    unlisted : int
        Number of containers left out because they have a request and no row in ``container``.
    """

    nodes: pl.DataFrame
    capacity: pl.DataFrame
    containers: pl.DataFrame
    requests: pl.DataFrame
    rules: pl.DataFrame
    set_aside: pl.Series
    unmeasured: int
    unlisted: int


def is_sized(store: Store) -> bool:
    """Return whether a store lists containers, and records their requests or the sizes of nodes.

    If a store records nodes, a container without a request counts as requesting nothing.
    """
    sizes = _rows(store, "container_resource") or _rows(store, "node_resource")
    return bool(sizes and _rows(store, "container"))


def records_nodes(store: Store) -> bool:
    """Return whether a store records sizes of nodes."""
    return bool(_rows(store, "node_resource"))


def used_by_others(store: Store) -> bool:
    """Return whether some source records use of containers as fractions and lists no containers.

    Alibaba's microservice trace of 2021 does so. Samples of use then tell when containers come and
    go.
    """
    listing = {entry.release for entry in store.manifest.parts("container") if entry.rows}
    using = {entry.release for entry in store.manifest.stated("container_usage")}
    return bool(using - listing)


def _rows(store: Store, table: str) -> int:
    return sum(entry.rows for entry in store.manifest.parts(table))


def sizes_of(store: Store) -> Sizes:
    """Read the nodes, containers and sizes of a store.

    Raises
    ------
    TracekitError
        When most containers with a request are not listed, or no node states both CPU and memory.
    """
    containers = read(store, "container").sort("time_ms", "position", "container")
    containers = containers.unique("container", keep="last", maintain_order=True)
    requests = read(store, "container_resource").sort("container", "resource", _MS)
    requests = requests.unique(["container", "resource"], keep="first", maintain_order=True)
    unlisted = _unlisted(store, requests, containers)
    requests = requests.join(containers, on="container", how="semi", maintain_order="left")
    nodes, capacity = nodes_of(read(store, "node"), read(store, "node_resource"), begins_ms(store))
    bare, silent = without_size(nodes, capacity), never_ran.silent(store, nodes)
    set_aside = pl.concat([bare["node"], silent["node"]]).unique(maintain_order=True)
    nodes = nodes.filter(~pl.col("node").is_in(set_aside.implode()))
    if set_aside.len() and not nodes.height:
        raise TracekitError(
            f"no node states both its CPU and its memory ({set_aside.len():,} nodes)",
            hint="tracekit check STORE says what was rejected",
        )
    return Sizes(
        nodes=nodes,
        capacity=capacity.filter(~pl.col("node").is_in(set_aside.implode())),
        containers=containers,
        requests=requests,
        rules=read(store, "sharing_rule").sort("holder", "guest", _MS),
        set_aside=set_aside,
        unmeasured=never_ran.without_use(store, nodes).height,
        unlisted=unlisted,
    )


def _unlisted(store: Store, requests: pl.DataFrame, containers: pl.DataFrame) -> int:
    """How many containers have a request and no row in ``container``, because the row was broken.

    Raises TracekitError if that is most containers: their rows are rejects, or the file that lists
    containers is missing.
    """
    asking = requests["container"].unique().sort()
    strange = asking.filter(~asking.is_in(containers["container"].implode()))
    if 2 * strange.len() > asking.len():
        more = strange.len() - 1
        others = f", nor {'is' if more == 1 else 'are'} {counted(more, 'other')}" * (more > 0)
        broken = broken_rows(store.manifest.parts("container"))
        first = broken[0].about if broken else {}
        why = f"; their rows are likely rejects, the first {first['example']}" if broken else ""
        raise TracekitError(
            f"container '{strange[0]}' has a request and is not in the table container{others} of"
            f" {asking.len():,} with a request{why}",
            hint=f"each broken row: {_REJECTS}; mend these, and ingest all into a new store"
            if broken
            else "ingest the file that lists containers with their times too",
        )
    return strange.len()


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
    """Capacities of nodes and requests of containers, with a column for each resource.

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
    sizes: Sizes,
    nodes: Sequence[str],
    assumptions: SizedAssumptions,
    used: Collection[str] = (),
) -> Amounts:
    """Return the amounts of nodes and containers, with a column for each requested resource.

    Requests are rounded up, and capacities down.

    Parameters
    ----------
    nodes : the names of all nodes, recorded or assumed
    used : resources that have a column because their use is recorded

    Raises
    ------
    TracekitError
        When the assumption ``resources`` names one that no container requests or no node has.
    """
    requested = in_columns(sizes.requests, assumptions, ("request", "limit"))
    have = in_columns(sizes.capacity, assumptions, ("amount",))
    whole, cells = have.filter(pl.col("cell").is_null()), have.drop_nulls("cell")
    resources = _wanted(requested, whole, assumptions, used)
    request, stated = _matrix(
        requested, "container", sizes.containers["container"], resources, "request"
    )
    limit, _ = _matrix(requested, "container", sizes.containers["container"], resources, "limit")
    capacity, has_amount = _matrix(
        whole, "node", pl.Series("node", nodes, pl.String), resources, "amount"
    )
    counted = _whole(rounded_up(request))
    room = _whole(rounded_down(capacity))
    if PODS in resources:
        at = resources.index(PODS)
        counted[:, at], stated[:, at] = 1, True
        room[~has_amount[:, at], at] = UNLIMITED
    assumed = tuple(_assume(room, has_amount, resources, assumptions))
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
    """Return ``rows`` with the workload's name of each row's resource as ``column``.

    The columns that ``values`` names are converted to the unit of that name: 2 cores of ``cpu``
    become 2000 of ``cpu_milli``.
    """
    pairs = rows.select("resource", "unit").unique()
    wanted = [_column(r, u or "", assumptions) for r, u in pairs.iter_rows()]
    factors = pairs.with_columns(
        pl.Series("column", [name for name, _ in wanted], pl.String),
        pl.Series("factor", [factor for _, factor in wanted], pl.Float64),
    )
    return (
        rows.join(factors, on=["resource", "unit"], how="left", nulls_equal=True)
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
    requests: pl.DataFrame,
    whole: pl.DataFrame,
    assumptions: SizedAssumptions,
    used: Collection[str],
) -> tuple[str, ...]:
    """CPU, memory, and each resource that some container requests or uses and some node has."""
    some = {*requests.filter(pl.col("request") > 0)["column"], *used}
    of_nodes = set(whole["column"])
    columns = column_order({*some & of_nodes, *(of_nodes & {PODS})})
    if assumptions.resources == "all":
        return columns
    names = {**_COLUMNS, **({"net": "net_kbit"} if "net_kbit" in columns else {})}
    named = {names.get(one, one) for one in assumptions.resources.split("+")}
    strange = sorted(named - set(columns))
    if strange:
        raise TracekitError(
            f"resource '{strange[0]}' is asked for by no container, or no node has it",
            hint=f"resources of this store: {', '.join(columns)}",
        )
    return column_order(named)


def _matrix(
    rows: pl.DataFrame, entity: str, ids: pl.Series, resources: Sequence[str], value: str
) -> tuple[np.ndarray, BoolArray]:
    """Amounts by entity and resource, and whether each is stated; shapes (ids, resources)."""
    at = pl.DataFrame({entity: ids, "at": np.arange(len(ids))})
    column = pl.DataFrame({"column": list(resources), "of": np.arange(len(resources))})
    placed = rows.join(at, on=entity).join(column, on="column").drop_nulls(value)
    amounts = np.zeros((len(ids), len(resources)))
    stated = np.zeros(amounts.shape, dtype=np.bool_)
    place = placed["at"].to_numpy(), placed["of"].to_numpy()
    amounts[place], stated[place] = placed[value].to_numpy(), True
    return amounts, stated


def _assume(
    room: IntArray, has_amount: BoolArray, resources: Sequence[str], assumptions: SizedAssumptions
) -> list[str]:
    """Fill in assumed CPU and memory for nodes whose amounts are not recorded."""
    sizes = {
        CPU: round(assumptions.node_cpu_cores * MILLI_PER_CORE),
        MEMORY: assumptions.node_memory_bytes,
    }
    assumed = []
    for name in BASE:
        at = resources.index(name)
        missing = ~has_amount[:, at]
        room[missing, at] = sizes[name]
        if missing.any():
            assumed.append(name)
    return assumed
