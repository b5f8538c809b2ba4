"""The ledger: contradictions and gaps of records, and what was done about them; with totals."""

from typing import Literal, get_args

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray

Defect = Literal[
    "duplicate_record",
    "rpc_id_not_a_path",
    "missing_upstream",
    "missing_downstream",
    "several_upstreams",
    "several_downstreams",
    "swapped_ends",
    "outvoted_upstream",
    "outvoted_downstream",
    "reused_rpc_id",
    "missing_twin",
    "missing_call",
    "contradicts_parent",
    "ambiguous_parent",
    "orphan",
    "several_entries",
    "incomplete_graph",
]
Action = Literal[
    "kept",
    "left out",
    "merged",
    "kept apart",
    "inserted",
    "moved up",
    "moved beside",
    "first taken",
    "settled",
    "named by twin",
    "named by parent",
    "named by calls below",
    "named by siblings",
    "turned round",
    "outside the trace",
]

#: The unit in which each defect is counted.
UNITS: dict[Defect, str] = {
    **dict.fromkeys(get_args(Defect), "records"),
    "several_upstreams": "rpc ids",
    "several_downstreams": "rpc ids",
    "missing_call": "rpc ids",
    "reused_rpc_id": "calls",
    "contradicts_parent": "calls",
    "ambiguous_parent": "calls",
    "orphan": "calls",
    "several_entries": "entries",
    "incomplete_graph": "traces",
}
_DEFECTS = pl.Enum(get_args(Defect))
_ACTIONS = pl.Enum(get_args(Action))
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "trace": pl.Int64,
    "defect": _DEFECTS,
    "action": _ACTIONS,
    "count": pl.Int64,
}


class Ledger:
    """Counts of defects by trace and action; an action is what was done about a defect.

    Parameters
    ----------
    traces : int
        The number of traces. ``note`` takes positions of traces, 0..traces - 1.
    """

    def __init__(self, traces: int) -> None:
        self._traces = traces
        self._counts: dict[tuple[Defect, Action], IntArray] = {}

    def note(
        self, defect: Defect, action: Action, trace: IntArray, weight: IntArray | None = None
    ) -> None:
        """Count a defect once (or ``weight`` times) for each of the given traces."""
        if len(trace):
            counted = np.bincount(trace, weights=weight, minlength=self._traces).astype(np.int64)
            before = self._counts.get((defect, action))
            self._counts[defect, action] = counted if before is None else before + counted

    def of(self, defect: Defect) -> IntArray:
        """Return how often each trace has a defect, under any action, int64 of shape (traces,)."""
        total = np.zeros(self._traces, dtype=np.int64)
        for (name, _), counts in self._counts.items():
            if name == defect:
                total += counts
        return total

    def frame(self) -> pl.DataFrame:
        """Return the counts above 0: trace (its position), defect, action, count; sorted."""
        frames = [
            pl.DataFrame({"trace": np.flatnonzero(counts), "count": counts[counts > 0]}).select(
                "trace",
                pl.lit(defect, dtype=_DEFECTS).alias("defect"),
                pl.lit(action, dtype=_ACTIONS).alias("action"),
                "count",
            )
            for (defect, action), counts in self._counts.items()
        ]
        return pl.concat([pl.DataFrame(schema=SCHEMA), *frames]).sort("trace", "defect", "action")


_EDGE = ["upstream_key", "downstream_key", "rpc_type"]
#: Numbers of calls of a trace that are not as they should be.
_AMISS = ("missing_calls", "extra_calls", "left_out", "contradicting")
_COMPACT_ROWS = 500_000
_COMPACT_FRAMES = 50


class Tally:
    """Sums of columns by key, over many frames; ``add`` takes a frame, ``frame`` returns the sums.

    Frames are summed when their rows outnumber those of the sums so far, or when there are many
    frames. So neither memory nor the cost of a frame grows with the number of frames.

    Parameters
    ----------
    keys : columns that name a row; with no key there is one sum over all rows
    smallest : columns of which the smallest value is kept; all others are summed
    """

    def __init__(self, keys: list[str], *, smallest: tuple[str, ...] = ()) -> None:
        self._keys = keys
        self._sums = [pl.exclude(smallest).sum(), *(pl.col(name).min() for name in smallest)]
        self._frames: list[pl.DataFrame] = []
        self._fresh = 0

    def add(self, counts: pl.DataFrame) -> None:
        """Add a frame; its columns are the keys and numbers to sum."""
        self._frames.append(counts)
        self._fresh += counts.height
        many = self._fresh > max(_COMPACT_ROWS, self._frames[0].height)
        if many or len(self._frames) > _COMPACT_FRAMES:
            self._frames = [self.frame()]
            self._fresh = 0

    def frame(self) -> pl.DataFrame:
        """Return the sums, one row per key, in no order."""
        every = pl.concat(self._frames)
        if not self._keys:
            return every.sum()
        return every.group_by(self._keys).agg(self._sums)


