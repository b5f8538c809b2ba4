"""Fields of the table ``node`` over time: what a row does not state stays as it was last stated."""

import json

import polars as pl

from tracekit.base.units import EPOCH_FROM_MS

PRICE = "price_per_hour"
_MS, _LABELS = "time_ms", "labels"
#: What says that a node is there; a size does, too. Other fields, such as a price, only add.
_TELLING = ("state", "taints")


def held(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table ``node`` in order of time, each field as it was last stated by then.

    A row for each time: of two files that state a field of the same time the first counts.
    A source that knows that there are none any more states so: ``[]`` of taints, ``{}`` of labels.
    Labels that are stated without a time since 1970 are added to those that have one.
    """
    rows = _with_further_labels(rows)
    fields = [one for one in rows.columns if one not in ("node", _MS)]
    # what is stated first of a time comes last, and is what stays
    ordered = rows.reverse().sort(_MS, maintain_order=True)
    filled = ordered.with_columns(pl.col(one).forward_fill().over("node") for one in fields)
    return filled.unique(["node", _MS], keep="last", maintain_order=True)


def _with_further_labels(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, those with a time with the labels too that a row without a time states."""
    if _LABELS not in rows.columns:
        return rows
    dated = (pl.col(_MS) >= EPOCH_FROM_MS) & pl.col(_LABELS).is_not_null()
    timeless = rows.filter((pl.col(_MS) < EPOCH_FROM_MS) & pl.col(_LABELS).is_not_null())
    further = timeless.unique("node", keep="first").select("node", further=_LABELS)
    if not further.height:
        return rows
    both = rows.join(further, on="node", how="left", maintain_order="left")
    both = both.with_columns(pl.when(dated).then("further").alias("further"))
    merged = [
        own if more is None else _merged(own, more)
        for own, more in both.select(_LABELS, "further").iter_rows()
    ]
    return both.with_columns(pl.Series(_LABELS, merged, pl.String)).drop("further")


def _merged(labels: str, further: str) -> str:
    """Two sets of labels as one, in which the first holds; the first alone where one is none."""
    try:
        own, more = json.loads(labels), json.loads(further)
    except ValueError:
        return labels
    if not (isinstance(own, dict) and isinstance(more, dict)):
        return labels
    return json.dumps({**more, **own}, sort_keys=True)


def followed(rows: pl.DataFrame, resources: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``held`` from the first on that says that the node is there.

    One without a time since 1970 says so where no other does; else it only adds to the others. Of
    nodes of which nothing but such as a price is stated, all rows stay.

    Parameters
    ----------
    resources : DataFrame
        The table ``node_resource``: a row with a size says that the node is there.
    """
    sized = resources.select("node", _MS, sized=pl.lit(value=True)).unique()
    marked = rows.join(sized, on=["node", _MS], how="left", maintain_order="left")
    stated = [pl.col(one).is_not_null() for one in _TELLING if one in rows.columns]
    there = marked.filter(pl.any_horizontal("sized", *stated)).select("node", _MS)
    dated = there.filter(pl.col(_MS) >= EPOCH_FROM_MS)
    telling = pl.concat([dated, there.join(dated, on="node", how="anti")])
    first = telling.group_by("node").agg(pl.col(_MS).min().alias("first_ms"))
    every = held(rows).join(first, on="node", how="left", maintain_order="left")
    later = pl.col("first_ms").is_null() | (pl.col(_MS) >= pl.col("first_ms"))
    return every.filter(later).drop("first_ms")
