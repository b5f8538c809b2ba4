"""Recorded use as matrices over the axis of the replay, a row group of the store at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.base.constants import STEP_MS
from tracekit.base.files.places import parquet_file
from tracekit.cluster.assembly.amounts import in_columns
from tracekit.cluster.assembly.assumptions import SizedAssumptions
from tracekit.cluster.assembly.lives import Lives, Measured
from tracekit.cluster.resources import BASE
from tracekit.cluster.series import hold, infer_step_ms
from tracekit.store.folder import Store
from tracekit.store.never_ran import is_moment
from tracekit.store.views import ids_of

_FRACTIONS = ("cpu_fraction", "memory_fraction")


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The record of an entity's use: in amounts, in fractions of its size, or both.

    Parameters
    ----------
    prefix : str
        What the names of its resources begin with.
    """

    entity: str
    amounts: str
    fractions: str = ""
    prefix: str = ""


@dataclass(frozen=True, kw_only=True)
class Use:
    """Use of some entities over the axis.

    Parameters
    ----------
    values : float32, shape (2, steps, those measured)
    measured : bool, shape (ids,)
    lacking : bool, shape (2, ids)
        Of those measured, whose use of a resource is not recorded.
    held : int
        Steps of their lives that have no sample of their own; 0 where no lives are told.
    blank : int
        Steps at which none of them has a sample, although some have before and after.
    """

    values: Float32Array
    measured: BoolArray
    lacking: BoolArray
    held: int
    blank: int


CONTAINERS = Recorded(entity="container", amounts="container_amount", fractions="container_usage")
NODES = Recorded(entity="node", amounts="node_amount", fractions="node_usage")
BACKGROUND = Recorded(entity="node", amounts="node_amount", prefix="background_")


def measured(store: Store, recorded: Recorded) -> Measured | None:
    """When use was recorded; None where it was not, or is a moment of nodes (``is_moment``)."""
    aside = recorded == NODES and is_moment(store.manifest)
    entries = [
        entry
        for table in ([] if aside else [recorded.amounts]) + [recorded.fractions]
        for entry in store.manifest.stated(table)
    ]
    firsts = [entry.time_min_ms for entry in entries if entry.time_min_ms is not None]
    lasts = [entry.time_max_ms for entry in entries if entry.time_max_ms is not None]
    if not firsts:
        return None
    key = f"{recorded.entity}_key"
    first = next(_pieces(store, recorded, ("time_ms", key)))
    step = infer_step_ms(first, key) or STEP_MS
    return Measured(first_ms=min(firsts), last_ms=max(lasts), step_ms=step)


def use_of(
    store: Store,
    recorded: Recorded,
    ids: pl.Series,
    size: IntArray,
    *,
    life: Lives,
    assumptions: SizedAssumptions,
    instead: Float32Array | None = None,
    lives_ms: tuple[IntArray, IntArray] | None = None,
) -> Use:
    """Use of millicores and bytes at every step: its last sample, or that of the step before.

    Parameters
    ----------
    ids : the entities whose use is wanted
    size : int64, shape (ids, 2)
        The amount of which recorded fractions are parts.
    instead : float32, shape (ids, 2), optional
        What stands in where one resource of an entity is recorded and the other is not; else 0.
    lives_ms : pair of int64, shape (ids,), optional
        Arrival and departure of each entity.
    """
    values, spoken = sampled(
        store,
        recorded,
        ids,
        size,
        times_ms=life.times_ms,
        step_ms=life.step_ms,
        assumptions=assumptions,
    )
    rows = np.flatnonzero(spoken)
    held, blank = (
        _steps_held(values, life.times_ms, *(one[rows] for one in lives_ms)) if lives_ms else (0, 0)
    )
    hold(values)
    empty = np.isnan(values[:, 0])
    silent = empty.all(axis=0)
    for resource, missing in enumerate(empty):
        values[resource, :, missing] = (
            0.0 if instead is None else instead[rows[missing], resource, None]
        )
    spoken[rows[silent]] = False
    lacking = np.zeros((len(BASE), len(ids)), dtype=np.bool_)
    lacking[:, rows[~silent]] = empty[:, ~silent]
    return Use(
        values=np.ascontiguousarray(values[:, :, ~silent]),
        measured=spoken,
        lacking=lacking,
        held=held,
        blank=blank,
    )


