"""Shared parts of readers of delimited files: recognition, times, states that repeat."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl

from tracekit.sources._cluster import Batch, Broken, Head, Opened
from tracekit.sources._rows import Delimited, frames, long

#: The label that says which GPUs a node has.
GPU_MODEL = "gpu_model"
_LOOKED_AT = 20
_ROWS_AT_ONCE = 1_000_000


def headerless(stem: str, line: str) -> Callable[[Head], bool]:
    """Knows a file by a part of its name and by one of its first lines, a regular expression."""
    pattern = re.compile(line)

    def recognises(head: Head) -> bool:
        return stem in head.name and any(
            pattern.fullmatch(text.strip()) for text in head.lines[:_LOOKED_AT]
        )

    return recognises


def headed(*names: str) -> Callable[[Head], bool]:
    """Knows a file by the columns that its first line names."""
    return lambda head: set(names) <= set(head.fields())


def header(opened: Opened) -> list[str]:
    """The names in the first line."""
    with opened.stream() as stream:
        first = stream.readline(1 << 20).decode(errors="replace")
    return [name.strip().strip('"') for name in first.removeprefix("\ufeff").split(",")]


def named(
    opened: Opened,
    texts: Sequence[str],
    numbers: Sequence[str],
    table: str,
    *,
    empty: Sequence[str] = ("", "nan"),
) -> Iterator[tuple[pl.DataFrame, list[Broken]]]:
    """The rows of a file whose first line names its columns; those not asked for are left out.

    Rejects show lines as they stand, with what is left out.
    """
    wanted = {*texts, *numbers}
    columns = [name if name in wanted else "" for name in header(opened)]
    yield from frames(
        opened,
        Delimited(
            columns=columns,
            numbers=numbers,
            header=True,
            table=table,
            empty=empty,
            as_it_stood=True,
        ),
    )


def standing(
    raw: pl.DataFrame, sizes: Mapping[str, tuple[str, str, float]], *more: pl.Expr | pl.Series
) -> Iterator[Batch]:
    """Nodes that are there from the beginning and ready, in the order of their lines; their sizes.

    Parameters
    ----------
    sizes : resource, unit and factor by the column that holds them
    """
    nodes = raw.with_columns(time_ms=pl.lit(0, pl.Int64))
    rows = nodes.select(
        "time_ms",
        "node",
        pl.col("line").alias("position"),
        pl.lit("ready").alias("state"),
        *more,
        "line",
    )
    yield Batch(table="node", rows=rows)
    yield Batch(table="node_resource", rows=long(nodes, ["time_ms", "node"], sizes))


def of_model(label: str, models: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The model of each node's GPUs, as its platform and as a label."""
    return models.alias("platform"), labelled(label, models).alias("labels")


def whole(opened: Opened, form: Delimited) -> tuple[pl.DataFrame, list[Broken]]:
    """All rows of a file at once; for tables that are small."""
    return together(frames(opened, form))


def together(
    parts: Iterator[tuple[pl.DataFrame, list[Broken]]],
) -> tuple[pl.DataFrame, list[Broken]]:
    """Rows that come in parts, at once. A file that is known by its lines has some."""
    made, broken = zip(*parts, strict=True)
    return pl.concat(made), [one for some in broken for one in some]


def ms(column: str | pl.Expr) -> pl.Expr:
    """Seconds as whole milliseconds."""
    seconds = pl.col(column) if isinstance(column, str) else column
    return (seconds * 1000).round().cast(pl.Int64, strict=False)


def changes(rows: pl.DataFrame, entity: str, time: str, values: Sequence[str]) -> pl.DataFrame:
    """The rows at which some value of an entity differs from the one before, in time order."""
    ordered = rows.sort(entity, time, "line", nulls_last=True)
    differs = [pl.col(name).ne_missing(pl.col(name).shift()) for name in (entity, *values)]
    first = pl.int_range(pl.len()) == 0
    return ordered.filter(pl.any_horizontal(first, *differs)).sort("line")


def without_labels(entity: str) -> pl.Expr:
    """The column ``labels``, where an entity has none any more of those it had before: ``{}``.

    What a row of the table ``node`` does not state is as it was last stated.
    """
    labels = pl.col("labels")
    before = labels.forward_fill().over(entity, order_by="time_ms")
    lost = labels.is_null() & before.is_not_null()
    return pl.when(lost).then(pl.lit("{}")).otherwise(labels).alias("labels")


def each_of(rows: pl.DataFrame, count: str) -> Iterator[pl.DataFrame]:
    """Every row as often as its count says, with ``number`` from 0; about a million at once."""
    times = pl.col(count).fill_null(0).cast(pl.Int64, strict=False)
    upto = rows.select(times.cum_sum() // _ROWS_AT_ONCE).to_series().alias("part")
    for part in rows.with_columns(upto).partition_by("part", maintain_order=True):
        numbered = part.drop("part").with_columns(pl.int_ranges(times).alias("number"))
        yield numbered.explode("number").drop_nulls("number")


def one_of(label: str, values: pl.Series) -> pl.Series:
    """For each text ``a|b`` the rule that a node's label is one of these, as JSON."""
    rules = {
        text: json.dumps([[{"key": label, "operator": "In", "values": text.split("|")}]])
        for text in values.drop_nulls().unique()
    }
    return values.replace(rules)


def labelled(label: str, values: pl.Series) -> pl.Series:
    """For each text the label of that value, as JSON."""
    return values.replace(
        {text: json.dumps({label: text}) for text in values.drop_nulls().unique()}
    )
