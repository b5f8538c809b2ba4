"""The frame of a replay's sampling steps, its summary, the moves, and the outcome of a replay."""

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.workload import Workload
from tracekit.policy.view.cluster import TakenOff
from tracekit.policy.view.usage import OverTime
from tracekit.replay.measures import (
    Step,
    all_measures,
    declared_measures,
    knows,
    of_workload,
    resources_in,
)
from tracekit.replay.measures.sampled import Sampled

_COUNTED: dict[str, type[pl.DataType]] = {
    "time_ms": pl.Int64,
    "settled": pl.Boolean,
    "placed": pl.Int64,
    "pending": pl.Int64,
}


#: The settled steps, from which on the cluster is filled; all steps where none is settled.
SETTLED = pl.col("settled") | ~pl.col("settled").any()


def step_schema(load: Workload | None = None) -> dict[str, type[pl.DataType]]:
    """Return the type of each column of steps.parquet, without the column ``policy``.

    The columns are those that the workload has the data for. Without a workload they are those that
    every workload has.
    """
    every = {name: one for name, one in all_measures().items() if not one.needs}
    measures = every if load is None else of_workload(load)
    steps = [one.step for one in measures.values() if one.step is not None]
    return {**_COUNTED, **{s.column: pl.Int64 if s.whole else pl.Float64 for s in steps}}


def measure_steps(
    sampled: Sampled, counted: Mapping[str, NDArray[Any]] | None = None
) -> dict[str, NDArray[Any]]:
    """Compute columns of steps.parquet from the use of nodes, (steps,); NaN where undefined.

    Parameters
    ----------
    counted : mapping
        Columns that the sampler has computed already, by ``Step.column``; shape (steps,), or
        (steps, 2) for cpu and memory.
    """
    counted = counted or {}
    columns = {
        "placed": counted["placed"] if "placed" in counted else sampled.containers.sum(axis=-1)
    }
    further = sampled.further
    for _, one in declared_measures():
        step = one.step
        if step is None or (one.needs and not knows(sampled.load, one.needs)):
            continue
        if one.per_resource:
            values = _of_resources(step, sampled, further, counted)
            names = sampled.contents.room.names
            columns |= {f"{r}_{step.column}": values[:, at] for at, r in enumerate(names)}
        elif step.column in counted:
            columns[step.column] = counted[step.column]
        elif step.of_contents is not None:
            columns[step.column] = sampled.at_steps(step.of_contents(sampled.contents))
        elif step.at is not None:
            columns[step.column] = step.at(sampled)
    return columns


def _of_resources(
    step: Step,
    sampled: Sampled,
    further: list[Sampled],
    counted: Mapping[str, NDArray[Any]],
) -> NDArray[Any]:
    """A measure of each measured resource, shape (steps, measured)."""
    if step.of_contents is not None:
        return sampled.at_steps(step.of_contents(sampled.contents))
    assert step.at is not None  # noqa: S101 - the engine counts nothing of a resource
    used = counted[step.column] if step.column in counted else step.at(sampled)
    rest = [
        step.at(view) if view.of_every_step else sampled.at_steps(step.at(view)) for view in further
    ]
    return np.hstack([used, *rest]) if rest else used


def summed(schema: Mapping[str, Any]) -> dict[str, pl.Expr]:
    """Return, for each measure, the polars expression that combines its steps into one number.

    ``schema`` has the columns of a frame of steps. Measures without a column there are left out.
    """
    return dict(_summed(tuple(schema)))


@functools.lru_cache(maxsize=16)
def _summed(columns: tuple[str, ...]) -> dict[str, pl.Expr]:
    """As ``summed``, cached for the replays of one workload."""
    resources = tuple(resources_in(columns))
    counted = {
        "settled": SETTLED,
        "filling": ~SETTLED,
        "whole": pl.lit(value=True),
    }
    return {
        one.name: getattr(pl.col(one.step.column).filter(counted[one.during]), one.over_steps)()
        for one in all_measures(resources).values()
        if one.step is not None and one.step.column in columns
    }


def summarize(steps: pl.DataFrame) -> dict[str, Any]:
    """Return the value of each measure by name, combined over the steps of a frame.

    A measure counts only the steps that its ``during`` names, such as the settled ones.
    """
    row = steps.select(taken.alias(name) for name, taken in summed(steps.schema).items())
    return row.row(0, named=True)


#: Columns of the moves; containers and nodes by position. ``to_node`` is null where a container
#: got no other node.
SCHEMA = {
    "time_ms": pl.Int64,
    "container": pl.Int64,
    "from_node": pl.Int64,
    "to_node": pl.Int64,
    "strategy": pl.String,
}
#: Columns of the numbers of containers that a strategy left on their nodes, by reason.
STAYS = {"strategy": pl.String, "reason": pl.String, "containers": pl.Int64}


class Moves:
    """Records a rebalancer's evictions in order of time, and the containers that it left."""

    def __init__(self, containers: int) -> None:
        self._moved = np.zeros(containers, dtype=np.bool_)
        self._rows: list[tuple[int, int, int]] = []
        self._strategies: list[str] = []
        self._staying: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._next: list[int | None] = []
        self._last: dict[int, int] = {}

    def evicted(
        self, now: int, containers: IntArray, nodes: IntArray, strategies: Iterable[str]
    ) -> None:
        """Note evictions: containers, their nodes and the strategies."""
        self._strategies += strategies
        for container, node in zip(containers.tolist(), nodes.tolist(), strict=True):
            self._moved[container] = True
            self._last[container] = len(self._rows)
            self._rows.append((now, container, node))
            self._next.append(None)

    def stay(self, strategy: str, reason: str, containers: IntArray) -> None:
        """Note containers that a strategy leaves on their nodes, with the reason."""
        self._staying[strategy, reason].update(containers.tolist())

    def moved(self, containers: IntArray) -> BoolArray:
        """Return which of some containers were ever evicted."""
        return np.asarray(self._moved[containers])

    def placed(self, container: int, node: int) -> None:
        """Note a placement; the first one after an eviction is the target of the move."""
        at = self._last.get(container)
        if at is not None and self._next[at] is None:
            self._next[at] = node

    def taken_back(self, container: int) -> None:
        """Note that the placement after a container's last eviction is undone."""
        if container in self._last:
            self._next[self._last[container]] = None

    def frame(self) -> pl.DataFrame:
        """Return a row for each eviction, with ``SCHEMA``."""
        rows = [
            (*row, to, by)
            for row, to, by in zip(self._rows, self._next, self._strategies, strict=True)
        ]
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")

    def staying(self) -> pl.DataFrame:
        """Return a row for each strategy and reason, with ``STAYS``; a container counts once."""
        rows = [(*why, len(those)) for why, those in sorted(self._staying.items())]
        return pl.DataFrame(rows, schema=STAYS, orient="row")


# The outcome of one policy's replay.


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of one policy's replay.

    Parameters
    ----------
    node, time_ms : int64, shape (containers,)
        The last node of each container and the time of its placement, -1 for none.
    steps : DataFrame
        A row of measures for each sampling step, with the columns of ``step_schema``.
    moves, stays : DataFrame
        Evictions by the rebalancer, and the containers that it left: see ``Moves``.
    latencies_s : list of float
        Wall-clock time of each decision; it alone differs from run to run.
    way : str
        The method of the placer.
    over_time : OverTime
        The use of each node over time.
    conflicts : int
        Decisions for a node that another scheduler had filled before the commit.
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
