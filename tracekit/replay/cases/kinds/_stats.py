"""Resource statistics of recorded cases: one resource of one node in millicores or MiB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.placement._metrics import TYPES, average_and_deviation
from tracekit.replay.view.recorded import decode_metrics
from tracekit.replay.workload.resources import BASE, full_name

Document = Mapping[str, Any]

#: Amounts of cpu and memory per unit of the statistics.
_UNITS = (1, 2**20)


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Capacity, request, mean and deviation of use, in one unit."""

    capacity: float
    req: float
    used_avg: float
    used_stdev: float

    def arrays(self) -> tuple[NDArray[np.float64], float, NDArray[np.float64], NDArray[np.float64]]:
        """Capacity, request, mean and deviation as the policies take them, of one node."""
        capacity, used, deviation = (
            np.array([one]) for one in (self.capacity, self.used_avg, self.used_stdev)
        )
        return capacity, self.req, used, deviation


def decode_stats(document: Document) -> Stats:
    """The ``stats`` of a case."""
    names = ("capacity", "req", "used_avg", "used_stdev")
    return Stats(**{name: float(document[name]) for name in names})


def measured_stats(
    node: Document, metrics: list[Document], request: Document, resource: str
) -> Stats | None:
    """Statistics of ``resource`` ('cpu' or 'memory') from a node's metrics, None without any."""
    column = BASE.index(full_name(resource))
    average, deviation = average_and_deviation(decode_metrics(metrics), TYPES[column])
    if np.isnan(average):
        return None
    capacity = node["allocatable"].get(BASE[column], 0) / _UNITS[column]
    return Stats(
        capacity=capacity,
        req=request.get(BASE[column], 0) / _UNITS[column],
        used_avg=average * capacity / 100,
        used_stdev=deviation * capacity / 100,
    )
