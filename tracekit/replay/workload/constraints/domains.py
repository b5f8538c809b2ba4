"""Domains: nodes that stand together in a rack, a fault domain or a zone."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import IntArray


def members_of(domain: IntArray) -> list[IntArray]:
    """The nodes of each domain, ascending.

    Parameters
    ----------
    domain : int64, shape (nodes,)
        -1 is no domain.
    """
    order = np.argsort(domain, kind="stable")
    edges = np.searchsorted(domain[order], np.arange(domain.max(initial=-1) + 2))
    return [order[edges[at] : edges[at + 1]] for at in range(len(edges) - 1)]
