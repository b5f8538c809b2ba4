"""Which policies differ: paired, with intervals, and in words."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.replay.measures import part_column
from tracekit.replay.runs.compare import differences, sentences, with_intervals

REPEATS = 12


def rng() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(0))


def measured(waiting: int = 0) -> pl.DataFrame:
    """Orders that move every policy alike by far more than a and b differ; c is a by chance."""
    draws = rng().normal(size=(REPEATS, 2))
    rows = []
    for repeat, (order, noise) in enumerate(draws.tolist()):
        common = 10 + order
        for policy, z, nodes, pending in (
            ("a", common, 5, 0),
            ("b", common + 0.1 + 0.01 * noise, 5, 0),
            ("c", common + 0.1 * noise, 7, waiting),
        ):
            rows.append(
                {"repeat": repeat, "policy": policy, "imbalance_mean": z,
                 "nodes_used_max": nodes, "pending": pending}
            )  # fmt: skip
    return pl.DataFrame(rows)


def row(found: pl.DataFrame, a: str, b: str, measure: str) -> dict[str, object]:
    chosen = found.filter(
        (pl.col("policy_a") == a) & (pl.col("policy_b") == b) & (pl.col("measure") == measure)
    )
    return chosen.row(0, named=True)


def test_pairing_finds_what_lies_far_below_the_spread_of_orders() -> None:
    found = differences(measured(), rng())
    apart = row(found, "a", "b", "imbalance_mean")
    assert apart["separated"]
    assert -0.12 < apart["low"] < apart["high"] < -0.08  # type: ignore[operator]
    assert not row(found, "a", "c", "imbalance_mean")["separated"]
    spread = measured().filter(pl.col("policy") == "a")["imbalance_mean"].std()
    assert isinstance(spread, float)
    assert spread > 0.5


def test_every_pair_by_every_measure_once() -> None:
    found = differences(measured(), rng())
    assert found.select("policy_a", "policy_b", "measure").n_unique() == found.height == 3 * 3
    assert found["repeats"].unique().to_list() == [REPEATS]
    assert row(found, "a", "c", "nodes_used_max") == {
        "policy_a": "a", "policy_b": "c", "measure": "nodes_used_max", "repeats": REPEATS,
        "difference_mean": -2.0, "low": -2.0, "high": -2.0, "separated": True, "all_placed": True,
    }  # fmt: skip
    assert not row(found, "a", "b", "pending")["separated"]


def test_unlike_loads_are_marked() -> None:
    found = differences(measured(waiting=1), rng())
    assert row(found, "a", "b", "imbalance_mean")["all_placed"]
    assert not row(found, "a", "c", "imbalance_mean")["all_placed"]


def test_one_policy_has_no_differences() -> None:
    alone = measured().filter(pl.col("policy") == "a")
    assert differences(alone, rng()).height == 0
    assert "separated" in differences(alone, rng()).columns


def test_few_repeats_say_nothing() -> None:
    few = measured().filter(pl.col("repeat") < 5)
    assert not differences(few, rng())["separated"].any()


def test_rows_may_come_in_any_order() -> None:
    first = differences(measured(), rng())
    mixed = measured().sort("policy", "repeat")
    assert differences(mixed, rng()).equals(first)


def test_the_summary_gets_intervals() -> None:
    summary = pl.DataFrame({"policy": ["a", "b", "c", "bound"], "imbalance_mean": [1.0] * 4})
    made = with_intervals(summary, measured(), rng())
    assert made["policy"].to_list() == ["a", "b", "c", "bound"]
    assert made["imbalance_mean_low"].null_count() == 1
    known = made.filter(pl.col("policy") != "bound")
    assert (known["imbalance_mean_low"] < known["imbalance_mean_repeats"]).all()
    assert (known["imbalance_mean_repeats"] < known["imbalance_mean_high"]).all()
    assert made["nodes_used_max_low"].to_list() == [5.0, 5.0, 7.0, None]


def test_columns_end_in_their_unit() -> None:
    assert part_column("cpu_max_fraction", "low") == "cpu_max_low_fraction"
    assert part_column("qos_share", "high") == "qos_high_share"
    assert part_column("nodes_used_max", "low") == "nodes_used_max_low"


def said(repeats: pl.DataFrame, *ours: str) -> list[str]:
    found = differences(repeats, rng())
    return sentences(repeats, found, ours=ours)


def test_better_is_said_only_where_it_is() -> None:
    zed, nodes = said(measured(), "a", "b", "c")
    assert zed.startswith("Imbalance Z: lowest under")
    assert "12 orders); within chance of it:" in zed
    assert zed.rpartition(": ")[2] in ("a", "c")
    assert nodes == "Nodes used: lowest under a (5, 12 orders); within chance of it: b"
    assert said(measured(), "a", "b")[0].endswith("all others differ")
    assert said(measured(), "a", "b")[1] == (
        "Nodes used: no policy differs beyond chance from a (5), 12 orders"
    )


def test_who_left_containers_waiting_is_not_compared() -> None:
    lines = said(measured(waiting=1), "a", "b", "c")
    assert lines[-1] == "left containers waiting, so not compared: c"
    assert lines[0].startswith("Imbalance Z: lowest under a (")
    assert lines[0].endswith(", 12 orders); all others differ")
    assert said(measured(), "a") == []


def test_who_met_one_order_is_not_compared() -> None:
    lines = said(measured(), "a", "b", "d")
    assert lines[-1] == "met one order of arrival alone, so not compared: d"
    assert lines[:-1] == said(measured(), "a", "b")
    many = said(measured(), "a", "b", *(f"d{at}" for at in range(23)))
    assert many[-1] == "met one order of arrival alone, so not compared: 23 other policies"
