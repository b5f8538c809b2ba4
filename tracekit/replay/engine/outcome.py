"""The outcome of one policy's replay."""

from dataclasses import dataclass

import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.policy.view.over_time import OverTime
from tracekit.policy.view.taken_off import TakenOff


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a policy did.

    Parameters
    ----------
    node, time_ms : int64, shape (containers,)
        Where and when each container was placed last, -1 for never.
    steps : DataFrame
        One row of measures per sampling step, with the columns of ``step_schema``.
    moves, stays : DataFrame
        What the rebalancer evicted, and what it left where it was: see ``engine.moves``.
    latencies_s : list of float
        Wall-clock time of each decision; the only thing here that differs from run to run.
    way : str
        How the placer decided.
    over_time : OverTime
        How full each node was.
    conflicts : int
        Decisions whose node another scheduler had filled meanwhile.
    """

    node: IntArray
    time_ms: IntArray
    steps: pl.DataFrame
    moves: pl.DataFrame
    stays: pl.DataFrame
    latencies_s: list[float]
    way: str
    taken_off: TakenOff
    over_time: OverTime
    conflicts: int = 0
