"""What a node has left of cpu and memory once a container is placed: one number per node.

Adding millicores to MiB mixes units, yet it is what AccaSim's Best_Fit does, and its choices can
be compared with ours one by one. Adding fractions of each node's own size is free of units.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.replay.view.snapshot import Container, Snapshot
from tracekit.replay.workload.resources import BASE

Leftover = Literal["amount", "fraction"]

#: Bytes per MiB: millicores times this add up with bytes as millicores do with MiB, in integers.
_MIB = 2**20


def leftover(
    snapshot: Snapshot, container: Container, nodes: IntArray, measure: Leftover
) -> IntArray | FloatArray:
    """What is left over on ``nodes`` after placing, shape (candidates,).

    ``amount``: free millicores plus free MiB, in units of 2**-20, exact. ``fraction``: the sum of
    the free fractions of cpu and memory; a node without any of one has nothing of it left.
    """
    base = slice(len(BASE))
    room = snapshot.allocatable[nodes, base]
    left = room - snapshot.requested[nodes, base] - container.request[base]
    if measure == "amount":
        return np.asarray(left[:, 0] * _MIB + left[:, 1])
    fractions = np.divide(left, room, out=np.zeros(left.shape), where=room > 0)
    return np.asarray(fractions.sum(axis=1))
