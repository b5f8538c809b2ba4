"""Recorded use of resources beyond CPU and memory: which resources count, and how much is used."""

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import Float32Array, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.base.files.places import scan_parquet
from tracekit.base.units import SHARE
from tracekit.cluster.assembly.lives import Lives
from tracekit.cluster.assembly.sizes import Sizes, in_columns
from tracekit.cluster.assembly.use import (
    BACKGROUND,
    CONTAINERS,
    NODES,
    Recorded,
    positions_of,
    row_groups,
)
from tracekit.cluster.assumptions import SizedAssumptions
from tracekit.cluster.provenance import in_words
from tracekit.cluster.resources import BASE, PODS
from tracekit.cluster.series import fill_gaps
from tracekit.store.folder import Store

_AMOUNT = ("resource", "amount", "unit")
_DISK_IO = "disk_io"


@dataclass(frozen=True, kw_only=True)
class FurtherUse:
    """Recorded use of the resources beyond CPU and memory, for the containers that have such use.

    Parameters
    ----------
    used : tuple of int
        The positions of these resources among the workload's resources.
    values : float32, shape (used, steps, measured containers)
        Use in the resource's unit; NaN for a resource of which the container has no record.
    at : int64, shape (containers,)
        The position of each container in the last axis of ``values``, -1 for one without a record.
    """

    used: tuple[int, ...]
    values: Float32Array
    at: IntArray

    def by_column(self, column: IntArray, columns: int) -> Float32Array | None:
        """Return this use in another order of columns, shape (used, steps, columns).

        ``column`` gives the new column of each container, and ``columns`` is the number of columns.
        A column whose container has no record is NaN. The result is None if ``used`` is empty.
        """
        if not self.used:
            return None
        use = np.full((*self.values.shape[:2], columns), np.nan, dtype=np.float32)
        has_record = self.at >= 0
        use[:, :, column[has_record]] = self.values[:, :, self.at[has_record]]
        return use

    def lacking(self) -> list[int]:
        """Return the number of containers without a record, for each resource of ``used``."""
        return [len(self.at) - int((~np.isnan(first)).sum()) for first in self.values[:, 0]]


def columns_used(
    store: Store, assumptions: SizedAssumptions, recorded: Recorded = CONTAINERS
) -> dict[str, str]:
    """Return the workload's column of each resource with recorded use, such as disk_bytes for disk.

    CPU, memory and pods are left out. ``recorded`` says whose use: that of containers by default.
    """
    files = store.stated_files(recorded.amounts)
    if not files:
        return {}
    units = scan_parquet(*files).select("resource", "unit").unique().collect()
    ours = units.filter(pl.col("resource").str.starts_with(recorded.prefix)).with_columns(
        pl.col("resource").str.strip_prefix(recorded.prefix)
    )
    rows = in_columns(ours, assumptions, ()).sort("resource", "unit", nulls_last=True)
    pairs = rows.select("resource", "column").iter_rows()
    return {name: column for name, column in pairs if column not in (*BASE, PODS)}


def with_disk_io(store: Store, sizes: Sizes, nodes: Sequence[str]) -> Sizes:
    """Return the sizes with disk IO as a share: a node has 1, a container requests its mean use.

    Raises
    ------
    TracekitError
        Where no container's disk IO is recorded as a share.
    """
    files = store.stated_files(CONTAINERS.amounts)
    keys = ("container_key", *_AMOUNT)
    rows = scan_parquet(*files).select(keys) if files else pl.LazyFrame(schema=[*keys])
    shares = rows.filter(resource=_DISK_IO, unit=SHARE).group_by("container_key")
    mean = shares.agg(pl.col("amount").mean()).sort("container_key").collect()
    ids = sizes.containers["container"]
    at = positions_of(store, CONTAINERS, ids)[mean["container_key"].to_numpy()]
    mean_requests = mean.select(request="amount").with_columns(
        container=ids.gather(np.maximum(at, 0))
    )
    mean_requests = mean_requests.filter(at >= 0)
    if mean_requests.is_empty():
        raise TracekitError(
            "disk_io=recorded: no container's disk IO is recorded as a share of its node's",
            hint="leave it out; tracekit info STORE says what is recorded",
        )
    labels = {"resource": pl.lit(_DISK_IO), "unit": pl.lit(SHARE)}
    whole = pl.DataFrame({"node": nodes}).with_columns(amount=1.0, **labels)
    return dataclasses.replace(
        sizes,
        capacity=pl.concat([sizes.capacity, whole], how="diagonal_relaxed"),
        requests=pl.concat(
            [sizes.requests, mean_requests.with_columns(**labels)], how="diagonal_relaxed"
        ),
    )


