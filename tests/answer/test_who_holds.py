"""Whether the policy that clusters run holds the load is said first, then who else does."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest

from tracekit.answer.decision import decision
from tracekit.answer.who_holds import _how_often, who_holds
from tracekit.replay.runs.results import Results

USUAL = "default_scheduler"
RUNS = f"{USUAL}, which clusters run already,"


def run(values: dict[str, tuple[float, float]]) -> Results:
    """Policies by overloaded node-steps and containers left without a node, in six orders."""
    rng = np.random.Generator(np.random.PCG64(0))
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": left,
            "overloaded_node_steps": overload,
            "cpu_max_fraction": 0.5 + 0.001 * rng.normal(),
        }
        for at in range(6)
        for name, (overload, left) in values.items()
    ]
    frame = pl.DataFrame(rows)
    policies = [{"policy": name, "name": name} for name in values]
    about = {"workload": {"nodes": 10, "steps": 100}, "seed": 0, "policies": policies}
    return Results(about, frame.filter(repeat=0).drop("repeat"), frame)


HOLDS, OVERLOADS, WAITS = (0.0, 0.0), (500.0, 0.0), (0.0, 3.0)
CASES = [
    ({USUAL: HOLDS, "a": HOLDS}, ""),
    (
        {"a": HOLDS, USUAL: HOLDS, "b": OVERLOADS, "c": WAITS},
        (
            f"{RUNS} may be chosen. So may a. 2 of 4 policies are barred:"
            " 1 leaves containers waiting and 1 overloads nodes."
        ),
    ),
    (
        {"a": HOLDS, USUAL: WAITS},
        (
            f"{RUNS} is barred: left containers waiting. a may be chosen."
            " 1 of 2 policies is barred: it leaves containers waiting."
        ),
    ),
    (
        {USUAL: HOLDS, "b": OVERLOADS, "c": OVERLOADS},
        (
            f"{RUNS} may be chosen. No other policy may. 2 of 3 policies"
            " are barred: they overload nodes."
        ),
    ),
    (
        {"a": HOLDS, "b": WAITS},
        "a may be chosen. 1 of 2 policies is barred: it leaves containers waiting.",
    ),
    (
        {"a": HOLDS, "b": HOLDS, "first_fit_decreasing": HOLDS, "z": WAITS},
        (
            "a and b may be chosen. 2 of 4 policies are barred: 1 leaves containers waiting and"
            " 1 is a yardstick, which no scheduler runs."
        ),
    ),
    ({"a": WAITS}, "1 of 1 policy is barred: it leaves containers waiting."),
    (
        {**{f"p{at}": HOLDS for at in range(9)}, "z": WAITS},
        (
            "p0, p1, p2 and 6 more may be chosen. 1 of 10 policies is barred: it leaves containers"
            " waiting."
        ),
    ),
]


def test_who_overloads_more_by_chance_alone_is_named_apart() -> None:
    """One order of six is beyond what is allowed, so the mean is."""
    found = run({"observed": HOLDS, "a": HOLDS, "b": HOLDS, "c": OVERLOADS})
    assert found.repeats is not None
    once = pl.when(pl.col("policy").eq("b") & pl.col("repeat").eq(2)).then(60.0)
    name = "overloaded_node_steps"
    found = Results(
        found.manifest,
        found.summary,
        found.repeats.with_columns(once.otherwise(name).alias(name)),
    )
    said = who_holds(found, decision(found))
    above = "b overloads nodes more than allowed on average, in 1 of 6 orders, which"
    assert said.startswith(f"a may be chosen. {above}")
    # the search for the fewest nodes says beside it that not even all are enough for b
    assert "ruled out" not in said
    assert "chance may explain: too much to be recommended, too little to be barred. 1 of" in said


def test_who_is_above_another_limit_by_chance_alone_is_not_said_to_overload() -> None:
    """Its node-steps were below the limit in each order, and "in 0 of 6 orders" stood there."""
    found = run({"observed": (500.0, 0.0), "a": HOLDS, "b": HOLDS, "c": (2000.0, 0.0)})
    assert found.repeats is not None
    name, peaks = "cpu_max_fraction", [2.3, 1.9, 1.9, 2.3, 1.9, 1.9]
    worse = pl.col("repeat").replace_strict(list(range(6)), peaks, return_dtype=pl.Float64)
    peak = pl.when(pl.col("policy").eq("b")).then(worse).otherwise(name)
    found = Results(found.manifest, found.summary, found.repeats.with_columns(peak.alias(name)))
    said = who_holds(found, decision(found))
    assert "Under b highest CPU use is above the 200.0 % allowed on average, in 2 of 6" in said
    assert "overloads nodes more" not in said


@pytest.mark.parametrize(("values", "said"), CASES)
def test_the_usual_policy_goes_first(values: dict[str, tuple[float, float]], said: str) -> None:
    found = run(values)
    assert who_holds(found, decision(found)) == said


@pytest.mark.parametrize(
    ("often", "said"),
    [
        ([6, 6], ", in each of 6 orders"),
        ([6, 2], ", in 2 to 6 of 6 orders"),
        ([1, 1], ", in 1 of 6 orders"),
    ],
)
def test_how_often_several_are_above_a_limit(often: list[int], said: str) -> None:
    """They were above it "in 6 of 6 orders at most"."""
    assert _how_often(often, 6).replace("\N{NO-BREAK SPACE}", " ") == said


def test_one_that_met_too_few_orders_is_neither() -> None:
    found = run({USUAL: HOLDS, "b": OVERLOADS})
    told = dataclasses.replace(decision(found), unjudged=(USUAL,))
    assert who_holds(found, told).startswith(f"{RUNS} met too few orders of arrival to be judged.")


def test_searches_of_papers_are_told_apart_from_what_schedulers_have() -> None:
    found = run({USUAL: HOLDS, "least_allocated": HOLDS, "tbesk": HOLDS, "b": OVERLOADS})
    said = who_holds(found, decision(found))
    assert "So may least_allocated and tbesk. tbesk is a search from papers, which no" in said
