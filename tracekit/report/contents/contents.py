"""What the page templates show beside figures: titles, tables and lists made from the data.

Every other file of the folder is a part of it, by its name: ``contents.vary``.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from tracekit import registry
from tracekit.replay.runs.run import OBSERVED
from tracekit.report import contents as package
from tracekit.report import measures
from tracekit.report.cells import Table, table
from tracekit.report.contents import analysis, sizing
from tracekit.report.data import Data
from tracekit.report.pages import GROUPS, Page
from tracekit.report.studies import made_otherwise
from tracekit.report.zones import Zone, all_zones
from tracekit.sources import all_sources
from tracekit.units import MS_PER_MINUTE, covered_ms, duration, of_two_beginnings
from tracekit.words import count, counted, spaced

#: The release of tables that somebody wrote by hand, or that come with a made-up trace.
_OWN = "folder"
_ENTITIES = ("nodes", "containers", "services", "traces", "interfaces")

#: Which resource is scarcest.
binding = measures.binding

if not TYPE_CHECKING:  # a type checker that saw this would take any name for a part

    def __getattr__(name: str) -> object:
        if name not in registry.module_names(package):
            raise AttributeError(f"contents has no part '{name}'")
        return importlib.import_module(f"{package.__name__}.{name}")


def grouped(sections: Sequence[tuple[Page, object]]) -> list[tuple[str, list[Page]]]:
    """The pages of a report by the parts of its contents."""
    pages = [page for page, _ in sections]
    found = [(words, [one for one in pages if one.group == name]) for name, words in GROUPS.items()]
    return [(words, some) for words, some in found if some]


def title(data: Data) -> str:
    """What the report is about, without a path; made-up data are called so."""
    return f"{_title(data)} (made-up trace)" if data.made_up else _title(data)


def _title(data: Data) -> str:
    if data.run is not None:
        load = data.run["workload"]
        return f"Replay of {load['name']}"
    named = _releases(data)
    if data.sizing is not None:
        return f"Container sizing on {named or data.sizing.manifest['set']['name']}"
    studied = [name.replace("_", " ").capitalize() for name in data.studies]
    alone = " and ".join(studied) if not data.has_store else ""
    return named or alone or "Empty store"


def _releases(data: Data) -> str:
    """What the store was made of; tables of one's own only where there is nothing else."""
    found = {source["release"] for source in (data.info or {"sources": []})["sources"]}
    releases = sorted(found - {_OWN} or found)
    known = all_sources()
    names = [known[name].title.partition(":")[0] if name in known else name for name in releases]
    return " and ".join(names)


def otherwise(data: Data, study: str) -> str:
    """That a study assumed what the run that is shown does not; a sentence, or empty."""
    if study not in data.studies or data.run is None:
        return ""
    return spaced(made_otherwise(data.studies[study], data.run["workload"]))


def facts(data: Data) -> list[tuple[str, str]]:
    """The numbers under the title: what, how much, over how long."""
    if data.run is not None:
        return _run_facts(data.run)
    if data.sizing is not None and not data.has_store:
        return sizing.headline(data.sizing)
    if data.info is None:
        return []
    tables = data.info["tables"]
    most = {name: max((t.get(name, 0) for t in tables.values()), default=0) for name in _ENTITIES}
    shown = [(f"{most[name]:,}", name) for name in _ENTITIES[:4] if most[name]]
    rows = sum(described["rows"] for described in tables.values())
    return [*shown, (f"{rows:,}", "rows"), *_length(data)]


