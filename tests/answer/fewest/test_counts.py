"""How many nodes are enough: beside every subset of nodes, and what holds of every answer."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as some
from replay_support import changed, workload
from shrink_support import EVEN, limits, row, shrunk, varying
from tests_support import few_or_many

from tracekit.answer.fewest.outcome import Outcome, TooFewError
from tracekit.answer.fewest.replays import LocalReplays, requested_over_time
from tracekit.answer.fewest.search import fewest_nodes
from tracekit.base.arrays import order_seed
from tracekit.base.study import Study
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.runs.one import in_order, replay_one

CPU, MEMORY = "cpu_p99_over_time_fraction", "memory_max_fraction"
ORDERS, SEED = 2, 3
SIZES = [(100, 100), (60, 160), (160, 60), (200, 200)]
rows_of = some.lists(
    some.tuples(some.integers(1, 50), some.integers(1, 50)), min_size=1, max_size=7
)


def search(load: Workload, name: str, *texts: str, **more: object) -> Outcome:
    policy = parse_policy(name)
    return fewest_nodes(
        load,
        policy,
        limits(load, *texts),
        repeats=ORDERS,
        replaying=lambda some: LocalReplays(some, policy, SEED),
        **more,  # type: ignore[arg-type]
    )


def holds(load: Workload, name: str, staying: tuple[int, ...]) -> bool:
    """Whether these nodes are enough, in words of the summary alone."""
    for order in range(ORDERS):
        given = in_order(load, order_seed(SEED, order)) if order else load
        present = on_nodes(given, np.array(staying))
        replayed = replay_one(present, parse_policy(name), order_seed(SEED, order)).row
        waits = replayed["pending"] or replayed["pending_container_steps"]
        if waits or replayed[CPU] > load.rules.ceiling.cpu_fraction or replayed[MEMORY] > 0.9:
            return False
    return True


@settings(max_examples=25)
@given(
    rows_of,
    some.lists(some.sampled_from(SIZES), min_size=2, max_size=5),
    some.sampled_from(["first_fit", "best_fit", "worst_fit"]),
    some.integers(0, 99),
)
def test_no_answer_is_below_what_all_subsets_of_nodes_tell(
    sizes: list[tuple[int, int]], nodes: list[tuple[int, int]], name: str, seed: int
) -> None:
    load = varying(nodes, [(0, 10**9, *size) for size in sizes], seed=seed)
    subsets = (
        chosen
        for many in range(1, len(nodes) + 1)
        for chosen in itertools.combinations(range(len(nodes)), many)
    )
    fewest = next((len(chosen) for chosen in subsets if holds(load, name, chosen)), None)
    try:
        results = search(load, name, further=False)
    except TooFewError:
        assert not holds(load, name, tuple(range(len(nodes))))
        return
    assert fewest is not None
    assert results.bound is not None
    assert results.bound <= fewest <= results.nodes <= fewest + 2
    assert holds(load, name, tuple(sorted(results.staying.tolist())))


@pytest.mark.slow
@settings(max_examples=few_or_many(8, 200))
@given(
    some.lists(some.tuples(some.integers(5, 40), some.integers(5, 40)), min_size=4, max_size=14),
    some.sampled_from(["first_fit", "least_allocated", "most_allocated"]),
    some.sampled_from(["nodes", "cost"]),
    some.sets(some.integers(0, 9), max_size=2),
    some.integers(0, 99),
)
def test_what_holds_of_every_answer(
    sizes: list[tuple[int, int]], name: str, by: str, special: set[int], seed: int
) -> None:
    load = varying(SIZES[:2] * 5, [(0, 10**9, *size) for size in sizes], seed=seed)
    stays = np.isin(np.arange(10), list(special))
    price = np.random.default_rng(seed).choice([1.0, 1.5, 4.0], 10)
    load = changed(load, nodes={"never_removed": stays, "price_per_hour": price})
    try:
        results = search(load, name, by=by, further=False)
    except TooFewError:
        assume(False)
        return
    assert max(results.bound or 1, len(special)) <= results.nodes <= load.nodes.count
    assert max(results.by_order) <= results.nodes
    assert special <= set(results.staying.tolist())
    assert not any(one.broken for one in results.held)
    assert results.cheapest is None or results.cheapest <= price[results.staying].sum() + 1e-9
    assert (
        results.fewer[-1].broken
        if results.fewer
        else results.nodes <= max(results.bound or 1, len(special), 1)
    )
    again = search(load, name, by=by, further=False)
    assert (again.nodes, again.staying.tolist()) == (results.nodes, results.staying.tolist())


def test_the_ceiling_limits_where_no_limit_is_given() -> None:
    """Three of 25 are within 80 % of a node of 100, four are not; so sixteen need six."""
    policy_row = row(shrunk(EVEN, policies=["worst_fit"]), "worst_fit")
    assert (policy_row["nodes"], policy_row["of"], policy_row["bound"]) == (6, 8, 5)
    nearest = [policy_row[f"tightest_{part}"] for part in ("measure", "value", "allowed")]
    assert nearest == [CPU, pytest.approx(0.75), 0.8]
    fails = [policy_row[f"fails_{part}"] for part in ("measure", "value", "allowed")]
    assert fails == [CPU, pytest.approx(1.0), 0.8]
    # requests let a policy that packs put four on a node of the eight, too, and no fewer help
    packed = row(shrunk(EVEN, policies=["best_fit"]), "best_fit")
    assert packed["nodes"] is None
    assert (packed["breaks_measure"], packed["breaks_value"]) == (CPU, pytest.approx(1.0))


@pytest.mark.parametrize(
    ("texts", "nodes"),
    [
        (("cpu_max_fraction <= 1",), 4),
        (("cpu_max_fraction <= 0.5",), 8),
        (("cpu_p99_over_time_fraction <= 0.75",), 6),
        (("memory_max_fraction <= 0.02",), 8),
        (("cpu_max_fraction <= 1", "memory_max_fraction <= 0.03"), 6),
        (("cpu_max_fraction <= 1.5 * base",), 6),
    ],
)
def test_a_limit_takes_the_place_of_the_ceiling_of_its_resource(
    texts: tuple[str, ...], nodes: int
) -> None:
    assert row(shrunk(EVEN, *texts, policies=["worst_fit"]), "worst_fit")["nodes"] == nodes


@pytest.mark.parametrize(("scale", "nodes"), [(1.0, 4), (1.3, 5), (0.5, 2), (2, 8), (2.5, 10)])
def test_more_load(scale: float, nodes: int) -> None:
    """16, 20 (20.8 rounded down), 8, 32 and 40 containers, four on a node."""
    policy_row = row(shrunk(EVEN, "cpu_max_fraction <= 1", scale=scale))
    assert (policy_row["nodes"], policy_row["added_nodes"]) == (nodes, max(nodes - 8, 0))


def test_the_answer_shows_what_the_search_saw() -> None:
    load = workload([(100, 1000)] * 40, [(0, 9000, 20, 10, 0)] * 40, used_share=1.0)
    load = changed(load, nodes={"price_per_hour": np.full(40, 0.5)})
    study = shrunk(load, "cpu_max_fraction <= 1", policies=["worst_fit"])
    policy_row, sizes = row(study, "worst_fit"), study.frames["sizes"]
    grid = np.linspace(policy_row["bound"], 40, 8).round().astype(int)
    assert set(grid.tolist()) <= set(sizes["nodes"].to_list())
    assert sizes.filter(pl.col("nodes") == policy_row["nodes"])["holds"].all()
    assert not sizes.filter(pl.col("nodes") == policy_row["fewer"])["holds"].any()
    assert (sizes["cost_kept_per_hour"] == sizes["nodes"] * 0.5).all()
    assert sizes.filter(nodes=40)[CPU].to_list() == pytest.approx([0.2])
    rows = study.frames["nodes"].filter("kept")
    assert rows[CPU].max() == policy_row[CPU]
    assert rows.sort(CPU, descending=True)["node"][0] == policy_row["fullest_node"]
    assert (policy_row["cost_kept_per_hour"], policy_row["cost_all_per_hour"]) == (
        policy_row["nodes"] / 2,
        20,
    )
    # production has all forty on n0
    assert policy_row["restarted"] == (0 if "n0" in rows["node"].to_list() else 40)


def as_production(study: Study) -> Study | None:
    """The study's frames of nodes that are above the ceiling no more often than in production."""
    end = "_as_production"
    frames = {name.removesuffix(end): one for name, one in study.frames.items() if end in name}
    return dataclasses.replace(study, frames=frames) if frames else None


