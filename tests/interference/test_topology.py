from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from plain_vcpus import neighbours, plain_pressure
from vcpu_support import GOLDEN, TOPOLOGIES, bound_hosts, placed_on_hosts

from tracekit.interference.options import Aggregation
from tracekit.interference.room import other_sockets, pressure, service_profile
from tracekit.interference.topology import (
    Topology,
    linux_numbering,
    parse_cpu_list,
    parse_lscpu,
    spell_cpu_list,
)

CASE = GOLDEN["patent.topology"]


def spread(ranges: list[list[int]]) -> list[int]:
    return [vcpu for first, last in ranges for vcpu in range(first, last + 1)]


def test_golden_sockets() -> None:
    for vcpus, sockets in CASE["input"]["cases"]:
        numbered = linux_numbering(vcpus, sockets)
        for socket, ids in CASE["expected"][f"{vcpus}/{sockets}"].items():
            wanted = ids if isinstance(ids[0], int) else spread(ids)
            assert numbered.vcpus_of(int(socket)).tolist() == wanted


def test_golden_siblings_and_sockets() -> None:
    for what, sibling in CASE["expected"]["siblings"].items():
        vcpus, vcpu = (int(word) for word in what.split(":"))
        assert linux_numbering(vcpus, 2).siblings(vcpu).tolist() == [sibling]
    for what, socket in CASE["expected"]["socket_of"].items():
        vcpus, vcpu = (int(word) for word in what.split(":"))
        assert linux_numbering(vcpus, 2).socket[vcpu] == socket


def lscpu(topology: Topology, header: str = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3") -> str:
    rows = [f"{v},{topology.core[v]},{topology.socket[v]},0,,0,0,0,0" for v in topology.ids]
    return "\n".join(["# The following is the parsable format.", header, *rows]) + "\n"


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_lscpu_tells_the_same(name: str) -> None:
    topology = TOPOLOGIES[name]
    parsed = parse_lscpu(lscpu(topology))
    assert parsed.socket.tolist() == topology.socket.tolist()
    for vcpu in topology.ids.tolist():
        assert parsed.siblings(vcpu).tolist() == topology.siblings(vcpu).tolist()


def test_columns_of_lscpu_may_be_chosen() -> None:
    parsed = parse_lscpu("# Socket,CPU,Core\n0,0,0\n1,1,0\n0,2,0\n1,3,0\n")
    assert parsed.vcpus_of(1).tolist() == [1, 3]
    assert parsed.siblings(0).tolist() == [2]


@pytest.mark.parametrize(
    ("text", "ids"),
    [("0-3,52", (0, 1, 2, 3, 52)), ("7", (7,)), (" 1, 3 ", (1, 3)), ("[2, 4]", (2, 4)),
     ("5 6;7", (5, 6, 7))],
)  # fmt: skip
def test_reads_the_usual_spellings(text: str, ids: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == ids


@pytest.mark.parametrize(
    "text", ["3-1", "a", "", "1,1", "-1", "1.5"],
)  # fmt: skip
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"'{text}")):
        parse_cpu_list(text)


@given(some.sets(some.integers(0, 300), min_size=1))
def test_what_is_spelled_reads_back(ids: set[int]) -> None:
    assert parse_cpu_list(spell_cpu_list(list(ids))) == tuple(sorted(ids))


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
        profile = service_profile(service, np.array(values), at + 1)
        assert profile[at] == pytest.approx(case["expected"][name], abs=1e-12)


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
        cpu_by_name = {name: float(cpu[int(name)]) for name in names}
        for name in names:
            wanted = plain_pressure(topology, placed, cpu_by_name, name, agg)
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
