"""Nodes that are overloaded are not called enough."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest
from report_studies_support import fewest

from tracekit.answer.fewest.words.there import overloaded, with_all

LOAD = {"nodes": 10, "steps": 1000, "settled_steps": 1000}
USUAL = {"nodes": 10, "measures": {"overloaded_node_steps": 40, "cpu_max_fraction": 1.2}}


def row(steps: float, nodes: int = 10) -> dict[str, Any]:
    return {
        "nodes": nodes,
        "of": 10,
        "overloaded_node_steps": steps,
        "cpu_max_fraction": 1.5,
        "memory_max_fraction": 0.4,
    }


@pytest.mark.parametrize(
    ("observed", "steps", "said"),
    [
        (
            USUAL,
            30.0,
            "overloaded in 30 node-steps, up to 150.0 % CPU (in production 40, 120.0 %)",
        ),
        (USUAL, 1.0, ""),
        (None, 30.0, "overloaded in 30 node-steps, up to 150.0 % CPU"),
        (None, 1.0, ""),
    ],
)
def test_how_far(observed: dict[str, Any] | None, steps: float, said: str) -> None:
    """One of 10,000 node-steps is next to never."""
    about = {"workload": LOAD, "observed": observed, "limits_given": False}
    assert overloaded(row(steps), about) == said


@pytest.mark.parametrize(
    ("steps", "nodes", "given", "full"),
    [
        ((30.0, 20.0), 10, False, True),
        ((30.0, 20.0), 9, False, False),
        ((1.0, 1.0), 10, False, False),
        # the worst order is above what is next to never, the mean is not
        ((2.0, 0.0), 10, False, False),
        ((30.0, 20.0), 10, True, False),
    ],
)
def test_all_are_too_few_where_they_are_overloaded_though_nobody_leaves(
    steps: tuple[float, ...], nodes: int, given: bool, full: bool
) -> None:
    made = fewest()
    about = {**made.about, "workload": LOAD, "observed": USUAL, "limits_given": given}
    sizes = pl.DataFrame(
        [
            {"policy": "lra", "repeat": at, "nodes": nodes, "overloaded_node_steps": one}
            for at, one in enumerate(steps)
        ]
    )
    study = dataclasses.replace(made, about=about, frames={**made.frames, "sizes": sizes})
    assert with_all(study, {**row(max(steps), nodes), "policy": "lra"}) == full
