"""The topology of a host: the core and the socket of each vCPU.

Linux's usual numbering (patent CN116795487A [0116]-[0119], confirmed by lscpu of a Xeon 8269CY) has
first one thread of every core, socket by socket, and then the other threads in the same order.
Other machines need an explicit map. A topology file has a row for each host, or one map for all
hosts.
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

#: The socket and core of an id without a vCPU.
ABSENT = -1


@dataclass(frozen=True)
class Topology:
    """The socket and the core of each vCPU of one host, by the vCPU's id.

    Parameters
    ----------
    socket : int64, shape (ids,)
        The socket of each vCPU, ABSENT for an id without a vCPU.
    core : int64, shape (ids,)
        The core of each vCPU, numbered over the host.
    """

    socket: IntArray
    core: IntArray

    def __post_init__(self) -> None:
        if self.socket.shape != self.core.shape or not (self.socket >= 0).any():
            raise TracekitError("a topology has no vCPU", hint="give at least one vCPU id")
        present = self.socket >= 0
        pairs = np.unique(np.stack([self.core[present], self.socket[present]]), axis=1)
        if len(np.unique(pairs[0])) != pairs.shape[1]:
            raise TracekitError("a core lies on two sockets", hint="number cores over the host")

    @property
    def ids(self) -> IntArray:
        """The ids of all vCPUs, ascending, shape (vcpus,)."""
        return np.flatnonzero(self.socket >= 0)

    @property
    def sockets(self) -> IntArray:
        """The numbers of the host's sockets, ascending, shape (sockets,)."""
        return np.unique(self.socket[self.ids])

    def vcpus_of(self, socket: int) -> IntArray:
        """Return the ids of the vCPUs of a socket, ascending."""
        return np.flatnonzero(self.socket == socket)

    def siblings(self, vcpu: int) -> IntArray:
        """Return the other vCPUs of the core of a vCPU, ascending; none without hyper-threading."""
        mates = np.flatnonzero(self.core == self.core[vcpu])
        return np.asarray(mates[(mates != vcpu) & (self.socket[mates] >= 0)])


def linux_numbering(vcpus: int, sockets: int, threads_per_core: int = THREADS_PER_CORE) -> Topology:
    """Return a topology in Linux's usual numbering: one thread of every core, then the others.

    Parameters
    ----------
    vcpus, sockets : int
        How many the whole host has (``cpu_num_total``, ``socket_num``).
    threads_per_core : int
        1 for a host without hyper-threading.

    Raises
    ------
    TracekitError
        If the vCPUs do not divide evenly into sockets and cores.
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
    """Return the topology in the output of ``lscpu -p``. Offline vCPUs are not in it.

    Raises
    ------
    TracekitError
        For a line that has no numbers, or a repeated vCPU.
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
    """Return the topology of a map ``vcpu: (core, socket)``. Each socket may count cores anew."""
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


# Lists of vCPU ids in Linux's spelling: ``0-3,52``.

_PART = re.compile(r"^\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?$")


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Return the vCPU ids in a list, in its order: ``"0-3,8"`` gives ``(0, 1, 2, 3, 8)``.

    Raises ValueError for a part that is no id or range, a backward range, or a repeated id.
    """
    ids: list[int] = []
    for part in re.split(r"[,;\s]+", text.strip().strip("[]()\"'")):
        match = _PART.match(part)
        if not match:
            raise ValueError(f"'{part}' in cpu_list '{text[:40]}' is no vCPU id or range")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"range '{part}' in cpu_list '{text[:40]}' runs backwards")
        ids.extend(range(first, last + 1))
    if len(set(ids)) < len(ids):
        raise ValueError(f"cpu_list '{text[:40]}' names a vCPU twice")
    return tuple(ids)


def spell_cpu_list(ids: list[int]) -> str:
    """Return vCPU ids as a list in Linux's spelling, ascending: ``[8, 0, 1]`` gives ``"0-1,8"``."""
    runs: list[list[int]] = []
    for vcpu in sorted(ids):
        if runs and vcpu == runs[-1][1] + 1:
            runs[-1][1] = vcpu
        else:
            runs.append([vcpu, vcpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


NEEDED = ("node_ip", "cpu_num_total", "socket_num")


class Topologies(dict[str, Topology]):
    """The topologies of hosts by name. ``usual`` is the topology of all other hosts, or None."""

    def __init__(self, usual: Topology | None = None) -> None:
        super().__init__()
        self.usual = usual

    def of(self, host: str) -> Topology | None:
        """Return the topology of a host, None for an unknown host."""
        return self.get(host, self.usual)


def read_topologies(path: Path) -> Topologies:
    """Read the topologies of hosts from a file.

    Parameters
    ----------
    path : Path
        CSV with ``node_ip, cpu_num_total, socket_num``, and optionally ``threads_per_core`` (2 if
        empty) and ``map``, which names a file in the same folder with the output of ``lscpu -p`` on
        the host. Or the output of ``lscpu -p`` itself, for all hosts.

    Raises
    ------
    TracekitError
        For another file, a repeated host, or numbers that do not divide evenly.
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
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise TracekitError(
            f"{path.name} has no column {', '.join(missing)}; it has: {', '.join(names) or 'none'}",
            hint=f"expected {','.join(NEEDED)}, or what 'lscpu -p' prints",
        )
    topologies = Topologies()
    made: dict[tuple[str, ...], Topology] = {}
    for line, row in enumerate(rows, start=2):
        host = (row["node_ip"] or "").strip()
        if not host or host in topologies:
            what = f"host '{host}' stands twice" if host else "node_ip is empty"
            raise TracekitError(f"{path.name}, line {line}: {what}")
        key = tuple(
            (row.get(name) or "").strip() for name in (*NEEDED[1:], "threads_per_core", "map")
        )
        if key not in made:
            made[key] = _made(path, line, key)
        topologies[host] = made[key]
    if not topologies:
        raise TracekitError(f"{path.name} names no host", hint="a row per host is expected")
    return topologies


def _made(path: Path, line: int, key: tuple[str, ...]) -> Topology:
    vcpus, sockets, threads, file = key
    if file:
        beside = path.parent / file
        if not is_file(beside):
            raise TracekitError(f"{path.name}, line {line}: no such map: {file}")
        return _named(beside, lambda: parse_lscpu(read_text(beside)))
    try:
        numbers = int(vcpus), int(sockets), int(threads or 2)
    except ValueError:
        raise TracekitError(
            f"{path.name}, line {line}: cpu_num_total '{vcpus}', socket_num '{sockets}',"
            f" threads_per_core '{threads}': expected whole numbers"
        ) from None
    return _named(path, lambda: linux_numbering(*numbers), line)


def _named(path: Path, make: Callable[[], Topology], line: int | None = None) -> Topology:
    """The result of ``make``; an error of it gets the file and the line."""
    try:
        return make()
    except TracekitError as error:
        where = path.name if line is None else f"{path.name}, line {line}"
        raise TracekitError(f"{where}: {error.what}", hint=error.hint) from None
