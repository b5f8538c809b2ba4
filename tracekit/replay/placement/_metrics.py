"""How the Trimaran plugins read the metrics of a node: which number of a type is the load.

Each reading gives average and deviation in percent, NaN where the metrics hold none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from tracekit.replay.view.recorded import Metric

Reading = Callable[[Sequence[Metric], str], tuple[float, float]]

#: The metric type of the first two resource columns.
TYPES = ("CPU", "Memory")

_NOTHING = (math.nan, math.nan)


def average_and_deviation(metrics: Sequence[Metric], kind: str) -> tuple[float, float]:
    """AVG wins over Latest and the empty operator; any metric of the type makes it valid.

    Source: GetResourceData of scheduler-plugins, pkg/trimaran/resourcestats.go.
    """
    given = [metric for metric in metrics if metric.type == kind]
    averages = [metric.value for metric in given if metric.operator == "AVG"]
    others = [metric.value for metric in given if metric.operator in ("", "Latest")]
    deviations = [metric.value for metric in given if metric.operator == "STD"]
    if not given:
        return _NOTHING
    return (averages or others or [0.0])[-1], (deviations or [0.0])[-1]


def last_level(metrics: Sequence[Metric], kind: str) -> tuple[float, float]:
    """The last AVG or Latest; an empty operator is not accepted (TargetLoadPacking)."""
    return next(_levels(reversed(metrics), kind), _NOTHING)


def first_level(metrics: Sequence[Metric], kind: str) -> tuple[float, float]:
    """The first AVG or Latest (Peaks)."""
    return next(_levels(metrics, kind), _NOTHING)


def _levels(metrics: Iterable[Metric], kind: str) -> Iterator[tuple[float, float]]:
    return (
        (metric.value, math.nan)
        for metric in metrics
        if metric.type == kind and metric.operator in ("AVG", "Latest")
    )
