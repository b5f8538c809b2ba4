"""The policies that a title names are those in colour."""

from __future__ import annotations

from report_support import made_up

from tracekit.report.figures import get_figure
from tracekit.report.headline import named
from tracekit.report.palette import color


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


def test_labels_of_the_trade_off_name_the_best_and_production() -> None:
    data = made_up(more=20)
    figure = get_figure("replay_tradeoff")
    frame = figure.prepare(data)
    assert figure.narrow is not None
    for draw in (figure.draw, figure.narrow):
        texts = " ".join(str(one.text) for one in draw(frame).layout.annotations)
        assert f"<b>{named(data)[0]}</b>" in texts
        assert "observed (production)" in texts
