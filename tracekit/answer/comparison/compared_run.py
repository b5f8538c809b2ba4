"""A run folder as one side of a comparison, and the outcome of thresholds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.admissible import WAITING
from tracekit.base.arrays import FloatArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Scalar
from tracekit.base.files.result_folder import kind_of, read_frame
from tracekit.base.study import STUDY_FOLDER
from tracekit.base.words import and_more
from tracekit.replay.measures import compared
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.replay.runs.run_folder import RUN_FOLDER, run_within
from tracekit.replay.runs.thresholds import WORST, Threshold, worst_key
from tracekit.store.folder import is_store, lost_manifest

#: The verdict on a change that missing containers may explain: for the better in a run that placed
#: fewer containers, or for the worse in a run that placed more.
NOT_COMPARABLE = "not comparable"
#: The verdicts on a change that chance may explain, and on one over too few orders in either run.
CHANCE, TOO_FEW = "within chance", "cannot be told"
#: The verdicts on no change, and on a change too small to matter or to be visible.
SAME, ALIKE = "same", "alike"
#: Verdicts without a change; their rows are shown only on request.
UNCHANGED = (SAME, ALIKE)
#: Verdicts on ``pending`` by which no containers are missing beyond chance.
AS_MANY = (*UNCHANGED, CHANCE)
#: The outcomes of a threshold that was not passed, and of one that was.
HELD, EXCEEDED = "ok", "failed"
#: The outcome of a threshold with ``base`` under a new policy, which is not judged.
NO_BASE = "not in the base"
#: The outcome of a threshold with ``base`` passed by a change that chance may explain.
BY_CHANCE = "maybe chance"
#: Outcomes that are neither a failure nor a success.
OPEN = (NO_BASE, BY_CHANCE)
#: The key of the number of orders of arrival of a policy.
ORDERS = "orders"
#: The beginning of settings of the workload, and the settings on its size.
_LOAD = "workload "
_SIZES = ("nodes", "containers", "steps", "step_ms")
#: The text in place of a setting that only the other run has.
_NONE_SUCH = "no such setting"


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """A run folder that is read as the base or the new side of a comparison.

    Parameters
    ----------
    summary : DataFrame
        A row of measures for each policy.
    repeats : DataFrame, optional
        A row for each policy and order of arrival; None for a run in one order.
    """

    folder: Path
    manifest: dict[str, Any]
    summary: pl.DataFrame
    repeats: pl.DataFrame | None

    @property
    def containers(self) -> int:
        """The number of containers of the workload; 0 where it is not recorded."""
        return int(self.manifest.get("workload", {}).get("containers") or 0)

    def rows(self) -> dict[str, dict[str, Any]]:
        """Return by policy its row of the summary; measures are means over the orders of arrival.

        The row of the lower bound, which is no policy, is left out.
        """
        rows = {row["policy"]: row for row in self.summary.iter_rows(named=True)}
        if self.repeats is not None:
            names = list(compared(self.repeats.columns))
            means = self.repeats.group_by("policy").agg(pl.col(names).mean())
            for mean in means.iter_rows(named=True):
                rows[mean["policy"]] = {**rows.get(mean["policy"], {}), **mean}
        return {name: row for name, row in rows.items() if name != BOUND}

    def judged_rows(self) -> dict[str, dict[str, Any]]:
        """Return ``rows`` with more columns: each measure's worst value, and the number of orders.

        A run in one order of arrival has no such columns.
        """
        rows = self.rows()
        if self.repeats is None:
            return rows
        measures = compared(self.repeats.columns).items()
        ends = {name: one.better for name, one in measures if one.better is not None}
        worst = self.repeats.group_by("policy").agg(
            pl.len().alias(ORDERS),
            *(
                (pl.col(name).max() if better == "low" else pl.col(name).min()).alias(
                    worst_key(name)
                )
                for name, better in ends.items()
            ),
        )
        worst_rows = {row.pop("policy"): row for row in worst.to_dicts()}
        return {name: {**row, **worst_rows.get(name, {})} for name, row in rows.items()}

    def values(self, policy: str, names: Sequence[str]) -> tuple[list[int], FloatArray]:
        """Return the seeds of a policy's orders of arrival, and its measures in each order.

        The measures have the shape (orders, measures), with NaN where a value is unknown. Both are
        empty for a run in a single order.
        """
        if self.repeats is None:
            return [], np.zeros((0, len(names)))
        absent = [pl.lit(None).alias(name) for name in names if name not in self.repeats.columns]
        rows = self.repeats.with_columns(absent).filter(policy=policy).sort("repeat")
        table = rows.select(pl.col(names).cast(pl.Float64).fill_null(float("nan")))
        return rows["seed"].to_list(), np.asarray(table.to_numpy(), np.float64)


def compared_run(folder: Path) -> ComparedRun:
    """Read a run folder; raises TracekitError for any other folder."""
    if not RUN_FOLDER.holds(folder):
        raise _no_run(folder)
    repeats = folder / "repeats.parquet"
    return ComparedRun(
        folder=folder.resolve(),
        manifest=RUN_FOLDER.sound(folder),
        summary=read_frame(folder / "summary.parquet"),
        repeats=read_frame(repeats) if repeats.is_file() else None,
    )


def _no_run(folder: Path) -> TracekitError:
    """The error for a folder that is no run."""
    make = "make a run: tracekit replay STORE --out RUN"
    if not folder.exists():
        return TracekitError(f"no such run folder: {folder}", hint=make)
    inner = run_within(folder)
    if inner is not None:
        what = f"{folder} is not a run folder, but has one"
        return TracekitError(what, hint=f"did you mean {inner}?")
    if STUDY_FOLDER.holds(folder):
        return TracekitError(
            f"{folder} is a study; compare takes runs of tracekit replay, and it is not a run"
            " folder",
            hint=f"its page: tracekit report {folder} --out REPORT.html",
        )
    kind = kind_of(folder)
    if not kind:
        what = f"{folder} is {'a store, not' if is_store(folder) else 'not'} a run folder"
        return lost_manifest(folder) or TracekitError(what, hint=make)
    return TracekitError(
        f"{folder} is what tracekit {kind} wrote; compare takes runs of tracekit replay, and"
        " it is not a run folder",
        hint=f"its numbers are in the report of the store; {make}",
    )


def what_differs(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Scalar]]:
    """Return the settings that differ between two runs: ``setting``, ``base`` and ``new``."""
    one, other = _settings(before), _settings(after)
    return [
        {"setting": name, "base": _scalar(one, name), "new": _scalar(other, name)}
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name)
    ]


def _scalar(settings: Mapping[str, Any], name: str) -> Scalar:
    value = settings.get(name, _NONE_SUCH)
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value)


def speaks_of_load(setting: str) -> bool:
    """Return whether a setting concerns the size of the workload."""
    return setting.removeprefix(_LOAD) in _SIZES and setting.startswith(_LOAD)


def compares_policies(about: Mapping[str, Any]) -> bool:
    """Return whether any policy other than production is in both runs.

    ``about`` is that of the comparison.
    """
    return bool(set(about["policies"]) - {OBSERVED})


def _settings(manifest: dict[str, Any]) -> dict[str, Any]:
    load = manifest.get("workload", {})
    plain = ("name", "nodes", "containers", "steps", "step_ms", "gangs")
    return {
        "version": manifest.get("tool_version"),
        "seed": manifest.get("seed"),
        "orders of arrival": manifest.get("repeats"),
        **{f"{_LOAD}{name}": load.get(name) for name in plain},
        **load.get("assumptions", {}),
    }


# Thresholds on a run, with or without another run as the base.

#: The advice for runs that cannot be compared.
SAME_POLICIES = "replay the same policies, with the same parameters"
THRESHOLD_SCHEMA = {
    "threshold": pl.String,
    "policy": pl.String,
    "measure": pl.String,
    "base": pl.Float64,
    "new": pl.Float64,
    "failed": pl.Boolean,
    "outcome": pl.String,
    "judged": pl.String,
    "orders": pl.Int64,
    "new_worst": pl.Float64,
    "base_judged": pl.String,
    "base_worst": pl.Float64,
    "base_measure": pl.String,
}
#: The value that a threshold judges: the mean over orders of arrival, or the worst order.
MEAN = "mean"


def check(
    threshold: Threshold, before: ComparedRun, after: ComparedRun, common: Sequence[str]
) -> None:
    """Raise TracekitError if a threshold judges no policy, so that it could never fail.

    A threshold that compares with the base judges policies of both runs, any other threshold those
    of the new run.
    """
    _check_policy(threshold, common if threshold.speaks_of("base") else list(after.rows()))
    _check_compared(threshold, before, after, common)


def _check_policy(threshold: Threshold, policies: Sequence[str]) -> None:
    if threshold.policy is not None and threshold.policy not in policies:
        base = threshold.speaks_of("base")
        where, have = ("both runs", "both have") if base else ("the new run", "it has")
        raise TracekitError(
            f"--fail-if '{threshold.text}': policy '{threshold.policy}' is not in {where}",
            hint=f"{have}: {', '.join(policies)}",
        )


def _check_compared(
    threshold: Threshold, before: ComparedRun, after: ComparedRun, common: Sequence[str]
) -> None:
    """Raise TracekitError for a threshold that judges nothing: it could never fail."""
    names = _judged(threshold, common)
    if not names:
        raise TracekitError(
            f"--fail-if '{threshold.text}': no policy was compared, both runs have production"
            f" ({OBSERVED}) alone; others are {_few(before, common)} against"
            f" {_few(after, common)}",
            hint=SAME_POLICIES,
        )
    one, other = before.judged_rows(), after.judged_rows()
    if all(None in threshold.sides(one.get(name, {}), other[name]) for name in names):
        why = "it divides by 0 or names measures that are not known"
        raise TracekitError(
            f"--fail-if '{threshold.text}' has no value for any policy: {why}",
            hint="what is known of each: tracekit compare A B, without --fail-if",
        )


def _few(run: ComparedRun, common: Sequence[str]) -> str:
    names = [name for name in run.rows() if name not in common]
    return and_more(names[:4], len(names)) or "none"


def _judged(threshold: Threshold, common: Sequence[str]) -> list[str]:
    """The policies that a threshold judges; production only if the threshold names it."""
    return [threshold.policy] if threshold.policy else [n for n in common if n != OBSERVED]


def outcomes(
    thresholds: Sequence[Threshold],
    before: ComparedRun,
    after: ComparedRun,
    changes: pl.DataFrame,
    common: Sequence[str],
) -> pl.DataFrame:
    """Return the outcome of each threshold under each policy that it judges.

    Some policies are in the new run but not in the base. Under them a threshold that compares with
    the base has the outcome ``NO_BASE``. A crossed threshold has the outcome ``BY_CHANCE`` if
    chance may explain the change.

    Parameters
    ----------
    before, after : ComparedRun
        The base and the new run.
    changes : DataFrame
        The frame ``changes`` of the comparison.
    common : sequence of str
        The policies that are in both runs.
    """
    one, other = before.judged_rows(), after.judged_rows()
    placed = dict(changes.select("policy", "placed_change").unique().rows())
    by_chance = dict(changes.filter(verdict=CHANCE).group_by("policy").agg("measure").iter_rows())
    added = [name for name in other if name not in common and name != OBSERVED]
    rows = [
        {
            "threshold": threshold.text,
            "policy": policy,
            "measure": threshold.measure,
            "failed": outcome not in {HELD, *OPEN},
            "outcome": outcome,
            "base": one.get(policy, {}).get(of_base or ""),
            "new": other[policy].get(threshold.measure),
            "judged": WORST if threshold.new_of_worst else MEAN,
            "orders": other[policy].get(ORDERS, 1),
            "new_worst": other[policy].get(worst_key(threshold.measure)),
            "base_judged": WORST if threshold.base_of_worst else MEAN,
            "base_worst": one.get(policy, {}).get(worst_key(of_base or "")),
            "base_measure": of_base,
        }
        for threshold in thresholds
        for of_base in (threshold.measure_of_base,)
        for policy in _judged(threshold, [*common, *added])
        for outcome in (
            _outcome(
                threshold,
                one.get(policy),
                other[policy],
                placed.get(policy, 0.0),
                by_chance.get(policy, ()),
            ),
        )
    ]
    return pl.DataFrame(rows, schema=THRESHOLD_SCHEMA)


def _outcome(
    threshold: Threshold,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any],
    placed_change: float,
    by_chance: Sequence[str],
) -> str:
    """The outcome of a threshold; it fails where missing containers make runs incomparable.

    With enough orders, a threshold with ``base`` fails only by a change beyond chance. Chance is
    judged for means alone, so a threshold on the worst order fails by its value.
    """
    if before is None and threshold.speaks_of("base"):
        return NO_BASE
    if threshold.met(before or {}, after):
        means = threshold.speaks_of("base") and not threshold.of_worst
        chance = means and set(threshold.measures) <= set(by_chance)
        return BY_CHANCE if chance else EXCEEDED
    missing = placed_change < 0 and not set(threshold.measures) & set(WAITING)
    return NOT_COMPARABLE if missing and threshold.speaks_of("base") else HELD