def test_production_above_the_ceiling_is_counted_by_itself_too() -> None:
    """One node of production is at 85 % at each step, all others at 5 %: see M5 of the reviews."""
    rows = [(0, 9000, 5, 5, 0)] * 17 + [(0, 9000, 5, 5, 1 + at % 9) for at in range(20)]
    load = workload([(100, 100)] * 10, rows, used_share=1.0)
    study = shrunk(load, policies=["first_fit", "worst_fit"])
    usual = as_production(study)
    assert usual is not None
    # at the ceiling first fit, which goes by requests, fills a node; worst fit does not
    assert row(study, "worst_fit")["nodes"] == 3
    assert row(usual, "worst_fit")["nodes"] <= 3
    held = row(usual, "worst_fit")
    assert held["tightest_measure"] == "above_ceiling_node_steps"
    assert held["tightest_value"] <= held["tightest_allowed"] == 4
    filled = row(usual, "first_fit")
    assert (filled["nodes"], filled["breaks_value"], filled["breaks_allowed"]) == (None, 8, 4)
    assert as_production(shrunk(load, "cpu_max_fraction <= 1", policies=["worst_fit"])) is None
    even = changed(load, containers={"recorded_node": np.arange(37) % 10})
    assert as_production(shrunk(even, policies=["worst_fit"])) is None


