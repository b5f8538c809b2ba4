"""Ways to place as marks: nodes in use across, and upwards what one gives up for them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import polars as pl

from tracekit.report.drawing.labels import Label, placed
from tracekit.report.drawing.palette import color
from tracekit.report.drawing.plot import axis, numbers, whiskers
from tracekit.report.trade_off import CHOSEN, name_of

Row = Mapping[str, Any]
#: The room between the axes, wide and high, and how many names it has.
Room = tuple[int, int, int]
#: What is beyond the upright axis has a mark so high.
EDGE = 0.97


def mark(
    figure: go.Figure,
    part: pl.DataFrame,
    look: tuple[str, int],
    up: Sequence[pl.Expr],
    told: Sequence[Any],
    *,
    bars: bool = True,
    **drawn: Any,
) -> None:
    """The marks of one shade, with a symbol and its size; ``told`` is what hovering says of each.

    ``up`` is how high a mark, and the ends of its interval, stand on the upright axis.
    """
    line = {"width": 2, "color": (shade := color(part["shade"][0]))}
    across = [part[name] for name in ("nodes", "nodes_low", "nodes_high")]
    upwards = [part.select(one).to_series() for one in up]
    figure.add_scatter(
        x=numbers(across[0]),
        y=numbers(upwards[0]),
        mode="markers",
        customdata=list(told),
        marker={"color": shade, "symbol": look[0], "size": look[1], "line": line},
        error_x=_reach(*across) if bars else None,
        error_y=_reach(*upwards) if bars else None,
        **drawn,
    )


def _reach(mean: pl.Series, low: pl.Series, high: pl.Series) -> dict[str, Any] | None:
    """The intervals of marks as lines; none where they met one order of arrival."""
    return None if high.null_count() == len(high) else whiskers(high - mean, mean - low)


def lay_out(
    figure: go.Figure, x: list[float], up: dict[str, Any], names: list[dict[str, Any]]
) -> None:
    """The axes, of which ``up`` is the upright one, and the names beside marks."""
    figure.update_layout(
        margin={"l": 62, "r": 24, "t": 16, "b": 56},
        xaxis=axis("Nodes in use, mean over time [nodes]", range=x, zeroline=False),
        yaxis=up,
        annotations=names,
    )


def names(
    rows: Sequence[Row],
    shown: Sequence[tuple[Row, bool]],
    height: Callable[[Row], float],
    ends: tuple[list[float], list[float]],
    room: Room,
) -> list[dict[str, Any]]:
    """Names beside marks, of which no one lies on a mark.

    Parameters
    ----------
    rows : sequence of mappings
        Every mark.
    shown : sequence of (mapping, bool)
        Those that are named as far as there is room, and whether one is named in any case.
    height : callable
        Where a mark stands on the upright axis.
    ends : pair
        From where to where the axes reach, across and upwards.
    """
    (left, right), (low, high) = ends

    def spot(row: Row) -> tuple[float, float]:
        up = (height(row) - low) / (high - low)
        return (row["nodes"] - left) / (right - left), min(up, EDGE)

    labels = []
    for row, must in shown:
        x, y = spot(row)
        labels.append(Label(text=name_of(row), x=x, y=y, must=must, bold=row["kind"] == CHOSEN))
    spots = placed(labels, list(map(spot, rows)), width_px=room[0], height_px=room[1], most=room[2])
    where = {id(one): row for one, (row, _) in zip(labels, shown, strict=True)}
    found = ((where[id(one)], drawn) for one, drawn in spots)
    return [{"x": row["nodes"], "y": height(row), **drawn} for row, drawn in found]
