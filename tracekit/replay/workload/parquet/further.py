"""Columns of a workload folder beyond those that each has: read, or named as passed over."""

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from tracekit.errors import TracekitError
from tracekit.replay.workload.resources import BASE, NET, PODS

#: Names that tables of a store have for what a workload calls otherwise.
_SAME = {"net_kbit_per_s": NET}
#: What may stand beside the sizes of a container, as in the table ``container`` of a store.
RULES: dict[str, type[pl.DataType]] = {
    "priority": pl.Int64,
    "gang": pl.String,
    "gang_minimum": pl.Int64,
}


def renamed(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns by the names that a workload has for them."""
    there = {old: new for old, new in _SAME.items() if old in frame.columns}
    return frame.rename({old: new for old, new in there.items() if new not in frame.columns})


def rules_in(containers: pl.DataFrame) -> pl.DataFrame:
    """The columns of ``RULES``, empty where the file does not have them.

    Raises
    ------
    TracekitError
        For a column of another type.
    """
    for name, kind in RULES.items():
        found = containers.schema.get(name, pl.Null())
        if found not in (kind, pl.Null) and not (kind == pl.Int64 and found.is_integer()):
            raise TracekitError(f"containers.parquet: column {name} is {found}, expected {kind()}")
    return containers.select(
        (pl.col(name) if name in containers.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in RULES.items()
    )


def further_used(usage: pl.DataFrame, resources: Sequence[str]) -> list[str]:
    """The columns of usage that are of further resources of the nodes, in their order.

    Raises
    ------
    TracekitError
        For one that holds no numbers.
    """
    found = [name for name in resources if name not in (*BASE, PODS) and name in usage.columns]
    for name in found:
        kind = usage.schema[name]
        if not kind.is_numeric() and kind != pl.Null:
            raise TracekitError(f"usage.parquet: column {name} is {kind}, expected Float64")
    return found


def passed_over(
    frames: Mapping[str, pl.DataFrame], known: Mapping[str, Collection[str]]
) -> tuple[str, ...]:
    """A sentence on the columns of these files that nobody reads; none where all are read."""
    beyond = {
        file: [name for name in frame.columns if name not in known[file]]
        for file, frame in frames.items()
    }
    named = [f"{', '.join(names)} of {file}" for file, names in beyond.items() if names]
    return (f"columns that are not read: {'; '.join(named)}",) if named else ()
