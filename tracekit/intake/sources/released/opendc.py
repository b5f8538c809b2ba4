"""Inputs of the OpenDC simulator: workload traces and topologies.

Facts: atlarge-research/opendc, its documentation of input files and the tests' own data.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.units import BYTES_PER_MIB
from tracekit.intake.sources import Batch, Broken, ClusterFile, ClusterSource, Head, Opened, Read
from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources._described import described
from tracekit.intake.sources._kind import Kind

# Topologies of OpenDC: clusters of hosts, each as often as its count says.


_MIB = float(BYTES_PER_MIB)
_SIZES = {
    "b": 1.0, "byte": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
    "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40,
}  # fmt: skip
_SIZE = re.compile(r"([\d.]+(?:[eE][+-]?\d+)?)\s*([A-Za-z]+)")
_TOPOLOGY = re.compile(rb'\s*\{\s*"clusters"\s*:\s*\[')
#: A larger count is a slip: no cluster has as many, and each host becomes a node.
_MOST_COPIES = 1_000_000


class _HostError(Exception):
    """The fault of a host."""


def is_topology(head: Head) -> bool:
    """Return whether the first bytes of a file are clusters of hosts that have cores."""
    start = head.start
    return bool(_TOPOLOGY.match(start)) and b'"hosts"' in start and b'"coreCount"' in start


def read_topology(opened: Opened) -> Read:
    """Yield a node for each host; copies of a host or cluster (``count``) are numbered from 0."""
    with opened.stream() as stream:
        try:
            topology = json.load(stream)
        except ValueError as error:
            raise TracekitError(f"{opened.name} is no JSON: {error}") from None
    nodes: list[dict[str, Any]] = []
    resources: list[dict[str, Any]] = []
    for line, (name, cluster, host) in enumerate(_hosts(topology), start=1):
        try:
            _check(host)
            sizes = _host_sizes(host)
        except _HostError as error:
            yield Broken(
                table="node_resource", line=line, reason=str(error), text=f"{name}: {host}"
            )
            continue
        row = {"time_ms": 0, "node": name, "line": line}
        labels = {"cluster": cluster, "core_mhz": str(host["cpu"].get("coreSpeed", ""))}
        nodes.append({**row, "labels": json.dumps(labels)})
        resources += [
            {**row, "resource": resource, "amount": amount, "unit": unit}
            for resource, (amount, unit) in sizes.items()
        ]
    if nodes:
        yield Batch(table="node", rows=pl.DataFrame(nodes))
        yield Batch(table="node_resource", rows=pl.DataFrame(resources))


def _hosts(topology: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each host with a name of its own, and the name of its cluster.

    A host without a usable count comes once, so that it can be refused; so does a cluster.
    """
    taken: dict[str, int] = {}
    for at, cluster in enumerate(topology["clusters"]):
        named = _name(cluster, f"cluster-{at}")
        if _wrong_count(cluster) or not isinstance(cluster.get("hosts") or [], list):
            yield named, named, cluster
            continue
        for copy in _copies(named, cluster):
            for place, host in enumerate(cluster.get("hosts") or ()):
                for one in _copies(_name(host, f"host-{place}"), host):
                    name = f"{copy}/{one}"
                    taken[name] = taken.get(name, 0) + 1
                    again = f"#{taken[name]}" if taken[name] > 1 else ""
                    yield name + again, copy, host


def _name(thing: Any, otherwise: str) -> str:
    return str(thing.get("name", otherwise)) if isinstance(thing, dict) else otherwise


def _copies(name: str, thing: Any) -> list[str]:
    count = 1 if _wrong_count(thing) else thing.get("count", 1)
    return [name] if count == 1 else [f"{name}-{at}" for at in range(count)]


def _wrong_count(thing: Any) -> str:
    """The fault of a count; empty if there is none."""
    if not isinstance(thing, dict):
        return f"is {json.dumps(thing)[:60]}, expected an object"
    count = thing.get("count", 1)
    if isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= _MOST_COPIES:
        return ""
    return f"count is {json.dumps(count)[:60]}, expected a whole number, 1 to {_MOST_COPIES:,}"


def _check(host: Any) -> None:
    """Raise _HostError for a faulty host, and for a cluster in place of a host."""
    if wrong := _wrong_count(host):
        raise _HostError(wrong)
    if "hosts" in host:
        raise _HostError(f"hosts is {json.dumps(host['hosts'])[:60]}, expected a list")


