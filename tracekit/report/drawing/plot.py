"""What all figures share: layout, axes, hover boxes, named rows, and points thinned for a page."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl

from tracekit.report.drawing.palette import color
from tracekit.units import EPOCH_FROM_MS

HEIGHT_PX = 380
#: Significant digits of a figure's data: more than a screen can show.
DIGITS = 5
#: From so many powers of ten on a logarithmic axis has one label for each.
_MANY_POWERS = 2.6

#: The title of an axis of time, in hours.
SINCE_START = "Time since the start of the trace [h]"


def blank(height_px: int = HEIGHT_PX) -> go.Figure:
    """A figure without data: room for axis titles, on the card's background."""
    # given at once: changed afterwards, it would merge the library's default template first
    return go.Figure(
        layout={
            "template": "none",
            "height": height_px,
            "margin": {"l": 62, "r": 16, "t": 20, "b": 56},
            "paper_bgcolor": color("card"),
            "plot_bgcolor": color("card"),
            "font": {"color": color("ink"), "size": 13},
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1.02,
                "yanchor": "bottom",
                "traceorder": "normal",
            },
            "hoverlabel": {
                "bgcolor": color("card"),
                "bordercolor": color("line"),
                "font": {"color": color("ink"), "size": 13},
            },
            "bargap": 0.08,
        }
    )


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its title, which must carry the unit."""
    return {
        "title": {"text": title, "standoff": 8, "font": {"size": 13}},
        "gridcolor": color("grid"),
        "linecolor": color("line"),
        "zerolinecolor": color("line"),
        "tickcolor": color("line"),
        "automargin": True,
        **more,
    }


def log_axis(title: str, values: pl.Series, **more: Any) -> dict[str, Any]:
    """A logarithmic axis for values; each label is a whole number that needs no neighbour to read.

    The library's own labels between powers of ten are single digits: 2 where 20 is meant.
    """
    known = values.cast(pl.Float64).filter(values > 0).to_list()
    if not known:
        return axis(title, type="log", **more)
    low, high = math.log10(min(known)), math.log10(max(known))
    steps = (1, 2, 5) if high - low < _MANY_POWERS else (1,)
    powers = range(math.floor(low) - 1, math.ceil(high) + 2)
    at = [float(f"{step}e{power}") for power in powers for step in steps]
    return axis(title, type="log", tickvals=at, ticktext=[f"{value:,.10g}" for value in at], **more)


def numbers(values: Iterable[Any]) -> list[Any]:
    """Numbers as figures carry them: a few significant digits, None for what is not there."""
    return [float(f"{v:.{DIGITS}g}") if isinstance(v, float) else v for v in values]


def percents(values: Iterable[float | None]) -> list[float | None]:
    """Fractions as percentages."""
    return numbers(None if value is None else 100.0 * value for value in values)


def hours(values_ms: Iterable[int], start_ms: int = 0) -> list[float | None]:
    """Milliseconds since trace start, which is ``start_ms``, as hours."""
    return numbers((value - start_ms) / 3_600_000 for value in values_ms)


def began(times_ms: pl.Series) -> int:
    """When the trace began: at 0, or at its first time where times count from 1970."""
    first = times_ms.min()
    return first if isinstance(first, int) and first >= EPOCH_FROM_MS else 0


def rows_axis(
    count: float,
    first: float,
    *,
    names: Sequence[str] | None = None,
    places: Sequence[float] | None = None,
    last: float = 0.4,
) -> dict[str, Any]:
    """The axis of ``count`` rows, the first on top, with no line of its own.

    Parameters
    ----------
    first, last : float
        Room above the first row and below the last, in rows, counted from ``-first`` and to
        ``count - last``.
    names : sequence of str, optional
        The names beside the rows; without them nothing stands beside a row.
    places : sequence of float, optional
        Where those rows are; else one after another.
    """
    ticks: dict[str, Any] = {"tickvals": []}
    if names is not None:
        at = list(range(len(names)) if places is None else places)
        ticks = {"tickmode": "array", "tickvals": at, "ticktext": list(names)}
    return axis("", **ticks, range=[count - last, -first], showgrid=False, zeroline=False)


def above(at: float, name: str, lift: float = 0.42, **more: Any) -> dict[str, Any]:
    """The annotation that names row ``at``, ``lift`` rows above it, at the left of the figure."""
    return {
        "text": name,
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": at - lift,
        "yref": "y",
        "showarrow": False,
        "font": {"size": 12},
        **more,
    }


#: More dots than this only make the file larger.
MOST_POINTS = 2000
#: All lines of a figure together; more of them have fewer points each.
MOST_LINE_POINTS = 4000
_MOST_PER_LINE, _FEWEST_PER_LINE = 720, 60


def evenly(frame: pl.DataFrame, most: int = MOST_POINTS) -> pl.DataFrame:
    """Every so-many-th row, the first and the last always among them."""
    if frame.height <= most:
        return frame
    kept = np.linspace(0, frame.height - 1, most).round().astype(np.int64)
    return frame[kept]


def lines(frame: pl.DataFrame, group: str, values: Sequence[str]) -> pl.DataFrame:
    """Lines of a figure, one per group: of each stretch of rows the lowest and the highest.

    So a peak stays however short it is. Groups stand in the order they first appear, rows within
    one in their own; a value that is not there is neither lowest nor highest.
    """
    parts = frame.partition_by(group, maintain_order=True)
    if not parts:
        return frame
    most = MOST_LINE_POINTS // len(parts)
    most = max(min(_MOST_PER_LINE, most), _FEWEST_PER_LINE)
    return pl.concat([_extremes(part, values, most) for part in parts])


def _extremes(part: pl.DataFrame, values: Sequence[str], most: int) -> pl.DataFrame:
    if part.height <= most:
        return part
    stretches = most // (2 * len(values))
    at = pl.int_range(pl.len(), dtype=pl.Int64)
    numbered = part.with_columns(at.alias("_at"), (at * stretches // pl.len()).alias("_stretch"))
    ends = [pl.col("_at").get(pl.col(v).arg_min()).alias(f"_low_{v}") for v in values]
    ends += [pl.col("_at").get(pl.col(v).arg_max()).alias(f"_high_{v}") for v in values]
    found = numbered.group_by("_stretch", maintain_order=True).agg(ends).drop("_stretch")
    kept = np.unique(found.unpivot()["value"].drop_nulls().to_numpy())
    return part[np.unique([0, *kept, part.height - 1])]


def highest(frame: pl.DataFrame, group: str, value: str, most: int) -> pl.DataFrame:
    """Of each group the row with the highest value in each of ``most`` stretches of its rows."""
    at = pl.int_range(pl.len()).over(group) * most // pl.len().over(group)
    known = frame.filter(pl.col(value).is_not_null()).with_columns(at.alias("_stretch"))
    top = pl.col(value) == pl.col(value).max().over(group, "_stretch")
    kept = known.filter(top).unique([group, "_stretch"], keep="first", maintain_order=True)
    return kept.drop("_stretch")


def drawn_of(frame: pl.DataFrame, group: str) -> str:
    """How many of the samples of each group are drawn, as a sentence; empty when all are."""
    samples = frame.group_by(group).agg(pl.col("samples").first())["samples"].sum()
    if samples <= frame.height:
        return ""
    return (
        f"{frame.height:,} of {samples:,} samples are drawn: the lowest and the highest of each"
        " stretch of time."
    )


def whiskers(up: pl.Series, down: pl.Series) -> dict[str, Any]:
    """Intervals of marks as thin lines; none where a mark has none."""
    return {
        "type": "data",
        "array": numbers(up.fill_null(0)),
        "arrayminus": numbers(down.fill_null(0)),
        "thickness": 1,
        "width": 3,
    }


def whisker(mean: float | None, low: float | None, high: float | None) -> dict[str, object] | None:
    """An interval as a line across; None where there is none, or it has no width."""
    if mean is None or low is None or high is None or low == high:
        return None
    return {
        "type": "data",
        "symmetric": False,
        "array": numbers([high - mean]),
        "arrayminus": numbers([mean - low]),
        "color": color("ink"),
        "thickness": 1.4,
        "width": 4,
    }
