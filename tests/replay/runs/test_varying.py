"""What differs between repeats, and that nothing else counts as one."""

from __future__ import annotations

import numpy as np
import polars as pl
from replay_support import changed, workload

from tracekit.answer.repeat import repeat_replay
from tracekit.base.units import MS_PER_HOUR
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrants
from tracekit.replay.runs.one import LEAST_SHARE, ORDER, SEED, varying
from tracekit.replay.runs.run import choose_policies

DAYS, PER_DAY = 7, 4
STEP_MS = 24 * MS_PER_HOUR // PER_DAY
STEPS = DAYS * PER_DAY


def long(*, exchangeable: bool = False, steps: int = STEPS) -> Workload:
    """Containers that come one by one and stay, over a week; what they use differs by the hour."""
    end = steps * STEP_MS
    load = workload([(60, 60)] * 4, [(at, end, 8, 4, at % 2) for at in range(12)])
    rng = np.random.Generator(np.random.PCG64(2))
    return changed(
        load,
        use={
            "times_ms": np.arange(steps, dtype=np.int64) * STEP_MS,
            "step_ms": STEP_MS,
            "values": rng.uniform(2, 9, size=(2, steps, 12)).astype(np.float32),
            "background": np.zeros((2, steps, 4), dtype=np.float32),
            "settled_ms": 12,
        },
        containers={"exchangeable": np.full(12, exchangeable)},
    )


def test_orders_vary_only_where_times_are_free_or_tied() -> None:
    assert varying(long()) == []
    assert varying(long(exchangeable=True)) == [ORDER]
    tied = changed(long(), containers={"arrival_ms": np.zeros(12, np.int64)})
    assert varying(tied) == [ORDER]


def test_a_few_ties_make_no_other_order() -> None:
    """One tie among many would count nearly equal replays as independent repeats."""
    pairs = changed(long(), containers={"arrival_ms": np.repeat(np.arange(6), 2)})
    assert varying(pairs) == [ORDER]
    few = changed(long(), containers={"arrival_ms": np.array([*range(11), 10])})
    assert varying(few) == []
    least = round(LEAST_SHARE * 12)
    tied = np.array([0] * least + list(range(1, 13 - least)))
    assert varying(changed(long(), containers={"arrival_ms": tied})) == [ORDER]
    assert varying(changed(long(), containers={"arrival_ms": np.unique(tied).repeat(2)[:12]})) == [
        ORDER
    ]


def test_parts_of_one_replay_are_no_repeats() -> None:
    """The days of one replay hold the same placements, so that they make nothing sure."""
    load = long()
    names = ["first_fit", "worst_fit", "best_fit"]
    run = repeat_replay(load, choose_policies(Entrants.of(names), load), seed=0, repeats=8)
    assert run.covers == (SEED,)
    assert run.repeats is not None
    mine = run.repeats.filter(policy="first_fit")
    assert mine["repeat"].to_list() == list(range(8))
    assert mine["cpu_max_fraction"].n_unique() == 1
    assert run.differences is not None
    assert not run.differences["separated"].any()
    # what a policy comes to is of the whole trace, as the bound is
    bound = run.summary.filter(policy="bound")
    for name in ("cpu_max_fraction", "memory_max_fraction", "nodes_used_mean"):
        assert (run.repeats[name] >= bound[name][0]).all(), name


def test_repeats_that_differ_by_the_seed_alone_make_nothing_sure() -> None:
    rows = [(at * 100, 9000, 5 + at % 7, 3 + at % 5, at % 3) for at in range(20)]
    load = workload([(60, 60)] * 3, rows)
    policies = choose_policies(
        Entrants.of(["first_fit", "worst_fit", "random", "random[tie=reservoir]"]), load
    )
    run = repeat_replay(load, policies, seed=0, repeats=8)
    assert run.covers == (SEED,)
    assert run.differences is not None
    fixed = run.differences.filter(policy_a="first_fit", policy_b="worst_fit")
    assert not fixed["separated"].any()
    assert fixed.filter(pl.col("difference_mean") != 0)["low"].is_null().all()
    drawn = run.differences.filter(policy_a="random", policy_b="random[tie=reservoir]")
    assert drawn["p"].is_not_null().any()
