"""A run: one workload through several policies, beside production and a lower bound."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tracekit.base.arrays import Float32Array, FloatArray
from tracekit.base.errors import TracekitError
from tracekit.base.progress import SILENT, Progress
from tracekit.base.shown import Shown
from tracekit.cluster.on_nodes import requests_respected
from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import (
    Accompanied,
    Entrant,
    Entrants,
    Schedulers,
    rebalanced,
    why_one_scheduler,
    with_schedulers,
)
from tracekit.policy.parse import parse_policy
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.replay.bounds.measures import bound_frame, bounds_of, gaps
from tracekit.replay.engine.steps import step_schema, summarize
from tracekit.replay.measures import CONFLICTS, all_measures, measures_in, resources_in
from tracekit.replay.measures.room import measured_columns, measured_names
from tracekit.replay.measures.sampled import USED, further_use
from tracekit.replay.runs.one import Replayed, by_name, labelled, moves_by_name
from tracekit.replay.runs.replayer import Planned, Replayer

BOUND = "bound"
OBSERVED = "observed"


@dataclass(frozen=True, kw_only=True, repr=False)
class Run(Shown):
    """The results of replaying several policies; the frames are the files of the run folder.

    Parameters
    ----------
    policies : tuple of Entrant
        In the order of the rows; ``observed`` is first where the workload has recorded nodes.
    summary : DataFrame
        The measures of each policy in the first order of arrival.
    moves : DataFrame
        A row for each eviction by a rebalancer, in order: time, container, node, next node (null
        where the container waited for the rest of the replay), strategy.
    stays : DataFrame
        The number of containers that a strategy left on their nodes, by policy, strategy and
        reason.
    nodes : DataFrame, optional
        The mean use of each node: see ``node_use``.
    movable : mapping
        The share of the use of each resource that a policy can move: see
        ``tracekit.replay.bounds.measures.MovableShare``.
    repeats, differences : DataFrame, optional
        The measures in every order of arrival, and the differences of policies over the orders: see
        ``tracekit.answer.repeat``.
    covers : tuple of str
        The sources of differences between repeats, which the intervals cover.
    looks : tuple of int
        The numbers of orders after which differences were to be tested; empty without repeats that
        are added on demand. The looks share the error probability.
    left_out : tuple of str
        The policies that were replayed in the first orders only: see ``tracekit.answer.repeat``.
    alone : str
        Why the run has one order of arrival where more were requested; a clause.
    digests : mapping
        A hash of the placements of each policy in all its orders; equal for policies that place
        alike.
    """

    workload: Workload
    policies: tuple[Entrant, ...]
    seed: int
    summary: pl.DataFrame
    steps: pl.DataFrame
    placements: pl.DataFrame
    moves: pl.DataFrame
    stays: pl.DataFrame
    timing: pl.DataFrame
    nodes: pl.DataFrame | None = None
    repeats: pl.DataFrame | None = None
    differences: pl.DataFrame | None = None
    covers: tuple[str, ...] = ()
    looks: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()
    alone: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    movable: Mapping[str, float] = field(default_factory=dict)


def choose_policies(
    entrants: Entrants,
    workload: Workload,
    rebalance: Sequence[RebalancePolicy] = (),
    schedulers: Schedulers | None = None,
) -> tuple[Entrant, ...]:
    """Return the policies to replay on a workload.

    ``observed`` is the first if a placement is recorded. Otherwise ``all`` leaves it out, and to
    name it is an error. With rebalancers, each policy is replayed alone and with each rebalancer.
    With several schedulers, each of these replays is made by one scheduler and, where the policy
    allows it, by several.
    """
    chosen: dict[str, Entrant] = {}
    if workload.containers.recorded:
        chosen[OBSERVED] = parse_policy(OBSERVED)
    for policy in entrants.chosen:
        if "recorded" in policy.reads and not workload.containers.recorded:
            if str(policy) not in entrants.names:
                continue
            raise TracekitError(
                f"workload '{workload.name}' has no recorded node for any container,"
                f" policy '{policy.name()}' needs them",
                hint="leave the policy out",
            )
        for one in _several([policy, *_with(policy, rebalance)], schedulers):
            chosen.setdefault(str(one), one)
    if schedulers is not None and all(one.schedulers is None for one in chosen.values()):
        with_schedulers(next(reversed(chosen.values())), schedulers)  # raises the reason
    return tuple(chosen.values())


def _several(entrants: Sequence[Entrant], schedulers: Schedulers | None) -> list[Entrant]:
    """The entrants, then the same by several schedulers, where the policy allows several."""
    if schedulers is None:
        return list(entrants)
    those = [one for one in entrants if one.schedulers is None and not why_one_scheduler(one)]
    return [*entrants, *(with_schedulers(one, schedulers) for one in those)]


def _with(policy: Entrant, rebalance: Sequence[RebalancePolicy]) -> list[Entrant]:
    if isinstance(policy, Accompanied) or "recorded" in policy.reads:
        return []
    return [rebalanced(policy, one) for one in rebalance]


def replay(
    workload: Workload,
    policies: Sequence[Entrant],
    *,
    seed: int,
    replayer: Replayer | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Replay the workload under each policy; the same seed gives the same run.

    Each policy draws from its own stream, keyed by its spelling. ``replayer`` may use workers and
    finished replays.
    """
    planned = [Planned(policy, seed) for policy in policies]
    done = (replayer or Replayer()).replay(workload, planned, progress)
    return assembled(workload, policies, done, seed=seed)