def _run_facts(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    load = run["workload"]
    span = covered_ms(load["time_min_ms"], load["time_max_ms"], load["step_ms"])
    policies = sum(one["policy"] != OBSERVED for one in run["policies"])
    return [
        (f"{policies:,}", "policy" if policies == 1 else "policies"),
        *(
            (f"{load[noun]:,}", noun if load[noun] != 1 else noun.removesuffix("s"))
            for noun in ("nodes", "containers")
        ),
        (duration(span), f"of replay, in {counted(load['steps'], 'step')}"),
    ]


def _spans(data: Data) -> dict[str, tuple[int, int]]:
    """First and last time of each table, without stray times, which are far from all others.

    None of a table of two beginnings: rows of no time say what was there from the beginning.
    """
    tables = (data.info or {"tables": {}})["tables"]
    spans = {name: (t["time_min_ms"], t["time_max_ms"]) for name, t in tables.items()}
    grid = data.query("quality/time_grid")
    if not grid.is_empty():
        spans |= {
            name: (first, last)
            for name, first, last in grid.select("table", "time_min_ms", "time_max_ms").iter_rows()
        }
    return {
        name: (first, last)
        for name, (first, last) in spans.items()
        if first is not None and last is not None and not of_two_beginnings(first, last)
    }


def _length(data: Data) -> list[tuple[str, str]]:
    spans = _spans(data).values()
    span_ms = max((last for _, last in spans), default=0) - min((a for a, _ in spans), default=0)
    minutes = round(span_ms / MS_PER_MINUTE)
    return [(duration(minutes * MS_PER_MINUTE), "of trace")] if minutes else []


def requests_alone(data: Data) -> bool:
    """Whether no use of nodes is recorded, but what they have and what is requested of it."""
    used = not data.query("usage/node_profile").is_empty()
    return not used and not data.query("usage/requested_capacity").is_empty()


def ingested(data: Data) -> Table:
    """One row per base table of the store."""
    tables = (data.info or {"tables": {}})["tables"]
    spans = _spans(data)
    rows = [
        {
            "table": name,
            "rows": t["rows"],
            "rejected": t["rejected"],
            "duplicates_dropped": t["duplicates_dropped"],
            # of one moment there is no span
            "span_ms": (spans[name][1] - spans[name][0] or None) if name in spans else None,
            "step_ms": t.get("step_ms"),
            "about": ", ".join(
                count(t[plural], plural.removesuffix("s")) for plural in _ENTITIES if plural in t
            ),
        }
        for name, t in tables.items()
    ]
    schema = {
        "table": pl.String,
        "rows": pl.Int64,
        "rejected": pl.Int64,
        "duplicates_dropped": pl.Int64,
        "span_ms": pl.Int64,
        "step_ms": pl.Int64,
        "about": pl.String,
    }
    return table(pl.DataFrame(rows, schema=schema), "Tables of the store")


def source_files(data: Data) -> Table:
    """One row per source file: where the rows came from, and the checksum to know it by."""
    rows = [
        {
            "file": source["file"],
            "table": source["table"],
            "release": source["release"],
            "size_bytes": source["size_bytes"],
            "rows": source["rows"],
            "sha256": str(source["sha256"])[:16],
        }
        for source in (data.info or {"sources": []})["sources"]
    ]
    schema = {
        "file": pl.String,
        "table": pl.String,
        "release": pl.String,
        "size_bytes": pl.Int64,
        "rows": pl.Int64,
        "sha256": pl.String,
    }
    return table(pl.DataFrame(rows, schema=schema), "Source files (sha256: first 16 digits)")


def ledger(data: Data, most: int | None = None) -> Table:
    """The data-quality ledger, most rows first; the first ``most`` entries of it."""
    frame = data.query("quality/ledger")
    if frame.is_empty():
        return Table(caption="Data quality", columns=[], rows=[])
    ordered = frame.sort(
        ["rows", "table", "defect", "column", "example"],
        descending=[True, False, False, False, False],
    ).with_columns(pl.col("defect").str.replace_all("_", " "))
    shown = ["table", "defect", "column", "rows", "share", "action", "example"]
    caption = "Defects met, most rows first"
    if most is not None:
        caption = f"The {most} most frequent of {frame.height} defects met"
        ordered = ordered.head(most)
    return table(ordered, caption, query="quality/ledger", only=shown)


def availability_zones(data: Data) -> Table:
    """Nodes by where they stand; without rows where that is not known."""
    name = "usage/availability_zones"
    return table(data.query(name), "Nodes by availability zone", query=name)


def zones() -> list[Zone]:
    """The zones with their meanings."""
    return list(all_zones().values())


def zone_table(data: Data) -> Table:
    """The zone summary in the order of the zones, with intervals where they are known."""
    known = analysis.confidence(data, "zone_summary_confidence")
    if known.rows:
        return known
    frame = data.query("usage/zone_summary")
    if frame.is_empty():
        return Table(caption="Correlation zones", columns=[], rows=[])
    order = {name: at for at, name in enumerate(all_zones())}
    rank = pl.col("zone").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    return table(
        frame.sort(rank, "zone"), "Nodes of each correlation zone", query="usage/zone_summary"
    )
