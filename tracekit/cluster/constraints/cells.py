"""Room per NUMA cell: a container that is bound to cells must fit into them.

A container with ``numa_cells`` k puts an equal part of its request on each of k cells of one node:
with 1 it fits in one cell, with 2 it has half on each of two. A container that is not bound (0)
takes room too: the first cell, in the policy's order of cells, that has room for all of it. If no
cell has, it takes what is left of one cell after another; whether it fits is decided by the room of
the whole node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.constraint import CellChoice, Constraint, Reason, everywhere

#: What a container takes of cells: cell, cpu_milli, memory_bytes.
Taken = list[tuple[int, int, int]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells(Constraint):
    """The NUMA cells of nodes. A container bound to k cells puts an equal part on each of k cells.

    Parameters
    ----------
    capacity : int64, shape (nodes, cells, 2)
        cpu_milli and memory_bytes; 0 of both where a node has fewer cells than others.
    request : int64, shape (containers, 2)
        cpu_milli and memory_bytes of the whole container.
    numa_cells : int64, shape (containers,)
        The number k for each container; 0 for a container that is not bound to cells.
    cell : {'first', 'tight'}
        Which of the fitting cells is taken: the lowest number, or the one with the least CPU left
        afterwards, ties to the lower number.
    """

    only_closes: ClassVar[bool] = True

    label: str = "NUMA cells"
    capacity: IntArray
    request: IntArray
    numa_cells: IntArray
    cell: CellChoice = "first"

    def __post_init__(self) -> None:
        if (self.numa_cells < 0).any():
            at = int(np.flatnonzero(self.numa_cells < 0)[0])
            raise TracekitError(
                f"container {at} is bound to {self.numa_cells[at]} NUMA cells, expected 0 or more"
            )

    @property
    def kinds(self) -> IntArray:
        """The number of cells that each container is divided over."""
        return self.numa_cells

    @property
    def about(self) -> BoolArray:
        """Whether each container is bound to NUMA cells, shape (containers,)."""
        return np.asarray(self.numa_cells > 0)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.capacity)

    def taken(self, order: IntArray) -> Self:
        """Return the constraint for the containers at these positions, in this order."""
        return replace(self, request=self.request[order], numa_cells=self.numa_cells[order])

    def on(self, nodes: IntArray) -> Self:
        """Return the constraint for the nodes at these positions alone."""
        return replace(self, capacity=self.capacity[nodes])

    def choosing(self, cell: CellChoice) -> Self:
        """Return the constraint with ``cell`` as the way to choose among fitting cells."""
        return replace(self, cell=cell)

    def keeper(self, nodes: int) -> CellsKeeper:
        """Return the free amounts of all cells for one replay, before any placement."""
        return CellsKeeper(self, nodes)

    def why(self, index: int, nodes: int) -> dict[Reason, BoolArray]:
        """Return the nodes on which too few cells are large enough, keyed by this reason."""
        bound = int(self.numa_cells[index])
        what = "no NUMA cell that is large enough"
        if bound > 1:
            what = f"fewer than {bound} NUMA cells that are large enough for an equal part each"
        return {Reason("have", what): ~self.keeper(nodes).open(index)}


class CellsKeeper:
    """The free amounts of NUMA cells during a replay, and the cells that each container takes."""

    def __init__(self, cells: Cells, nodes: int) -> None:
        self._cells = cells
        self._everywhere = everywhere(nodes)
        # cell by cell, node beside node: a question looks at every node
        self._free = cells.capacity.transpose(1, 2, 0).copy(order="C")
        self._got: dict[int, Taken] = {}

    @property
    def free(self) -> IntArray:
        """CPU in millicores and bytes left, shape (nodes, cells, 2); a read-only view."""
        view = self._free.transpose(2, 0, 1)
        view.flags.writeable = False
        return view

    def open(self, index: int) -> BoolArray:
        """Return the mask of nodes that have enough cells with room for a part, shape (nodes,)."""
        bound = self._bound(index)
        if not bound:
            return self._everywhere
        room = np.ones((len(self._free), len(self._everywhere)), dtype=np.bool_)
        for resource, wanted in enumerate(self._part(index, bound)):
            if wanted > 0:
                room &= self._free[:, resource] >= wanted
        return np.asarray(room.any(axis=0) if bound == 1 else room.sum(axis=0) >= bound)

    def add(self, index: int, node: int) -> None:
        """Subtract a container that starts on a node from the free amounts of the node's cells."""
        bound = self._bound(index)
        taken = self._parts(index, node, bound) if bound else self._anywhere(index, node)
        self._got[index] = taken
        for cell, cpu, memory in taken:
            self._free[cell, 0, node] -= cpu
            self._free[cell, 1, node] -= memory

    def remove(self, index: int, node: int) -> None:
        """Add back to the cells the amounts that ``add`` subtracted for the container."""
        for cell, cpu, memory in self._got.pop(index):
            self._free[cell, 0, node] += cpu
            self._free[cell, 1, node] += memory

    def _bound(self, index: int) -> int:
        return int(self._cells.numa_cells[index])

    def _part(self, index: int, among: int) -> tuple[int, int]:
        cpu, memory = self._cells.request[index].tolist()
        return -(-cpu // among), -(-memory // among)

    def _parts(self, index: int, node: int, bound: int) -> Taken:
        """Equal parts on the best cells; on a node that is not open, on the emptiest cells."""
        bound = min(bound, len(self._free))
        part = self._part(index, bound)
        fitting, others = self._ranked(node, part)
        return [(cell, *part) for cell in (fitting + others[::-1])[:bound]]

    def _anywhere(self, index: int, node: int) -> Taken:
        """A request in one cell, else over cells in turn; what no cell has left is in none."""
        cpu, memory = self._cells.request[index].tolist()
        fitting, others = self._ranked(node, (cpu, memory))
        if fitting:
            return [(fitting[0], cpu, memory)]
        taken = []
        for cell in others if self._cells.cell == "tight" else sorted(others):
            free_cpu, free_memory = self._free[cell, :, node].tolist()
            some = min(cpu, max(free_cpu, 0)), min(memory, max(free_memory, 0))
            taken.append((cell, *some))
            cpu, memory = cpu - some[0], memory - some[1]
        return taken

    def _ranked(self, node: int, part: tuple[int, int]) -> tuple[list[int], list[int]]:
        """Cells with room, the best first, then cells without room, the fullest first."""
        free = self._free[:, :, node].tolist()
        tight = sorted(range(len(free)), key=lambda cell: (free[cell][0], cell))
        fits = [
            all(w <= 0 or left >= w for w, left in zip(part, room, strict=True)) for room in free
        ]
        order = tight if self._cells.cell == "tight" else range(len(free))
        return [cell for cell in order if fits[cell]], [cell for cell in tight if not fits[cell]]
