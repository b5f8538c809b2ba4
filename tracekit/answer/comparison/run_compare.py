"""The comparison of two runs, policy by policy and measure by measure."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.admissible import PENDING, WAITING
from tracekit.answer.comparison.compared_run import (
    ALIKE,
    AS_MANY,
    CHANCE,
    NOT_COMPARABLE,
    SAME,
    SAME_POLICIES,
    TOO_FEW,
    ComparedRun,
    check,
    compared_run,
    outcomes,
    speaks_of_load,
    what_differs,
)
from tracekit.base.errors import TracekitError
from tracekit.base.study import Study
from tracekit.replay.chance import (
    FEWEST,
    Compared,
    DifferenceStatistics,
    apart,
    judge,
    least_apart,
    unpaired,
)
from tracekit.replay.chance import paired as pairwise
from tracekit.replay.measures import Measure, compared, find_measure
from tracekit.replay.runs.results import looks_of
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.thresholds import Threshold

NAME = "comparison"
#: Values whose relative difference is smaller are alike.
_LEAST = 0.001

CHANGES_SCHEMA = {
    "policy": pl.String,
    "measure": pl.String,
    "base": pl.Float64,
    "new": pl.Float64,
    "change": pl.Float64,
    "change_low": pl.Float64,
    "change_high": pl.Float64,
    "paired": pl.Boolean,
    "orders": pl.Int64,
    "placed_change": pl.Float64,
    "verdict": pl.String,
}
#: The names of entries that differ between runs.
SETTINGS_SCHEMA = {"setting": pl.String, "base": pl.String, "new": pl.String}


def compare_runs(base: Path, new: Path, *, fail_if: Sequence[Threshold] = ()) -> Study:
    """Compare a new run with a base run: each policy of both runs by each measure.

    Parameters
    ----------
    fail_if : sequence of Threshold
        Thresholds at which the comparison fails.

    Returns
    -------
    Study
        ``changes`` has a row for each policy and measure: both values, and the change with its
        verdict. The change has an interval, corrected for all changes (Holm), where both runs have
        several orders of arrival. ``paired`` is the number of common orders. ``placed_change`` is
        how many more containers the new run placed, or 0 where chance may explain it.

        ``thresholds`` has a row for each threshold and policy. ``outcome`` is ok, failed, not
        comparable (the new run placed fewer containers; it counts as failed) or not in the base (it
        does not). ``judged`` is ``mean`` or ``worst``, over the orders.

        ``about`` has the settings that differ.

    Raises
    ------
    TracekitError
        For a folder that is no run, a run without rows, runs without a common policy, and a
        threshold that judges nothing.
    """
    before, after = compared_run(base), compared_run(new)
    common = [name for name in before.rows() if name in after.rows()]
    if not common:
        raise TracekitError(
            f"the runs have no policy in common: {', '.join(before.rows())} against"
            f" {', '.join(after.rows())}",
            hint=SAME_POLICIES,
        )
    for one in fail_if:
        check(one, before, after, common)
    differs = what_differs(before.manifest, after.manifest)
    changes = _changes(before, after, common)
    return Study(
        name=NAME,
        about={
            "base": before.folder.name,
            "new": after.folder.name,
            "policies": common,
            "only_base": [name for name in before.rows() if name not in common],
            "only_new": [name for name in after.rows() if name not in common],
            "other_workload": any(speaks_of_load(str(one["setting"])) for one in differs),
            "settings": differs,
        },
        frames={
            "changes": changes,
            "thresholds": outcomes(fail_if, before, after, changes, common),
            "settings": pl.DataFrame(
                [{name: str(value) for name, value in one.items()} for one in differs],
                schema=SETTINGS_SCHEMA,
            ),
        },
    )


def _changes(before: ComparedRun, after: ComparedRun, common: Sequence[str]) -> pl.DataFrame:
    """The changes of every policy by every measure; all with intervals are one family."""
    one, other = before.rows(), after.rows()
    rows: list[dict[str, Any]] = []
    samples, met = [], []
    for policy in common:
        names = _measures(one[policy], other[policy])
        sample, orders, paired = _sample(before, after, policy, names)
        samples.append(sample)
        met += [0 if policy == OBSERVED else orders] * len(names)
        for name in names:
            values = {"base": one[policy][name], "new": other[policy][name]}
            about = {"policy": policy, "measure": name, "placed_change": 0.0}
            rows.append({**about, **values, "paired": paired})
    answers = [
        (measure := find_measure(row["measure"])) is not None and measure.group == "answer"
        for row in rows
    ]
    looks = max(looks_of(before.manifest), looks_of(after.manifest))
    differences = judge(*samples, first=np.array(answers, dtype=np.bool_), looks=looks)
    placed = _placed(rows, differences, met, after.containers - before.containers)
    rows = [{**row, "placed_change": placed.get(row["policy"], 0.0)} for row in rows]
    changes = [
        {**row, **_change(row, differences, at, orders=met[at])} for at, row in enumerate(rows)
    ]
    return pl.DataFrame(changes, schema=CHANGES_SCHEMA)


def _placed(
    rows: Sequence[Mapping[str, Any]],
    differences: Compared,
    met: Sequence[int],
    more_containers: int,
) -> dict[str, float]:
    """How many more containers the new run placed, by policy; 0 where chance may explain it.

    The number follows from the verdict on ``pending``. A container that waits in one run and does
    not exist in the other does not count.
    """
    placed = {}
    for at, row in enumerate(rows):
        if row["measure"] == PENDING:
            verdict = _change(row, differences, at, orders=met[at])["verdict"]
            more = float(row["base"] - row["new"])
            if more * more_containers < 0:
                most = abs(more)
                more += float(np.clip(more_containers, -most, most))
            placed[row["policy"]] = 0.0 if verdict in AS_MANY else more
    return placed


def _measures(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [
        name for name in compared(one) if one.get(name) is not None and other.get(name) is not None
    ]


def _sample(
    before: ComparedRun, after: ComparedRun, policy: str, names: Sequence[str]
) -> tuple[DifferenceStatistics, int, bool]:
    """A policy's changes, (orders, measures), the number of orders, and whether they are paired."""
    (seeds, base), (others, new) = (run.values(policy, names) for run in (before, after))
    orders = min(len(base), len(new))
    if orders > 1 and policy != OBSERVED:
        same = seeds == others
        return pairwise(apart(new, base)) if same else unpaired(base, new), orders, same
    one, other = (
        np.array([[float(run.rows()[policy][name]) for name in names]]) for run in (before, after)
    )
    return pairwise(apart(other, one)), 1, False


