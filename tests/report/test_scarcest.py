"""The resource that binds: which it is, and where a report shows it."""

from __future__ import annotations

import json

import polars as pl
import pytest
from report_support import made_up

from tracekit.report.contents import pair
from tracekit.report.data import Data
from tracekit.report.figures import get_figure
from tracekit.report.measures import binding, scarcest_further


def run_of(**shares: list[float]) -> Data:
    steps = pl.DataFrame(
        {
            "policy": ["best_fit", "best_fit", "bound"],
            "time_ms": [0, 1000, 0],
            "settled": [True] * 3,
            **{f"{name}_allocated_share": [*values, None] for name, values in shares.items()},
        }
    )
    return Data(run={"workload": {}, "policies": []}, run_frames={"steps": steps})


@pytest.mark.parametrize(
    ("shares", "further", "binds"),
    [
        ({"cpu": [0.2, 0.6], "memory": [0.1, 0.1]}, "", ""),
        ({"cpu": [0.2, 0.6], "gpu_milli": [0.9, 0.3]}, "gpu_milli", "gpu_milli"),
        ({"cpu": [0.2, 0.6], "gpu_milli": [0.5, 0.3]}, "gpu_milli", ""),
        ({"cpu": [0.2, 0.6], "gpu": [0.0, 0.0]}, "", ""),
        ({"cpu": [0.1, 0.1], "disk": [0.2, 0.4], "gpu": [0.3, 0.3]}, "disk", "disk"),
    ],
)
def test_it_is_that_of_which_most_is_requested_at_any_step(
    shares: dict[str, list[float]], further: str, binds: str
) -> None:
    data = run_of(**shares)
    assert (scarcest_further(data), binding(data)) == (further, binds)


def test_a_run_without_steps_has_none() -> None:
    assert (scarcest_further(Data()), binding(Data())) == ("", "")


def test_its_course_names_it_with_its_unit() -> None:
    figure = get_figure("scarcest_allocated")
    frame = figure.prepare(made_up())
    assert figure.draw(frame).layout.yaxis.title.text == "Allocated GPU [% of all nodes]"
    assert figure.takeaway(frame).startswith("GPU is the scarcest resource: up to")
    without = run_of(cpu=[0.2, 0.6])
    assert figure.prepare(without).is_empty()


def test_two_policies_are_compared_over_time_by_every_resource_of_the_run() -> None:
    courses = json.loads(str(pair.document(made_up())))["courses"]
    assert "gpu_milli_allocated_share" not in courses, "the summary does not have it"
    data = made_up()
    for name in ("summary", "steps", "repeats"):
        frame = data._run_frames[name]
        data._run_frames[name] = frame.with_columns(gpu_milli_max_fraction=pl.lit(0.5))
    found = json.loads(str(pair.document(data)))
    assert found["courses"]["gpu_milli_max_fraction"] == "GPU of the fullest node [%]"
    assert found["courses"]["gpu_milli_allocated_share"] == "Allocated GPU [%]"
    assert "cost_per_hour" not in found["courses"], "the run has no prices"
    for one in found["course"].values():
        assert set(one) == set(found["courses"])
