"""Adds the series of a container or node up to what it uses, without holding more than a part."""

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.sources._cluster import Batch, Broken
from tracekit.sources.own._prometheus_metrics import Use
from tracekit.sources.own._prometheus_parts import part_of
from tracekit.sources.own._prometheus_series import Series

#: So many samples are held in memory; with more they lie on disk, in so many parts.
_HELD = 3_000_000
_PARTS = 32
#: So many samples are added up at once.
_AT_ONCE = 250_000
#: A sample holds so long, unless another follows or its series ends, and a counter is looked at
#: anew after it: Prometheus' look-back.
_SILENCE_MS = 300_000
_TOO_FEW = 2  # so few samples state no usual step
#: An entity, its resource and where that stands: a number for each.
_Key = tuple[str, str, str, str]


class Sums:
    """Collects samples; ``scraped`` ones, whose times differ by containers, are put on a grid.

    A resource's grid has the usual step of its first series that has one. At the end of a step
    stands what a query of Prometheus at that time would find: the last sample of each part, which
    holds until the next one, or until its series ends, or for five minutes.
    """

    def __init__(self, *, scraped: bool) -> None:
        self._scraped = scraped
        self._steps_ms: dict[tuple[str, str], int] = {}
        self._keys: dict[_Key, int] = {}
        self._paired: set[int] = set()
        self._parts: dict[tuple[object, ...], int] = {}
        self._counters: dict[tuple[object, ...], int] = {}
        self._first: dict[int, Mapping[str, str]] = {}
        self._replicated: set[int] = set()
        self._last: dict[int, tuple[int, float]] = {}
        self._pieces: list[tuple[int, int, int, int, np.ndarray, np.ndarray]] = []
        self._held = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._spilled = 0
        self._left_out = pl.Series("part", [], dtype=pl.Int32)

    def put_on_grid(self) -> None:
        """Put what is not scraped on a grid too."""
        self._scraped = True

    def add(
        self,
        series: Series,
        use: Use,
        whose: str,
        name: Callable[[int], str],
        *,
        lives: Sequence[int],
    ) -> None:
        """Add a series of the entity that ``name(life)`` is, whose lives begin at ``lives``."""
        part = self.part(series, use, whose)
        times, values = series.times_ms, series.values
        self._note_step(use, times)
        if use.counter and series.raw:
            times, values = self._rates(self._counter(series), times, values)
        if self._scraped and len(series.ends_ms):
            times = np.concatenate([times, series.ends_ms])
            values = np.concatenate([values, np.full(len(series.ends_ms), np.nan)])
        life = np.searchsorted(np.asarray(lives, dtype=np.int64), times, side="right") - 1
        for one in np.unique(life).tolist() if len(lives) else [0] * bool(len(times)):
            chosen = life == one if len(lives) else slice(None)
            entity = self._entity(use, name(one))
            sized = values[chosen] * (use.sign or 1)
            self._take((entity, part, use.sign), times[chosen], sized, series.line)

    def part(self, series: Series, use: Use, whose: str) -> int:
        """The number of what a series is beside others of its entity, however often it is seen."""
        of = use.fills, whose, use.resource, *part_of(series, use)
        part = self._parts.setdefault(of, len(self._parts))
        if self._first.setdefault(part, series.labels) != series.labels:
            self._replicated.add(part)
        return part

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
        for every in self._some():
            samples = every.filter(~pl.col("part").is_in(self._left_out.implode()))
            yield from self._repeated(samples, names)
            frame = _sum(self._on_grid(samples) if self._scraped else samples)
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
        if self._folder is not None:
            self._folder.cleanup()

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
            .agg(pl.col("line").max(), pl.col("more").sum())
            .sort("line", "name", "resource")
        )
        for line, name, fills, what, more in twice.select(
            "line", "name", "fills", "resource", "more"
        ).iter_rows():
            yield Broken(
                table=f"{fills}_amount",
                line=line,
                column="time_ms",
                reason=f"{more} samples of {what} are of a time that has one: the last one counts",
                text=name,
            )

    def _counter(self, series: Series) -> int:
        """The number of a counter; the same one goes on in another piece of its file."""
        of = series.name, *sorted(series.labels.items())
        return self._counters.setdefault(of, len(self._counters))

    def _entity(self, use: Use, name: str) -> int:
        key = self._keys.setdefault((use.fills, name, use.resource, use.unit), len(self._keys))
        if use.sign:
            self._paired.add(key)
        return key

    def _rates(
        self, part: int, times: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Increase per second since the sample before; a counter that fell began again at 0."""
        before = self._last.get(part)
        if len(times):
            self._last[part] = int(times[-1]), float(values[-1])
        if before is not None:
            times = np.concatenate([[before[0]], times])
            values = np.concatenate([[before[1]], values])
        passed = np.diff(times)
        more = np.diff(values)
        more = np.where(more < 0, values[1:], more)
        good = (passed > 0) & (passed <= _SILENCE_MS)
        return times[1:][good], more[good] / (passed[good] / 1000.0)

    def _note_step(self, use: Use, times: np.ndarray) -> None:
        if (use.fills, use.resource) not in self._steps_ms and len(times) > _TOO_FEW:
            steps, counts = np.unique(np.rint(np.diff(times) / 1000.0), return_counts=True)
            step_ms = max(1, int(steps[counts.argmax()])) * 1000
            self._steps_ms[use.fills, use.resource] = step_ms

    def _on_grid(self, samples: pl.DataFrame) -> pl.DataFrame:
        """What a query finds of each part, NaN left out, where its entity has any new sample."""
        steps = pl.DataFrame(
            [
                (key, self._steps_ms.get((fills, resource), 1))
                for (fills, _, resource, _), key in self._keys.items()
            ],
            schema={"entity": pl.Int32, "step_ms": pl.Int64},
            orient="row",
        )
        step, at, part = pl.col("step_ms"), pl.col("at"), ("entity", "part", "sign")
        last = (
            samples.join(steps, on="entity", how="left", maintain_order="left")
            .with_columns(at=-(-pl.col("time_ms") // step) * step)
            .sort(*part, "time_ms", maintain_order=True)
            .group_by(*part, "at", maintain_order=True)
            .agg(pl.col("value", "time_ms", "step_ms").last(), pl.col("line").min())
        )
        following = at.shift(-1).over(*part) - step
        silent = (pl.col("time_ms") + _SILENCE_MS) // step * step
        # a step that nobody states holds nothing beyond its own time
        held = pl.when(step > 1).then(pl.min_horizontal(following, silent)).otherwise(at)
        found = (
            last.with_columns(until=pl.max_horizontal(at, held))
            .filter(pl.col("value").is_not_nan())
            .with_columns(time_ms=pl.int_ranges(at, pl.col("until") + step, step))
            .select(*part, "line", "at", "time_ms", "value")
            .explode("time_ms")
        )
        new = found.filter(at == pl.col("time_ms")).select("entity", "time_ms").unique()
        return found.join(new, on=["entity", "time_ms"], how="semi", maintain_order="left")

    def _take(
        self, of: tuple[int, int, int], times: np.ndarray, values: np.ndarray, line: int
    ) -> None:
        """Keep samples of an entity, a part of it and its sign."""
        if len(times):
            self._pieces.append((*of, line, times, values))
            self._held += len(times)
        if self._held > _HELD:
            self._spill()

    def _frame(self) -> pl.DataFrame:
        """What is held, as a frame; nothing is held after that."""
        pieces, self._pieces, self._held = self._pieces, [], 0
        *heads, times, values = zip(*pieces, strict=True)
        counts = [len(some) for some in times]
        columns = {
            name: np.repeat(np.array(head, dtype=np.int64), counts)
            for name, head in zip(("entity", "part", "sign", "line"), heads, strict=True)
        }
        frame = pl.DataFrame(
            {**columns, "time_ms": np.concatenate(times), "value": np.concatenate(values)}
        )
        return frame.with_columns(pl.col("entity", "part", "sign").cast(pl.Int32))

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


def _sum(samples: pl.DataFrame) -> pl.DataFrame:
    """The last sample of each part in a step of the grid, and the parts' sum."""
    last = samples.group_by("entity", "part", "sign", "time_ms").agg(
        pl.col("value").last(), pl.col("line").min()
    )
    return last.group_by("entity", "time_ms").agg(
        pl.col("value").sum(),
        pl.col("line").min(),
        pl.col("sign").n_unique().alias("signs"),
    )
