"""The default scheduler: least allocated and balanced allocation over a window of the nodes."""

import functools
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy, Reads, Scores, UsedBy
from tracekit.policy.placement.node_resources import BalancedAllocation, Form, LeastAllocated
from tracekit.policy.view.snapshot import Container, Snapshot, Tie


@dataclass(frozen=True, kw_only=True)
class DefaultScheduler(PlacementPolicy):
    """Place as kube-scheduler with its default profile does, by requests alone."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.34 pkg/scheduler/schedule_one.go and apis/config/v1/default_plugins.go"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    aliases: ClassVar[tuple[str, ...]] = ("kube_scheduler",)

    tie: Tie = "reservoir"
    least_allocated_weight: Annotated[
        int, About("Weight of NodeResourcesFit (LeastAllocated).", minimum=0, maximum=100)
    ] = 1
    balanced_allocation_weight: Annotated[
        int, About("Weight of NodeResourcesBalancedAllocation.", minimum=0, maximum=100)
    ] = 1
    balanced_allocation_form: Annotated[
        Form, About("Form of the balance, by version of kubernetes.")
    ] = "v1_22"
    percentage_of_nodes_to_score: Annotated[
        int,
        About(
            "Feasible nodes at which the search stops, in percent of all nodes; 0 adapts to the"
            " number of nodes.",
            minimum=0,
            maximum=100,
        ),
    ] = 0

    @property
    def best_score(self) -> float | None:
        """The highest score, 100 times the sum of the weights; None if all weights are 0."""
        return 100 * (self.least_allocated_weight + self.balanced_allocation_weight) or None

    def candidates(self, feasible: IntArray, start: int, nodes: int) -> tuple[IntArray, int]:
        """Return the feasible nodes to score from ``start`` on, and the next decision's start."""
        wanted = nodes_to_find(nodes, self.percentage_of_nodes_to_score)
        return search(feasible, start, wanted)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the weighted sum of the plugins' scores.

        A plugin that skips the container scores 0.
        """
        least, balanced = (
            plugin.score(snapshot, container, nodes)
            for plugin in plugins(self.balanced_allocation_form)
        )
        total = self.least_allocated_weight * least + self.balanced_allocation_weight * balanced
        return np.asarray(total, dtype=np.int64)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the score of each plugin before its weight."""
        return {
            plugin.name(): plugin.score(snapshot, container, nodes).astype(np.float64)
            for plugin in plugins(self.balanced_allocation_form)
        }


@functools.cache
def plugins(form: Form) -> tuple[LeastAllocated, BalancedAllocation]:
    """Return the two score plugins, with a form of balanced allocation."""
    return LeastAllocated(), BalancedAllocation(form=form)


# The feasible nodes that are scored: the first N from the node at which the last search stopped. A
# search stops at the feasible node after the N-th. That node is not scored, and the next search
# starts there, so that closed nodes before it are passed once. Source:
# kubernetes v1.34 pkg/scheduler/schedule_one.go (numFeasibleNodesToFind, and
# findNodesThatPassFilters without its parallelism).

#: The least number of feasible nodes of a search.
MIN_FEASIBLE = 100
_MIN_PERCENT = 5


def nodes_to_find(nodes: int, percentage: int) -> int:
    """Return how many nodes to score; percentage 0 means 50 %, falling to 5 % in large clusters."""
    if nodes < MIN_FEASIBLE:
        return nodes
    share = percentage or max(50 - nodes // 125, _MIN_PERCENT)
    return max(nodes * share // 100, MIN_FEASIBLE)


def search(feasible: IntArray, start: int, wanted: int) -> tuple[IntArray, int]:
    """Return up to ``wanted`` feasible nodes, and the start of the next search.

    The nodes are those from ``start`` on, then those before it. The next search starts at the
    feasible node after the ``wanted``-th, or at ``start`` again if there is no such node.
    """
    turn = int(np.searchsorted(feasible, start))
    walk = np.concatenate([feasible[turn:], feasible[:turn]])
    after = int(walk[wanted]) if len(walk) > wanted else start
    return walk[:wanted], after
