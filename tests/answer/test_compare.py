"""Which policies differ: paired, with intervals, and in words."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tracekit.answer.compare import differences, sentences, with_intervals
from tracekit.replay.chance.student import compare
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


def row(found: pl.DataFrame, a: str, b: str, measure: str) -> dict[str, object]:
    return found.row(
        by_predicate=(pl.col("policy_a") == a)
        & (pl.col("policy_b") == b)
        & (pl.col("measure") == measure),
        named=True,
    )


def test_pairing_finds_what_lies_far_below_the_spread_of_orders() -> None:
    found = differences(measured())
    apart = row(found, "a", "b", "imbalance_mean")
    assert apart["separated"]
    assert -0.24 < apart["low"] < apart["high"] < -0.16  # type: ignore[operator]
    assert not row(found, "a", "c", "imbalance_mean")["separated"]
    repeats = measured().repeats
    assert repeats is not None
    spread = repeats.filter(pl.col("policy") == "a")["imbalance_mean"].std()
    assert isinstance(spread, float)
    assert spread > 0.5


def test_every_pair_by_every_measure_once() -> None:
    found = differences(measured())
    assert found.select("policy_a", "policy_b", "measure").n_unique() == found.height == 3 * 3
    assert found["repeats"].unique().to_list() == [REPEATS]
    nodes = row(found, "a", "c", "nodes_used_mean")
    assert (nodes["difference_mean"], nodes["separated"], nodes["all_placed"]) == (-2.0, True, True)
    # 2 nodes fewer in every order, so there is no interval
    assert nodes["low"] == nodes["high"] == -2.0
    same = row(found, "a", "b", "nodes_used_mean")
    assert (same["difference_mean"], same["low"], same["p"]) == (0.0, 0.0, None)
    assert not row(found, "a", "b", "pending")["separated"]


def test_an_interval_excludes_zero_just_where_the_difference_is_told() -> None:
    found = differences(measured()).drop_nulls("p")
    outside = (found["low"] > 0) | (found["high"] < 0)
    assert outside.to_list() == found["separated"].to_list()
    assert (found["p_corrected"] >= found["p"]).all()


def test_unlike_loads_are_marked() -> None:
    found = differences(measured(waiting=1))
    assert row(found, "a", "b", "imbalance_mean")["all_placed"]
    assert not row(found, "a", "c", "imbalance_mean")["all_placed"]


def test_one_policy_has_no_differences() -> None:
    known = measured()
    assert known.repeats is not None
    alone = Results({}, known.summary.head(1), known.repeats.filter(pl.col("policy") == "a"))
    assert differences(alone).height == 0
    assert "separated" in differences(alone).columns


def test_few_repeats_say_nothing() -> None:
    assert not differences(measured(repeats=5))["separated"].any()


def test_the_summary_gets_intervals_and_keeps_its_rows() -> None:
    known = measured()
    bound = pl.DataFrame({"policy": ["bound"], "imbalance_mean": [1.0]})
    whole = Results({}, pl.concat([known.summary, bound], how="diagonal"), known.repeats)
    found = with_intervals(whole)
    assert found["policy"].to_list() == ["a", "b", "c", "bound"]
    low, high = (found[part_column("imbalance_mean", part)] for part in ("low", "high"))
    middle = found[part_column("imbalance_mean", "repeats")]
    assert (low[:3] < middle[:3]).all()
    assert (middle[:3] < high[:3]).all()
    assert low[3] is None


def test_rows_may_come_in_any_order() -> None:
    known = measured()
    assert known.repeats is not None
    mixed = known.repeats.sample(fraction=1, shuffle=True, seed=3)
    assert differences(Results({}, known.summary, mixed)).equals(differences(known))


def test_columns_end_in_their_unit() -> None:
    assert part_column("cpu_max_fraction", "low") == "cpu_max_low_fraction"
    assert part_column("qos_share", "high") == "qos_high_share"
    assert part_column("nodes_used_max", "low") == "nodes_used_max_low"


def test_better_is_said_only_where_it_is() -> None:
    nodes, zed = sentences(measured(), ours=["a", "b", "c"])
    assert zed.startswith("Imbalance Z: lowest under")
    assert " 12 orders); within chance of it: " in zed
    assert zed.rpartition(": ")[2] in ("a", "c")
    assert nodes == "Nodes used: lowest under a (5, 12 orders); within chance of it: b"
    nodes, zed = sentences(measured(), ours=["a", "b"])
    assert zed.endswith("all others differ")
    assert nodes == "Nodes used: it is 5 under every policy that is compared"


def test_production_stands_beside_the_best_policy() -> None:
    known = measured()
    renamed = [
        frame.with_columns(pl.col("policy").replace("b", "observed"))
        for frame in (known.summary, known.repeats)
        if frame is not None
    ]
    lines = sentences(Results({}, *renamed), ours=["a", "c"])
    told = [line for line in lines if "lowest under" in line]
    assert told
    # in a sentence of its own: after "within chance of it" it would be one of those
    assert all(". Production: " in line for line in told)
    assert not any("; production" in line for line in lines)


def test_measures_that_tell_nothing_for_one_reason_are_one_sentence() -> None:
    (few,) = sentences(measured(repeats=2), ours=["b", "c"])
    assert few.startswith("Nodes used, Imbalance Z: policies met 2 orders of arrival")


def test_who_left_containers_waiting_is_not_compared() -> None:
    lines = sentences(measured(waiting=1), ours=["a", "b", "c"])
    assert lines[-1] == "left containers waiting, so not compared: c"
    assert lines[1].startswith("Imbalance Z: lowest under a (")
    assert lines[1].endswith(", 12 orders); all others differ")
    assert sentences(measured(), ours=["a"]) == []


def test_who_met_one_order_is_not_compared() -> None:
    known = measured()
    more = [known.summary.head(1).with_columns(policy=pl.lit(f"d{at}")) for at in range(23)]
    found = Results({}, pl.concat([known.summary, *more]), known.repeats)
    lines = sentences(found, ours=["a", "b", "d0"])
    assert lines[-1] == "met one order of arrival alone, so not compared: d0"
    assert lines[:-1] == sentences(known, ours=["a", "b"])
    many = sentences(found, ours=["a", "b", *(f"d{at}" for at in range(23))])
    assert many[-1] == "met one order of arrival alone, so not compared: 23 other policies"


def test_an_interval_leaves_zero_out_only_where_signs_agree_too() -> None:
    """Four of six ahead by much, two not at all: Student's t alone would tell it."""
    found = compare(np.array([[0.0], [0.0], [3.1], [3.2], [2.9], [3.0]]))
    assert found.p[0] < 0.05
    assert not found.separated[0]
    assert found.low[0] <= 0 < found.high[0]


