"""The states of nodes at the start and at the end, from ``node`` and ``node_resource``."""

import json

import polars as pl

from tracekit.base.units import EPOCH_FROM_MS
from tracekit.store.folder import Store
from tracekit.store.stored_rows import PRICE, followed, with_last_values
from tracekit.store.tables import UNREADY_TAINTS

#: The tables of use: of containers, then of nodes.
_USED = (("container_amount", "container_usage"), ("node_amount", "node_usage"))
_MS = "time_ms"
#: A restart changes the allocatable amounts of a node by less than this share.
_ALIKE = 0.01
#: An expression: whether a node is present by a row of the table ``node``.
_HERE = (pl.col("state") != "gone").fill_null(value=True)
#: The resources without which nothing can be placed on a node.
_BASE = ("cpu", "memory")
#: The key of ``node_resource`` besides time.
_SIZED = ("node", "resource", "cell")
#: The beginnings of the keys of taints that Kubernetes itself sets.
_OF_KUBERNETES = "node.kubernetes.io/"


def begins_ms(store: Store) -> int | None:
    """Return the time of the first sample of containers, else of nodes, or None without samples."""
    for tables in _USED:
        times = [one.time_min_ms for table in tables for one in store.manifest.stated(table)]
        first_times = [one for one in times if one is not None]
        if first_times:
            return min(first_times)
    return None


