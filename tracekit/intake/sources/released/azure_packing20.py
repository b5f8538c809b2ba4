"""Requests of virtual machines in one zone of Azure, in fractions of the machine types they fit.

Facts: Azure/AzurePublicDataset, AzureTracesForPacking2020.md (one sqlite file).
"""

import json
import sqlite3
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.intake.sources import ClusterFile, ClusterSource
from tracekit.intake.sources._rows import Rule, long, missing, numbers, refuse
from tracekit.intake.sources._source import Batch, Broken, Head, Opened, Read

# How large machine types are against each other, by what the same VM types take of them.
#
# A VM type that takes half of one machine type and a quarter of another says that the other has
# twice as much. So each resource gets capacities in one unit, and each VM type one request.


#: Upstream's columns, and the resources they are.
RESOURCES = {"core": "cpu", "memory": "memory", "hdd": "hdd", "ssd": "ssd", "nic": "net"}
#: A machine has this number of steps. Requests are rounded down to whole steps and capacities up,
#: so that VMs that fill a machine on paper fill it here. ``_LOST`` steps are the error of floats.
_STEPS, _LOST = 1e9, 1e-3

_Fractions = Mapping[tuple[str, str], float]


def capacities(types: pl.DataFrame) -> pl.DataFrame:
    """Return the capacity of each machine type by resource, as a share of the largest.

    A VM type states which fraction of each machine type it takes, so its fractions on two machine
    types give the ratio of their capacities. A capacity is NULL if no VM type takes any of the
    resource.

    Parameters
    ----------
    types : DataFrame
        ``vmTypeId``, ``machineId``, ``line`` and a fraction for each of ``RESOURCES``.
    """
    rows = types.group_by("machineId", maintain_order=True).agg(pl.col("line").first())
    for name in RESOURCES:
        sizes = _relative(_fractions(types, name))
        values = [sizes.get(one) for one in rows["machineId"]]
        rows = rows.with_columns(pl.Series(name, values, dtype=pl.Float64))
    return rows


def requests(types: pl.DataFrame, sizes: pl.DataFrame) -> pl.DataFrame:
    """Return the request of each VM type, as a share of the largest machine type.

    It is the median over its machine types of its fraction times ``sizes``, the result of
    ``capacities``. It is rounded down to a multiple of 1e-9.
    """
    joined = types.join(sizes, on="machineId", suffix="_of_machine")
    medians = joined.group_by("vmTypeId", maintain_order=True).agg(
        (pl.col(name) * pl.col(f"{name}_of_machine")).median().alias(name) for name in RESOURCES
    )
    return medians.with_columns(
        ((pl.col(name) * _STEPS + _LOST).floor() / _STEPS).alias(name) for name in RESOURCES
    )


def rounded_up(sizes: pl.DataFrame) -> pl.DataFrame:
    """Return the capacities rounded up to a multiple of 1e-9."""
    return sizes.with_columns(
        ((pl.col(name) * _STEPS - _LOST).ceil() / _STEPS).alias(name) for name in RESOURCES
    )


def _fractions(types: pl.DataFrame, name: str) -> _Fractions:
    rows = types.filter(pl.col(name) > 0).select("vmTypeId", "machineId", name)
    return {(vm, machine): share for vm, machine, share in rows.iter_rows()}


def _relative(fractions: _Fractions) -> dict[str, float]:
    """Capacities relative to each other, beginning with the machine type that most VM types fit."""
    of_machine: dict[str, dict[str, float]] = defaultdict(dict)
    for (vm, machine), share in fractions.items():
        of_machine[machine][vm] = share
    amounts: dict[str, float] = {}
    sizes: dict[str, float] = {}
    while left := [machine for machine in of_machine if machine not in sizes]:
        machine = max(left, key=lambda one: _sized_types(of_machine[one], amounts))
        shares = of_machine[machine]
        ratios = [amounts[vm] / share for vm, share in shares.items() if vm in amounts]
        sizes[machine] = statistics.median_low(ratios) if ratios else 1.0
        for vm, share in shares.items():
            amounts.setdefault(vm, share * sizes[machine])
    largest = max(sizes.values(), default=1.0)
    return {machine: size / largest for machine, size in sizes.items()}


def _sized_types(shares: Mapping[str, float], amounts: Mapping[str, float]) -> tuple[int, int]:
    return len(shares.keys() & amounts.keys()), len(shares)


