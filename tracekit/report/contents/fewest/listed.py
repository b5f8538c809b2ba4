"""The nodes that the page on the fewest nodes lists: which can go, or are to be added, and stay."""

import polars as pl

from tracekit.answer.fewest.frames import BARRED_BY, LIKE
from tracekit.answer.fewest.words import told as shrink_told
from tracekit.report import fewest_known as known
from tracekit.report.cells import Table, table
from tracekit.report.data import Data
from tracekit.words import count

#: So many of the nodes that stay are shown, the hottest first.
_HOTTEST = 10
_SHAPE = ("cpu_cores", "memory_bytes", "gpu", "price_per_hour")


def to_add(data: Data) -> Table:
    """The nodes that are to be added for the best policy, by what they have; no row for none."""
    found = shrink_told.told(known.leading(data))
    added = None if found is None else _whole(found.nodes.filter(pl.col(LIKE).is_not_null()))
    if found is None or added is None or added.is_empty():
        return Table(caption="Nodes to add", columns=[], rows=[])
    has = [name for name in _SHAPE if name in added.columns]
    kinds = added.group_by(has, maintain_order=True).agg(
        pl.len().alias("nodes"), pl.col(LIKE).first().alias("like")
    )
    more = count(added.height, "node")
    caption = f"{more} to add for {found.best['policy']}, by what they have"
    return table(kinds.select("nodes", "like", *has), caption)


def removed(data: Data) -> Table:
    """The nodes that can go under the best policy, the first to go first."""
    found = shrink_told.told(known.leading(data))
    if found is None:
        return Table(caption="Nodes that can go", columns=[], rows=[])
    going = _whole(found.nodes.filter(~pl.col("kept")).sort("place", descending=True))
    shape = [name for name in (*_SHAPE, BARRED_BY) if name in going.columns]
    shown = going.select(
        "node", *shape, pl.col("requested_fraction").alias("requested_before_fraction")
    )
    caption = f"{count(shown.height, 'node')} that can go under {found.best['policy']}"
    return table(shown, caption)


def hottest(data: Data) -> Table:
    """The nodes that stay and get fullest."""
    found = shrink_told.told(known.leading(data))
    if found is None:
        return Table(caption="Nodes that stay", columns=[], rows=[])
    kept = found.nodes.filter("kept")
    fullest = pl.max_horizontal("cpu_max_fraction", "memory_max_fraction")
    first = _whole(kept.sort(fullest, descending=True, maintain_order=True).head(_HOTTEST))
    shape = [name for name in _SHAPE[:3] if name in first.columns]
    shown = first.select(
        "node",
        pl.col("cpu_max_fraction").alias("highest_cpu_fraction"),
        pl.col("memory_max_fraction").alias("highest_memory_fraction"),
        *shape,
    )
    stay = f"{count(kept.height, 'node')} that stay under {found.best['policy']}"
    caption = f"The {shown.height} hottest of {stay}"
    return table(shown, caption)


def _whole(nodes: pl.DataFrame) -> pl.DataFrame:
    """The nodes, with whole numbers of cores where all are."""
    cores = nodes["cpu_cores"]
    whole = (cores == cores.round()).all()
    return nodes.with_columns(pl.col("cpu_cores").cast(pl.Int64)) if whole else nodes
