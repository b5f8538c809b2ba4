"""Nodes that no search lets go: those that are gone already, and those that nobody gives back."""

import numpy as np

from tracekit.arrays import BoolArray, IntArray
from tracekit.replay.workload.workload import Workload


def left_nodes(load: Workload) -> IntArray:
    """Nodes that production lost by the end, in order; one that is lost by assumption is there."""
    return np.zeros(0, np.int64) if load.losses is None else np.unique(load.losses.recorded)


def fixed_nodes(load: Workload) -> BoolArray:
    """Nodes that nobody can give back: of the control plane, gone already, and those to be lost."""
    fixed = np.zeros(load.nodes, np.bool_) if load.stays is None else load.stays.copy()
    if load.losses is not None:
        fixed[load.losses.node] = True
    return fixed
