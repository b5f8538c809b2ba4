"""Where the data of a store come from, and what programs a report carries."""

from __future__ import annotations

from importlib import metadata

import polars as pl

from tracekit.report.cells import Table, table
from tracekit.report.data import Data
from tracekit.sources import all_sources


def releases(data: Data) -> Table:
    """One row per source: files, rows, licence, what it lacks."""
    known = all_sources()
    entries = (data.info or {"sources": []})["sources"]
    rows = []
    for name in sorted({entry["release"] for entry in entries}):
        own = [entry for entry in entries if entry["release"] == name]
        source = known.get(name)
        rows.append(
            {
                "source": source.title if source else name,
                "files": len({entry["file"] for entry in own}),
                "rows": sum(entry["rows"] for entry in own),
                "licence": getattr(source, "licence", "") or "\u2013",
                "does_not_hold": ", ".join(getattr(source, "lacks", ())) or "\u2013",
                "where": getattr(source, "url", "") or "\u2013",
            }
        )
    schema = {
        "source": pl.String,
        "files": pl.Int64,
        "rows": pl.Int64,
        "licence": pl.String,
        "does_not_hold": pl.String,
        "where": pl.String,
    }
    return table(pl.DataFrame(rows, schema=schema), "Sources of the store")


def programs() -> Table:
    """The libraries that draw figures and tables, with their licences."""
    used = {"plotly": "plotly.js: figures", "itables": "DataTables: tables"}
    rows = [
        {
            "library": what,
            "comes_in": f"{name} {metadata.version(name)}",
            "licence": _licence(name),
        }
        for name, what in used.items()
    ]
    return table(pl.DataFrame(rows), "Libraries that lie in this page")


def _licence(name: str) -> str:
    about = metadata.metadata(name).json
    text = str(about.get("license_expression") or about.get("license") or "")
    return text.splitlines()[0] if text else "\u2013"
