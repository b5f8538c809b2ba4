"""CPU and memory over time of one typical node per zone, as small multiples."""

import math

import plotly.graph_objects as go
import polars as pl

from tracekit.report.data import Data
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import (
    SINCE_START,
    axis,
    began,
    blank,
    drawn_of,
    hours,
    lines,
    percents,
)
from tracekit.report.figures import Figure
from tracekit.report.zones import all_zones, zone_label
from tracekit.sqlfiles import get_query
from tracekit.words import listed, signed

_SCHEMA = {
    "zone": pl.String,
    "node": pl.String,
    "pearson_r": pl.Float64,
    "util_diff": pl.Float64,
    "time_ms": pl.Int64,
    "cpu_fraction": pl.Float64,
    "memory_fraction": pl.Float64,
    "samples": pl.Int64,
}
_TYPICAL, _SERIES = "usage/typical_nodes", "usage/node_series"
_PANEL_PX, _GAP_PX, _EDGES_PX = 150, 46, 120


def _typical(data: Data) -> pl.DataFrame:
    """The typical node of each zone that is drawn."""
    typical = data.query(_TYPICAL)
    return typical if typical.is_empty() else typical.filter(pl.col("zone") != "too_short")


def _prepare(data: Data) -> pl.DataFrame:
    parts = []
    for row in _typical(data).iter_rows(named=True):
        series = data.query(_SERIES, node=row["node"])
        known = [pl.lit(row[name]).cast(_SCHEMA[name]).alias(name) for name in list(_SCHEMA)[:4]]
        samples = pl.len().cast(pl.Int64).alias("samples")
        parts.append(series.select(*known, *list(_SCHEMA)[4:7], samples))
    if not parts:
        return pl.DataFrame(schema=_SCHEMA)
    return lines(pl.concat(parts), "zone", ["cpu_fraction", "memory_fraction"])


def _zones(frame: pl.DataFrame) -> list[str]:
    present = set(frame["zone"])
    return [zone for zone in all_zones() if zone in present]


def _draw(frame: pl.DataFrame) -> go.Figure:
    zones = _zones(frame)
    panels = max(len(zones), 1)
    inner = panels * _PANEL_PX + (panels - 1) * _GAP_PX
    figure = blank(inner + _EDGES_PX)
    figure.update_layout(margin_t=40, legend_y=1 + 22 / inner)
    span = _span(frame)
    for at, zone in enumerate(zones):
        _panel(figure, at, inner, frame.filter(pl.col("zone") == zone), span)
    figure.update_xaxes(title_text="", showticklabels=False)
    bottom = "xaxis" if panels == 1 else f"xaxis{panels}"
    figure.update_layout({bottom: axis(SINCE_START, showticklabels=True)})
    return figure


def _span(frame: pl.DataFrame) -> list[float]:
    """The same range for every panel, in whole tens of per cent around all that is drawn."""
    low, high = (
        [
            100 * float(value)
            for name in ("cpu_fraction", "memory_fraction")
            if (value := getattr(frame[name], end)()) is not None
        ]
        for end in ("min", "max")
    )
    bottom, top = min(low, default=0.0), max(high, default=100.0)
    return [10 * math.floor(bottom / 10), 10 * math.floor(top / 10) + 10]


def _panel(
    figure: go.Figure, at: int, inner_px: int, part: pl.DataFrame, span: list[float]
) -> None:
    """One zone: a pair of axes of its own, both lines and a line of text above them."""
    top = 1 - at * (_PANEL_PX + _GAP_PX) / inner_px
    bottom = max(top - _PANEL_PX / inner_px, 0.0)
    number = "" if at == 0 else str(at + 1)
    figure.update_layout(
        {
            f"xaxis{number}": axis("", anchor=f"y{number}", matches="x" if number else None),
            f"yaxis{number}": axis(
                "In use [%]", anchor=f"x{number}", domain=[bottom, top], range=span, nticks=4
            ),
        }
    )
    for name, label in (("cpu", "CPU"), ("memory", "memory")):
        figure.add_scatter(
            x=hours(part["time_ms"], began(part["time_ms"])),
            y=percents(part[f"{name}_fraction"]),
            mode="lines" if part.height > 1 else "markers",
            name=label,
            legendgroup=name,
            showlegend=at == 0,
            line={"color": color(name), "width": 1.6},
            xaxis=f"x{number}",
            yaxis=f"y{number}",
            hovertemplate="%{x:.2f} h: %{y:.1f} %<extra>" + label + "</extra>",
        )
    row = part.row(0, named=True)
    r = "no r" if row["pearson_r"] is None else f"r = {signed(row['pearson_r'])}"
    figure.add_annotation(
        text=f"<b>Correlation zone {zone_label(row['zone'])}</b>, {r}",
        x=0,
        xref="paper",
        xanchor="left",
        y=top,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
    )


def _takeaway(frame: pl.DataFrame) -> str:
    first = frame.group_by("zone", maintain_order=True).first()
    said = [
        f"{100 * row['util_diff']:.1f} (zone {row['zone']})" for row in first.iter_rows(named=True)
    ]
    return f"CPU and memory of the typical node lie {listed(said)} percentage points apart."


def _table(frame: pl.DataFrame) -> pl.DataFrame:
    """What the lines of each zone show, in numbers."""
    return frame.group_by("zone", maintain_order=True).agg(
        pl.col("node").first(),
        pl.col("pearson_r").first(),
        pl.col("samples").first(),
        pl.col("cpu_fraction").min().alias("cpu_min_fraction"),
        pl.col("cpu_fraction").max().alias("cpu_max_fraction"),
        pl.col("memory_fraction").min().alias("memory_min_fraction"),
        pl.col("memory_fraction").max().alias("memory_max_fraction"),
    )


def _sql(data: Data) -> list[tuple[str, str]]:
    """The typical nodes, and of each of them the samples that are drawn."""
    typical, series = (get_query(name) for name in (_TYPICAL, _SERIES))
    said = [(_TYPICAL, typical.text)]
    for row in _typical(data).iter_rows(named=True):
        node = row["node"].replace("'", "''")
        asked = f"SET VARIABLE node = '{node}';\n{series.text}"
        said.append((f"{_SERIES}, zone {row['zone']}", asked))
    return said


FIGURE = Figure(
    title="CPU and memory over time on a typical node of each correlation zone",
    question="What does a node of each correlation zone look like?",
    how_to_read="Each panel is the node whose correlation is the median of its correlation zone."
    " The room between the two lines is capacity that one resource leaves idle. Memory often moves"
    " too little to be seen here: the table has how far each line moves.",
    reads=(_TYPICAL, _SERIES),
    sql=_sql,
    prepare=_prepare,
    draw=_draw,
    takeaway=_takeaway,
    table=_table,
    absent="No node has enough samples to stand for a correlation zone, so there is no"
    " typical node to show.",
    csv=("zone", "time_ms", "cpu_fraction", "memory_fraction"),
    note=lambda frame: drawn_of(frame, "zone"),
)
