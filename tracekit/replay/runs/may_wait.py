"""How many containers of a workload may wait: so few, and so small, that nobody gains by it."""

import numpy as np

from tracekit.cluster.workload import Workload
from tracekit.replay.chance.material import MATERIAL

#: The share of containers, and of what they request of each resource, that may wait: half of the
#: difference that counts at all, so that to carry less makes no policy better by itself.
WAITING_SHARE = MATERIAL / 2
#: The name of that number in a manifest.
MAY_WAIT = "containers_that_may_wait"
#: What a sum of decimals may be off by.
_ROUNDING = 1e-9


def most_waiting(load: Workload) -> int:
    """How many containers may wait, whichever they are.

    They are at most ``WAITING_SHARE`` of the containers, and even the largest of them request at
    most that share of each resource: one database may be more than a hundred small containers.
    """
    few = int(WAITING_SHARE * load.containers.count)
    largest = -np.sort(-load.containers.request, axis=0)[:few]
    most = WAITING_SHARE * load.containers.request.sum(axis=0, dtype=np.float64) * (1 + _ROUNDING)
    return int((largest.cumsum(axis=0) <= most).all(axis=1).sum())
