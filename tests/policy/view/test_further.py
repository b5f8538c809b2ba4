"""What counts as use of a further resource: recorded use, else requests; by hand and in loops."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from replay_support import STEP_MS, changed, workload

from tracekit.cluster.enlarged import multiplied, with_more
from tracekit.cluster.gangs import rearranged
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.source import shared
from tracekit.cluster.workload import Workload
from tracekit.replay.bounds.measures import bounds_of
from tracekit.replay.engine.sampling import PlainSampler
from tracekit.replay.runs.replayer import fingerprint

STEPS = 3
#: Use of network of three containers at each step; nothing is known of the second.
NET = np.array([[50, np.nan, 5], [60, np.nan, 0], [150, np.nan, 10]], dtype=np.float32)
ROWS = [(0, 9000, 10, 10), (0, 9000, 10, 10), (STEP_MS, 9000, 10, 10)]


def recording(further: np.ndarray | None = NET) -> Workload:
    """Two nodes of 100 of network, a third without any; requests of 20, 30 and 0."""
    load = workload([(100, 100)] * 3, ROWS, steps=STEPS)
    request = np.column_stack([load.containers.request, [20, 30, 0]])
    return changed(
        load,
        nodes={"capacity": np.column_stack([load.nodes.capacity, [100, 100, 0]])},
        containers={
            "request": request,
            "nonzero_request": request,
            "limit": request,
            "exchangeable": np.array([True, True, False]),
        },
        use={
            "values": np.nan_to_num(load.use.values),
            "further_resources": () if further is None else (2,),
            "further": None if further is None else further[None],
        },
        resources=(*load.resources, "net_kbit"),
    )


def measured(load: Workload, node: list[int]) -> dict[str, list[float]]:
    """Measures at every step where all run on these nodes, the last from its arrival on."""
    found = PlainSampler(load)
    everybody = np.ones(load.containers.count, dtype=np.bool_)
    list(found.sample(everybody & (load.containers.arrival_ms == 0), np.array(node), range(1)))
    list(found.sample(everybody, np.array(node), range(1, STEPS)))
    return {name: values.tolist() for name, values in found.measures().items()}


def test_recorded_use_counts_and_requests_where_there_is_none() -> None:
    found = measured(recording(), [0, 0, 1])
    # the first node: 50 + 30, 60 + 30, 150 + 30; the second: nothing, 0, 10
    assert found["network_max_fraction"] == pytest.approx([0.8, 0.9, 1.8])
    assert found["network_mean_fraction"] == pytest.approx([0.4, 0.45, 0.95])
    assert found["network_spread_fraction"] == pytest.approx([0.8, 0.9, 1.7])
    assert found["network_overload_nodes"] == [0, 0, 1]
    assert found["network_overload_fraction"] == pytest.approx([0, 0, 0.8 / 2])
    assert found["network_allocated_share"] == pytest.approx([0.25] * 3), "requests, as always"
    assert found["overloaded_nodes"] == [0, 0, 1]
    assert found["qos_share"] == pytest.approx([1, 1, 1 / 3])


def test_a_bound_is_of_what_is_used_by_those_who_must_have_the_resource() -> None:
    load = recording()
    bounds = [row["network_max_fraction"] for row in bounds_of(load).rows]
    # the third asks for no network, and may be where there is none
    assert bounds == pytest.approx([80 / 200, 90 / 200, 180 / 200])
    everywhere = changed(load, nodes={"capacity": np.full((3, 3), 100)})
    bounds = [row["network_max_fraction"] for row in bounds_of(everywhere).rows]
    assert bounds == pytest.approx([80 / 300, 90 / 300, 190 / 300])


def test_the_movable_share_is_of_what_is_used() -> None:
    load = changed(recording(), rules={"daemon": np.array([False, True, False])})
    used = [50 + 30, 60 + 30 + 0, 150 + 30 + 10]
    assert bounds_of(load).movable["network"] == pytest.approx(1 - 90 / sum(used))


def test_workloads_made_of_another_carry_it(tmp_path: Path) -> None:
    load, rng = recording(), np.random.default_rng(0)
    made = {
        "another order": rearranged(load, rng),
        "on some nodes": on_nodes(load, np.array([1, 0])),
        "on more nodes": with_more(load, np.array([0])),
        "larger": multiplied(load, Fraction(2), rng),
    }
    with shared(load, tmp_path / "shared") as there:
        made["another process"] = there.load()
    asked = dict(zip(load.containers.ids, load.containers.request[:, 2].tolist(), strict=True))
    for name, one in made.items():
        found = measured(one, [0] * one.containers.count)
        used = 0.0
        for at, called in enumerate(one.containers.ids):
            use = NET[-1, int(called.partition("+")[0][1:])]
            used += asked[called.partition("+")[0]] if np.isnan(use) else float(use)
            assert one.containers.request[at, 2] == asked[called.partition("+")[0]]
        assert found["network_max_fraction"][-1] == pytest.approx(used / 100), name


def test_a_replay_is_kept_for_the_use_it_was_of() -> None:
    assert fingerprint(recording()) == fingerprint(recording())
    assert fingerprint(recording()) != fingerprint(recording(NET + 1))
    assert fingerprint(recording()) != fingerprint(recording(None))
