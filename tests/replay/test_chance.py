"""Better only beyond chance: equal policies stay together, a planted one wins, intervals."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from replay_support import changed, workload
from scipy import stats
from tests_support import few_or_many

from tracekit.analysis.metrics import LEVEL
from tracekit.answer.repeat import repeat_replay
from tracekit.base.arrays import FloatArray
from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrants
from tracekit.policy.parse import parse_policy
from tracekit.replay.chance import Compared, apart, compare, means, unpaired
from tracekit.replay.chance import judge as judged
from tracekit.replay.runs.one import in_order, replay_one
from tracekit.replay.runs.run import choose_policies

POLICIES, MEASURES = 8, 12


def noise(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Values of equal policies; the measures of one replay go together."""
    own, shared = rng.normal(size=shape), rng.normal(size=(*shape[:2], 1))
    values = own * np.sqrt(0.3) + shared * np.sqrt(0.7)
    if kind == "skewed":
        return np.asarray(np.exp(values))
    if kind == "whole numbers":
        return np.asarray(np.round(0.6 * values), np.float64)
    return np.asarray(values)


def family(values: FloatArray) -> Compared:
    """Every pair of policies by every measure, of values of shape (orders, policies, measures)."""
    pairs = itertools.combinations(range(values.shape[1]), 2)
    return compare(np.concatenate([values[:, a] - values[:, b] for a, b in pairs], axis=1))


def seldom(result: int, runs: int, rate: float) -> bool:
    """Whether so many are no more than a rate explains, but for 1 in 1,000 tests."""
    return bool(stats.binom.sf(result - 1, runs, rate) > 0.001) if result else True


@pytest.mark.parametrize("orders", [6, 10])
@pytest.mark.parametrize("kind", ["normal", "skewed", "whole numbers"])
def test_equal_policies_are_seldom_told_apart(kind: str, orders: int) -> None:
    rng, runs = np.random.Generator(np.random.PCG64(orders)), 300
    result = sum(
        bool(family(noise(kind, (orders, POLICIES, MEASURES), rng)).separated.any())
        for _ in range(runs)
    )
    assert seldom(result, runs, 1 - LEVEL)


@pytest.mark.parametrize(
    ("orders", "margin", "rate"), [(6, 20.0, 0.9), (10, 6.0, 0.9), (20, 3.0, 0.9)]
)
def test_a_policy_that_is_better_by_a_margin_is_found(
    orders: int, margin: float, rate: float
) -> None:
    """The margin is in standard deviations of one policy's values over the orders."""
    rng, runs, result, false = np.random.Generator(np.random.PCG64(orders)), 100, 0, 0
    for _ in range(runs):
        values = noise("normal", (orders, POLICIES, MEASURES), rng)
        values[:, 0] -= margin
        reported = family(values).separated.reshape(-1, MEASURES)
        against = POLICIES - 1  # the first pairs are those of the first policy
        result += bool(reported[:against, 0].all())
        false += bool(reported[against:].any())
    assert result >= rate * runs
    assert seldom(false, runs, 1 - LEVEL)


def test_one_order_that_stands_out_makes_no_difference() -> None:
    values = np.zeros((10, 1))
    values[3] = 1e6
    study = compare(values + np.linspace(-1, 1, 10)[:, None])
    assert not study.separated.any()


def test_whole_numbers_that_happen_to_be_equal_are_not_sure() -> None:
    assert compare(np.ones((6, 1))).p[0] > 1e-4
    assert compare(np.full((6, 1), 90.0)).separated.all()
    assert compare(np.full((6, 1), 0.25)).separated.all()


def test_intervals_of_many_means_hold_together() -> None:
    rng, runs, held = np.random.Generator(np.random.PCG64(5)), 400, 0
    for _ in range(runs):
        result = means(rng.normal(5.0, 1.0, size=(6, POLICIES)), comparisons=POLICIES)
        held += bool(((result.low <= 5) & (result.high >= 5)).all())
    assert seldom(runs - held, runs, 1 - LEVEL)


#: Parameters at their defaults, so that a policy can be spelled eight ways and stays the same.
DEFAULTS = ("tie=reservoir", "least_allocated_weight=1", "balanced_allocation_weight=1")
SPELLED = [
    f"default_scheduler[{','.join(given)}]" if given else "default_scheduler"
    for count in range(len(DEFAULTS) + 1)
    for given in itertools.combinations(DEFAULTS, count)
]
SMALL = "paper000[nodes=3,containers=9,target_alloc_fraction=0.5,step_ms=7200000]"
WIDE = "paper000[nodes=12,containers=24,target_alloc_fraction=0.3,step_ms=1800000]"


