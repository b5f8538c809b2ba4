"""The ways to place as points: nodes in use, overload, and what each is to a reader."""

from typing import Any

import polars as pl

from tracekit.replay.answer.decision import NODES
from tracekit.replay.answer.overload import OVERLOAD, most_overload
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.report.measures import named

FRONT, BEATEN, PRODUCTION, CHOSEN, RIVAL = (
    "beaten by none",
    "beaten on both",
    "production",
    "named on the first page",
    "least overload with fewer nodes",
)
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
}


def points(data: Data) -> pl.DataFrame:
    """A row for each way to place that left nobody waiting.

    Without rows if a measure lacks, or if there is but one: nothing is given up for anything.
    """
    known = data.results.measures if data.results else {}
    if data.run is None or not {NODES, OVERLOAD} <= known.keys():
        return pl.DataFrame(schema=_SCHEMA)
    load = data.run["workload"]
    used, over = data.standings(NODES), data.standings(OVERLOAD)
    samples = load["nodes"] * max(_settled(data), 1)
    usual = over.row(OBSERVED)
    allowed = most_overload(usual.mean if usual else None, samples) / samples
    rows: list[dict[str, Any]] = []
    for row in used.rows:
        other = over.row(row.names[0])
        if other is not None and not row.waited:
            rows.append(
                {
                    "policy": row.names[0],
                    "same": len(row.names) - 1,
                    "nodes": row.mean,
                    "nodes_low": row.low,
                    "nodes_high": row.high,
                    "overload_share": other.mean / samples,
                    "overload_low": None if other.low is None else other.low / samples,
                    "overload_high": None if other.high is None else other.high / samples,
                    "of_nodes": load["nodes"],
                    "allowed_share": allowed,
                }
            )
    if len(rows) < 2:
        rows = []
    kinds = _kinds(rows, named(data))
    frame = pl.DataFrame(rows, schema={k: v for k, v in _SCHEMA.items() if k != "kind"})
    return frame.with_columns(pl.Series("kind", kinds, dtype=pl.String))


def _settled(data: Data) -> int:
    """Steps over which overload was counted."""
    steps = data.replay("steps")
    if "settled" not in steps.columns:
        return int((data.run or {})["workload"]["steps"])
    counted = steps.filter(pl.col("settled"))
    return int(counted["time_ms"].n_unique()) or int((data.run or {})["workload"]["steps"])


def _kinds(rows: list[dict[str, Any]], chosen: tuple[str, ...]) -> list[str]:
    points = [(row["nodes"], row["overload_share"]) for row in rows]
    ours = next((row for row in rows if row["policy"] in chosen), None)
    rival = None if ours is None else _rival(rows, ours)
    kinds = []
    for row, (x, y) in zip(rows, points, strict=True):
        beaten = any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
        if row["policy"] == OBSERVED:
            kinds.append(PRODUCTION)
        elif row["policy"] in chosen:
            kinds.append(CHOSEN)
        elif row is rival:
            kinds.append(RIVAL)
        else:
            kinds.append(BEATEN if beaten else FRONT)
    return kinds


def _rival(rows: list[dict[str, Any]], chosen: dict[str, Any]) -> dict[str, Any] | None:
    """Of those that use fewer nodes than the chosen one, the one that overloads least."""
    fewer = [
        row
        for row in rows
        if row["policy"] not in (OBSERVED, chosen["policy"])
        and row["nodes"] < chosen["nodes"] - 0.5
    ]
    return min(fewer, key=lambda row: (row["overload_share"], row["nodes"]), default=None)
