"""Changes of use from sample to sample, of nodes and of their containers, and sums of products.

The regression needs only the sums.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from tracekit.store.query.run import AnyDatabase

_ROWS = """
SELECT node_key, resource, unit, time_ms, amount
FROM node_resource_keyed
WHERE cell IS NULL AND amount > 0
"""


@dataclass(frozen=True)
class Capacities:
    """The capacities of all nodes for one resource, as recorded in the store.

    Parameters
    ----------
    commonest : float
        The capacity that most nodes have, in ``unit``; of equally frequent ones the smallest.
    relative : dict of int to float
        By node_key: the capacity of the node divided by the commonest capacity.
    """

    commonest: float
    unit: str
    relative: dict[int, float] = field(default_factory=dict)


def capacities(database: AnyDatabase) -> dict[str, Capacities]:
    """Return the last recorded capacities of nodes, by resource.

    A resource that is recorded in several units is left out.
    """
    rows = database.frame(_ROWS).sort("time_ms", "amount")
    rows = rows.unique(["node_key", "resource"], keep="last", maintain_order=True)
    by_resource = {}
    for (name,), part in rows.group_by("resource", maintain_order=True):
        if part["unit"].n_unique() != 1:
            continue
        counts = part.group_by("amount").len().sort("len", "amount", descending=[True, False])
        commonest = float(counts["amount"][0])
        relative = part.select("node_key", pl.col("amount") / commonest)
        by_resource[str(name)] = Capacities(commonest, part["unit"][0], dict(relative.rows()))
    return by_resource


RESOURCES = ("cpu", "memory")
#: Values of one resource held at a time: 64 MB.
MAX_CELLS = 8_000_000


@dataclass(frozen=True, kw_only=True)
class NodeChanges:
    """The changes of use between successive samples, for one node and each of its containers.

    Each dict is by resource. ``steps`` has the number of known changes of the node. ``node`` has
    arrays of shape (changes,), and ``containers`` of shape (containers, changes). A change is 0 if
    one of its two samples is missing. Where the change of the node is unknown, its containers' are
    0 as well. Changes of the node are shares of the commonest capacity.
    """

    node_key: int
    services: IntArray
    node: dict[str, FloatArray]
    containers: dict[str, FloatArray]
    steps: dict[str, int]


def changes(database: AnyDatabase) -> Iterator[NodeChanges]:
    """Yield the changes of each node that has samples of containers.

    Nothing is yielded if the store has no samples of nodes.
    """
    grid = _grid(database)
    if grid is None:
        return
    sizes = {name: one.relative for name, one in capacities(database).items()}
    hosted = database.frame(
        "SELECT node_key, container_key, min(service_key) AS service_key"
        " FROM container_usage_keyed GROUP BY node_key, container_key"
        " ORDER BY node_key, container_key"
    )
    for group in _groups(hosted, grid[2]):
        for one in _changes_of(database, group, grid):
            yield _in_commonest(one, sizes)


def _in_commonest(one: NodeChanges, sizes: Mapping[str, Mapping[int, float]]) -> NodeChanges:
    """The changes of a node counted in nodes of the commonest size."""
    own = {
        name: values * sizes.get(name, {}).get(one.node_key, 1.0)
        for name, values in one.node.items()
    }
    return replace(one, node=own)


def _grid(database: AnyDatabase) -> tuple[int, int, int] | None:
    """First time, step and number of steps that both tables can share."""
    rows = {r["table"]: r for r in database.rows("SELECT * FROM quality_time_grid")}
    if not {"node_usage", "container_usage"} <= rows.keys():
        return None
    node, box = rows["node_usage"], rows["container_usage"]
    if node["step_ms"] is None or node["time_min_ms"] is None or box["time_max_ms"] is None:
        return None
    start, step = node["time_min_ms"], node["step_ms"]
    end = max(node["time_max_ms"], box["time_max_ms"])
    return start, step, max(0, (end - start) // step + 1)


def _groups(hosted: pl.DataFrame, steps: int) -> Iterator[pl.DataFrame]:
    """Groups of neighbouring nodes whose containers fit into memory together."""
    per_group = max(1, MAX_CELLS // max(steps, 1))
    before = hosted.with_row_index("stay").group_by("node_key").agg(pl.col("stay").min())
    numbered = hosted.join(before, on="node_key", maintain_order="left")
    yield from numbered.with_columns(pl.col("stay") // per_group).partition_by(
        "stay", maintain_order=True, include_key=False
    )


def _changes_of(
    database: AnyDatabase, hosted: pl.DataFrame, grid: tuple[int, int, int]
) -> Iterator[NodeChanges]:
    low, high = hosted["node_key"][0], hosted["node_key"][-1]
    nodes = hosted.select("node_key").unique().sort("node_key")
    own = _dense(database, "node_usage_keyed", nodes, (low, high), grid)
    theirs = _dense(database, "container_usage_keyed", hosted, (low, high), grid)
    ends = hosted["node_key"].rle().struct.field("len").cum_sum().to_list()
    services = hosted["service_key"].cast(pl.Int64).to_numpy()
    for at, (key, start, end) in enumerate(
        zip(nodes["node_key"].to_list(), [0, *ends], ends, strict=False)
    ):
        has_sample = {name: ~np.isnan(own[name][at]) for name in RESOURCES}
        yield NodeChanges(
            node_key=key,
            services=services[start:end],
            node={name: np.nan_to_num(own[name][at]) for name in RESOURCES},
            containers={
                name: np.nan_to_num(theirs[name][start:end]) * has_sample[name]
                for name in RESOURCES
            },
            steps={name: int(has_sample[name].sum()) for name in RESOURCES},
        )


def _dense(
    database: AnyDatabase,
    table: str,
    entities: pl.DataFrame,
    nodes: tuple[int, int],
    grid: tuple[int, int, int],
) -> dict[str, FloatArray]:
    """Changes of each entity, shape (entities, steps - 1), NaN where a sample is missing."""
    start, step, steps = grid
    keys = [name for name in ("node_key", "container_key") if name in entities.columns]
    rows = database.frame(
        f"SELECT {', '.join(keys)}, CAST((time_ms - {start}) / {step} AS BIGINT) AS at,"
        f" cpu_fraction AS cpu, memory_fraction AS memory FROM {table}"
        f" WHERE node_key BETWEEN {nodes[0]} AND {nodes[1]} AND time_ms >= {start}"
        f" AND (time_ms - {start}) % {step} = 0"
    ).join(entities.select(keys).with_row_index("entity"), on=keys)
    rows = rows.filter(pl.col("at") < steps)
    where = rows["entity"].to_numpy(), rows["at"].to_numpy()
    by_resource = {}
    for name in RESOURCES:
        values = np.full((entities.height, steps), np.nan)
        values[where] = rows[name].to_numpy()
        by_resource[name] = np.diff(values, axis=1)
    return by_resource


@dataclass(frozen=True, kw_only=True)
class NodeSums:
    """The sums over time of products of changes, for one node and one resource.

    Parameters
    ----------
    services : int64, shape (containers,)
        For each container the position of its service in ``Sums.services``.
    gram : float64, shape (containers, containers)
        Products of the changes of two containers.
    cross : float64, shape (containers,)
        Products of the changes of a container and of the node.
    square : float
        Sum of the squared changes of the node.
    steps : int
        Number of known changes of the node.
    """

    services: IntArray
    gram: FloatArray
    cross: FloatArray
    square: float
    steps: int


@dataclass
class Sums:
    """The input of a regression of node use on container use, for one resource.

    ``services`` has the service_key of each column of the regression, ``containers`` the number of
    containers of each service, and ``nodes`` the sums of each node.
    """

    services: IntArray
    containers: IntArray
    nodes: list[NodeSums] = field(default_factory=list)

    def normal_equations(self) -> tuple[FloatArray, FloatArray]:
        """Return the Gram matrix (services, services) and the cross products (services,)."""
        count = len(self.services)
        gram, cross = np.zeros((count, count)), np.zeros(count)
        for node in self.nodes:
            np.add.at(gram, (node.services[:, None], node.services[None, :]), node.gram)
            np.add.at(cross, node.services, node.cross)
        return gram, cross

    def hosts(self) -> IntArray:
        """Return the number of nodes with containers of each service, shape (services,)."""
        each = [np.unique(node.services) for node in self.nodes]
        flat = np.concatenate(each) if each else np.zeros(0, dtype=np.int64)
        return np.bincount(flat, minlength=len(self.services))


def sums_of(nodes: Iterable[NodeChanges], resources: Iterable[str]) -> dict[str, Sums]:
    """Return the ``Sums`` of each resource, from one pass over the nodes."""
    names = list(resources)
    each_node = [
        (node.services, {name: _node_sums(node, name) for name in names}) for node in nodes
    ]
    keys = (
        np.concatenate([services for services, _ in each_node])
        if each_node
        else np.zeros(0, np.int64)
    )
    services, containers = np.unique(keys, return_counts=True)
    totals = {name: Sums(services=services, containers=containers) for name in names}
    for _, by_resource in each_node:
        for name, sums in by_resource.items():
            columns = np.searchsorted(services, sums.services)
            totals[name].nodes.append(dataclasses.replace(sums, services=columns))
    return totals


def _node_sums(node: NodeChanges, resource: str) -> NodeSums:
    theirs, own = node.containers[resource], node.node[resource]
    return NodeSums(
        services=node.services,
        gram=theirs @ theirs.T,
        cross=theirs @ own,
        square=float(own @ own),
        steps=node.steps[resource],
    )