def overloading(*names: str, stick: str = "") -> Results:
    """A run of a, b, c and d, in which some overload nodes; ``stick``: a yardstick."""
    known = measured()
    assert known.repeats is not None
    more = known.repeats.filter(policy="b").with_columns(policy=pl.lit("d"), imbalance_mean=9.0)
    over = pl.when(pl.col("policy").is_in(names)).then(500).otherwise(0)
    frame = pl.concat([known.repeats, more]).with_columns(
        overloaded_node_steps=over, cpu_max_fraction=pl.col("imbalance_mean") / 100
    )
    about = {"policies": [{"policy": stick, "used_by": "yardstick"}]} if stick else {}
    return Results(about, frame.filter(repeat=0).drop("repeat"), frame)


@pytest.mark.parametrize(
    ("over", "stick", "overload", "sticks"),
    [
        pytest.param([], "d", "", "d", id="a yardstick that overloads nothing"),
        pytest.param(["d"], "c", "d", "c", id="each with its reason"),
        pytest.param(["d"], "d", "d", "", id="a yardstick that overloads nodes, too"),
    ],
)
def test_who_is_barred_is_told_with_the_reason(
    over: list[str], stick: str, overload: str, sticks: str
) -> None:
    said = sentences(overloading(*over, stick=stick), ours=["a", "b", "c", "d"])
    first, second = "overload nodes too much to be chosen", "yardsticks, which no scheduler runs"
    for why, who in ((first, overload), (second, sticks)):
        told = [text for text in said if text.startswith(why)]
        assert told == ([f"{why}, so not compared: {who}"] if who else [])


def test_who_overloads_nodes_is_not_within_chance_of_anybody() -> None:
    found = overloading("d")
    said = sentences(found, ours=["a", "b", "c", "d"])
    assert "overload nodes too much to be chosen, so not compared: d" in said
    assert not any("d" in text.partition("within chance of it: ")[2].split("; ") for text in said)
    families = differences(found).filter(measure="cpu_max_fraction")
    assert set(families.filter(policy_b="d")["family"]) == {"others"}
    assert set(families.filter(policy_a="a", policy_b="b")["family"]) == {"decision"}