_MAGIC = b"SQLite format 3\0"
_DAY_MS = 86_400_000.0
_ROWS_AT_ONCE = 200_000
_TYPES = ("vmTypeId", "machineId", *RESOURCES)
_VMS = ("vmId", "tenantId", "vmTypeId", "priority", "starttime", "endtime")


def is_packing(head: Head) -> bool:
    """Return whether a file is a sqlite file with VM requests and VM types."""
    wanted = (b"vmTypeId", b"machineId", b"tenantId", b"starttime")
    return head.start.startswith(_MAGIC) and all(word in head.start for word in wanted)


def read_packing(opened: Opened) -> Read:
    """Yield a node for each machine type, and a container for each VM with its request.

    The selector of a container names the machine types that it fits. ``line`` is the number of the
    row in the order of reading: types by id, VMs by start.

    Raises
    ------
    TracekitError
        When there are no VM types.
    """
    with closing(_connected(opened)) as database:
        types, broken = _types(database)
        yield from broken
        if types.is_empty():
            raise TracekitError(
                f"{opened.name}: table vmType has no usable row, so that no VM has a size",
                hint="fetch the file again: packing_trace_zone_a_v1.sqlite of 181 MB",
            )
        sizes = capacities(types)
        yield from _machines(rounded_up(sizes))
        requested = requests(types, sizes).join(_selectors(types), on="vmTypeId")
        row = 0
        for vms in _rows(database, "vm", _VMS, "starttime, vmId"):
            yield from _vms(vms.with_columns((pl.col("line") + row).alias("line")), requested)
            row += vms.height


def _connected(opened: Opened) -> sqlite3.Connection:
    """The database, opened read-only; a packed one is unpacked into memory."""
    if _is_database(opened.path):
        place = quote(str(opened.path.resolve()))
        return sqlite3.connect(f"file:{place}?mode=ro&immutable=1", uri=True)
    with opened.stream() as stream:
        database = sqlite3.connect(":memory:")
        database.deserialize(stream.read())
        return database


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as raw:
        return raw.read(len(_MAGIC)) == _MAGIC


def _rows(
    database: sqlite3.Connection, table: str, columns: Iterable[str], order: str
) -> Iterator[pl.DataFrame]:
    """The rows of a table as texts, numbered from 1."""
    names = list(columns)
    cursor = database.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {order}")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        texts = [[None if one is None else str(one) for one in row] for row in rows]
        frame = pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String), orient="row")
        yield frame.with_row_index("line", offset=1).with_columns(pl.col("line").cast(pl.Int64))


def _types(database: sqlite3.Connection) -> tuple[pl.DataFrame, list[Broken]]:
    """The rows of vmType: the fraction of each machine type that a VM type takes."""
    rows = pl.concat(
        [
            pl.DataFrame(schema={"line": pl.Int64, **dict.fromkeys(_TYPES, pl.String)}),
            *_rows(database, "vmType", _TYPES, "id"),
        ]
    )
    rules = [*missing("vmTypeId", "machineId"), *numbers(*RESOURCES)]
    good, broken = refuse(rows, rules, "node_resource")
    good = good.with_columns(pl.col(*RESOURCES).cast(pl.Float64))
    positive = [
        Rule(
            column=one,
            broken=~(pl.col(one) >= 0) | pl.col(one).is_infinite() | pl.col(one).is_nan(),
            expected="a fraction of the machine, 0 or more",
        )
        for one in RESOURCES
    ]
    good, refused = refuse(good, positive, "node_resource")
    return good, sorted([*broken, *refused], key=lambda one: one.line)


def _machines(sizes: pl.DataFrame) -> Read:
    """A node for each machine type; ``line`` is that of the first VM type that fits it."""
    nodes = sizes.with_columns(pl.lit(0).alias("time_ms"), _node())
    labels = [json.dumps({"platform": one}) for one in sizes["machineId"]]
    yield Batch(
        table="node",
        rows=nodes.select(
            "time_ms", "node", pl.col("machineId").alias("platform"), "line"
        ).with_columns(pl.Series("labels", labels, dtype=pl.String)),
    )
    units = {name: (resource, "fraction", 1.0) for name, resource in RESOURCES.items()}
    yield Batch(table="node_resource", rows=long(nodes, ("time_ms", "node"), units))


