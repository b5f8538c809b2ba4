"""The ways to place as points: nodes in use, overload, and what each is to a reader."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import polars as pl

from tracekit.answer.advice import sentence
from tracekit.answer.overload import most_overload, node_steps
from tracekit.answer.preferred import USUAL
from tracekit.answer.standings import Standing, Standings, difference
from tracekit.replay.chance.material import too_near
from tracekit.replay.measures import NODES, OVERLOAD, find_measure
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.report.measures import named
from tracekit.report.policies import label
from tracekit.words import agreeing, few

FRONT, BEATEN, PRODUCTION, CHOSEN, RIVAL, FEWEST, CALMEST = (
    "beaten by none",
    "beaten by another",
    "production",
    "the policy of the first page",
    "least overload with fewer nodes",
    "fewest nodes",
    "least overload",
)
#: How sure it is that a way to place uses fewer nodes than the chosen one.
SURE, CHANCE, FEW_ORDERS = "beyond chance", "maybe chance", "too few orders"
#: A title names these.
TITLED = (CHOSEN, RIVAL, FEWEST, CALMEST)
_SCHEMA = {
    "policy": pl.String,
    "same": pl.Int64,
    "nodes": pl.Float64,
    "nodes_low": pl.Float64,
    "nodes_high": pl.Float64,
    "overload_share": pl.Float64,
    "overload_low": pl.Float64,
    "overload_high": pl.Float64,
    "of_nodes": pl.Int64,
    "allowed_share": pl.Float64,
    "kind": pl.String,
    "fewer": pl.String,
    "also": pl.Boolean,
    "missing": pl.String,
}


def _measured(data: Data) -> bool:
    known = data.results.measures if data.results else {}
    return data.run is not None and {NODES, OVERLOAD} <= known.keys()


def why_none(data: Data) -> str:
    """Why there is no point, where both measures are known; else empty."""
    if not _measured(data):
        return ""
    carry = sum(not row.waited for row in data.standings(NODES).rows)
    ways = "Only one way to place carries" if carry else "No way to place carries"
    return f"{ways} the whole load: there is no trade-off to show."


def points(data: Data) -> pl.DataFrame:
    """A row for each way to place that left nobody waiting.

    Without rows if a measure lacks, or if there is but one: nothing is given up for anything.
    """
    if data.run is None or not _measured(data):
        return pl.DataFrame(schema=_SCHEMA)
    load = data.run["workload"]
    used, over = data.standings(NODES), data.standings(OVERLOAD)
    samples = max(node_steps(load), 1.0)
    usual = over.row(OBSERVED)
    allowed = most_overload(usual.mean if usual else None, samples) / samples
    rows: list[dict[str, Any]] = []
    for row in used.rows:
        other = over.row(row.names[0])
        if other is not None and not row.waited:
            rows.append(
                {
                    **in_use(row),
                    "overload_share": other.mean / samples,
                    "overload_low": None if other.low is None else other.low / samples,
                    "overload_high": None if other.high is None else other.high / samples,
                    "of_nodes": load["nodes"],
                    "allowed_share": allowed,
                }
            )
    if len(rows) < 2:
        rows = []
    also, missing = _also(data), _missing(used)
    ours = _recommended(data)
    fewer = _fewer(data, rows, ours)
    kinds = _kinds(rows, ours, fewer.keys())
    told = [
        {
            **one,
            "kind": kind,
            "fewer": fewer.get(one["policy"], ""),
            "also": one["policy"] in also,
            "missing": missing,
        }
        for one, kind in zip(rows, kinds, strict=True)
    ]
    return pl.DataFrame(told, schema=_SCHEMA)


def in_use(row: Standing) -> dict[str, Any]:
    """A way to place as a mark: its policy, how many others place alike, and its nodes in use."""
    return {
        "policy": row.names[0],
        "same": len(row.names) - 1,
        "nodes": row.mean,
        "nodes_low": row.low,
        "nodes_high": row.high,
    }


def name_of(mark: Mapping[str, Any]) -> str:
    """What stands beside a mark: its policy, and how many others place alike."""
    name = label(mark["policy"])
    return f"{name} +{mark['same']}" if mark["same"] else name


def _recommended(data: Data) -> tuple[str, ...]:
    """The policy that the first page recommends, or that comes nearest; empty for none."""
    return named(data) if data.decision is not None and data.decision.subject else ()


def _also(data: Data) -> set[str]:
    """Policies that the first page sets beside its own, and what clusters run already."""
    if data.decision is None or data.results is None:
        return set()
    said = f"{sentence(data.results, data.decision)} {USUAL}"
    words = set(re.findall(r"[\w-]+", said))
    return {name for name in data.results.policies if name in words and name != OBSERVED}


def _missing(used: Standings) -> str:
    """Which policies are no point of the figure, and why; empty where all are."""
    names = [name for row in used.rows if row.waited for name in row.names if name != OBSERVED]
    of = sum(name != OBSERVED for row in used.rows for name in row.names)
    if not names:
        return ""
    left = agreeing(len(names), f"of {of:,} policies [is|are] not drawn, as [it|they]")
    return f"{left} left containers waiting, and so carried less: {few(names)}."


def _fewer(data: Data, rows: list[dict[str, Any]], chosen: tuple[str, ...]) -> dict[str, str]:
    """The policies that use fewer nodes than the chosen one, and how sure that is.

    A title speaks of what is drawn, so every mark to the left counts, unless the difference is too
    small to count.
    """
    ours = next((one for one in rows if one["policy"] in chosen), None)
    measure = find_measure(NODES)
    if data.results is None or measure is None or ours is None:
        return {}
    sure = {}
    for one in rows:
        few, name = one["nodes"] < ours["nodes"], one["policy"]
        if few and name != OBSERVED and not too_near(measure, [one["nodes"], ours["nodes"]]):
            by = difference(data.results, name, ours["policy"], NODES)
            met = by is not None and by.low is not None
            sure[name] = FEW_ORDERS if not met else SURE if by and by.apart else CHANCE
    return sure


def _kinds(
    rows: list[dict[str, Any]], chosen: tuple[str, ...], fewer: AbstractSet[str]
) -> list[str]:
    points = [(row["nodes"], row["overload_share"]) for row in rows]
    marked = _marked(rows, chosen, fewer)
    kinds = []
    for row, (x, y) in zip(rows, points, strict=True):
        beaten = any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
        if row["policy"] == OBSERVED:
            kinds.append(PRODUCTION)
        elif row["policy"] in marked:
            kinds.append(marked[row["policy"]])
        else:
            kinds.append(BEATEN if beaten else FRONT)
    return kinds


def _marked(
    rows: list[dict[str, Any]], chosen: tuple[str, ...], fewer: AbstractSet[str]
) -> dict[str, str]:
    """What the policies are that the title names: the chosen one and its rival, or both ends."""
    ours = next((row for row in rows if row["policy"] in chosen), None)
    if ours is not None:
        rival = _rival(rows, fewer)
        # where nobody overloads, to overload least is nothing
        kind = RIVAL if any(row["overload_share"] for row in rows) else FEWEST
        return {ours["policy"]: CHOSEN} | ({rival["policy"]: kind} if rival else {})
    policies = [row for row in rows if row["policy"] != OBSERVED]
    if not policies:
        return {}
    calm = min(policies, key=lambda row: (row["overload_share"], row["nodes"]))
    least = min(policies, key=lambda row: (row["nodes"], row["overload_share"]))
    return {calm["policy"]: CALMEST, least["policy"]: FEWEST}


def _rival(rows: list[dict[str, Any]], fewer: AbstractSet[str]) -> dict[str, Any] | None:
    """Of those that use fewer nodes than the chosen one, the one that overloads least."""
    known = [row for row in rows if row["policy"] in fewer]
    return min(known, key=lambda row: (row["overload_share"], row["nodes"]), default=None)
