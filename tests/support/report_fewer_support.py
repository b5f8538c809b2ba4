"""A run of three policies, and a study of one of them on fewer nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import polars as pl
from report_memory_support import LOAD
from report_studies_support import fewest

from tracekit.report.contents.first_screen import Answer
from tracekit.report.data import Data
from tracekit.study import Study

#: By policy: highest memory use, nodes used, what they cost, overloaded node-steps.
COMES_TO = {
    "observed": (0.62, 6.0, 12.0, 0.0),
    "lra": (0.40, 9.0, 18.0, 0.0),
    "best_fit": (0.70, 4.0, 8.0, 0.0),
}
NAMES = ("memory_max_fraction", "nodes_used_mean", "cost_per_hour", "overloaded_node_steps")


def rows_of(policy: str, values: tuple[float, ...]) -> list[dict[str, Any]]:
    """Six orders of arrival; production is one placement, whatever the order."""
    moved = [0.0 if policy == "observed" else 0.001 * (at % 3) for at in range(6)]
    return [
        {
            "policy": policy,
            "repeat": at,
            "pending": 0.0,
            "pending_container_steps": 0.0,
            **{name: value * (1 + moved[at]) for name, value in zip(NAMES, values, strict=True)},
        }
        for at in range(6)
    ]


def studied(policy: str, nodes: int, of: dict[str, float], **about: Any) -> Study:
    """A study of one policy on fewer of ten nodes, in six orders."""
    made = fewest()
    row = made.frames["policies"].head(1)
    row = row.with_columns(
        policy=pl.lit(policy), nodes=nodes, nodes_low=nodes, nodes_high=nodes, bound=3
    ).with_columns(
        **{
            name: pl.lit(value)
            for name, value in of.items()
            if name in {*row.columns, "overloaded_node_steps"}
        }
    )
    sizes = pl.DataFrame(
        [{"policy": policy, "repeat": at, "nodes": nodes, **of, "holds": True} for at in range(6)]
    )
    nodes_ = made.frames["nodes"].with_columns(policy=pl.lit(policy), kept=pl.col("place") <= nodes)
    orders = pl.DataFrame({"policy": policy, "repeat": range(6), "nodes": nodes})
    given = {"policies": [policy], "scale": 1, "repeats": 6, "workload": LOAD, "subject": policy}
    return dataclasses.replace(
        made,
        about={**made.about, "limits_given": False, **given, **about},
        frames={"policies": row, "sizes": sizes, "nodes": nodes_, "orders": orders},
    )


def ran(
    comes_to: Mapping[str, tuple[float, ...]] = COMES_TO,
    own: Study | None = None,
    others: tuple[tuple[str, Study], ...] = (),
) -> Data:
    rows = [row for name, values in comes_to.items() for row in rows_of(name, values)]
    repeats = pl.DataFrame(rows)
    run = {
        "workload": LOAD,
        "repeats": 6,
        "repeats_cover": ["order of arrival"],
        "policies": [{"policy": name, "name": name, "parameters": {}} for name in comes_to],
    }
    return Data(
        run=run,
        run_frames={"summary": repeats.filter(repeat=0).drop("repeat"), "repeats": repeats},
        studies={} if own is None else {own.name: own},
        other_studies=others,
    )


def plain(found: Answer) -> tuple[str, ...]:
    return tuple(
        text.replace("\u00a0", " ") for text in (found.lead, found.also, *found.told, found.fewer)
    )


ON_FOUR = {
    "memory_max_fraction": 0.6,
    "nodes_used_mean": 4.0,
    "cost_per_hour": 9.0,
    "overloaded_node_steps": 0.0,
}


#: Production is as dear as the policy that is better: no trade, and the policy is recommended.
BETTER = {"observed": (0.62, 9.0, 18.0, 0.0), "lra": (0.40, 9.0, 18.0, 0.0)}
#: All overload nodes; lra in the fewest steps.
FULL = {
    "observed": (1.6, 6.0, 12.0, 30.0),
    "lra": (1.4, 6.0, 12.0, 9.0),
    "best_fit": (1.7, 4.0, 8.0, 29.0),
}
