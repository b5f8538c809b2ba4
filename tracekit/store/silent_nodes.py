"""Nodes that look otherwise than they are: of which no use is recorded, or one moment alone."""

from collections.abc import Iterator, Sequence

import polars as pl

from tracekit.base.facts import Fact, remark
from tracekit.base.files.places import scan_parquet
from tracekit.base.units import MS_PER_MINUTE
from tracekit.store import never_ran
from tracekit.store.folder import Store
from tracekit.store.manifest import Manifest, SourceEntry
from tracekit.store.views import ids_of

_OWN = ("node_amount", "node_usage")
_RAN = ("container", "container_usage")


def silent(store: Store, nodes: pl.DataFrame) -> pl.DataFrame:
    """The nodes without recorded use of their own, and without a container; none if all are alike.

    A list of kubectl has every pod: there a node without a pod is empty, and is not among them.
    """
    own = without_use(store, nodes)
    if never_ran.says_so(store) or not own.height:
        return own.clear()
    return own.filter(~pl.col("node").is_in(_named(store, _RAN).implode()))


def facts(store: Store, nodes: pl.DataFrame) -> Iterator[Fact]:
    """Facts of the nodes without recorded use: those set aside, and the others."""
    own, aside = without_use(store, nodes).height, silent(store, nodes).height
    if aside:
        yield remark("node_silent", aside, "nodes", kind="doubt", of=nodes.height)
    if own > aside:
        of = nodes.height - aside
        yield remark("node_without_use", own - aside, "nodes", kind="doubt", of=of)


def without_use(store: Store, nodes: pl.DataFrame) -> pl.DataFrame:
    """The nodes that no sample of a node is of, where samples are of others."""
    if not nodes.height:
        return nodes
    used = pl.Series([], dtype=pl.String) if is_moment(store.manifest) else _named(store, _OWN)
    found = nodes.filter(~pl.col("node").is_in(used.implode()))
    return found if found.height < nodes.height else nodes.clear()


def _named(store: Store, tables: tuple[str, ...]) -> pl.Series:
    """The nodes that sources speak of in these tables."""
    files = [file for table in tables for file in store.stated_files(table)]
    keys = [scan_parquet(file).select("node_key").unique().collect()["node_key"] for file in files]
    known = pl.concat([pl.Series([], dtype=pl.Int32), *keys]).unique().drop_nulls()
    return ids_of(store, "node").gather(known)


#: Samples of nodes count where they cover at least this share of the time of the containers'.
_LEAST_SHARE = 0.5
#: So far apart lie the samples of one answer of metrics-server: a scrape's time, twice.
_ONE_ANSWER_MS = 2 * MS_PER_MINUTE


def is_moment(manifest: Manifest) -> bool:
    """Whether samples of nodes cover so little that sums over their containers say more.

    The answer of metrics-server is one moment: beside a day of use of containers it would stand for
    the whole day. Beside use of containers that is one answer, too, it is what it says.
    """
    nodes, containers = _spans_ms(manifest)
    if nodes is None or containers is None or containers <= _ONE_ANSWER_MS:
        return False
    return nodes < _LEAST_SHARE * containers


def moment(manifest: Manifest) -> Iterator[Fact]:
    """A fact if nodes' use is left aside as too short."""
    if is_moment(manifest):
        nodes, containers = _spans_ms(manifest)
        yield remark("moment", nodes, "ms", kind="doubt", containers_ms=containers)


def _spans_ms(manifest: Manifest) -> list[int | None]:
    """How long samples of nodes span, and those of containers."""
    return [_span_ms(manifest.stated(f"{one}_amount")) for one in ("node", "container")]


def _span_ms(entries: Sequence[SourceEntry]) -> int | None:
    """From the first to the last time of some parts; None where they have no rows."""
    firsts = [one.time_min_ms for one in entries if one.time_min_ms is not None]
    lasts = [one.time_max_ms for one in entries if one.time_max_ms is not None]
    return max(lasts) - min(firsts) if firsts and lasts else None
