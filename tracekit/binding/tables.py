"""The tables of a replay down to the vCPU."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray
from tracekit.binding.loop import VcpuOutcome
from tracekit.cluster.workload import Workload
from tracekit.interference.vcpu.room import Room
from tracekit.replay.chance.student import compare
from tracekit.replay.engine.steps import SETTLED, step_schema, summarize

DIFFERENCE = {
    "policy": pl.String,
    "against": pl.String,
    "measure": pl.String,
    "repeats": pl.Int64,
    "difference_mean": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "share_mean": pl.Float64,
    "separated": pl.Boolean,
}
#: What bindings are compared by. They belong to vCPUs, which a replay of nodes does not have, so
#: they are no files of ``tracekit.replay.measures``; the first answers the question.
MEASURES = ("inflation_vcpus", "inflation_mean_fraction", "cpu_spread_mean_fraction")


def _schema() -> dict[str, type[pl.DataType]]:
    """Columns of the steps, with inflation behind the measures of any replay."""
    return {
        "policy": pl.String,
        **step_schema(),
        "inflation_mean_fraction": pl.Float64,
        "inflation_vcpus": pl.Float64,
        "bound": pl.Int64,
        "bound_vcpus": pl.Int64,
    }


def summary_of(outcome: VcpuOutcome) -> dict[str, Any]:
    """Inflation and load measures over the settled steps, or over all where none is settled."""
    steps = pl.DataFrame([{"policy": "", **row} for row in outcome.steps], schema=_schema())
    settled = steps.filter(SETTLED)
    return {
        "placed": int((outcome.node >= 0).sum()),
        "bound": int((outcome.socket >= 0).sum()),
        "bound_vcpus": settled["bound_vcpus"].mean(),
        "inflation_vcpus": settled["inflation_vcpus"].mean(),
        "inflation_mean_fraction": settled["inflation_mean_fraction"].mean(),
        **summarize(steps),
    }


def means_of(repeated: pl.DataFrame) -> pl.DataFrame:
    """One row per policy: every measure's mean over the repeats."""
    numbers = [name for name in repeated.columns if name not in {"repeat", "policy"}]
    return repeated.group_by("policy", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("repeats"),
        *(pl.col(n).cast(pl.Float64).mean() for n in numbers),
    )


def differences_of(repeated: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The first policy less each other one, paired by repeat.

    What is told is beyond chance for all of them together: see ``chance.student.judge``, with
    lost vCPUs as what answers the question. Of one repeat there are no limits.
    """
    many = repeated["repeat"].n_unique()
    pairs = [(other, measure) for other in names[1:] for measure in MEASURES]
    if not pairs:
        return pl.DataFrame(schema=DIFFERENCE)
    of = {name: _values(repeated.filter(pl.col("policy") == name)) for name in names}
    apart = [of[names[0]][measure] - of[other][measure] for other, measure in pairs]
    answers = np.array([measure == MEASURES[0] for _, measure in pairs])
    found = compare(np.stack(apart, axis=1), first=answers)
    base = [float(of[other][measure].mean()) for other, measure in pairs]
    frame = pl.DataFrame(
        {
            "policy": [names[0]] * len(pairs),
            "against": [other for other, _ in pairs],
            "measure": [measure for _, measure in pairs],
            "repeats": [many] * len(pairs),
            "difference_mean": found.mean,
            "difference_low": found.low,
            "difference_high": found.high,
            "share_mean": [
                float(mean) / one if one > 0 else None
                for mean, one in zip(found.mean, base, strict=True)
            ],
            "separated": found.separated,
        },
        schema=DIFFERENCE,
    )
    return frame.with_columns(pl.col("difference_low", "difference_high").fill_nan(None))


def _values(repeated: pl.DataFrame) -> dict[str, FloatArray]:
    """Each measure of one policy in the order of the repeats, shape (repeats,)."""
    rows = repeated.sort("repeat")
    return {name: rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in MEASURES}


def steps_of(outcomes: Sequence[tuple[str, VcpuOutcome]]) -> pl.DataFrame:
    """One row per policy and sampling step."""
    rows = [{"policy": name, **row} for name, outcome in outcomes for row in outcome.steps]
    return pl.DataFrame(rows, schema=_schema())


def containers_of(load: Workload, room: Room, name: str, outcome: VcpuOutcome) -> pl.DataFrame:
    """One row per container: where it was bound, and what it suffered there."""
    nodes = np.array([*load.nodes.ids, None], dtype=object)[outcome.node]
    start = np.concatenate([[0], np.cumsum(np.bincount(room.socket_host))])
    local = np.where(
        outcome.socket >= 0, outcome.socket - start[room.socket_host[outcome.socket]], -1
    )
    return pl.DataFrame(
        {
            "policy": [name] * load.containers.count,
            "container": load.containers.ids,
            "service": load.containers.services,
            "node": pl.Series(nodes.tolist(), dtype=pl.String),
            "socket": [int(at) if at >= 0 else None for at in local],
            "vcpus": outcome.vcpus,
            "inflation_fraction": pl.Series(outcome.inflation).fill_nan(None),
        },
        schema_overrides={"socket": pl.Int64, "vcpus": pl.List(pl.Int64)},
    )


def services_of(load: Workload, name: str, outcome: VcpuOutcome) -> pl.DataFrame:
    """One row per service: the mean over its containers, and their sum in vCPUs."""
    frame = pl.DataFrame(
        {
            "service": load.containers.services,
            "inflation_fraction": pl.Series(outcome.inflation).fill_nan(None),
            "vcpus": [len(vcpus) for vcpus in outcome.vcpus],
        }
    )
    return (
        frame.group_by("service")
        .agg(
            pl.len().cast(pl.Int64).alias("containers"),
            pl.col("inflation_fraction").mean().alias("inflation_mean_fraction"),
            (pl.col("inflation_fraction") * pl.col("vcpus")).sum().alias("inflation_vcpus"),
        )
        .sort("service")
        .select(pl.lit(name).alias("policy"), pl.all())
    )


def timing_of(outcomes: Sequence[tuple[str, VcpuOutcome]]) -> pl.DataFrame:
    """How long each policy's decisions took."""
    return pl.DataFrame(
        [
            {
                "policy": name,
                "decisions": outcome.decisions,
                "total_ms": 1000 * outcome.decision_s,
                "decisions_per_s": outcome.decisions / max(outcome.decision_s, 1e-9),
            }
            for name, outcome in outcomes
        ]
    )
