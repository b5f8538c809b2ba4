"""The rows of a regression as arrays: regressors, target, service and instance by number."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.constants import CONTAINER_CPU_CORES, NODE_CPU_CORES
from tracekit.store.folder import Store
from tracekit.store.query.run import AnyDatabase

#: The regressors of neighbours; the last one is optional, as the patent has one socket.
PRESSURES = ("cpu_sc", "cpu_ss", "cpu_os")
LOAD = "load"
#: The name of the coefficient of each regressor.
COEFFICIENTS = {"cpu_sc": "k1", "cpu_ss": "k2", "cpu_os": "k3", "load": "k_load"}


@dataclass(frozen=True)
class Table:
    """The rows of a regression as arrays, ordered by service.

    Parameters
    ----------
    names : tuple of str
        The regressors, some of ``cpu_sc, cpu_ss, cpu_os`` (the CPU use of neighbours on the same
        cores, the same socket, other sockets) and ``load`` (the call rate).
    regressors : float64, shape (rows, regressors)
    target : float64, shape (rows,)
        The CPU of the instance, column ``cpu`` of the rows.
    service, instance : int64, shape (rows,)
    services : tuple of str
    left_out : int
        The number of rows left out without a load, if load is a regressor.
    """

    names: tuple[str, ...]
    regressors: FloatArray
    target: FloatArray
    service: IntArray
    instance: IntArray
    services: tuple[str, ...]
    left_out: int = 0

    @property
    def coefficients(self) -> tuple[str, ...]:
        """The names of the coefficients, such as ``k1, k2``, without the intercept."""
        return tuple(COEFFICIENTS[name] for name in self.names)

    @property
    def pressures(self) -> int:
        """The number of regressors that are pressures of neighbours; these come first."""
        return sum(name in PRESSURES for name in self.names)

    def ranges(self) -> Iterator[tuple[int, slice]]:
        """Yield the number of each service, and the slice of its rows."""
        starts = np.searchsorted(self.service, np.arange(len(self.services) + 1))
        for at in range(len(self.services)):
            yield at, slice(int(starts[at]), int(starts[at + 1]))


def make_table(rows: pl.DataFrame, *, load: bool = False, other_sockets: bool = False) -> Table:
    """Return rows as a table. A pressure that is null in all rows is no regressor.

    Load becomes load / (mean load of the service) - 1. So its coefficient is the CPU that a doubled
    load adds, and services can be pooled.
    """
    wanted = PRESSURES if other_sockets else PRESSURES[:2]
    names: Sequence[str] = [name for name in wanted if rows[name].is_not_null().any()]
    whole = rows.height
    if load:
        names = [*names, LOAD]
        mean = pl.col(LOAD).mean().over("service")
        relative = pl.when(mean > 0).then(pl.col(LOAD) / mean - 1)
        rows = rows.with_columns(relative.alias(LOAD)).filter(pl.col(LOAD).is_not_null())
    rows = rows.sort("service", maintain_order=True)
    services = rows["service"].unique().sort()
    return Table(
        names=tuple(names),
        regressors=np.ascontiguousarray(rows.select(names).to_numpy().astype(np.float64)),
        target=rows["cpu"].to_numpy().astype(np.float64),
        service=_numbered(rows["service"]),
        instance=_numbered(rows["instance"]),
        services=tuple(services),
        left_out=whole - rows.height,
    )


def _numbered(names: pl.Series) -> IntArray:
    return (names.rank("dense") - 1).to_numpy().astype(np.int64)


def service_means(table: Table, values: FloatArray, train: BoolArray) -> FloatArray:
    """Return each service's mean over training rows, shape (services, ...); NaN without rows."""
    count = len(table.services)
    many = np.bincount(table.service[train], minlength=count)
    columns = values.reshape(len(values), -1)[train]
    sums = np.stack(
        [np.bincount(table.service[train], column, count) for column in columns.T], axis=1
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return (sums / many[:, None]).reshape(count, *values.shape[1:])


# Recorded sizes of a store, which are the weights of neighbours.

_CONTAINERS = """
SELECT container_id.container, max_by(s.request, s.time_ms) AS cores
FROM container_resource_keyed AS s
INNER JOIN container_id ON s.container_key = container_id.container_key
WHERE s.resource = 'cpu' AND s.unit = 'cores' AND s.request > 0
GROUP BY container_id.container
"""
_NODES = """
SELECT node_id.node, max_by(s.amount, s.time_ms) AS node_cores
FROM node_resource_keyed AS s
INNER JOIN node_id ON s.node_key = node_id.node_key
WHERE s.resource = 'cpu' AND s.unit = 'cores' AND s.cell IS NULL AND s.amount > 0
GROUP BY node_id.node
"""


@dataclass(frozen=True)
class RecordedSizes:
    """The last recorded CPU requests of containers, and CPU of nodes, in cores.

    Parameters
    ----------
    containers : DataFrame
        The columns ``container, cores``; other containers have the assumed size.
    nodes : DataFrame
        The columns ``node, node_cores``; other nodes have the assumed size.
    """

    containers: pl.DataFrame
    nodes: pl.DataFrame

    def weighed(self, neighbours: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of containers with the CPU of their neighbours weighted by cores.

        Parameters
        ----------
        neighbours : DataFrame
            Result of ``interference/node_neighbours``.

        Returns
        -------
        DataFrame
            The same rows with ``cores``, ``node_cores``, the number of the neighbours' busy vCPUs
            ``neighbour_busy_cores``, and a weighted ``neighbour_cpu_mean``.
        """
        profile = pl.col("cpu_mean").mean().over("service", "window_start_ms")
        of_node = ("node", "window_start_ms")
        sized = (
            neighbours.join(self.containers, on="container", how="left", maintain_order="left")
            .join(self.nodes, on="node", how="left", maintain_order="left")
            .with_columns(
                pl.col("cores").fill_null(CONTAINER_CPU_CORES),
                pl.col("node_cores").fill_null(NODE_CPU_CORES),
            )
            .with_columns(_busy=profile * pl.col("cores"))
            .with_columns(
                _others=pl.col("cores").sum().over(of_node) - pl.col("cores"),
                neighbour_busy_cores=pl.col("_busy").sum().over(of_node) - pl.col("_busy"),
            )
        )
        alone = pl.col("neighbours") == 0
        busy = pl.when(alone).then(0.0).otherwise(pl.col("neighbour_busy_cores"))
        mean = pl.when(alone).then(0.0).otherwise(busy / pl.col("_others"))
        return sized.with_columns(
            neighbour_busy_cores=busy.round(12), neighbour_cpu_mean=mean.round(12)
        )


def recorded_sizes(store: Store, database: AnyDatabase) -> RecordedSizes | None:
    """Return the recorded sizes of a store; None if no container or no node has one."""
    if not (store.manifest.parts("container_resource") and store.manifest.parts("node_resource")):
        return None
    containers, nodes = database.frame(_CONTAINERS, {}), database.frame(_NODES, {})
    cores = {"cores": pl.Float64, "node_cores": pl.Float64}
    if containers.is_empty() or nodes.is_empty():
        return None
    return RecordedSizes(
        *(
            one.cast({n: k for n, k in cores.items() if n in one.columns})
            for one in (containers, nodes)
        )
    )
