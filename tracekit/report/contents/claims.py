"""What papers claim, beside what came out here: of traces, placement studies and sizing runs."""

from __future__ import annotations

from tracekit.report.cells import Table, table
from tracekit.report.contents import search, sizing
from tracekit.report.data import Data

_TRACE = "analysis/published_claims"


def sentences(data: Data) -> list[str]:
    """Each claim of a placement study as a sentence."""
    return search.claimed(data) if search.has_placement(data) else []


def tables(data: Data) -> list[Table]:
    """The claims with their numbers; only those of studies that are there."""
    found = []
    traced = data.result(_TRACE)
    if not traced.is_empty():
        found.append(table(traced, "What the study of the trace reports, and what is so here"))
    if search.has_placement(data):
        found += [search.claims(data), search.ranges(data)]
    if data.sizing is not None:
        found.append(sizing.claims_table(data))
    return [one for one in found if one.rows]
