"""The run folder: a manifest and Parquet files, written whole or not at all."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit._version import VERSION
from tracekit.base.errors import TracekitError
from tracekit.base.files.places import found_from, named_from
from tracekit.base.files.result_folder import ResultFolder
from tracekit.base.parameters import spell
from tracekit.base.units import duration
from tracekit.cluster.assumptions import Assumptions, SizedAssumptions
from tracekit.cluster.circumstances import NAMES
from tracekit.cluster.named import Given, Paper000, parse_workload, settings_of
from tracekit.cluster.on_nodes import pinned_over_capacity
from tracekit.cluster.parts import zone_counts
from tracekit.cluster.resources import lacking
from tracekit.cluster.series import settled_steps
from tracekit.cluster.source import WorkloadSource, source_of
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import FILES, Entrant, parse_entrant
from tracekit.policy.entrant import files_entry as files_noted
from tracekit.policy.parse import as_given, by_name
from tracekit.replay.bounds.demand import demand_bound
from tracekit.replay.bounds.requests import placeable
from tracekit.replay.runs.one import PLACED, shares
from tracekit.replay.runs.remarks import about_workload
from tracekit.replay.runs.run import Run
from tracekit.replay.runs.waiting import MAY_WAIT, most_waiting, waiting
from tracekit.store.folder import open_store

SCHEMA = "tracekit/replay/1"
RUN_FOLDER = ResultFolder(what="run folder", schema=SCHEMA)
#: A key of a policy, False where it places containers on nodes without room; absent otherwise.
FILTERED = "filtered"
#: A key of a policy, True where a rebalancer moves its containers; absent otherwise.
REBALANCES = "rebalances"
MOVES = "moves"
FRAMES = (
    *("summary", "steps", "placements", MOVES, "stays"),
    *("nodes", "timing", "repeats", "differences"),
)


def manifest_of(run: Run, folder: Path | None = None) -> dict[str, Any]:
    """Return the manifest of a run: seed, workload, assumptions, policies and parameters.

    Paths of users' own policies are relative to ``folder``, else to the working folder.
    """
    load = run.workload
    return {
        "schema": SCHEMA,
        "tool_version": VERSION,
        "seed": run.seed,
        "repeats": max((_repeats(run, str(policy)) for policy in run.policies), default=1),
        "repeats_cover": list(run.covers),
        "repeats_none": run.alone,
        "repeats_looks": list(run.looks),
        "repeats_left_out": list(run.left_out),
        "workload": {
            "name": load.name,
            "nodes": load.nodes.count,
            "containers": load.containers.count,
            "steps": len(load.use.times_ms),
            "step_ms": load.use.step_ms,
            "time_min_ms": int(load.use.times_ms[0]),
            "time_max_ms": int(load.use.times_ms[-1]),
            "settled_ms": load.use.settled_ms,
            "settled_steps": len(settled_steps(load.use.times_ms, load.use.settled_ms)),
            "resources": list(load.resources),
            "movable": dict(run.movable),
            **shares(load),
            "recorded": load.containers.recorded,
            "gangs": 0
            if load.rules.gang is None
            else len(np.unique(load.rules.gang[load.rules.gang >= 0])),
            "containers_too_large": len(load.too_large()),
            **zone_counts(load.nodes.domains),
            MAY_WAIT: most_waiting(load),
            "assumptions": dict(load.provenance.assumptions),
            "quantities": dict(load.provenance.quantities),
            "facts": {**load.provenance.facts, **_of_places(load)},
            **about_workload(load),
        },
        "bounds": {"nodes_for_demand": demand_bound(placeable(load))},
        "policies": [_policy(run, policy, folder) for policy in run.policies],
    }


def run_within(folder: Path) -> Path | None:
    """Return the run folder inside the output folder of ``tracekit run``; None if there is none."""
    inner = (folder / one for one in ("replay", "run"))
    return next((one for one in inner if RUN_FOLDER.holds(one)), None)


def source_of_run(manifest: Mapping[str, Any], folder: Path) -> WorkloadSource:
    """Return the source of the workload that a run replayed; ``folder`` is the run folder.

    Raises
    ------
    TracekitError
        When the manifest names no store and no workload.
    """
    load = manifest["workload"]
    loader = load.get("loader")
    if loader is None and load.get("store") is None:
        raise TracekitError(f"{folder} does not say which store it replayed", hint="replay anew")
    return source_of(
        None if loader is not None else open_store(found_from(folder, load["store"])),
        None if loader is None else Given.of(loader).spelled(lambda path: str(folder / path)),
        assume=assumed_of(load),
        seed=manifest["seed"],
        gangs=load.get("admitted") == "gangs",
    )


def entrant_of_run(manifest: Mapping[str, Any], folder: Path, text: str) -> Entrant:
    """Return the policy of a run with the spelling ``text``; its files are found from ``folder``.

    ``folder`` is the run folder. Any other spelling is parsed as on the command line.
    """
    files = [file for row in manifest["policies"] for file in row.get(FILES, ())]
    return parse_entrant(as_given(text, by_name(files, lambda path: str(folder / path))))


def assumed_of(load: Mapping[str, Any]) -> list[str]:
    """Return a run's assumptions on its workload that differ from the defaults: ``name=value``.

    Assumptions that the workload's own spelling has are left out.
    """
    given = Given.of(load.get("loader") or "")
    sized = "full_cpu_cores" in load.get("assumptions", {})
    kinds: list[type[Any]] = [SizedAssumptions if sized else Assumptions]
    kinds += [Paper000] if given.name == "paper000" else []
    defaults = {one.name: spell(one.default) for kind in kinds for one in dataclasses.fields(kind)}
    defaults |= settings_of(given.name)
    return [
        f"{name}={value}"
        for name, value in load.get("assumptions", {}).items()
        if name not in dict(given.settings)
        and (name in NAMES or (name in defaults and defaults[name] != spell(value)))
    ]


def _policy(run: Run, policy: Entrant, folder: Path | None) -> dict[str, Any]:
    waits = waiting(run.workload, run.placements, str(policy))
    notes = noted(run.workload, policy)
    return {
        "policy": str(policy),
        "name": policy.name(),
        "source": policy.source,
        "used_by": policy.used_by,
        "repeats": _repeats(run, str(policy)),
        "placements": run.digests.get(str(policy)),
        "decisions_without_use": decisions_without_use(run, policy),
        "left_out": lacking(policy.wants, run.workload.resources),
        "parameters": policy.spelled(),
        **files_noted([policy], folder),
        **({} if policy.filtered else {FILTERED: False}),
        **({} if policy.rebalance is None else {REBALANCES: True}),
        **({"notes": notes} if notes else {}),
        **({"waiting": waits} if waits else {}),
    }


def noted(load: Workload, policy: Entrant) -> list[str]:
    """Return notes on one policy on this workload, for readers of its results."""
    return [*policy.notes, *_never_moves(load, policy)]


def _never_moves(load: Workload, policy: Entrant) -> list[str]:
    """A note where the interval of the rebalancer is longer than the workload."""
    rebalance = policy.rebalance
    if rebalance is None:
        return []
    # nothing is evicted at the last step, because nothing is placed after it
    span_ms = int(load.use.times_ms[:-1].max(initial=load.use.times_ms[0]) - load.use.times_ms[0])
    if rebalance.interval_ms <= span_ms:
        return []
    first, whole = duration(rebalance.interval_ms), duration(span_ms)
    never = f"{rebalance.name()} never moved a container: it first runs after {first}"
    return [f"{never}, and the workload has {whole} for it; a smaller interval_ms lets it run"]


def _of_places(load: Workload) -> dict[str, int]:
    """Counts of constrained containers, pinned ones, and pinned ones beyond their node's room."""
    counts = {} if load.rules.constraints is None else load.rules.constraints.facts()
    if load.rules.pinned is not None:
        counts["containers_pinned"] = int((load.rules.pinned >= 0).sum())
        counts["containers_pinned_over_capacity"] = pinned_over_capacity(load)
    return counts


