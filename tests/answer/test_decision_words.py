"""What a decision says: of one policy, of those that may be chosen, and of counts of one."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.answer.advice import sentence
from tracekit.answer.compare import differences, with_intervals
from tracekit.answer.decision import decision
from tracekit.answer.decision_words import blind_told
from tracekit.answer.fitness import above_on_average
from tracekit.answer.overview import overview
from tracekit.answer.standings import difference, standings
from tracekit.replay.runs.results import Results


def run(values: dict[str, tuple[float, float | list[float]]], orders: int = 6) -> Results:
    """Policies by highest CPU use and overloaded node-steps, each order a little otherwise."""
    rng = np.random.Generator(np.random.PCG64(0))
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": 0.0,
            "overloaded_node_steps": overload[at] if isinstance(overload, list) else overload,
            "cpu_max_fraction": full + (0 if name == "observed" else 0.001 * rng.normal()),
        }
        for at in range(orders)
        for name, (full, overload) in values.items()
    ]
    frame = pl.DataFrame(rows)
    about = {"workload": {"nodes": 10, "steps": 100}, "seed": 0}
    return Results(about, frame.filter(repeat=0).drop("repeat"), frame)


def test_a_cost_that_every_order_has_is_a_trade() -> None:
    """Production is kept "unless this trade is worth it"; worse on average alone is told."""
    for spread, said in (
        (0.001, "Keep the placement of production, unless this trade is worth it. Under a "),
        (0.25, "Use a: "),
    ):
        found = _with_memory(
            run({"observed": (0.8, 0.0), "a": (0.5, 0.0), "b": (0.8, 0.0)}), spread
        )
        told = sentence(found, decision(found))
        assert told.startswith(said)
        assert (". It is worse by highest memory use" in told) == (spread < 0.01)
        assert (". Highest memory use is higher on average (+18.0" in told) == (spread > 0.01)
        chance = "; production is one draw, so that chance may explain it)."
        assert told.endswith(chance) == (spread > 0.01)


def _with_memory(found: Results, spread: float) -> Results:
    """The same with memory that is fuller under each policy than in production, more or less."""
    assert found.repeats is not None
    rng = np.random.Generator(np.random.PCG64(1))
    more = [
        0.3 if name == "observed" else 0.42 + spread * rng.normal()
        for name in found.repeats["policy"]
    ]
    frame = found.repeats.with_columns(memory_max_fraction=pl.Series(more))
    return Results(found.manifest, frame.filter(repeat=0).drop("repeat"), frame)


def test_a_cost_in_every_order_is_told_from_one_on_average() -> None:
    found = _with_memory(run({"observed": (0.8, 0.0), "a": (0.5, 0.0), "b": (0.8, 0.0)}), 0.08)
    said = sentence(found, decision(found))
    assert said.startswith("Keep the placement of production, unless this trade is worth it")
    assert ". Highest memory use is higher in each of 6 orders (+13.9" in said
    assert said.endswith(" on average; production is one draw, so that chance may explain it).")
    assert "worse" not in said


def test_a_cost_in_every_order_is_told_however_many_policies_there_are() -> None:
    """ "Use a" of a run of 35, and "keep production" of the same rows beside one other policy."""
    for others in (1, 40):
        names = [f"p{at}" for at in range(others)]
        given = dict.fromkeys(names, (0.8, 0.0))
        found = _with_memory(run({"observed": (0.8, 0.0), "a": (0.5, 0.0), **given}), 0.0)
        assert found.repeats is not None
        mine = [0.42, 0.31, 0.50, 0.33, 0.47, 0.32]
        of_a = pl.col("policy") == "a"
        memory = pl.col("repeat").replace_strict(dict(enumerate(mine)), default=None)
        wide = pl.when(of_a).then(memory).otherwise(pl.col("memory_max_fraction"))
        frame = found.repeats.with_columns(memory_max_fraction=wide)
        found = Results(found.manifest, frame.filter(repeat=0).drop("repeat"), frame)
        said = sentence(found, decision(found))
        assert said.startswith("Keep the placement of production, unless this trade is worth it")
        assert "Highest memory use is higher in each of 6 orders" in said


def test_a_second_cost_that_chance_may_explain_says_so_too() -> None:
    """It was "worse as well", beside "production is better in 0 measures"."""
    found = _with_memory(run({"observed": (0.8, 0.0), "a": (0.5, 0.0), "b": (0.8, 0.0)}), 0.08)
    assert found.repeats is not None
    frame = found.repeats.with_columns(memory_p99_fraction=pl.col("memory_max_fraction") * 0.9)
    found = Results(found.manifest, frame.filter(repeat=0).drop("repeat"), frame)
    said = sentence(found, decision(found)).replace("\u00a0", " ")
    assert "chance may explain it); worse, with the same doubt: memory use, 99th percentile" in said
    assert "as well" not in said


def test_what_nodes_cost_is_a_price_of_whatever_gets_better() -> None:
    """It said "Use a" at four times what production pays, without a word."""
    found = run({"observed": (0.8, 0.0), "a": (0.5, 0.0), "b": (0.8, 0.0)})
    assert found.repeats is not None
    for paid, trade in ((35.0, True), (8.5, False), (6.0, False)):
        cost = pl.when(policy="a").then(paid).otherwise(8.0).alias("cost_per_hour")
        wide = [one.with_columns(cost) for one in (found.summary, found.repeats)]
        more = Results(found.manifest, *wide)
        said = sentence(more, decision(more)).replace("\u00a0", " ")
        assert said.startswith("Keep the placement of production, unless") is trade
        assert (
            "; cost of nodes in use per hour is 35.00, +27.00 against production" in said
        ) is trade


def test_policies_that_place_what_production_did_not_are_better() -> None:
    """It said that policies do not differ, and nothing of the containers without a node."""
    found = run({"observed": (0.8, 0.0), "a": (0.8, 0.0), "b": (0.8, 0.0)})
    assert found.repeats is not None
    for left, chosen in ((5.0, ("b", "a")), (1.0, ())):
        waits = pl.when(policy="observed").then(left).otherwise(0.0).alias("pending")
        wide = [one.with_columns(waits) for one in (found.summary, found.repeats)]
        about = {"workload": {**found.manifest["workload"], "containers": 200}}
        told = decision(Results({**found.manifest, **about}, *wide))
        assert told.chosen == chosen
        assert (told.criterion == "pending") == bool(chosen)


def test_one_policy_is_not_many_that_place_alike() -> None:
    alone = decision(run({"first_fit": (0.5, 0.0)})).answer
    assert "first_fit is the only policy that may be chosen" in alone
    assert "alike" not in alone
    beside = decision(run({"observed": (0.8, 0.0), "first_fit": (0.5, 0.0)})).answer
    assert "first_fit, the only policy that may be chosen: highest CPU use is 50.0" in beside


def test_the_only_policy_that_may_be_chosen_is_recommended_where_it_is_better() -> None:
    """It was not, as there was no other to tell it from."""
    found = run({"observed": (0.8, 0.0), "first_fit": (0.5, 0.0)})
    told = decision(found)
    assert told.chosen == ("first_fit",)
    assert sentence(found, told).startswith("Use first_fit: highest CPU use is 50.0")
    worse = decision(run({"observed": (0.5, 0.0), "first_fit": (0.8, 0.0)}))
    assert worse.chosen == ()


def test_less_overload_than_an_overloaded_production_decides() -> None:
    """It kept production, as all policies did alike by what decides."""
    found = run({"observed": (0.9, 100.0), "a": (0.9, 0.0), "b": (0.9, 0.0), "c": (0.9, 100.0)})
    told = decision(found)
    assert (told.criterion, told.chosen) == ("overloaded_node_steps", ("a", "b"))
    assert sentence(found, told).startswith(
        "Use a: overloaded node-steps are 0 in each of 6 orders"
    )
    assert decision(run({"observed": (0.9, 100.0), "a": (0.9, 0.0)})).chosen == ("a",)
    assert decision(run({"observed": (0.9, 0.0), "a": (0.9, 0.0)})).chosen == ()


def test_who_overloads_more_than_allowed_on_average_is_not_recommended() -> None:
    """Four orders without overload and two with much: chance does not bar it."""
    rare = (0.5, [0.0, 0.0, 40.0, 0.0, 0.0, 60.0])
    found = run({"observed": (0.8, 0.0), "a": rare, "b": (0.6, 0.0)})
    assert above_on_average(found, "a")
    told = decision(found)
    assert told.chosen == ("b",)
    assert "a" not in {name for one in told.left_out for name in one.names}
    alone = decision(run({"observed": (0.8, 0.0), "a": rare}))
    assert alone.chosen == ()
    assert "or may do so" in alone.answer


def test_the_lowest_is_that_of_those_that_may_be_chosen() -> None:
    found = run({"a": (0.5, 0.0), "b": (0.7, 0.0), "barred": (0.3, 5000.0)})
    assert "a: highest CPU use is the lowest of 2 policies that may be chosen" in (
        decision(found).answer
    )


def test_fewer_orders_than_an_interval_needs_have_none() -> None:
    """Two orders gave 84 +-2,984 of a percentage."""
    found = run({"a": (0.5, 0.0), "b": (0.7, 0.0)}, orders=2)
    row = standings(found, "cpu_max_fraction").row("a")
    assert row is not None
    assert row.low is row.reach is None
    apart = difference(found, "a", "b", "cpu_max_fraction")
    assert apart is not None
    assert (apart.low, apart.orders) == (None, 2)
    assert differences(found)["low"].null_count() == differences(found).height
    assert with_intervals(found)["cpu_max_low_fraction"].null_count() == 2
    seen = overview(found)
    assert not any("±" in cell for row in seen.rows for cell in row)
    assert any("means over 2 repeats, without ±: an interval needs 6" in one for one in seen.note)


def test_what_a_choice_costs_beside_another_is_named() -> None:
    """The report said to use one that needs more nodes than another, beyond chance."""
    found = run({"a": (0.5, 0.0), "b": (0.7, 0.0)})
    assert found.repeats is not None
    nodes = pl.when(pl.col("policy") == "a").then(40.0).otherwise(30.0)
    wide = [one.with_columns(nodes_used_mean=nodes) for one in (found.summary, found.repeats)]
    more = Results(found.manifest, *wide)
    said = sentence(more, decision(more)).replace("\u00a0", " ")
    assert said.startswith("Use a: highest CPU use is 50")
    assert said.endswith(", at 10 more nodes on average.")


def test_a_policy_that_never_saw_use_is_not_put_forward_without_a_word() -> None:
    found = run({"a": (0.5, 0.0), "b": (0.7, 0.0)})
    for blind, there in ((200, True), (30, False)):
        about = {
            "workload": {**found.manifest["workload"], "containers": 200},
            "policies": [{"policy": "a", "decisions_without_use": blind}],
        }
        known = Results({**found.manifest, **about}, found.summary, found.repeats)
        said = sentence(known, decision(known))
        assert ("were made before any use had been measured" in said) is there


def test_once_is_no_number_of_times() -> None:
    assert blind_told({"lra": 1}) == [
        "lra reads use and decided once before any use had been measured"
    ]


def test_more_overload_in_most_orders_is_told_beside_a_gain() -> None:
    """Within the limit of 10 (0.01 % of 100,000 node-steps), and still more than production has."""
    values: dict[str, tuple[float, float | list[float]]] = {
        "observed": (0.8, 1.0),
        "a": (0.5, [3.0, 1.0, 2.0, 9.0, 3.0, 8.0]),
        "b": (0.8, 1.0),
    }
    found = run(values)
    found.manifest["workload"]["steps"] = 10_000
    told = sentence(found, decision(found))
    assert "; overloaded node-steps are 4 " in told
    assert ", 1 in production" in told
    few = run({**values, "a": (0.5, [1.0, 1.0, 1.0, 9.0, 1.0, 1.0])})
    few.manifest["workload"]["steps"] = 10_000
    assert "overloaded node-steps" not in sentence(few, decision(few))


def test_overload_in_few_orders_is_judged_without_production() -> None:
    """It ended in an error, as there is nothing to compare with beyond chance."""
    found = run({"a": (0.5, [3.0, 0.0, 0.0, 0.0, 0.0, 0.0]), "b": (0.6, 0.0)})
    told = decision(found)
    assert not told.left_out
    assert sentence(found, told)


def test_nodes_and_cost_that_grow_in_each_order_are_a_price() -> None:
    """However widely they scatter, so that chance may explain how much."""
    found = run({"observed": (0.9, 0.0), "a": (0.4, 0.0)})
    assert found.repeats is not None
    usual = pl.col("policy") == "observed"
    cost = pl.when(usual).then(2.0).otherwise(4.0 + 40.0 * (pl.col("repeat") == 1))
    priced = [one.with_columns(cost.alias("cost_per_hour")) for one in (found.summary.with_columns(
        repeat=pl.lit(0)), found.repeats)]  # fmt: skip
    told = Results(found.manifest, priced[0].drop("repeat"), priced[1])
    said = sentence(told, decision(told))
    assert said.startswith("Keep the placement of production, unless this trade is worth it")
    assert "cost of nodes in use per hour" in said


def test_a_node_that_is_used_four_times_over_bars_a_policy() -> None:
    """In fewer node-steps than production overloads a little: it was the answer."""
    found = run({"observed": (1.05, 180.0), "a": (3.99, 60.0), "b": (1.02, 170.0)})
    told = decision(found)
    assert [one.names for one in told.left_out] == [("a",)]
    assert told.left_out[0].why == "Highest CPU use is 399.0 %, above 200.0 %"
    assert "no node uses more than twice what it has, or more than production's fullest" in (
        told.rule
    )
    once = run({"observed": (4.5, 180.0), "a": (3.99, 60.0)})
    assert not decision(once).left_out


def test_an_equal_policy_beside_it_changes_no_answer() -> None:
    """Two that place alike in worth are both better than production; it was no answer."""
    values: dict[str, tuple[float, float | list[float]]] = {
        "observed": (0.9, 0.0), "a": (0.45, 0.0), "b": (0.45, 0.0), "c": (0.9, 0.0),
    }  # fmt: skip
    for names in (["a"], ["a", "b"], ["b", "a"], ["a", "b", "c"]):
        found = run({name: values[name] for name in ("observed", *names)})
        said = sentence(found, decision(found))
        assert said.startswith(("Use a: highest CPU use is 4", "Use b: highest CPU use is 4"))


def test_one_policy_alone_may_save_nodes_or_cost() -> None:
    """It was said not to differ from production."""
    for name in ("nodes_used_mean", "cost_per_hour"):
        found = run({"observed": (0.5, 0.0), "a": (0.5, 0.0)})
        assert found.repeats is not None
        value = pl.when(pl.col("policy") == "observed").then(16.0).otherwise(4.0).alias(name)
        less = Results(
            found.manifest, found.summary.with_columns(value), found.repeats.with_columns(value)
        )
        told = decision(less)
        assert told.criterion == name
        assert "are 4" in sentence(less, told) or "is 4" in sentence(less, told)
