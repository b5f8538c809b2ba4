"""Which policies differ: paired, with intervals."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.answer.repeat import differences, with_intervals
from tracekit.replay.chance import compare
from tracekit.replay.measures import part_column
from tracekit.replay.runs.results import Results

REPEATS = 12


def measured(waiting: int = 0, repeats: int = REPEATS) -> Results:
    """Orders that move every policy alike by far more than a and b differ; c is a by chance."""
    draws = np.random.Generator(np.random.PCG64(0)).normal(size=(REPEATS, 2))
    rows = []
    for repeat, (order, noise) in enumerate(draws.tolist()[:repeats]):
        common = 10 + order
        for policy, z, nodes, pending in (
            ("a", common, 5, 0),
            ("b", common + 0.2 + 0.01 * noise, 5, 0),
            ("c", common + 0.1 * noise, 7, waiting),
        ):
            rows.append(
                {"repeat": repeat, "policy": policy, "imbalance_mean": z,
                 "nodes_used_mean": nodes, "pending": pending}
            )  # fmt: skip
    frame = pl.DataFrame(rows)
    return Results({}, frame.filter(repeat=0).drop("repeat"), frame)


def row(result: pl.DataFrame, a: str, b: str, measure: str) -> dict[str, object]:
    return result.row(
        by_predicate=(pl.col("policy_a") == a)
        & (pl.col("policy_b") == b)
        & (pl.col("measure") == measure),
        named=True,
    )


def test_pairing_finds_what_lies_far_below_the_spread_of_orders() -> None:
    result = differences(measured())
    apart = row(result, "a", "b", "imbalance_mean")
    assert apart["separated"]
    assert -0.24 < apart["low"] < apart["high"] < -0.16  # type: ignore[operator]
    assert not row(result, "a", "c", "imbalance_mean")["separated"]
    repeats = measured().repeats
    assert repeats is not None
    spread = repeats.filter(pl.col("policy") == "a")["imbalance_mean"].std()
    assert isinstance(spread, float)
    assert spread > 0.5


def test_every_pair_by_every_measure_once() -> None:
    result = differences(measured())
    assert result.select("policy_a", "policy_b", "measure").n_unique() == result.height == 3 * 3
    assert result["repeats"].unique().to_list() == [REPEATS]
    nodes = row(result, "a", "c", "nodes_used_mean")
    assert (nodes["difference_mean"], nodes["separated"], nodes["all_placed"]) == (-2.0, True, True)
    # 2 nodes fewer in every order, so there is no interval
    assert nodes["low"] == nodes["high"] == -2.0
    same = row(result, "a", "b", "nodes_used_mean")
    assert (same["difference_mean"], same["low"], same["p"]) == (0.0, 0.0, None)
    assert not row(result, "a", "b", "pending")["separated"]


def test_unlike_loads_are_marked() -> None:
    result = differences(measured(waiting=1))
    assert row(result, "a", "b", "imbalance_mean")["all_placed"]
    assert not row(result, "a", "c", "imbalance_mean")["all_placed"]


def test_the_summary_gets_intervals_and_keeps_its_rows() -> None:
    recorded = measured()
    bound = pl.DataFrame({"policy": ["bound"], "imbalance_mean": [1.0]})
    whole = Results({}, pl.concat([recorded.summary, bound], how="diagonal"), recorded.repeats)
    result = with_intervals(whole)
    assert result["policy"].to_list() == ["a", "b", "c", "bound"]
    low, high = (result[part_column("imbalance_mean", part)] for part in ("low", "high"))
    middle = result[part_column("imbalance_mean", "repeats")]
    assert (low[:3] < middle[:3]).all()
    assert (middle[:3] < high[:3]).all()
    assert low[3] is None


def test_an_interval_leaves_zero_out_only_where_signs_agree_too() -> None:
    """Four of six ahead by much, two not at all: Student's t alone would tell it."""
    study = compare(np.array([[0.0], [0.0], [3.1], [3.2], [2.9], [3.0]]))
    assert study.p[0] < 0.05
    assert not study.separated[0]
    assert study.low[0] <= 0 < study.high[0]


def test_comparisons_with_one_that_overloads_are_of_the_other_family() -> None:
    """To comparisons that a decision reads most of what may go wrong is left."""
    recorded = measured()
    assert recorded.repeats is not None
    more = recorded.repeats.filter(policy="b").with_columns(policy=pl.lit("d"), imbalance_mean=9.0)
    over = pl.when(pl.col("policy") == "d").then(500).otherwise(0)
    frame = pl.concat([recorded.repeats, more]).with_columns(
        overloaded_node_steps=over, memory_max_fraction=pl.col("imbalance_mean") / 100
    )
    result = Results({}, frame.filter(repeat=0).drop("repeat"), frame)
    families = differences(result).filter(measure="memory_max_fraction")
    assert set(families.filter(policy_b="d")["family"]) == {"others"}
    assert set(families.filter(policy_a="a", policy_b="b")["family"]) == {"decision"}
    assert set(differences(result).filter(measure="imbalance_mean")["family"]) == {"others"}
