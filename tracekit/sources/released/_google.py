"""Times of Google's cluster data, and attributes of its machines as labels."""

import json
from collections.abc import Iterator, Sequence

import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources._cluster import Opened
from tracekit.sources._rows import Rule
from tracekit.sources.released._lines import without_labels

#: What a user should know of these times.
BEFORE = "the trace begins at 600 s: what stands at time 0 was there before and is put at 600 s"
OF_ATTRIBUTES = "attributes of machines, which become labels of machine_events beside it"
FIRST_MACHINE = "its node is the first machine that an event of it names"
AFTER = "events at 2^63-1 lie behind the trace and say nothing about it: they are left out"
SAMPLED = "a sample stands at the beginning of its 300 s"

#: The traces begin here; what is told of time 0 was so before.
TRACE_START_MS = 600_000
#: A time at or above this one means: after the trace (2^63 - 1, also where it was rounded).
_AFTER_US = float(1 << 62)


def whole(*columns: str) -> Iterator[Rule]:
    """Rules that texts are whole numbers, and there."""
    for one in columns:
        wrong = pl.col(one).cast(pl.Int64, strict=False).is_null()
        yield Rule(column=one, broken=wrong, expected="a whole number")


def backwards(start: str, end: str) -> Rule:
    """The rule that a sample ends no earlier than it starts, as far as it says when it ends."""
    starts, ends = (pl.col(one).cast(pl.Float64, strict=False) for one in (start, end))
    return Rule(column=end, broken=ends < starts, expected="an end no earlier than the start")


def in_trace(rows: pl.DataFrame, column: str = "time") -> pl.DataFrame:
    """The rows that do not lie behind the end of the trace."""
    return rows.filter(pl.col(column) < _AFTER_US)


def time_ms(column: str) -> pl.Expr:
    """``time_ms`` of a column of microseconds; what was before the trace stands at its start."""
    ms = (pl.col(column) / 1000).floor().cast(pl.Int64)
    return pl.when(pl.col(column) == 0).then(TRACE_START_MS).otherwise(ms).alias("time_ms")


def check_beside_machines(opened: Opened) -> None:
    """Raise TracekitError where attributes come without the machines whose labels they are."""
    if not opened.beside.get("machines"):
        raise TracekitError(
            f"{opened.name}: machine_attributes without machine_events, whose labels they are",
            hint="ingest both together",
        )


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
    ).with_columns(without_labels("node"))


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
