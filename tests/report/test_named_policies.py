"""The policies that a title names are those in colour."""

from __future__ import annotations

import polars as pl
import pytest
from report_support import made_up

from tracekit.replay.runs.run import OBSERVED
from tracekit.report import ranks as ranked
from tracekit.report.blocks import block
from tracekit.report.drawing.palette import color
from tracekit.report.figures import get_figure
from tracekit.report.figures.replay_peak import _alike
from tracekit.report.measures import named
from tracekit.report.trade_off import (
    BEATEN,
    CALMEST,
    CHOSEN,
    FEWEST,
    FRONT,
    PRODUCTION,
    RIVAL,
    points,
)


def test_who_is_named_is_in_colour() -> None:
    data = made_up(more=20)
    (best,) = named(data)
    ranks = get_figure("policy_ranks")
    frame = ranks.prepare(data)
    assert f" {best}" in ranks.takeaway(frame)
    for draw in (ranks.draw, ranks.narrow):
        assert draw is not None
        marks = [trace["marker"]["color"] for trace in draw(frame).data]
        assert marks[frame["policy"].to_list().index(best)] == color("policy-1")
        assert marks.count(color("policy-1")) == 1


def test_who_may_not_be_chosen_is_an_outline_under_a_heading() -> None:
    ranks = get_figure("policy_ranks")
    frame = _ranked(
        ("default_scheduler", ranked.CHOSEN, "policy-1"),
        ("observed", ranked.PRODUCTION, "observed"),
        ("bes", ranked.WITHIN, "policy-2"),
        ("bdi", ranked.RISKY, "other"),
        ("best_fit", ranked.BARRED, "policy-3"),
        ("lra", ranked.BARRED, "other"),
        ("bra", ranked.WAITED, "other"),
    )
    for draw in (ranks.draw, ranks.narrow):
        assert draw is not None
        drawn = draw(frame)
        hollow = [one.marker.color == color("card") for one in drawn.data]
        assert hollow == [False] * 4 + [True] * 3
        # these met one order: there is no interval, and no line that says so
        assert [one.error_x.array for one in drawn.data] == [None] * 7
        rows = dict(zip(frame["policy"], (one.y[0] for one in drawn.data), strict=True))
        heads = {one.text: one.y for one in drawn.layout.annotations}
        assert rows["bdi"] < heads["Not to be chosen: overload nodes"] < rows["best_fit"]
        assert rows["lra"] < heads["Not to be chosen: left containers waiting"] < rows["bra"]
        assert len({*rows.values(), *heads.values()}) == len(rows) + len(heads)
    title = ranks.takeaway(frame)
    assert "under default_scheduler, " in title
    counted = "2 overload nodes; 1 left containers waiting; 1 may overload nodes."
    assert title.endswith(f". 1 more is within chance of default_scheduler by this; {counted}")


def test_where_nobody_may_be_chosen_the_title_has_the_range_of_the_bars() -> None:
    frame = _ranked(
        ("observed", ranked.PRODUCTION, "observed"),
        ("best_fit", ranked.BARRED, "policy-1"),
        ("bra", ranked.WAITED, "other"),
    )
    title = get_figure("policy_ranks").takeaway(frame)
    assert "is 60.0 % to 70.0 % in 2 ways to place" in title.replace("\u00a0", " ")
    assert "in production; no policy can be recommended: 1 overloads nodes; 1 left" in title


def _ranked(*rows: tuple[str, str, str]) -> pl.DataFrame:
    """Rows of the figure of ranks, each policy worse than the one before."""
    return pl.DataFrame(
        [
            {
                "policy": name, "same": 0, "value": 0.5 + at / 10, "low": None, "high": None,
                "stands": stands, "orders": 6, "measure": "cpu_p99_fraction", "why_not": "",
                "shade": shade, "as_first": False,
            }
            for at, (name, stands, shade) in enumerate(rows)
        ],
        schema_overrides={"low": pl.Float64, "high": pl.Float64},
    )  # fmt: skip


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


#: Colours of marks that the figure names.
SHADES = {CHOSEN: "policy-1", FEWEST: "policy-1", RIVAL: "policy-2", CALMEST: "policy-2"}


def _trade_off(*rows: tuple[str, float, float, str], also: tuple[str, ...] = ()) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "policy": name, "same": 0, "nodes": nodes, "nodes_low": nodes - 1,
                "nodes_high": nodes + 1, "overload_share": share, "overload_low": share,
                "overload_high": share + 1e-4, "of_nodes": 130, "allowed_share": 1e-4, "kind": kind,
                "fewer": "", "sparse": "", "also": name in also, "missing": "",
                "shade": SHADES.get(kind, "other"),
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