def _host_sizes(host: Mapping[str, Any]) -> dict[str, tuple[float, str]]:
    cpu, memory = _part(host, "cpu"), _part(host, "memory")
    cores = _number(cpu, "coreCount", "cpu") * _number({"count": 1, **cpu}, "count", "cpu")
    sizes = {"cpu": (cores, "cores"), "memory": (_bytes(memory), "bytes")}
    if host.get("gpu"):
        gpu = {"count": 1, **_part(host, "gpu")}
        sizes["gpu"] = (_number(gpu, "count", "gpu"), "count")
    return sizes


def _part(host: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A member that is an object; raises _HostError if it is not."""
    if name not in host:
        raise _HostError(f"has no {name}")
    if not isinstance(host[name], dict):
        raise _HostError(f"{name} is {json.dumps(host[name])[:60]}, expected an object")
    return dict(host[name])


def _number(part: Mapping[str, Any], name: str, of: str) -> float:
    """A number of 0 or more; raises _HostError for any other value."""
    if name not in part:
        raise _HostError(f"{of} has no {name}")
    value = part[name]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf:
        raise _HostError(f"{of}.{name} is {json.dumps(value)[:60]}, expected a number, 0 or more")
    return float(value)


def _bytes(memory: Mapping[str, Any]) -> float:
    """A size with its unit, or a number of MB."""
    size = memory.get("memorySize")
    stated = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
    if stated is None and not isinstance(size, str):
        return _number(memory, "memorySize", "memory") * _MIB
    if stated is None or stated.group(2).lower() not in _SIZES:
        raise _HostError(
            f"memory.memorySize is {size!r}, expected a number of MB, or one with its unit"
        )
    return float(stated.group(1)) * _SIZES[stated.group(2).lower()]


_TASKS = ("id", "submission_time", "duration", "cpu_count", "cpu_capacity", "mem_capacity")
_FRAGMENTS = ("id", "duration", "cpu_usage")
_FRAGMENT_COLUMNS = {*_FRAGMENTS, "gpu_usage", "cpu_count", "gpu_count", "mem_usage"}


def _is_tasks(head: Head) -> bool:
    return set(_TASKS) <= set(head.columns)


def _is_fragments(head: Head) -> bool:
    return set(_FRAGMENTS) <= set(head.columns) <= _FRAGMENT_COLUMNS


OPENDC = ClusterSource(
    name="opendc",
    title="Inputs of OpenDC: tasks, fragments of their use, topologies of hosts",
    url="https://github.com/atlarge-research/opendc",
    licence="MIT for the files in its repository; traces elsewhere have their own",
    lacks=("placement", "use of memory", "network and disk", "services", "order between tasks"),
    inferred=(
        "cores in use: MHz of the fragment / MHz of the task x its cores",
        "when a fragment begins: where the one before it ends, the first at the submission",
        "departure: submission + duration",
        "unit of times: ms, but s for a file whose submissions are seconds since 1970",
        "unit of mem_capacity: MB, but KB for a file with a task of more than 4 TiB in MB",
    ),
    notes=(
        "memory without a unit is MB of 2^20 bytes, in tasks and topologies",
        "mem_capacity of the repository's bitbrains files is KB, though MB is documented",
        "times are ms, as documented; seconds since 1970 (small_gpu) are met",
    ),
    files=(
        *described(
            "opendc",
            Kind(
                word="tasks",
                title="tasks and what they ask for",
                columns="id! submission_time:number! duration:number! cpu_count:number"
                " cpu_capacity:number mem_capacity:number gpu_count:number gpu_capacity:number",
                rows=partial(named_frames, table="container", needed=_TASKS),
                recognises=_is_tasks,
                rules=("duration: duration <= 0 -> more than 0",),
                whole=True,
                alone=True,
            ),
            Kind(
                word="fragments",
                title="what tasks use, piece by piece",
                columns="id! duration:number! cpu_usage:number gpu_usage:number",
                rows=partial(named_frames, table="container_amount", needed=_FRAGMENTS),
                recognises=_is_fragments,
                rules=("duration: duration <= 0 -> more than 0",),
                beside=("tasks",),
                needs={"tasks": "ingest tasks.parquet and fragments.parquet together"},
                whole=True,
                alone=True,
            ),
        ),
        ClusterFile(
            word="topology",
            title="clusters of hosts",
            tables=("node", "node_resource"),
            recognises=is_topology,
            read=read_topology,
            alone=True,
        ),
    ),
)
