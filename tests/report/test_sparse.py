"""Means over a time in which hardly anything runs say so, with what the busiest time needs."""

from __future__ import annotations

import polars as pl
import pytest
from report_support import made_up

from tracekit.report.data import Data
from tracekit.report.figures import get_figure
from tracekit.report.figures._sparse import of_nodes, of_requests


def run(nodes: list[int], settled: list[bool] | None = None) -> Data:
    many = len(nodes)
    steps = [
        pl.DataFrame(
            {
                "policy": [name] * many,
                "time_ms": range(many),
                "settled": settled or [True] * many,
                "nodes_used": [times * one for one in nodes],
                "gpu_milli_allocated_share": [times * one / 2000 for one in nodes],
                "cpu_allocated_share": [0.3] * many,
            }
        )
        for name, times in (("best_fit", 1), ("first_fit", 2))
    ]
    return Data(run={"workload": {}, "policies": []}, run_frames={"steps": pl.concat(steps)})


#: What is said of a column of steps.
RUNS = {"nodes_used": "nodes are in use", "cpu_allocated_share": "CPU is requested"}
SPARSE = [1, 2, 99, 3, 1000, 4, 5, 6, 7, 900]


@pytest.mark.parametrize(
    ("nodes", "settled", "told"),
    [
        (SPARSE, None, True),
        ([*SPARSE[:5], *[500] * 5], None, False),  # not most of the time
        ([100] * 9 + [1000], None, False),  # a tenth is not under a tenth
        ([26, 27, 28, 30], None, False),
        # only while containers still arrive
        (SPARSE, [False] * 4 + [True] + [False] * 4 + [True], False),
    ],
)
def test_it_is_told_where_most_of_the_time_has_under_a_tenth_of_the_busiest(
    nodes: list[int], settled: list[bool] | None, told: bool
) -> None:
    said = of_nodes(run(nodes, settled), ["best_fit", "first_fit"]).replace("\u00a0", " ")
    assert said == told * (
        "Those are means over time; for 80 % of it under a tenth of the nodes are in use that the"
        " busiest time needs: 1,000 under best_fit and 2,000 under first_fit."
    )


def test_of_a_resource_it_is_what_is_requested_of_it() -> None:
    said = of_requests(run(SPARSE), ["best_fit"], "gpu_milli").replace("\u00a0", " ")
    assert said.endswith(
        "for 80 % of it under a tenth of the GPU is requested that the busiest time needs: 50 % of"
        " all under best_fit."
    )
    assert not of_requests(run(SPARSE), ["best_fit"], "cpu")
    assert not of_requests(run(SPARSE), ["best_fit"], "network")
    assert not of_nodes(run(SPARSE), ["unknown"])
    assert not of_nodes(Data(), ["best_fit"])


@pytest.mark.parametrize(
    ("name", "column", "much"),
    [
        ("replay_tradeoff", "nodes_used", "1,000 under"),
        ("waiting_tradeoff", "nodes_used", "1,000 under"),
        ("node_distribution", "cpu_allocated_share", "50 % of all under"),
    ],
)
def test_figures_of_means_over_time_say_it(name: str, column: str, much: str) -> None:
    figure, data = get_figure(name), made_up()
    assert "busiest" not in figure.takeaway(figure.prepare(data))
    policies = data.replay("steps")["policy"].unique(maintain_order=True).to_list()
    one = run(SPARSE).replay("steps").filter(policy="best_fit")
    one = one.with_columns(cpu_allocated_share="gpu_milli_allocated_share")
    data._run_frames["steps"] = pl.concat(
        [one.drop("gpu_milli_allocated_share").with_columns(policy=pl.lit(it)) for it in policies]
    )
    said = figure.takeaway(figure.prepare(data)).replace("\u00a0", " ")
    assert f"for 80 % of it under a tenth of the {RUNS[column]} that the busiest time" in said
    assert f"needs: {much}" in said
