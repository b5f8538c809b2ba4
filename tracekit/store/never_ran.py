"""Facts on containers that never had a node, and on nodes without recorded use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import polars as pl

from tracekit.base.facts import Fact, remark
from tracekit.base.files.places import scan_parquet
from tracekit.base.units import EPOCH_FROM_MS, MS_PER_MINUTE, MS_PER_S
from tracekit.store.broken_rows import place_in
from tracekit.store.folder import UNKNOWN_NAME, Manifest, SourceEntry, Store, rejects_path
from tracekit.store.stored_rows import LISTS, listed_ids
from tracekit.store.tables import GATES
from tracekit.store.views import ids_of, read

#: The source whose lists say of every pod whether it has a node.
_SAYS_SO = "kubernetes"


def lists_every_pod(store: Store) -> bool:
    """Return whether a Kubernetes list in the store states of every container if it has a node."""
    return any(entry.release == _SAYS_SO for entry in store.manifest.parts("container"))


def waits() -> pl.Expr:
    """Return an expression for rows of ``container`` without a node and without a departure."""
    return pl.col("node").is_null() & pl.col("departure_ms").is_null()


def gated() -> pl.Expr:
    """Return an expression for rows of ``container`` that wait at a scheduling gate."""
    return waits() & pl.col("not_held").fill_null("").str.split(", ").list.contains(GATES)


def never_ran(store: Store) -> pl.DataFrame:
    """Return the last row of each container that has neither a node nor a departure in it.

    The frame is empty if no file records whether containers have nodes.
    """
    rows = read(store, "container").sort("time_ms", "position", maintain_order=True)
    lasting = rows.unique("container", keep="last", maintain_order=True)
    return lasting.filter(waits() & lists_every_pod(store))


def facts(store: Store) -> Iterator[Fact]:
    """Yield a fact on the containers that never had a node, if there are any."""
    rows = never_ran(store)
    if rows.height:
        yield waiting_fact("never_ran", rows, read(store, "container_resource"))


def waiting_fact(because: str, rows: pl.DataFrame, resources: pl.DataFrame) -> Fact:
    """Return a fact on containers without a node: the service of most of them, and their requests.

    Parameters
    ----------
    because : str
        The key of a template, which states what happens to these containers.
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

#: The length to which the reason of a reject shortens a name.
_SHOWN = 60
_NAMED = r"^is '(.*?)', (?:which no file|expected a (?:node|container) of )"


def now_listed(store: Store, before: Sequence[SourceEntry]) -> Iterator[Fact]:
    """Yield a fact on rows rejected for an unlisted node or container that is listed by now."""
    strange = [
        one for one in before if any(defect.defect == UNKNOWN_NAME for defect in one.defects)
    ]
    if not strange:
        return
    paths = [store.path / rejects_path(one.table, one.part) for one in strange]
    rows = scan_parquet(*paths).with_columns(pl.col("reason").str.extract(_NAMED).alias("name"))
    count, first = 0, None
    for entity in LISTS:
        listed = listed_ids(store, entity)
        if listed is None:
            continue
        names = pl.LazyFrame({"name": listed.str.slice(0, _SHOWN).unique()})
        mine = rows.filter(pl.col("column") == entity).join(names, on="name", how="semi")
        counted = mine.select(
            pl.len(),
            pl.struct("source_file", "line", "name").sort_by("source_file", "line").first(),
        ).collect()
        some, row = counted.row(0)
        count += some
        first = first or (some and f"{entity} '{row['name']}' in {_place(row)}")
    if count:
        yield remark("rejects_listed_later", count, "rows", kind="doubt", example=first or None)


def _place(row: dict[str, object]) -> str:
    file = str(row["source_file"])
    return f"{file} ({place_in(file, int(str(row['line'])))})"


_OWN = ("node_amount", "node_usage")
_RAN = ("container", "container_usage")


def silent(store: Store, nodes: pl.DataFrame) -> pl.DataFrame:
    """Return nodes without recorded use and without containers, if other nodes have use.

    kubectl lists every pod, so there a node without a pod is empty, and no node is returned.
    """
    own = without_use(store, nodes)
    if lists_every_pod(store) or not own.height:
        return own.clear()
    return own.filter(~pl.col("node").is_in(_named(store, _RAN).implode()))


def silent_facts(store: Store, nodes: pl.DataFrame) -> Iterator[Fact]:
    """Yield facts on the ignored nodes that ``silent`` returns, and on other nodes without use."""
    own, aside = without_use(store, nodes).height, silent(store, nodes).height
    if aside:
        yield remark("node_silent", aside, "nodes", kind="doubt", of=nodes.height)
    if own > aside:
        of = nodes.height - aside
        yield remark("node_without_use", own - aside, "nodes", kind="doubt", of=of)


def without_use(store: Store, nodes: pl.DataFrame) -> pl.DataFrame:
    """Return the nodes without samples of their own, if other nodes have samples."""
    if not nodes.height:
        return nodes
    used = pl.Series([], dtype=pl.String) if is_moment(store.manifest) else _named(store, _OWN)
    unused = nodes.filter(~pl.col("node").is_in(used.implode()))
    return unused if unused.height < nodes.height else nodes.clear()


def _named(store: Store, tables: tuple[str, ...]) -> pl.Series:
    """The nodes that sources name in these tables."""
    files = [file for table in tables for file in store.stated_files(table)]
    keys = [scan_parquet(file).select("node_key").unique().collect()["node_key"] for file in files]
    distinct = pl.concat([pl.Series([], dtype=pl.Int32), *keys]).unique().drop_nulls()
    return ids_of(store, "node").gather(distinct)


#: Samples of nodes count where they cover at least this share of the time of containers' samples.
_LEAST_SHARE = 0.5
#: The largest distance of samples in one answer of metrics-server: two scrape intervals.
_ONE_ANSWER_MS = 2 * MS_PER_MINUTE


def is_moment(manifest: Manifest) -> bool:
    """Return whether samples of nodes span less than half the time of samples of containers.

    Then they are ignored, and sums over containers count as the use of nodes: one answer of
    metrics-server would stand for a whole day of containers' use. The result is False if the
    samples of containers span at most two minutes, or if either has none.
    """
    nodes, containers = _spans_ms(manifest)
    if nodes is None or containers is None or containers <= _ONE_ANSWER_MS:
        return False
    return nodes < _LEAST_SHARE * containers


def moment(manifest: Manifest) -> Iterator[Fact]:
    """Yield a fact if samples of nodes are ignored because they span too little time."""
    if is_moment(manifest):
        nodes, containers = _spans_ms(manifest)
        yield remark("moment", nodes, "ms", kind="doubt", containers_ms=containers)


def _spans_ms(manifest: Manifest) -> list[int | None]:
    """The time spans of the samples of nodes and of containers."""
    return [_span_ms(manifest.stated(f"{one}_amount")) for one in ("node", "container")]


def _span_ms(entries: Sequence[SourceEntry]) -> int | None:
    """The time from the first to the last row of some parts; None where they have no rows."""
    firsts = [one.time_min_ms for one in entries if one.time_min_ms is not None]
    lasts = [one.time_max_ms for one in entries if one.time_max_ms is not None]
    return max(lasts) - min(firsts) if firsts and lasts else None
