"""Facts on contradictions in a store's tables, for ``ingest``, ``info``, ``check`` and replays."""

import functools
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

import polars as pl

from tracekit.base.facts import Fact, Scalar, remark
from tracekit.store import never_ran
from tracekit.store.broken_rows import (
    PARTIAL_DEFECT,
    UNREADABLE_DEFECT,
    WATCH_DEFECT,
)
from tracekit.store.folder import SourceEntry, Store
from tracekit.store.node_states import (
    absences,
    begins_ms,
    cordoned,
    first_rows,
    gone_for_good,
    nodes_of,
    repriced,
    resized,
    retainted,
    unready,
    without_size,
)
from tracekit.store.quantities import absent_use
from tracekit.store.stored_rows import LISTS
from tracekit.store.tables import PREFERRED
from tracekit.store.views import read

#: The source of kubectl's lists; its scheduler never exceeds the capacity of a node.
_KUBERNETES = "kubernetes"
#: Resources for which a replay assumes an amount where a node states none.
_ASSUMED = {"cpu": "node_cpu_cores", "memory": "node_memory_bytes"}
#: The rounding error of sums of binary fractions.
_ROUNDING = 1e-6
#: The defect of use of nodes that is a sum over containers, some of them without recorded use.
SUM_OF_SOME = "sum_of_some"
#: The defect of use of containers where some listed containers have no recorded use.
WITHOUT_USE = "containers_without_use"
#: The defect of samples with CPU and without memory, or with memory and without CPU.
ONE_OF_TWO = "one_of_two_silent"
#: The defect of samples that contradict an earlier file, whose values count.
OTHERWISE = "other_sample_in_two_files"
#: The kind of facts on containers that never had a node; a replay has such facts too.
NEVER_RAN = "never_ran"
_DEFECTS = frozenset({SUM_OF_SOME, WITHOUT_USE, ONE_OF_TWO, OTHERWISE, NEVER_RAN})
_MS = "time_ms"


def doubts(store: Store, *, counted: frozenset[str] = frozenset()) -> tuple[Fact, ...]:
    """Return facts on data of a store that is ignored, left out or impossible.

    Parameters
    ----------
    counted : frozenset of str
        Defects, and ``NEVER_RAN``, that are left out because the caller states them itself.
    """
    return tuple(_doubts(store, _DEFECTS - counted))


_doubt = functools.partial(remark, kind="doubt")


def _doubt_of(because: str, names: pl.Series, unit: str, **about: Scalar) -> Fact:
    """A fact on some nodes or containers."""
    made = _doubt(because, names.len(), unit, names=names.to_list())
    return replace(made, about={**made.about, **about})


def base_sizes(store: Store) -> tuple[tuple[str, float, float], ...]:
    """Return (name, cores, memory bytes) of each node.

    An amount is 0 if the node states none, or only one in another unit.
    """
    if not any(entry.rows for entry in store.manifest.parts("node_resource")):
        return ()
    _, capacity = nodes_of(read(store, "node"), read(store, "node_resource"))
    whole = capacity.filter(pl.col("cell").is_null())

    def stated(resource: str, unit: str) -> pl.Expr:
        ours = (pl.col("resource") == resource) & (pl.col("unit") == unit)
        return pl.col("amount").filter(ours).max().fill_null(0.0).alias(resource)

    sizes = whole.group_by("node", maintain_order=True).agg(
        stated("cpu", "cores"), stated("memory", "bytes")
    )
    return tuple(sizes.rows())


