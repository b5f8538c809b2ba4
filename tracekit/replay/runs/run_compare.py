"""Two runs beside each other: what changed, policy by policy and measure by measure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.arrays import FloatArray
from tracekit.errors import TracekitError
from tracekit.files.parquet import read_frame
from tracekit.files.result_folder import MANIFEST
from tracekit.opened import read_bytes
from tracekit.replay.measures import compared, find_measure
from tracekit.replay.runs.results import looks_of
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.replay.runs.run_folder import RUN_FOLDER
from tracekit.replay.runs.student import Compared, Sample, judge, unpaired
from tracekit.replay.runs.student import paired as pairwise
from tracekit.replay.runs.thresholds import Threshold, parse_threshold
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

    def values(self, policy: str, names: Sequence[str]) -> tuple[list[int], FloatArray]:
        """Seeds and measures of the orders a policy met, shape (orders, measures); none of one."""
        if self.repeats is None:
            return [], np.zeros((0, len(names)))
        absent = [pl.lit(None).alias(name) for name in names if name not in self.repeats.columns]
        found = self.repeats.with_columns(absent).filter(policy=policy).sort("repeat")
        table = found.select(pl.col(names).cast(pl.Float64).fill_null(float("nan")))
        return found["seed"].to_list(), np.asarray(table.to_numpy(), np.float64)


def compare_runs(base: Path, new: Path, *, fail_if: Sequence[str] = ()) -> Study:
    """What changed from one run to another.

    Parameters
    ----------
    fail_if : sequence of str
        Thresholds: see ``tracekit.replay.runs.thresholds``.

    Returns
    -------
    Study
        Frames ``changes`` (policy, measure, base, new, change with its interval where both runs
        have several orders of arrival, at the level that the family of all changes leaves it
        (Holm); paired where the orders are the same) and ``thresholds``.
        ``about`` names what differs between the runs beyond their measures.

    Raises
    ------
    TracekitError
        For a folder that is no run, no policy in common, or a threshold that makes no sense or
        would be held to nothing: production alone is what nobody changed.
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
        _check_compared(one, before, after, common)
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
        raise _no_run(folder)
    repeats = folder / "repeats.parquet"
    return _Kept(
        folder=folder.resolve(),
        manifest=RUN_FOLDER.read(folder),
        summary=read_frame(folder / "summary.parquet"),
        repeats=read_frame(repeats) if repeats.is_file() else None,
    )


def _no_run(folder: Path) -> TracekitError:
    """What the folder really is, and what to do."""
    try:
        document = json.loads(read_bytes(folder / MANIFEST))
    except (OSError, ValueError):
        document = None
    found = (
        re.fullmatch(r"tracekit/(\w+)/\d+", str(document.get("schema", "")))
        if (isinstance(document, dict))
        else None
    )
    make = "make a run: tracekit replay STORE --out RUN"
    if found is None:
        kind = "a store, not" if isinstance(document, dict) and "sources" in document else "not"
        return TracekitError(f"{folder} is {kind} a run folder", hint=make)
    return TracekitError(
        f"{folder} is what tracekit {found[1]} wrote; compare takes runs of tracekit replay, and"
        " it is not a run folder",
        hint=f"its numbers are in the report of the store; {make}",
    )


def _check_policy(threshold: Threshold, common: Sequence[str]) -> None:
    if threshold.policy is not None and threshold.policy not in common:
        raise TracekitError(
            f"--fail-if '{threshold.text}': policy '{threshold.policy}' is not in both runs",
            hint=f"both have: {', '.join(common)}",
        )


def _check_compared(
    threshold: Threshold, before: _Kept, after: _Kept, common: Sequence[str]
) -> None:
    """A threshold that passes because nothing is compared would be a gate that is always open."""
    names = [threshold.policy] if threshold.policy else [n for n in common if n != OBSERVED]
    if not names:
        raise TracekitError(
            f"--fail-if '{threshold.text}': no policy was compared, both runs have production"
            f" ({OBSERVED}) alone; others are {_few(before, common)} against"
            f" {_few(after, common)}",
            hint="replay the same policies, with the same parameters",
        )
    one, other = before.rows(), after.rows()
    if all(None in threshold.sides(one[name], other[name]) for name in names):
        raise TracekitError(
            f"--fail-if '{threshold.text}': its measures are known of no policy in both runs",
            hint=f"policies of both: {', '.join(names)}",
        )


def _few(kept: _Kept, common: Sequence[str]) -> str:
    names = [name for name in kept.rows() if name not in common]
    return (
        ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "") or "none"
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
    plain = ("name", "nodes", "containers", "steps", "step_ms", "gangs")
    return {
        "version": manifest.get("tool_version"),
        "seed": manifest.get("seed"),
        "orders of arrival": manifest.get("repeats"),
        **{f"workload {name}": load.get(name) for name in plain},
        **load.get("assumptions", {}),
    }


def _changes(before: _Kept, after: _Kept, common: Sequence[str]) -> pl.DataFrame:
    """Every policy by every measure; those with several orders in both runs are one family."""
    one, other = before.rows(), after.rows()
    rows: list[dict[str, Any]] = []
    samples, several = [], []
    for policy in common:
        names = _measures(one[policy], other[policy])
        sample, orders, paired = _sample(before, after, policy, names)
        samples.append(sample)
        several += [orders > 1] * len(names)
        for name in names:
            values = {"base": one[policy][name], "new": other[policy][name]}
            rows.append({"policy": policy, "measure": name, **values, "paired": paired})
    answers = [
        (known := find_measure(row["measure"])) is not None and known.group == "answer"
        for row in rows
    ]
    looks = max(looks_of(before.manifest), looks_of(after.manifest))
    found = judge(*samples, first=np.array(answers, dtype=np.bool_), looks=looks)
    changes = [
        {**row, **_change(row["measure"], found, at, known=several[at])}
        for at, row in enumerate(rows)
    ]
    return pl.DataFrame(changes, schema=CHANGES_SCHEMA)


def _measures(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [
        name for name in compared(one) if one.get(name) is not None and other.get(name) is not None
    ]


def _sample(
    before: _Kept, after: _Kept, policy: str, names: Sequence[str]
) -> tuple[Sample, int, bool]:
    """The changes of a policy's measures, over how many orders, and whether these are the same."""
    (seeds, base), (others, new) = (kept.values(policy, names) for kept in (before, after))
    orders = min(len(base), len(new))
    if orders > 1:
        same = seeds == others
        return pairwise(new - base) if same else unpaired(base, new), orders, same
    one, other = before.rows()[policy], after.rows()[policy]
    change = np.array([[float(other[name]) - float(one[name]) for name in names]])
    return pairwise(change), 1, False


def _change(measure: str, found: Compared, at: int, *, known: bool) -> dict[str, Any]:
    """The change with its interval; without repeats in both runs there is none."""
    low, mean, high = (float(part[at]) for part in (found.low, found.mean, found.high))
    return {
        "change": mean,
        "change_low": low if known else None,
        "change_high": high if known else None,
        "verdict": _verdict(measure, mean, bool(found.separated[at]) if known else None),
    }


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
