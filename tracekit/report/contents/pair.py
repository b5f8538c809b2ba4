"""What the page on two policies carries: everything its script needs to set any two side by side.

The page works on data that is in it: measures of all policies, their course over time, and how
many containers each node, and how many nodes each service, has under each of them.
"""

import itertools
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from tracekit.answer.amounts import (
    LEAST,
    standing_text,
    value_text,
)
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import (
    RESOURCES,
    Measure,
    all_measures,
    is_share,
    not_asked_for,
    resources_in,
)
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.report.colours import css
from tracekit.report.contents import beside
from tracekit.report.contents.answer.next_steps import in_turn
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import began, numbers
from tracekit.report.drawing.script import script_json
from tracekit.report.measures import headline, present
from tracekit.report.over_time import FILLING
from tracekit.report.policies import in_order, label, tested
from tracekit.units import MS_PER_HOUR, MS_PER_MINUTE, MS_PER_S, duration
from tracekit.words import short_ids

#: Over time the page opens with it: spikes of rare events tell little at a glance.
_OPENS = "cpu_max_fraction"
#: Stretches of time of which the page carries the lowest and the highest value.
_STRETCHES = 120
#: Nodes, or services, that are drawn of two policies.
_DRAWN = 20
#: Counts that the page carries of all policies; beyond that it carries the nodes that differ most
#: from the two policies that it opens with.
_MOST_COUNTS = 60_000


def enough(data: Data) -> bool:
    """Whether there are two policies to set side by side."""
    return len(_names(data)) >= 2


def document(data: Data) -> Markup:
    """The data of the page as JSON that may stand in a script element."""
    summary = data.replay("summary")
    names = _names(data)
    first = _first(data, names)
    courses = {name: _course(data, name) for name in names}
    rows = {row["policy"]: row for row in summary.iter_rows(named=True)}
    ranked = headline(data)
    measures = sorted(present(summary), key=lambda one: ranked is None or one.name != ranked.name)
    text = script_json(
        {
            "policies": [{"name": name, "label": label(name)} for name in names],
            "first": first,
            "production": OBSERVED,
            "fewest": FEWEST,
            "barred": _barred(data),
            "bound": _values(rows[BOUND], measures) if BOUND in rows else None,
            "measures": [_measure(one) for one in measures],
            "values": {name: _means(data, name, rows[name], measures) for name in names},
            "texts": {name: _texts(data, name, rows[name], measures) for name in names},
            "differences": beside.differences(data, names),
            "courses": _courses(data),
            "times_h": _times(data, names[0]),
            "filling_h": _filling(data, names[0]),
            "stretch": _stretch_told(data, names[0]),
            "least_pp": LEAST,
            "course": courses,
            "drawn": _DRAWN,
            "nodes": _counts(data, names, first, "node"),
            "services": _counts(data, names, first, "service"),
            "colors": {
                "observed": color("observed"),
                "of": css(data),
                "plain": [color("muted"), color("warn")],
                "other": color("other"),
                "bound": color("bound"),
                "card": color("card"),
                "ink": color("ink"),
                "grid": color("grid"),
                "line": color("line"),
                "filling": FILLING,
            },
        }
    )
    return Markup(text)  # noqa: S704 - escaped by script_json


def _barred(data: Data) -> dict[str, str]:
    """Why policies are not to be chosen, of those that are not."""
    told = data.decision.left_out if data.decision else ()
    return {name: one.why for one in told for name in one.names}


def _names(data: Data) -> list[str]:
    summary = data.replay("summary")
    return [] if summary.is_empty() else [name for name in in_order(summary) if name != BOUND]


def _first(data: Data, names: list[str]) -> list[str]:
    """The two policies that the page opens with: production or the first, and that of page one."""
    policies = [name for name in tested(data.replay("summary")) if name != OBSERVED]
    ranked = headline(data)
    rows = data.standings(ranked.name).rows if ranked else ()
    # where nothing is recommended, the policy that the table of page one is of
    ours = (data.decision.subject if data.decision else "") or next(iter(in_turn(data)), "")
    best = [
        *([ours] if ours else []),
        *(name for row in rows for name in row.names if name in policies),
    ]
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


def _texts(data: Data, name: str, row: dict[str, Any], measures: list[Measure]) -> list[str]:
    """The same as they are written, with their intervals, as the other pages write them."""
    found = [(one, data.standings(one.name).row(name)) for one in measures]
    return [
        value_text(one, row.get(one.name)) if standing is None else standing_text(one, standing)
        for one, standing in found
    ]