def decisions_without_use(run: Run, policy: Entrant) -> int:
    """Return how many decisions a policy made before its first sample; 0 if it reads no use.

    Daemons and pinned containers are no decisions.
    """
    if "usage" not in policy.reads:
        return 0
    load = run.workload
    # a sample becomes visible a step after its time
    seen_ms = int(load.use.times_ms[0]) + load.use.step_ms
    mine = run.placements.filter(policy=str(policy))
    blind = (pl.col("outcome") == PLACED) & (pl.col("time_ms") < seen_ms)
    early = mine.select(blind.fill_null(value=False)).to_series().to_numpy()
    decided = True if load.rules.pinned is None else load.rules.pinned < 0
    return int((early & decided).sum())


def _repeats(run: Run, policy: str) -> int:
    """The number of orders of arrival in which a policy was replayed."""
    return 1 if run.repeats is None else max(run.repeats.filter(policy=policy).height, 1)


def write_run(
    run: Run,
    folder: Path,
    *,
    store: Path | None = None,
    loader: str | None = None,
    gangs: bool = False,
    beside: Callable[[dict[str, Any], Path], None] | None = None,
) -> None:
    """Write the run folder. An existing run folder is replaced; files of others in it stay.

    Parameters
    ----------
    store : Path, optional
        The store of the trace. The manifest has its path relative to the run folder, so that both
        can be moved together.
    loader : str, optional
        The workload as ``--workload`` spells it, in place of a store.
    gangs : bool
        Whether the containers of a service were admitted together on request.
    beside : callable, optional
        Called with the manifest and the new folder, before this folder replaces the old one. Files
        that it writes into the folder become a part of the run.

    Raises
    ------
    TracekitError
        When the path exists and is not a run folder.
    """
    document = manifest_of(run, Path(folder))
    if store is not None:
        document["workload"]["store"] = named_from(folder, store)
    if loader is not None:
        document["workload"]["loader"] = parse_workload(loader).spelled(
            lambda path: named_from(folder, path)
        )
    if gangs:
        document["workload"]["admitted"] = "gangs"
    frames = {name: getattr(run, name) for name in FRAMES}
    more = None if beside is None else functools.partial(beside, document)
    RUN_FOLDER.write(Path(folder), document, frames, more=more)
