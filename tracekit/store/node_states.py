"""What nodes are at the start and at the end, by the tables ``node`` and ``node_resource``."""

import json

import polars as pl

from tracekit.base.units import EPOCH_FROM_MS
from tracekit.store.folder import Store
from tracekit.store.stored_rows import PRICE, followed, held
from tracekit.store.tables import UNREADY_TAINTS

#: Where use is recorded: of containers, of nodes.
_USED = (("container_amount", "container_usage"), ("node_amount", "node_usage"))
_MS = "time_ms"
#: A restart changes what a node offers by less than this share.
_ALIKE = 0.01
#: Whether a node is there by a row of the table ``node``.
_HERE = (pl.col("state") != "gone").fill_null(value=True)
#: A node without these is no room.
_BASE = ("cpu", "memory")
#: What one row of ``node_resource`` is about.
_SIZED = ("node", "resource", "cell")
#: How the keys of taints begin that Kubernetes gives a node by itself.
_OF_KUBERNETES = "node.kubernetes.io/"


def begins_ms(store: Store) -> int | None:
    """When use begins, of containers where it is recorded, else of nodes; None where it is not."""
    for tables in _USED:
        times = [one.time_min_ms for table in tables for one in store.manifest.stated(table)]
        known = [one for one in times if one is not None]
        if known:
            return min(known)
    return None


