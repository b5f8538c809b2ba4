"""What is told of nodes that change, or of which no size is known, a sentence each."""

from collections.abc import Iterator

import polars as pl

from tracekit.store.folder import Store
from tracekit.store.node_states import (
    absences,
    begins_ms,
    cordoned,
    gone_for_good,
    repriced,
    resized,
    retainted,
    unready,
)
from tracekit.store.views import read
from tracekit.words import and_more

#: What a replay assumes of nodes that state none of it.
_ASSUMED = {"cpu": "node_cpu_cores", "memory": "node_memory_bytes"}
#: So many are named, the others are counted.
_NAMED = 5


def changes_of_nodes(store: Store, nodes: pl.DataFrame, capacity: pl.DataFrame) -> Iterator[str]:
    """What a replay has to assume, and what it does not follow.

    Parameters
    ----------
    nodes, capacity : DataFrame
        As ``nodes_of`` gives them.
    """
    yield from _of_no_node(capacity)
    yield from _gone_later(store, nodes)
    yield from _not_always_alike(store, nodes)
    yield from _cordoned(store, nodes)
    if other := retainted(nodes, read(store, "node")):
        yield (
            f"{named(pl.Series(other), 'node')} got or lost taints within the recorded time: a"
            " replay has those of when use began, all the time"
        )
    yield from _unready(store, nodes)


def without_any_size(store: Store) -> Iterator[str]:
    """That nodes are listed of which no size is stated."""
    if any(entry.rows for entry in store.manifest.parts("node")):
        every = " ".join(f"--assume {name}=..." for name in _ASSUMED.values())
        yield (
            "the source states no size of any node: a replay gives every node as much as it"
            f" assumes; say how much: {every}"
        )


def _of_no_node(capacity: pl.DataFrame) -> Iterator[str]:
    """Resources that no node states, although it states others."""
    stated = set(capacity.filter(pl.col("amount") > 0)["resource"])
    for name, assumption in _ASSUMED.items():
        if stated and name not in stated:
            yield (
                f"the source states no {name} that can be used of any node: a replay gives every"
                f" node as much as it assumes; say how much: --assume {assumption}=..."
            )


def _gone_later(store: Store, nodes: pl.DataFrame) -> Iterator[str]:
    """Nodes that are there at the start and gone at the end."""
    gone = gone_for_good(read(store, "node")).join(nodes, on="node", how="semi").sort("node")
    if gone.height:
        yield (
            f"{named(gone['node'], 'node')} left within the recorded time and did not come back;"
            " a replay places nothing there from then on"
        )


def _not_always_alike(store: Store, nodes: pl.DataFrame) -> Iterator[str]:
    """Nodes that are away for a while, and those whose sizes or prices change."""
    away = absences(read(store, "node")).join(nodes, on="node", how="semi")["node"].unique().sort()
    if away.len():
        was, they = ("was", "it is") if away.len() == 1 else ("were", "they are")
        yield (
            f"{named(away, 'node')} {was} away for a while within the recorded time; a replay"
            f" places nothing there while {they} away, and what runs there then waits for a node"
        )
    other = pl.Series(resized(read(store, "node_resource"), begins_ms(store)), dtype=pl.String)
    if other.len():
        it, has = ("it", "has") if other.len() == 1 else ("them", "have")
        they = "it" if other.len() == 1 else "they"
        yield (
            f"{named(other, 'node')} had another size earlier in the recorded time; a replay gives"
            f" {it} what {they} {has} at the end, all the time"
        )
    priced = pl.Series(repriced(read(store, "node"), begins_ms(store)), dtype=pl.String)
    if priced.len():
        yield (
            f"{named(priced, 'node')} had another price earlier in the recorded time; what nodes"
            " cost is by the last price of each, all the time"
        )


def _cordoned(store: Store, nodes: pl.DataFrame) -> Iterator[str]:
    """Nodes that are cordoned, to be drained or mended, and those that were when use began."""
    found = cordoned(read(store, "node")).sort("node")
    closed = nodes.filter(state="closed").sort("node")
    since = found.join(closed, on="node", how="semi")
    if since.height:
        take = "it takes" if since.height == 1 else "they take"
        yield f"{are(since['node'], 'node')} cordoned at the end: {take} nothing new"
    within = "cordoned within the recorded time, until the end"
    for some, now, always in (
        (found.join(closed, on="node", how="anti"), within, "open"),
        (closed.join(found, on="node", how="anti"), "opened within the recorded time", "closed"),
    ):
        if some.height:
            was = "was" if some.height == 1 else "were"
            yield (
                f"{named(some['node'], 'node')} {was} {now}: a replay has"
                f" {'it' if some.height == 1 else 'them'} {always} all the time, as when use began"
            )


def _unready(store: Store, nodes: pl.DataFrame) -> Iterator[str]:
    """Nodes whose condition Ready is False or Unknown, at the end or when use began."""
    end, start = unready(read(store, "node")).sort("node"), unready(nodes).sort("node")
    barred = "a replay places nothing there but pods that tolerate the taint of that"
    for some, when, then in (
        (end.join(start, on="node", how="semi"), "at the end", barred),
        (start.join(end, on="node", how="anti"), "when use began, and no more at the end", barred),
        (
            end.join(start, on="node", how="anti"),
            "at the end, and not yet when use began",
            "a replay has no such change, and places pods there",
        ),
    ):
        if some.height:
            yield f"{are(some['node'], 'node')} NotReady {when}: {then}"


def are(names: pl.Series, what: str) -> str:
    """They, with the verb."""
    return f"{named(names, what)} {'are' if names.len() > 1 else 'is'}"


def named(names: pl.Series, what: str) -> str:
    """One by its name; several by their count and the first names."""
    shown = and_more(names.head(_NAMED).to_list(), names.len())
    if names.len() == 1:
        return f"{what} {shown}"
    return f"{names.len():,} {what}s ({shown})"