def sampled(
    store: Store,
    recorded: Recorded,
    ids: pl.Series,
    size: IntArray,
    *,
    times_ms: IntArray,
    step_ms: int,
    assumptions: SizedAssumptions,
) -> tuple[Float32Array, BoolArray]:
    """The last sample of use in each step, in millicores and bytes, and which ids have rows at all.

    Use has the shape (2, steps, ids with rows), and is NaN where a step has no sample; see
    ``use_of``.
    """
    column = positions_of(store, recorded, ids)
    spoken = np.zeros(len(ids), dtype=np.bool_)
    key = f"{recorded.entity}_key"
    for piece in _pieces(store, recorded, (key,)):
        at = column[piece[key].to_numpy()]
        spoken[at[at >= 0]] = True
    where = np.cumsum(spoken) - 1
    values = np.full((len(BASE), len(times_ms), int(spoken.sum())), np.nan, dtype=np.float32)
    for resource, piece in _amounts(store, recorded, assumptions):
        at = column[piece[key].to_numpy()]
        step = (piece["time_ms"].to_numpy() - times_ms[0]) // step_ms
        kept = (at >= 0) & (step >= 0) & (step < len(times_ms))
        at, step = at[kept], step[kept]
        amount = piece["amount"].to_numpy()[kept]
        if "fraction" in piece.columns:
            amount = amount * size[at, resource]
        values[resource, step, where[at]] = amount
    return values, spoken


def _steps_held(
    values: Float32Array, times_ms: IntArray, arrival_ms: IntArray, departure_ms: IntArray
) -> tuple[int, int]:
    """Steps of lives without a sample of a resource that is recorded of the entity at others.

    And steps between the first sample and the last at which nobody has any.
    """
    known = np.zeros((len(BASE), values.shape[2]), dtype=np.bool_)
    spoken = np.zeros(len(times_ms), dtype=np.bool_)
    for step in range(len(times_ms)):
        seen = ~np.isnan(values[:, step])
        known |= seen
        spoken[step] = seen.any()
    held = 0
    for step, now in enumerate(times_ms.tolist()):
        missing = (np.isnan(values[:, step]) & known).any(axis=0)
        held += int((missing & (arrival_ms <= now) & (now < departure_ms)).sum())
    at = np.flatnonzero(spoken)
    return held, int((~spoken[at[0] : at[-1]]).sum()) if len(at) else 0


def _amounts(
    store: Store, recorded: Recorded, assumptions: SizedAssumptions
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Rows of one base resource: key, time_ms, amount; ``fraction`` where it is one of the size."""
    key = f"{recorded.entity}_key"
    columns = ("time_ms", key, "resource", "amount", "unit")
    for rows in row_groups(store, recorded.amounts, columns):
        ours = rows.filter(pl.col("resource").str.starts_with(recorded.prefix))
        named = ours.with_columns(pl.col("resource").str.strip_prefix(recorded.prefix))
        told = in_columns(named, assumptions, ("amount",))
        for resource, name in enumerate(BASE):
            yield resource, told.filter(pl.col("column") == name)
    for rows in row_groups(store, recorded.fractions, ("time_ms", key, *_FRACTIONS)):
        for resource, name in enumerate(_FRACTIONS):
            yield (
                resource,
                rows.select(
                    "time_ms",
                    key,
                    pl.col(name).alias("amount"),
                    pl.lit(value=True).alias("fraction"),
                ).drop_nulls(),
            )


def _pieces(store: Store, recorded: Recorded, columns: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    yield from row_groups(store, recorded.amounts, columns)
    yield from row_groups(store, recorded.fractions, columns)


def row_groups(store: Store, table: str, columns: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """The rows that sources recorded; what ingest derived from them is left out."""
    for path in store.stated_files(table):
        with parquet_file(path) as file:
            for group in range(file.num_row_groups):
                read = pl.from_arrow(file.read_row_group(group, columns=list(columns)))
                assert isinstance(read, pl.DataFrame)  # noqa: S101 - a table gives no series
                if read.height:
                    yield read.drop_nulls([name for name in columns if name.endswith("_key")])


def positions_of(store: Store, recorded: Recorded, ids: pl.Series) -> IntArray:
    """For each key of the store the position among ``ids``, -1 for none."""
    known = pl.DataFrame({"id": ids, "at": np.arange(len(ids))})
    every = pl.DataFrame({"id": ids_of(store, recorded.entity)})
    found = every.join(known, on="id", how="left", maintain_order="left")
    return found["at"].fill_null(-1).to_numpy().astype(np.int64)
