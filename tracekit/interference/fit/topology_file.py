"""Files that say how hosts are built: a row per host, or the map of one kind of host."""

import csv
from collections.abc import Callable
from pathlib import Path

from tracekit.base.errors import TracekitError
from tracekit.base.opened import is_file, read_text
from tracekit.interference.vcpu.topology import Topology, linux_numbering, parse_lscpu

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
