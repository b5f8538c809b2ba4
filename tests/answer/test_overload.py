"""One rule on overload: what a policy may be chosen by is what fewer nodes have to keep."""

from __future__ import annotations

import pytest

from tracekit.answer.fewest.search.limits import parse_limits
from tracekit.answer.overload import (
    limits_of,
    most_overload,
    within,
    within_on_fewer,
)


@pytest.mark.parametrize(
    ("production", "node_steps", "most"),
    [(None, 187_200, 0), (0, 9_999, 0), (1, 187_200, 18), (44, 187_200, 44), (0, 20_000, 2)],
)
def test_as_production_or_one_in_ten_thousand(
    production: float | None, node_steps: int, most: float
) -> None:
    assert most_overload(production, node_steps) == most
    assert f"({most:,} node-step" in within(production, node_steps) or most in {0, 18, 2}


def test_where_production_overloads_fewer_nodes_may_add_hardly_anything() -> None:
    observed = {
        "overloaded_node_steps": 1089,
        "cpu_p99_fraction": 1.6,
        "memory_p99_fraction": 0.9,
    }
    limits = parse_limits([], ["cwt"], observed=observed, node_steps=187_200)
    kept = {
        "overloaded_node_steps": 177,
        "cpu_p99_fraction": 1.0,
        "memory_p99_fraction": 0.9,
        "pending": 0,
        "pending_container_steps": 0,
    }
    assert limits.broken_at_mean("cwt", kept, {**kept, "overloaded_node_steps": 195}) is None
    broken = limits.broken_at_mean("cwt", kept, {**kept, "overloaded_node_steps": 196})
    assert broken is not None
    assert str(broken) == "overloaded node-steps would come to 196, above 195 (base + 18)"
    worse = {**kept, "overloaded_node_steps": 1100}
    assert limits.first_broken("cwt", worse, worse) is not None
    assert "at most 18 more than under the same policy" in within_on_fewer(1089, 187_200)
    assert within_on_fewer(1, 187_200) == within(1, 187_200)


def test_the_default_limits_are_the_rule() -> None:
    observed = {
        "overloaded_node_steps": 1,
        "cpu_p99_fraction": 1.25,
        "memory_p99_fraction": 0.9,
        "cpu_max_fraction": 1.3,
    }
    rule = limits_of(observed, 187_200)
    assert rule == {
        "overloaded_node_steps": 18.0,
        "cpu_p99_fraction": 1.25,
        "memory_p99_fraction": 1.0,
        "cpu_max_fraction": 2.0,
    }
    limits = parse_limits([], ["cwt"], observed=observed, node_steps=187_200)
    for name, most in rule.items():
        kept = {**rule, "pending": 0, "pending_container_steps": 0}
        assert limits.first_broken("cwt", kept, kept) is None
        beyond = {**kept, name: most + 0.01}
        broken = limits.first_broken("cwt", beyond, beyond)
        assert broken is not None
        assert broken.measure == name
