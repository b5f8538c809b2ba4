"""Standings and what they let one decide, on made-up measures."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from tracekit.answer.decision import decision
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
    found = standings(made({"plain": 0.2, "good": 0.0, "same": 0.2}), "cpu_max_fraction")
    assert found.tells
    assert found.why_not == ""
    assert found.rows[0].names == ("good",)
    assert [row.apart_from_best for row in found.rows] == [False, True, True]
    assert [row.names for row in found.best] == [("good",)]
    assert found.row("bound") is None


def test_policies_that_place_alike_are_one_row() -> None:
    known = made({"a": 0.0, "b": 0.3})
    assert known.repeats is not None
    again = known.repeats.filter(policy="a").with_columns(policy=pl.lit("a_too"))
    summary = pl.concat(
        [known.summary, again.filter(repeat=0).drop("repeat", "seed")], how="diagonal"
    )
    both = Results(known.manifest, summary, pl.concat([known.repeats, again]))
    assert [row.names for row in standings(both, "cpu_max_fraction").rows] == [
        ("a", "a_too"),
        ("b",),
    ]
    alike = difference(both, "a", "a_too", "cpu_max_fraction")
    assert alike is not None
    assert (alike.mean, alike.low, alike.high, alike.apart) == (0.0, 0.0, 0.0, False)


def test_a_difference_turned_round_is_the_same_with_another_sign() -> None:
    run = made({"a": 0.0, "b": 0.1})
    there, back = (difference(run, *pair, "cpu_max_fraction") for pair in (("a", "b"), ("b", "a")))
    assert there is not None
    assert back is not None
    assert there.apart
    assert (there.mean, there.low, there.high) == (-back.mean, -(back.high or 0), -(back.low or 0))
    assert (there.low or 0) < -0.1 < (there.high or 0) < 0


def test_where_nothing_can_be_told_it_is_said_why() -> None:
    few = standings(made({"a": 0.0, "b": 0.3}, orders=5), "cpu_max_fraction")
    assert not few.tells
    assert few.why_not == "policies met 5 orders of arrival, an interval needs 6 (--repeat 6)"
    noisy = standings(made({"a": 0.0, "b": 0.001}, noise=0.1), "cpu_max_fraction")
    said = re.fullmatch(
        r"no two policies differ beyond chance over 10 orders of arrival;"
        r" they tell differences of ([\d.]+) pp or more",
        noisy.why_not,
    )
    assert said is not None
    planted = {"a": 0.0, "b": 1.3 * float(said[1]) / 100}
    assert standings(made(planted, noise=0.1), "cpu_max_fraction").tells
    near = standings(made({"a": 0.0, "b": 0.001}, noise=1e-5), "cpu_max_fraction")
    assert near.why_not == "policies differ by less than 1%"
    assert all(not one.best for one in (few, noisy, near))


def test_one_that_left_containers_waiting_is_last_and_not_compared() -> None:
    found = standings(made({"a": 0.3, "b": 0.0, "c": 0.5}, pending={"b": 2}), "cpu_max_fraction")
    assert [row.names[0] for row in found.rows] == ["a", "c", "b"]
    assert found.rows[-1].waited
    assert not found.rows[-1].apart_from_best


def test_one_that_overloads_is_never_chosen() -> None:
    found = decision(made({"even": 0.1, "full": 0.0, "poor": 0.4}, overloaded={"full": 3}))
    assert found.chosen == ("even",)
    assert found.criterion == "cpu_max_fraction"
    assert [one.names for one in found.left_out] == [("full",)]
    assert "beyond chance" in found.answer
    assert found.covers == ("order of arrival",)


def test_slight_overload_like_that_of_production_ends_no_chances() -> None:
    overloaded = {"observed": 4, "even": 5, "full": 40}
    run = made({"observed": 0.4, "even": 0.1, "full": 0.0, "poor": 0.4}, overloaded=overloaded)
    manifest = {**run.manifest, "workload": {"nodes": 100, "steps": 1000}}
    found = decision(Results(manifest, run.summary, run.repeats))
    assert found.chosen == ("even",)
    assert [one.names for one in found.left_out] == [("full",)]
    assert "40 node-steps, production 4" in found.left_out[0].why


def test_what_cannot_be_moved_is_said_where_nothing_can_be_told() -> None:
    run = made({"a": 0.0, "b": 0.0}, noise=0.1)
    manifest = {**run.manifest, "workload": {"movable": {"cpu": 0.05, "memory": 0.6}}}
    found = decision(Results(manifest, run.summary, run.repeats))
    assert found.answer.endswith("; only 5.0% of the CPU in use can be moved by any policy.")


def test_none_is_chosen_where_nothing_separates() -> None:
    found = decision(made({"a": 0.0, "b": 0.0}, noise=0.1))
    assert found.chosen == ()
    assert found.answer.startswith("No policy can be recommended: ")
    assert any("Highest CPU use" in said for said in found.not_told)


def test_the_chosen_stands_beside_production_and_a_simple_rule_is_named() -> None:
    found = decision(made({"observed": 0.2, "clever": 0.0, "first_fit": 0.3, "worst_fit": 0.1}))
    assert (found.chosen, found.simple) == (("clever",), "worst_fit")
    told = {one.measure: one for one in found.measures}["cpu_max_fraction"]
    assert told.against_production is not None
    assert told.against_production.apart


def test_nobody_is_recommended_where_production_is_better() -> None:
    found = decision(made({"observed": 0.0, "clever": 0.2, "first_fit": 0.3}))
    assert (found.chosen, found.criterion) == ((), "cpu_max_fraction")
    assert (found.nearest, found.subject) == ("clever", "clever")
    assert found.answer.startswith("Keep the placement of production: no policy is better")
    assert "production comes to 49.3 %" in found.answer
    assert "clever, which comes nearest, to 7" in found.answer


def test_fewer_nodes_are_recommended_where_production_is_better_by_use_alone() -> None:
    nodes = {"observed": 500, "clever": 500, "packing": 264}
    use = {"observed": 0.0, "clever": 0.2, "packing": 0.3}
    found = decision(made(use, noise=0.001, nodes_used_mean=nodes))
    assert (found.chosen, found.criterion) == (("packing",), "nodes_used_mean")
    as_many = decision(made(use, noise=0.001, nodes_used_mean=dict.fromkeys(nodes, 500)))
    assert as_many.chosen == ()


def test_nodes_without_containers_decide_nothing_where_they_are_not_free() -> None:
    """Half of the nodes' CPU is in use by what no container explains: none of them can go."""
    nodes = {"observed": 500, "clever": 500, "packing": 264}
    found = made({"observed": 0.0, "clever": 0.2, "packing": 0.3}, nodes_used_mean=nodes)
    load = {"background": {"cpu": 0.5, "memory": 0.0}, "reserved": {"cpu": 0.0, "memory": 0.0}}
    kept = decision(Results({**found.manifest, "workload": load}, found.summary, found.repeats))
    assert (kept.chosen, kept.nearest) == ((), "clever")
    assert kept.answer.startswith("Keep the placement of production")


