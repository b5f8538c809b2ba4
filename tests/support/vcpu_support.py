"""Clusters of bound instances, drawn at random or planted, and rows with planted coefficients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as some
from plain_vcpus import plain_candidates

from tracekit.base.arrays import FloatArray
from tracekit.binding.vcpu_state import VcpuState
from tracekit.interference.room import (
    Bound,
    VcpuPlaces,
    make_room,
    other_sockets,
    pressure,
    service_profile,
)
from tracekit.interference.topology import Topology, from_map, linux_numbering

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "patent.json").read_text()
)["cases"]


def interleaved() -> Topology:
    """A host that numbers siblings side by side, and sockets in turns."""
    return from_map({vcpu: (vcpu // 4, vcpu // 2 % 2) for vcpu in range(16)})


TOPOLOGIES = {
    "usual": linux_numbering(16, 2),
    "no hyper-threading": linux_numbering(8, 2, 1),
    "one socket": linux_numbering(8, 1),
    "four threads": linux_numbering(16, 2, 4),
    "interleaved": interleaved(),
    "one vCPU offline": from_map({vcpu: (vcpu % 4, 0) for vcpu in (0, 1, 2, 3, 4, 6, 7)}),
}

topologies = some.sampled_from(sorted(TOPOLOGIES)).map(TOPOLOGIES.__getitem__)


@some.composite
def bound_hosts(draw: some.DrawFn) -> list[tuple[Topology, list[list[int]]]]:
    """Hosts, each with the vCPUs of its instances: disjoint, each list on one socket."""
    rng = np.random.default_rng(draw(some.integers(0, 2**32)))
    hosts = []
    for topology in draw(some.lists(topologies, min_size=1, max_size=3)):
        lists: list[list[int]] = []
        for socket in topology.sockets.tolist():
            free = rng.permutation(topology.vcpus_of(socket)).tolist()
            while free and rng.random() < 0.8:
                size = int(rng.integers(1, 5))
                lists.append(sorted(free[:size]))
                free = free[size:]
        hosts.append((topology, lists))
    return hosts


def placed_on_hosts(hosts: list[tuple[Topology, list[list[int]]]]) -> tuple[VcpuPlaces, Bound]:
    """The hosts as one room."""
    names = [f"h{at}" for at in range(len(hosts))]
    room = make_room(names, {f"h{at}": topology for at, (topology, _) in enumerate(hosts)})
    owner, place, many = [], [], 0
    for at, (_, lists) in enumerate(hosts):
        for vcpus in lists:
            owner += [many] * len(vcpus)
            place += [int(room.offset[at]) + vcpu for vcpu in vcpus]
            many += 1
    return room, Bound(np.array(owner, np.int64), np.array(place, np.int64), many)


def plain_best(
    state: VcpuState, instance: int, *, delta: bool, hosts: int = 0, only: int | None = None
) -> tuple[float, int]:
    """The lowest score by plain enumeration, and its host, of the first hosts or of one alone."""
    results = [(float("inf"), -1)]
    occupancy = state.occupancy
    for host in range(hosts) if only is None else [only]:
        start, end = state.room.offset[host : host + 2].tolist()
        placed: dict[str, list[int]] = {}
        for vcpu, owner in enumerate(occupancy.owner[start:end].tolist()):
            if owner >= 0:
                placed.setdefault(str(owner), []).append(vcpu)
        services = {name: int(occupancy.service[int(name)]) for name in placed}
        candidates = plain_candidates(
            linux_numbering(end - start, 2),
            placed,
            services,
            state.model,
            4,
            int(occupancy.service[instance]),
            delta=delta,
        )
        results += [(score, host) for score, _, _ in candidates]
    return min(results)


def bindings(rng: np.random.Generator, hosts: int, each: int) -> tuple[VcpuPlaces, Bound]:
    """Hosts of 16 vCPUs, on each some instances of one to three vCPUs, scattered on sockets."""
    names = [f"h{at:04}" for at in range(hosts)]
    topology = linux_numbering(16, 2)
    room = make_room(names, dict.fromkeys(names, topology))
    owner, place, many = [], [], 0
    for host in range(hosts):
        free = [rng.permutation(topology.vcpus_of(socket)).tolist() for socket in (0, 1)]
        for _ in range(each):
            socket = int(rng.integers(2))
            size = min(int(rng.integers(1, 4)), len(free[socket]))
            if size:
                owner += [many] * size
                place += [int(room.offset[host]) + free[socket].pop() for _ in range(size)]
                many += 1
    return room, Bound(np.array(owner), np.array(place), many)


def planted(
    rng: np.random.Generator, *, services: int = 6, hosts: int = 30, noise: float = 0.01
) -> tuple[pl.DataFrame, FloatArray]:
    """Rows as ``fit.rows`` makes them, pressures from measured profiles, and (k1, k2)."""
    room, bound = bindings(rng, hosts, 5)
    service = rng.permutation(np.arange(bound.instances) % services)
    k = np.stack([rng.uniform(0.15, 0.4, services), rng.uniform(0.03, 0.12, services)], axis=1)
    level = rng.uniform(0.1, 0.6, services)
    profile = level
    for _ in range(100):
        core, socket = pressure(room, bound, profile[service])
        cpu = level[service] + k[service, 0] * core + k[service, 1] * socket
        profile = service_profile(service, cpu, services)
    cpu = cpu + rng.normal(0, noise, len(cpu))
    core, socket = pressure(room, bound, service_profile(service, cpu, services)[service])
    first = np.searchsorted(bound.owner, np.arange(bound.instances))
    rows = pl.DataFrame(
        {
            "service": [f"s{at:03}" for at in service],
            "instance": [f"i{at:05}" for at in range(bound.instances)],
            "host": [f"h{at}" for at in room.socket_host[room.socket[bound.place[first]]]],
            "socket": room.socket[bound.place[first]],
            "vcpus": np.bincount(bound.owner).astype(np.float64),
            "window_ms": np.zeros(bound.instances, dtype=np.int64),
            "cpu": cpu,
            "cpu_sc": core,
            "cpu_ss": socket,
            "cpu_os": other_sockets(room, bound, service_profile(service, cpu, services)[service]),
            "load": pl.Series([None] * bound.instances, dtype=pl.Float64),
        }
    )
    return rows, k