def test_where_nobody_is_recommended_both_ends_have_their_names_within_the_axes() -> None:
    frame = _trade_off(
        ("observed", 396.0, 0.0, PRODUCTION),
        ("best_fit", 198.0, 1.3e-3, FEWEST),
        ("target_load_packing", 203.0, 3e-4, CALMEST),
        ("cmdn", 200.0, 0.3, BEATEN),
        ("bes", 300.0, 4e-4, BEATEN),
        also=("bes",),
    )
    figure = get_figure("replay_tradeoff")
    title = figure.takeaway(frame)
    assert "Fewest nodes: best_fit" in title
    assert "Least overload: target_load_packing" in title
    assert title.endswith("Production: 396 of 130\u00a0nodes, 0\u00a0% of node-steps overloaded.")
    for draw in (figure.draw, figure.narrow):
        assert draw is not None
        drawn = draw(frame)
        marks = {one.customdata[0][0]: one for one in drawn.data}
        assert marks["best_fit"].marker.color == color("policy-1")
        assert marks["best_fit"].y[0] < drawn.layout.yaxis.range[1]
        texts = {str(one.text) for one in drawn.layout.annotations}
        assert {"best_fit", "target_load_packing", "observed (production)", "bes"} <= texts
        assert "cmdn" not in texts
        assert str(marks["cmdn"].marker.symbol).startswith("triangle")
    line = "Above the dashed line a policy overloads more than is allowed on average. "
    assert figure.note(frame).removeprefix(line) == (
        "1 overloads more than the axis shows: the triangle at its upper edge. The table has them."
    )


def test_who_overloads_as_little_is_named_beside_the_least() -> None:
    frame = _trade_off(
        ("best_fit", 100.0, 1e-3, FEWEST),
        ("default_scheduler", 120.0, 0.0, CALMEST),
        ("least_allocated", 120.1, 0.0, BEATEN),
    )
    figure = get_figure("replay_tradeoff")
    assert "overloaded (as little: least_allocated)." in figure.takeaway(frame)
    kinds = [one.name for one in figure.draw(frame).data]
    assert kinds.index(BEATEN) > kinds.index(CALMEST)  # a ring that a disc would hide


def test_without_a_trade_off_it_is_said_which_reason_there_is() -> None:
    figure = get_figure("replay_tradeoff")
    data = made_up(more=3)
    for name in ("summary", "repeats"):
        frame = data._run_frames[name]
        left = pl.when(policy=OBSERVED).then(pl.col("pending")).otherwise(2)
        data._run_frames[name] = frame.with_columns(pending=left, pending_container_steps=left)
    assert figure.prepare(data).is_empty()
    assert block("replay_tradeoff", figure, data).takeaway == (
        "Only one way to place carries the whole load: there is no trade-off to show."
    )


def test_no_name_lies_on_a_mark_at_the_edge() -> None:
    beyond = [(f"p{at}", 60.0 + at, 0.3, BEATEN) for at in range(0, 60, 3)]
    frame = _trade_off(
        ("observed", 130.0, 0.0, PRODUCTION),
        ("tbesk", 120.0, 0.0, CHOSEN),
        ("cmdn", 90.0, 2e-3, RIVAL),
        *beyond,
    )
    figure = get_figure("replay_tradeoff")
    assert figure.narrow is not None
    top = figure.narrow(frame)
    (label,) = [one for one in top.layout.annotations if one.text == "cmdn"]
    # the mark is just below the edge, so that its name stands beside it or below
    assert label.ay >= 0


def test_who_is_not_drawn_is_told() -> None:
    data = made_up(more=3)
    waits = pl.col("policy").is_in(["first_fit", "policy_0"])
    pending = pl.when(waits).then(2).otherwise(pl.col("pending"))
    for name in ("summary", "repeats"):
        frame = data._run_frames[name]
        data._run_frames[name] = frame.with_columns(
            pending=pending, pending_container_steps=pending
        )
    frame = points(data)
    left = {"first_fit", "policy_0"}
    assert not left & set(frame["policy"])
    said = frame["missing"][0].replace("\u00a0", " ")
    assert said == (
        "2 of 5 policies are not drawn, as they left containers waiting, and so carried less:"
        " first_fit and policy_0."
    )
    every = {*frame["policy"], *left} - {"observed"}
    assert every == {one["policy"] for one in (data.run or {})["policies"]} - {"observed"}


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


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("observed", "lra")], "production and lra do not differ"),
        ([("observed", "lra"), ("bra", "lra")], "neither production nor bra differs from lra"),
        ([("bra", "lra"), ("bra", "observed")], "neither lra nor production differs from bra"),
    ],
)
def test_who_does_not_differ_is_said_so_that_it_can_be_read(
    pairs: list[tuple[str, str]], said: str
) -> None:
    assert _alike(pairs) == said


def test_who_met_one_order_of_arrival_is_not_called_alike() -> None:
    """A search that was replayed once reaches 123 %: "no two of these differ beyond chance"."""
    data = made_up()
    repeats = data.replay("repeats")
    once = (pl.col("policy") != "first_fit") | (pl.col("repeat") == 0)
    data._run_frames["repeats"] = repeats.filter(once)
    said = get_figure("replay_peak").takeaway(get_figure("replay_peak").prepare(data))
    assert "first_fit met too few orders of arrival to tell" in said
    assert "no two of these" not in said
