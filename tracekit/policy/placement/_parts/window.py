"""Which feasible nodes kube-scheduler looks at: the first N from where it stopped last time.

The search ends only when it meets one feasible node more than it wants. That node is not scored; it
is where the next search starts, so that closed nodes between the N-th and it are passed once.

Source: kubernetes v1.34 pkg/scheduler/schedule_one.go (numFeasibleNodesToFind, and
findNodesThatPassFilters without its parallelism).
"""

import numpy as np

from tracekit.base.arrays import IntArray

#: Fewer feasible nodes than this are never asked for.
MIN_FEASIBLE = 100
_MIN_PERCENT = 5


def nodes_to_find(nodes: int, percentage: int) -> int:
    """After how many feasible nodes the search stops; a percentage of 0 adapts to ``nodes``."""
    if nodes < MIN_FEASIBLE:
        return nodes
    share = percentage or max(50 - nodes // 125, _MIN_PERCENT)
    return max(nodes * share // 100, MIN_FEASIBLE)


def search(feasible: IntArray, start: int, wanted: int) -> tuple[IntArray, int]:
    """The nodes found from ``start`` on, in that order, and where the next search starts.

    The search stops at the feasible node after the ``wanted``-th, and starts there next time; where
    there is none it ends after all nodes of the cluster, and starts where it did.
    """
    turn = int(np.searchsorted(feasible, start))
    walk = np.concatenate([feasible[turn:], feasible[:turn]])
    after = int(walk[wanted]) if len(walk) > wanted else start
    return walk[:wanted], after
