"""The cluster's state: who runs where, and the sums per node. Only the engine changes it."""

from dataclasses import dataclass, field

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.calls import CallWeights
from tracekit.cluster.nodes import NodeDomains
from tracekit.policy.view.pods import Pods
from tracekit.policy.view.snapshot import Peers, Placed, Snapshot, read_only
from tracekit.policy.view.usage import NodeUsage


@dataclass(kw_only=True)
class Cluster:
    """Nodes with what is requested on them.

    Parameters
    ----------
    resources : tuple of str
    capacity, allocatable : int64, shape (nodes, resources)

    Attributes
    ----------
    amounts : int64, shape (4, resources, nodes)
        Allocatable, and the sums of requests, of requests with defaults, and of limits: one block,
        node beside node, for compiled code. ``requested`` and the others are views of it.
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
        # they are written in place, so that one view of each serves every snapshot
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
        """Add (``sign`` 1) or take away (-1) one container with these amounts."""
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
        """The policy's view now; read-only views of this state."""
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


# Who was taken off a node in a replay, and who of them did not run again.


@dataclass(frozen=True, kw_only=True)
class TakenOff:
    """Containers that lost their node.

    Parameters
    ----------
    evicted : int64, shape (evicted,)
        Containers whose node was lost under them, at least once.
    preempted : int64, shape (evictions,)
        Containers that one of higher priority evicted, as often as that happened.
    against_budget : int
        How many of these evictions a budget of disruption did not allow.
    unplaced_after_eviction : int64, shape (unplaced,)
        Those of them that did not run again, see ``engine.displaced``.
    unplaced_after_loss : int64, shape (unplaced,)
        Those whose node was lost that did not run again.
    """

    evicted: IntArray
    preempted: IntArray
    against_budget: int
    unplaced_after_eviction: IntArray
    unplaced_after_loss: IntArray