def _steps(data: Data, name: str) -> pl.DataFrame:
    """The steps of a policy, each in its stretch of time where there are more than are drawn."""
    steps = data.replay("steps").filter(policy=name).sort("time_ms")
    at = pl.int_range(pl.len(), dtype=pl.Int64)
    few = steps.height <= 2 * _STRETCHES
    return steps.with_columns((at if few else at * _STRETCHES // pl.len()).alias("stretch"))


def _courses(data: Data) -> dict[str, str]:
    """Columns of steps.parquet that may be drawn over time, and what their axes say.

    Of every resource that is asked for: CPU, memory, GPU.
    """
    there, idle = data.replay("steps").columns, not_asked_for(data.replay("summary"))
    resources = dict.fromkeys([*RESOURCES, *resources_in(there)])
    every = all_measures(tuple(one for one in resources if one not in idle))
    steps = [one.step for one in every.values() if one.step and one.step.drawn]
    steps = [step for step in steps if step.column in there]
    steps.sort(key=lambda step: step.column != _OPENS)
    return {step.column: step.drawn for step in steps}


def _times(data: Data, name: str) -> list[Any]:
    """When what is drawn was: each step, or the beginning and the middle of each stretch."""
    steps = _steps(data, name)
    since = pl.col("time_ms") - began(steps["time_ms"])
    hours = steps.select("stretch", since / MS_PER_HOUR)
    if hours["stretch"].n_unique() == hours.height:
        return numbers(hours["time_ms"])
    ends = hours.group_by("stretch", maintain_order=True).agg(
        pl.col("time_ms").first().alias("first"),
        pl.col("time_ms").get(pl.len() // 2).alias("middle"),
    )
    return numbers(ends.select(pl.concat_list("first", "middle").explode()).to_series())


def _stretch(data: Data, name: str) -> float:
    """How long a stretch is; 0 where every step is drawn."""
    times = _times(data, name)
    steps = _steps(data, name)
    return (times[2] - times[0]) if steps["stretch"].n_unique() < steps.height else 0.0


def _stretch_told(data: Data, name: str) -> str:
    """The same in words, from an hour on in minutes; empty where every step is drawn."""
    span_ms = _stretch(data, name) * MS_PER_HOUR
    whole = MS_PER_MINUTE if span_ms >= MS_PER_HOUR else MS_PER_S
    return duration(round(span_ms / whole) * whole if span_ms >= whole else span_ms) * bool(span_ms)


def _filling(data: Data, name: str) -> float:
    """Until when containers still arrive, so that averages begin later; 0 where none do."""
    steps = _steps(data, name)
    filling = (steps["time_ms"] - began(steps["time_ms"])).filter(~steps["settled"])
    last = filling.max()
    return 0.0 if last is None else float(last) / MS_PER_HOUR  # type: ignore[arg-type]


def _course(data: Data, name: str) -> dict[str, list[Any]]:
    """Of each stretch of time the lowest and the highest value, in the order in which they came."""
    steps = _steps(data, name)
    columns = list(_courses(data))
    if steps["stretch"].n_unique() < steps.height:
        steps = steps.group_by("stretch", maintain_order=True).agg(map(_ends, columns))
        steps = steps.select(columns).explode(columns)
    return {
        column: numbers(steps[column].cast(pl.Float64) * (100 if is_share(column) else 1))
        for column in columns
    }


def _ends(column: str) -> pl.Expr:
    one = pl.col(column)
    ends = pl.when(one.arg_min() <= one.arg_max())
    ends_in_order = ends.then(pl.concat_list(one.min(), one.max()))
    return ends_in_order.otherwise(pl.concat_list(one.max(), one.min())).alias(column)


def _counts(data: Data, names: list[str], first: list[str], by: str) -> dict[str, Any]:
    """Per node its containers, per service its nodes, under each policy.

    The page carries all of them where it can. Else it carries those that differ most between any
    policy and one of the two in ``first``, so that drawings of such a pair are right. For other
    pairs the page says how many it knows.
    """
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
        .sort(by)
    )
    there = [name for name in names if name in table.columns]
    chosen = table
    if table.height * len(there) > _MOST_COUNTS:
        chosen = table[_that_differ(table, there, [name for name in first if name in there])]
    return {
        "names": short_ids([str(one) for one in chosen[by].to_list()]),
        "all": table.height,
        "counts": {name: chosen[name].to_list() for name in there},
    }


def _that_differ(table: pl.DataFrame, names: list[str], first: list[str]) -> list[int]:
    """Rows in which any policy differs most from one of the first; equal ones in their order."""
    found: set[int] = set()
    for one, other in itertools.product(first, names):
        apart = (table[other] - table[one]).abs().to_numpy()
        order = np.argsort(-apart, kind="stable")
        found.update(order[:_DRAWN].tolist())
    return sorted(found)