def differences(policies: list[str], *, seed: int, workload: str = SMALL) -> pl.DataFrame:
    """What a replay says of pairs of policies, without a folder of it and without an answer."""
    load = source_of(None, workload, seed=seed).load()
    result = repeat_replay(
        load, choose_policies(Entrants.of(policies), load), seed=seed, repeats=6
    ).differences
    assert result is not None
    return result


@pytest.mark.slow
def test_one_policy_spelled_eight_ways_is_one_policy() -> None:
    """A rate of 5 % passes in 999 of 1,000; one of 25 % fails in 15 of 16 of the 60 runs."""
    assert len(SPELLED) == POLICIES
    reported, differed, runs = 0, 0, few_or_many(15, 60)
    for number in range(runs):
        result = differences(SPELLED, seed=1000 * number)
        ours = result.filter(pl.col("policy_a") != "observed")
        # two nodes that swap their containers differ by rounding alone: that is no difference
        differed += bool(ours["p"].is_not_null().any())
        reported += bool(ours["separated"].any())
    assert differed > runs / 2
    assert seldom(reported, runs, 1 - LEVEL)


CHANCE = ("random", "random[tie=reservoir]")
#: Fills one node after the other: of twelve nodes it needs at least four fewer than chance.
PLANTED = '''
from dataclasses import dataclass

from tracekit.policy.placement import PlacementPolicy


@dataclass(frozen=True, kw_only=True)
class Stack(PlacementPolicy):
    """The lowest node with room."""

    reads = frozenset({"requests"})
    source = "made up"

    def score(self, snapshot, container, nodes):
        return -nodes
'''


def test_a_planted_policy_is_found(tmp_path: Path) -> None:
    """In four of five runs it is told from both; two spellings of chance are told apart seldom."""
    planted = tmp_path / "stack.py"
    planted.write_text(PLANTED, encoding="utf-8")
    names, result, false, runs = [str(planted), *CHANCE], 0, 0, few_or_many(2, 40)
    for number in range(runs):
        reported = differences(names, seed=1000 * number, workload=WIDE)
        reported = reported.filter("separated")
        nodes = reported.filter(measure="nodes_used_max")
        pairs = {frozenset(pair) for pair in nodes.select("policy_a", "policy_b").iter_rows()}
        result += {frozenset({"stack", name}) for name in CHANCE} <= pairs
        false += not reported.filter(
            pl.all_horizontal(pl.col("policy_a", "policy_b").is_in(CHANCE))
        ).is_empty()
    assert result >= 0.8 * runs
    assert seldom(false, runs, 1 - LEVEL)


@pytest.mark.parametrize("kind", ["normal", "whole numbers"])
def test_production_that_is_one_draw_of_a_policy_is_seldom_told_from_it(kind: str) -> None:
    """And a policy that is better than it by twelve standard deviations of one order is found."""
    rng, runs, reported, result = np.random.Generator(np.random.PCG64(1)), 300, 0, 0
    once = np.ones(MEASURES, dtype=np.bool_)
    for _ in range(runs):
        values = noise(kind, (7, 1, MEASURES), rng)[:, 0]
        reported += bool(compare(values[:6] - values[6], once=once).separated.any())
        result += bool(compare(values[:6] - 12.0 - values[6], once=once).separated[0])
    assert seldom(reported, runs, 1 - LEVEL)
    assert result >= 0.95 * runs


def test_what_differs_by_rounding_alone_is_the_same() -> None:
    one = np.full((6, 2), 0.29961463450590775)
    other = np.column_stack([np.full(6, 0.2996146345059077), np.full(6, 0.3)])
    study = compare(apart(one, other))
    assert study.separated.tolist() == [False, True]
    assert study.mean[0] == 0.0
    assert np.isnan(study.p[0])
    assert means(102.742759 + 1e-7 * np.arange(6.0)[:, None]).high[0] == pytest.approx(102.742759)


@pytest.mark.slow
def test_a_policy_that_was_production_is_seldom_told_from_it() -> None:
    """Production is what default_scheduler made of one order; that policy then meets six others.

    Held against production as against a constant, this test fails.
    """
    reported, runs = 0, few_or_many(12, 40)
    for seed in range(runs):
        load = small_cluster(np.random.Generator(np.random.PCG64(seed)))
        once = in_order(load, 900 + seed)
        made = replay_one(once, parse_policy("default_scheduler"), 900 + seed)
        where = dict(zip(once.containers.ids, made.placements["node"].to_list(), strict=True))
        recorded = np.array([where[name] for name in load.containers.ids])
        load = changed(load, containers={"recorded_node": recorded})
        policies = choose_policies(Entrants.of(["default_scheduler"]), load)
        result = repeat_replay(load, policies, seed=seed, repeats=6).differences
        assert result is not None
        assert result["p"].is_not_null().any()
        reported += bool(result["separated"].any())
    assert seldom(reported, runs, 1 - LEVEL)


