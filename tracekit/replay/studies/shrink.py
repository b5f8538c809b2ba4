"""How many nodes are enough: per policy the fewest, and which, within limits on use.

See ``tracekit.replay.studies.fewest`` for the search, ``limits`` for what has to hold, and
``tracekit.replay.workload.multiplied`` for more load.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.crew.crew import Alone, Crew, OnProgress
from tracekit.errors import TracekitError
from tracekit.progress import SILENT, Progress
from tracekit.replay.measures import compared
from tracekit.replay.policy.entrant import Entrant, parse_entrant
from tracekit.replay.policy.parse import policies_of
from tracekit.replay.studies.fewest import Fewest, fewest_nodes
from tracekit.replay.studies.limits import Limits, parse_limits
from tracekit.replay.workload.multiplied import multiplied, scale_of
from tracekit.replay.workload.source import WorkloadSource
from tracekit.replay.workload.workload import Workload
from tracekit.study import Study

NAME = "fewest_nodes"
#: Kubernetes' default, which spreads, and the same plugin set to pack.
POLICIES = ("least_allocated", "most_allocated")

_POLICIES = {
    "policy": pl.String,
    "nodes": pl.Int64,
    "of": pl.Int64,
    "bound": pl.Int64,
    "nodes_low": pl.Int64,
    "nodes_high": pl.Int64,
    "going": pl.String,
    "fewer": pl.Int64,
    "fails": pl.String,
    "fails_measure": pl.String,
    "fails_value": pl.Float64,
    "problem": pl.String,
}
_SIZES = {
    "policy": pl.String,
    "repeat": pl.Int64,
    "nodes": pl.Int64,
    "holds": pl.Boolean,
    "fails": pl.String,
}
_NODES = {
    "policy": pl.String,
    "node": pl.String,
    "place": pl.Int64,
    "requested_fraction": pl.Float64,
    "kept": pl.Boolean,
}


@dataclass(frozen=True)
class _Search:
    """The search of one policy; can be sent to another process."""

    source: WorkloadSource
    scale: float
    policy: str
    limits: Limits
    seed: int
    repeats: int

    def run(self, on_progress: OnProgress) -> tuple[Fewest, tuple[str, ...]]:
        """The answer, and the names of the nodes by position."""
        load = _loaded(self.source, self.scale)
        entrant = parse_entrant(self.policy)
        found = fewest_nodes(load, entrant, self.limits, seed=self.seed, repeats=self.repeats)
        on_progress(1, 0, 0)
        return found, load.node_ids


@functools.lru_cache(maxsize=1)
def _loaded(source: WorkloadSource, scale: float) -> Workload:
    return multiplied(source.load(), scale_of(scale))


def shrink_cluster(
    source: WorkloadSource,
    *,
    policies: Sequence[str] = (),
    limits: Sequence[str] = (),
    scale: float = 1.0,
    repeats: int = 1,
    seed: int = 0,
    crew: Crew | None = None,
    progress: Progress = SILENT,
) -> Study:
    """The fewest nodes for each policy.

    Parameters
    ----------
    limits : sequence of str
        Expressions over measures of the summary, as ``compare --fail-if`` reads them; all hold.
        ``base`` is the same policy on all nodes. Without any, no node is ever overloaded. Every
        container is placed, and none waits, unless a limit speaks of ``pending`` or
        ``pending_container_steps``.
    scale : float
        So many times as many containers.
    repeats : int
        Orders of arrival in each of which the limits hold.

    Returns
    -------
    Study
        ``policies``: one row each, the fewest nodes first. ``of`` how many there are, ``bound``
        below which no placement gets (null: nothing is proven), ``nodes_low`` and ``nodes_high``
        the fewest over single orders of arrival, ``going`` which nodes went first (``least_asked``
        or ``smallest``); the measures that limits speak of, in the order
        of arrival as given, from the replay on exactly these nodes; with ``fewer`` nodes, one less,
        ``fails`` is the first limit that breaks (null where the bound is reached). A policy under
        which even all nodes are too few has its problem there.
        ``sizes``: every replay in that order of nodes, with all measures.
        ``nodes``: policy, node, place (1 stays longest), requested_fraction (on all nodes), kept.

    Raises
    ------
    TracekitError
        For unknown names or values, and where no policy keeps the limits on all nodes.
    """
    scale_of(scale)
    if repeats < 1:
        raise TracekitError(f"{repeats} repeats, expected at least 1")
    entrants = chosen(policies)
    within = parse_limits(limits, list(entrants))
    crew = crew or Alone()
    found: dict[str, Fewest] = {}
    problems: dict[str, TracekitError] = {}
    names: tuple[str, ...] = ()
    with progress.task("fewest nodes", len(entrants), "policies") as task:
        running = {
            name: crew.submit(
                _Search(source, scale, one.address(), within, seed, repeats), lambda *_: None
            )
            for name, one in entrants.items()
        }
        for name, future in running.items():
            try:
                found[name], names = future.result()
            except TracekitError as error:
                problems[name] = error
            task.advance(1, name)
    if not found:
        raise next(iter(problems.values()))
    return Study(
        name=NAME,
        about={
            "policies": list(entrants),
            "limits": [one.text for one in within.given],
            "measures": within.measures,
            "scale": scale,
            "repeats": repeats,
            "seed": seed,
            "nodes": len(names),
        },
        frames={
            "policies": _policies_frame(found, problems, within),
            "sizes": _sizes_frame(found),
            "nodes": _nodes_frame(found, names),
        },
    )


def chosen(policies: Sequence[str]) -> dict[str, Entrant]:
    """The policies that texts spell, each once; two where none is given."""
    texts = [text for name in policies or POLICIES for text in policies_of(name)]
    return {str(one): one for one in map(parse_entrant, texts)}


def _policies_frame(
    found: dict[str, Fewest], problems: dict[str, TracekitError], limits: Limits
) -> pl.DataFrame:
    rows = [_policy_row(name, one, limits) for name, one in found.items()]
    rows += [{"policy": name, "problem": error.what} for name, error in problems.items()]
    schema = {**_POLICIES, **dict.fromkeys(limits.measures, pl.Float64)}
    frame = pl.DataFrame(rows, schema=schema)
    return frame.sort("nodes", nulls_last=True, maintain_order=True)


def _policy_row(name: str, one: Fewest, limits: Limits) -> dict[str, Any]:
    own = one.at(one.nodes)[0].row
    fewer = next((trial for trial in one.at(one.nodes - 1) if trial.broken), None)
    broken = None if fewer is None else fewer.broken
    return {
        "policy": name,
        "nodes": one.nodes,
        "of": len(one.place),
        "bound": one.bound,
        "nodes_low": min(one.by_order),
        "nodes_high": max(one.by_order),
        "going": one.going,
        "fewer": one.nodes - 1,
        "fails": None if broken is None else broken.limit,
        "fails_measure": None if broken is None else broken.measure,
        "fails_value": None if broken is None else broken.value,
        **{measure: own.get(measure) for measure in limits.measures},
    }


def _sizes_frame(found: dict[str, Fewest]) -> pl.DataFrame:
    seen = {name for one in found.values() for trial in one.trials for name in trial.row}
    measures = ["placed", *compared(seen)]
    rows = [
        {
            "policy": name,
            "repeat": trial.repeat,
            "nodes": trial.nodes,
            "holds": trial.broken is None,
            "fails": None if trial.broken is None else trial.broken.limit,
            **{measure: trial.row.get(measure) for measure in measures},
        }
        for name, one in found.items()
        for trial in one.trials
    ]
    return pl.DataFrame(rows, schema={**_SIZES, **dict.fromkeys(measures, pl.Float64)})


def _nodes_frame(found: dict[str, Fewest], names: tuple[str, ...]) -> pl.DataFrame:
    rows = [
        {
            "policy": policy,
            "node": names[at],
            "place": place + 1,
            "requested_fraction": float(one.put[at]),
            "kept": place < one.nodes,
        }
        for policy, one in found.items()
        for place, at in enumerate(one.place.tolist())
    ]
    return pl.DataFrame(rows, schema=_NODES)
