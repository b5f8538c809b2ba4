"""Who shares a core and who only the socket, read from the definition one instance at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

import numpy as np

from tracekit.vcpu.topology import Topology

Aggregation = Literal["mean", "occupancy", "sum"]


def sharing_core(topology: Topology, own: Collection[int]) -> set[int]:
    """Other vCPUs on the cores of ``own`` of an instance: its own siblings never count."""
    mates = {int(mate) for vcpu in own for mate in topology.siblings(vcpu)}
    return mates - set(own)


def neighbours(
    topology: Topology, placed: Mapping[str, Collection[int]], name: str
) -> tuple[list[str], list[str]]:
    """Instances that share a core with ``name``, and those that share its socket only.

    Source: patent CN116795487A, claim 5 and figure 2. Who has both sibling and other vCPUs counts
    once, as sharing the core; other sockets do not count.
    """
    own = set(placed[name])
    mates = sharing_core(topology, own)
    sockets = {int(topology.socket[vcpu]) for vcpu in own}
    core, socket = [], []
    for other, vcpus in placed.items():
        if other == name or not vcpus:
            continue
        if mates & set(vcpus):
            core.append(other)
        elif {int(topology.socket[vcpu]) for vcpu in vcpus} & sockets:
            socket.append(other)
    return core, socket


def plain_pressure(
    topology: Topology,
    placed: Mapping[str, Collection[int]],
    cpu: Mapping[str, float],
    name: str,
    agg: Aggregation = "mean",
) -> tuple[float, float]:
    """``cpu_sc`` and ``cpu_ss`` of an instance; see ``tracekit.vcpu.pressure``.

    Parameters
    ----------
    cpu : mapping
        Profile of each instance's service, CPU fraction of its own vCPUs.
    """
    if not placed[name]:
        return 0.0, 0.0
    if agg == "occupancy":
        return _occupancy(topology, placed, cpu, name)
    core, socket = neighbours(topology, placed, name)
    return _weighed(core, placed, cpu, agg), _weighed(socket, placed, cpu, agg)


def _weighed(
    names: list[str], placed: Mapping[str, Collection[int]], cpu: Mapping[str, float], agg: str
) -> float:
    total = sum(len(placed[name]) * cpu[name] for name in names)
    weight = sum(len(placed[name]) for name in names)
    return total / (weight if agg == "mean" else 1) if weight else 0.0


def _occupancy(
    topology: Topology, placed: Mapping[str, Collection[int]], cpu: Mapping[str, float], name: str
) -> tuple[float, float]:
    owner = {vcpu: other for other, vcpus in placed.items() for vcpu in vcpus}
    own = set(placed[name])
    mates = sharing_core(topology, own)
    socket = topology.socket[next(iter(own))]
    rest = {int(vcpu) for vcpu in topology.vcpus_of(int(socket))} - own - mates

    def mean(vcpus: set[int]) -> float:
        values = [cpu[owner[vcpu]] if vcpu in owner else 0.0 for vcpu in sorted(vcpus)]
        return float(np.mean(values)) if values else 0.0

    return mean(mates), mean(rest)