def test_production_is_kept_where_all_that_tells_is_who_overloads() -> None:
    """The answer is the same whether few policies were replayed or many."""
    use = {"observed": 0.0, "spreading": 0.0, "packing": 0.0}
    overloaded = {"observed": 0, "spreading": 0, "packing": 900}
    found = decision(made(use, overloaded=overloaded))
    assert (found.chosen, found.nearest) == ((), "spreading")
    assert found.answer == (
        "Keep the placement of production: no policy is better beyond chance by what decides."
        " spreading holds the load as it does, 1 other does not."
    )
    alone = {name: count for name, count in overloaded.items() if name != "observed"}
    without = decision(made(dict.fromkeys(alone, 0.0), overloaded=alone))
    assert without.chosen == ("spreading",)


def test_nothing_is_kept_where_production_leaves_containers_waiting() -> None:
    waiting = {"observed": 2, "clever": 0, "first_fit": 0}
    found = decision(made({"observed": 0.0, "clever": 0.2, "first_fit": 0.2}, pending=waiting))
    assert not found.answer.startswith("Keep")


def test_rows_are_set_beside_the_policy_that_is_named() -> None:
    """The lowest may not be chosen: who is within chance of it may be far from the chosen one."""
    offsets = {"low": 0.0, "chosen": 0.1, "near": 0.1, "far": 0.3}
    plain = standings(made(offsets), "cpu_max_fraction")
    beside = standings(made(offsets), "cpu_max_fraction", beside="chosen")
    assert [row.apart_from_best for row in plain.rows] == [False, True, True, True]
    told = {row.names[0]: row.apart_from_best for row in beside.rows}
    assert told == {"low": True, "chosen": False, "near": False, "far": True}
