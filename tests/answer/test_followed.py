"""Policies meet further orders of arrival only as long as they may still be recommended."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from tracekit.answer import repeat as rule
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.chance import FEWEST, compare
from tracekit.replay.runs.results import Results

CPU, NODES = "cpu_p99_over_time_fraction", "nodes_used_mean"


def fake(**values: tuple[float, float, float]) -> Results:
    """Policies that met one order: CPU of the fullest node, nodes used, containers pending."""
    rows = [
        {"policy": name, CPU: cpu, NODES: nodes, "pending": pending, "overloaded_node_steps": 0.0}
        for name, (cpu, nodes, pending) in values.items()
    ]
    about = {"workload": {"nodes": 9, "steps": 9}, "repeats_cover": ["order of arrival"]}
    return Results(about, pl.DataFrame(rows))


FOUND = fake(
    observed=(0.7, 9, 0),
    random=(0.8, 9, 0),
    lra=(0.6, 9, 0),
    bdi=(0.75, 9, 0),
    best_fit=(0.9, 2, 0),
    first_fit=(0.9, 3, 0),
    cwt=(0.5, 1, 4),
    tbesk=(0.4, 9, 0),
)


@pytest.mark.parametrize(
    ("size", "names"),
    [
        (1, {"lra", "tbesk", "best_fit", "first_fit"}),
        (rule.LARGEST + 1, {"lra", "best_fit", "first_fit"}),
        (rule.LARGEST_ONCE + 1, set()),
    ],
)
def test_those_go_on_that_may_be_better_or_need_fewer_nodes(
    size: int, names: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule, "results", lambda _: FOUND)
    run = SimpleNamespace(
        workload=SimpleNamespace(
            containers=SimpleNamespace(count=size), nodes=SimpleNamespace(count=1)
        )
    )
    going = [parse_entrant(one) for one in FOUND.policies if one not in ("observed", "random")]
    result = rule.followed(run, going, ("observed", "random"))  # type: ignore[arg-type]
    assert {str(one) for one in result} == names


RIVALS = ("observed", "random")


def told(values: dict[str, np.ndarray]) -> dict[tuple[str, str], float]:
    """The sign of each difference that is told apart by the rule of a run."""
    going = others = [name for name in values if name not in RIVALS]
    for orders in rule.LOOKS:
        met = {name: one[:orders] for name, one in values.items()}
        going = rule.may_win(met, going, RIVALS, low=True)
    pairs = list(itertools.combinations([*RIVALS, *going], 2))
    every = list(itertools.combinations([*RIVALS, *others], 2))
    apart = np.stack([values[a] - values[b] for a, b in pairs], axis=1)
    tested = compare(apart, left_out=(len(every) - len(pairs), 0))
    return {pair: np.sign(tested.mean[at]) for at, pair in enumerate(pairs) if tested.separated[at]}


@pytest.mark.parametrize(("ahead", "least", "most"), [(0.0, 0.0, 0.05), (10.0, 0.9, 1.0)])
def test_equal_policies_are_told_apart_in_no_more_than_one_run_of_twenty(
    ahead: float, least: float, most: float
) -> None:
    """A against A: ten policies over six orders. And one that is far ahead is still seen."""
    rng, runs, seen = np.random.default_rng(52), 400, 0
    names = (*RIVALS, *(f"p{at}" for at in range(8)))
    for _ in range(runs):
        drawn = rng.normal(50, 1, (10, FEWEST)) + rng.normal(0, 1, FEWEST)
        drawn[-1] -= ahead
        result = told(dict(zip(names, drawn, strict=True)))
        seen += all((one, names[-1]) in result for one in RIVALS) if ahead else bool(result)
    assert least <= seen / runs <= most
