"""The parts of a run folder that are compared with another's."""

import json
import re
from collections.abc import Mapping, Sequence
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
from tracekit.replay.measures import compared
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.replay.runs.run_folder import RUN_FOLDER, run_within
from tracekit.replay.runs.threshold_values import worst_key
from tracekit.study import STUDY_FOLDER
from tracekit.units import duration, size
from tracekit.words import count, few

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
        """The same, with ``worst(MEASURE)``, and how many ``orders`` each policy met."""
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
        manifest=RUN_FOLDER.read(folder),
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
    try:
        document = json.loads(read_bytes(folder / MANIFEST))
    except (OSError, ValueError):
        document = None
    found = (
        re.fullmatch(r"tracekit/(\w+)/\d+", str(document.get("schema", "")))
        if (isinstance(document, dict))
        else None
    )
    if found is None:
        kind = "a store, not" if isinstance(document, dict) and "sources" in document else "not"
        return TracekitError(f"{folder} is {kind} a run folder", hint=make)
    return TracekitError(
        f"{folder} is what tracekit {found[1]} wrote; compare takes runs of tracekit replay, and"
        " it is not a run folder",
        hint=f"its numbers are in the report of the store; {make}",
    )


def what_differs(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Settings of the runs that are not the same: name, before and after, with their units."""
    one, other = _settings(before), _settings(after)
    return [
        (name, _said(name, one), _said(name, other))
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name)
    ]


def told(differs: Sequence[tuple[str, str, str]]) -> list[str]:
    """The same as texts, 'name: before to after'."""
    return [f"{name}: {before} to {after}" for name, before, after in differs]


#: Of a setting that only the other workload has.
_NONE_SUCH = "no such setting"


def _said(name: str, settings: dict[str, Any]) -> str:
    """A setting as people read it: times and sizes with their units."""
    if name not in settings:
        return _NONE_SUCH
    value = settings[name]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and name.endswith("_ms"):
        return duration(round(value)) or "0 s"
    return size(value) if number and name.endswith("_bytes") else str(value)


def other_workload(differs: Sequence[str]) -> str:
    """A sentence if the runs replay different workloads; empty if these are of one size.

    Parameters
    ----------
    differs : sequence of str
        As ``told`` gives it.
    """
    sizes = [text.removeprefix(_LOAD) for text in differs if text.startswith(_LOAD)]
    told = [text for text in sizes if text.partition(":")[0] in _SIZES]
    if not told:
        return ""
    return (
        f"The runs replay different workloads ({'; '.join(told)}): what changed may come from that"
        " and not from a policy"
    )


def fewer_placed(changes: pl.DataFrame) -> str:
    """A sentence on policies that leave more containers without a node than in the base run.

    Parameters
    ----------
    changes : DataFrame
        Policies and ``placed_change``, as the comparison has them.
    """
    rows = changes.filter(pl.col("placed_change") < 0).unique("policy", maintain_order=True)
    if rows.is_empty():
        return ""
    said = [f"{row['policy']} ({-row['placed_change']:,.4g} more)" for row in rows.to_dicts()]
    return (
        f"Containers are left without a node that had one in the base, under {few(said)}: what"
        " looks better there is called not comparable, as they are missing"
    )


def verdict_told(row: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """The verdict of a change; where there can be none, how many containers are missing, and where.

    Parameters
    ----------
    row : mapping
        Of the frame ``changes``.
    about : mapping
        Of the comparison.
    """
    if row["verdict"] != NOT_COMPARABLE:
        return str(row["verdict"])
    changed = row["placed_change"]
    where = about["new" if changed < 0 else "base"]
    return f"{NOT_COMPARABLE}: {where} placed {count(abs(changed), 'container')} fewer"


def outcome_told(row: Mapping[str, Any]) -> str:
    """What became of a threshold, a sentence that goes on after its name and policy.

    Parameters
    ----------
    row : mapping
        Of the frame ``thresholds``.
    """
    if row.get("outcome") == NOT_COMPARABLE:
        return "cannot be judged: fewer containers were placed than in the base"
    if row.get("outcome") == NO_BASE:
        return "is not judged: the policy is not in the base"
    if row.get("outcome") == BY_CHANCE:
        return "happened, but chance may explain the change: more orders of arrival tell"
    return "happened" if row["failed"] else "did not happen"


def warnings_of(about: Mapping[str, Any]) -> list[str]:
    """What has to be known before any change is believed; sentences without their full stops."""
    said = [found for name in ("other_workload", "fewer_placed") if (found := about.get(name))]
    return [*_none_in_both(about), *said]


def compares_policies(about: Mapping[str, Any]) -> bool:
    """Whether any policy is in both runs; production, which is in most, is none."""
    return bool(set(about["policies"]) - {OBSERVED})


def _none_in_both(about: Mapping[str, Any]) -> list[str]:
    """That no policy was compared, where production alone is in both runs."""
    if compares_policies(about):
        return []
    only = [
        f"only in {about[run]}: {few(names)}"
        for run, names in (("base", about["only_base"]), ("new", about["only_new"]))
        if names
    ]
    which = f" ({'; '.join(only)})" if only else ""
    return [f"No policy is in both runs{which}: production alone was compared"]


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
