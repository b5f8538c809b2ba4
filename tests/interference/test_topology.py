from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as some
from vcpu_support import GOLDEN, TOPOLOGIES

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
        found = linux_numbering(vcpus, sockets)
        for socket, ids in CASE["expected"][f"{vcpus}/{sockets}"].items():
            wanted = ids if isinstance(ids[0], int) else spread(ids)
            assert found.vcpus_of(int(socket)).tolist() == wanted


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
    found = parse_lscpu(lscpu(topology))
    assert found.socket.tolist() == topology.socket.tolist()
    for vcpu in topology.ids.tolist():
        assert found.siblings(vcpu).tolist() == topology.siblings(vcpu).tolist()


def test_columns_of_lscpu_may_be_chosen() -> None:
    found = parse_lscpu("# Socket,CPU,Core\n0,0,0\n1,1,0\n0,2,0\n1,3,0\n")
    assert found.vcpus_of(1).tolist() == [1, 3]
    assert found.siblings(0).tolist() == [2]


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
