"""What can differ between repeats: orders of arrival, drawn sizes, windows of a long trace."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from tracekit.replay.engine.steps import summarize
from tracekit.replay.runs.student import FEWEST
from tracekit.replay.workload.workload import Workload
from tracekit.units import MS_PER_HOUR, duration

#: What differs between repeats, as the manifest and tables say it.
ORDER, SIZES, SEED = "order of arrival", "sizes drawn from their intervals", "random seed"

#: A window is a day or more: use goes by days, and shorter ones would hang together.
LEAST_MS = 24 * MS_PER_HOUR
#: More windows than this tell little more.
MOST = 10

_WINDOWS = "windows of"

#: Why one replay was all there is.
ALIKE = (
    "every order of arrival is the same, as all times of arrival are recorded, and the trace is"
    f" shorter than {FEWEST} windows of a day"
)


def varying(load: Workload) -> list[str]:
    """What differs between two orders of arrival of a workload; nothing where all is recorded."""
    free = load.exchangeable is not None and int(load.exchangeable.sum()) > 1
    tied = len(np.unique(load.arrival_ms)) < load.containers
    return [*([ORDER] if free or tied else []), *([] if load.doubt is None else [SIZES])]


def windows(load: Workload) -> list[tuple[int, int]]:
    """Equal parts of the settled trace, from one time and below another; none of a short one.

    None either where orders of arrival differ: each of those is judged over the whole trace, as its
    bounds are. A few windows of it would be another time, and the mean of their peaks is no peak.
    """
    if varying(load):
        return []
    start = max(int(load.times_ms[0]), load.settled_ms)
    end = int(load.times_ms[-1]) + load.step_ms
    count = min(MOST, (end - start) // LEAST_MS)
    if count < FEWEST:
        return []
    edges = [start + (end - start) * at // count for at in range(count + 1)]
    return list(itertools.pairwise(edges))


def in_windows(load: Workload, steps: pl.DataFrame) -> list[dict[str, Any]]:
    """The measures of steps, taken over each window alone."""
    time = pl.col("time_ms")
    return [summarize(steps.filter((time >= start) & (time < end))) for start, end in windows(load)]


def called(cut: Sequence[tuple[int, int]]) -> str:
    """What windows are called where it is said what differs between repeats."""
    return f"{_WINDOWS} {duration(cut[0][1] - cut[0][0])}"


def in_parts(covers: Sequence[str]) -> bool:
    """Whether repeats are judged over windows, by what differs between them."""
    return any(one.startswith(_WINDOWS) for one in covers)
