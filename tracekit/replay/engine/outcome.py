"""The outcome of one policy's replay."""

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tracekit.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a policy did.

    Parameters
    ----------
    node, time_ms : int64, shape (containers,)
        Where and when each container was placed last, -1 for never.
    steps : DataFrame
        One row of measures per sampling step, with the columns of ``step_schema``.
    latencies_s : list of float
        Wall-clock time of each decision; the only thing here that differs from run to run.
    way : str
        How the placer decided.
    evicted : int64, shape (evicted,)
        Containers whose node was lost under them, at least once.
    preempted : int64, shape (evictions,)
        Containers that one of higher priority evicted, as often as that happened.
    against_budget : int
        How many of these evictions a budget of disruption did not allow.
    unplaced_after_eviction : int64, shape (unplaced,)
        Those of them that did not run again, see ``engine.displaced``.
    unplaced_after_loss : int64, shape (unplaced,)
        Those whose node was lost that did not run again.
    """

    node: IntArray
    time_ms: IntArray
    steps: pl.DataFrame
    latencies_s: list[float]
    way: str = "plain"
    evicted: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    preempted: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    against_budget: int = 0
    unplaced_after_eviction: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    unplaced_after_loss: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
