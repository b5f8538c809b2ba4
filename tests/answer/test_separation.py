"""A measure that is the same under every placement is no headline."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from replay_support import workload

from tracekit.answer.may_answer import separates, separating
from tracekit.replay.measures import find_measure
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.runs.run import replay


def summary(
    values: list[float | None], name: str, waiting: list[int] | None = None
) -> pl.DataFrame:
    """Production and the bound, far off, beside policies with these values."""
    return pl.DataFrame(
        {
            "policy": ["observed", *(f"p{at}" for at in range(len(values))), "bound"],
            name: [9.0, *values, 0.0],
            "pending": [0, *(waiting or [0] * len(values)), 0],
        }
    )


@pytest.mark.parametrize(
    ("name", "values", "waiting", "apart"),
    [
        ("cpu_max_fraction", [0.5, 0.6], None, True),
        ("cpu_max_fraction", [0.5, 0.504], None, False),  # within 1 %
        ("cpu_overload_mean_fraction", [0.0, 0.0004], None, False),  # within a tenth of a point
        ("overloaded_node_steps", [0, 1], None, True),
        ("overloaded_node_steps", [0, 0], None, False),
        ("cpu_max_fraction", [0.5], None, False),
        ("cpu_max_fraction", [0.5, 0.9], [0, 3], False),  # who left some waiting carries less
        ("pending", [0, 3], [0, 3], True),
        ("network_stranded_share", [0.1, 0.2], None, True),
        ("cost_per_hour", [None, 2.0], None, False),
    ],
)
def test_policies_differ_by_enough(
    name: str, values: list[float | None], waiting: list[int] | None, apart: bool
) -> None:
    measure = find_measure(name)
    assert measure is not None
    frame = summary(values, name, waiting) if name != "pending" else summary([], name)
    if name == "pending":
        frame = pl.DataFrame({"policy": ["a", "b"], "pending": values})
    assert separates(frame, measure) == apart


def test_imbalance_separates_nothing_where_memory_is_fuller_everywhere() -> None:
    """The sum of what memory is fuller by is the same however containers lie."""
    background = np.zeros((2, 3, 4), dtype=np.float32)
    background[1] = 60
    rows = [(at * 10, 9000, 10 + at, 9 + at) for at in range(8)]
    load = workload([(100, 100)] * 4, rows, steps=3, used_share=1.0, background=background)
    made = replay(load, [parse_policy(one) for one in ("best_fit", "worst_fit")], seed=0)
    imbalance, highest = find_measure("imbalance_mean"), find_measure("cpu_max_fraction")
    assert imbalance is not None
    assert highest is not None
    assert made.summary["imbalance_mean"][0] > 0
    assert not separates(made.summary, imbalance)
    assert separates(made.summary, highest)
    names = [one.name for one in separating(made.summary)]
    assert "imbalance_mean" not in names
    assert separating(made.summary)[0].group == "answer"
