"""The best of those that met one order meet the others too."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from replay_support import workload

from tracekit.replay.runs import followed as rule
from tracekit.replay.runs.fitness import left_out
from tracekit.replay.runs.repeat import repeat_replay
from tracekit.replay.runs.results import results
from tracekit.replay.runs.run import choose_policies
from tracekit.replay.workload.workload import Workload

ROWS = [(at * 100, 9000, 5 + at % 7, 3 + at % 5, at % 3) for at in range(20)]
NAMES = ("observed", "best_fit", "worst_fit", "cwt", "bra", "lra", "random", "first_fit")
REPEATED = ("observed", "best_fit")


def load() -> Workload:
    fixed = workload([(60, 60)] * 3, ROWS)
    return dataclasses.replace(
        fixed,
        usage=np.repeat(fixed.request.T[:, None], 4, axis=1).astype(np.float32),
        exchangeable=np.arange(20) < 15,
        settled_ms=2000,
    )


def orders(*, follow: bool) -> dict[str, int]:
    one = load()
    policies = choose_policies(NAMES, one, ())
    again = [policy for policy in policies if str(policy) in REPEATED]
    run = repeat_replay(one, policies, seed=0, repeats=3, repeated=again, follow=follow)
    assert run.repeats is not None
    counted = run.repeats.group_by("policy").agg(pl.len())
    return dict(counted.rows())


def test_three_more_meet_all_orders_and_these_are_the_best_that_may_be_chosen() -> None:
    found = orders(follow=True)
    assert {name: found.pop(name) for name in REPEATED} == dict.fromkeys(REPEATED, 3)
    assert set(found.values()) == {3}
    one = load()
    first = repeat_replay(one, choose_policies(NAMES, one, ()), seed=0, repeats=1)
    barred = {name for out in left_out(results(first)) for name in out.names}
    alone = [name for name in NAMES if name not in {*REPEATED, *barred}]
    rows = dict(first.summary.select("policy", "cpu_max_fraction").rows())
    assert list(found) != []
    assert set(found) <= set(alone)
    assert len(found) == min(rule.MOST, len(alone))
    worst = max(rows[name] for name in found)
    assert all(rows[name] >= worst for name in alone if name not in found)


def test_nobody_follows_unasked_or_where_the_workload_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert set(orders(follow=False)) == set(REPEATED)
    monkeypatch.setattr(rule, "LARGEST", 20 * 3 - 1)
    assert set(orders(follow=True)) == set(REPEATED)
