"""The movable share: how much of what nodes use a policy can move at all.

Of each resource, over the settled steps, what containers use that a policy places, over all that
nodes use. The rest stays where it is whatever the policy: use of nodes that no container explains,
daemons, and containers that are put back where they were observed, as long as their node is there
and nobody of a higher priority may evict them. What counts as used of a
further resource says ``tracekit.policy.view.further``.
"""

from collections.abc import Sequence

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload
from tracekit.policy.view.further import further_use
from tracekit.policy.view.room import measured_columns, measured_names
from tracekit.policy.view.sampled import USED


class MovableShare:
    """Adds up over the steps.

    Parameters
    ----------
    rebalanced : bool
        Whether something evicts, which moves what was observed too.
    """

    def __init__(self, load: Workload, *, rebalanced: bool = False) -> None:
        self._load = load
        self._fixed = _fixed(load, rebalanced=rebalanced)
        self._lost_ms = _lost_ms(load)
        self._columns, self._names = measured_columns(load), measured_names(load)
        self._sums = np.zeros((len(self._columns), 2))
        self._counted = frozenset(settled_steps(load.times_ms, load.settled_ms).tolist())

    def add(
        self, step: int, present: BoolArray, use: Sequence[FloatArray], own: Sequence[float]
    ) -> None:
        """A step: who is there, what each of them uses of cpu and memory, and what else is used.

        Parameters
        ----------
        present : bool, shape (containers,)
        use : two of float64, shape (present,)
        """
        if step not in self._counted:
            return
        moves = None if self._fixed is None else ~self._stays(step)[present]
        for at, column in enumerate(self._columns):
            amounts = use[column] if column in USED else self._further(column, step, present)
            movable = amounts if moves is None else amounts[moves]
            rest = own[column] if column in USED else 0.0
            self._sums[at] += float(movable.sum()), float(amounts.sum()) + rest

    def _stays(self, step: int) -> BoolArray:
        """Who stays at a step whatever the policy: who has lost the node by then does not."""
        if self._fixed is None:
            raise LookupError(step)
        return np.asarray(self._fixed & (self._load.times_ms[step] < self._lost_ms))

    def _further(self, column: int, step: int, present: BoolArray) -> FloatArray:
        if column in self._load.further_used:
            there = np.flatnonzero(present)
            return np.asarray(further_use(self._load, column, range(step, step + 1), there)[0])
        return np.asarray(self._load.request[present, column].astype(np.float64))

    def shares(self) -> dict[str, float]:
        """The share 0..1 of each resource that is used at all."""
        return {
            name: float(movable / whole)
            for name, (movable, whole) in zip(self._names, self._sums, strict=True)
            if whole > 0
        }


def _fixed(load: Workload, *, rebalanced: bool) -> BoolArray | None:
    """Containers that no policy moves; None where there are none."""
    fixed = np.zeros(load.containers, dtype=np.bool_)
    if load.daemon is not None:
        fixed |= load.daemon
    if load.pinned is not None and not rebalanced:
        fixed |= (load.pinned >= 0) & ~_may_be_evicted(load)
    return fixed if fixed.any() else None


def _may_be_evicted(load: Workload) -> BoolArray:
    """Whom one of higher priority may evict, shape (containers,)."""
    if not load.preemption or load.priority is None or not load.containers:
        return np.zeros(load.containers, dtype=np.bool_)
    return np.asarray(load.priority < load.priority.max())


def _lost_ms(load: Workload) -> IntArray:
    """When each container loses the node where it was observed, shape (containers,).

    A daemon goes with its node, and is never placed on another one.
    """
    never = np.iinfo(np.int64).max
    lost = np.full(load.containers, never)
    if load.losses is None or load.pinned is None:
        return lost
    of_node = np.full(load.nodes + 1, never)  # the last is that of -1
    np.minimum.at(of_node, load.losses.node, load.losses.time_ms)
    lost = of_node[load.pinned]
    return lost if load.daemon is None else np.where(load.daemon, never, lost)