def _doubts(store: Store, defects: AbstractSet[str]) -> Iterator[Fact]:
    lacks = ", ".join(absent_use(store)) if store.manifest.refused else ""
    for name, reason in store.manifest.refused.items():
        yield _doubt(
            "refused", file=name, reason=reason.removeprefix(f"{name}: "), lacks=lacks or None
        )
    for entry in store.manifest.sources:
        for one in entry.defects:
            if one.defect in defects:
                yield _doubt(one.defect, one.rows, "rows", file=entry.file, example=one.example)
    yield from never_ran.moment(store.manifest)
    if NEVER_RAN in defects:
        yield from never_ran.facts(store)
    yield from _unlisted(store)
    yield from _on_unlisted_nodes(store)
    if not any(entry.rows for entry in store.manifest.parts("node_resource")):
        if any(entry.rows for entry in store.manifest.parts("node")):
            yield _doubt("no_node_sizes")
        return
    nodes, capacity = nodes_of(read(store, "node"), read(store, "node_resource"), begins_ms(store))
    yield from _without_size(nodes, capacity)
    yield from never_ran.silent_facts(store, nodes)
    yield from _changes(store, nodes)
    yield from _left_out(store)
    yield from _preferences(store)
    if any(entry.release == _KUBERNETES for entry in store.manifest.parts("container")):
        yield from _beyond(store, capacity)


def _without_size(nodes: pl.DataFrame, capacity: pl.DataFrame) -> Iterator[Fact]:
    """Facts on nodes with a price only, and on nodes without a usable size."""
    bare = without_size(nodes, capacity)
    silent = pl.all_horizontal(pl.col("state", "labels", "taints").is_null())
    priced = (
        nodes.join(capacity, on="node", how="anti")
        .filter(silent & pl.col("price_per_hour").is_not_null())["node"]
        .sort()
    )
    if priced.len():
        yield _doubt_of("priced_alone", priced, "nodes")
        bare = bare.filter(~pl.col("node").is_in(priced.implode()))
    if bare.height:
        lacked = sorted({one for some in bare["resource"] for one in some.split(" or ")})
        yield _doubt_of("without_size", bare["node"].sort(), "nodes", lacks=", ".join(lacked))
    stated = set(capacity.filter(pl.col("amount") > 0)["resource"])
    for name, assumption in _ASSUMED.items():
        if stated and name not in stated:
            yield _doubt("resource_of_no_node", resource=name, assumption=assumption)


def _unlisted(store: Store) -> Iterator[Fact]:
    """A fact on recorded use of nodes or pods where kubectl listed neither."""
    ours = [one for one in store.manifest.sources if one.release == _KUBERNETES and one.rows]
    tables = {one.table for one in ours}
    if tables & {"container_amount", "node_amount"} and not tables & {"node", "container"}:
        yield _doubt("use_without_lists")


def _on_unlisted_nodes(store: Store) -> Iterator[Fact]:
    """A fact on containers whose node no file lists; none where no file lists any node."""
    nodes = pl.concat([read(store, table)["node"] for table in LISTS["node"]]).unique()
    if not nodes.len():
        return
    placed = read(store, "container").drop_nulls("node").select("container", "node")
    elsewhere = placed.filter(~pl.col("node").is_in(nodes.implode())).sort("container", "node")
    if elsewhere.height:
        names = elsewhere["container"].unique(maintain_order=True)
        yield _doubt_of("on_unlisted_nodes", names, "containers", node=elsewhere["node"][0])


def _changes(store: Store, nodes: pl.DataFrame) -> Iterator[Fact]:
    """Facts on changes of nodes that a replay simplifies or ignores."""
    states, sizes, begin = read(store, "node"), read(store, "node_resource"), begins_ms(store)

    def ours(rows: pl.DataFrame) -> pl.Series:
        return rows.join(nodes, on="node", how="semi")["node"].unique().sort()

    def listed(names: Iterable[str]) -> pl.Series:
        return pl.Series([*names], dtype=pl.String)

    closed, ends_closed = nodes.filter(state="closed"), cordoned(states)
    start, end = unready(nodes), unready(states)
    for because, names in (
        ("node_gone", ours(gone_for_good(states))),
        ("node_away", ours(absences(states))),
        ("node_resized", listed(resized(sizes, begin))),
        ("node_repriced", listed(repriced(states, begin))),
        ("node_cordoned", _both(ends_closed, closed)),
        ("node_cordoned_later", _first_alone(ends_closed, closed)),
        ("node_opened_later", _first_alone(closed, ends_closed)),
        ("node_retainted", listed(retainted(nodes, states))),
        ("node_not_ready", _both(end, start)),
        ("node_ready_later", _first_alone(start, end)),
        ("node_not_ready_later", _first_alone(end, start)),
    ):
        if names.len():
            yield _doubt_of(because, names, "nodes")


