"""What the method page lists: parameters of the queries, metrics and their sources."""

import polars as pl

from tracekit.metrics import all_metrics
from tracekit.replay.policy.own_files import FILES, by_name
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


def own_files(data: Data) -> Table:
    """The files of one's own policies in the run, with the digest of what they said then."""
    found: dict[tuple[str, str], list[str]] = {}
    for policy in (data.run or {}).get("policies", ()):
        for one in policy.get(FILES, ()):
            name = next(iter(by_name([one])))
            file = data.paths.files.get(name, one["path"])
            found.setdefault((file, one["sha256"]), []).append(policy["policy"])
    rows = [
        {"file": file, "policy": ", ".join(names), "sha256": digest}
        for (file, digest), names in found.items()
    ]
    schema = dict.fromkeys(("file", "policy", "sha256"), pl.String)
    return table(pl.DataFrame(rows, schema=schema), "Policies of your own")


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
