"""The parts of a run folder that are compared with another's."""

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
from tracekit.base.files.parquet import read_frame
from tracekit.base.files.result_folder import kind_of
from tracekit.base.study import STUDY_FOLDER
from tracekit.base.words import and_more
from tracekit.replay.measures import compared
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.replay.runs.run_folder import RUN_FOLDER, run_within
from tracekit.replay.runs.thresholds import WORST, Threshold, worst_key
from tracekit.store.folder import is_store

#: Verdict on a change for the better of a run that placed fewer containers, or for the worse of one
#: that placed more: the containers that are missing may explain it.
NOT_COMPARABLE = "not comparable"
#: On a change that chance may explain, and on one over too few orders in either run to know that.
CHANCE, TOO_FEW = "within chance", "cannot be told"
#: On no change, and on one too small to count, or to be seen in the digits that are shown.
SAME, ALIKE = "same", "alike"
#: Verdicts that say that nothing changed: the rows are shown on request alone.
UNCHANGED = (SAME, ALIKE)
#: Verdicts on ``pending`` under which it is not known that containers are missing in either run.
AS_MANY = (*UNCHANGED, CHANCE)
#: Of a threshold that did not happen, and of one that did.
HELD, EXCEEDED = "ok", "failed"
#: Of a threshold that speaks of the base, under a policy that is new: it is not judged.
NO_BASE = "not in the base"
#: Of one that speaks of the base and happened by a change that chance may explain.
BY_CHANCE = "maybe chance"
#: Outcomes that are none: nothing failed, and nothing was held.
OPEN = (NO_BASE, BY_CHANCE)
#: How many orders of arrival a policy met.
ORDERS = "orders"
#: What settings of the workload begin with, and those that say how large it is.
_LOAD = "workload "
_SIZES = ("nodes", "containers", "steps", "step_ms")
#: How a setting is shown that only the other run has.
_NONE_SUCH = "no such setting"


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """The parts of a run folder that are compared."""

    folder: Path
    manifest: dict[str, Any]
    summary: pl.DataFrame
    repeats: pl.DataFrame | None

    @property
    def containers(self) -> int:
        """How many containers the workload has; 0 where the run does not say it."""
        return int(self.manifest.get("workload", {}).get("containers") or 0)

    def rows(self) -> dict[str, dict[str, Any]]:
        """Rows of the summary by policy, without the bound; means over orders of arrival."""
        rows = {row["policy"]: row for row in self.summary.iter_rows(named=True)}
        if self.repeats is not None:
            names = list(compared(self.repeats.columns))
            means = self.repeats.group_by("policy").agg(pl.col(names).mean())
            for mean in means.iter_rows(named=True):
                rows[mean["policy"]] = {**rows.get(mean["policy"], {}), **mean}
        return {name: row for name, row in rows.items() if name != BOUND}

    def judged_rows(self) -> dict[str, dict[str, Any]]:
        """The rows of ``rows`` with ``worst(MEASURE)``, and how many ``orders`` each policy met."""
        rows = self.rows()
        if self.repeats is None:
            return rows
        known = compared(self.repeats.columns).items()
        ends = {name: one.better for name, one in known if one.better is not None}
        worst = self.repeats.group_by("policy").agg(
            pl.len().alias(ORDERS),
            *(
                (pl.col(name).max() if better == "low" else pl.col(name).min()).alias(
                    worst_key(name)
                )
                for name, better in ends.items()
            ),
        )
        found = {row.pop("policy"): row for row in worst.to_dicts()}
        return {name: {**row, **found.get(name, {})} for name, row in rows.items()}

    def values(self, policy: str, names: Sequence[str]) -> tuple[list[int], FloatArray]:
        """Seeds and measures of the orders a policy met, shape (orders, measures); none of one."""
        if self.repeats is None:
            return [], np.zeros((0, len(names)))
        absent = [pl.lit(None).alias(name) for name in names if name not in self.repeats.columns]
        found = self.repeats.with_columns(absent).filter(policy=policy).sort("repeat")
        table = found.select(pl.col(names).cast(pl.Float64).fill_null(float("nan")))
        return found["seed"].to_list(), np.asarray(table.to_numpy(), np.float64)


