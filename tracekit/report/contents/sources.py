"""Where the data of a store come from, and what programs a report carries."""

from importlib import metadata
from pathlib import Path

import polars as pl

from tracekit.replay.workload.loaders import all_loaders, spelled
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
                "source": _called(source.title if source else name, made_up=data.made_up),
                "files": len({entry["file"] for entry in own}),
                "rows": sum(entry["rows"] for entry in own),
                "licence": _of_release(data, source, "licence"),
                "does_not_hold": ", ".join(getattr(source, "lacks", ())) or "\u2013",
                "where": _of_release(data, source, "url"),
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


def _called(title: str, *, made_up: bool) -> str:
    """A source by its title; a made-up trace has the form of one and nothing of its rows."""
    if not made_up:
        return title
    return f"Made up by tracekit synth, in the form of: {title.partition(':')[0]}"


def _of_release(data: Data, source: object, what: str) -> str:
    """The licence or the address of a release; a made-up trace has none of them."""
    return ("" if data.made_up else getattr(source, what, "")) or "\u2013"


def made_up(data: Data) -> str:
    """That nobody recorded the rows, where that is so; else empty."""
    if not data.made_up:
        return ""
    return (
        "This trace is made up: tracekit synth wrote the files that were taken in. They have the"
        " form of a published trace, and no row of it."
    )


def workload(data: Data) -> Table | None:
    """Where a workload comes from that is no store's; None where a store was replayed."""
    name, settings, path = spelled(str((data.run or {}).get("workload", {}).get("loader", "")))
    kind = all_loaders().get(name)
    if kind is None:
        return None
    row = {
        "workload": kind.title,
        "where": kind.source,
        "licence": kind.licence or "\u2013",
        "files": f"{kind.files}, from the folder {Path(path).name}" if path else "none: made up",
        "settings": ", ".join(f"{key}={value}" for key, value in settings.items()) or "\u2013",
    }
    return table(pl.DataFrame([row]), "What was replayed")


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