def further_use_of(
    store: Store,
    ids: pl.Series,
    resources: Sequence[str],
    life: Lives,
    assumptions: SizedAssumptions,
) -> FurtherUse:
    """Return the recorded use of these containers, for ``resources`` beyond CPU and memory.

    A step without a sample has the value of the last sample before it, or else of the first sample.
    """
    recorded = set(columns_used(store, assumptions).values())
    wanted = {name: at for at, name in enumerate(resources) if name in recorded}
    spoken = np.zeros(len(ids), dtype=np.bool_)
    samples = _Samples(store, ids, list(wanted), life, assumptions)
    for _, _, at, _ in samples:
        spoken[at] = True
    place = np.where(spoken, np.cumsum(spoken) - 1, -1)
    shape = (len(wanted), len(life.times_ms), int(spoken.sum()))
    values = np.full(shape, np.nan, dtype=np.float32)
    for of, step, at, amount in samples:
        values[of, step, place[at]] = amount
    fill_gaps(values)
    some = np.asarray(~np.isnan(values).all(axis=(1, 2)))
    return FurtherUse(
        used=tuple(at for at, is_used in zip(wanted.values(), some, strict=True) if is_used),
        values=np.ascontiguousarray(values[some]),
        at=place,
    )


@dataclass(frozen=True)
class _Samples:
    """The samples of these columns, a row group at a time: column, step, container, amount."""

    store: Store
    ids: pl.Series
    columns: Sequence[str]
    life: Lives
    assumptions: SizedAssumptions

    def __iter__(self) -> Iterator[tuple[IntArray, IntArray, IntArray, Float32Array]]:
        if not self.columns:
            return
        times, position = self.life.times_ms, positions_of(self.store, CONTAINERS, self.ids)
        of = {name: at for at, name in enumerate(self.columns)}
        for rows in row_groups(
            self.store, CONTAINERS.amounts, ("time_ms", "container_key", *_AMOUNT)
        ):
            amounts = in_columns(rows, self.assumptions, ("amount",))
            amounts = amounts.filter(pl.col("column").is_in([*of])).drop_nulls("amount")
            at = position[amounts["container_key"].to_numpy()]
            step = (amounts["time_ms"].to_numpy() - times[0]) // self.life.step_ms
            inside = (at >= 0) & (step >= 0) & (step < len(times))
            column = amounts["column"].replace_strict(of, return_dtype=pl.Int64).to_numpy()
            amount = amounts["amount"].to_numpy().astype(np.float32)
            yield column[inside], step[inside], at[inside], amount[inside]


def passed_over(
    store: Store, assumptions: SizedAssumptions, resources: Sequence[str], used: Collection[int]
) -> list[Fact]:
    """Return facts on recorded use that a replay ignores, of resources beyond CPU and memory.

    Use is ignored if the resource is not among ``resources``, those of the workload. Use of nodes
    beyond that of their containers is ignored too; ``used`` has the positions in ``resources`` of
    those for which containers' use counts.
    """
    counted = {resources[at] for at in used}
    recorded = columns_used(store, assumptions)
    without = [name for name, column in recorded.items() if column not in resources]
    option = "disk_io=recorded" if _DISK_IO in without else None
    beyond = {
        column
        for record in (NODES, BACKGROUND)
        for column in columns_used(store, assumptions, record).values()
        if column in counted
    }
    named = in_words([name for name in resources if name in beyond]) if beyond else ""
    return [
        *(
            [remark("further_without_size", resources=", ".join(without), option=option)]
            if without
            else []
        ),
        *([remark("further_beyond_containers", resources=named)] if beyond else []),
    ]
