"""Sizes that a store records, by which the neighbours of a container weigh."""

from dataclasses import dataclass

import polars as pl

from tracekit.base.constants import CONTAINER_CPU_CORES, NODE_CPU_CORES
from tracekit.store.folder import Store
from tracekit.store.query.engine import AnyDatabase

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
    """CPU requests of containers and CPU of nodes, the last that are known.

    Parameters
    ----------
    containers : DataFrame
        ``container, cores``; those it does not name have the assumed size.
    nodes : DataFrame
        ``node, node_cores``; as with containers.
    """

    containers: pl.DataFrame
    nodes: pl.DataFrame

    def weighed(self, neighbours: pl.DataFrame) -> pl.DataFrame:
        """Pressure by the neighbours' vCPUs instead of by their number.

        As ``vcpu.pressure``: the mean of the neighbours' service profiles weighed by
        their vCPUs, and how many of those are busy.

        Parameters
        ----------
        neighbours : DataFrame
            Result of ``interference/node_neighbours``.

        Returns
        -------
        DataFrame
            The same rows with ``cores``, ``node_cores``, ``neighbour_busy_cores``, and
            ``neighbour_cpu_mean`` anew.
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
    """What the store records; None where it knows the CPU of no container or of no node."""
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
