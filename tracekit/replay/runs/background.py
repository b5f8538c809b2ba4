"""The use that no container explains, and what is reserved for it."""

import numpy as np

from tracekit.base.words import RESOURCES
from tracekit.cluster.workload import Workload


def shares(load: Workload) -> dict[str, dict[str, float]]:
    """The mean background use of each resource, and the amount reserved for it.

    Shares of what the nodes have; for the manifest.
    """
    whole = np.maximum(load.nodes.capacity[:, : len(RESOURCES)].sum(axis=0, dtype=float), 1.0)
    used = load.use.background.mean(axis=1, dtype=float).sum(axis=1)
    kept = (
        whole * 0
        if load.nodes.reserved is None
        else load.nodes.reserved[:, : len(RESOURCES)].sum(axis=0)
    )
    return {
        "background": dict(zip(RESOURCES, (used / whole).tolist(), strict=True)),
        "reserved": dict(zip(RESOURCES, (kept / whole).tolist(), strict=True)),
    }
