"""The policies that a title names are those in colour."""

from __future__ import annotations

import polars as pl
import pytest
from report_support import made_up

from tracekit.report.drawing.palette import color
from tracekit.report.figures import get_figure
from tracekit.report.measures import named
from tracekit.report.trade_off import BEATEN, CHOSEN, FRONT, PRODUCTION, RIVAL


def test_who_is_named_is_in_colour() -> None:
    data = made_up(more=20)
    (best,) = named(data)
    ranks = get_figure("policy_ranks")
    frame = ranks.prepare(data)
    assert f" {best}" in ranks.takeaway(frame)
    for draw in (ranks.draw, ranks.narrow):
        assert draw is not None
        marks = {at: trace["marker"]["color"] for trace in draw(frame).data for at in trace["y"]}
        place = frame["policy"].to_list().index(best)
        assert marks[place] == color("policy-1")
        assert list(marks.values()).count(color("policy-1")) == 1


def test_lines_over_time_are_few_and_the_named_one_is_among_them() -> None:
    data = made_up(more=20)
    peak = get_figure("replay_peak")
    drawn = [trace.name for trace in peak.draw(peak.prepare(data)).data]
    assert set(named(data)) < set(drawn)
    assert len(drawn) <= 4


def test_the_distribution_is_of_before_and_after() -> None:
    data = made_up(more=20)
    figure = get_figure("node_distribution")
    frame = figure.prepare(data)
    assert frame["policy"].unique(maintain_order=True).to_list() == ["observed", *named(data)]
    assert frame["nodes"].sum() == 4 * frame["of_nodes"][0]


def test_labels_of_the_trade_off_are_of_who_the_title_names() -> None:
    data = made_up(more=20)
    figure = get_figure("replay_tradeoff")
    frame = figure.prepare(data)
    title = figure.takeaway(frame)
    rivals = frame.filter(kind=RIVAL)["policy"].to_list()
    assert all(name in title for name in [*named(data), *rivals])
    assert figure.narrow is not None
    for draw in (figure.draw, figure.narrow):
        drawn = draw(frame)
        texts = [str(one.text) for one in drawn.layout.annotations]
        assert f"<b>{named(data)[0]}</b>" in texts
        assert "observed (production)" in texts
        assert all(any(text.startswith(name) for text in texts) for name in rivals)
        colours = {one.name: one.marker.color for one in drawn.data}
        assert colours[CHOSEN] == color("policy-1")
        assert {colours[kind] for kind in (FRONT, BEATEN) if kind in colours} <= {color("other")}


def _trade_off(*rows: tuple[str, float, float, str]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "policy": name, "same": 0, "nodes": nodes, "nodes_low": nodes - 1,
                "nodes_high": nodes + 1, "overload_share": share, "overload_low": share,
                "overload_high": share + 1e-4, "of_nodes": 130, "allowed_share": 1e-4, "kind": kind,
            }
            for name, nodes, share, kind in rows
        ]
    )  # fmt: skip


def test_a_mark_under_another_is_seen_and_what_is_far_above_has_no_say_in_the_scale() -> None:
    frame = _trade_off(
        ("observed", 130.0, 0.0, PRODUCTION),
        ("default_scheduler", 130.0, 0.0, CHOSEN),
        ("tpso", 126.0, 5e-4, RIVAL),
        ("best_fit", 80.0, 0.2, FRONT),
    )
    figure = get_figure("replay_tradeoff")
    drawn = figure.draw(frame)
    symbols = {one.name: one.marker.symbol for one in drawn.data}
    sizes = {one.name: one.marker.size for one in drawn.data}
    assert str(symbols[CHOSEN]).endswith("-open")
    assert sizes[CHOSEN] > sizes[PRODUCTION]
    # the axis is drawn by the square root, and its ticks say percent
    assert drawn.layout.yaxis.range[1] < 0.2**0.5
    ticks = dict(zip(drawn.layout.yaxis.ticktext, drawn.layout.yaxis.tickvals, strict=True))
    assert all(at**2 == pytest.approx(float(text), rel=1e-4) for text, at in ticks.items())
    (rival,) = [one for one in drawn.data if one.name == RIVAL]
    assert rival.y[0] ** 2 == pytest.approx(0.05, rel=1e-4)
    assert len(ticks) >= 3
    (beyond,) = [one for one in drawn.data if one.name not in (CHOSEN, PRODUCTION, RIVAL)]
    assert list(beyond.customdata[0]) == ["best_fit", 20.0]
    assert beyond.y[0] < drawn.layout.yaxis.range[1]
    assert "With fewer nodes every other way overloads more than is allowed" in figure.takeaway(
        frame
    )


def test_the_highest_line_is_the_highest_once_the_cluster_is_filled() -> None:
    data = made_up()
    steps = data.replay("steps").filter(policy="first_fit")
    high = {"early": (3.0, 0.5), "late": (0.6, 2.0)}
    others = [
        steps.with_columns(
            pl.lit(name).alias("policy"),
            pl.when("settled").then(after).otherwise(before).alias("cpu_max_fraction"),
        )
        for name, (before, after) in high.items()
    ]
    observed = data.replay("steps").filter(policy="observed")
    data._run_frames["steps"] = pl.concat([observed, *others])
    frame = get_figure("replay_peak").prepare(data)
    assert frame["policy"].unique(maintain_order=True).to_list()[1] == "late"
