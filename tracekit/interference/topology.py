"""Topology of a host: which vCPUs share a core, and which a socket.

The rule is Linux's usual numbering (patent CN116795487A [0116]-[0119], confirmed by lscpu of a
Xeon 8269CY): first one thread of every core, socket by socket, then the other threads in the same
order. Machines that number otherwise are described by an explicit map. A file has a row per host,
or the map of one kind of host.
"""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.opened import is_file, read_text
from tracekit.interference.options import THREADS_PER_CORE

#: What a map says of a vCPU that is not there.
ABSENT = -1


@dataclass(frozen=True)
class Topology:
    """Sockets and cores by vCPU id.

    Parameters
    ----------
    socket : int64, shape (ids,)
        Socket of each vCPU, ABSENT for ids that are not there.
    core : int64, shape (ids,)
        Core of each vCPU, numbered over the whole host.
    """

    socket: IntArray
    core: IntArray

    def __post_init__(self) -> None:
        if self.socket.shape != self.core.shape or not (self.socket >= 0).any():
            raise TracekitError("a topology has no vCPU", hint="give at least one vCPU id")
        there = self.socket >= 0
        pairs = np.unique(np.stack([self.core[there], self.socket[there]]), axis=1)
        if len(np.unique(pairs[0])) != pairs.shape[1]:
            raise TracekitError("a core lies on two sockets", hint="number cores over the host")

    @property
    def ids(self) -> IntArray:
        """Ids of the vCPUs that are there, ascending, shape (vcpus,)."""
        return np.flatnonzero(self.socket >= 0)

    @property
    def sockets(self) -> IntArray:
        """The sockets, ascending, shape (sockets,)."""
        return np.unique(self.socket[self.ids])

    def vcpus_of(self, socket: int) -> IntArray:
        """Ids of a socket's vCPUs, ascending."""
        return np.flatnonzero(self.socket == socket)

    def siblings(self, vcpu: int) -> IntArray:
        """The other vCPUs of a vCPU's core, ascending; none without hyper-threading."""
        mates = np.flatnonzero(self.core == self.core[vcpu])
        return np.asarray(mates[(mates != vcpu) & (self.socket[mates] >= 0)])


