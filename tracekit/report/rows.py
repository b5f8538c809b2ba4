"""Rows of a figure that each have a name: beside them, or above them where there is no room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracekit.report.plot import axis


def rows_axis(
    count: int, first: float, *, names: Sequence[str] | None = None, last: float = 0.4
) -> dict[str, Any]:
    """The axis of ``count`` rows, the first on top, with no line of its own.

    Parameters
    ----------
    first, last : float
        Room above the first row and below the last, in rows, counted from ``-first`` and to
        ``count - last``.
    names : sequence of str, optional
        The names beside the rows; without them nothing stands beside a row.
    """
    ticks: dict[str, Any] = {"tickvals": []}
    if names is not None:
        ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(names)}
    return axis("", **ticks, range=[count - last, -first], showgrid=False, zeroline=False)


def above(at: int, name: str, lift: float = 0.42, **more: Any) -> dict[str, Any]:
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
