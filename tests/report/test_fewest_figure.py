"""The figure of the fewest nodes: a bar of its count, what single orders need in words."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.report.blocks import legend
from tracekit.report.figures import get_figure


def _drawn(low: int, high: int) -> tuple[str, object]:
    frame = pl.DataFrame(
        {"policy": ["best_fit"], "nodes": [124], "nodes_low": [low], "nodes_high": [high],
         "of": [130], "bound": [63], "shade": ["policy-1"]}
    )  # fmt: skip
    figure = get_figure("fewest_nodes").draw(frame)
    return figure.layout.annotations[0].text, figure.data[0].error_x.array


def test_nodes_to_add_are_told_and_lie_beyond_the_line_of_all() -> None:
    frame = pl.DataFrame(
        {"policy": ["best_fit"], "nodes": [131], "nodes_low": [131], "nodes_high": [131],
         "of": [130], "bound": [98], "shade": ["policy-1"]}
    )  # fmt: skip
    figure = get_figure("fewest_nodes")
    said = figure.takeaway(frame).replace("\N{NO-BREAK SPACE}", " ")
    assert said == "The 130 nodes are too few; 1 more node is enough for best_fit."
    assert max(figure.draw(frame).data[0].x) == 131


def test_a_range_that_ends_below_the_bar_is_written_not_drawn() -> None:
    assert _drawn(115, 121) == ("best_fit: 124 (one order alone: 115 to 121)", None)
    assert _drawn(124, 124) == ("best_fit: 124", None)


def test_where_no_node_can_go_there_is_no_bar_but_what_single_orders_need() -> None:
    frame = pl.DataFrame(
        {"policy": ["best_fit"], "nodes": [130], "nodes_low": [126], "nodes_high": [130],
         "of": [130], "bound": [91], "shade": ["policy-1"]}
    )  # fmt: skip
    figure = get_figure("fewest_nodes")
    assert figure.takeaway(frame) == "No node can go under best_fit: it keeps all 130."
    drawn = figure.draw(frame)
    low, high = drawn.layout.xaxis.range
    assert (0 < low < 91, high > 130) == (True, True)  # no axis of which most is empty
    (bar,) = (one for one in drawn.data if one.type == "bar")
    (line,) = (one for one in drawn.data if one.type == "scatter" and one.x[0] is not None)
    assert list(bar.x) == [None]
    assert list(line.x) == [126, 130]


def test_no_line_crosses_a_name() -> None:
    frame = pl.DataFrame(
        {"policy": ["a", "b"], "nodes": [51, 60], "nodes_low": [51, 60], "nodes_high": [51, 60],
         "of": [40, 40], "bound": [20, 20], "shade": ["policy-1", "other"]}
    )  # fmt: skip
    drawn = get_figure("fewest_nodes").draw(frame)
    names = [one.y for one in drawn.layout.annotations]
    assert len(drawn.layout.shapes) == 4
    for line in drawn.layout.shapes:
        assert all(not min(line.y0, line.y1) < y < max(line.y0, line.y1) for y in names)


@pytest.mark.parametrize(
    ("bound", "named"),
    [
        (91, ["all 130 nodes", "lower bound: 91 nodes"]),
        (None, ["nodes that are enough", "all 130 nodes"]),
    ],
)
def test_the_legend_names_every_dashed_line(bound: int | None, named: list[str]) -> None:
    frame = pl.DataFrame(
        {"policy": ["best_fit"], "nodes": [130], "nodes_low": [126], "nodes_high": [130],
         "of": [130], "bound": [bound], "shade": ["policy-1"]},
        schema_overrides={"bound": pl.Int64},
    )  # fmt: skip
    drawn = get_figure("fewest_nodes").draw(frame)
    items = legend(drawn)
    assert [one.name.replace("\u00a0", " ") for one in items] == named
    assert [bool(one.dash) for one in items] == [bound is not None, True]
    lines = {line.line.color for line in drawn.layout.shapes}
    assert lines == {one.color for one in items if one.dash}
