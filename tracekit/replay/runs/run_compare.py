"""Two runs beside each other: what changed, policy by policy and measure by measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.errors import TracekitError
from tracekit.files.parquet import read_frame
from tracekit.replay.measures import compared, find_measure
from tracekit.replay.runs.bootstrap import mean_interval
from tracekit.replay.runs.run import BOUND
from tracekit.replay.runs.run_folder import RUN_FOLDER
from tracekit.replay.runs.thresholds import Threshold, parse_threshold
from tracekit.seeds import stream
from tracekit.study import Study

NAME = "comparison"

CHANGES_SCHEMA = {
    "policy": pl.String,
    "measure": pl.String,
    "base": pl.Float64,
    "new": pl.Float64,
    "change": pl.Float64,
    "change_low": pl.Float64,
    "change_high": pl.Float64,
    "paired": pl.Boolean,
    "verdict": pl.String,
}
_THRESHOLD_SCHEMA = {
    "threshold": pl.String,
    "policy": pl.String,
    "measure": pl.String,
    "base": pl.Float64,
    "new": pl.Float64,
    "failed": pl.Boolean,
}


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """What of a run folder is compared."""

    folder: Path
    manifest: dict[str, Any]
    summary: pl.DataFrame
    repeats: pl.DataFrame | None

    def rows(self) -> dict[str, dict[str, Any]]:
        """Rows of the summary by policy, without the bound; means over orders of arrival."""
        rows = {row["policy"]: row for row in self.summary.iter_rows(named=True)}
        if self.repeats is not None:
            names = list(compared(self.repeats.columns))
            means = self.repeats.group_by("policy").agg(pl.col(names).mean())
            for mean in means.iter_rows(named=True):
                rows[mean["policy"]] = {**rows.get(mean["policy"], {}), **mean}
        return {name: row for name, row in rows.items() if name != BOUND}


def compare_runs(base: Path, new: Path, *, fail_if: Sequence[str] = ()) -> Study:
    """What changed from one run to another.

    Parameters
    ----------
    fail_if : sequence of str
        Thresholds: see ``tracekit.replay.runs.thresholds``.

    Returns
    -------
    Study
        Frames ``changes`` (policy, measure, base, new, change with its 95 % interval where both
        runs have several orders of arrival; paired where these are the same) and ``thresholds``.
        ``about`` names what differs between the runs beyond their measures.

    Raises
    ------
    TracekitError
        For a folder that is no run, no policy in common, or a threshold that makes no sense.
    """
    thresholds = [parse_threshold(text) for text in fail_if]
    before, after = _read(base), _read(new)
    common = [name for name in before.rows() if name in after.rows()]
    if not common:
        raise TracekitError(
            f"the runs have no policy in common: {', '.join(before.rows())} against"
            f" {', '.join(after.rows())}",
            hint="replay the same policies, with the same parameters",
        )
    for one in thresholds:
        _check_policy(one, common)
    return Study(
        name=NAME,
        about={
            "base": before.folder.name,
            "new": after.folder.name,
            "policies": common,
            "only_base": [name for name in before.rows() if name not in common],
            "only_new": [name for name in after.rows() if name not in common],
            "differs": _what_differs(before.manifest, after.manifest),
        },
        frames={
            "changes": _changes(before, after, common),
            "thresholds": _outcomes(thresholds, before, after, common),
        },
    )


def _read(folder: Path) -> _Kept:
    if not RUN_FOLDER.holds(folder):
        raise TracekitError(
            f"{folder} is not a run folder", hint="make one: tracekit replay STORE --out RUN"
        )
    repeats = folder / "repeats.parquet"
    return _Kept(
        folder=folder.resolve(),
        manifest=RUN_FOLDER.read(folder),
        summary=read_frame(folder / "summary.parquet"),
        repeats=read_frame(repeats) if repeats.is_file() else None,
    )


def _check_policy(threshold: Threshold, common: Sequence[str]) -> None:
    if threshold.policy is not None and threshold.policy not in common:
        raise TracekitError(
            f"--fail-if '{threshold.text}': policy '{threshold.policy}' is not in both runs",
            hint=f"both have: {', '.join(common)}",
        )


def _what_differs(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Settings of the runs that are not the same, as 'name: before to after'."""
    one, other = _settings(before), _settings(after)
    return [
        f"{name}: {one.get(name, 'absent')} to {other.get(name, 'absent')}"
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name)
    ]


