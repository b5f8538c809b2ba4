"""What a decision asks for is a family of its own; an interval ends where a value can be."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

from tracekit.answer.amounts import standing_text
from tracekit.answer.decision import decision
from tracekit.answer.intervals import differences_of
from tracekit.answer.may_answer import asked, may_answer, may_be_chosen
from tracekit.answer.standings import difference, standings
from tracekit.replay.chance.material import too_near
from tracekit.replay.measures import all_measures, of_use
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import BOUND
from tracekit.replay.runs.shown import shown

NODES, STEPS = 130, 1440


def run(values: dict[str, tuple[float, float]], seed: int = 0, noise: float = 0.01) -> Results:
    """Policies in six orders: stranded memory, and overloaded node-steps; highest CPU is noise."""
    rng = np.random.Generator(np.random.PCG64(seed))
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": 0.0,
            "overloaded_node_steps": overload,
            "cpu_max_fraction": 0.8 + noise * rng.normal(),
            "memory_stranded_share": abs(free + noise * rng.normal()),
            # details that nobody asks for, of which there are many
            "cpu_mean_fraction": 0.5 + noise * rng.normal(),
            "memory_mean_fraction": 0.5 + noise * rng.normal(),
        }
        for at in range(6)
        for name, (free, overload) in values.items()
    ]
    # production happened once
    usual = next((row for row in rows if row["policy"] == "observed"), {})
    rows = [
        {**usual, "repeat": row["repeat"]} if row["policy"] == "observed" else row for row in rows
    ]
    frame = pl.DataFrame(rows)
    about = {
        "workload": {"nodes": NODES, "steps": STEPS},
        "repeats_cover": ["order of arrival"],
        "seed": seed,
    }
    return Results(about, frame.filter(repeat=0).drop("repeat"), frame)


BARRED = {f"barred{at}": (0.3, 5000.0) for at in range(12)}
PLANTED = {"observed": (0.3, 1.0), "cwt": (0.3, 0.0), "bdi": (0.2, 3.0), "tpso": (0.3, 0.0)}


def test_only_what_may_be_chosen_and_may_answer_is_asked() -> None:
    found = run({**PLANTED, **BARRED})
    assert {names[0] for names in may_be_chosen(found)} == {"cwt", "bdi", "tpso"}
    ours = [one.name for one in may_answer(found)]
    assert ours == ["cpu_max_fraction", "memory_stranded_share"]
    pairs = list(differences_of(found)[0])
    wide = [one.name for one in found.measures.values() if one.group == "answer"]
    # three pairs by what may answer and by overload, and production beside each by all that an
    # answer speaks of
    assert asked(found, pairs).sum() == 3 * (len(ours) + 1) + 3 * len(wide)


def test_policies_that_are_out_do_not_hide_the_best() -> None:
    """Ten standard deviations: told among three, and no less beside twelve that are out."""
    for values in (PLANTED, {**PLANTED, **BARRED}):
        told = [decision(run(values, seed)) for seed in range(8)]
        found = [one for one in told if one.chosen[:1] == ("bdi",)]
        assert len(found) >= 7
        assert all(one.criterion == "memory_stranded_share" for one in found)


@pytest.mark.parametrize("policies", [3, 8])
def test_equal_policies_are_seldom_told_apart_by_a_decision(policies: int) -> None:
    """At most one run in twenty: of 60, seven or more would be so once in 30 by chance."""
    equal = {"observed": (0.3, 0.0), **{f"p{at}": (0.3, 0.0) for at in range(policies)}}
    apart = [bool(differences_of(run(equal, 100 + seed))[1].separated.any()) for seed in range(60)]
    assert sum(apart) <= 6


def test_what_another_measure_tells_is_no_tie() -> None:
    """Alike in CPU but for chance, and the first is better in memory: the other goes."""
    values = {"observed": (0.3, 0.0), "cwt": (0.3, 0.0), "bdi": (0.1, 0.0), "tpso": (0.3, 0.0)}
    found = run(values, noise=0.002)
    assert found.repeats is not None
    cpu = pl.col("cpu_max_fraction")
    higher = {"observed": 0.5, "cwt": 0.5, "bdi": -0.0015, "tpso": 0.0}
    shifted = found.repeats.with_columns(
        cpu + pl.col("policy").replace_strict(higher, default=0.0, return_dtype=pl.Float64)
    )
    told = decision(Results(found.manifest, found.summary, shifted))
    assert told.criterion == "cpu_max_fraction"
    assert told.chosen == ("bdi",)


def test_a_bound_of_policies_is_none_of_production() -> None:
    """Production holds more than was requested, and is below what policies can come to."""
    found = run({"observed": (0.3, 0.0), "cwt": (0.3, 0.0)}, noise=0.03)
    rows = [
        frame.with_columns(
            cpu_max_fraction=pl.when(pl.col("policy") == "observed")
            .then(0.6)
            .otherwise(pl.col("cpu_max_fraction"))
        )
        for frame in (found.summary, found.repeats)
        if frame is not None
    ]
    bound = rows[0].filter(policy="cwt").with_columns(policy=pl.lit(BOUND), cpu_max_fraction=0.7)
    bounded = Results(found.manifest, pl.concat([rows[0], bound]), rows[1])
    for one, other in (("cwt", "observed"), ("observed", "cwt")):
        told = difference(bounded, one, other, "cpu_max_fraction")
        assert told is not None
        assert told.low is not None
        assert told.high is not None
        assert told.low < told.mean < told.high
    least = difference(bounded, "cwt", "observed", "cpu_max_fraction")
    assert least is not None
    assert least.low == pytest.approx(0.1)


def test_a_difference_ends_where_a_value_can_be() -> None:
    """No count is below 0: what is 1 in production falls by 1 at most."""
    values = {"observed": (0.3, 1.0), "cwt": (0.3, 0.0)}
    found = run(values)
    rows = found.repeats
    assert rows is not None
    spread = pl.when(policy="cwt").then(pl.col("repeat") ** 3.0).otherwise(1.0)
    wild = Results(found.manifest, found.summary, rows.with_columns(overloaded_node_steps=spread))
    told = difference(wild, "cwt", "observed", "overloaded_node_steps")
    turned = difference(wild, "observed", "cwt", "overloaded_node_steps")
    assert told is not None
    assert turned is not None
    assert told.low == -1 <= told.mean
    assert told.high is not None
    assert told.high > told.mean
    assert (turned.low, turned.high) == (-told.high, -told.low)
    for one, other in itertools.permutations(values, 2):
        free = difference(found, one, other, "memory_stranded_share")
        assert free is not None
        assert free.low <= free.mean <= free.high  # type: ignore[operator]


def test_a_share_of_a_whole_ends_at_1() -> None:
    found = run({"observed": (0.5, 1.0), "cwt": (0.5, 0.0)})
    rows = found.repeats
    assert rows is not None
    share = pl.when(policy="cwt").then(1 - 0.2 * (pl.col("repeat") % 2)).otherwise(0.9)
    wild = Results(found.manifest, found.summary, rows.with_columns(memory_stranded_share=share))
    (row,) = [one for one in standings(wild, "memory_stranded_share").rows if "cwt" in one.names]
    assert row.high == 1.0
    # a value that is beyond a whole somewhere is no share of one
    free = pl.when(policy="cwt").then(pl.col("cpu_max_fraction") + pl.col("repeat")).otherwise(0.9)
    over = Results(found.manifest, found.summary, rows.with_columns(memory_stranded_share=free))
    (row,) = [one for one in standings(over, "memory_stranded_share").rows if "cwt" in one.names]
    assert (row.high or 0) > 1.0


def test_of_policies_that_come_to_the_same_a_simple_rule_is_named_first() -> None:
    found = run(
        {"observed": (0.3, 1.0), "bcdi": (0.1, 0.0), "best_fit": (0.1, 0.0), "cwt": (0.2, 0.0)},
        noise=0.0,
    )
    assert decision(found).chosen == ("best_fit", "bcdi")


def _known(requests: str, use: str) -> Results:
    """Two policies, one of which always has fuller nodes and a little more stranded memory."""
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": 0.0,
            "overloaded_node_steps": 0.0,
            "cpu_max_fraction": full,
            "memory_stranded_share": stranded,
        }
        for at in range(6)
        for name, full, stranded in (("calm", 0.5, 0.020), ("tight", 0.9, 0.024))
    ]
    frame = pl.DataFrame(rows)
    about = {
        "workload": {
            "nodes": NODES,
            "steps": STEPS,
            "quantities": {"requests": requests, "use of containers": use},
        },
        "repeats_cover": ["order of arrival"],
    }
    return Results(about, frame.filter(repeat=0).drop("repeat"), frame)


@pytest.mark.parametrize(
    ("requests", "use", "decides"),
    [
        ("recorded", "recorded", True),
        ("assumed", "recorded", True),
        # requests stand for use: a node full of requests is well used, not slow
        ("recorded", "assumed", False),
        # a workload that is drawn draws use by itself
        ("assumed", "assumed", True),
    ],
)
def test_requests_that_stand_for_use_decide_nothing(requests: str, use: str, decides: bool) -> None:
    found = _known(requests, use)
    assert ("cpu_max_fraction" in {one.name for one in may_answer(found)}) is decides
    told = decision(found)
    assert told.criterion == ("cpu_max_fraction" if decides else "")
    assert told.chosen == (("calm",) if decides else ())


def test_what_is_of_use_is_told_from_what_is_of_requests() -> None:
    of = {name for name, one in all_measures().items() if name.startswith("cpu_") and of_use(one)}
    assert {"cpu_max_fraction", "cpu_p99_fraction", "cpu_mean_fraction"} <= of
    assert not {"cpu_stranded_share", "cpu_allocated_share"} & of


def test_less_than_half_a_point_of_a_resource_decides_nothing() -> None:
    found = _known("recorded", "assumed")
    said = standings(found, "memory_stranded_share")
    assert not said.tells
    assert said.why_not == "policies differ by less than 0.5 percentage points"
    assert not too_near(all_measures()["memory_stranded_share"], [0.020, 0.026])
    assert not too_near(all_measures()["qos_share"], [0.98, 0.995])
    assert too_near(all_measures()["nodes_used_mean"], [100.0, 100.5])


def _waiting(overload: float) -> Results:
    """One policy holds the load, another leaves containers waiting and may overload nodes."""
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": pending,
            "overloaded_node_steps": over,
            "cpu_max_fraction": 0.5,
        }
        for at in range(6)
        for name, pending, over in (("holds", 0.0, 0.0), ("waits", 20.0 + at, overload))
    ]
    frame = pl.DataFrame(rows)
    about = {"workload": {"nodes": NODES, "steps": STEPS}, "repeats_cover": ["order of arrival"]}
    return Results(about, frame.filter(repeat=0).drop("repeat"), frame)


@pytest.mark.parametrize(
    ("overload", "condition"), [(0.0, "pending"), (5_000.0, "overloaded_node_steps")]
)
def test_the_condition_that_bars_the_others_decides(overload: float, condition: str) -> None:
    told = decision(_waiting(overload))
    assert told.chosen == ("holds",)
    assert told.criterion == condition


def _full(**changed: object) -> Results:
    """A policy whose fullest node is nearly full, where requests stand in for use."""
    found = run({"observed": (0.5, 1.0), "cwt": (0.5, 0.0)})
    assert found.repeats is not None
    near = pl.when(policy="cwt").then(0.98 + 0.02 * (pl.col("repeat") % 2)).otherwise(0.9)
    bound = found.summary.head(1).with_columns(
        policy=pl.lit("bound"), nodes_used_mean=pl.lit(changed.pop("nodes", 5.0), pl.Float64)
    )
    summary = pl.concat([found.summary, bound], how="diagonal_relaxed")
    workload = {
        **found.manifest["workload"],
        "containers": 100,
        "facts": {"containers_with_request_as_use": changed.pop("requested", 100)},
    }
    policies = [{"policy": "observed", "filtered": False}, {"policy": "cwt", **changed}]
    manifest = {**found.manifest, "workload": workload, "policies": policies}
    return Results(manifest, summary, found.repeats.with_columns(cpu_max_fraction=near))


@pytest.mark.parametrize(
    ("changed", "ends"),
    [
        ({}, True),
        ({"requested": 99}, False),
        ({"nodes": None}, False),
        ({"filtered": False}, False),
    ],
)
def test_what_is_requested_is_no_more_than_there_is(changed: dict[str, object], ends: bool) -> None:
    """99.3 ± 1.3 % stood for a share of requests, which fill a node and no more."""
    found = _full(**changed)
    (row,) = [one for one in standings(found, "cpu_max_fraction").rows if "cwt" in one.names]
    assert row.high is not None
    assert (row.high == 1.0) is ends
    measure = found.measures["cpu_max_fraction"]
    texts = (standing_text(measure, row), shown(measure, row.mean, row.reach, below=row.below))
    assert all(("to 100.0)" in text) is ends for text in texts), texts
