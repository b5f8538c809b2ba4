"""The state of the cluster in a replay, which only the engine changes: sums for each node."""

from dataclasses import dataclass, field

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.calls import CallWeights
from tracekit.cluster.parts import NodeDomains
from tracekit.policy.view.pods import Pods
from tracekit.policy.view.snapshot import Peers, Placed, Snapshot, read_only
from tracekit.policy.view.usage import NodeUsage


@dataclass(kw_only=True)
class Cluster:
    """The state of a replay's nodes: the sums of their containers' requests and limits.

    Parameters
    ----------
    resources : tuple of str
    capacity, allocatable : int64, shape (nodes, resources)

    Attributes
    ----------
    amounts : int64, shape (4, resources, nodes)
        Allocatable amounts, and the sums of requests, of requests with defaults, and of limits, in
        one block for compiled code. ``requested``, ``nonzero_requested`` and ``limits`` are views.
    """

    resources: tuple[str, ...]
    capacity: IntArray
    allocatable: IntArray
    amounts: IntArray = field(init=False)
    requested: IntArray = field(init=False)
    nonzero_requested: IntArray = field(init=False)
    limits: IntArray = field(init=False)
    containers: IntArray = field(init=False)
    _shown: dict[str, IntArray] = field(init=False)

    def __post_init__(self) -> None:
        nodes, resources = self.allocatable.shape
        self.amounts = np.zeros((4, resources, nodes), dtype=np.int64)
        self.amounts[0] = self.allocatable.T
        self.requested, self.nonzero_requested, self.limits = (
            self.amounts[kind].T for kind in range(1, 4)
        )
        self.containers = np.zeros(len(self.allocatable), dtype=np.int64)
        # the arrays are written in place, so that one view of each serves all snapshots
        self._shown = {
            "capacity": read_only(self.capacity),
            "allocatable": read_only(self.allocatable),
            "requested": read_only(self.requested),
            "nonzero_requested": read_only(self.nonzero_requested),
            "limits": read_only(self.limits),
            "containers": read_only(self.containers),
        }

    def change(
        self, node: int, request: IntArray, nonzero: IntArray, limit: IntArray, *, sign: int
    ) -> None:
        """Add (``sign`` 1) or remove (-1) the amounts of one container on a node."""
        self.requested[node] += sign * request
        self.nonzero_requested[node] += sign * nonzero
        self.limits[node] += sign * limit
        self.containers[node] += sign

    def snapshot(
        self,
        time_ms: int,
        *,
        usage: NodeUsage | None = None,
        placed: Placed | None = None,
        calls: CallWeights | None = None,
        cells: IntArray | None = None,
        peers: Peers | None = None,
        domains: NodeDomains | None = None,
        lost: BoolArray | None = None,
        pods: Pods | None = None,
    ) -> Snapshot:
        """Return a policy's view of the present state, with read-only arrays."""
        shown = self._shown
        return Snapshot(
            time_ms=time_ms,
            resources=self.resources,
            capacity=shown["capacity"],
            allocatable=shown["allocatable"],
            requested=shown["requested"],
            nonzero_requested=shown["nonzero_requested"],
            limits=shown["limits"],
            containers=shown["containers"],
            known_usage=usage,
            known_placed=placed,
            known_calls=calls,
            free_cells=cells,
            known_peers=peers,
            domains=domains,
            lost=lost,
            pods=pods,
        )


# Containers that lost their node in a replay, and those among them that did not run again.


@dataclass(frozen=True, kw_only=True)
class TakenOff:
    """The containers of one replay that lost their node, for its measures.

    Parameters
    ----------
    evicted : int64, shape (evicted,)
        Containers whose node was lost while they ran there, each once.
    preempted : int64, shape (evictions,)
        Containers evicted for a container of higher priority, once for each eviction.
    against_budget : int
        The number of evictions in ``preempted`` that a disruption budget did not allow.
    unplaced_after_eviction : int64, shape (unplaced,)
        Preempted containers that did not run again.
    unplaced_after_loss : int64, shape (unplaced,)
        Containers of lost nodes that did not run again.
    """

    evicted: IntArray
    preempted: IntArray
    against_budget: int
    unplaced_after_eviction: IntArray
    unplaced_after_loss: IntArray
