"""Recorded use as matrices over the time axis of the replay, read a row group at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.base.constants import STEP_MS
from tracekit.base.files.places import parquet_file
from tracekit.cluster.assembly.lives import Lives, Measured
from tracekit.cluster.assembly.sizes import in_columns
from tracekit.cluster.assumptions import SizedAssumptions
from tracekit.cluster.resources import BASE
from tracekit.cluster.series import fill_gaps, infer_step_ms
from tracekit.store.folder import Store
from tracekit.store.never_ran import is_moment
from tracekit.store.views import ids_of

_FRACTIONS = ("cpu_fraction", "memory_fraction")


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The names of the tables that record the use of nodes or of containers.

    Parameters
    ----------
    entity : {'node', 'container'}
    amounts, fractions : str
        The table of use in amounts, and that of use in fractions of sizes; empty if there is none.
    prefix : str
        Rows of ``amounts`` count only if their resource begins with this text, which is cut off.
    """

    entity: str
    amounts: str
    fractions: str = ""
    prefix: str = ""


@dataclass(frozen=True, kw_only=True)
class Use:
    """Use of nodes or containers over the time axis.

    Parameters
    ----------
    values : float32, shape (2, steps, measured ids)
        CPU in millicores, and memory in bytes.
    measured : bool, shape (ids,)
        Whether any use of the entity is recorded.
    lacking : bool, shape (2, ids)
        Whether the CPU, or the memory, of a measured entity is not recorded.
    held : int
        Number of steps at which an entity runs without a sample, over all entities; 0 if times of
        arrival and departure are not known.
    blank : int
        Number of steps between the first and the last sample at which no entity has a sample; 0 if
        those times are not known.
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
    """Return the span of recorded use, or None if no use is recorded.

    Amounts of nodes are ignored if the time that their samples span is too small a part of the time
    that samples of containers span.
    """
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
    """Return CPU use in millicores and memory use in bytes at each step.

    The use at a step is the last sample in the step or before it, or else the first sample.

    Parameters
    ----------
    ids : the entities whose use is wanted
    size : int64, shape (ids, 2)
        The millicores and bytes that a recorded fraction of 1.0 stands for.
    instead : float32, shape (ids, 2), optional
        The CPU or memory that is assumed where only the other is recorded; 0 if not given.
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
    fill_gaps(values)
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
    """Return the last sample in each step, in millicores and bytes, and which ids have a sample.

    Returns
    -------
    float32, shape (2, steps, ids with samples)
        NaN where a step has no sample.
    bool, shape (ids,)
        Whether any sample of the id is recorded.
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
        inside = (at >= 0) & (step >= 0) & (step < len(times_ms))
        at, step = at[inside], step[inside]
        amount = piece["amount"].to_numpy()[inside]
        if "fraction" in piece.columns:
            amount = amount * size[at, resource]
        values[resource, step, where[at]] = amount
    return values, spoken


def _steps_held(
    values: Float32Array, times_ms: IntArray, arrival_ms: IntArray, departure_ms: IntArray
) -> tuple[int, int]:
    """Number of steps of lives without a sample, of a resource that has samples at other steps.

    The second number counts the steps between the first sample and the last at which no entity has
    one.
    """
    has_samples = np.zeros((len(BASE), values.shape[2]), dtype=np.bool_)
    spoken = np.zeros(len(times_ms), dtype=np.bool_)
    for step in range(len(times_ms)):
        seen = ~np.isnan(values[:, step])
        has_samples |= seen
        spoken[step] = seen.any()
    held = 0
    for step, now in enumerate(times_ms.tolist()):
        missing = (np.isnan(values[:, step]) & has_samples).any(axis=0)
        held += int((missing & (arrival_ms <= now) & (now < departure_ms)).sum())
    at = np.flatnonzero(spoken)
    return held, int((~spoken[at[0] : at[-1]]).sum()) if len(at) else 0


def _amounts(
    store: Store, recorded: Recorded, assumptions: SizedAssumptions
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Rows of one base resource: key, time_ms, amount; ``fraction`` if that is a share."""
    key = f"{recorded.entity}_key"
    columns = ("time_ms", key, "resource", "amount", "unit")
    for rows in row_groups(store, recorded.amounts, columns):
        ours = rows.filter(pl.col("resource").str.starts_with(recorded.prefix))
        named = ours.with_columns(pl.col("resource").str.strip_prefix(recorded.prefix))
        converted = in_columns(named, assumptions, ("amount",))
        for resource, name in enumerate(BASE):
            yield resource, converted.filter(pl.col("column") == name)
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
    """Yield each row group of a table's Parquet files as a frame.

    Files that ingest derived from other tables are left out, and so are rows whose node or
    container is not known.
    """
    for path in store.stated_files(table):
        with parquet_file(path) as file:
            for group in range(file.num_row_groups):
                read = pl.from_arrow(file.read_row_group(group, columns=list(columns)))
                assert isinstance(read, pl.DataFrame)  # noqa: S101 - a table gives no series
                if read.height:
                    yield read.drop_nulls([name for name in columns if name.endswith("_key")])


def positions_of(store: Store, recorded: Recorded, ids: pl.Series) -> IntArray:
    """Return the position in ``ids`` of each node or container of the store, -1 if it is not there.

    The result is indexed by the integer key that stands for the id in the store's tables.
    """
    return positions_in(ids_of(store, recorded.entity), ids)


def positions_in(names: pl.Series, among: pl.Series | Sequence[str]) -> IntArray:
    """Return the position in ``among`` of each name, -1 for null and for a name not there."""
    index = pl.DataFrame(
        {"id": among, "at": np.arange(len(among))}, schema_overrides={"id": pl.String}
    )
    joined = pl.DataFrame({"id": names}).join(index, on="id", how="left", maintain_order="left")
    return np.asarray(joined["at"].fill_null(-1).to_numpy().astype(np.int64))
