"""Rows with planted coefficients."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray
from tracekit.interference.room import (
    Bound,
    Room,
    make_room,
    other_sockets,
    pressure,
    service_profile,
)
from tracekit.interference.topology import linux_numbering


def bindings(rng: np.random.Generator, hosts: int, each: int) -> tuple[Room, Bound]:
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
