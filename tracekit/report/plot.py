"""What all figures share: layout, axes and hover boxes in the palette's colours."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.report.palette import color
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
    figure = go.Figure()
    figure.update_layout(
        template="none",
        height=height_px,
        margin={"l": 62, "r": 16, "t": 20, "b": 56},
        paper_bgcolor=color("card"),
        plot_bgcolor=color("card"),
        font={"color": color("ink"), "size": 13},
        legend={
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        hoverlabel={
            "bgcolor": color("card"),
            "bordercolor": color("line"),
            "font": {"color": color("ink"), "size": 13},
        },
        bargap=0.08,
    )
    return figure


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
