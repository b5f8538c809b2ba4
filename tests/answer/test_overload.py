"""How much overload a policy may cause."""

from __future__ import annotations

import pytest

from tracekit.answer.overload import limits_of, most_overload


@pytest.mark.parametrize(
    ("production", "node_steps", "most"),
    [(None, 187_200, 0), (0, 9_999, 0), (1, 187_200, 18), (44, 187_200, 44), (0, 20_000, 2)],
)
def test_as_production_or_one_in_ten_thousand(
    production: float | None, node_steps: int, most: float
) -> None:
    assert most_overload(production, node_steps) == most


def test_the_default_limits_are_the_rule() -> None:
    observed = {
        "overloaded_node_steps": 1,
        "cpu_p99_fraction": 1.25,
        "memory_p99_fraction": 0.9,
        "cpu_max_fraction": 1.3,
    }
    assert limits_of(observed, 187_200) == {
        "overloaded_node_steps": 18.0,
        "cpu_p99_fraction": 1.25,
        "memory_p99_fraction": 1.0,
        "cpu_max_fraction": 2.0,
    }
