"""Sources of differences between repeats: orders of arrival and drawn sizes."""

import numpy as np

from tracekit.base.arrays import BoolArray
from tracekit.cluster.workload import Workload

#: What differs between repeats, as the manifest and tables say it.
ORDER, SIZES, SEED = "order of arrival", "sizes drawn from their intervals", "random seed"

#: Orders differ where at least this share of the containers can come in another order. Repeats in
#: which nearly all is the same would make nearly every difference look sure.
LEAST_SHARE = 0.5

#: Why one replay was all there is.
ALIKE = (
    "every order of arrival is nearly the same, as times of arrival are recorded and fewer than"
    f" {LEAST_SHARE:.0%} of the containers share theirs with another"
)


def varying(load: Workload) -> list[str]:
    """The differences between two orders of arrival of a workload; none where all is recorded."""
    differs = float(_free(load).mean()) >= LEAST_SHARE if load.containers.count else False
    return [*([ORDER] if differs else []), *([] if load.provenance.doubt is None else [SIZES])]


def _free(load: Workload) -> BoolArray:
    """Which containers can come in another order: by another time, or among those of one time."""
    _, at, each = np.unique(load.containers.arrival_ms, return_inverse=True, return_counts=True)
    free: BoolArray = each[at] > 1
    if load.containers.exchangeable is not None and int(load.containers.exchangeable.sum()) > 1:
        free |= load.containers.exchangeable
    return free
