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
from tracekit.cluster.changed.pinned import requests_respected
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
from tracekit.replay.runs.one import Replayed, labelled
from tracekit.replay.runs.placements import by_name, moves_by_name
from tracekit.replay.runs.replayer import Planned, Replayer

BOUND = "bound"
OBSERVED = "observed"


@dataclass(frozen=True, kw_only=True, repr=False)
class Run(Shown):
    """What a replay found; the frames are the files of the run folder.

    Parameters
    ----------
    policies : tuple of Entrant
        In the order of the rows; ``observed`` first where the workload knows it.
    summary : DataFrame
        A row for each policy in the first order of arrival alone: means are over ``repeats``.
    moves : DataFrame
        A row for each container that a rebalancer evicted, in order: when, from where, where it
        ran next (null: it waited for the rest of the replay), and by which strategy.
    stays : DataFrame
        How many containers a strategy left where they were, by policy, strategy and reason.
    nodes : DataFrame, optional
        How full each node is: see ``node_use``.
    movable : mapping
        The share 0..1 of what is used of each resource that a policy can move: see
        ``tracekit.replay.bounds.measures.MovableShare``.
    repeats, differences : DataFrame, optional
        Measures of every order of arrival, and how policies differ over them: see
        ``tracekit.answer.repeat``.
    covers : tuple of str
        What differs between repeats, so that intervals are about it.
    looks : tuple of int
        After how many orders it was to be looked whether policies differ, where orders could be
        added: each look has its part of what may go wrong. Empty where that was not asked for.
    left_out : tuple of str
        The policies that met no further orders for what the first ones showed: see
        ``tracekit.answer.repeat``.
    alone : str
        Why there is one replay alone where more were asked for, a clause.
    digests : mapping
        Of each policy a hash of where and when it placed what, in every order it met: the same
        where two policies place alike.
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
    """The policies that can be replayed, with what is behind them.

    ``observed`` comes first and is always there, unless the workload has no recorded placement:
    then it is left out of ``all``, and naming it is an error. With rebalancers each policy is
    there alone, and once more with each of them behind it. With several schedulers each of these is
    there once more, placed by them, as far as a policy can be theirs.
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
        with_schedulers(next(reversed(chosen.values())), schedulers)  # raises, and says why
    return tuple(chosen.values())


def _several(entrants: Sequence[Entrant], schedulers: Schedulers | None) -> list[Entrant]:
    """The entrants, then those of them by which several schedulers may place, placed by these."""
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

    Each policy draws from its own stream, keyed by its spelling alone. ``replayer`` does the
    replays elsewhere, or has some of them done already.
    """
    planned = [Planned(policy, seed) for policy in policies]
    done = (replayer or Replayer()).replay(workload, planned, progress)
    return assembled(workload, policies, done, seed=seed)


def assembled(
    workload: Workload, policies: Sequence[Entrant], done: Sequence[Replayed], *, seed: int
) -> Run:
    """The run that replays of its policies, in their order, make beside the lower bound."""
    proven = bounds_of(workload, rebalanced=any(one.rebalance for one in policies))
    bound = bound_frame(proven.rows, step_schema(workload))
    bound_row = {**summarize(bound), **_unproven(bound), "pending_container_steps": 0}
    respected = requests_respected(workload)
    if not respected:
        # what stays where it ran asks for more than its node has: no bound is of such a placement
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
    placed = [(str(one), found.placements) for one, found in zip(policies, done, strict=True)]
    return Run(
        workload=workload,
        policies=tuple(policies),
        seed=seed,
        summary=pl.DataFrame(rows, infer_schema_length=None),
        steps=pl.concat([*(one.steps for one in done), labelled(bound, BOUND)]),
        placements=by_name(workload, placed),
        moves=moves_by_name(
            workload, ((str(one), found.moves) for one, found in zip(policies, done, strict=True))
        ),
        stays=pl.concat(
            labelled(found.stays, str(one)) for one, found in zip(policies, done, strict=True)
        ),
        nodes=node_use(workload, placed),
        timing=pl.DataFrame([one.timing for one in done]),
        digests={str(one): found.digest for one, found in zip(policies, done, strict=True)},
        movable=proven.movable,
    )


def _unproven(bound: pl.DataFrame) -> dict[str, None]:
    """The measures of use for which no step has a bound; the sum of nothing would be 0."""
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


# How full each node is: on average, under every policy of a run, and at most.
#
# Of cpu and memory, and of every further resource that is measured: GPU, network.


def node_use(load: Workload, found: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Mean use of each node over the settled steps, with each container where it was placed last.

    Parameters
    ----------
    found : iterable of (str, DataFrame)
        Policies, with what ``placements.by_number`` gave for each.

    Returns
    -------
    DataFrame
        policy, node, and ``<resource>_mean_fraction`` of capacity, background included. Of a
        further resource what counts as used is as ``tracekit.replay.measures.sampled`` says, and a
        node that has none of it has no value.
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
        for policy, placed in found
    ]
    schema = {"policy": pl.String, "node": pl.String, **{one.column: pl.Float32 for one in uses}}
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


class _MeanUse(NamedTuple):
    """Mean use of a resource over the settled steps.

    A container counts 0 where it is not there, so that the means of those on a node add up.

    Parameters
    ----------
    used : float64, shape (containers,)
    own : float64, shape (nodes,)
        What no container explains.
    capacity : float64, shape (nodes,)
        NaN where a node has none of a further resource, or has it without limit.
    """

    column: str
    used: FloatArray
    own: FloatArray
    capacity: FloatArray

    def fractions(self, placed: pl.DataFrame) -> pl.Series:
        """Mean use over what each node has; null where it has none."""
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
    """What nodes have: all of it where use is recorded; of requests what they may take."""
    if column in USED:
        return load.nodes.capacity[:, column].astype(np.float64)
    recorded = column in load.use.further_resources
    has = (load.nodes.capacity if recorded else load.nodes.allocatable)[:, column]
    return np.where((has > 0) & (has < UNLIMITED), has, np.nan)
