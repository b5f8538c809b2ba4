"""The title of nodes against overload agrees with what is drawn under it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tracekit.report.data import Data
from tracekit.report.figures import get_figure
from tracekit.report.trade_off import (
    CHANCE,
    CHOSEN,
    FEW_ORDERS,
    FEWEST,
    PRODUCTION,
    RIVAL,
    SURE,
    points,
)

#: Nodes in use and overloaded node-steps, order by order; of 100 nodes over 100 steps.
CALM = [(100.0, 0.0)] * 6
MAYBE = [(nodes, 40.0) for nodes in (80.0, 100.0, 85.0, 100.0, 82.0, 100.0)]
FEWER = [(70.0 + at % 2, 900.0 + at) for at in range(6)]
NEAR = [(99.5, 30.0)] * 6
ONCE = [(60.0, 20.0)]


def run(**policies: list[tuple[float, float]]) -> Data:
    """Policies over orders of arrival; ``calm`` is the only one that never overloads."""
    rows = [
        {
            "policy": name, "repeat": at, "seed": at, "pending": 0, "nodes_used_mean": nodes,
            "overloaded_node_steps": over,
            "cpu_p99_fraction": 0.5 + at / 1000 + over / 1e4 + (100.0 - nodes) / 200,
        }
        for name, met in policies.items()
        for at, (nodes, over) in enumerate(met)
    ]  # fmt: skip
    repeats = pl.DataFrame(rows)
    about: dict[str, Any] = {
        "seed": 0,
        "repeats": 6,
        "repeats_cover": ["order of arrival"],
        "policies": [{"policy": name, "parameters": {}} for name in policies],
        "workload": {
            "name": "s", "nodes": 100, "steps": 100, "containers": 500, "assumptions": {},
            "quantities": {},
        },
    }  # fmt: skip
    summary = repeats.filter(repeat=0).drop("repeat", "seed")
    return Data(run=about, run_frames={"summary": summary, "repeats": repeats})


@pytest.mark.parametrize(
    ("others", "rival", "said"),
    [
        ({"fewer": FEWER}, ("fewer", SURE), "least fewer: 70 of 100 nodes, 9.0 % of node-steps"),
        (
            {"fewer": FEWER, "maybe": MAYBE},
            ("maybe", CHANCE),
            (
                "least maybe: 91 of 100 nodes, 0.40 % of node-steps overloaded; over all"
                " comparisons of the run, chance may explain that it uses fewer."
            ),
        ),
        (
            {"fewer": FEWER, "maybe": MAYBE, "once": ONCE},
            ("once", FEW_ORDERS),
            (
                "least once: 60 of 100 nodes, 0.20 % of node-steps overloaded; it met too few"
                " orders of arrival to tell that from chance."
            ),
        ),
        ({"near": NEAR}, None, "overloaded; no other way that is drawn uses fewer nodes."),
    ],
)
def test_no_mark_with_fewer_nodes_overloads_less_than_the_one_that_is_named(
    others: dict[str, list[tuple[float, float]]], rival: tuple[str, str] | None, said: str
) -> None:
    data = run(calm=CALM, **others)
    frame = points(data)
    assert frame.filter(kind=CHOSEN)["policy"].to_list() == ["calm"]
    named = frame.filter(kind=RIVAL).select("policy", "fewer").rows()
    assert named == ([rival] if rival else [])
    figure = get_figure("replay_tradeoff")
    assert said in figure.takeaway(figure.prepare(data)).replace("\u00a0", " ")
    for name, sure in named:
        least = frame.filter(policy=name)["overload_share"][0]
        assert sure
        left = frame.filter(pl.col("nodes") < 0.99 * 100)
        assert left["overload_share"].min() == least


@pytest.mark.parametrize(
    ("others", "said", "kinds"),
    [
        (
            {"few": [(70.0 + at % 2, 0.0) for at in range(6)], "some": [(80.0, 0.0)] * 6},
            "No policy overloads a node: calm uses 100 of 100 nodes, few the fewest, 70.",
            {"few": FEWEST},
        ),
        (
            {"near": [(99.5, 0.0)] * 6},
            "No policy can be recommended, and none overloads a node. Fewest nodes: near, 100 of",
            {},
        ),
        (
            {"observed": [(90.0, 0.0)] * 6, "few": [(70.0, 0.0)] * 6},
            "calm uses 100 of 100 nodes, few the fewest, 70. Production uses 90.",
            {"few": FEWEST, "observed": PRODUCTION},
        ),
    ],
)
def test_where_nobody_overloads_a_node_the_title_and_the_axis_say_so(
    others: dict[str, list[tuple[float, float]]], said: str, kinds: dict[str, str]
) -> None:
    """It boasted of 0 % with a policy that overloads least, on an axis up to 0.0005 %."""
    data = run(calm=CALM, **others)
    frame = points(data)
    told = dict(frame.select("policy", "kind").iter_rows())
    assert kinds.items() <= told.items(), told
    assert RIVAL not in told.values()
    figure = get_figure("replay_tradeoff")
    prepared = figure.prepare(data)
    title = figure.takeaway(prepared).replace("\u00a0", " ")
    assert said in title
    assert "0 %" not in title
    axis = figure.draw(prepared).layout.yaxis
    assert axis.range[1] == pytest.approx(1.0)
    assert axis.ticktext[0] == "0"
    assert axis.ticktext[-1] == "1"