def _change(
    row: Mapping[str, Any], differences: Compared, at: int, *, orders: int
) -> dict[str, Any]:
    """The change with its interval; with too few orders the interval is empty.

    The change of production (``orders`` 0), which is the same in every order, is exact.
    """
    low, mean, high = (
        float(part[at]) for part in (differences.low, differences.mean, differences.high)
    )
    if not orders:
        low = high = mean
    has_interval = not orders or orders >= FEWEST
    return {
        "change": mean,
        "change_low": low if has_interval else None,
        "change_high": high if has_interval else None,
        "orders": max(orders, 1),
        "verdict": _verdict(row, mean, orders, separated=bool(differences.separated[at])),
    }


def _verdict(row: Mapping[str, Any], change: float, orders: int, *, separated: bool) -> str:
    """'better', 'worse', 'same', 'alike', 'within chance', or the reason for no verdict.

    Production (``orders`` 0) is judged by its values alone.
    """
    one = find_measure(row["measure"])
    if change == 0:
        return SAME
    # the true change may be larger than the measured one
    if orders >= FEWEST and not separated:
        return CHANCE
    if one is not None and _alike(one, row["base"], row["new"]):
        return ALIKE
    verdict = "changed" if one is None else _way(one, change, row["placed_change"])
    # missing containers are certain, however few the orders
    return TOO_FEW if 0 < orders < FEWEST and verdict != NOT_COMPARABLE else verdict


def _way(measure: Measure, change: float, placed_change: float) -> str:
    """'better', 'worse', 'changed' where neither end is better, or 'not comparable'."""
    if measure.better is None:
        return "changed"
    better = (change < 0) == (measure.better == "low")
    flattered = placed_change < 0 if better else placed_change > 0
    if flattered and measure.name not in WAITING:
        return NOT_COMPARABLE
    return "better" if better else "worse"


def _alike(measure: Measure, base: float, new: float) -> bool:
    """Whether two values are too close to differ."""
    return abs(new - base) < max(least_apart(measure), _LEAST * abs(base), _LEAST * abs(new))
