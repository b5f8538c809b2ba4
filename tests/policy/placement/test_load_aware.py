"""Policies that read measured load, in the replay: what they know, when, and what they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import container, snapshot, workload

from tracekit.base.arrays import FloatArray, stream
from tracekit.policy.parse import get_policy, parse_policy
from tracekit.replay.cases import Question, all_kinds
from tracekit.replay.engine.engine import Engine

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
rooms = some.tuples(some.integers(1, 1000), some.integers(1, 1000))
fractions = some.floats(0, 1.2)


@some.composite
def clusters(draw: some.DrawFn) -> tuple[list[Any], list[Any], FloatArray]:
    """Rooms and requests of two nodes, and use of samples, nodes and resources."""
    used = draw(some.lists(fractions, min_size=12, max_size=12))
    given = np.array(used).reshape(3, 2, 2)
    if draw(some.booleans()):
        given[:, 0, draw(some.integers(0, 1))] = np.nan
    return draw(some.lists(rooms, min_size=2, max_size=2)), [draw(amounts), draw(amounts)], given


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
    asked: tuple[int, int],
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
        "pod": as_pod(asked, 2),
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
    assert list(recorded.values()) == policy.score(seen, container(*asked), np.arange(2)).tolist()


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
