"""The SQL of a figure of a run whose numbers are means over orders of arrival, with intervals.

It runs in the plain ``duckdb`` command line, in the run's folder, and gives what the figure shows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.answer.intervals import ceiling, together
from tracekit.replay.chance.student import DECIMALS, DUST, FEWEST, errors_of
from tracekit.replay.measures import NODES
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import BOUND
from tracekit.report.data import Data

#: What these statements read.
RUN = "replay/repeats, replay/summary"
#: A policy is at its summary where it met one order alone.
_ONCE, _AGAIN = "summary.parquet", "repeats.parquet"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A measure that a figure shows.

    Parameters
    ----------
    measure : str
    mean, low, high : str
        What the figure's columns of it are called.
    divided_by : float
        What a value is divided by.
    """

    measure: str
    mean: str
    low: str
    high: str
    divided_by: float = 1.0


def beside_nodes(data: Data, other: Shown) -> list[tuple[str, str]]:
    """The statement of a figure of nodes in use and another measure; none where one is unknown."""
    known = data.results.measures if data.results else {}
    if not {NODES, other.measure} <= known.keys():
        return []
    nodes = Shown(measure=NODES, mean="nodes", low="nodes_low", high="nodes_high")
    return [(RUN, means_sql(data, [nodes, other]))]


def means_sql(data: Data, shown: Sequence[Shown]) -> str:
    """A row for each policy: the means of measures, with the interval of each; empty for no run.

    Policies that placed alike have a row each, with the same numbers.
    """
    found = data.results
    if found is None:
        return ""
    spread = [part for one in shown for part in _spread(one)]
    columns = [part for one in shown for part in _columns(found, one)]
    orders = ["policy", "count(*) AS orders", *_errors(found)]
    return (
        f"-- in the run folder: cd {data.paths.run} && duckdb\n"
        f"{_told(found)}WITH met AS (\n{_met(found, shown)}\n),\n\n"
        f"spread AS (\n    SELECT\n{_listed([*orders, *spread], 8)}\n    FROM met\n"
        f"    GROUP BY policy\n)\n\n"
        f"SELECT\n{_listed(['policy', *columns, 'orders'], 4)}\nFROM spread\n"
        f"ORDER BY {shown[0].mean}, policy;\n"
    )


def _listed(columns: Sequence[str], spaces: int) -> str:
    """Columns, one a line."""
    return ",\n".join(f"{' ' * spaces}{one}" for one in columns)


def _met(found: Results, shown: Sequence[Shown]) -> str:
    """The values in each order that a policy met."""
    values = [
        f"{one.measure}{f' / {one.divided_by!r}' if one.divided_by != 1 else ''} AS {one.mean}"
        for one in shown
    ]
    names = ", ".join(["policy", *values])
    once = f"    SELECT {names}\n    FROM read_parquet('{_ONCE}')\n    WHERE policy <> '{BOUND}'"
    if found.repeats is None:
        return once
    again = f"read_parquet('{_AGAIN}')"
    return (
        f"    SELECT {names}\n    FROM {again}\n    UNION ALL\n{once}\n"
        f"        AND policy NOT IN (SELECT again.policy FROM {again} AS again)"
    )


def _told(found: Results) -> str:
    """How wide the intervals are, a comment; empty where no policy has one."""
    if found.most_orders < FEWEST:
        return ""
    return (
        f"-- 95 % intervals of {together(found)} means together (Student's t), none of fewer than"
        f" {FEWEST} orders of arrival\n"
    )


def _spread(one: Shown) -> list[str]:
    """The mean of a measure, how far its values lie apart, and what no interval gets below."""
    name = one.mean
    apart = f"max({name}) - min({name}) > {DUST} * max(abs({name}))"
    return [
        f"avg({name}) AS {name}",
        f"CASE WHEN {apart} THEN stddev_samp({name}) ELSE 0 END AS {name}_spread",
        f"least(min({name}), 0) AS {name}_least",
    ]


def _columns(found: Results, one: Shown) -> list[str]:
    """A mean and the ends of its interval."""
    name = one.mean
    mean = f"round({name}, {DECIMALS}) AS {name}"
    if not _errors(found):
        return [mean, f"NULL AS {one.low}", f"NULL AS {one.high}"]
    low = f"greatest({name} - errors * {name}_spread, {name}_least)"
    high, most = f"{name} + errors * {name}_spread", ceiling(found, one.measure) / one.divided_by
    high = f"least({high}, {most!r})" if math.isfinite(most) else high
    several = f"CASE WHEN orders >= {FEWEST} THEN"
    return [mean, f"{several} {low} END AS {one.low}", f"{several} {high} END AS {one.high}"]


def _errors(found: Results) -> list[str]:
    """How many standard deviations an interval reaches, by how many orders a policy met."""
    orders = {found.orders(policy) for policy in found.policies}
    when = [
        f"WHEN {many} THEN {errors_of(many, together(found))!r}"
        for many in sorted(orders)
        if many >= FEWEST
    ]
    return [f"CASE count(*) {' '.join(when)} END / sqrt(count(*)) AS errors"] if when else []
