"""The best of those that met one order meet the others too."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from replay_support import workload

from tracekit.answer import followed as rule
from tracekit.answer.admissible import barred_for_good
from tracekit.answer.repeat import repeat_replay
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import choose_policies

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


def fake(once: dict[str, tuple[float, float]], again: dict[str, tuple[float, float]]) -> Results:
    """Policies that met one order, and six; CPU of the fullest node and memory of each."""
    columns = ("cpu_p99_over_time_fraction", "memory_max_fraction")
    quiet = {"pending": 0.0, "overloaded_node_steps": 0.0}
    rows = [
        {"policy": name, "repeat": at, **quiet, columns[0]: cpu + 1e-4 * (at % 3), columns[1]: free}
        for at in range(6)
        for name, (cpu, free) in again.items()
    ]
    ones = [
        {"policy": name, "repeat": 0, **quiet, **dict(zip(columns, values, strict=True))}
        for name, values in once.items()
    ]
    first = [row for row in rows if row["repeat"] == 0]
    about = {"workload": {"nodes": 9, "steps": 9}, "repeats_cover": ["order of arrival"]}
    return Results(about, pl.DataFrame([*first, *ones]).drop("repeat"), pl.DataFrame(rows))


ONCE = {"lra": (0.5, 0.3), "bdi": (0.9, 0.1), "tssa": (0.6, 0.2), "bnp": (0.7, 0.15), "bra": (1, 1)}


def test_those_follow_that_are_best_by_what_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    again, best = {"cwt": (0.7, 0.5), "best_fit": (0.8, 0.4)}, ["lra", "tssa", "bnp"]
    found = fake(ONCE, again)
    monkeypatch.setattr(rule, "results", lambda _: found)
    small = SimpleNamespace(workload=SimpleNamespace(containers=rule.SMALL + 1, nodes=1))
    alone = [parse_entrant(name) for name in ONCE]
    assert [str(one) for one in rule.followed(small, alone)] == best  # type: ignore[arg-type]
    rest = rule.followed(small, alone, best[:1])  # type: ignore[arg-type]
    assert [str(one) for one in rest] == best[1:]
    # where a replay takes no time it is all that may be chosen
    tiny = SimpleNamespace(workload=SimpleNamespace(containers=1, nodes=1))
    assert {str(one) for one in rule.followed(tiny, alone)} == set(ONCE)  # type: ignore[arg-type]


def test_a_few_more_meet_all_orders_and_they_may_be_chosen() -> None:
    found = orders(follow=True)
    assert {name: found.pop(name) for name in REPEATED} == dict.fromkeys(REPEATED, 3)
    assert set(found.values()) == {3}
    assert len(found) > 0


def test_of_a_small_one_all_follow_but_who_is_barred_for_good() -> None:
    """Then every policy is judged: by all orders, or by what no other could make up for."""
    one = load()
    policies = choose_policies(NAMES, one, ())
    again = [policy for policy in policies if str(policy) in REPEATED]
    run = repeat_replay(one, policies, seed=0, repeats=3, repeated=again, follow=True)
    found = results(run)
    for name in NAMES:
        assert (found.orders(name) == 3) != barred_for_good(found, name)


@pytest.mark.parametrize(("name", "follows"), [("bnp", True), ("tbesk", False)])
def test_beyond_some_size_who_searches_does_not_follow(
    name: str, follows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fake(
        {"bnp": (0.5, 0.3), "tbesk": (0.5, 0.3)}, {"cwt": (0.7, 0.5), "best_fit": (0.8, 0.4)}
    )
    monkeypatch.setattr(rule, "results", lambda _: found)
    large = SimpleNamespace(workload=SimpleNamespace(containers=rule.LARGEST + 1, nodes=1))
    assert bool(rule.followed(large, [parse_entrant(name)])) is follows  # type: ignore[arg-type]
    # and once is enough
    assert rule.followed(large, [parse_entrant(name)], ["lra"]) == []  # type: ignore[arg-type]


def test_nobody_follows_unasked_or_where_the_workload_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert set(orders(follow=False)) == set(REPEATED)
    monkeypatch.setattr(rule, "LARGEST", 20 * 3 - 1)
    monkeypatch.setattr(rule, "LARGEST_SCORED", 20 * 3 - 1)
    assert set(orders(follow=True)) == set(REPEATED)