def test_orders_of_arrival_choose_the_set_together() -> None:
    """See M4 of the reviews: of each node counts what is requested in all orders of arrival."""
    load = varying([(100, 100)] * 12, [(0, 10**9, 5, 5), (0, 10**9, 15, 5)] * 20, seed=5)
    study = shrunk(load, policies=["random"], repeats=6)
    policy_row = row(study, "random")
    by_order = study.frames["orders"]["nodes"].to_list()
    assert (policy_row["nodes_low"], policy_row["nodes_high"]) == (min(by_order), max(by_order))
    assert policy_row["joint_apart"] == (policy_row["nodes"] > 1.05 * max(by_order))
    at = study.frames["sizes"].filter(nodes=policy_row["nodes"])
    assert sorted(at["repeat"].to_list()) == list(range(6))
    assert at["holds"].all()


def test_where_a_limit_breaks_on_all_nodes_the_fullest_go() -> None:
    """Worst fit puts one on each node, also on the small ones, which it fills."""
    load = workload([(30, 100)] * 2 + [(100, 100)] * 6, [(0, 9000, 26, 10)] * 8, used_share=1.0)
    policy_row = row(shrunk(load, policies=["first_fit"]), "first_fit")
    assert policy_row["nodes"] <= 6
    assert policy_row["breaks_measure"] == CPU
    assert policy_row["breaks_value"] > policy_row["breaks_allowed"] == 0.8


def test_what_is_asked_counts_by_time_and_without_daemons() -> None:
    load = workload([(100, 100)] * 2, [(0, 9000, 50, 1), (2000, 9000, 50, 1), (2000, 9000, 80, 1)])
    load = changed(
        load, rules={"daemon": np.array([False, False, True]), "pinned": np.array([-1, -1, 1])}
    )
    assert requested_over_time(load, np.array([0, 1, 1])).tolist() == [0.5, 0.25]


def test_daemons_go_with_their_nodes() -> None:
    """Every node has a daemon of 40: two containers of 30 fit beside it, so six need three."""
    rows = [(0, 9000, 40, 1)] * 6 + [(0, 9000, 30, 1)] * 6
    load = workload([(100, 100)] * 6, rows, used_share=1.0)
    load = changed(
        load,
        rules={
            "pinned": np.array([0, 1, 2, 3, 4, 5, *[-1] * 6]),
            "daemon": np.array([True] * 6 + [False] * 6),
        },
    )
    policy_row = row(shrunk(load, "cpu_max_fraction <= 1"))
    assert (policy_row["nodes"], policy_row["bound"]) == (3, 3)


#: Best fit puts both of 40 on the first node and one of 60 on the second: the other finds no room.
#: Production had one of each on both. The third node is of no use to anybody.
WAITS = workload(
    [(100, 1000), (100, 1000), (10, 100), (24_000, 800_000)],
    [
        *[(0, 9000, 60, 2000, 3)] * 400,
        *[(0, 9000, 40, 10, at) for at in (0, 1)],
        *[(0, 9000, 60, 10, at) for at in (0, 1)],
    ],
)


@pytest.mark.parametrize(
    ("texts", "scale", "waits", "added"),
    [
        ((), 1.0, 1, False),
        (("pending == 0", "pending_container_steps == 0"), 1.0, None, True),
        ((), 1.5, None, True),
    ],
)
def test_as_many_may_wait_as_with_all_nodes_where_production_placed_all(
    texts: tuple[str, ...], scale: float, waits: int | None, added: bool
) -> None:
    policy_row = row(shrunk(WAITS, "cpu_max_fraction <= 1", *texts, scale=scale))
    assert (policy_row["waits_with_all"], policy_row["added_nodes"] > 0) == (waits, added)
    assert policy_row["bound"] <= policy_row["nodes"]
