"""What many tests take: hand-made trace files, real rows where they are at hand, facts by cause."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tracekit.base.facts import Fact

#: Where specifications, golden vectors and real rows may lie; absent on a user's machine.
SHARED = Path(
    os.environ.get("TRACEKIT_SHARED", Path(__file__).resolve().parents[2].parent / "shared")
)

NODE_HEADER = ",timestamp,nodeid,node_cpu_usage,node_memory_usage"
RESOURCE_HEADER = ",msname,msinstanceid,nodeid,instance_cpu_usage,instance_memory_usage,timestamp"
RATE_HEADER = ",timestamp,msname,msinstanceid,metric,value"
CALL_HEADER = ",traceid,timestamp,rpcid,um,rpctype,dm,interface,rt"


def shared_data(name: str) -> Path:
    """The folder of real rows of that name; who asks is skipped where they are not at hand."""
    folder = SHARED / "data" / name
    if not folder.is_dir():
        pytest.skip(f"real rows of {name} are not at hand (set TRACEKIT_SHARED to their folder)")
    return folder


def few_or_many(few: int, many: int) -> int:
    """How many cases a slow random test tries: few in CI, many in ``make fuzz``."""
    return many if os.environ.get("TRACEKIT_MANY") else few


def hex_id(kind: str, number: int) -> str:
    """A 64-digit id as the trace has them."""
    return hashlib.sha256(f"{kind}{number}".encode()).hexdigest()


def node_lines(nodes: int = 3, steps: int = 12) -> list[str]:
    """Node rows: node 0 has CPU and memory opposed, node 1 together, node 2 memory constant."""
    lines = []
    for step in range(steps):
        for node in range(nodes):
            cpu = 0.5 + 0.01 * (step % 5)
            memory = {0: 0.9 - 0.01 * (step % 5), 1: 0.4 + 0.02 * (step % 5)}.get(node, 0.7)
            lines.append(f"{step * 30000},{hex_id('node', node)},{cpu!r},{memory!r}")
    return lines


def resource_lines(containers: int = 6, steps: int = 12) -> list[str]:
    """Container rows, two containers a node, three services."""
    return [
        f"{hex_id('service', c % 3)},{hex_id('container', c)},{hex_id('node', c // 2)}"
        f",{0.1 + 0.01 * c!r},0.5,{step * 30000}"
        for step in range(steps)
        for c in range(containers)
    ]


def rate_lines(containers: int = 6, minutes: int = 5) -> list[str]:
    """Call rates of each container."""
    return [
        f"{minute * 60000},{hex_id('service', c % 3)},{hex_id('container', c)}"
        f",providerRPC_MCR,{(c + 1) * 1.5!r}"
        for minute in range(minutes)
        for c in range(containers)
    ]


def call_lines() -> list[str]:
    """Two traces; a remote call recorded by both ends, a cache call, unknown names, a duplicate."""
    a, b, c = (hex_id("service", number) for number in range(3))
    first, second = "0b133c1915919238193454000e5d37", "0b133c1915919238200000000e5d37"
    return [
        f"{first},219678,0,(?),http,{a},{hex_id('interface', 0)},25",
        f"{first},219680,0.1,{a},rpc,{b},{hex_id('interface', 1)},7",
        f"{first},219681,0.1,{a},rpc,{b},{hex_id('interface', 1)},-5",
        f"{first},219682,0.1.1,{b},mc,{c},,0",
        f"{first},219682,0.1.1,{b},mc,{c},,0",
        f"{second},220000,0,,rpc,{a},{hex_id('interface', 0)},3",
        f"{second},220001,0.1,{a},db,NAN,,1",
    ]


def csv_text(header: str, lines: list[str]) -> str:
    """A CSV with the unnamed index column of the released files, if the header has one."""
    numbered = header.startswith(",")
    body = [f"{at},{line}" if numbered else line for at, line in enumerate(lines)]
    return "\n".join([header, *body]) + "\n"


def tar_gz(path: Path, members: dict[str, str]) -> None:
    """A tar.gz with the given files, always the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    path.write_bytes(gzip.compress(buffer.getvalue(), mtime=0))


@dataclass(frozen=True)
class TraceFolder:
    """A folder of small trace files."""

    path: Path

    @classmethod
    def written(cls, path: Path) -> TraceFolder:
        """The four tables, one CSV each."""
        path.mkdir(parents=True)
        folder = cls(path)
        folder.write("Node_0.csv", NODE_HEADER, node_lines())
        folder.write("MSResource_0.csv", RESOURCE_HEADER, resource_lines())
        folder.write("MSRTQps_0.csv", RATE_HEADER, rate_lines())
        folder.write("MSCallGraph_0.csv", CALL_HEADER, call_lines())
        return folder

    def write(self, name: str, header: str, lines: list[str]) -> Path:
        """Write one CSV."""
        path = self.path / name
        path.write_text(csv_text(header, lines))
        return path


def causes(facts: Iterable[Fact]) -> list[str]:
    """The causes of facts, in their order."""
    return [one.because for one in facts]


def the(facts: Iterable[Fact], because: str) -> Fact:
    """The only fact of a cause."""
    (results,) = (one for one in facts if one.because == because)
    return results


"""The text of a file with a policy of one's own."""

OWN = '''"""The emptiest node."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy


@dataclass(frozen=True, kw_only=True)
class Mine(PlacementPolicy):
    """Prefer the node with the most left."""

    reads: ClassVar = frozenset({"requests"})
    source: ClassVar = "our own"
    weight: Annotated[float, About("Weight of memory.", minimum=0)] = 1.0

    def score(self, snapshot, container, nodes):
        left = snapshot.allocatable[nodes] - snapshot.requested[nodes]
        return left[:, 0] + self.weight * left[:, 1] / 2**20
'''


def random_node_text(rows: int, seed: int = 0) -> str:
    """A Node table whose values do not compress, so that its archive is long."""
    values = np.random.default_rng(seed).random((rows, 2)).tolist()
    lines = [
        f"{at // 10 * 30000},{hex_id('node', at % 10)},{cpu!r},{memory!r}"
        for at, (cpu, memory) in enumerate(values)
    ]
    return csv_text(NODE_HEADER, lines)