def nodes_of(
    nodes: pl.DataFrame, resources: pl.DataFrame, begins_ms: int | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The nodes as they are at the start, without what is gone, with the size they have at the end.

    The start is the time when use begins, where that is given. Changes before it count, later ones
    do not. The first row counts for a node that is first spoken of later, and where no time is
    given. The size is the last amount stated, as decisions are about the nodes that there are. An
    amount of 0 does not count as the last one: a device plugin that restarts states it. The price
    is the last one stated. A field that a row leaves out keeps its last value.

    A row for each node, one that ``node_resource`` alone speaks of too, in the order of the source.
    Of a node that is gone at the start and comes back, it is the row with which it comes back.
    A file without times, such as one of prices, adds what files with times since 1970 do not say.
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
    """The nodes, each that is gone with its next row that is not, where there is one."""
    gone = nodes.filter(state="gone").select("node", gone_ms=_MS)
    later = every.join(gone, on="node").filter(_HERE & (pl.col(_MS) > pl.col("gone_ms")))
    back = first_rows(later, "node").drop("gone_ms")
    order = nodes.select("node").with_row_index("at")
    found = pl.concat([nodes.join(back, on="node", how="anti"), back])
    return found.join(order, on="node").sort("at").select(nodes.columns)


def absences(rows: pl.DataFrame) -> pl.DataFrame:
    """When nodes of the table ``node`` left that came back: ``node``, ``from_ms``, ``until_ms``.

    In order of their times. A node that nothing was said of before is not away.
    """
    turns = _turns(rows).select("node", _MS, here=_HERE)
    after, before = pl.col(_MS).shift(-1).over("node"), pl.col("here").shift(1).over("node")
    found = turns.with_columns(until_ms=after, was=before)
    away = found.filter(~pl.col("here") & pl.col("was") & pl.col("until_ms").is_not_null())
    return (
        away.select("node", "until_ms", from_ms=_MS)
        .sort("from_ms", "node")
        .select("node", "from_ms", "until_ms")
    )


def _turns(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with which a node comes or is gone, in order of time."""
    ordered = held(rows).with_columns(_HERE.alias("here"))
    before = pl.col("here").shift(1).over("node")
    return ordered.filter(before.is_null() | (pl.col("here") != before)).drop("here")


def resized(rows: pl.DataFrame, begins_ms: int | None) -> list[str]:
    """Nodes of the table ``node_resource`` that have other amounts from the start on than at last.

    In order of their names.
    """
    start = _at(rows, begins_ms, *_SIZED).select(*_SIZED, start_ms=_MS)
    size = _sizes(rows).select(*_SIZED, size="amount")
    both = rows.join(start, on=_SIZED, nulls_equal=True).join(size, on=_SIZED, nulls_equal=True)
    change = (pl.col("amount") - pl.col("size")).abs()
    other = both.filter(
        (pl.col(_MS) >= pl.col("start_ms")) & (change > _ALIKE * pl.col("size").abs())
    )
    return other["node"].unique().sort().to_list()


def repriced(rows: pl.DataFrame, begins_ms: int | None) -> list[str]:
    """Nodes of the table ``node`` that have another price from the start on than at last.

    In order of their names.
    """
    every = held(rows)
    start = _at(every, begins_ms, "node").select("node", start_ms=_MS)
    both = every.join(start, on="node").join(_prices(rows).rename({PRICE: "last"}), on="node")
    other = both.filter((pl.col(_MS) >= pl.col("start_ms")) & (pl.col(PRICE) != pl.col("last")))
    return other["node"].unique().sort().to_list()


def _prices(rows: pl.DataFrame) -> pl.DataFrame:
    """The last price that is stated of each node; NULL for none, and no column without any."""
    return _last(rows).select("node", *(one for one in (PRICE,) if one in rows.columns))


def _sizes(rows: pl.DataFrame) -> pl.DataFrame:
    """The last amount above 0 of each thing a node has, else its first row; as the first rows."""
    first = first_rows(rows, *_SIZED)
    known = rows.filter(pl.col("amount") > 0).sort(_MS, maintain_order=True)
    last = known.unique(_SIZED, keep="last", maintain_order=True)
    every = pl.concat([last, first.join(last, on=_SIZED, how="anti", nulls_equal=True)])
    order = first.select(_SIZED).with_row_index("at")
    return every.join(order, on=_SIZED, nulls_equal=True).sort("at").select(rows.columns)


def gone_for_good(rows: pl.DataFrame) -> pl.DataFrame:
    """The row with which each node of the table ``node`` left that is gone at the end."""
    last = _turns(rows).unique("node", keep="last", maintain_order=True)
    return last.filter(pl.col("state") == "gone")


def cordoned(rows: pl.DataFrame) -> pl.DataFrame:
    """The last row of each node of the table ``node`` that takes nothing new at the end."""
    return _last(rows).filter(pl.col("state") == "closed")


def unready(rows: pl.DataFrame) -> pl.DataFrame:
    """The last row of each node of the table ``node`` that is not ready at the end."""
    marks = pl.col("taints").str.contains_any(list(UNREADY_TAINTS.values()))
    return _last(rows).filter(marks & (pl.col("state") != "gone"))


def retainted(begun: pl.DataFrame, rows: pl.DataFrame) -> list[str]:
    """Nodes that have other taints at the end than when use began, in order of their names.

    Taints that Kubernetes gives a node by itself do not count: of a cordon, or of its condition.
    """
    ends = _last(rows).filter(pl.col("state") != "gone").select("node", end="taints")
    both = begun.select("node", "taints").join(ends, on="node").sort("node")
    return [node for node, *texts in both.iter_rows() if len({*map(_given, texts)}) > 1]


def _given(taints: str | None) -> str:
    """The taints that somebody gave a node, as a text; one that states no taints as it stands."""
    try:
        marks = json.loads(taints or "[]")
        given = [one for one in marks if not str(one["key"]).startswith(_OF_KUBERNETES)]
    except (ValueError, TypeError, KeyError):
        return taints or ""
    return json.dumps(sorted(given, key=json.dumps), sort_keys=True)


def without_size(nodes: pl.DataFrame, capacity: pl.DataFrame) -> pl.DataFrame:
    """Nodes that nothing can be placed on: ``node``, ``resource`` that they have none of.

    Where a source states the cpu, or the memory, of any node, a node without it or with 0 has no
    room. Where it states none, sizes are an assumption for all alike.

    Parameters
    ----------
    nodes, capacity : DataFrame
        As ``nodes_of`` gives them.
    """
    stated = capacity.filter(pl.col("cell").is_null() & (pl.col("amount") > 0))
    found = [
        nodes.select("node", resource=pl.lit(name)).join(
            stated.filter(resource=name), on="node", how="anti", maintain_order="left"
        )
        for name in _BASE
        if stated.filter(resource=name).height
    ]
    empty = pl.DataFrame(schema={"node": pl.String, "resource": pl.String})
    every = pl.concat([empty, *found])
    return every.group_by("node", maintain_order=True).agg(pl.col("resource").str.join(" or "))


def _last(rows: pl.DataFrame) -> pl.DataFrame:
    """How each node is at last."""
    return held(rows).unique("node", keep="last", maintain_order=True)


def first_rows(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Each thing's first row: what it was when the trace began, or when it came."""
    return rows.sort(_MS, maintain_order=True).unique(keys, keep="first", maintain_order=True)


def _at(rows: pl.DataFrame, time_ms: int | None, *keys: str) -> pl.DataFrame:
    """Each thing's last row by a time; of those first spoken of later, and without one, the first.

    In the order of the first rows.
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
    """Rows without those of no time, whose values stand where the others have none."""
    timeless = pl.col(_MS) < EPOCH_FROM_MS
    dated = rows.filter(~timeless)
    if dated.height in (0, rows.height):
        return rows
    more = first_rows(rows.filter(timeless), *keys)
    columns = [name for name in rows.columns if name not in keys]
    found = dated.join(
        more, on=keys, how="left", suffix="_more", nulls_equal=True, maintain_order="left"
    )
    filled = found.select(
        *keys, *(pl.col(name).fill_null(pl.col(f"{name}_more")) for name in columns)
    ).select(rows.columns)
    alone = more.join(dated, on=keys, how="anti", nulls_equal=True, maintain_order="left")
    return pl.concat([filled, alone.select(rows.columns)])