def assembled(
    workload: Workload, policies: Sequence[Entrant], done: Sequence[Replayed], *, seed: int
) -> Run:
    """Return the run made of one replay for each policy, in their order, with the lower bound."""
    proven = bounds_of(workload, rebalanced=any(one.rebalance for one in policies))
    bound = bound_frame(proven.rows, step_schema(workload))
    bound_row = {**summarize(bound), **_unproven(bound), "pending_container_steps": 0}
    respected = requests_respected(workload)
    if not respected:
        # pinned containers request more than their node has: bounds by requests do not hold
        of_requests = {
            n: None for n, one in measures_in(bound_row).items() if one.bound == "requests"
        }
        bound_row = {**bound_row, **of_requests}
    rows = [
        {**one.row, **gaps(one.row, bound_row, filtered=policy.filtered and respected)}
        for policy, one in zip(policies, done, strict=True)
    ]
    if any(CONFLICTS in row for row in rows):
        rows = [{**row, CONFLICTS: row.get(CONFLICTS, 0)} for row in rows]
    rows.append(_bound_summary(workload, bound_row, rows))
    placed = [(str(one), replayed.placements) for one, replayed in zip(policies, done, strict=True)]
    return Run(
        workload=workload,
        policies=tuple(policies),
        seed=seed,
        summary=pl.DataFrame(rows, infer_schema_length=None),
        steps=pl.concat([*(one.steps for one in done), labelled(bound, BOUND)]),
        placements=by_name(workload, placed),
        moves=moves_by_name(
            workload,
            ((str(one), replayed.moves) for one, replayed in zip(policies, done, strict=True)),
        ),
        stays=pl.concat(
            labelled(replayed.stays, str(one)) for one, replayed in zip(policies, done, strict=True)
        ),
        nodes=node_use(workload, placed),
        timing=pl.DataFrame([one.timing for one in done]),
        digests={str(one): replayed.digest for one, replayed in zip(policies, done, strict=True)},
        movable=proven.movable,
    )


def _unproven(bound: pl.DataFrame) -> dict[str, None]:
    """None for each measure of use that has no bound at any step, because its sum would be 0."""
    return {
        name: None
        for name, one in all_measures(tuple(resources_in(bound.columns))).items()
        if one.step
        and one.step.sampled
        and one.step.column in bound.columns
        and bound[one.step.column].is_null().all()
    }


def _bound_summary(
    workload: Workload, bound_row: dict[str, Any], rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    about = {"policy": BOUND, "parameters": "", "placed": workload.containers.count, "pending": 0}
    row = {**about, **bound_row}
    return {name: row.get(name) for name in (rows[0] if rows else row)}


def node_use(load: Workload, placements: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Return each node's mean use over the settled steps, with containers on their last node.

    Parameters
    ----------
    placements : iterable of (str, DataFrame)
        Each policy with its frame of ``one.by_number``.

    Returns
    -------
    DataFrame
        policy, node, and ``<resource>_mean_fraction`` of capacity, background included.
        ``tracekit.replay.measures.sampled`` defines the use of further resources. Null where a node
        has none of the resource.
    """
    uses = _mean_uses(load)
    parts = [
        pl.DataFrame(
            {
                "policy": pl.repeat(policy, load.nodes.count, dtype=pl.String, eager=True),
                "node": pl.Series(load.nodes.ids, dtype=pl.String),
                **{one.column: one.fractions(placed) for one in uses},
            }
        )
        for policy, placed in placements
    ]
    schema = {"policy": pl.String, "node": pl.String, **{one.column: pl.Float32 for one in uses}}
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


class _MeanUse(NamedTuple):
    """Mean use of a resource over the settled steps.

    Parameters
    ----------
    used : float64, shape (containers,)
        A container counts 0 at steps where it is absent, so that means add up on a node.
    own : float64, shape (nodes,)
        Background use.
    capacity : float64, shape (nodes,)
        NaN where a node has none of a further resource, or has it without limit.
    """

    column: str
    used: FloatArray
    own: FloatArray
    capacity: FloatArray

    def fractions(self, placed: pl.DataFrame) -> pl.Series:
        """Mean use over the capacity of each node; null where it has none."""
        node = placed["node"].fill_null(-1).to_numpy()
        at = np.flatnonzero(node >= 0)
        total = self.own + np.bincount(node[at], self.used[at], minlength=len(self.own))
        return pl.Series(total / self.capacity, dtype=pl.Float32).fill_nan(None)


def _mean_uses(load: Workload) -> list[_MeanUse]:
    columns, every = measured_columns(load), np.arange(load.containers.count)
    used = np.zeros((len(columns), load.containers.count))
    own = np.zeros((len(columns), load.nodes.count))
    steps = settled_steps(load.use.times_ms, load.use.settled_ms).tolist()
    for step in steps:
        present, recorded = load.present(step), load.use.at(step)
        for row, column in enumerate(columns):
            if column in USED:
                use: FloatArray | Float32Array = recorded[column]
                own[row] += load.use.background[column, step]
            else:
                use = further_use(load, column, range(step, step + 1), every)[0]
            used[row] += np.where(present, use, 0.0)
    names = [f"{name}_mean_fraction" for name in measured_names(load)]
    capacity = [_capacity(load, column) for column in columns]
    rows = zip(names, used / len(steps), own / len(steps), capacity, strict=True)
    return [_MeanUse(*row) for row in rows]


def _capacity(load: Workload, column: int) -> FloatArray:
    """The capacity of nodes where use is recorded, else the part that requests may take."""
    if column in USED:
        return load.nodes.capacity[:, column].astype(np.float64)
    recorded = column in load.use.further_resources
    has = (load.nodes.capacity if recorded else load.nodes.allocatable)[:, column]
    return np.where((has > 0) & (has < UNLIMITED), has, np.nan)
