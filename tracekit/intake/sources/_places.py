"""The node of each container, for samples of use that do not state it."""

from collections.abc import Iterable

import polars as pl

_KNOWN = "known\0"


class Places:
    """The node of each container, from the files that list containers; the first row counts.

    A container has one node in the store.
    """

    def __init__(self, frames: Iterable[pl.DataFrame]) -> None:
        """``frames`` are lists of containers; one without the column ``node`` is left out."""
        parts = [
            one.select(pl.col("container", "node").cast(pl.String))
            for one in frames
            if {"container", "node"} <= set(one.columns)
        ]
        nothing = pl.DataFrame(schema={"container": pl.String, "node": pl.String})
        whole = pl.concat([nothing, *parts]).drop_nulls("container")
        self._nodes = whole.unique("container", keep="first").rename({"node": _KNOWN})

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with the node of each, NULL if it is not known; a stated node stays."""
        stated = [pl.col("node").cast(pl.String)] if "node" in rows.columns else []
        joined = rows.with_columns(pl.col("container").cast(pl.String)).join(
            self._nodes, on="container", how="left", maintain_order="left"
        )
        return joined.with_columns(pl.coalesce(*stated, _KNOWN).alias("node")).drop(_KNOWN)
