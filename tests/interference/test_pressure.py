from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from plain_vcpus import neighbours, plain_pressure
from vcpu_support import GOLDEN, TOPOLOGIES, bound_hosts, placed_on_hosts

from tracekit.interference.options import Aggregation
from tracekit.interference.room import other_sockets, pressure, service_profile
from tracekit.interference.topology import Topology, linux_numbering

EVERY: tuple[Aggregation, ...] = ("mean", "occupancy", "sum")
AGGREGATIONS = some.sampled_from(EVERY)


def test_golden_neighbours_and_pressure() -> None:
    case = GOLDEN["patent.socket_score"]
    given_, wanted = case["input"], case["expected"]["per_instance"]
    topology = linux_numbering(given_["N"], given_["S"])
    placed = {name: vcpus for name, (_, vcpus) in given_["placed"].items()}
    cpu = {name: given_["cpu_svc"][service] for name, (service, _) in given_["placed"].items()}
    room, bound = placed_on_hosts([(topology, list(placed.values()))])
    core, socket = pressure(room, bound, np.array(list(cpu.values())))
    for at, (name, expected) in enumerate(wanted.items()):
        assert neighbours(topology, placed, name) == (expected["sc"], expected["ss"])
        assert core[at] == pytest.approx(expected["cpu_sc"], abs=1e-9)
        assert socket[at] == pytest.approx(expected["cpu_ss"], abs=1e-9)


def test_golden_a_neighbour_counts_once() -> None:
    case = GOLDEN["patent.neighbour_partial"]
    topology = linux_numbering(case["input"]["N"], case["input"]["S"])
    placed = {"a": case["input"]["target"], "b": case["input"]["b"]}
    expected = case["expected"]
    assert neighbours(topology, placed, "a") == (expected["sc"], expected["ss"])


def test_golden_profile() -> None:
    case = GOLDEN["patent.profile"]
    for at, (name, values) in enumerate(case["input"].items()):
        service = np.full(len(values), at)
        found = service_profile(service, np.array(values), at + 1)
        assert found[at] == pytest.approx(case["expected"][name], abs=1e-12)


@given(bound_hosts(), AGGREGATIONS, some.integers(0, 2**32))
def test_one_pass_equals_plain_enumeration(
    hosts: list[tuple[Topology, list[list[int]]]], agg: Aggregation, seed: int
) -> None:
    room, bound = placed_on_hosts(hosts)
    cpu = np.random.default_rng(seed).uniform(0, 1.5, bound.instances)
    core, socket = pressure(room, bound, cpu, agg)
    at = 0
    for topology, lists in hosts:
        names = [str(at + number) for number in range(len(lists))]
        placed = dict(zip(names, lists, strict=True))
        known = {name: float(cpu[int(name)]) for name in names}
        for name in names:
            wanted = plain_pressure(topology, placed, known, name, agg)
            assert (core[at], socket[at]) == pytest.approx(wanted, abs=1e-9)
            at += 1


def test_half_empty_neighbourhoods_press_less_by_occupancy() -> None:
    room, bound = placed_on_hosts([(TOPOLOGIES["usual"], [[0, 1], [8], [2]])])
    cpu = np.array([0.2, 0.6, 0.4])
    assert pressure(room, bound, cpu, "mean")[0][0] == pytest.approx(0.6)
    assert pressure(room, bound, cpu, "occupancy")[0][0] == pytest.approx(0.3)
    assert pressure(room, bound, cpu, "sum")[0][0] == pytest.approx(0.6)
    assert pressure(room, bound, cpu, "occupancy")[1][0] == pytest.approx(0.1)


def test_the_other_socket_of_the_host_presses_apart() -> None:
    """Two hosts of two sockets of eight vCPUs; the second has nobody on its other socket."""
    topology = TOPOLOGIES["usual"]
    here, other = topology.vcpus_of(0).tolist(), topology.vcpus_of(1).tolist()
    room, bound = placed_on_hosts(
        [(topology, [here[:2], other[:1], other[1:4]]), (topology, [here[:2]])]
    )
    cpu = np.array([0.5, 0.2, 0.6, 0.9])
    busy = [0.2 + 3 * 0.6, 2 * 0.5, 2 * 0.5, 0.0]
    assert other_sockets(room, bound, cpu, "sum") == pytest.approx(busy)
    assert other_sockets(room, bound, cpu, "mean") == pytest.approx([0.5, 0.5, 0.5, 0.0])
    assert other_sockets(room, bound, cpu, "occupancy") == pytest.approx(
        np.array(busy) / len(other)
    )
