"""What recorded neighbours cost is in recorded use already: it is taken off, not counted twice."""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import Row, changed, workload

from tracekit.base.arrays import FloatArray
from tracekit.binding import RecordedUse
from tracekit.binding.choosers import Bindings, parse_ways
from tracekit.binding.occupancy import InterferenceModel
from tracekit.binding.run import VcpuRun, replay_vcpus
from tracekit.binding.tables import Held, OldNeighbours, held_by_use
from tracekit.binding.vcpu_state import room_of
from tracekit.cluster.workload import Workload

SERVICES = ("s0", "s1", "s2")
MODEL = InterferenceModel(
    cpu=np.array([0.5, 0.6, 0.7]), k1=np.array([0.3, 0.2, 0.1]), k2=np.array([0.05, 0.04, 0.03])
)
SEED = 3


def cluster(nodes: int = 6) -> tuple[Workload, Bindings]:
    """Hosts of 16 vCPUs, six containers of two vCPUs on each, scattered."""
    rng = np.random.default_rng(SEED)
    rows: list[Row] = [(0, 9000, 2000, 1)] * (6 * nodes)
    load = workload([(16_000, 1000)] * nodes, rows, steps=4)
    room = room_of(load)
    bindings: dict[str, tuple[str, str]] = {}
    for node in range(nodes):
        pairs = [
            rng.permutation(np.flatnonzero(room.socket[:16] == socket)).reshape(-1, 2)[:3]
            for socket in (0, 1)
        ]
        for at, pair in enumerate(np.concatenate(pairs).tolist()):
            name = load.containers.ids[6 * node + at]
            bindings[name] = load.nodes.ids[node], ",".join(map(str, sorted(pair)))
    return load, bindings


def measured(load: Workload, bindings: Bindings, share: float, noise: float = 0.0) -> Workload:
    """The workload as a monitor sees it: use holds ``share`` of what neighbours cost."""
    rng = np.random.default_rng(SEED)
    cost = old(load, bindings).cost_milli(0)
    usage = load.use.values.copy()
    usage[0] += (share * cost + rng.normal(0, noise, load.containers.count)).astype(np.float32)
    return changed(load, use={"values": usage})


def old(load: Workload, bindings: Bindings) -> OldNeighbours:
    service = np.array([SERVICES.index(one) for one in load.containers.services])
    return OldNeighbours(load, room_of(load), MODEL, service, bindings)


def run(
    load: Workload,
    bindings: Bindings,
    *names: str,
    use: RecordedUse = "with_neighbours",
    repeats: int = 1,
) -> VcpuRun:
    return replay_vcpus(
        load,
        room_of(load),
        MODEL,
        SERVICES,
        parse_ways(names),
        seed=1,
        repeats=repeats,
        recorded=bindings,
        recorded_use=use,
    )


def use_of_the_node(found: VcpuRun, name: str) -> FloatArray:
    """Of a workload with one node: millicores at each step."""
    steps = found.steps.filter(policy=name)
    return np.asarray(steps["cpu_max_fraction"].to_numpy() * found.workload.nodes.capacity[0, 0])


def test_as_it_was_comes_out_as_it_was_measured() -> None:
    load, bindings = cluster(nodes=1)
    seen = measured(load, bindings, share=1.0)
    found = run(seen, bindings, "recorded")
    assert found.held.taken_off
    recorded = np.nansum(seen.use.values[0], axis=1)
    assert use_of_the_node(found, "recorded") == pytest.approx(recorded, rel=1e-6)


def test_another_binding_costs_what_it_costs_and_no_more() -> None:
    load, bindings = cluster(nodes=1)
    name = "host_then_bind[bind=whole_cores,anti_affinity=false]"
    found = run(measured(load, bindings, share=1.0), bindings, name)
    own = np.nansum(load.use.values[0], axis=1)
    lost = found.steps["inflation_vcpus"].to_numpy() * 1000
    assert (lost > 0).all()
    assert use_of_the_node(found, name) == pytest.approx(own + lost, rel=1e-6)


@pytest.mark.parametrize(("share", "taken_off"), [(1.0, True), (0.0, False)])
def test_the_data_show_whether_use_holds_it(share: float, taken_off: bool) -> None:
    load, bindings = cluster(nodes=40)
    found = held_by_use(old(measured(load, bindings, share, noise=60.0), bindings), "auto")
    assert found.taken_off == taken_off
    assert found.low is not None
    assert found.high is not None
    assert found.low <= share <= found.high
    (fact,) = found.facts()
    assert fact.because == ("neighbours_taken_off" if taken_off else "neighbours_not_in_use")
    assert (fact.about["slope"], fact.about["slope_low"]) == (found.share, found.low)


def test_what_cannot_be_told_is_taken_off() -> None:
    load, bindings = cluster(nodes=1)
    few = dict(list(bindings.items())[:3])
    assert held_by_use(old(load, few), "auto") == Held(taken_off=True, containers=3)
    assert not list(held_by_use(old(load, {}), "auto").facts())


def test_who_comes_in_another_order_keeps_his_own_cost() -> None:
    load, bindings = cluster()
    seen = measured(load, bindings, share=1.0)
    seen = changed(seen, containers={"exchangeable": np.ones(seen.containers.count, np.bool_)})
    found = run(seen, bindings, "recorded", repeats=3)
    same = found.repeats["cpu_spread_mean_fraction"].to_numpy()
    assert same == pytest.approx(np.full(3, same[0]), rel=1e-6)


def test_of_two_on_one_vcpu_neither_is_believed() -> None:
    load, bindings = cluster(nodes=1)
    first, second = load.containers.ids[:2]
    clash = {**bindings, second: bindings[first]}
    cost = old(load, clash).cost_milli(0)
    assert cost[:2].tolist() == [0, 0]
    assert (cost[2:] > 0).any()