def _both(one: pl.DataFrame, other: pl.DataFrame) -> pl.Series:
    return one.join(other, on="node", how="semi")["node"].sort()


def _first_alone(one: pl.DataFrame, other: pl.DataFrame) -> pl.Series:
    return one.join(other, on="node", how="anti")["node"].sort()


def _left_out(store: Store) -> Iterator[Fact]:
    """Facts on objects of kubectl and samples that were left out because they broke a rule."""
    for table in ("node", "container"):
        entries = [one for one in store.manifest.parts(table) if one.release == _KUBERNETES]
        unread, ended = (_rows(entries, one) for one in (UNREADABLE_DEFECT, WATCH_DEFECT))
        for because, many in (
            ("objects_left_out", sum(one.rejected for one in entries) - unread - ended),
            ("objects_cut_off", unread),
            ("watch_errors", ended),
        ):
            if many:
                yield _doubt(because, many, "rows", table=table)
    used = [one for one in store.manifest.parts("container_amount") if one.release == _KUBERNETES]
    if warned := _rows(used, PARTIAL_DEFECT):
        yield _doubt("partial_answers", warned, "rows", table="container_amount")


def _rows(entries: Iterable[SourceEntry], defect: str) -> int:
    return sum(one.rows for entry in entries for one in entry.defects if one.defect == defect)


def _preferences(store: Store) -> Iterator[Fact]:
    """A fact on preferences of containers, which no policy takes into account."""
    parts = read(store, "container").select("container", pl.col("not_held").str.split(", "))
    wishes = parts.explode("not_held").filter(pl.col("not_held").str.starts_with(PREFERRED))
    count = wishes["container"].n_unique()
    if count:
        rules = wishes["not_held"].unique().str.strip_prefix(f"{PREFERRED} ").sort()
        yield _doubt("preferences_not_held", count, "containers", rules=", ".join(rules))


def _beyond(store: Store, capacity: pl.DataFrame) -> Iterator[Fact]:
    """Facts on pods and nodes whose requests exceed the capacity of the node."""
    have = capacity.filter(pl.col("cell").is_null() & (pl.col("amount") > 0)).select(
        "node", "resource", "unit", "amount"
    )
    requests = first_rows(read(store, "container_resource"), "container", "resource")
    lives = read(store, "container").drop_nulls("node")
    requests = requests.select("container", "resource", "unit", "request").join(
        lives.select("container", "node", _MS, "departure_ms"), on="container"
    )
    requests = requests.filter(pl.col("request") > 0).join(have, on=["node", "resource", "unit"])
    large = requests.filter(pl.col("request") > pl.col("amount") * (1 + _ROUNDING))
    if large.height:
        one = large.row(0, named=True)
        yield _doubt_of(
            "request_beyond_node",
            large["container"].unique(maintain_order=True),
            "pods",
            request=one["request"],
            amount=one["amount"],
            resource=one["resource"],
            resource_unit=one["unit"],
        )
    keys = ["node", "resource"]
    arriving = requests.select(*keys, _MS, "amount", by="request")
    leaving = requests.drop_nulls("departure_ms").select(
        *keys, pl.col("departure_ms").cast(pl.Int64).alias(_MS), "amount", by=-pl.col("request")
    )
    events = pl.concat([arriving, leaving]).sort(*keys, _MS, "by")
    taken = events.with_columns(pl.col("by").cum_sum().over(keys).alias("taken"))
    over = (
        taken.group_by(keys)
        .agg((pl.col("taken") / pl.col("amount")).max().alias("share"))
        .filter(pl.col("share") > 1 + _ROUNDING)
        .sort("share", "node", descending=[True, False])
    )
    if over.height:
        one = over.row(0, named=True)
        yield _doubt_of(
            "requests_beyond_nodes",
            over["node"].unique(maintain_order=True),
            "nodes",
            most_fraction=one["share"],
            resource=one["resource"],
            node=one["node"],
        )
