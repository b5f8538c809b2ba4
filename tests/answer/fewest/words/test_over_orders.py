"""How sure the values are that a study of the fewest nodes promises."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.answer.fewest.words.over_orders import means_told, over_orders
from tracekit.replay.chance.student import means
from tracekit.study import Study

CPU = [1.0, 1.02, 1.04, 1.0, 1.02, 1.04]


def study(orders: int = 6) -> Study:
    """A policy on 9 nodes, which are left, and on 8."""
    rows = [
        {
            "policy": "a",
            "repeat": at,
            "nodes": nodes,
            "cpu_max_fraction": CPU[at] + (nodes == 8),
            "memory_max_fraction": 0.5,
            "overloaded_node_steps": None,
        }
        for nodes in (8, 9)
        for at in range(orders)
    ]
    return Study(name="fewest_nodes", about={"measures": []}, frames={"sizes": pl.DataFrame(rows)})


def test_means_of_the_orders_on_the_nodes_that_are_left() -> None:
    found = over_orders(study(), "a", 9)
    assert set(found) == {"cpu_max_fraction", "memory_max_fraction"}
    one = found["cpu_max_fraction"]
    expected = means(pl.DataFrame({"cpu": CPU}).to_numpy(), comparisons=2)
    assert (one.mean, one.low, one.high) == pytest.approx(
        (1.02, expected.low.item(), expected.high.item())
    )
    assert one.orders == 6
    same = found["memory_max_fraction"]
    assert (same.low, same.mean, same.high) == (0.5, 0.5, 0.5)
    said = means_told(study(), "a", 9)
    assert said.startswith("Of 6 orders of arrival the worst is shown; their means")
    assert said.endswith("highest CPU use 102.0 ±2.3 %, highest memory use 50.0 %.")


def test_fewer_orders_than_an_interval_needs_tell_none() -> None:
    assert over_orders(study(5), "a", 9) == {}
    assert over_orders(study(), "a", None) == {}
    assert means_told(study(5), "a", 9) == ""
