"""Whether containers fit on any node at all."""

from __future__ import annotations

import numpy as np

from tracekit.errors import TracekitError
from tracekit.replay.workload.workload import Workload


def check_feasible(workload: Workload) -> None:
    """Raise TracekitError when no container fits on any node, even an empty one.

    Some that fit on none are no error: they wait to the end, and are counted.
    """
    large = workload.too_large()
    if len(large) == workload.containers:
        raise TracekitError(
            f"no container of workload '{workload.name}' fits on any node: {too_large(workload)}",
            hint="check the units: millicores and bytes",
        )


def too_large(workload: Workload) -> str | None:
    """A clause about containers that fit on no node, None where there are none."""
    large = workload.too_large()
    if not len(large):
        return None
    asked = workload.request[large[0]]
    room = workload.allocatable.max(axis=0)
    column = int(np.argmax(asked / np.maximum(room, 1)))
    name = workload.resources[column]
    left = "" if workload.reserved is None else " left for requests"
    return (
        f"'{workload.container_ids[large[0]]}' requests {asked[column]:,} {name},"
        f" the largest node has {room[column]:,}{left}"
    )
