"""All constraints of a workload together: a node is open if each constraint leaves it open.

Texts of containers and nodes that only a descheduler reads are kept as ``DeschedulerRows``.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.cells import Cells, CellsKeeper
from tracekit.cluster.constraints.constraint import CellChoice, Constraint
from tracekit.cluster.constraints.labels import COLUMNS


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraints:
    """All constraints of a workload. A node is open to a container if every part leaves it open."""

    parts: tuple[Constraint, ...]

    def check(self, containers: int, nodes: int) -> None:
        """Raise TracekitError if a constraint has another number of containers or nodes."""
        for part in self.parts:
            if len(part.kinds) != containers or part.nodes not in (None, nodes):
                raise TracekitError(
                    f"constraint '{part.name}' is of {len(part.kinds)} containers and"
                    f" {nodes if part.nodes is None else part.nodes} nodes, expected {containers}"
                    f" and {nodes}"
                )

    def taken(self, order: IntArray) -> Constraints:
        """Return the constraints for the containers at these positions, in this order."""
        return Constraints(parts=tuple(part.taken(order) for part in self.parts))

    def on(self, nodes: IntArray) -> Constraints:
        """Return the constraints for the nodes at these positions alone."""
        return Constraints(parts=tuple(part.on(nodes) for part in self.parts))

    def without(self, lifted: frozenset[str]) -> Constraints | None:
        """Return the constraints whose labels are not in ``lifted``, or None if none is left.

        The constraint on NUMA cells always stays.
        """
        left = tuple(part for part in self.parts if part.label not in lifted)
        return Constraints(parts=left) if left else None

    def keeper(self, nodes: int, cell: CellChoice = "first") -> ConstraintsKeeper:
        """Return the state for one replay of a policy that chooses NUMA cells by ``cell``."""
        return ConstraintsKeeper([part.choosing(cell) for part in self.parts], nodes)

    def kind(self, index: int) -> Hashable:
        """Return a container's class in every constraint.

        Containers with equal requests and equal classes have the same nodes open.
        """
        return tuple(int(part.kinds[index]) for part in self.parts)

    @functools.cached_property
    def fixed(self) -> IntArray:
        """A group number for each container, shape (containers,).

        Containers of one group have the same nodes open, whatever is placed. The number is -1 for a
        container whose open nodes change with placements.
        """
        none = np.zeros(len(self.parts[0].kinds), dtype=np.int64)
        rows = [part.kinds if part.fixed else none for part in self.parts]
        code = np.unique(np.stack(rows), axis=1, return_inverse=True)[1].reshape(-1)
        moving = [part.about for part in self.parts if not part.fixed]
        return np.where(np.any(moving, axis=0), -1, code) if moving else code

    @functools.cached_property
    def awaits(self) -> BoolArray | None:
        """Which containers may get a node only after another arrives; None if there are none."""
        waiting = np.any([part.awaits for part in self.parts], axis=0)
        return np.asarray(waiting) if waiting.any() else None

    def facts(self) -> dict[str, int]:
        """Return the number of containers that each constraint concerns.

        A key is made of the constraint's name, such as ``constraint_taints``.
        """
        return {
            f"constraint_{part.name}".replace(" ", "_"): int(part.about.sum())
            for part in self.parts
        }

    @property
    def cells(self) -> Cells | None:
        """The constraint on NUMA cells; None without one."""
        return next((part for part in self.parts if isinstance(part, Cells)), None)


class ConstraintsKeeper:
    """The state of all constraints during a replay: which container runs where."""

    def __init__(self, parts: list[Constraint], nodes: int) -> None:
        self._names = [part.name for part in parts]
        self._keepers = [part.keeper(nodes) for part in parts]
        self._nodes = nodes

    def open(self, index: int) -> BoolArray | None:
        """Return the mask of nodes that are open to a container, shape (nodes,).

        Return None if there are no constraints.
        """
        open_nodes: BoolArray | None = None
        for keeper in self._keepers:
            mask = keeper.open(index)
            open_nodes = mask if open_nodes is None else open_nodes & mask
        return open_nodes

    def closed(self, index: int) -> list[tuple[str, BoolArray]]:
        """Return each constraint's name, with the mask of nodes that it closes to a container."""
        return [
            (name, ~keeper.open(index))
            for name, keeper in zip(self._names, self._keepers, strict=True)
        ]

    def add(self, index: int, node: int) -> None:
        """Record that a container starts on a node."""
        for keeper in self._keepers:
            keeper.add(index, node)

    def remove(self, index: int, node: int) -> None:
        """Record that a container leaves its node."""
        for keeper in self._keepers:
            keeper.remove(index, node)

    @property
    def free_cells(self) -> IntArray | None:
        """Free millicores and bytes, shape (nodes, cells, 2), read-only; None without cells."""
        of_cells = [one for one in self._keepers if isinstance(one, CellsKeeper)]
        return of_cells[0].free if of_cells else None


