"""Results of a finished run, from its folder or from memory: measures by policy and order."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray
from tracekit.base.files.result_folder import read_frame
from tracekit.cluster.series import settled_steps
from tracekit.replay.measures import Measure, of_demand
from tracekit.replay.runs.one import shares
from tracekit.replay.runs.run import BOUND, Run
from tracekit.replay.runs.run_folder import RUN_FOLDER, decisions_without_use, noted
from tracekit.replay.runs.waiting import MAY_WAIT, most_waiting, waiting


@dataclass(frozen=True, eq=False)
class Results:
    """The measures of a finished run, by policy and order of arrival; ``results`` makes it.

    Parameters
    ----------
    manifest : mapping
        The document of its folder.
    summary, repeats : DataFrame
        Frames of its folder; ``repeats`` is None where every policy met one order.
    """

    manifest: Mapping[str, Any]
    summary: pl.DataFrame
    repeats: pl.DataFrame | None = None

    @functools.cached_property
    def measures(self) -> dict[str, Measure]:
        """The measures for comparing policies, of the resources that containers request."""
        return of_demand(self.summary)

    @functools.cached_property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies, with ``observed`` (production) and without the bound."""
        return tuple(name for name in self.summary["policy"] if name != BOUND)

    @functools.cached_property
    def values(self) -> dict[str, FloatArray]:
        """The measures of each policy, shape (orders, measures); NaN where unknown."""
        names = list(self.measures)
        repeated = _by_policy(self.repeats, names)
        once = _by_policy(self.summary, names)
        return {
            policy: repeated[policy] if policy in repeated else once[policy]
            for policy in self.policies
        }

    @functools.cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The policies in groups; those in one group placed alike in every order of arrival."""
        alike: dict[object, list[str]] = {}
        for policy in self.policies:
            alike.setdefault(self._alike(policy), []).append(policy)
        return tuple(tuple(names) for names in alike.values())

    @property
    def covers(self) -> tuple[str, ...]:
        """The causes of differences between repeats."""
        return tuple(self.manifest.get("repeats_cover") or ())

    @property
    def looks(self) -> int:
        """The number of planned tests, which share the error probability; at least 1."""
        return looks_of(self.manifest)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The policies that the first orders ruled out, and that were not replayed in others."""
        return tuple(self.manifest.get("repeats_left_out") or ())

    def of(self, policy: str, measure: str) -> FloatArray:
        """Return the values of a measure of a policy, shape (orders,)."""
        return self.values[policy][:, self._at[measure]]

    @functools.cached_property
    def _at(self) -> dict[str, int]:
        """The column of each measure in ``values``."""
        return {name: at for at, name in enumerate(self.measures)}

    def orders(self, policy: str) -> int:
        """Return the number of orders of arrival in which a policy was replayed."""
        return len(self.values[policy])

    @functools.cached_property
    def most_orders(self) -> int:
        """The largest number of orders of any policy."""
        return max(map(self.orders, self.policies), default=0)

    def has_value(self, policy: str, name: str) -> bool:
        """Return whether a policy has a value of the measure in every order."""
        present = policy in self.values and name in self.measures
        return present and bool(np.isfinite(self.of(policy, name)).all())

    def waited(self, policy: str) -> bool:
        """Return whether the policy ever left a container waiting, and so carried less load."""
        return policy in self._waiting

    @functools.cached_property
    def _waiting(self) -> frozenset[str]:
        names = [name for name in ("pending", "pending_container_steps") if name in self.summary]
        rows = self.summary.select("policy", *names).rows()
        once = {policy for policy, *values in rows if any(values)}
        again = (name for name in self.policies if self.has_value(name, "pending"))
        return frozenset(once | {name for name in again if self.of(name, "pending").any()})

    def _alike(self, policy: str) -> object:
        """A key that is equal for policies that placed alike: the digest, else the measures."""
        values = self.values[policy]
        about = [one for one in self.manifest.get("policies", []) if one["policy"] == policy]
        digest = about[0].get("placements") if about else None
        return (len(values), digest or np.nan_to_num(values, nan=-1.0).tobytes())


def looks_of(manifest: Mapping[str, Any]) -> int:
    """Return how many times a run was to test differences while orders were added; at least 1."""
    return max(len(manifest.get("repeats_looks") or ()), 1)


def results(run: Results | Run | Path | str) -> Results:
    """Return the results of a run, which is given as its folder, as ``Run`` or as ``Results``."""
    if isinstance(run, Results):
        return run
    if isinstance(run, Path | str):
        return _read(Path(run))
    return Results(_about(run), run.summary, run.repeats)


def _about(run: Run) -> dict[str, Any]:
    """The parts of the manifest that ``Results`` reads; the whole manifest needs a slow bound."""
    return {
        "seed": run.seed,
        "repeats_cover": list(run.covers),
        "repeats_none": run.alone,
        "repeats_looks": list(run.looks),
        "repeats_left_out": list(run.left_out),
        "workload": {
            "nodes": run.workload.nodes.count,
            "steps": len(run.workload.use.times_ms),
            "settled_steps": len(
                settled_steps(run.workload.use.times_ms, run.workload.use.settled_ms)
            ),
            "containers": run.workload.containers.count,
            "movable": dict(run.movable),
            "quantities": dict(run.workload.provenance.quantities),
            "assumptions": dict(run.workload.provenance.assumptions),
            MAY_WAIT: most_waiting(run.workload),
            **shares(run.workload),
        },
        "policies": [
            {
                "policy": str(policy),
                "name": policy.name(),
                "used_by": policy.used_by,
                "notes": noted(run.workload, policy),
                "placements": run.digests.get(str(policy)),
                "decisions_without_use": decisions_without_use(run, policy),
                "waiting": waiting(run.workload, run.placements, str(policy)),
            }
            for policy in run.policies
        ],
    }


def _read(folder: Path) -> Results:
    repeats = folder / "repeats.parquet"
    return Results(
        RUN_FOLDER.sound(folder),
        read_frame(folder / "summary.parquet"),
        read_frame(repeats) if repeats.is_file() else None,
    )


def _by_policy(frame: pl.DataFrame | None, names: Sequence[str]) -> dict[str, FloatArray]:
    if frame is None:
        return {}
    absent = [pl.lit(None, pl.Float64).alias(name) for name in names if name not in frame.columns]
    rows = frame.with_columns(absent)
    ordered = rows.sort("repeat", maintain_order=True) if "repeat" in rows.columns else rows
    return {
        str(policy): part.select(pl.col(names).cast(pl.Float64).fill_null(float("nan"))).to_numpy()
        for (policy,), part in ordered.group_by(["policy"], maintain_order=True)
    }
