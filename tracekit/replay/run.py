"""A run: one workload through several policies, beside production and a lower bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tracekit.errors import TracekitError
from tracekit.progress import SILENT, Progress
from tracekit.replay import parameters
from tracekit.replay.bounds import bound_frame, bound_steps, gaps
from tracekit.replay.engine import Engine, Outcome
from tracekit.replay.fast.choose import suited_placer
from tracekit.replay.measures import STEP_SCHEMA, summarize
from tracekit.replay.placement import PlacementPolicy, all_policies, parse_policy
from tracekit.replay.seeds import stream
from tracekit.replay.workload import Workload

BOUND = "bound"
OBSERVED = "observed"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a replay found; the frames are the files of the run folder.

    Parameters
    ----------
    policies : tuple of PlacementPolicy
        In the order of the rows; ``observed`` first where the workload knows it.
    repeats, differences : DataFrame, optional
        Measures of every order of arrival, and how policies differ over them: see
        ``tracekit.replay.repeat``.
    """

    workload: Workload
    policies: tuple[PlacementPolicy, ...]
    seed: int
    summary: pl.DataFrame
    steps: pl.DataFrame
    placements: pl.DataFrame
    timing: pl.DataFrame
    repeats: pl.DataFrame | None = None
    differences: pl.DataFrame | None = None


def choose_policies(names: Iterable[str], workload: Workload) -> tuple[PlacementPolicy, ...]:
    """The policies that texts spell; ``all`` is every one with its defaults.

    ``observed`` comes first and is always there, unless the workload has no recorded placement:
    then it is left out of ``all``, and asking for it is an error.
    """
    chosen: dict[str, PlacementPolicy] = {}
    if workload.recorded:
        chosen[OBSERVED] = parse_policy(OBSERVED)
    for name in names:
        for text in sorted(all_policies()) if name == "all" else [name]:
            policy = parse_policy(text)
            if "recorded" in policy.reads and not workload.recorded:
                if name == "all":
                    continue
                raise TracekitError(
                    f"workload '{workload.name}' has no recorded node for any container,"
                    f" policy '{policy.name()}' needs them",
                    hint="leave the policy out",
                )
            chosen.setdefault(str(policy), policy)
    return tuple(chosen.values())


def replay(
    workload: Workload,
    policies: Sequence[PlacementPolicy],
    *,
    seed: int,
    bound: pl.DataFrame | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Replay the workload under each policy; the same seed gives the same run.

    Each policy draws from its own stream, keyed by its name alone. ``bound`` is what
    ``bound_frame`` gives, where a caller has it already.
    """
    steps, rows, placements, timing = [], [], [], []
    if bound is None:
        bound = bound_frame(bound_steps(workload), STEP_SCHEMA)
    bound_row = {**summarize(bound), "pending_container_steps": 0}
    for policy in policies:
        with progress.task(str(policy), len(workload.times_ms), "steps") as task:
            random = stream(seed, policy.name())
            engine = Engine(workload, policy, random, placer=suited_placer(workload))
            outcome = engine.run(lambda task=task: task.advance(1))  # type: ignore[misc]
        frame = pl.DataFrame(outcome.steps, schema=STEP_SCHEMA)
        row = summarize(frame)
        steps.append(_labelled(frame, str(policy)))
        apart = gaps(row, bound_row, filtered=policy.filtered)
        rows.append({**_about(policy, outcome), **row, **apart})
        placements.append(_placements(workload, str(policy), outcome))
        timing.append(_timing(str(policy), outcome))
    rows.append(_bound_summary(workload, bound_row, rows))
    return Run(
        workload=workload,
        policies=tuple(policies),
        seed=seed,
        summary=pl.DataFrame(rows, infer_schema_length=None),
        steps=pl.concat([*steps, _labelled(bound, BOUND)]),
        placements=pl.concat(placements),
        timing=pl.DataFrame(timing),
    )


def _about(policy: PlacementPolicy, outcome: Outcome) -> dict[str, Any]:
    return {
        "policy": str(policy),
        "parameters": parameters.spell_all(policy, defaults=True),
        "placed": int((outcome.node >= 0).sum()),
        "pending": int((outcome.node < 0).sum()),
    }


def _bound_summary(
    workload: Workload, bound_row: dict[str, Any], rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    about = {"policy": BOUND, "parameters": "", "placed": workload.containers, "pending": 0}
    unproven = {"overloaded_node_steps": None}
    row = {**about, **bound_row, **unproven}
    return {name: row.get(name) for name in (rows[0] if rows else row)}


def _labelled(frame: pl.DataFrame, policy: str) -> pl.DataFrame:
    return frame.select(pl.lit(policy).alias("policy"), pl.all())


def _placements(workload: Workload, policy: str, outcome: Outcome) -> pl.DataFrame:
    placed = outcome.node >= 0
    nodes = np.array([*workload.node_ids, None], dtype=object)[outcome.node]
    return pl.DataFrame(
        {
            "policy": [policy] * workload.containers,
            "container": workload.container_ids,
            "node": nodes.tolist(),
            "time_ms": [int(at) if at >= 0 else None for at in outcome.time_ms],
            "outcome": np.where(placed, "placed", "pending").tolist(),
        },
        schema={
            "policy": pl.String,
            "container": pl.String,
            "node": pl.String,
            "time_ms": pl.Int64,
            "outcome": pl.String,
        },
    )


def _timing(policy: str, outcome: Outcome) -> dict[str, Any]:
    spent_ms = np.array(outcome.latencies_s or [0.0]) * 1000
    return {
        "policy": policy,
        "decisions": len(outcome.latencies_s),
        "latency_p50_ms": float(np.quantile(spent_ms, 0.5)),
        "latency_p95_ms": float(np.quantile(spent_ms, 0.95)),
        "latency_mean_ms": float(spent_ms.mean()),
        "total_ms": float(spent_ms.sum()),
    }
