"""Standings of policies by a measure, on made-up values."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.answer.standings import difference, standings
from tracekit.replay.runs.results import Results

ORDERS = 10


def made(
    offsets: dict[str, float],
    *,
    orders: int = ORDERS,
    noise: float = 0.01,
    **columns: dict[str, int],
) -> Results:
    """A run whose policies have a highest use of 0.5 and more, by an offset of each."""
    rng = np.random.Generator(np.random.PCG64(3))
    order = rng.normal(size=orders) * 0.05
    rows = [
        {
            "repeat": repeat,
            "seed": repeat,
            "policy": policy,
            "cpu_max_fraction": 0.5 + order[repeat] + offset + noise * rng.normal(),
            "pending": columns.get("pending", {}).get(policy, 0),
            "overloaded_node_steps": columns.get("overloaded", {}).get(policy, 0),
            **{name: of[policy] for name, of in columns.items() if name == "nodes_used_mean"},
        }
        for policy, offset in offsets.items()
        for repeat in range(orders)
    ]
    repeats = pl.DataFrame(rows)
    summary = repeats.filter(repeat=0).drop("repeat", "seed")
    bound = pl.DataFrame({"policy": ["bound"], "cpu_max_fraction": [0.4]})
    manifest = {"repeats_cover": ["order of arrival"], "policies": []}
    return Results(manifest, pl.concat([summary, bound], how="diagonal"), repeats)


def test_the_better_policy_is_first_and_apart_from_the_others() -> None:
    result = standings(made({"plain": 0.2, "good": 0.0, "same": 0.2}), "cpu_max_fraction")
    assert result.tells
    assert result.rows[0].names == ("good",)
    assert [row.apart_from_best for row in result.rows] == [False, True, True]
    assert [row.names for row in result.best] == [("good",)]
    assert result.row("bound") is None


def test_policies_that_place_alike_are_one_row() -> None:
    recorded = made({"a": 0.0, "b": 0.3})
    assert recorded.repeats is not None
    again = recorded.repeats.filter(policy="a").with_columns(policy=pl.lit("a_too"))
    summary = pl.concat(
        [recorded.summary, again.filter(repeat=0).drop("repeat", "seed")], how="diagonal"
    )
    both = Results(recorded.manifest, summary, pl.concat([recorded.repeats, again]))
    assert [row.names for row in standings(both, "cpu_max_fraction").rows] == [
        ("a", "a_too"),
        ("b",),
    ]
    alike = difference(both, "a", "a_too", "cpu_max_fraction")
    assert alike is not None
    assert (alike.mean, alike.low, alike.high, alike.apart) == (0.0, 0.0, 0.0, False)


def test_a_measure_tells_only_beyond_chance_and_by_enough() -> None:
    few = standings(made({"a": 0.0, "b": 0.3}, orders=5), "cpu_max_fraction")
    noisy = standings(made({"a": 0.0, "b": 0.001}, noise=0.1), "cpu_max_fraction")
    close = standings(made({"a": 0.0, "b": 0.001}, noise=1e-5), "cpu_max_fraction")
    assert not any(one.tells for one in (few, noisy, close))
    assert all(not one.best for one in (few, noisy, close))


def test_one_that_left_containers_waiting_is_last_and_not_compared() -> None:
    result = standings(made({"a": 0.3, "b": 0.0, "c": 0.5}, pending={"b": 2}), "cpu_max_fraction")
    assert [row.names[0] for row in result.rows] == ["a", "c", "b"]
    assert result.rows[-1].waited
    assert not result.rows[-1].apart_from_best
