"""The rows of the regression: the CPU of instances, and the pressure of their neighbours.

Every frame has the columns ``service, instance, host, socket, vcpus, window_ms, cpu, cpu_sc,
cpu_ss, cpu_os, load``, and one row for each instance and binding, or for each instance and time if
resolved. ``cpu_sc`` and ``cpu_os`` are NULL for a proxy, in which cores and sockets are unknown.
"""

from typing import Any, Literal

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.constants import CONTAINER_CPU_CORES, NODE_CPU_CORES
from tracekit.interference.binding import Binding, NothingToFitError
from tracekit.interference.linear import (
    LEAST_ROWS,
    NOTHING_HELD,
    fit_linear,
    folds_of,
    judge,
    lacking,
    validate,
)
from tracekit.interference.options import Aggregation, How
from tracekit.interference.room import Bound, other_sockets, pressure, service_profile
from tracekit.interference.table import RecordedSizes, Table, service_means

SCHEMA = {
    "service": pl.String,
    "instance": pl.String,
    "host": pl.String,
    "socket": pl.Int64,
    "vcpus": pl.Float64,
    "window_ms": pl.Int64,
    "cpu": pl.Float64,
    "cpu_sc": pl.Float64,
    "cpu_ss": pl.Float64,
    "cpu_os": pl.Float64,
    "load": pl.Float64,
}


def bound_rows(binding: Binding, agg: Aggregation, *, resolved: bool = False) -> pl.DataFrame:
    """Return the rows of a regression from monitoring rows, with pressures by core and socket.

    Parameters
    ----------
    resolved : bool
        Whether there is a row for each instance and time, with pressures from the mean CPU of
        services at that time. Otherwise there is one for each instance and socket, with means over
        time.
    """
    rows = binding.rows.with_columns(pl.col("service").rank("dense").cast(pl.Int64) - 1)
    names = binding.rows["service"].unique().sort()
    profile = None if resolved else _profile(_averaged(rows), len(names))
    parts = [
        _at_one_time(binding, piece, profile, len(names), agg)
        for piece in rows.partition_by("time_ms", maintain_order=True)
    ]
    every = pl.concat(parts).with_columns(service=pl.lit(names).gather(pl.col("service")))
    if not resolved:
        every = _one_per_binding(every)
    return every.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items()).sort(
        "service", "instance", "window_ms", "socket"
    )