#: Columns of the table ``container`` that are kept, and of the table ``node``.
OF_CONTAINERS = (
    *("namespace", "labels", "rules", "selector", "tolerations"),
    *("priority", "service", "eviction"),
)
OF_NODES = ("labels", "taints", "state", *COLUMNS)


@dataclass(frozen=True, kw_only=True, eq=False)
class DeschedulerRows:
    """Rows of the tables ``container`` and ``node`` that only a descheduler reads.

    Parameters
    ----------
    containers, nodes : tuple of str
        Distinct rows, each a JSON list of the values of the columns ``OF_CONTAINERS``,
        ``OF_NODES``.
    container, node : int64, shape (containers,) and (nodes,)
        The position of each container's row in ``containers``, and of each node's in ``nodes``.
    created_ms : int64, shape (containers,)
        When each container was created.
    """

    containers: tuple[str, ...]
    container: IntArray
    created_ms: IntArray
    nodes: tuple[str, ...]
    node: IntArray

    def __len__(self) -> int:
        return len(self.container)

    def taken(self, order: IntArray) -> DeschedulerRows:
        """Return the rows for the containers at these positions, in this order."""
        return dataclasses.replace(
            self, container=self.container[order], created_ms=self.created_ms[order]
        )

    def on(self, nodes: IntArray) -> DeschedulerRows:
        """Return the rows for the nodes at these positions alone."""
        return dataclasses.replace(self, node=self.node[nodes])


def written_of(
    containers: pl.DataFrame, nodes: pl.DataFrame, begin_ms: int | None = None
) -> DeschedulerRows | None:
    """Return the rows of containers and nodes, or None if a descheduler would find nothing to read.

    Parameters
    ----------
    containers, nodes : DataFrame
        Rows of the tables in the order of the workload.
    begin_ms : int, optional
        The beginning of a replay that starts at the moment of a list of running containers. Times
        of creation are then moved so that ages are those at that moment.
    """
    if containers["eviction"].null_count() == containers.height or not nodes.height:
        return None
    of, texts = _distinct(containers, OF_CONTAINERS)
    node_of, node_texts = _distinct(nodes, OF_NODES)
    created = pl.coalesce(pl.col("created_ms").cast(pl.Int64), "time_ms")
    if begin_ms is not None:
        created -= (pl.col("listed_ms").cast(pl.Int64) - begin_ms).fill_null(0)
    return DeschedulerRows(
        containers=texts,
        container=of,
        created_ms=containers.select(created).to_series().to_numpy().astype(np.int64),
        nodes=node_texts,
        node=node_of,
    )


def _distinct(rows: pl.DataFrame, columns: Sequence[str]) -> tuple[IntArray, tuple[str, ...]]:
    """The number of each row among the distinct ones, and these as JSON."""
    numbers: dict[tuple[Any, ...], int] = {}
    of = [numbers.setdefault(row, len(numbers)) for row in rows.select(columns).iter_rows()]
    return np.array(of, dtype=np.int64), tuple(json.dumps(row) for row in numbers)
