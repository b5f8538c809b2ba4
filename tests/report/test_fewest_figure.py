"""The figure of the fewest nodes: a bar of its count, what single orders need in words."""

from __future__ import annotations

import polars as pl

from tracekit.report.figures import get_figure


def _drawn(low: int, high: int) -> tuple[str, object]:
    frame = pl.DataFrame(
        {"policy": ["best_fit"], "nodes": [124], "nodes_low": [low], "nodes_high": [high],
         "of": [130], "bound": [63]}
    )  # fmt: skip
    figure = get_figure("fewest_nodes").draw(frame)
    return figure.layout.annotations[0].text, figure.data[0].error_x.array


def test_a_range_that_ends_below_the_bar_is_written_not_drawn() -> None:
    assert _drawn(115, 121) == ("best_fit: 124 (one order alone: 115 to 121)", None)
    assert _drawn(124, 124) == ("best_fit: 124", None)