def nodes_of(
    nodes: pl.DataFrame, resources: pl.DataFrame, begins_ms: int | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the nodes at the start of the trace with their last prices, and their last sizes.

    The start is ``begins_ms``, the time of the first use; only changes up to it count. A node that
    is named later, and every node if the time is None, has the state of its first row. A node that
    is gone at the start and comes back has the state of the row with which it comes back; any other
    node gone at the start is left out. A field that a row leaves out keeps its last value.

    The size of a node is its last stated amount above 0, because decisions are about the present
    nodes, and a device plugin states 0 while it restarts. The price is the last stated one. A file
    without times, such as a list of prices, adds only fields that files with dates leave out.

    Returns
    -------
    nodes : DataFrame
        A row for each node in the order of the source, also for nodes of ``node_resource`` only.
    capacity : DataFrame
        Rows of ``node_resource`` with the sizes.
    """
    every, prices = followed(nodes, resources), _prices(nodes)
    resources = _added(resources, *_SIZED)
    nodes = _come_back(_at(every, begins_ms, "node"), every)
    nodes = nodes.update(prices, on="node", how="left", include_nulls=True)
    gone = nodes.filter(pl.col("state") == "gone").select("node")
    capacity = _sizes(resources)
    unlisted = capacity.select("node").unique().join(nodes, on="node", how="anti").sort("node")
    nodes = pl.concat([nodes, unlisted], how="diagonal").sort("position", "node", nulls_last=True)
    capacity = capacity.join(gone, on="node", how="anti", maintain_order="left")
    return nodes.join(gone, on="node", how="anti", maintain_order="left"), capacity


def _come_back(nodes: pl.DataFrame, every: pl.DataFrame) -> pl.DataFrame:
    """The nodes, where each node that is gone has its next present row instead, if it has one."""
    gone = nodes.filter(state="gone").select("node", gone_ms=_MS)
    later = every.join(gone, on="node").filter(_HERE & (pl.col(_MS) > pl.col("gone_ms")))
    back = first_rows(later, "node").drop("gone_ms")
    order = nodes.select("node").with_row_index("at")
    present = pl.concat([nodes.join(back, on="node", how="anti"), back])
    return present.join(order, on="node").sort("at").select(nodes.columns)


def absences(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each absence of a node that came back: ``node``, ``from_ms``, ``until_ms``.

    The time before the first row of a node is no absence.
    """
    turns = _turns(rows).select("node", _MS, here=_HERE)
    after, before = pl.col(_MS).shift(-1).over("node"), pl.col("here").shift(1).over("node")
    marked = turns.with_columns(until_ms=after, was=before)
    away = marked.filter(~pl.col("here") & pl.col("was") & pl.col("until_ms").is_not_null())
    return (
        away.select("node", "until_ms", from_ms=_MS)
        .sort("from_ms", "node")
        .select("node", "from_ms", "until_ms")
    )


def _turns(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with which nodes come or leave, in order of time."""
    ordered = with_last_values(rows).with_columns(_HERE.alias("here"))
    before = pl.col("here").shift(1).over("node")
    return ordered.filter(before.is_null() | (pl.col("here") != before)).drop("here")


def resized(rows: pl.DataFrame, begins_ms: int | None) -> list[str]:
    """Return names of nodes with an amount since the start over 1 % off their last amount."""
    start = _at(rows, begins_ms, *_SIZED).select(*_SIZED, start_ms=_MS)
    size = _sizes(rows).select(*_SIZED, size="amount")
    both = rows.join(start, on=_SIZED, nulls_equal=True).join(size, on=_SIZED, nulls_equal=True)
    change = (pl.col("amount") - pl.col("size")).abs()
    other = both.filter(
        (pl.col(_MS) >= pl.col("start_ms")) & (change > _ALIKE * pl.col("size").abs())
    )
    return other["node"].unique().sort().to_list()


def repriced(rows: pl.DataFrame, begins_ms: int | None) -> list[str]:
    """Return names of nodes with a price since the start that differs from the last price."""
    every = with_last_values(rows)
    start = _at(every, begins_ms, "node").select("node", start_ms=_MS)
    both = every.join(start, on="node").join(_prices(rows).rename({PRICE: "last"}), on="node")
    other = both.filter((pl.col(_MS) >= pl.col("start_ms")) & (pl.col(PRICE) != pl.col("last")))
    return other["node"].unique().sort().to_list()


def _prices(rows: pl.DataFrame) -> pl.DataFrame:
    """The last stated price of each node, NULL for none; without prices there is no column."""
    return _last(rows).select("node", *(one for one in (PRICE,) if one in rows.columns))


def _sizes(rows: pl.DataFrame) -> pl.DataFrame:
    """The last amount above 0 of each resource of a node, else its first amount."""
    first = first_rows(rows, *_SIZED)
    positive = rows.filter(pl.col("amount") > 0).sort(_MS, maintain_order=True)
    last = positive.unique(_SIZED, keep="last", maintain_order=True)
    every = pl.concat([last, first.join(last, on=_SIZED, how="anti", nulls_equal=True)])
    order = first.select(_SIZED).with_row_index("at")
    return every.join(order, on=_SIZED, nulls_equal=True).sort("at").select(rows.columns)


def gone_for_good(rows: pl.DataFrame) -> pl.DataFrame:
    """Return, for each node that left and did not come back, the row with which it left."""
    last = _turns(rows).unique("node", keep="last", maintain_order=True)
    return last.filter(pl.col("state") == "gone")


def cordoned(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the last row of each node that is cordoned at the end."""
    return _last(rows).filter(pl.col("state") == "closed")


def unready(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the last row of each node that is not ready at the end."""
    marks = pl.col("taints").str.contains_any(list(UNREADY_TAINTS.values()))
    return _last(rows).filter(marks & (pl.col("state") != "gone"))


def retainted(begun: pl.DataFrame, rows: pl.DataFrame) -> list[str]:
    """Return names of nodes whose taints at the end differ from those at the first use.

    Taints that Kubernetes itself sets, for a cordon or a condition, do not count.
    """
    ends = _last(rows).filter(pl.col("state") != "gone").select("node", end="taints")
    both = begun.select("node", "taints").join(ends, on="node").sort("node")
    return [node for node, *texts in both.iter_rows() if len({*map(_given, texts)}) > 1]


def _given(taints: str | None) -> str:
    """The taints without those that Kubernetes itself sets, as a text; other texts unchanged."""
    try:
        marks = json.loads(taints or "[]")
        given = [one for one in marks if not str(one["key"]).startswith(_OF_KUBERNETES)]
    except (ValueError, TypeError, KeyError):
        return taints or ""
    return json.dumps(sorted(given, key=json.dumps), sort_keys=True)


def without_size(nodes: pl.DataFrame, capacity: pl.DataFrame) -> pl.DataFrame:
    """Return nodes without a usable size, with the ``resource`` that each lacks: cpu or memory.

    Where any node states an amount of a resource, a node without an amount of it, or with 0, lacks
    it. Where no node states one, the amount is an assumption for all nodes.

    Parameters
    ----------
    nodes, capacity : DataFrame
        The results of ``nodes_of``.
    """
    stated = capacity.filter(pl.col("cell").is_null() & (pl.col("amount") > 0))
    lacking = [
        nodes.select("node", resource=pl.lit(name)).join(
            stated.filter(resource=name), on="node", how="anti", maintain_order="left"
        )
        for name in _BASE
        if stated.filter(resource=name).height
    ]
    empty = pl.DataFrame(schema={"node": pl.String, "resource": pl.String})
    every = pl.concat([empty, *lacking])
    return every.group_by("node", maintain_order=True).agg(pl.col("resource").str.join(" or "))


def _last(rows: pl.DataFrame) -> pl.DataFrame:
    """The last row of each node."""
    return with_last_values(rows).unique("node", keep="last", maintain_order=True)


def first_rows(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Return the row of the earliest time for each combination of values of ``keys``."""
    return rows.sort(_MS, maintain_order=True).unique(keys, keep="first", maintain_order=True)


def _at(rows: pl.DataFrame, time_ms: int | None, *keys: str) -> pl.DataFrame:
    """The last row of each key up to a time, in the order of the first rows.

    A key whose first row is later, and every key without a time, has its first row.
    """
    first = first_rows(rows, *keys)
    if time_ms is None:
        return first
    by_then = rows.filter(pl.col(_MS) <= time_ms).sort(_MS, maintain_order=True)
    last = by_then.unique(keys, keep="last", maintain_order=True)
    order = first.select(*keys).with_row_index("at")
    every = pl.concat([last, first.join(last, on=keys, how="anti", nulls_equal=True)])
    return every.join(order, on=keys, nulls_equal=True).sort("at").select(rows.columns)


def _added(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """The rows with a time, with missing values filled from the rows without a time."""
    timeless = pl.col(_MS) < EPOCH_FROM_MS
    dated = rows.filter(~timeless)
    if dated.height in (0, rows.height):
        return rows
    more = first_rows(rows.filter(timeless), *keys)
    columns = [name for name in rows.columns if name not in keys]
    joined = dated.join(
        more, on=keys, how="left", suffix="_more", nulls_equal=True, maintain_order="left"
    )
    filled = joined.select(
        *keys, *(pl.col(name).fill_null(pl.col(f"{name}_more")) for name in columns)
    ).select(rows.columns)
    alone = more.join(dated, on=keys, how="anti", nulls_equal=True, maintain_order="left")
    return pl.concat([filled, alone.select(rows.columns)])
