"""Contradictions in a store's tables, as sentences that every verb on it prints.

``ingest``, ``info``, ``check``, a replay and its report all say the same, from here.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import polars as pl

from tracekit.store import left_out, never_ran, silent_nodes
from tracekit.store.folder import Store
from tracekit.store.node_doubts import are, changes_of_nodes, named, without_any_size
from tracekit.store.node_states import (
    begins_ms,
    first_rows,
    nodes_of,
    without_size,
)
from tracekit.store.quantities import absent_use
from tracekit.store.views import read
from tracekit.tables.container import PREFERRED

#: The source whose own scheduler lets no node take more than it has.
_NEVER_OVER = "kubernetes"
#: Sums of binary fractions may be off by so much.
_ROUNDING = 1e-6
#: The defect of node use that is a sum over containers of which some have no recorded use.
SUM_OF_SOME = "sum_of_some"
#: The defect of containers' use where some containers are listed and have none.
WITHOUT_USE = "containers_without_use"
#: The defect of amounts of CPU without memory at the time, or the other way round.
ONE_OF_TWO = "one_of_two_silent"
#: The defect of samples that an earlier file states otherwise; that one's count.
OTHERWISE = "other_sample_in_two_files"
#: What is told of those who never had a node; a replay says of them what becomes of them, too.
NEVER_RAN = "never_ran"
_TOLD = frozenset({SUM_OF_SOME, WITHOUT_USE, ONE_OF_TWO, OTHERWISE, NEVER_RAN})
_MS = "time_ms"


def doubts(store: Store, *, counted: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Sentences on what is set aside, left out or impossible; none where all is well.

    Parameters
    ----------
    counted : frozenset of str
        Defects, and ``NEVER_RAN``, that whoever asks counts and tells of by itself.
    """
    return tuple(_found(store, _TOLD - counted))


def base_sizes(store: Store) -> tuple[tuple[str, float, float], ...]:
    """Each node that is stored with its cores and bytes; 0 where they are not stated in these."""
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


def _found(store: Store, defects: AbstractSet[str]) -> Iterator[str]:
    yield from _refused(store)
    for entry in store.manifest.sources:
        yield from (one.example for one in entry.defects if one.defect in defects)
    if aside := silent_nodes.moment_told(store.manifest):
        yield aside
    if NEVER_RAN in defects and (waited := never_ran.told(store)):
        yield waited
    yield from _unlisted(store)
    if not any(entry.rows for entry in store.manifest.parts("node_resource")):
        yield from without_any_size(store)
        return
    nodes, capacity = nodes_of(read(store, "node"), read(store, "node_resource"), begins_ms(store))
    bare = without_size(nodes, capacity)
    priced = _priced_alone(nodes.join(capacity, on="node", how="anti"))
    if priced.len():
        yield (
            f"of {named(priced, 'node')} a price is all that is known, nothing is placed there: is"
            " the name right?"
        )
        bare = bare.filter(~pl.col("node").is_in(priced.implode()))
    if bare.height:
        lacked = sorted({one for some in bare["resource"] for one in some.split(" or ")})
        yield (
            f"{are(bare['node'].sort(), 'node')} set aside, nothing is placed there: the source"
            f" states no {' or '.join(lacked)} that can be used"
        )
    if silence := silent_nodes.told(store, nodes):
        yield silence
    yield from changes_of_nodes(store, nodes, capacity)
    yield from left_out.told(store)
    yield from _preferences(store)
    if any(entry.release == _NEVER_OVER for entry in store.manifest.parts("container")):
        yield from _beyond(store, capacity)


def _priced_alone(nodes: pl.DataFrame) -> pl.Series:
    """Those of these nodes of which a price is stated and neither state, nor labels, nor taints."""
    silent = pl.all_horizontal(pl.col("state", "labels", "taints").is_null())
    return nodes.filter(silent & pl.col("price_per_hour").is_not_null())["node"].sort()


def _refused(store: Store) -> Iterator[str]:
    """Files that ingest refused while it took others in."""
    lacks = ", ".join(absent_use(store)) if store.manifest.refused else ""
    for name, reason in store.manifest.refused.items():
        yield (
            f"{name} was refused, and nothing of it is in the store"
            f"{f', which lacks {lacks}' if lacks else ''}: {reason.removeprefix(f'{name}: ')}"
        )


def _unlisted(store: Store) -> Iterator[str]:
    """Use of a cluster of one's own whose nodes or pods no file lists."""
    ours = [one for one in store.manifest.sources if one.release == _NEVER_OVER and one.rows]
    there = {one.table for one in ours}
    if there & {"container_amount", "node_amount"} and not there & {"node", "container"}:
        yield (
            "use is recorded, but neither nodes nor pods: nothing can be replayed or sized; add"
            " them to the folder and ingest it again: kubectl get nodes,pods -A -o json >"
            " FOLDER/kubernetes.json"
        )


def _preferences(store: Store) -> Iterator[str]:
    """Preferences of containers that no policy weighs."""
    parts = read(store, "container").select("container", pl.col("not_held").str.split(", "))
    wishes = parts.explode("not_held").filter(pl.col("not_held").str.starts_with(PREFERRED))
    count = wishes["container"].n_unique()
    if count:
        kinds = wishes["not_held"].unique().str.strip_prefix(f"{PREFERRED} ").sort()
        yield (
            f"{count:,} container{'s have' if count > 1 else ' has'} preferences that are not kept"
            f" ({', '.join(kinds)}): no policy weighs them, default_scheduler neither"
        )


def _beyond(store: Store, capacity: pl.DataFrame) -> Iterator[str]:
    """Nodes where pods run that ask together for more than there is."""
    have = capacity.filter(pl.col("cell").is_null() & (pl.col("amount") > 0)).select(
        "node", "resource", "unit", "amount"
    )
    asked = first_rows(read(store, "container_resource"), "container", "resource")
    lives = read(store, "container").drop_nulls("node")
    asked = asked.select("container", "resource", "unit", "request").join(
        lives.select("container", "node", _MS, "departure_ms"), on="container"
    )
    asked = asked.filter(pl.col("request") > 0).join(have, on=["node", "resource", "unit"])
    large = asked.filter(pl.col("request") > pl.col("amount") * (1 + _ROUNDING))
    if large.height:
        one = large.row(0, named=True)
        count = large["container"].n_unique()
        yield (
            f"{count:,} pod{'s ask' if count > 1 else ' asks'} for more than the node has that"
            f" {'they run' if count > 1 else 'it runs'} on, such as {one['container']}:"
            f" {one['request']:,.12g} of {one['amount']:,.12g} {one['unit']} of {one['resource']}"
        )
    keys = ["node", "resource"]
    comes = asked.select(*keys, _MS, "amount", by="request")
    goes = asked.drop_nulls("departure_ms").select(
        *keys, pl.col("departure_ms").cast(pl.Int64).alias(_MS), "amount", by=-pl.col("request")
    )
    events = pl.concat([comes, goes]).sort(*keys, _MS, "by")
    taken = events.with_columns(pl.col("by").cum_sum().over(keys).alias("taken"))
    over = (
        taken.group_by(keys)
        .agg((pl.col("taken") / pl.col("amount")).max().alias("share"))
        .filter(pl.col("share") > 1 + _ROUNDING)
        .sort("share", "node", descending=[True, False])
    )
    if over.height:
        one = over.row(0, named=True)
        yield (
            f"{named(over['node'].unique(maintain_order=True), 'node')} held pods that ask for"
            f" more than there is: up to {one['share']:.0%} of the {one['resource']} of"
            f" {one['node']}; are some of them gone, or is a size wrong?"
        )
