"""Reads and checks monitoring rows with the vCPUs of instances, from a file or a store."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.files.result_folder import read_frame
from tracekit.base.opened import is_file, read_bytes
from tracekit.interference.options import MOST_CPU
from tracekit.interference.room import VcpuPlaces, make_room
from tracekit.interference.topology import (
    Topologies,
    Topology,
    linux_numbering,
    parse_cpu_list,
    read_topologies,
)
from tracekit.store.folder import Store
from tracekit.store.query.run import open_database
from tracekit.store.sqlfiles import get_query

NEEDED = ("instance_id", "node_ip", "cpu_list", "cpu_util")
OPTIONAL = ("service", "time_ms", "load")
REJECTS = {"line": pl.Int64, "instance_id": pl.String, "node_ip": pl.String, "reason": pl.String}


class NothingToFitError(TracekitError):
    """The error for an intact store that lacks the data that a fit needs."""


@dataclass(frozen=True)
class Binding:
    """Checked monitoring rows: the CPU use and the vCPUs of an instance at one time.

    Parameters
    ----------
    room : VcpuPlaces
    rows : DataFrame
        The valid rows: instance, service, host, time_ms, cpu (fraction of the instance's vCPUs),
        load (calls per second), first and vcpus. The vCPUs of a row are
        ``place[first:first+vcpus]``.
    place : int64, shape (bound vCPUs,)
        The position in ``room`` of each bound vCPU, row after row.
    rejects : DataFrame
        The invalid rows: line, instance_id, node_ip and reason.
    """

    room: VcpuPlaces
    rows: pl.DataFrame
    place: IntArray
    rejects: pl.DataFrame


def read_binding(
    path: Path, topologies: Topologies, services: Mapping[str, str] | None = None
) -> Binding:
    """Read and check a file of monitoring rows.

    Parameters
    ----------
    path : Path
        CSV or Parquet with ``instance_id, node_ip, cpu_list, cpu_util``, and optionally
        ``service``, ``time_ms`` and ``load`` (calls per second).
    services : mapping, optional
        The service of each instance, for a file without services.

    Raises
    ------
    TracekitError
        For a missing column, or if no row is valid.
    """
    return binding_of(_read(path), topologies, path.name, services, first_line=2)


def binding_of(
    frame: pl.DataFrame,
    topologies: Topologies,
    name: str,
    services: Mapping[str, str] | None = None,
    *,
    first_line: int = 1,
    hint: str = f"expected columns {', '.join(NEEDED)}; hosts come from --topology",
) -> Binding:
    """Check monitoring rows in a frame of texts with the columns of ``read_binding``.

    Parameters
    ----------
    name : str
        What the rows come from, for messages.
    first_line : int
        The line number of the first row.
    hint : str
        The hint of the error if no row is valid.
    """
    checked = _Checked(topologies, dict(services or {}))
    for line, row in enumerate(frame.iter_rows(named=True), start=first_line):
        checked.add(line, row)
    if not checked.rows:
        reason = checked.rejects[0][3] if checked.rejects else "it has no rows"
        raise TracekitError(
            f"{name}: none of {frame.height:,} rows can be used; the first: {reason}",
            hint=hint,
        )
    return checked.binding()


def _read(path: Path) -> pl.DataFrame:
    if not is_file(path):
        raise TracekitError(f"no such binding file: {path}", hint="give --binding FILE")
    try:
        frame = (
            read_frame(path)
            if path.suffix == ".parquet"
            else pl.read_csv(read_bytes(path), infer_schema=False, null_values="")
        )
    except (pl.exceptions.PolarsError, OSError, csv.Error) as error:
        text = next(iter(str(error).splitlines()), "")
        raise TracekitError(
            f"{path.name} cannot be read: {text}", hint="give CSV or Parquet"
        ) from None
    frame = frame.rename(str.strip)
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise TracekitError(
            f"{path.name} has no column {', '.join(missing)}; it has: {', '.join(frame.columns)}",
            hint=f"expected {', '.join(NEEDED)}",
        )
    columns = [name for name in (*NEEDED, *OPTIONAL) if name in frame.columns]
    return frame.select(pl.col(columns).cast(pl.String).str.strip_chars())


@dataclass
class _Row:
    line: int
    instance: str
    service: str
    host: str
    time_ms: int
    cpu: float
    load: float | None
    vcpus: tuple[int, ...]


class _Checked:
    """Checks rows in the order of the file; of two rows with a common vCPU the first is sound."""

    def __init__(self, topologies: Topologies, services: Mapping[str, str]) -> None:
        self.rows: list[_Row] = []
        self.rejects: list[tuple[int, str | None, str | None, str]] = []
        self._topologies, self._services = topologies, services
        self._lists: dict[str, tuple[int, ...] | str] = {}
        self._problems: dict[tuple[int, tuple[int, ...]], str] = {}
        self._taken: dict[tuple[str, int], dict[int, str]] = {}
        self._seen: set[tuple[str, int]] = set()

    def add(self, line: int, row: Mapping[str, str | None]) -> None:
        try:
            self.rows.append(self._row(line, row))
        except _BadRowError as bad:
            self.rejects.append((line, row["instance_id"], row["node_ip"], str(bad)))

    def _row(self, line: int, row: Mapping[str, str | None]) -> _Row:
        instance, host = row["instance_id"], row["node_ip"]
        if not instance or not host:
            raise _BadRowError("instance_id or node_ip is empty")
        topology = self._topologies.of(host)
        if topology is None:
            raise _BadRowError(f"host '{host}' is not in the topology file")
        vcpus = self._listed(row["cpu_list"] or "")
        self._check_vcpus(topology, vcpus)
        service = row.get("service") or self._services.get(instance)
        if not service:
            raise _BadRowError("its service is not known: neither the file nor the store has it")
        time_ms = _number(row.get("time_ms") or "0", "time_ms", 0, 2**53)
        cpu = _number(row["cpu_util"] or "", "cpu_util", 0, MOST_CPU)
        if cpu == 0:
            raise _BadRowError("cpu_util is 0, expected more")
        load = row.get("load")
        made = _Row(
            line=line,
            instance=instance,
            service=service,
            host=host,
            time_ms=int(time_ms),
            cpu=cpu,
            load=None if not load else _number(load, "load", 0, float("inf")),
            vcpus=vcpus,
        )
        self._bind(made)
        return made

    def _listed(self, text: str) -> tuple[int, ...]:
        if text not in self._lists:
            try:
                self._lists[text] = parse_cpu_list(text)
            except ValueError as error:
                self._lists[text] = str(error)
        ids = self._lists[text]
        if isinstance(ids, str):
            raise _BadRowError(ids if text else "cpu_list is empty")
        return ids

    def _check_vcpus(self, topology: Topology, vcpus: tuple[int, ...]) -> None:
        key = id(topology), vcpus
        if key not in self._problems:
            self._problems[key] = _problem(topology, vcpus)
        if self._problems[key]:
            raise _BadRowError(self._problems[key])

    def _bind(self, row: _Row) -> None:
        if (row.instance, row.time_ms) in self._seen:
            raise _BadRowError(f"'{row.instance}' stands twice at time {row.time_ms} ms")
        taken = self._taken.setdefault((row.host, row.time_ms), {})
        for vcpu in row.vcpus:
            if vcpu in taken:
                raise _BadRowError(
                    f"vCPU {vcpu} of '{row.host}' belongs to '{taken[vcpu]}' already"
                )
        taken.update(dict.fromkeys(row.vcpus, row.instance))
        self._seen.add((row.instance, row.time_ms))

    def binding(self) -> Binding:
        hosts = sorted({row.host for row in self.rows})
        each = {host: self._topologies.of(host) for host in hosts}
        room = make_room(hosts, {host: topology for host, topology in each.items() if topology})
        start = dict(zip(hosts, room.offset.tolist(), strict=False))
        sizes = np.array([len(row.vcpus) for row in self.rows], dtype=np.int64)
        place = [start[row.host] + vcpu for row in self.rows for vcpu in row.vcpus]
        columns = ("instance", "service", "host", "time_ms", "cpu", "load")
        types = [pl.String, pl.String, pl.String, pl.Int64, pl.Float64, pl.Float64]
        return Binding(
            room=room,
            rows=pl.DataFrame(
                {name: [getattr(row, name) for row in self.rows] for name in columns},
                schema=dict(zip(columns, types, strict=True)),
            ).with_columns(first=pl.Series(np.cumsum(sizes) - sizes), vcpus=pl.Series(sizes)),
            place=np.array(place, dtype=np.int64),
            rejects=pl.DataFrame(sorted(self.rejects), schema=REJECTS, orient="row"),
        )


class _BadRowError(Exception):
    """The reason why a row is rejected."""


def _problem(topology: Topology, vcpus: tuple[int, ...]) -> str:
    """The problem of binding an instance to some vCPUs, empty for none."""
    ids = topology.ids
    for vcpu in vcpus:
        if vcpu >= len(topology.socket) or topology.socket[vcpu] < 0:
            return (
                f"vCPU {vcpu} is out of range: the host has {len(ids)}, ids {ids[0]} to {ids[-1]}"
            )
    sockets = sorted({int(topology.socket[vcpu]) for vcpu in vcpus})
    if len(sockets) > 1:
        return f"cpu_list lies across sockets {', '.join(map(str, sockets))}"
    return ""


def _number(text: str, name: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise _BadRowError(f"{name} is '{text}', expected a number from {least:g} to {most:g}")
    return value


BINDINGS_QUERY = "interference/bindings"


def records_bindings(store: Store, engine: str | None = None) -> bool:
    """Return whether the store has the vCPUs of at least one container."""
    if not store.manifest.parts("container"):
        return False
    with open_database(store, engine) as database:
        rows = database.frame("SELECT count(vcpus) AS bound FROM container_keyed", {})
    return bool(rows["bound"][0])


def binding_of_store(
    store: Store,
    topology: Path | None,
    *,
    sockets: int,
    threads_per_core: int,
    engine: str | None = None,
) -> Binding:
    """Return the checked monitoring rows of a store that records the vCPUs of containers.

    Parameters
    ----------
    topology : Path, optional
        The topology file of nodes: see ``topology.read_topologies``. If None, each node's recorded
        cores are numbered by ``linux_numbering`` with ``sockets`` and ``threads_per_core``. Cores
        that do not divide evenly are then left out.

    Raises
    ------
    TracekitError
        If no row is valid, or the topology file cannot be used.
    """
    with open_database(store, engine) as database:
        bound = database.frame(get_query(BINDINGS_QUERY).text, {})
    if bound.is_empty():
        raise NothingToFitError(
            "the store records vCPUs of containers, but no use of those containers",
            hint="ingest their use too; info says what is recorded: tracekit info STORE",
        )
    topologies = (
        _built(bound, sockets, threads_per_core) if topology is None else read_topologies(topology)
    )
    rows = bound.select(
        pl.col("container").alias("instance_id"),
        pl.col("node").alias("node_ip"),
        pl.col("vcpus").alias("cpu_list"),
        (pl.col("cpu_fraction") * _per_vcpu(bound)).alias("cpu_util"),
        "service",
        "time_ms",
    )
    return binding_of(
        rows.with_columns(pl.all().cast(pl.String)),
        topologies,
        "the store",
        hint="state the topology of nodes: --sockets and --threads of a core, or --topology FILE",
    )


def _per_vcpu(rows: pl.DataFrame) -> pl.Expr:
    """The factor from use of the request to use of the container's vCPUs."""
    many = {text: _count(text) for text in rows["vcpus"].unique()}
    vcpus = pl.col("vcpus").replace_strict(many, return_dtype=pl.Float64)
    return (pl.col("request_cores") / vcpus).fill_null(1.0)


def _count(text: str) -> float | None:
    try:
        return float(len(parse_cpu_list(text)))
    except ValueError:
        return None


def _built(rows: pl.DataFrame, sockets: int, threads_per_core: int) -> Topologies:
    unit = sockets * threads_per_core
    topologies = Topologies()
    sizes = rows.select("node", "node_cores").drop_nulls().unique("node").sort("node")
    made = {}
    for node, cores in sizes.iter_rows():
        vcpus = int(cores) // unit * unit
        if vcpus and vcpus not in made:
            made[vcpus] = linux_numbering(vcpus, sockets, threads_per_core)
        if vcpus:
            topologies[node] = made[vcpus]
    return topologies
