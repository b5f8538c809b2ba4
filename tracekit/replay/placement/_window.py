"""Which feasible nodes kube-scheduler looks at: the first N from where it stopped last time.

Source: kubernetes v1.34 pkg/scheduler/schedule_one.go (numFeasibleNodesToFind, and
findNodesThatPassFilters without its parallelism).
"""

from __future__ import annotations

import numpy as np

from tracekit.arrays import IntArray

#: Fewer feasible nodes than this are never asked for.
MIN_FEASIBLE = 100
_MIN_PERCENT = 5


def nodes_to_find(nodes: int, percentage: int) -> int:
    """After how many feasible nodes the search stops; a percentage of 0 adapts to ``nodes``."""
    if nodes < MIN_FEASIBLE:
        return nodes
    share = percentage or max(50 - nodes // 125, _MIN_PERCENT)
    return max(nodes * share // 100, MIN_FEASIBLE)


def search(feasible: IntArray, start: int, nodes: int, wanted: int) -> tuple[IntArray, int]:
    """The nodes found from ``start`` on, in that order, and where the next search starts.

    The search stops at the ``wanted``-th feasible node, else after all ``nodes`` of the cluster.
    """
    turn = int(np.searchsorted(feasible, start))
    found = np.concatenate([feasible[turn:], feasible[:turn]])[:wanted]
    complete = len(found) < wanted
    examined = nodes if complete else int(found[-1] - start) % nodes + 1
    return found, (start + examined) % nodes
