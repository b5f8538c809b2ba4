"""Parts of figures: layout, axes, hover boxes, named rows, thinned points, colours."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl

HEIGHT_PX = 380
#: The significant digits of a figure's data.
DIGITS = 5
#: With this many powers of ten a logarithmic axis has one label for each.
_MANY_POWERS = 2.6


def blank(height_px: int = HEIGHT_PX) -> go.Figure:
    """Return a figure without data, with room for axis titles."""
    # a layout that is set later would first merge the library's default template
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
    """Return an axis with its title, which must carry the unit."""
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
    """Return a logarithmic axis for values, with whole numbers as labels.

    The library's own labels between powers of ten are single digits, such as 2 for 20.
    """
    positive = values.cast(pl.Float64).filter(values > 0).to_list()
    if not positive:
        return axis(title, type="log", **more)
    low, high = math.log10(min(positive)), math.log10(max(positive))
    steps = (1, 2, 5) if high - low < _MANY_POWERS else (1,)
    powers = range(math.floor(low) - 1, math.ceil(high) + 2)
    at = [float(f"{step}e{power}") for power in powers for step in steps]
    return axis(title, type="log", tickvals=at, ticktext=[f"{value:,.10g}" for value in at], **more)


def numbers(values: Iterable[Any]) -> list[Any]:
    """Numbers with a few significant digits; None for missing ones."""
    return [float(f"{v:.{DIGITS}g}") if isinstance(v, float) else v for v in values]


def rows_axis(count: float, first: float) -> dict[str, Any]:
    """Return a vertical axis for ``count`` rows, the first on top, without line or labels.

    Parameters
    ----------
    first : float
        Space above the first row, in rows.
    """
    span = [count - 0.4, -first]
    return axis("", tickvals=[], range=span, showgrid=False, zeroline=False)


def above(at: float, name: str, lift: float = 0.42, **more: Any) -> dict[str, Any]:
    """Return the annotation that names row ``at``, ``lift`` rows above it, at the left edge."""
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


#: The most points of a figure.
MOST_POINTS = 2000


def evenly(frame: pl.DataFrame, most: int = MOST_POINTS) -> pl.DataFrame:
    """Return at most ``most`` rows at even distances, with the first and the last one."""
    if frame.height <= most:
        return frame
    rows = np.linspace(0, frame.height - 1, most).round().astype(np.int64)
    return frame[rows]


def highest(frame: pl.DataFrame, group: str, value: str, most: int) -> pl.DataFrame:
    """Return the row with the highest value in each of ``most`` consecutive parts of each group."""
    at = pl.int_range(pl.len()).over(group) * most // pl.len().over(group)
    measured = frame.filter(pl.col(value).is_not_null()).with_columns(at.alias("_stretch"))
    top = pl.col(value) == pl.col(value).max().over(group, "_stretch")
    highest_rows = measured.filter(top).unique(
        [group, "_stretch"], keep="first", maintain_order=True
    )
    return highest_rows.drop("_stretch")


def whiskers(up: pl.Series, down: pl.Series) -> dict[str, Any]:
    """Return plotly error bars with lengths ``up`` and ``down``; a missing length is 0."""
    return {
        "type": "data",
        "array": numbers(up.fill_null(0)),
        "arrayminus": numbers(down.fill_null(0)),
        "thickness": 1,
        "width": 3,
    }


# Places for names beside marks, where they cover neither a mark nor another name.

FONT_PX = 12
#: The width of a letter at that size.
_LETTER_PX, _LINE_PX, _MARK_PX = 7.0, 16.0, 9.0
#: The places of a name: its anchor, and its distance from the mark to the right and down in px.
_PLACES = (
    ("left", 12, 0), ("right", -12, 0), ("center", 0, -18), ("center", 0, 18),
    ("left", 14, -20), ("left", 14, 20), ("right", -14, -20), ("right", -14, 20),
    ("left", 20, -42), ("right", -20, -42), ("left", 20, 42), ("right", -20, 42),
    ("left", 26, -66), ("right", -26, -66), ("left", 26, 66), ("right", -26, 66),
)  # fmt: skip
#: The distance from which on a line connects a name with its mark.
_BESIDE_PX = 19


@dataclass(frozen=True, kw_only=True)
class Label:
    """A text to place near a mark at ``x``, ``y``, on axes that run from 0 to 1.

    Parameters
    ----------
    must : bool
        Whether the label is placed even where no place is free; else it is left out.
    """

    text: str
    x: float
    y: float
    must: bool = False
    bold: bool = False


Box = tuple[float, float, float, float]


def placed(
    labels: Sequence[Label],
    marks: Sequence[tuple[float, float]],
    *,
    width_px: int,
    height_px: int,
    most: int,
) -> list[tuple[Label, dict[str, Any]]]:
    """Return the labels that get a place, in order, each with its plotly annotation.

    Parameters
    ----------
    marks : pairs of float
        All marks of the figure, on axes from 0 to 1.
    width_px, height_px : int
        The smallest size of the area between the axes.
    most : int
        The largest number of labels.
    """
    taken = [_around(x * width_px, (1 - y) * height_px) for x, y in marks]
    placements: list[tuple[Label, dict[str, Any]]] = []
    for one in labels:
        if len(placements) >= most:
            break
        at = one.x * width_px, (1 - one.y) * height_px
        boxes = [_box(one, at, place) for place in _PLACES]
        costs = [_cost(box, taken, width_px, height_px) for box in boxes]
        best = min(range(len(_PLACES)), key=lambda which: (costs[which], which))
        if costs[best] and not one.must:
            continue
        taken.append(boxes[best])
        placements.append((one, _drawn(one, _PLACES[best])))
    return placements


def _around(x: float, y: float) -> Box:
    return x - _MARK_PX, y - _MARK_PX, x + _MARK_PX, y + _MARK_PX


def _box(label: Label, at: tuple[float, float], place: tuple[str, int, int]) -> Box:
    anchor, right, down = place
    wide = len(label.text) * _LETTER_PX * (1.08 if label.bold else 1.0)
    x, y = at[0] + right, at[1] + down
    left = x if anchor == "left" else x - wide if anchor == "right" else x - wide / 2
    return left, y - _LINE_PX / 2, left + wide, y + _LINE_PX / 2


def _cost(box: Box, taken: Sequence[Box], width_px: int, height_px: int) -> float:
    """How many square pixels of a box are covered already, or lie outside."""
    left, top, right, bottom = box
    outside = max(-left, 0) + max(right - width_px, 0) + max(-top, 0) + max(bottom - height_px, 0)
    twice = sum(
        max(min(right, other[2]) - max(left, other[0]), 0)
        * max(min(bottom, other[3]) - max(top, other[1]), 0)
        for other in taken
    )
    return outside * _LINE_PX + twice


def _drawn(label: Label, place: tuple[str, int, int]) -> dict[str, Any]:
    anchor, right, down = place
    far = abs(down) > _BESIDE_PX
    return {
        "text": f"<b>{label.text}</b>" if label.bold else label.text,
        "showarrow": True,
        "arrowhead": 0,
        "arrowwidth": 1,
        "arrowcolor": color("bound") if far else "rgba(0,0,0,0)",
        "ax": right,
        "ay": down,
        "xanchor": anchor,
        "yanchor": "middle",
        "standoff": 6,
        "bgcolor": color("card"),
        "borderpad": 0,
        "font": {"size": FONT_PX},
    }


# The colours of a report, once for light and once for dark; figures name them, CSS holds them.
#
# The series colours are of the Okabe-Ito kind: told apart by lightness too, so that they stay
# apart for readers with any of the usual colour deficiencies. A test checks every contrast.

#: name: (light, dark). Text needs a contrast of 4.5 to its background, marks need 3.
SURFACES = {
    "page": ("#f5f6f8", "#12161b"),
    "card": ("#ffffff", "#1a2027"),
    "sunken": ("#f0f2f5", "#222a33"),
    "best": ("#e3f3e6", "#1d3a2a"),
}
TEXT = {
    "ink": ("#1a1f26", "#e8ebef"),
    "muted": ("#525c68", "#a9b3bf"),
    "accent": ("#0a58a6", "#84bdff"),
    "warn": ("#8f4700", "#f3b562"),
}
LINES = {
    "line": ("#d9dee4", "#38424e"),
    "grid": ("#e4e8ed", "#2e3742"),
}
SERIES = {
    "zone-a": ("#c4480b", "#ff9a62"),
    "zone-b": ("#7a8594", "#9aa6b5"),
    "zone-c": ("#0a66b5", "#62b0ff"),
    "zone-u": ("#8a6a00", "#e0b83f"),
    "zone-too-short": ("#8b7f95", "#b4a8bf"),
    "cpu": ("#6d3fa8", "#c7a0f5"),
    "memory": ("#00806a", "#4fd0b0"),
    "policy-1": ("#0a66b5", "#62b0ff"),
    "policy-2": ("#c4480b", "#ff9a62"),
    "policy-3": ("#00806a", "#4fd0b0"),
    "policy-4": ("#9a3d97", "#e79be4"),
    "policy-5": ("#8a6a00", "#e0b83f"),
    "policy-6": ("#2f3fb0", "#a3adff"),
    "observed": ("#1a1f26", "#e8ebef"),
    "bound": ("#6b7683", "#93a0ae"),
    "other": ("#8b95a1", "#7d8996"),
}
POLICY_SLOTS = sum(name.startswith("policy-") for name in SERIES)

_ALL = SURFACES | TEXT | LINES | SERIES


def color(name: str) -> str:
    """A colour of the palette, as figures and style sheets write it; KeyError for another name."""
    if name not in _ALL:
        raise KeyError(name)
    return f"var(--{name})"


def declarations(*, dark: bool) -> str:
    """Return the palette as CSS custom properties."""
    return " ".join(f"--{name}: {values[dark]};" for name, values in _ALL.items())
