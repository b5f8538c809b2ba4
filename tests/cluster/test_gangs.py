"""Gangs: all of a service's containers run, or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cluster_support import parquet_folder
from hypothesis import given, reject
from hypothesis import strategies as some
from replay_support import Row, changed, workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.gangs import with_gangs
from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import PlainPlacer
from tracekit.replay.fast.choose import fast_placer, rows_placer
from tracekit.replay.runs.one import in_order

POLICIES = ["first_fit", "least_allocated", "random", "cwt", "target_load_packing"]
shapes = some.tuples(some.integers(0, 3000), some.integers(10, 70), some.integers(10, 70))


def ganged(nodes: list[tuple[int, int]], rows: list[Row]) -> Workload:
    """Services s0, s1, s2 in turn; containers that stay to the end are exchangeable."""
    load = workload(nodes, rows)
    exchangeable = load.containers.departure_ms >= 4000
    usage = load.use.values.copy()
    usage[:, :, exchangeable] = (load.containers.request[exchangeable] * 0.5).T[:, None, :]
    return with_gangs(
        changed(load, containers={"exchangeable": exchangeable}, use={"values": usage})
    )


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@given(rows=some.lists(shapes, min_size=4, max_size=14), seed=some.integers(0, 9))
def test_every_engine_admits_whole_gangs_and_the_same(
    policy: str, rows: list[tuple[int, int, int]], seed: int
) -> None:
    given_rows: list[Row] = [
        (at, 9000 if n % 4 else at + 1500, cpu, memory) for n, (at, cpu, memory) in enumerate(rows)
    ]
    try:
        load = ganged([(150, 150)] * 3, given_rows)
    except TracekitError:  # no two of a service are there from the start
        reject()
    results = []
    for placer in (PlainPlacer, rows_placer, fast_placer):
        engine = Engine(load, parse_policy(policy), np.random.default_rng(seed), placer=placer)
        outcome = engine.run()
        results.append((outcome.node.tolist(), outcome.time_ms.tolist()))
        assert load.rules.gang is not None
        for gang in set(load.rules.gang[load.rules.gang >= 0].tolist()):
            assert len({node < 0 for node in outcome.node[load.rules.gang == gang].tolist()}) == 1
    assert results[0] == results[1] == results[2]


def test_another_order_keeps_gangs_together() -> None:
    load = ganged([(100, 100)], [(at * 10, 9000, 1, 1) for at in range(9)])
    again = in_order(load, 5)
    assert sorted(again.containers.ids) == sorted(load.containers.ids)
    assert again.rules.gang is not None
    for gang in set(again.rules.gang.tolist()):
        assert len(set(again.containers.arrival_ms[again.rules.gang == gang].tolist())) == 1
    assert (np.diff(again.containers.arrival_ms) >= 0).all()


def test_containers_of_no_known_service_are_no_gang() -> None:
    load = workload([(100, 100)], [(0, 9000, 1, 1)] * 4)
    load = changed(
        load,
        containers={"services": ("?", "?", "s", "s"), "exchangeable": np.ones(4, dtype=np.bool_)},
    )
    made = with_gangs(load)
    assert made.rules.gang is not None
    assert made.rules.gang.tolist() == [-1, -1, made.rules.gang.max(), made.rules.gang.max()]
    with pytest.raises(TracekitError, match="service"):
        with_gangs(changed(load, containers={"services": ("?",) * 4}))
    with pytest.raises(TracekitError, match="containers"):
        with_gangs(changed(load, containers={"services": ("a", "b", "c", "d")}))


@pytest.mark.parametrize("span_ms", [0, 600_000])
def test_a_folder_makes_gangs_of_who_was_there_whatever_the_span(
    span_ms: int, tmp_path: Path
) -> None:
    """With a span of 0 nobody was said to have been there; a store took the same."""
    names, no_node = ["a0", "a1", "a2"], pl.Series([None] * 3, dtype=pl.String)
    folder = parquet_folder(
        tmp_path / "load",
        nodes={"node": ["n0"], "cpu_milli": [4000], "memory_bytes": [2**34]},
        containers={
            "container": names, "service": ["a"] * 3,
            "node": no_node,  # type: ignore[dict-item]
            "arrival_ms": [-1000] * 3,
            "departure_ms": [900_000, None, None], "cpu_milli": [2000] * 3,
            "memory_bytes": [2**24] * 3,
        },
        usage={
            "container": ["a1"] * 61, "time_ms": list(range(0, 3_600_001, 60_000)),
            "cpu_milli": [500.0] * 61, "memory_bytes": [2.0**24] * 61,
        },
        background=None,
    )  # fmt: skip
    source = source_of(None, folder, assume=[f"arrival_span_ms={span_ms}"], gangs=True)
    load = source.load()
    assert load.rules.gang is not None
    assert sorted(set(load.rules.gang.tolist())) == [0]
    # a0 leaves after 15 minutes, while all wait: the others are the gang that is left
    outcome = Engine(load, parse_policy("first_fit"), np.random.default_rng(0)).run()
    at_ms = dict(zip(load.containers.ids, outcome.time_ms.tolist(), strict=True))
    assert at_ms == {"a0": -1, "a1": 900_000, "a2": 900_000}


def test_gangs_of_the_source_stay_as_they_are_in_every_order() -> None:
    """Those that came together do so again; those that came one after the other may."""
    load = workload([(100, 100)], [(at * 10, 9000, 1, 1) for at in (0, 0, 0, 1, 2, 2)])
    free = np.array([True, False, True, True, True, True])
    load = changed(
        load,
        rules={
            "gang": np.array([7, -1, 7, 4, 4, -1]),
            "gang_minimum": np.array([2, 0, 2, 1, 1, 0]),
            "pinned": np.array([-1, 0, -1, -1, -1, -1]),
            "priority": np.arange(6),
        },
        containers={"exchangeable": free},
        use={"values": np.ones_like(load.use.values)},
    )
    assert with_gangs(load) is load
    for seed in range(9):
        again = in_order(load, seed)
        at = [again.containers.ids.index(name) for name in load.containers.ids]
        for name in ("gang", "gang_minimum", "pinned", "priority"):
            assert getattr(again.rules, name)[at].tolist() == getattr(load.rules, name).tolist()
        assert again.rules.gang is not None
        assert len(set(again.containers.arrival_ms[again.rules.gang == 7].tolist())) == 1
        assert (np.diff(again.containers.arrival_ms) >= 0).all()