def _averaged(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("instance", maintain_order=True).agg(
        pl.col("service").first(), pl.col("cpu").mean()
    )


def _profile(rows: pl.DataFrame, services: int) -> np.ndarray:
    return service_profile(rows["service"].to_numpy(), rows["cpu"].to_numpy(), services)


def _at_one_time(
    binding: Binding,
    piece: pl.DataFrame,
    profile: np.ndarray | None,
    services: int,
    agg: Aggregation,
) -> pl.DataFrame:
    sizes, first = piece["vcpus"].to_numpy(), piece["first"].to_numpy()
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    owner = np.repeat(np.arange(piece.height), sizes)
    place = binding.place[first[owner] + within]
    of_services = _profile(piece, services) if profile is None else profile
    cpu = of_services[piece["service"].to_numpy()]
    bound = Bound(owner, place, piece.height)
    core, socket = pressure(binding.room, bound, cpu, agg)
    its_socket = binding.room.socket[binding.place[first]]
    return piece.select(
        "service",
        "instance",
        "host",
        "cpu",
        "load",
        "vcpus",
        pl.col("time_ms").alias("window_ms"),
        pl.Series("socket", its_socket),
        pl.Series("cpu_sc", core),
        pl.Series("cpu_ss", socket),
        pl.Series("cpu_os", other_sockets(binding.room, bound, cpu, agg)),
    )


def _one_per_binding(rows: pl.DataFrame) -> pl.DataFrame:
    """Means over time; an instance that moved has a row for each of its sockets."""
    return rows.group_by("service", "instance", "host", "socket", maintain_order=True).agg(
        pl.col("window_ms").min(),
        pl.col("vcpus", "cpu", "load", "cpu_sc", "cpu_ss", "cpu_os").mean(),
    )


def proxy_rows(
    neighbours: pl.DataFrame,
    load: pl.DataFrame | None,
    agg: Aggregation,
    sizes: RecordedSizes | None = None,
) -> pl.DataFrame:
    """Return the rows of a regression from a store, as if all containers of a node were neighbours.

    Parameters
    ----------
    neighbours, load : DataFrame
        Results of ``interference/node_neighbours`` and ``interference/container_load``.
    sizes : RecordedSizes, optional
        The cores of containers and nodes. Neighbours are weighted by their cores. If None, all have
        the assumed size.
    """
    if neighbours.is_empty():
        raise NothingToFitError(
            "the store has no use of containers on a node that other containers use too",
            hint="ingest what containers use, and where they ran: tracekit ingest SRC STORE",
        )
    node = pl.col("node").rank("dense").cast(pl.Int64) - 1
    beside = _of_one_size(neighbours) if sizes is None else sizes.weighed(neighbours)
    rows = beside.select(
        "service",
        pl.col("container").alias("instance"),
        pl.col("node").alias("host"),
        node.alias("socket"),
        pl.col("cores").alias("vcpus"),
        pl.col("window_start_ms").alias("window_ms"),
        pl.col("cpu_mean").alias("cpu"),
        pl.lit(None, dtype=pl.Float64).alias("cpu_sc"),
        _pressed(agg).alias("cpu_ss"),
        pl.lit(None, dtype=pl.Float64).alias("cpu_os"),
    )
    return _with_load(rows, load).sort("service", "instance", "window_ms", "socket")


def _of_one_size(neighbours: pl.DataFrame) -> pl.DataFrame:
    return neighbours.with_columns(
        cores=pl.lit(CONTAINER_CPU_CORES),
        node_cores=pl.lit(NODE_CPU_CORES),
        neighbour_busy_cores=pl.col("neighbour_cpu_sum") * CONTAINER_CPU_CORES,
    )


def _pressed(agg: Aggregation) -> pl.Expr:
    busy = pl.col("neighbour_busy_cores")
    rest = pl.col("node_cores") - pl.col("cores")
    return {
        "mean": pl.col("neighbour_cpu_mean"),
        "occupancy": pl.when(rest > 0).then(busy / rest).otherwise(0.0),
        "sum": busy,
    }[agg]


def with_load(rows: pl.DataFrame, load: pl.DataFrame, window_ms: int | None = None) -> pl.DataFrame:
    """Return the rows with the call rates of a store, unless they have rates already.

    Parameters
    ----------
    window_ms : int, optional
        The length of the windows of ``load``. A row gets the rate of the window that its time is
        in. None for a ``load`` over the whole trace.
    """
    if rows["load"].is_not_null().any():
        return rows
    time = pl.col("window_ms")
    start = time * 0 if window_ms is None else time - time % window_ms
    timed = rows.with_columns(start.alias("window_ms"), time.alias("_time"))
    rated = _with_load(timed.drop("load"), load)
    return rated.with_columns(pl.col("_time").alias("window_ms")).select(list(SCHEMA))


def _with_load(rows: pl.DataFrame, load: pl.DataFrame | None) -> pl.DataFrame:
    if load is None:
        return rows.with_columns(pl.lit(None, dtype=pl.Float64).alias("load"))
    rates = load.select(
        pl.col("container").alias("instance"),
        pl.col("window_start_ms").alias("window_ms"),
        pl.col("rate_mean").alias("load"),
    )
    return rows.join(rates, on=["instance", "window_ms"], how="left", maintain_order="left")


# The fit on totals of sockets, or of nodes if sockets are unknown.
#
# The sum of the model over the instances of a socket, weighted by vCPUs, has no service constants
# after the means of services are subtracted: the socket's deviation of use is k1 and k2 times its
# deviation of pressure. The noise of single instances averages out; all services share k1 and k2.

Level = Literal["socket", "node"]


def fit_totals(
    table: Table,
    rows: pl.DataFrame,
    level: Level,
    how: How,
    rng: np.random.Generator,
    *,
    proxy: bool,
) -> dict[str, Any]:
    """Fit one regression, for all services together, to the means of whole sockets or nodes.

    A row of the regression is a mean over the instances on a socket or node at one time, weighted
    by vCPUs. It is taken of their deviations from the means of their services.

    Parameters
    ----------
    rows : DataFrame
        The columns ``host, socket, window_ms, vcpus`` of the rows of the table, in its order.

    Returns
    -------
    dict
        The keys level, rows, verdict and reason. With enough rows also r2, condition and, for each
        coefficient such as ``k1``, the keys ``k1``, ``k1_error``, ``k1_low`` and ``k1_high``.
    """
    everything = np.ones(len(table.target), dtype=np.bool_)
    columns = table.regressors - service_means(table, table.regressors, everything)[table.service]
    target = table.target - service_means(table, table.target, everything)[table.service]
    names = ["host", "window_ms"] if level == "node" else ["host", "socket", "window_ms"]
    group = _numbered(rows.select(pl.struct(names)).to_series())
    weight = rows["vcpus"].to_numpy()
    many = int(group.max()) + 1 if len(group) else 0
    size = np.bincount(group, weight, many)
    total = np.bincount(group, weight * target, many) / size
    pressed = np.stack(
        [np.bincount(group, weight * column, many) / size for column in columns.T], axis=1
    )
    about: dict[str, Any] = {"level": level, "rows": many}
    lacks = lacking(many, needed=LEAST_ROWS + len(table.names))
    if lacks:
        verdict, reason = judge(None, NOTHING_HELD, lacks=lacks, proxy=proxy)
        return {**about, "verdict": verdict, "reason": reason}
    place = _places(rows, group, many)
    cluster = place if len(np.unique(place)) < many else None
    fitted = fit_linear(pressed, total, how, groups=cluster, tested=table.pressures)
    held = validate(pressed, total, folds_of(place, rng), how)
    verdict, reason = judge(fitted, held, lacks="", proxy=proxy)
    for at, name in enumerate(table.coefficients, start=1):
        about |= {
            name: float(fitted.coefficients[at]),
            f"{name}_error": float(fitted.errors[at]),
            f"{name}_low": float(fitted.low[at]),
            f"{name}_high": float(fitted.high[at]),
        }
    numbers = {"r2": fitted.r2, "condition": fitted.condition}
    finite = {key: value if np.isfinite(value) else None for key, value in numbers.items()}
    return {**about, **finite, "verdict": verdict, "reason": reason}


def _numbered(values: pl.Series) -> IntArray:
    return (values.rank("dense") - 1).to_numpy().astype(np.int64)


def _places(rows: pl.DataFrame, group: IntArray, many: int) -> IntArray:
    """The host of each total, as totals of one host at several times are dependent."""
    place = np.zeros(many, dtype=np.int64)
    place[group] = _numbered(rows["host"])
    return place
