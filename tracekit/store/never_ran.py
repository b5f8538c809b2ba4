"""Pods that never had a node: what they ask for is load that the cluster did not carry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import polars as pl

from tracekit.base.facts import Fact, remark
from tracekit.base.files.places import scan_parquet
from tracekit.base.units import EPOCH_FROM_MS, MS_PER_S
from tracekit.store.broken_rows import place_in
from tracekit.store.folder import Store, rejects_path
from tracekit.store.manifest import UNKNOWN_NAME, SourceEntry
from tracekit.store.stored_rows import LISTS, listed_ids
from tracekit.store.tables.objects import GATES
from tracekit.store.views import read

#: The source whose lists say of every pod whether it has a node.
_SAYS_SO = "kubernetes"


def says_so(store: Store) -> bool:
    """Whether a store's source says of every container whether it has a node."""
    return any(entry.release == _SAYS_SO for entry in store.manifest.parts("container"))


def waits() -> pl.Expr:
    """True for rows of ``container`` without a node that did not leave."""
    return pl.col("node").is_null() & pl.col("departure_ms").is_null()


def gated() -> pl.Expr:
    """True for those of them that no scheduler may give a node yet."""
    return waits() & pl.col("not_held").fill_null("").str.split(", ").list.contains(GATES)


def never_ran(store: Store) -> pl.DataFrame:
    """Containers without a node in all rows, a row each; none if no file says so."""
    rows = read(store, "container").sort("time_ms", "position", maintain_order=True)
    lasting = rows.unique("container", keep="last", maintain_order=True)
    return lasting.filter(waits() & says_so(store))


def facts(store: Store) -> Iterator[Fact]:
    """A fact of the containers that never had a node, if there are any."""
    rows = never_ran(store)
    if rows.height:
        yield waiting_fact("never_ran", rows, read(store, "container_resource"))


def waiting_fact(because: str, rows: pl.DataFrame, resources: pl.DataFrame) -> Fact:
    """A doubt of containers without a node: the service of most of them, and what they request.

    Parameters
    ----------
    because : str
        What becomes of them: the key of a template.
    rows, resources : DataFrame
        Rows of ``container``, at least one, and of ``container_resource``.
    """
    requests = resources.sort("time_ms", maintain_order=True).unique(
        ["container", "resource"], keep="first", maintain_order=True
    )
    requests = requests.join(rows, on="container", how="semi").filter(pl.col("request") > 0)
    totals = {
        (resource, unit): amount
        for resource, unit, amount in requests.group_by("resource", "unit")
        .agg(pl.col("request").sum())
        .rows()
    }
    further = [
        f"{amount:g} {resource}" if unit == "count" else f"{amount:g} {unit} of {resource}"
        for (resource, unit), amount in sorted(totals.items())
        if resource not in ("cpu", "memory")
    ]
    services = rows.with_columns(service=pl.coalesce("service", "container"))
    most = services.group_by("service", maintain_order=True).agg(
        pl.len().alias("pods"), pl.col("time_ms").min()
    )
    first = most.sort("pods", descending=True, maintain_order=True).row(0, named=True)
    since = None
    if first["time_ms"] >= EPOCH_FROM_MS:
        since = f"{datetime.fromtimestamp(first['time_ms'] / MS_PER_S, UTC):%Y-%m-%d %H:%M} UTC"
    return remark(
        because,
        rows.height,
        "pods",
        kind="doubt",
        service=first["service"],
        of_service=first["pods"],
        since=since,
        requested_cores=totals.get(("cpu", "cores")),
        requested_bytes=totals.get(("memory", "bytes")),
        requested_further=", ".join(further) or None,
    )


# Rejects of earlier ingests that name nodes or containers which the store has come to know.

#: What a reason shows of a name, which may be cut off there.
_SHOWN = 60
_NAMED = r"^is '(.*?)', (?:which no file|expected a (?:node|container) of )"


def now_listed(store: Store, before: Sequence[SourceEntry]) -> Iterator[Fact]:
    """A fact of the rejects of these entries that name what a later file lists; none for none."""
    strange = [
        one for one in before if any(defect.defect == UNKNOWN_NAME for defect in one.defects)
    ]
    if not strange:
        return
    paths = [store.path / rejects_path(one.table, one.part) for one in strange]
    rows = scan_parquet(*paths).with_columns(pl.col("reason").str.extract(_NAMED).alias("name"))
    count, first = 0, None
    for entity in LISTS:
        known = listed_ids(store, entity)
        if known is None:
            continue
        names = pl.LazyFrame({"name": known.str.slice(0, _SHOWN).unique()})
        mine = rows.filter(pl.col("column") == entity).join(names, on="name", how="semi")
        found = mine.select(
            pl.len(),
            pl.struct("source_file", "line", "name").sort_by("source_file", "line").first(),
        ).collect()
        some, row = found.row(0)
        count += some
        first = first or (some and f"{entity} '{row['name']}' in {_place(row)}")
    if count:
        yield remark("rejects_listed_later", count, "rows", kind="doubt", example=first or None)


def _place(row: dict[str, object]) -> str:
    file = str(row["source_file"])
    return f"{file} ({place_in(file, int(str(row['line'])))})"
