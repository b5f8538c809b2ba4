"""What the method page lists: parameters of the queries, metrics and their sources."""

import polars as pl

from tracekit.metrics import all_metrics
from tracekit.report.cells import Column, Table, cell, table
from tracekit.report.data import Data
from tracekit.sqlfiles import SqlFile, all_queries


def parameters(data: Data) -> Table:
    """Every parameter of the queries that the report asks, with its default."""
    rows = [
        {
            "query": query.name,
            "parameter": p.name,
            "value": p.default or "\u2013",
            "meaning": p.description,
        }
        for query in _asked(data)
        for p in query.params
    ]
    schema = dict.fromkeys(("query", "parameter", "value", "meaning"), pl.String)
    return table(pl.DataFrame(rows, schema=schema), "Parameters of the queries")


def _asked(data: Data) -> list[SqlFile]:
    subjects = ("quality/", "usage/") if data.has_store else ()
    return [query for name, query in all_queries().items() if name.startswith(subjects)]


def metrics() -> Table:
    """Every metric with its unit and the source of its formula."""
    columns = [
        Column(name=n, label=n.capitalize(), kind="text") for n in ("metric", "unit", "source")
    ]
    rows = [
        [cell(text, col) for text, col in zip((m.title, m.unit, m.source), columns, strict=True)]
        for m in all_metrics().values()
    ]
    return Table(caption="Metrics and where their formulas come from", columns=columns, rows=rows)
