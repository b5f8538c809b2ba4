"""Sums the series of each container or node to its use, with bounded memory."""

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.words import counted
from tracekit.intake.sources._source import Batch, Broken
from tracekit.intake.sources.own._prometheus.counters import rated
from tracekit.intake.sources.own._prometheus.grid import (
    Distances,
    entities_without_common_times,
    on_grid,
    summed,
    without_silence,
)
from tracekit.intake.sources.own._prometheus.metrics import Use
from tracekit.intake.sources.own._prometheus.series import Series
from tracekit.intake.sources.own._use_parts import part_of

#: The samples that are held in memory; more lie on disk, in this number of parts.
_HELD = 3_000_000
_PARTS = 32
#: The samples that are summed at once.
_AT_ONCE = 250_000
#: Of an amount in this unit the largest in a step counts: the peak needs room.
_ALL_AT_ONCE = "bytes"
#: The kind of entity, its name, the resource and the unit.
_Key = tuple[str, str, str, str]
#: The columns that all samples of a series share.
_HEADS = ("entity", "part", "cgroup", "sign", "line", "series", "rate")
_Of = tuple[int, int, int, int, int, int, bool]
_SAMPLES = ("time_ms", "value", "seed")


class Sums:
    """A sum of series of use: ``add`` takes series, ``rows`` yields the use of each entity.

    A use may have several parts, such as the CPUs of a node. Parts with common times are summed at
    those times. Parts without, and all parts of a ``scraped`` file, are put on a grid first.

    The step of a resource's grid is the most common distance between samples of its series. At the
    end of each step a part has the sample that a query of Prometheus would return at that time. A
    sample holds until the next sample, until its series ends, or until the series is silent.
    """

    def __init__(self, *, scraped: bool) -> None:
        self._scraped = scraped
        self._distances: dict[tuple[str, str], Distances] = {}
        self._keys: dict[_Key, int] = {}
        self._paired: set[int] = set()
        self._parts: dict[tuple[object, ...], int] = {}
        self._counted: dict[tuple[str, str], tuple[str, int]] = {}
        #: For each part the number of each cgroup, by the path of the cgroup.
        self._cgroups: dict[int, dict[str, int]] = {}
        self._first: dict[int, Mapping[str, str]] = {}
        self._replicated: set[int] = set()
        self._pieces: list[tuple[_Of, tuple[np.ndarray, ...]]] = []
        self._held = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._spilled = 0
        self._left_out = pl.Series("part", [], dtype=pl.Int32)

    def add(
        self,
        series: Series,
        use: Use,
        owner: str,
        name: Callable[[int], str],
        *,
        lives: Sequence[int],
        before: tuple[int, float] | None = None,
    ) -> None:
        """Add a series.

        Parameters
        ----------
        owner : str
            The pod or node of the series.
        name : callable
            Takes a position in ``lives`` (-1: before the first); returns the name in the store.
        lives : sequence of int
            The start in ms of each pod that had this name; empty for a single pod or a node.
        before : (int, float), optional
            Time and value of the last sample of a counter in an earlier file.
        """
        part = self.part(series, use, owner)
        self._distances.setdefault((use.fills, use.resource), Distances()).note(series.times_ms)
        rate = use.counter and series.raw
        times, values = series.times_ms, series.values
        seed = np.zeros(len(times), dtype=np.bool_)
        if before is not None:
            times, values = np.r_[before[0], times], np.r_[before[1], values]
            seed = np.r_[True, seed]
        if rate:
            self._counted.setdefault((use.fills, use.resource), (series.name, series.line))
        if ends := len(series.ends_ms):
            times = np.concatenate([times, series.ends_ms])
            values = np.concatenate([values, np.full(ends, np.nan)])
            seed = np.concatenate([seed, np.zeros(ends, dtype=np.bool_)])
        life = np.searchsorted(np.asarray(lives, dtype=np.int64), times, side="right") - 1
        for one in np.unique(life).tolist() if len(lives) else [0] * bool(len(times)):
            chosen = life == one if len(lives) else slice(None)
            entity = self._entity(use, name(one))
            sized = values[chosen] * (use.sign or 1)
            cgroup = self._cgroup(part, series)
            of = entity, part, cgroup, use.sign, series.line, series.number.counter, rate
            self._take(of, times[chosen], sized, seed[chosen])

    def part(self, series: Series, use: Use, owner: str) -> int:
        """Return the number of the part that a series measures; equal for equal parts."""
        of = use.fills, owner, use.resource, *part_of(series, use)
        part = self._parts.setdefault(of, len(self._parts))
        if self._first.setdefault(part, series.labels) != series.labels:
            self._replicated.add(part)
        return part

    def _cgroup(self, part: int, series: Series) -> int:
        """The number of the cgroup of a series."""
        of_part = self._cgroups.setdefault(part, {})
        return of_part.setdefault(series.labels.get("id", ""), len(of_part))

    def _nested(self) -> pl.DataFrame:
        """The cgroups below another cgroup of their part, which counts them already."""
        nested = [
            (part, number)
            for part, paths in self._cgroups.items()
            if len(paths) > 1
            for path, number in paths.items()
            if any(path.startswith(f"{other}/") for other in paths if other)
        ]
        return pl.DataFrame(nested, schema={"part": pl.Int32, "cgroup": pl.Int32}, orient="row")

    def leave_out(self, parts: Collection[int]) -> None:
        """Leave out the samples of these parts."""
        self._left_out = pl.Series("part", sorted(parts), dtype=pl.Int32)

    def rows(self) -> Iterator[Batch | Broken]:
        """Yield the use of containers and nodes over time in batches, and the rejects."""
        names = pl.DataFrame(
            [(key, *name) for name, key in self._keys.items()],
            schema={
                "entity": pl.Int32,
                "fills": pl.String,
                "name": pl.String,
                "resource": pl.String,
                "unit": pl.String,
            },
            orient="row",
        )
        paired = pl.Series("entity", sorted(self._paired), dtype=pl.Int32)
        having_rates: set[int] = set()
        nested = self._nested()
        for every in self._some():
            distinct = every.filter(~pl.col("part").is_in(self._left_out.implode()))
            distinct = distinct.join(nested, on=nested.columns, how="anti", maintain_order="left")
            rates = rated(distinct)
            yield from self._repeated(rates, names)
            samples = without_silence(rates, self._steps())
            having_rates |= set(samples.filter("rate")["entity"].unique())
            frame = summed(self._in_common(samples))
            halves = frame.filter(pl.col("entity").is_in(paired.implode()) & (pl.col("signs") < 2))
            yield from _halved(halves.join(names, on="entity", how="left"))
            whole = frame.join(
                halves.select("entity", "time_ms"), on=["entity", "time_ms"], how="anti"
            )
            joined = whole.join(names, on="entity", how="left").sort("entity", "time_ms")
            for fills in ("container", "node"):
                some = joined.filter(pl.col("fills") == fills)
                if some.height:
                    yield Batch(
                        table=f"{fills}_amount",
                        rows=some.select(
                            "time_ms",
                            pl.col("name").alias(fills),
                            "resource",
                            pl.col("value").alias("amount"),
                            "unit",
                            "line",
                        ),
                    )
        yield from self._never_rated(having_rates)
        if self._folder is not None:
            self._folder.cleanup()

    def _in_common(self, samples: pl.DataFrame) -> pl.DataFrame:
        """The samples of each entity, at common times of its parts."""
        if self._scraped:
            return on_grid(samples)
        if self._replicated:
            # of two rates by replicas, the rate over the shorter time is more exact
            passed = pl.when("rate").then("passed_ms").otherwise(0)
            samples = samples.sort(passed, descending=True, maintain_order=True)
        moved = entities_without_common_times(samples)
        if moved.is_empty():
            return samples
        some = pl.col("entity").is_in(moved.implode())
        on_steps = on_grid(samples.filter(some))
        return pl.concat([samples.filter(~some).select(on_steps.columns), on_steps])

    def _never_rated(self, having_rates: set[int]) -> Iterator[Broken]:
        """A reject for each metric whose counters gave no rate.

        ``having_rates`` has the entities with a rate.
        """
        rated_resources = {
            (fills, what) for (fills, _, what, _), key in self._keys.items() if key in having_rates
        }
        for (fills, resource), (name, line) in self._counted.items():
            if (fills, resource) not in rated_resources:
                yield Broken(
                    table=f"{fills}_amount",
                    line=line,
                    column="amount",
                    reason=f"of {resource} is not known: no series of {name} has two samples"
                    f" without silence between; ask for a range of times, or for rate({name}[5m])",
                    text=name,
                )

    def _repeated(self, samples: pl.DataFrame, names: pl.DataFrame) -> Iterator[Broken]:
        """A reject for each entity with several values at one time that no replicas explain."""
        if self._scraped:
            return
        replicated = pl.Series("part", sorted(self._replicated), dtype=pl.Int32)
        twice = (
            samples.filter(~pl.col("part").is_in(replicated.implode()))
            .group_by("entity", "part", "sign", "time_ms")
            .agg(pl.col("line").max(), (pl.len() - 1).alias("more"))
            .filter(pl.col("more") > 0)
            .join(names, on="entity", how="left")
            .group_by("name", "fills", "resource")
            .agg(pl.col("line").max(), pl.col("time_ms").min(), pl.col("more").sum())
            .sort("line", "name", "resource")
        )
        for line, name, fills, what, first, more in twice.select(
            "line", "name", "fills", "resource", "time_ms", "more"
        ).iter_rows():
            yield Broken(
                table=f"{fills}_amount",
                line=line,
                column="time_ms",
                reason=f"of {counted(more, 'sample')} of {what} is one that has a value already,"
                f" the first {first}: the last value counts",
                text=name,
            )

    def _entity(self, use: Use, name: str) -> int:
        key = self._keys.setdefault((use.fills, name, use.resource, use.unit), len(self._keys))
        if use.sign:
            self._paired.add(key)
        return key

    def _steps(self) -> pl.DataFrame:
        """The step of the grid of each entity, and whether the largest value of a step counts."""
        return pl.DataFrame(
            [
                (
                    key,
                    self._distances[fills, resource].step_ms(),
                    unit == _ALL_AT_ONCE,
                )
                for (fills, _, resource, unit), key in self._keys.items()
            ],
            schema={"entity": pl.Int32, "step_ms": pl.Int64, "largest": pl.Boolean},
            orient="row",
        )

    def _take(self, of: _Of, times: np.ndarray, *more: np.ndarray) -> None:
        """Hold samples: times, values, and whether a sample is of an earlier file."""
        if len(times):
            self._pieces.append((of, (times, *more)))
            self._held += len(times)
        if self._held > _HELD:
            self._spill()

    def _frame(self) -> pl.DataFrame:
        """Move the held samples into a frame."""
        pieces, self._pieces, self._held = self._pieces, [], 0
        heads, samples = zip(*pieces, strict=True)
        counts = [len(times) for times, *_ in samples]
        columns = {
            name: np.repeat(np.array(head), counts)
            for name, head in zip(_HEADS, zip(*heads, strict=True), strict=True)
        }
        for name, some in zip(_SAMPLES, zip(*samples, strict=True), strict=True):
            columns[name] = np.concatenate(some)
        return pl.DataFrame(columns).with_columns(
            pl.col("entity", "part", "cgroup", "sign").cast(pl.Int32),
            pl.col("series").cast(pl.UInt64),
        )

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tracekit-series-")
        held = self._frame()
        for (at,), some in held.group_by(pl.col("entity") % _PARTS):
            folder = Path(self._folder.name) / f"{at}"
            folder.mkdir(exist_ok=True)
            some.write_parquet(folder / f"{self._spilled}.parquet")
        self._spilled += 1

    def _some(self) -> Iterator[pl.DataFrame]:
        for samples in self._samples():
            count = 1 + samples.height // _AT_ONCE
            for at in range(count):
                yield samples.filter(pl.col("entity") % count == at)

    def _samples(self) -> Iterator[pl.DataFrame]:
        """Yield the samples of all entities, some entities at a time."""
        if self._pieces and self._folder is not None:
            self._spill()
        elif self._pieces:
            yield self._frame()
        if self._folder is not None:
            for folder in sorted(Path(self._folder.name).iterdir()):
                yield pl.read_parquet(folder / "*.parquet")


def _halved(named: pl.DataFrame) -> Iterator[Broken]:
    """A reject for each entity with only one of the two metrics of a difference."""
    counted = named.group_by("name", "fills").agg(pl.col("line").min(), pl.len().alias("count"))
    for line, name, fills, count in counted.select("line", "name", "fills", "count").iter_rows():
        yield Broken(
            table=f"{fills}_amount",
            line=line,
            reason=f"has {count} times with one of two metrics, of which the difference is"
            " due: node_memory_MemTotal_bytes less node_memory_MemAvailable_bytes; take in the"
            " files of both together, or ask for the difference",
            text=name,
        )
