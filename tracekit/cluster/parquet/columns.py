"""Columns of Parquet files that people write by hand: there, complete, and what they state."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.facts import Fact, remark
from tracekit.base.files.parquet import read_frame
from tracekit.base.opened import is_file
from tracekit.cluster.domains import KINDS
from tracekit.cluster.resources import BASE, DISK, DISK_IO, NET, PODS
from tracekit.cluster.series import hold
from tracekit.store.quantities import ABSENT, INFERRED, NAMES, RECORDED


def read(
    path: Path, schema: dict[str, type[pl.DataType]], nullable: set[str] | None = None
) -> pl.DataFrame:
    """A Parquet file with these columns; raises TracekitError for what is missing or wrong.

    Parameters
    ----------
    nullable : set of str, optional
        Columns that may hold NULL; in any other a NULL or NaN is an error.
    """
    if not is_file(path):
        raise TracekitError(
            f"workload file '{path}' is not there",
            hint="a workload folder holds nodes.parquet, containers.parquet and usage.parquet",
        )
    try:
        frame = read_frame(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise TracekitError(f"'{path}' is not a Parquet file: {error}") from None
    for name, wanted in schema.items():
        _check_column(path, frame, name, wanted)
    frame = frame.with_columns(pl.col(name).cast(kind) for name, kind in schema.items())
    for name in set(schema) - (nullable or set()):
        column = frame[name]
        bad = column.is_null() | (column.is_nan() if column.dtype.is_float() else False)
        if bad.any():
            raise TracekitError(
                f"{path.name}: column {name} has {int(bad.sum())} missing values, the first in row"
                f" {int(bad.arg_max() or 0)}, expected none"
            )
    return frame


def _check_column(path: Path, frame: pl.DataFrame, name: str, wanted: type[pl.DataType]) -> None:
    if name not in frame.columns:
        close = nearest(name, frame.columns)
        raise TracekitError(
            f"{path.name} has no column '{name}'; it has: {', '.join(frame.columns)}",
            hint=f"'{close}' may be '{name}'" if close else "see docs/how-to/own-workload.md",
        )
    found = frame.schema[name]
    numeric = wanted in (pl.Int64, pl.Float64)
    fits = found.is_integer() or (wanted == pl.Float64 and found.is_float())
    if found != pl.Null and (not fits if numeric else found != wanted):
        raise TracekitError(f"{path.name}: column {name} is {found}, expected {wanted()}")


def check_resources(frame: pl.DataFrame, known: set[str], file: str) -> None:
    """Raise TracekitError for a further column that is no amount of a resource."""
    for name in frame.columns:
        kind = frame.schema[name]
        if name not in known and not kind.is_integer() and kind != pl.Null:
            first = frame[name].drop_nulls().head(1).to_list()
            raise TracekitError(
                f"{file}: column {name} is {'text' if kind == pl.String else kind}"
                f"{f', {first[0]!r} for example' if first else ''}; a further column is an extended"
                " resource, whole numbers of it",
                hint="leave it out; labels and taints: docs/sources/folder.md",
            )


def check_known(values: pl.Series, known: set[str], kind: str, file: str) -> None:
    """Raise TracekitError for an id that the workload does not hold."""
    strange = next(
        (value for value in values.unique(maintain_order=True) if value not in known), None
    )
    if strange is not None:
        raise TracekitError(
            f"{file} speaks of {kind} '{strange}', expected one of the workload's {kind}s"
        )


@dataclass(frozen=True, kw_only=True)
class Filled:
    """How much of a matrix of use was not recorded.

    Attributes
    ----------
    silent : bool, shape (containers,)
        Those without any sample.
    held : int
        Steps of the lives of the others that have no sample of their own.
    asking : int
        Of those without any sample, how many request something, which stands in.
    """

    silent: BoolArray
    held: int
    asking: int

    def facts(self) -> dict[str, int]:
        """The counts that a run tells of, by their names there."""
        return {
            "containers_without_usage": int(self.silent.sum()),
            "containers_with_request_as_use": self.asking,
            "container_steps_held": self.held,
        }


def fill(used: Float32Array, request: IntArray, alive: BoolArray) -> Filled:
    """Fill gaps in place: by the nearest sample, and by the request of who has no sample at all.

    Parameters
    ----------
    used : float32, shape (resources, steps, containers)
        NaN where there is no sample; afterwards where the container is not alive.
    request : int64, shape (containers, resources)
    alive : bool, shape (steps, containers)
    """
    gaps = np.isnan(used[0])
    silent: BoolArray = np.asarray(gaps.all(axis=0))
    held = int((gaps & alive)[:, ~silent].sum())
    hold(used)
    used[:, :, silent] = request[silent].T[:, None, :]
    used[:, ~alive] = np.nan
    return Filled(silent=silent, held=held, asking=int((request[silent] > 0).any(axis=1).sum()))


def samples_outside(
    usage: pl.DataFrame, containers: pl.DataFrame, step_ms: int, first_ms: int
) -> int:
    """How many samples lie in steps before their container arrived, or after it departed.

    A sample counts at the beginning of its step, as the replay has it.
    """
    step = first_ms + (pl.col("time_ms") - first_ms) // step_ms * step_ms
    lives = containers.select("container", "arrival_ms", "departure_ms")
    found = usage.join(lives, on="container", how="inner").select(
        outside=(step < pl.col("arrival_ms")) | (step >= pl.col("departure_ms"))
    )
    return int(found["outside"].sum())


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
) -> tuple[Fact, ...]:
    """A fact for each of these files with columns that a replay does not read."""
    beyond = {
        file: [name for name in frame.columns if name not in known[file]]
        for file, frame in frames.items()
    }
    return tuple(
        remark("columns_unread", len(names), names=names, file=file)
        for file, names in beyond.items()
        if names
    )


_USED = "use of containers"


def rests_on(
    nodes: pl.DataFrame, containers: pl.DataFrame, usage: pl.DataFrame, *, calls: bool
) -> dict[str, str]:
    """For each quantity of a store ``recorded``, ``inferred`` or ``absent``.

    A store made of the same files has the same, but for columns that a replay does not read.

    Parameters
    ----------
    calls : bool
        Whether calls between services are known.
    """
    further = set(nodes.columns) - {"node", *KINDS}
    limits = [name for name in containers.columns if "_limit_" in name]
    there = {
        "node sizes": nodes.height > 0,
        "requests": _any(containers, {*BASE, *further}),
        "limits": _any(containers, limits),
        _USED: usage.height > 0,
        "network in use": _any(usage, {NET}),
        "disk in use": _any(usage, {DISK, DISK_IO}),
        "placement": _any(containers, {"node"}),
        "arrivals": containers.height > 0,
        "departures": _any(containers, {"departure_ms"}),
        "priorities": _any(containers, {"priority"}),
        "fault domains": _any(nodes, KINDS),
        "calls": calls,
        "prices": _any(nodes, {"price_per_hour"}),
    }
    known = {name: RECORDED if there.get(name) else ABSENT for name in NAMES}
    if there[_USED] and there["placement"]:
        # a node uses what those on it do
        known["use of nodes"] = INFERRED
    return known


def _any(frame: pl.DataFrame, columns: Collection[str]) -> bool:
    """Whether some row has a value in one of the columns."""
    return any(frame[name].is_not_null().any() for name in columns if name in frame.columns)
