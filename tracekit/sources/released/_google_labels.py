"""Attributes of Google's machines, as labels at the times when something happens to the machine."""

from __future__ import annotations

import json
from collections.abc import Sequence

import polars as pl

#: How a machine's labels are inferred.
LABELS = "a machine's labels are its attributes at the time of its event"


def labelled(states: pl.DataFrame, attributes: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The states of machines with ``labels``, a JSON object; without attributes as they are.

    Parameters
    ----------
    states : DataFrame
        ``time_ms``, ``node`` and more.
    attributes : frames of ``time_ms``, ``node``, ``name``, ``value`` (NULL: deleted)
    """
    if not attributes:
        return states
    events = states.select("time_ms", "node")
    return states.join(
        _labels(events, pl.concat(attributes)),
        on=["time_ms", "node"],
        how="left",
        maintain_order="left",
    )


def _labels(events: pl.DataFrame, attributes: pl.DataFrame) -> pl.DataFrame:
    """The attributes of each machine at the time of each of its events."""
    wanted = events.unique().join(attributes.select("node", "name").unique(), on="node")
    known = wanted.sort("time_ms").join_asof(
        attributes.sort("time_ms"), on="time_ms", by=["node", "name"], check_sortedness=False
    )
    held = (
        known.filter(pl.col("value").is_not_null())
        .sort("node", "time_ms", "name")
        .group_by("node", "time_ms", maintain_order=True)
        .agg("name", "value")
    )
    pairs = held.select("name", "value").iter_rows()
    texts = [json.dumps(dict(zip(names, values, strict=True))) for names, values in pairs]
    return held.select("node", "time_ms", pl.Series("labels", texts, dtype=pl.String))
