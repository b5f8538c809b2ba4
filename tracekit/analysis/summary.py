"""What ``tracekit analyze`` shows of its results: a few small tables and sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from tracekit.analysis.work import Analysis
from tracekit.replay.measures import words_of
from tracekit.replay.runs.shown import with_interval
from tracekit.units import percent
from tracekit.words import counted


@dataclass(frozen=True, kw_only=True)
class SummaryTable:
    """A table that fits 80 columns; its name is that of the result it shows."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""
    name: str = ""


def summary(analysis: Analysis) -> Iterator[SummaryTable]:
    """The tables whose results are there, in the order a reader wants them."""
    for name, build in (
        ("zone_summary_confidence", _zones),
        ("node_cohorts_confidence", _cohorts),
        ("node_vs_container_confidence", _levels),
        ("change_causes_confidence", _causes),
    ):
        if name in analysis.frames:
            yield replace(build(analysis.frames[name], analysis), name=name)


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
        known = None if mean is None else with_interval(100 * mean, half)
        places = digits if known is None else known
        text = "-" if mean is None else f"{round(100 * mean, places) + 0.0:.{places}f}"
        reach = "" if known is None else f" ±{half:.{places}f}"
        if mean is not None and reach and measure not in _CAUSE_CELLS and half > 100 * mean:
            # no share is below 0, nor above all
            reach = f" (0 to {min(100 * mean + half, 100):.{places}f})"
        cells.append(text + reach)
    return cells


def requests_recorded(analysis: Analysis) -> bool:
    """Whether the store says what containers request, as the trace of 2021 does not."""
    return not analysis.frames.get("services/requests", pl.DataFrame()).is_empty()


def verdicts(analysis: Analysis) -> Iterator[str]:
    """Sentences for results that fit no table: doubts, tails, trends, sizes, missing data."""
    for name, say in (
        ("zones_confidence", _doubt),
        ("util_diff_tail", _tail),
        ("zone_trends", _trends),
        ("services/demand", _demand),
        ("service_sizes_fit", _sizes),
    ):
        if name in analysis.frames and not (say is _sizes and requests_recorded(analysis)):
            yield from say(analysis.frames[name])
    if requests_recorded(analysis):
        yield (
            "sizes of containers are not inferred here, as requests are recorded: services/requests"
        )
    for tables in sorted(set(analysis.missing.values())):
        names = [name for name, lacking in analysis.missing.items() if lacking == tables]
        yield f"without {' and '.join(tables)} there is no {', '.join(names)}"


#: A chance to be in the wrong zone up to this is not spoken of.
_UNLIKELY = 0.05


def _doubt(frame: pl.DataFrame) -> Iterator[str]:
    doubt = frame["other_zone_probability"].drop_nulls()
    if doubt.len() and not (doubt > _UNLIKELY).any():
        yield (
            f"of {counted(doubt.len(), 'node')} with a correlation zone none is likely to be in"
            " the wrong"
            " one"
        )
    elif doubt.len():
        yield (
            f"of {counted(doubt.len(), 'node')} with a correlation zone about {doubt.sum():.0f}"
            " may be in"
            f" the wrong one; for {(doubt > _UNLIKELY).sum():,} the chance of that is above 5 %"
        )


def _tail(frame: pl.DataFrame) -> Iterator[str]:
    row = frame.filter(zone="all").row(0, named=True)
    if row["hill_index"] is None:
        return
    low, high, slope = (row[name] for name in ("hill_index_low", "hill_index_high", "ccdf_slope"))
    reach = "" if low is None else f" ({low:.2f}..{high:.2f})"
    falls = "" if slope is None else f", log-log slope {slope:.2f}"
    yield (
        f"the upper {row['tail_nodes']} nodes by G (from {percent(row['tail_start'])}) have a"
        f" Hill index of {row['hill_index']:.2f}{reach}{falls}: the larger, the fewer lie far out"
    )


def _trends(frame: pl.DataFrame) -> Iterator[str]:
    for zone, share in frame.select("zone", "falling_share").rows():
        if zone == "A" and share is not None and percent(share, 0) != percent(0, 0):
            yield (
                f"on {percent(share, 0)} of the nodes of correlation zone A, CPU falls over"
                " time and memory does not change"
            )


def _demand(frame: pl.DataFrame) -> Iterator[str]:
    fits = frame["r_squared"].drop_nulls()
    if fits.len():
        falling = (frame["cpu_per_call"].drop_nulls() < 0).sum()
        but = f"; for {falling:,} CPU falls as calls rise" if falling else ""
        yield (
            f"calls explain {percent(float(fits.median() or 0), 0)} of a service's CPU (median of"  # type: ignore[arg-type]
            f" {counted(fits.len(), 'service')}){but}"
        )


def _sizes(frame: pl.DataFrame) -> Iterator[str]:
    for row in frame.iter_rows(named=True):
        size, low, high = (row[f"node_share{end}"] for end in ("", "_low", "_high"))
        known = None if None in (size, low) else with_interval(100 * size, 50 * (high - low))
        places = 1 if known is None else known
        found = "not known from this data" if size is None else f"{percent(size, places)} of a node"
        interval = (
            ""
            if known is None
            else f" (95 % interval {percent(low, places)} to {percent(high, places)})"
        )
        yield (
            f"{_words(row['resource'])} size of a container: {found}{interval};"
            f" known separately for {row['services_told']} of {counted(row['services'], 'service')}"
        )


def _words(resource: str) -> str:
    """A resource as sentences name it."""
    return "CPU" if resource == "cpu" else resource