def compared_run(folder: Path) -> ComparedRun:
    """Read a run folder; raises TracekitError for a folder that is no run."""
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
    """The error for a folder that is no run: what it is, and what to do."""
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
        what = "a store, not" if is_store(folder) else "not"
        return TracekitError(f"{folder} is {what} a run folder", hint=make)
    return TracekitError(
        f"{folder} is what tracekit {kind} wrote; compare takes runs of tracekit replay, and"
        " it is not a run folder",
        hint=f"its numbers are in the report of the store; {make}",
    )


def what_differs(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Scalar]]:
    """Settings of the runs that are not the same: ``setting``, ``base`` and ``new``."""
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
    """Whether a setting says how large the workload is."""
    return setting.removeprefix(_LOAD) in _SIZES and setting.startswith(_LOAD)


def compares_policies(about: Mapping[str, Any]) -> bool:
    """Whether any policy is in both runs; production, which is in most, is none."""
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


# Whether a run keeps to the thresholds that it is held to beside another.

#: What makes two runs comparable.
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
#: What a threshold is held against: the mean of the orders of arrival, or the worst of them.
MEAN = "mean"


def check(
    threshold: Threshold, before: ComparedRun, after: ComparedRun, common: Sequence[str]
) -> None:
    """Raise TracekitError for a threshold of a policy of one run, or that nothing is held to.

    One that does not speak of the base may be of a policy that is in the new run alone.
    """
    _check_policy(threshold, common if threshold.speaks_of("base") else list(after.rows()))
    _check_compared(threshold, before, after, common)


def _check_policy(threshold: Threshold, known: Sequence[str]) -> None:
    if threshold.policy is not None and threshold.policy not in known:
        base = threshold.speaks_of("base")
        where, have = ("both runs", "both have") if base else ("the new run", "it has")
        raise TracekitError(
            f"--fail-if '{threshold.text}': policy '{threshold.policy}' is not in {where}",
            hint=f"{have}: {', '.join(known)}",
        )


def _check_compared(
    threshold: Threshold, before: ComparedRun, after: ComparedRun, common: Sequence[str]
) -> None:
    """A threshold that passes because nothing is compared would be a gate that is always open."""
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


def _few(kept: ComparedRun, common: Sequence[str]) -> str:
    names = [name for name in kept.rows() if name not in common]
    return and_more(names[:4], len(names)) or "none"


def _judged(threshold: Threshold, common: Sequence[str]) -> list[str]:
    """The policies that a threshold judges; production, which no change moves, only by its name."""
    return [threshold.policy] if threshold.policy else [n for n in common if n != OBSERVED]


def outcomes(
    thresholds: Sequence[Threshold],
    before: ComparedRun,
    after: ComparedRun,
    changes: pl.DataFrame,
    common: Sequence[str],
) -> pl.DataFrame:
    """What became of each threshold under each policy that it judges, and under those that are new.

    A threshold that holds a measure to a number judges new policies, too. A threshold that speaks
    of the base does not judge a new policy, and the outcome says so. The outcome also says where
    chance may explain the change.

    Parameters
    ----------
    changes : DataFrame
        Policies and ``placed_change``, as the comparison has them.
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
    """Whether it happened; missing containers, without which nobody can tell, count as failed.

    A threshold beside the base fails only by a change beyond chance, where there are enough orders
    to tell. Chance is known of means alone, so a threshold of the worst order fails by its value.
    """
    if before is None and threshold.speaks_of("base"):
        return NO_BASE
    if threshold.met(before or {}, after):
        means = threshold.speaks_of("base") and not threshold.of_worst
        chance = means and set(threshold.measures) <= set(by_chance)
        return BY_CHANCE if chance else EXCEEDED
    missing = placed_change < 0 and not set(threshold.measures) & set(WAITING)
    return NOT_COMPARABLE if missing and threshold.speaks_of("base") else HELD
