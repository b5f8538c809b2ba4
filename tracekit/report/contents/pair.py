"""What the page on two policies carries: everything its script needs to set any two side by side.

The page works on data that is in it: measures of all policies, their course over time, and the
nodes and services where placements differ most.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from markupsafe import Markup

from tracekit.replay.measures import Measure, all_measures, is_share
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.report.blocks import script_json
from tracekit.report.data import Data
from tracekit.report.headline import headline
from tracekit.report.measures import present
from tracekit.report.palette import color
from tracekit.report.plot import numbers
from tracekit.report.policies import in_order, label, tested
from tracekit.report.thin import evenly

#: Over time the page opens with it: spikes of rare events tell little at a glance.
_OPENS = "cpu_max_fraction"
_TIMES, _NODES, _SERVICES = 240, 40, 40


def enough(data: Data) -> bool:
    """Whether there are two policies to set side by side."""
    return len(_names(data)) >= 2


def document(data: Data) -> Markup:
    """The data of the page as JSON that may stand in a script element."""
    summary = data.replay("summary")
    names = _names(data)
    rows = {row["policy"]: row for row in summary.iter_rows(named=True)}
    ranked = headline(data)
    measures = sorted(present(summary), key=lambda one: ranked is None or one.name != ranked.name)
    text = script_json(
        {
            "policies": [{"name": name, "label": label(name)} for name in names],
            "first": _first(data, names),
            "bound": _values(rows[BOUND], measures) if BOUND in rows else None,
            "measures": [_measure(one) for one in measures],
            "values": {name: _means(data, name, rows[name], measures) for name in names},
            "differences": _differences(data, names),
            "courses": _courses(),
            "times_h": _times(data),
            "course": {name: _course(data, name) for name in names},
            "nodes": _counts(data, names, "node", _NODES),
            "services": _counts(data, names, "service", _SERVICES),
            "colors": {
                "a": color("policy-1"),
                "b": color("policy-2"),
                "other": color("other"),
                "bound": color("bound"),
                "card": color("card"),
                "ink": color("ink"),
                "grid": color("grid"),
                "line": color("line"),
            },
        }
    )
    return Markup(text)  # noqa: S704 - escaped by script_json


def _names(data: Data) -> list[str]:
    summary = data.replay("summary")
    return [] if summary.is_empty() else [name for name in in_order(summary) if name != BOUND]


def _first(data: Data, names: list[str]) -> list[str]:
    """What the page opens with: production, or the first policy, against the most even one."""
    policies = [name for name in tested(data.replay("summary")) if name != OBSERVED]
    ranked = headline(data)
    rows = data.standings(ranked.name).rows if ranked else ()
    chosen = data.decision.chosen if data.decision else ()
    best = [*chosen, *(name for row in rows for name in row.names if name in policies)]
    one = OBSERVED if OBSERVED in names else policies[0]
    return [one, next((name for name in best if name != one), names[-1])]


def _measure(measure: Measure) -> dict[str, Any]:
    return {
        "column": measure.name,
        "label": measure.title,
        "best": measure.better,
        "meaning": measure.meaning,
        "scale": 100 if measure.share else 1,
        "unit": "%" if measure.share else "",
    }


def _values(row: dict[str, Any], measures: list[Measure]) -> list[Any]:
    return numbers([row.get(one.name) for one in measures])


def _means(data: Data, name: str, row: dict[str, Any], measures: list[Measure]) -> list[Any]:
    """Means over the orders that a policy met, as the other pages have them."""
    found = [data.standings(one.name).row(name) for one in measures]
    return numbers(
        row.get(one.name) if standing is None else standing.mean
        for one, standing in zip(measures, found, strict=True)
    )


def _differences(data: Data, names: list[str]) -> list[list[Any]]:
    """Policy a, policy b, measure, low, high and whether it is beyond chance, where known."""
    frame = data.replay("differences")
    if frame.is_empty():
        return []
    known = frame.filter(pl.col("policy_a").is_in(names) & pl.col("policy_b").is_in(names))
    rows = known.select("policy_a", "policy_b", "measure", "low", "high", "separated").rows()
    return [numbers(row) for row in rows]


def _steps(data: Data, name: str) -> pl.DataFrame:
    steps = data.replay("steps")
    return evenly(steps.filter(pl.col("policy") == name).sort("time_ms"), _TIMES)


def _courses() -> dict[str, str]:
    """Columns of steps.parquet that may be drawn over time, and what their axes say."""
    steps = [one.step for one in all_measures().values() if one.step and one.step.drawn]
    steps.sort(key=lambda step: step.column != _OPENS)
    return {step.column: step.drawn for step in steps}


def _times(data: Data) -> list[Any]:
    names = _names(data)
    return numbers(_steps(data, names[0])["time_ms"] / 3_600_000) if names else []


def _course(data: Data, name: str) -> dict[str, list[Any]]:
    steps = _steps(data, name)
    return {
        column: numbers(steps[column].cast(pl.Float64) * (100 if is_share(column) else 1))
        for column in _courses()
        if column in steps.columns
    }


def _counts(data: Data, names: list[str], by: str, most: int) -> dict[str, Any]:
    """Per node its containers, per service its nodes; those that differ most between policies."""
    placements = data.replay("placements")
    if by not in placements.columns:
        return {"names": [], "all": 0, "counts": {}}
    counted = pl.len() if by == "node" else pl.col("node").n_unique()
    table = (
        placements.filter(pl.col("policy").is_in(names) & pl.col("node").is_not_null())
        .group_by(by, "policy")
        .agg(counted.cast(pl.Int64).alias("count"))
        .pivot("policy", index=by, values="count")
        .fill_null(0)
    )
    there = [name for name in names if name in table.columns]
    spread = pl.max_horizontal(there) - pl.min_horizontal(there)
    chosen = table.sort(spread, by, descending=[True, False]).head(most)
    return {
        "names": [str(one)[:12] for one in chosen[by].to_list()],
        "all": table.height,
        "counts": {name: chosen[name].to_list() for name in there},
    }
