"""Scorers by measured use, against slow ones for one node at a time and against worked examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scorer_support as plain
from hypothesis import given
from hypothesis import strategies as some
from replay_support import container, snapshot, workload

from tracekit.base.arrays import FloatArray, stream
from tracekit.policy.parse import get_policy, parse_policy
from tracekit.policy.placement._parts.requested import divide, half_away, to_int
from tracekit.policy.placement.load_aware import risk_score
from tracekit.replay.cases import Question, all_kinds
from tracekit.replay.engine.engine import Engine

GPU = "nvidia.com/gpu"

requests = some.fixed_dictionaries(
    {},
    optional={
        "cpu_milli": some.integers(0, 1500),
        "memory_bytes": some.integers(0, 2**31),
        GPU: some.integers(0, 2),
    },
)
limits = some.fixed_dictionaries(
    {},
    optional={"cpu_milli": some.integers(0, 3000), "memory_bytes": some.integers(0, 2**32)},
)
containers = some.fixed_dictionaries({"requests": requests, "limits": limits})
pods = some.fixed_dictionaries({"containers": some.lists(containers, max_size=3)})
rooms = some.fixed_dictionaries(
    {
        "cpu_milli": some.one_of(some.just(0), some.integers(500, 8000)),
        "memory_bytes": some.one_of(some.just(0), some.integers(2**20, 2**34)),
    },
    optional={GPU: some.integers(0, 4)},
)
#: Nobody measures finer; the square of 1e-77 is nothing to one form and something to another.
percent = some.one_of(
    some.integers(0, 110).map(float), some.floats(0, 110).map(lambda value: round(value, 9))
)
metric = some.fixed_dictionaries(
    {
        "type": some.sampled_from(["CPU", "CPU", "Memory", "Bandwidth"]),
        "operator": some.sampled_from(["AVG", "STD", "Latest", "", "P95"]),
        "value": percent,
    }
)


@some.composite
def cases(draw: some.DrawFn) -> dict[str, Any]:
    """Two or three nodes with pods, metrics of some of them, recent pods, and a pod."""
    nodes = [
        {
            "name": f"n{at}",
            "capacity": draw(rooms),
            "allocatable": draw(rooms),
            "pods": draw(some.lists(pods, max_size=2)),
        }
        for at in range(draw(some.integers(2, 3)))
    ]
    names = some.sampled_from([node["name"] for node in nodes])
    measured = some.dictionaries(names, some.lists(metric, max_size=4))
    recent = some.fixed_dictionaries({"timestamp": some.integers(935, 1005), "pod": pods})
    return {
        "nodes": nodes,
        "pod": draw(pods),
        "metrics": {"window_end": 1000, "nodes": draw(some.none() | measured)},
        "recent_pods": draw(some.dictionaries(names, some.lists(recent, max_size=2))),
    }


def answered(policy: str, case: dict[str, Any], args: dict[str, Any]) -> dict[str, int]:
    """Scores as ``tracekit explain`` gives them."""
    question = Question(
        name="random", inputs={**case, "args": args}, policy=lambda: get_policy(policy)
    )
    scores: dict[str, int] = all_kinds()["score"].answer(question).values["scores"]
    return scores


@given(cases(), some.integers(1, 100), some.integers(0, 2000), some.floats(0, 3))
def test_target_load_packing(
    case: dict[str, Any], target: int, default: int, multiplier: float
) -> None:
    args = {
        "target_utilization": target,
        "default_requests_cpu_milli": default,
        "requests_multiplier": multiplier,
    }
    expected = {
        node["name"]: plain.target_load_packing(
            node, case["pod"], args, case["metrics"], case["recent_pods"].get(node["name"], [])
        )
        for node in case["nodes"]
    }
    assert answered("trimaran_target_load_packing", case, args) == expected


@given(cases(), some.floats(0, 4), some.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]))
def test_load_variation_risk_balancing(
    case: dict[str, Any], margin: float, sensitivity: float
) -> None:
    args = {"safe_variance_margin": margin, "safe_variance_sensitivity": sensitivity}
    scores = answered("trimaran_load_variation_risk_balancing", case, args)
    for node in case["nodes"]:
        # powers of numpy and of Python may differ in their last bit, and so may a rounding
        expected = plain.load_variation(node, case["pod"], args, case["metrics"])
        assert scores[node["name"]] == pytest.approx(expected, abs=1 if sensitivity == 4 else 0)


@given(cases(), some.integers(1, 10), some.floats(0, 1))
def test_low_risk_overcommitment(case: dict[str, Any], window: int, weight: float) -> None:
    args = {"smoothing_window_size": window, "risk_limit_weights": {"cpu": weight}}
    expected = {
        node["name"]: plain.low_risk(node, case["pod"], args, case["metrics"])
        for node in case["nodes"]
    }
    assert answered("trimaran_low_risk_overcommitment", case, args) == expected


GIB = 2**30


def test_the_older_form_of_load_variation() -> None:
    given = np.array([1.0]), 0.0, np.array([0.7])
    form = {"margin": 1.0, "sensitivity": 1.0, "prose": True}
    cpu = risk_score(*given, np.array([0.1]), **form)  # type: ignore[arg-type]
    memory = risk_score(*given, np.array([0.05]), **form)  # type: ignore[arg-type]
    assert cpu == pytest.approx([20.0], abs=1e-9)
    assert memory == pytest.approx([25.0], abs=1e-9)


# 20 of 32 cores and 24 of 64 GiB are requested with the pod
HALF_USED = snapshot([(32_000, 64 * GIB)], [(16_000, 20 * GIB)])
POD = container(4_000, 4 * GIB)
FORMS = [
    ("lra", 5.0),
    ("bra", 7.5),
    ("lra[variant=legacy_int]", 4),
    ("lra[variant=modern_int]", 49),
    ("bra[variant=legacy_int]", 7),
    ("bra[variant=modern_int]", 87),
    ("least_requested", 4),
    ("least_requested[max_score=100]", 49),
    ("balanced_allocation", 87),
    ("balanced_allocation[form=legacy_10]", 7),
    ("balanced_allocation[form=legacy_100]", 75),
    # deviation 0.125 with the pod, 0.09375 without: 50 + (50 + 87 - 90) div 2
    ("balanced_allocation[form=v1_36]", 73),
]


@pytest.mark.parametrize(("policy", "score"), FORMS)
def test_forms_of_least_and_balanced_requests(policy: str, score: float) -> None:
    assert parse_policy(policy).score(HALF_USED, POD, np.array([0])).tolist() == [score]


#: requested before, requested by the container -> score, on 32 cores and 64 GiB
BALANCE_CHANGES = [
    ((0, 0), (16_000, 32 * GIB), 75),  # as even as before
    ((16_000, 0), (0, 30 * GIB), 86),  # 75 becomes 98: 50 + 73 div 2
    ((16_000, 32 * GIB), (16_000, 0), 62),  # 100 becomes 75: 50 + 25 div 2
]


@pytest.mark.parametrize(("before", "pod_request", "score"), BALANCE_CHANGES)
def test_change_of_balance(
    before: tuple[int, int], pod_request: tuple[int, int], score: int
) -> None:
    seen = snapshot([(32_000, 64 * GIB)], [before])
    policy = parse_policy("balanced_allocation[form=v1_36]")
    assert policy.score(seen, container(*pod_request), np.array([0])).tolist() == [score]


def test_a_node_without_a_resource_is_worst_in_the_paper_forms() -> None:
    seen = snapshot([(0, 64 * GIB), (32_000, 64 * GIB)], [(0, 0), (0, 0)])
    for policy, score in (("lra", [0.0 + 10 * 60 / 64 / 2, 9.0625]), ("bra", [0.0, 9.375])):
        scores = parse_policy(policy).score(seen, POD, np.arange(2))
        assert scores.tolist() == pytest.approx(score)


ROUNDED = [(0.5, 1), (-0.5, -1), (2.5, 3), (0.49999999999999994, 0), (-2.4, -2), (1e15, 10**15)]


@pytest.mark.parametrize(("value", "rounded"), ROUNDED)
def test_half_away(value: float, rounded: int) -> None:
    assert half_away(value) == rounded


def test_integers_as_go_has_them() -> None:
    assert divide([7, -7, 7, -7], [2, 2, -2, 0]).tolist() == [3, -3, -3, 0]
    assert to_int([1.9, -1.9, 1e19, -1e19]).tolist() == [1, -1, -(2**63), -(2**63)]


POLICIES = (
    "target_load_packing",
    "load_variation_risk_balancing",
    "low_risk_overcommitment",
    "peaks",
)
every_policy = pytest.mark.parametrize("name", POLICIES)

#: fetch and poll intervals, now -> end of the newest window that has arrived, in s
TIMES = [
    (60, 30, 59, 0),
    (60, 30, 60, 60),
    (60, 30, 125, 120),
    (60, 45, 130, 60),  # polled at 90
    (60, 120, 239, 120),
]


@pytest.mark.parametrize(("fetch", "collect", "now", "end"), TIMES)
def test_metric_time(fetch: int, collect: int, now: int, end: int) -> None:
    policy = get_policy("peaks")(fetch_ms=fetch * 1000, collect_ms=collect * 1000)  # type: ignore[call-arg]
    assert policy.metric_time_ms(now * 1000) == end * 1000
    assert policy.metric_samples() == 30


amounts = some.tuples(some.integers(0, 1000), some.integers(0, 1000))
room_pairs = some.tuples(some.integers(1, 1000), some.integers(1, 1000))
fractions = some.floats(0, 1.2)


@some.composite
def clusters(draw: some.DrawFn) -> tuple[list[Any], list[Any], FloatArray]:
    """Rooms and requests of two nodes, and use of samples, nodes and resources."""
    used = draw(some.lists(fractions, min_size=12, max_size=12))
    given = np.array(used).reshape(3, 2, 2)
    if draw(some.booleans()):
        given[:, 0, draw(some.integers(0, 1))] = np.nan
    return (
        draw(some.lists(room_pairs, min_size=2, max_size=2)),
        [draw(amounts), draw(amounts)],
        given,
    )


def as_pod(amounts: tuple[int, int], limit_factor: int) -> dict[str, Any]:
    """A pod of one container; what is 0 is not stated."""
    named = dict(zip(("cpu_milli", "memory_bytes"), amounts, strict=True))
    requests = {name: amount for name, amount in named.items() if amount}
    limits = {name: amount * limit_factor for name, amount in requests.items()}
    return {"containers": [{"requests": requests, "limits": limits}]}


@every_policy
@given(clusters(), amounts)
def test_the_replay_scores_as_a_recorded_case_does(
    name: str,
    cluster: tuple[list[Any], list[Any], FloatArray],
    pod_request: tuple[int, int],
) -> None:
    room, taken, used = cluster
    policy = get_policy(name)()
    metrics: dict[str, list[dict[str, Any]]] = {}
    for node in range(2):
        for column, kind in enumerate(("CPU", "Memory")):
            series = used[:, node, column]
            if not np.isnan(series).any():
                metrics.setdefault(f"n{node}", []).extend(
                    {"type": kind, "operator": operator, "value": 100 * float(value)}
                    for operator, value in (("AVG", series.mean()), ("STD", series.std()))
                )
    running = [as_pod(one, 1) for one in taken]
    case = {
        "nodes": [
            {
                "name": f"n{node}",
                "allocatable": dict(zip(("cpu_milli", "memory_bytes"), room[node], strict=True)),
                "pods": [running[node]],
            }
            for node in range(2)
        ],
        "metrics": {"window_end": 0, "nodes": metrics},
        "recent_pods": {f"n{node}": [{"timestamp": 0, "pod": running[node]}] for node in range(2)},
        "pod": as_pod(pod_request, 2),
    }
    settings = {"k0": str(getattr(policy, "k0", 0)), "k1": "-91.5", "k2": "-0.07"}
    question = Question(
        name=name,
        inputs=case,
        policy=lambda: get_policy(name),
        settings=settings if name == "peaks" else {},
    )
    if name == "peaks":
        policy = get_policy(name)(k1=-91.5, k2=-0.07)  # type: ignore[call-arg]
    recorded = all_kinds()["score"].answer(question).values["scores"]
    seen = snapshot(room, taken, used=used)
    assert (
        list(recorded.values())
        == policy.score(seen, container(*pod_request), np.arange(2)).tolist()
    )


def replayed(policy: str, loads: list[list[float]], rows: list[tuple[int, ...]]) -> list[int]:
    """Nodes chosen on two nodes of 4000 and 4000, with a background of cpu fractions per step."""
    background = np.zeros((2, len(loads), 2), dtype=np.float32)
    background[0] = np.array(loads) * 4000
    background[1] = 400
    name, bracket, rest = policy.partition("[")
    quick = f"{name}[fetch_ms=1000,collect_ms=1000{',' + rest if bracket else ']'}"
    load = workload(
        [(4000, 4000)] * 2,
        rows,  # type: ignore[arg-type]
        steps=len(loads),
        background=background,
    )
    outcome = Engine(load, parse_policy(quick), stream(0, name)).run()
    return [int(node) for node in outcome.node]


def arriving(*times_ms: int) -> list[tuple[int, ...]]:
    """Containers of 200 and 100, with limits of 400 and 200, that stay."""
    return [(time, 90_000, 200, 100) for time in times_ms]


def test_load_variation_looks_back_as_far_as_its_window() -> None:
    calm = [[0.9, 0.5], [0.9, 0.5], [0.1, 0.5], [0.1, 0.5], [0.1, 0.5]]
    name = "load_variation_risk_balancing"
    assert replayed(name, calm, arriving(4100)) == [1]
    assert replayed(f"{name}[window_samples=2]", calm, arriving(4100)) == [0]


def test_peaks_fills_the_busy_node_where_power_rises_least() -> None:
    assert replayed("peaks", [[0.1, 0.5]] * 6, arriving(4100)) == [1]
    assert replayed("peaks[k1=1.0,k2=0.05]", [[0.1, 0.5]] * 6, arriving(4100)) == [0]