def _settings(manifest: dict[str, Any]) -> dict[str, Any]:
    load = manifest.get("workload", {})
    plain = ("name", "nodes", "containers", "steps", "step_ms")
    return {
        "version": manifest.get("tool_version"),
        "seed": manifest.get("seed"),
        "orders of arrival": manifest.get("repeats"),
        **{f"workload {name}": load.get(name) for name in plain},
        **load.get("assumptions", {}),
    }


def _changes(before: _Kept, after: _Kept, common: Sequence[str]) -> pl.DataFrame:
    one, other = before.rows(), after.rows()
    rows = [
        {
            "policy": policy,
            "measure": measure,
            "base": one[policy][measure],
            "new": other[policy][measure],
            **_change(before, after, policy, measure),
        }
        for policy in common
        for measure in _measures(one[policy], other[policy])
    ]
    return pl.DataFrame(rows, schema=CHANGES_SCHEMA)


def _measures(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [
        name for name in compared(one) if one.get(name) is not None and other.get(name) is not None
    ]


def _change(before: _Kept, after: _Kept, policy: str, measure: str) -> dict[str, Any]:
    """The change with its interval; without repeats in both runs there is no interval."""
    one, other = (_samples(kept, policy, measure) for kept in (before, after))
    if one is None or other is None:
        base, new = before.rows()[policy][measure], after.rows()[policy][measure]
        return {
            "change": float(new) - float(base),
            "change_low": None,
            "change_high": None,
            "paired": False,
            "verdict": _verdict(measure, new - base, None),
        }
    paired = one["seed"].to_list() == other["seed"].to_list()
    low, middle, high, apart = _interval(
        one["value"].to_numpy(), other["value"].to_numpy(), paired=paired
    )
    return {
        "change": middle,
        "change_low": low,
        "change_high": high,
        "paired": paired,
        "verdict": _verdict(measure, middle, apart),
    }


def _samples(kept: _Kept, policy: str, measure: str) -> pl.DataFrame | None:
    if kept.repeats is None or measure not in kept.repeats.columns:
        return None
    found = kept.repeats.filter(pl.col("policy") == policy).sort("repeat")
    values = found.select("seed", pl.col(measure).cast(pl.Float64).alias("value"))
    return None if values.is_empty() or values["value"].null_count() else values


def _interval(
    one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], *, paired: bool
) -> tuple[float, float, float, bool]:
    """Low, mean and high of the change, and whether it is beyond chance."""
    rng = stream(0, NAME)
    if paired:
        found = mean_interval((other - one)[:, None], rng)
        apart = bool(found.separated(len(one))[0])
        return float(found.low[0]), float(found.mean[0]), float(found.high[0]), apart
    first, second = mean_interval(one[:, None], rng), mean_interval(other[:, None], rng)
    middle = float(second.mean[0] - first.mean[0])
    # independent means: the widths of both intervals add as squares do
    down = float(np.hypot(second.mean[0] - second.low[0], first.high[0] - first.mean[0]))
    up = float(np.hypot(second.high[0] - second.mean[0], first.mean[0] - first.low[0]))
    apart = min(len(one), len(other)) >= 2 and (middle - down > 0 or middle + up < 0)
    return middle - down, middle, middle + up, apart


def _verdict(measure: str, change: float, apart: bool | None) -> str:
    """'better', 'worse', 'same', or 'within chance'; by the numbers alone without an interval.

    A measure of which neither end is better has 'changed'.
    """
    if change == 0:
        return "same"
    if apart is False:
        return "within chance"
    one = find_measure(measure)
    better = one and one.better
    if better is None:
        return "changed"
    return "better" if (change < 0) == (better == "low") else "worse"


def _outcomes(
    thresholds: Sequence[Threshold], before: _Kept, after: _Kept, common: Sequence[str]
) -> pl.DataFrame:
    one, other = before.rows(), after.rows()
    rows = [
        {
            "threshold": threshold.text,
            "policy": policy,
            "measure": threshold.measure,
            "failed": threshold.met(one[policy], other[policy]),
            "base": one[policy].get(threshold.measure),
            "new": other[policy].get(threshold.measure),
        }
        for threshold in thresholds
        for policy in ([threshold.policy] if threshold.policy else common)
    ]
    return pl.DataFrame(rows, schema=_THRESHOLD_SCHEMA)
