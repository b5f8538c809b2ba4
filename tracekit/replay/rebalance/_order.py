"""Whose turn it is to be evicted: priority, quality of service, size.

Source: SortPodsBasedOnPriorityLowToHigh of sigs.k8s.io/descheduler @7d2b28bf; the quality of
service of kubernetes v1.34. Upstream leaves equals in no order; here the smallest goes first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tracekit.arrays import IntArray

#: Classes in the order of their eviction.
BEST_EFFORT, BURSTABLE, GUARANTEED = 0, 1, 2


def quality_of_service(requests: ArrayLike, limits: ArrayLike) -> IntArray:
    """Class of each container, shape (containers,), from cpu and memory.

    Parameters
    ----------
    requests, limits : array, shape (containers, 2)
        0 stands for none. Guaranteed: both limits stated and equal to the requests; best effort:
        nothing stated at all.
    """
    asked, most = np.asarray(requests), np.asarray(limits)
    nothing = (asked <= 0).all(axis=1) & (most <= 0).all(axis=1)
    exact = (most > 0).all(axis=1) & (asked == most).all(axis=1)
    return np.where(nothing, BEST_EFFORT, np.where(exact, GUARANTEED, BURSTABLE)).astype(np.int64)


def turns(*, priority: ArrayLike, quality: ArrayLike, size: ArrayLike) -> IntArray:
    """Rank of each container's eviction, 0 first, shape (containers,).

    Lowest priority first (-inf for none stated), then quality of service, then the smallest
    request, then the order given.
    """
    order = np.lexsort((np.asarray(size), np.asarray(quality), np.asarray(priority)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank
