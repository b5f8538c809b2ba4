"""The small tables that ``tracekit analyze`` shows of its results."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from tracekit.analysis.run import Analysis
from tracekit.base.units import percent
from tracekit.base.words import counted, words_of

#: An interval shows two digits where its first digit, with the decimals after it, is below this.
_TWO = 2.95
#: The most significant digits of a number on a screen; whole numbers keep all digits.
_SIGNIFICANT = 4


@dataclass(frozen=True, kw_only=True)
class SummaryTable:
    """A table of the printed summary, 80 columns wide; ``name`` is that of the result it shows."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""
    name: str = ""


def summary(analysis: Analysis) -> Iterator[SummaryTable]:
    """Yield the tables of the printed summary, as far as the analysis has their results."""
    if requests_recorded(analysis) and (first := _availability_zones(analysis)):
        yield first
    for name, build in (
        ("zone_summary_confidence", _zones),
        ("node_cohorts_confidence", _cohorts),
        ("node_vs_container_confidence", _levels),
        ("change_causes_confidence", _causes),
    ):
        if name in analysis.frames:
            yield replace(build(analysis.frames[name], analysis), name=name)


def _availability_zones(analysis: Analysis) -> SummaryTable | None:
    """The requested and used shares of the nodes of each availability zone; None without zones."""
    frame = analysis.frames.get("usage/availability_zones", pl.DataFrame())
    if frame.is_empty():
        return None
    shares = {
        f"{one}_{what}_share": weight
        for one, weight in (("cpu", "cpu_cores"), ("memory", "memory_bytes"))
        for what in ("requested", "used")
    }
    whole = frame.select(
        pl.lit("all").alias("availability_zone"),
        pl.col("nodes").sum(),
        *(
            (pl.col(share) * pl.col(weight)).sum()
            / pl.col(weight).filter(pl.col(share).is_not_null()).sum()
            for share, weight in shares.items()
        ),
    )
    blind = int(frame["nodes_without_use"].sum())
    both = pl.concat([frame.select(whole.columns), whole])
    return SummaryTable(
        title="How full the nodes are, by availability zone",
        columns=["zone", "nodes", "CPU requested", "used", "memory requested", "used"],
        rows=[
            [zone, nodes, *("-" if one is None else percent(one) for one in values)]
            for zone, nodes, *values in both.rows()
        ],
        note="means over the recorded time, as shares of what the nodes have"
        + (f"; {counted(blind, 'node')} without recorded use: in no share used" if blind else ""),
        name="usage/availability_zones",
    )


def _zones(frame: pl.DataFrame, analysis: Analysis) -> SummaryTable:
    measures = ("node_share", "cpu_mean", "memory_mean", "util_diff")
    nodes = dict(analysis.frames["usage/zone_summary"].select("zone", "nodes").rows())
    rows = [
        [zone, nodes[zone], *_cells(frame.filter(zone=zone), measures)]
        for zone in frame["zone"].unique().sort()
    ]
    return SummaryTable(
        title="Correlation zones of the nodes",
        columns=["zone", "nodes", "share", "CPU mean", "memory mean", "difference G"],
        rows=rows,
        note="A: CPU and memory of a node move against each other, B: hardly related, C: together;"
        " difference G: how far apart they are on average; % ± half of the 95 % interval, over"
        " nodes; the tables below in the same way",
    )


def _cohorts(frame: pl.DataFrame, analysis: Analysis) -> SummaryTable:
    cohorts = analysis.frames["usage/node_cohorts"]
    rows = [
        [cohort, nodes, f"{count:.1f}", *_cells(frame.filter(cohort=cohort), _COHORT_CELLS)]
        for cohort, nodes, count in cohorts.select("cohort", "nodes", "containers_per_node").rows()
    ]
    columns = ["cohort", "nodes", "containers", "node CPU", "container CPU", "its deviation"]
    return SummaryTable(
        title="Busy, idle and memory-skewed nodes",
        columns=columns,
        rows=rows,
        note="HIGH: mean CPU of 70 % or more; LOW: below 30 %; MEMSKEW: the nodes whose memory is"
        " farthest above their CPU; container CPU: of what a container may use",
    )


_COHORT_CELLS = ("cpu_mean", "container_cpu_mean", "container_cpu_std")


def _levels(frame: pl.DataFrame, _: Analysis) -> SummaryTable:
    rows = [
        [
            level,
            words_of(resource),
            *_cells(frame.filter(level=level, resource=resource), _LEVEL_CELLS),
        ]
        for level, resource in frame.select("level", "resource").unique().sort(pl.all()).rows()
    ]
    columns = ["level", "resource", "mean", "peak", "deviation"]
    return SummaryTable(title="Nodes against containers", columns=columns, rows=rows)


_LEVEL_CELLS = ("mean", "peak", "std")


def _causes(frame: pl.DataFrame, analysis: Analysis) -> SummaryTable:
    causes = analysis.frames["usage/change_causes"].select("cause", "events")
    rows = [
        [cause, events, *_cells(frame.filter(cause=cause), _CAUSE_CELLS, digits=2)]
        for cause, events in causes.rows()
    ]
    columns = ["cause", "events", "CPU change", "memory change"]
    return SummaryTable(
        title="Causes of utilization change",
        columns=columns,
        rows=rows,
        note="from one sample of a node to the next: deploy+ containers came, deploy- they left,"
        " request CPU moved by a step, quiet none of these",
    )


_CAUSE_CELLS = ("cpu_change_mean", "memory_change_mean")


def _cells(frame: pl.DataFrame, measures: Sequence[str], digits: int = 1) -> list[str]:
    """``45 ±8`` for each measure, in percent, with as many digits as its interval allows."""
    cells = []
    for measure in measures:
        row = frame.filter(measure=measure).row(0, named=True)
        mean, low, high = (row[name] for name in ("mean", "low", "high"))
        half = 0.0 if low is None else 50 * (high - low)
        decimals = None if mean is None else _with_interval(100 * mean, half)
        places = digits if decimals is None else decimals
        text = "-" if mean is None else f"{round(100 * mean, places) + 0.0:.{places}f}"
        reach = "" if decimals is None else f" ±{half:.{places}f}"
        if mean is not None and reach and measure not in _CAUSE_CELLS and half > 100 * mean:
            # a share is within 0 and 1
            reach = f" (0 to {min(100 * mean + half, 100):.{places}f})"
        cells.append(text + reach)
    return cells


def requests_recorded(analysis: Analysis) -> bool:
    """Return whether the store has requests of containers."""
    return not analysis.frames.get("services/requests", pl.DataFrame()).is_empty()


def _decimals(reach: float) -> int:
    """The decimals that show an interval with one digit, or with two where the first is 1 or 2."""
    places = math.floor(math.log10(reach))
    # 2.95 and more would be shown as 3.0
    return max(0, -places + int(reach / 10**places < _TWO))


def _most_decimals(value: float) -> int:
    """The most decimals of a value, by its significant digits."""
    return _SIGNIFICANT + 10 if not value else max(0, _SIGNIFICANT - 1 - _magnitude(value))


def _with_interval(value: float, reach: float) -> int | None:
    """The decimals of a value and of half its interval; None to show no interval.

    An interval that is narrower than the last shown digit is not shown.
    """
    if not math.isfinite(reach) or reach <= 0:
        return None
    places = min(_decimals(reach), _most_decimals(value))
    return None if reach < 0.5 * 10.0**-places else places


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)))
