"""What papers claim, beside what came out here: of traces, placement studies and sizing runs."""

import polars as pl

from tracekit.report.cells import Table, table
from tracekit.report.contents import search, sizing
from tracekit.report.data import Data
from tracekit.words import count, number, percent

_TRACE = "analysis/published_claims"


def lead(data: Data) -> str:
    """How many of the claims on the trace hold; empty where none is judged."""
    verdicts = data.result(_TRACE).get_column("verdict", default=pl.Series([], dtype=pl.String))
    if not len(verdicts):
        return ""
    held = int((verdicts == "holds").sum())
    made = " The trace is made up, so this says what was put into it." if data.made_up else ""
    said = f"Of {count(len(verdicts), 'claim')} on the trace {held:,}"
    return f"{said} {'holds' if held == 1 else 'hold'} here.{made}"


def sentences(data: Data) -> list[str]:
    """Each claim of a placement study as a sentence."""
    return search.claimed(data) if search.has_placement(data) else []


def tables(data: Data) -> list[Table]:
    """The claims with their numbers; only those of studies that are there."""
    found = []
    traced = data.result(_TRACE)
    if not traced.is_empty():
        found.append(_traced(traced))
    if search.has_placement(data):
        found += [search.claims(data), search.ranges(data)]
    if data.sizing is not None:
        found.append(sizing.claims_table(data))
    return [one for one in found if one.rows]


def _traced(frame: pl.DataFrame) -> Table:
    """The claims on the trace: shares in percent, ratios as numbers, the verdict first."""
    rows = [
        {
            "claim": row["claim"],
            "verdict": row["verdict"],
            "reported": _said(row["reported"], row["rule"]),
            "here": _said(row["here"], row["rule"]),
            "holds_where": row["rule"],
        }
        for row in frame.to_dicts()
    ]
    schema = dict.fromkeys(("claim", "verdict", "reported", "here", "holds_where"), pl.String)
    caption = "What the study of the trace reports, and what is so here"
    return table(pl.DataFrame(rows, schema=schema), caption)


def _said(value: float | None, rule: str) -> str:
    if value is None:
        return "direction alone"
    return number(value) if rule.startswith("above") else percent(value)