def small_cluster(rng: np.random.Generator) -> Workload:
    """40 equal nodes and 200 containers of drawn sizes, which can come in any order."""
    sizes = rng.integers(2, 40, (200, 2)).tolist()
    load = workload([(200, 200)] * 40, [(0, 9000, cpu, memory, 0) for cpu, memory in sizes])
    return changed(load, containers={"exchangeable": np.ones(200, dtype=np.bool_)})


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize("rows", [6, 20])
def test_ninety_five_of_a_hundred_intervals_cover_the_truth(rows: int) -> None:
    result = means(rng(1).normal(3.0, 2.0, size=(rows, 2000)))
    covered = ((result.low <= 3.0) & (result.high >= 3.0)).mean()
    assert 0.92 < covered < 0.97


# Holm's correction against what it is defined by, worked out the long way.


ALPHA = 1 - LEVEL


def closed(p: list[float]) -> list[float]:
    """Corrected p by closed testing with Bonferroni: over all sets that a hypothesis is in.

    Of each set the least p times its size; a hypothesis has the largest of these. That is what
    Holm's procedure is a short cut of (Marcus, Peritz and Gabriel, Biometrika 1976, 63(3)).
    """
    every = range(len(p))
    sets = [s for size in range(1, len(p) + 1) for s in itertools.combinations(every, size)]
    return [min(1.0, max(len(s) * min(p[i] for i in s) for s in sets if at in s)) for at in every]


def drawn(seed: int, columns: int = 8, orders: int = 7) -> FloatArray:
    """Differences of which some are far from 0, some near, some at it."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return np.asarray(rng.normal(size=(orders, columns)) + rng.choice([0, 1, 2, 4], size=columns))


@pytest.mark.parametrize("seed", range(20))
def test_corrected_p_is_that_of_closed_testing(seed: int) -> None:
    values = drawn(seed)
    alone = [float(one) for one in stats.ttest_1samp(values, 0).pvalue]
    study = compare(values)
    assert study.p == pytest.approx(alone)
    assert study.p_corrected == pytest.approx(closed(alone))


@pytest.mark.parametrize("seed", range(20))
def test_two_families_share_what_may_go_wrong(seed: int) -> None:
    """Four fifths of it to the columns that answer, a fifth to the others; half for two looks."""
    values = drawn(seed)
    first = np.arange(8) < 3
    alone = [float(one) for one in stats.ttest_1samp(values, 0).pvalue]
    parts = [(closed(alone[:3]), 0.8), (closed(alone[3:]), 0.2)]
    for looks in (1, 2):
        study = compare(values, first=first, looks=looks)
        long_way = [min(1.0, looks * p / of_all) for part, of_all in parts for p in part]
        assert study.p_corrected == pytest.approx(long_way)
        assert not study.separated[np.array(long_way) > ALPHA].any()


@pytest.mark.parametrize("seed", range(10))
def test_runs_that_share_no_orders_are_corrected_as_one_family(seed: int) -> None:
    """Welch's t of each column, then the same correction."""
    base, new = drawn(seed), drawn(seed + 100, orders=9)
    alone = [float(one) for one in stats.ttest_ind(new, base, equal_var=False).pvalue]
    result = judged(unpaired(base, new))
    assert result.p == pytest.approx(alone)
    assert result.p_corrected == pytest.approx(closed(alone))
    assert result.separated.tolist() == [p <= ALPHA for p in closed(alone)]


@pytest.mark.parametrize("seed", range(20))
def test_an_interval_leaves_0_out_just_where_the_difference_is_told(seed: int) -> None:
    study = compare(drawn(seed))
    assert ((study.low > 0) | (study.high < 0)).tolist() == study.separated.tolist()


def test_equal_columns_are_told_no_more_often_than_stated() -> None:
    """Family-wise: 1,000 families of eight equal columns."""
    rng = np.random.Generator(np.random.PCG64(31))
    result = sum(compare(rng.normal(size=(7, 8))).separated.any() for _ in range(1000))
    assert stats.binom.sf(result - 1, 1000, ALPHA) > 0.001