def linux_numbering(vcpus: int, sockets: int, threads_per_core: int = THREADS_PER_CORE) -> Topology:
    """The topology by the usual rule.

    Parameters
    ----------
    vcpus, sockets : int
        Of the whole host (``cpu_num_total``, ``socket_num``).
    threads_per_core : int
        1 for a host without hyper-threading: its vCPUs have no siblings.

    Raises
    ------
    TracekitError
        When the vCPUs do not divide evenly into sockets and cores.
    """
    if min(vcpus, sockets, threads_per_core) < 1 or vcpus % (threads_per_core * sockets):
        raise TracekitError(
            f"{vcpus} vCPUs do not divide into {sockets} sockets of cores with"
            f" {threads_per_core} threads",
            hint="give an explicit map: the output of lscpu -p",
        )
    cores = vcpus // threads_per_core
    core = np.arange(vcpus, dtype=np.int64) % cores
    return Topology(core // (cores // sockets), core)


def parse_lscpu(text: str) -> Topology:
    """The topology that ``lscpu -p`` prints; offline vCPUs are simply not in it.

    Raises
    ------
    TracekitError
        For a line that is not numbers, or a vCPU that stands twice.
    """
    columns = ["cpu", "core", "socket"]
    rows: dict[int, tuple[int, int]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            columns = _header(line) or columns
        elif line.strip():
            vcpu, core, socket = _numbers(line, number, columns)
            if vcpu in rows:
                raise TracekitError(f"line {number}: vCPU {vcpu} stands twice in the map")
            rows[vcpu] = core, socket
    return from_map(rows)


def from_map(rows: dict[int, tuple[int, int]]) -> Topology:
    """The topology of ``vcpu: (core, socket)``; core numbers may repeat from socket to socket."""
    size = max(rows, default=-1) + 1
    socket, core = np.full((2, size), ABSENT, dtype=np.int64)
    number: dict[tuple[int, int], int] = {}
    for vcpu, (own_core, own_socket) in sorted(rows.items()):
        socket[vcpu] = own_socket
        core[vcpu] = number.setdefault((own_socket, own_core), len(number))
    return Topology(socket, core)


def _header(line: str) -> list[str] | None:
    names = [name.strip().lower() for name in line.lstrip("# ").split(",")]
    return names if {"cpu", "core", "socket"} <= set(names) else None


def _numbers(line: str, number: int, columns: list[str]) -> tuple[int, int, int]:
    fields = [field.strip() for field in line.split(",")]
    try:
        vcpu, core, socket = (
            int(fields[columns.index(name)]) for name in ("cpu", "core", "socket")
        )
    except (ValueError, IndexError):
        raise TracekitError(
            f"line {number}: '{line[:60]}' is no row of {','.join(columns)}",
            hint="give what 'lscpu -p=CPU,CORE,SOCKET' prints",
        ) from None
    if min(vcpu, core, socket) < 0:
        raise TracekitError(f"line {number}: '{line[:60]}' holds a negative number")
    return vcpu, core, socket


# Lists of vCPU ids as Linux writes them: ``0-3,52``.

_PART = re.compile(r"^\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?$")


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """The ids in the order written; raises ValueError that says which part is no id or range."""
    found: list[int] = []
    for part in re.split(r"[,;\s]+", text.strip().strip("[]()\"'")):
        match = _PART.match(part)
        if not match:
            raise ValueError(f"'{part}' in cpu_list '{text[:40]}' is no vCPU id or range")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"range '{part}' in cpu_list '{text[:40]}' runs backwards")
        found.extend(range(first, last + 1))
    if len(set(found)) < len(found):
        raise ValueError(f"cpu_list '{text[:40]}' names a vCPU twice")
    return tuple(found)


def spell_cpu_list(ids: list[int]) -> str:
    """The ids as Linux writes them, ascending, runs as ranges."""
    runs: list[list[int]] = []
    for vcpu in sorted(ids):
        if runs and vcpu == runs[-1][1] + 1:
            runs[-1][1] = vcpu
        else:
            runs.append([vcpu, vcpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


NEEDED = ("node_ip", "cpu_num_total", "socket_num")


class Topologies(dict[str, Topology]):
    """Topologies by host; ``usual`` is that of every host not named, None if there is none."""

    def __init__(self, usual: Topology | None = None) -> None:
        super().__init__()
        self.usual = usual

    def of(self, host: str) -> Topology | None:
        """The host's topology, None when it is not known."""
        return self.get(host, self.usual)


def read_topologies(path: Path) -> Topologies:
    """The topologies that a file tells.

    Parameters
    ----------
    path : Path
        CSV with ``node_ip, cpu_num_total, socket_num``, and optionally ``threads_per_core``
        (2 if empty) and ``map``, a file beside it with what ``lscpu -p`` prints on that host. Or
        such a map itself, which then holds for every host.

    Raises
    ------
    TracekitError
        For a file that is neither, a host that stands twice, and numbers that make no host.
    """
    if not is_file(path):
        raise TracekitError(f"no such topology file: {path}", hint="give --topology FILE")
    text = read_text(path)
    if text.startswith("#"):
        return Topologies(_named(path, lambda: parse_lscpu(text)))
    return _read_rows(path, text)


def _read_rows(path: Path, text: str) -> Topologies:
    rows = csv.DictReader(text.splitlines())
    names = [name.strip() for name in rows.fieldnames or []]
    rows.fieldnames = names
    lacking = [name for name in NEEDED if name not in names]
    if lacking:
        raise TracekitError(
            f"{path.name} has no column {', '.join(lacking)}; it has: {', '.join(names) or 'none'}",
            hint=f"expected {','.join(NEEDED)}, or what 'lscpu -p' prints",
        )
    found = Topologies()
    made: dict[tuple[str, ...], Topology] = {}
    for line, row in enumerate(rows, start=2):
        host = (row["node_ip"] or "").strip()
        if not host or host in found:
            what = f"host '{host}' stands twice" if host else "node_ip is empty"
            raise TracekitError(f"{path.name}, line {line}: {what}")
        key = tuple(
            (row.get(name) or "").strip() for name in (*NEEDED[1:], "threads_per_core", "map")
        )
        if key not in made:
            made[key] = _made(path, line, key)
        found[host] = made[key]
    if not found:
        raise TracekitError(f"{path.name} names no host", hint="a row per host is expected")
    return found


def _made(path: Path, line: int, key: tuple[str, ...]) -> Topology:
    vcpus, sockets, threads, file = key
    if file:
        there = path.parent / file
        if not is_file(there):
            raise TracekitError(f"{path.name}, line {line}: no such map: {file}")
        return _named(there, lambda: parse_lscpu(read_text(there)))
    try:
        numbers = int(vcpus), int(sockets), int(threads or 2)
    except ValueError:
        raise TracekitError(
            f"{path.name}, line {line}: cpu_num_total '{vcpus}', socket_num '{sockets}',"
            f" threads_per_core '{threads}': expected whole numbers"
        ) from None
    return _named(path, lambda: linux_numbering(*numbers), line)


def _named(path: Path, make: Callable[[], Topology], line: int | None = None) -> Topology:
    """The value of ``make``; an error names the file and the line it comes from."""
    try:
        return make()
    except TracekitError as error:
        where = path.name if line is None else f"{path.name}, line {line}"
        raise TracekitError(f"{where}: {error.what}", hint=error.hint) from None
