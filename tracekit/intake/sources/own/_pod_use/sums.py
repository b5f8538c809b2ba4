"""Adds the series of a container or node up to what it uses, without holding more than a part."""

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.words import counted
from tracekit.intake.sources._cluster import Batch, Broken
from tracekit.intake.sources.own._pod_use.parts import part_of
from tracekit.intake.sources.own._prometheus.counters import rated
from tracekit.intake.sources.own._prometheus.grid import Distances, apart, heard, on_grid, summed
from tracekit.intake.sources.own._prometheus.metrics import Use
from tracekit.intake.sources.own._prometheus.series import Series

#: So many samples are held in memory; with more they lie on disk, in so many parts.
_HELD = 3_000_000
_PARTS = 32
#: So many samples are added up at once.
_AT_ONCE = 250_000
#: What is in use in this unit must be there all at once: a mean of it is too little.
_ALL_AT_ONCE = "bytes"
#: An entity, its resource and where that stands: a number for each.
_Key = tuple[str, str, str, str]
#: Samples that come together: of which entity and part, with which sign, where, and if as rates.
_HEADS = ("entity", "part", "cgroup", "sign", "line", "series", "rate")
_Of = tuple[int, int, int, int, int, int, bool]
_SAMPLES = ("time_ms", "value", "seed")


class Sums:
    """Collects samples; those of parts that have no times in common are put on a grid.

    So are all of a file of ``scraped`` samples, which have the times of a query nowhere.

    The step of a resource's grid is the most common distance of samples of all its series. At the
    end of a step stands what a query of Prometheus at that time would find: the sample of each
    part, which holds until the next one, or until its series ends, or until it counts as silent.
    """

    def __init__(self, *, scraped: bool) -> None:
        self._scraped = scraped
        self._distances: dict[tuple[str, str], Distances] = {}
        self._keys: dict[_Key, int] = {}
        self._paired: set[int] = set()
        self._parts: dict[tuple[object, ...], int] = {}
        self._counted: dict[tuple[str, str], tuple[str, int]] = {}
        #: The cgroups of each part: a number for each, by its path.
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
        whose: str,
        name: Callable[[int], str],
        *,
        lives: Sequence[int],
        before: tuple[int, float] | None = None,
    ) -> None:
        """Add a series of the entity that ``name(life)`` is, whose lives begin at ``lives``.

        ``before`` is the last sample of a counter in a file before.
        """
        part = self.part(series, use, whose)
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

    def part(self, series: Series, use: Use, whose: str) -> int:
        """The number of what a series is beside others of its entity, however often it is seen."""
        of = use.fills, whose, use.resource, *part_of(series, use)
        part = self._parts.setdefault(of, len(self._parts))
        if self._first.setdefault(part, series.labels) != series.labels:
            self._replicated.add(part)
        return part

    def _cgroup(self, part: int, series: Series) -> int:
        """The number of the cgroup that a series is of."""
        of_part = self._cgroups.setdefault(part, {})
        return of_part.setdefault(series.labels.get("id", ""), len(of_part))

    def _nested(self) -> pl.DataFrame:
        """Cgroups below another one of the same part, which counts them already."""
        found = [
            (part, number)
            for part, paths in self._cgroups.items()
            if len(paths) > 1
            for path, number in paths.items()
            if any(path.startswith(f"{other}/") for other in paths if other)
        ]
        return pl.DataFrame(found, schema={"part": pl.Int32, "cgroup": pl.Int32}, orient="row")

    def leave_out(self, parts: Collection[int]) -> None:
        """Count nothing of these."""
        self._left_out = pl.Series("part", sorted(parts), dtype=pl.Int32)

    def rows(self) -> Iterator[Batch | Broken]:
        """The sums, a table at a time or a part of one."""
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
            kept = every.filter(~pl.col("part").is_in(self._left_out.implode()))
            kept = kept.join(nested, on=nested.columns, how="anti", maintain_order="left")
            kept = rated(kept)
            yield from self._repeated(kept, names)
            samples = heard(kept, self._steps())
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
        """The samples of each entity at times that its parts have in common."""
        if self._scraped:
            return on_grid(samples)
        if self._replicated:
            # where two replicas state a rate, the one of the shorter time is the closer one
            passed = pl.when("rate").then("passed_ms").otherwise(0)
            samples = samples.sort(passed, descending=True, maintain_order=True)
        moved = apart(samples)
        if moved.is_empty():
            return samples
        some = pl.col("entity").is_in(moved.implode())
        found = on_grid(samples.filter(some))
        return pl.concat([samples.filter(~some).select(found.columns), found])

    def _never_rated(self, having_rates: set[int]) -> Iterator[Broken]:
        """Counters of which not one rate could be made; ``having_rates`` are entities with any."""
        known = {
            (fills, what) for (fills, _, what, _), key in self._keys.items() if key in having_rates
        }
        for (fills, resource), (name, line) in self._counted.items():
            if (fills, resource) not in known:
                yield Broken(
                    table=f"{fills}_amount",
                    line=line,
                    column="amount",
                    reason=f"of {resource} is not known: no series of {name} has two samples"
                    f" without silence between; ask for a range of times, or for rate({name}[5m])",
                    text=name,
                )

    def _repeated(self, samples: pl.DataFrame, names: pl.DataFrame) -> Iterator[Broken]:
        """Who has several values for one time, where none is another's replica."""
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
        """The step of the grid of each entity, and whether the largest in a step counts there."""
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
        """Keep samples: times, values, and whether they are of a file before."""
        if len(times):
            self._pieces.append((of, (times, *more)))
            self._held += len(times)
        if self._held > _HELD:
            self._spill()

    def _frame(self) -> pl.DataFrame:
        """What is held, as a frame; nothing is held after that."""
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
            # a frame for some entities at a time
            count = 1 + samples.height // _AT_ONCE
            for at in range(count):
                yield samples.filter(pl.col("entity") % count == at)

    def _samples(self) -> Iterator[pl.DataFrame]:
        """All samples of some entities after those of others."""
        if self._pieces and self._folder is not None:
            self._spill()
        elif self._pieces:
            yield self._frame()
        if self._folder is not None:
            for folder in sorted(Path(self._folder.name).iterdir()):
                yield pl.read_parquet(folder / "*.parquet")


def _halved(named: pl.DataFrame) -> Iterator[Broken]:
    """Differences of two metrics of which only one is there."""
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
