"""A policy has one colour in all figures of a report, and no two policies share one."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import pytest
from report_support import made_up

from tracekit.report.blocks import block
from tracekit.report.colours import slots
from tracekit.report.contents import pair
from tracekit.report.data import Data
from tracekit.report.drawing.palette import POLICY_SLOTS, color
from tracekit.report.figures import get_figure
from tracekit.report.measures import named
from tracekit.report.policies import APART

#: Figures of what policies come to.
FIGURES = ("policy_ranks", "replay_tradeoff", "replay_peak", "node_distribution", "fewest_nodes")


def drawn(name: str, data: Data) -> list[tuple[str, str]]:
    """Policies and their colours in a figure, but for grey."""
    figure = get_figure(name)
    frame = figure.prepare(data)
    shown: go.Figure = figure.draw(frame)
    rows = frame.unique("policy", maintain_order=True)
    pairs = list(zip(rows["policy"], map(color, rows["shade"]), strict=True))
    used = json.dumps(shown.to_plotly_json(), default=str)
    return [(policy, shade) for policy, shade in pairs if shade in used and shade != color("other")]


@pytest.mark.parametrize("more", [0, 20])
def test_a_policy_has_one_colour_in_all_figures(more: int) -> None:
    data = made_up(more=more)
    found = {one for name in FIGURES for one in drawn(name, data)}
    policies, shades = [one for one, _ in found], [one for _, one in found]
    assert len(set(policies)) == len(policies)
    assert len(set(shades)) == len(shades)
    known = {policy: shade for policy, shade in found if policy not in APART}
    colors = json.loads(str(pair.document(data)))["colors"]
    assert known.items() <= colors["of"].items()
    assert not set(colors["plain"]) & set(colors["of"].values())


def test_whom_titles_name_has_a_colour() -> None:
    data = made_up(more=20)
    known = slots(data)
    assert len(known) == POLICY_SLOTS
    assert known[named(data)[0]] == "policy-1"
    for name in FIGURES:
        figure = get_figure(name)
        frame = figure.prepare(data)
        title = figure.takeaway(frame)
        words = {word.strip(".,;:") for word in title.split()}
        assert words & set(frame["policy"]) <= {*known, *APART}, title


def test_a_legend_has_the_mark_that_it_explains() -> None:
    data = made_up(more=20)
    shown = block("replay_tradeoff", get_figure("replay_tradeoff"), data)
    looks = {one.name: (one.shape, one.hollow) for one in shown.legend}
    assert looks["the policy of the first page"] == ("diamond", True)
    assert looks["production"] == ("x", False)
    symbols = {one["name"]: one["marker"]["symbol"] for one in json.loads(shown.json)["data"]}
    for name, (shape, hollow) in looks.items():
        assert symbols[name].split("-")[0] == shape
        assert symbols[name].endswith("-open") == hollow
