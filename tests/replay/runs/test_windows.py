"""What differs between repeats, where every order of arrival is the same and where days differ."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
from replay_support import workload

from tracekit.replay.engine.steps import summarize
from tracekit.replay.runs.decision import decision
from tracekit.replay.runs.repeat import repeat_replay
from tracekit.replay.runs.run import choose_policies
from tracekit.replay.runs.windows import LEAST_MS, ORDER, SEED, in_windows, varying, windows
from tracekit.replay.workload.workload import Workload

DAYS, PER_DAY = 7, 4
STEP_MS = LEAST_MS // PER_DAY
STEPS = DAYS * PER_DAY


def long(*, exchangeable: bool = False, steps: int = STEPS) -> Workload:
    """Containers that come one by one and stay, over a week; what they use differs by the hour."""
    end = steps * STEP_MS
    load = workload([(60, 60)] * 4, [(at, end, 8, 4, at % 2) for at in range(12)])
    rng = np.random.Generator(np.random.PCG64(2))
    return dataclasses.replace(
        load,
        times_ms=np.arange(steps, dtype=np.int64) * STEP_MS,
        step_ms=STEP_MS,
        usage=rng.uniform(2, 9, size=(2, steps, 12)).astype(np.float32),
        background=np.zeros((2, steps, 4), dtype=np.float32),
        exchangeable=np.full(12, exchangeable),
        settled_ms=12,
    )


def test_orders_vary_only_where_times_are_free_or_tied() -> None:
    assert varying(long()) == []
    assert varying(long(exchangeable=True)) == [ORDER]
    tied = dataclasses.replace(long(), arrival_ms=np.zeros(12, np.int64))
    assert varying(tied) == [ORDER]


def test_windows_are_equal_whole_days_or_none() -> None:
    cut = windows(long())
    assert len(cut) == 6  # the first step is before all have arrived
    assert all(end - start >= LEAST_MS for start, end in cut)
    assert [start for start, _ in cut[1:]] == [end for _, end in cut[:-1]]
    assert windows(long(steps=5 * PER_DAY)) == []


def test_each_window_of_one_replay_is_a_repeat_where_every_order_is_the_same() -> None:
    load = long()
    run = repeat_replay(load, choose_policies(["first_fit", "worst_fit"], load), seed=0, repeats=8)
    assert run.repeats is not None
    assert [one.rpartition(" of ")[0] for one in run.covers] == ["windows"]
    counts = dict(run.repeats.group_by("policy").len().rows())
    assert set(counts.values()) == {len(windows(load))}
    steps = run.steps.filter(policy="first_fit").drop("policy")
    wanted = in_windows(load, steps)
    found = run.repeats.filter(policy="first_fit")["cpu_max_fraction"].to_list()
    assert found == [row["cpu_max_fraction"] for row in wanted]
    assert max(found) == summarize(steps)["cpu_max_fraction"]
    assert len(set(found)) > 1
    # what is known of the whole replay alone is compared with nothing
    assert run.differences is not None
    assert not run.differences.filter(measure="pending")["separated"].any()


def test_an_order_is_judged_over_the_whole_trace_as_its_bounds_are() -> None:
    load = long(exchangeable=True)
    run = repeat_replay(load, choose_policies(["first_fit"], load), seed=0, repeats=6)
    assert run.covers == (ORDER,)
    assert run.repeats is not None
    mine = run.repeats.filter(policy="first_fit")
    assert mine["repeat"].to_list() == list(range(6))
    whole = run.summary.filter(policy="first_fit")
    assert mine["cpu_max_fraction"][0] == whole["cpu_max_fraction"][0]
    bound = run.summary.filter(policy="bound")
    for name in ("cpu_max_fraction", "memory_max_fraction", "nodes_used_mean"):
        assert (mine[name] >= bound[name][0]).all(), name


def test_repeats_that_differ_by_the_seed_alone_make_nothing_sure() -> None:
    rows = [(at * 100, 9000, 5 + at % 7, 3 + at % 5, at % 3) for at in range(20)]
    load = workload([(60, 60)] * 3, rows)
    policies = choose_policies(["first_fit", "worst_fit", "random", "random[tie=reservoir]"], load)
    run = repeat_replay(load, policies, seed=0, repeats=8)
    assert run.covers == (SEED,)
    assert run.differences is not None
    fixed = run.differences.filter(policy_a="first_fit", policy_b="worst_fit")
    assert not fixed["separated"].any()
    assert fixed.filter(pl.col("difference_mean") != 0)["low"].is_null().all()
    drawn = run.differences.filter(policy_a="random", policy_b="random[tie=reservoir]")
    assert drawn["p"].is_not_null().any()
    assert decision(run).covers == (SEED,)