def _node() -> pl.Expr:
    return pl.format("machine-type-{}", "machineId").alias("node")


def _selectors(types: pl.DataFrame) -> pl.DataFrame:
    """For each VM type the machine types that it fits, as a requirement of the label platform."""
    fits = types.group_by("vmTypeId", maintain_order=True).agg(
        pl.col("machineId").unique(maintain_order=True)
    )
    texts = [
        json.dumps([[{"key": "platform", "operator": "In", "values": machines}]])
        for machines in fits["machineId"].to_list()
    ]
    return fits.select("vmTypeId", pl.Series("selector", texts, dtype=pl.String))


def _vms(vms: pl.DataFrame, requested: pl.DataFrame) -> Read:
    """The containers of some rows of vm, and their requests."""
    numbers = ("priority", "starttime", "endtime")
    of_types = requested.select("vmTypeId", "selector", *RESOURCES)
    rows = vms.join(of_types, on="vmTypeId", how="left", maintain_order="left")
    good, broken = refuse(rows, _vm_rules(numbers), "container")
    yield from broken
    typed = good.with_columns(pl.col(*numbers).cast(pl.Float64))
    over = pl.col("endtime") < pl.max_horizontal(pl.col("starttime"), 0.0)
    late = Rule(column="endtime", broken=over, expected="a time behind the start of VM and trace")
    typed, broken = refuse(typed, [late], "container")
    yield from broken
    alive = typed.with_columns(
        _day_ms(pl.max_horizontal(pl.col("starttime"), 0.0)).alias("time_ms"),
        _day_ms(pl.col("endtime")).alias("departure_ms"),
        pl.col("vmId").alias("container"),
    )
    yield Batch(
        table="container",
        rows=alive.select(
            "time_ms",
            "container",
            pl.col("tenantId").alias("service"),
            (pl.col("line") - 1).alias("position"),
            "departure_ms",
            (1 - pl.col("priority")).alias("priority"),
            "selector",
            "line",
        ),
    )
    units = {name: (resource, "fraction", 1.0) for name, resource in RESOURCES.items()}
    wanted = alive.with_columns(pl.when(pl.col(one) > 0).then(one) for one in RESOURCES)
    amounts = long(wanted, ("time_ms", "container"), units)
    yield Batch(table="container_resource", rows=amounts.rename({"amount": "request"}))


def _vm_rules(amounts: Iterable[str]) -> Iterator[Rule]:
    yield from missing("vmId", "vmTypeId", "starttime")
    yield from numbers(*amounts)
    yield Rule(
        column="vmTypeId", broken=pl.col("selector").is_null(), expected="a vmTypeId of vmType"
    )
    yield Rule(
        column="priority",
        broken=~pl.col("priority").cast(pl.Float64).is_in([0.0, 1.0]),
        expected="0 or 1",
    )


def _day_ms(days: pl.Expr) -> pl.Expr:
    return (days * _DAY_MS).round().cast(pl.Int64)


AZURE_PACKING20 = ClusterSource(
    name="azure_packing20",
    title="Azure trace for packing 2020: VM requests of 14 days with CPU, memory, disks, network",
    url="https://github.com/Azure/AzurePublicDataset/blob/master/AzureTracesForPacking2020.md",
    licence="CC-BY-4.0",
    files=(
        ClusterFile(
            word="packing",
            title="VM requests and VM types, in one sqlite file",
            tables=("container", "container_resource", "node", "node_resource"),
            recognises=is_packing,
            read=read_packing,
            alone=True,
        ),
    ),
    lacks=(
        "machines: none is named, nor how many there are of a type",
        "cores and bytes: all sizes are fractions of a machine type",
        "usage",
        "placement",
        "failure domains",
    ),
    inferred=(
        "sizes of machine types, the largest 1: by what the same VM types take of them",
        "one node stands for each machine type",
        "priority 1 is upstream's 0 (high), 0 is upstream's 1 (low)",
        "a VM whose start is negative was there before: it arrives at 0",
    ),
    notes=(
        "a low-priority VM may have been evicted: its departure hangs on Azure's own placement",
        "departures lie up to 90 days behind the start, arrivals 14",
        "replay it with nodes of your own: as many of each platform as you want to try",
    ),
)