class Totals:
    """Totals over the call graphs of many traces, which ``add`` takes some at a time.

    Response times are counted in whole ms, as they are recorded, so their quantiles are exact.
    """

    def __init__(self) -> None:
        self._durations = Tally([*_EDGE, "response_time_ms"])
        self._called = Tally(["service_key"])
        self._calling = Tally(["service_key"])
        self._shapes = Tally(["measure", "value"])
        self._ledger = Tally(["defect", "action"])
        self._traces = Tally([])

    def add(self, calls: pl.DataFrame, traces: pl.DataFrame, ledger: pl.DataFrame) -> None:
        """Add the frames of ``calls_frame``, ``traces_frame`` and ``ledger_frame``."""
        recorded = calls.filter(pl.col("by_caller") | pl.col("by_callee"))
        count = pl.col("repeats").sum().alias("calls")
        self._durations.add(recorded.group_by(*_EDGE, "response_time_ms").agg(count))
        self._called.add(
            recorded.group_by(pl.col("downstream_key").alias("service_key")).agg(
                count, pl.col("trace_key").n_unique().cast(pl.Int64).alias("traces")
            )
        )
        self._calling.add(
            recorded.group_by(pl.col("upstream_key").alias("service_key")).agg(
                count.alias("calls_made")
            )
        )
        self._add_shapes(calls, traces)
        self._add_ledger(ledger)
        self._traces.add(_sums(traces))

    def _add_shapes(self, calls: pl.DataFrame, traces: pl.DataFrame) -> None:
        for measure, values in (
            ("calls", traces["calls"]),
            ("depth", traces["depth"]),
            ("services", traces["services"]),
            ("fan_out", calls["fan_out"].filter(calls["fan_out"] > 0)),
        ):
            counted = values.cast(pl.Int64).alias("value").value_counts(name="count")
            self._shapes.add(
                counted.select(
                    pl.lit(measure).alias("measure"), "value", pl.col("count").cast(pl.Int64)
                )
            )

    def _add_ledger(self, ledger: pl.DataFrame) -> None:
        self._ledger.add(
            ledger.group_by("defect", "action").agg(
                pl.col("count").sum(), pl.len().cast(pl.Int64).alias("traces")
            )
        )

    def traces(self) -> dict[str, int]:
        """Return counts over all traces: the dict that ``CallGraphs.counts`` describes."""
        return {name: int(value) for name, value in self._traces.frame().row(0, named=True).items()}

    def ledger(self) -> pl.DataFrame:
        """Return counts over all traces: defect, action, count, traces; sorted."""
        return self._ledger.frame().sort("defect", "action")

    def shapes(self) -> pl.DataFrame:
        """Return how often each value of a measure occurs: measure, value, count; sorted.

        Measures: calls, depth and services of a trace; fan_out of a call that made any.
        """
        return self._shapes.frame().sort("measure", "value")

    def edges(self) -> pl.DataFrame:
        """Return one row per upstream_key, downstream_key and rpc_type.

        Columns: calls, response_time_p50_ms, response_time_p95_ms, response_time_max_ms, weight
        (the edge's share, 0..1, of the calls to the downstream that name an upstream; NULL for an
        edge without upstream).
        """
        counted = self._durations.frame().sort(*_EDGE, "response_time_ms")
        has_time = pl.col("response_time_ms").is_not_null()
        edges = counted.group_by(_EDGE, maintain_order=True).agg(
            pl.col("calls").sum(),
            *(
                _quantile(share).alias(f"response_time_p{100 * share:.0f}_ms")
                for share in (0.5, 0.95)
            ),
            pl.col("response_time_ms").filter(has_time).max().alias("response_time_max_ms"),
        )
        named = pl.when(pl.col("upstream_key").is_not_null()).then("calls")
        weight = named / named.sum().over("downstream_key")
        return edges.with_columns(weight=weight.round(12))

    def services(self) -> pl.DataFrame:
        """Return how many calls go to and come from each service, the busiest service first.

        Columns: service_key, calls (to the service), traces (that call the service), calls_made (by
        the service).
        """
        both = self._called.frame().join(
            self._calling.frame(), on="service_key", how="full", coalesce=True, nulls_equal=True
        )
        counts = pl.exclude("service_key").fill_null(0)
        return both.with_columns(counts).sort(
            "calls", "service_key", descending=[True, False], nulls_last=True
        )


def _sums(traces: pl.DataFrame) -> pl.DataFrame:
    """Sums over traces, as a frame of one row."""
    counted = {
        "traces": pl.len(),
        **{
            name: pl.col(name).sum()
            for name in ("records", "calls", "inserted", "left_out", "contradicting")
        },
        "connected": pl.col("connected").sum(),
        "with_missing_calls": (pl.col("missing_calls") > 0).sum(),
        "with_reused_rpc_ids": (pl.col("extra_calls") > 0).sum(),
        "with_left_out_calls": (pl.col("left_out") > 0).sum(),
        "with_contradicting_calls": (pl.col("contradicting") > 0).sum(),
        "unaffected": (pl.sum_horizontal(_AMISS) == 0).sum(),
        "split": (pl.col("files") > 1).sum(),
    }
    return traces.select(expr.cast(pl.Int64).alias(name) for name, expr in counted.items())


def _quantile(share: float) -> pl.Expr:
    """The quantile of response times that are counted by value, between neighbours as in SQL.

    Within a group, rows are sorted by response time and ``calls`` says how often each occurs.
    """
    value = pl.col("response_time_ms").drop_nulls()
    reached = pl.col("calls").filter(pl.col("response_time_ms").is_not_null()).cum_sum()
    position = (reached.last() - 1) * share
    low = value.filter(reached > position.floor()).first()
    high = value.filter(reached > position.ceil()).first()
    return low + (high - low) * (position - position.floor())


def summary(shapes: pl.DataFrame) -> pl.DataFrame:
    """Return statistics of ``Totals.shapes``: measure, total (count), mean, p50, p95, p99, max."""
    reached = pl.col("count").cum_sum()
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return shapes.group_by("measure", maintain_order=True).agg(
        pl.col("count").sum().alias("total"),
        ((pl.col("value") * pl.col("count")).sum() / pl.col("count").sum()).alias("mean"),
        *(
            pl.col("value").filter(reached >= reached.last() * share).first().alias(name)
            for name, share in shares.items()
        ),
        pl.col("value").max().alias("max"),
    )
