"""First fit decreasing: the largest container first, each to the first node with room."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.placement import Batch, BatchPolicy, UsedBy
from tracekit.policy.placement.first_fit import FirstFit
from tracekit.policy.view.snapshot import Snapshot, fits


@dataclass(frozen=True, kw_only=True)
class FirstFitDecreasing(BatchPolicy, FirstFit):
    """Place the containers of a sampling step on the first node with room, the largest first.

    A scheduler decides container by container and cannot do this, as it does not know the following
    containers. The policy is a yardstick for a simple rule that knows them, and is never
    recommended.
    """

    common: ClassVar[bool] = False
    source: ClassVar[str] = (
        "first-fit decreasing bin packing (Johnson, 1973); size: the largest share of a mean node"
    )
    used_by: ClassVar[UsedBy] = "yardstick"

    batch_size: Annotated[
        int, About("Containers sorted at once; a batch ends with the sampling step.", minimum=1)
    ] = 1_000_000

    def select(self, snapshot: Snapshot, batch: Batch, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """The node of each container, -1 for no node with room; equal sizes in order of arrival."""
        requested = snapshot.requested.copy()
        seen = dataclasses.replace(snapshot, requested=requested)
        chosen = np.full(len(batch.containers), -1, dtype=np.int64)
        for at in np.argsort(-_sizes(snapshot, batch), kind="stable").tolist():
            room = fits(seen, batch.containers[at])
            if batch.open_nodes is not None:
                room &= batch.open_nodes[at]
            if room.any():
                chosen[at] = int(np.argmax(room))
                requested[chosen[at]] += batch.containers[at].request
        return chosen


def _sizes(snapshot: Snapshot, batch: Batch) -> FloatArray:
    """Each container's largest request as a share of a mean node, shape (containers,)."""
    requests = np.stack([one.request for one in batch.containers]).astype(np.float64)
    mean = np.maximum(snapshot.allocatable.astype(np.float64).mean(axis=0), 1.0)
    sizes: FloatArray = (requests / mean).max(axis=1)
    return sizes
