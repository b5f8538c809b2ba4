"""Neighbours, candidates and scores read from the definitions: what compiled code is held to.

Source: patent CN116795487A, [0033]-[0035], [0100]-[0110], as read in the specification's sections
9.6 and 9.7.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from tracekit.binding.occupancy import InterferenceModel
from tracekit.binding.vcpu_state import STEP
from tracekit.interference.options import Aggregation
from tracekit.interference.topology import Topology

#: Scores that agree to so many decimals are equal.
DECIMALS = 12


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
    """``cpu_sc`` and ``cpu_ss`` of an instance; see ``tracekit.interference.room``.

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


def windows(free: Sequence[int], request: int, step: int = STEP) -> list[tuple[int, ...]]:
    """Runs of ``request`` free ids, every ``step``-th; ids need not follow each other.

    A tail shorter than the step is not shifted in.
    """
    if request < 1:
        return []
    ids = sorted(free)
    return [tuple(ids[at : at + request]) for at in range(0, len(ids) - request + 1, step)]


def by_core(topology: Topology, free: Sequence[int]) -> list[int]:
    """Free ids, those of a core one after another, cores by their lowest free id."""
    left, results = sorted(free), []
    while left:
        core = [left[0], *sorted(sharing_core(topology, {left[0]}) & set(left))]
        results += core
        left = [one for one in left if one not in core]
    return results


def score_instance(
    topology: Topology,
    placed: Mapping[str, Sequence[int]],
    services: Mapping[str, int],
    model: InterferenceModel,
    name: str,
) -> float:
    """``k1*cpu_sc + k2*cpu_ss`` of an instance, a fraction of its own vCPUs; b0 is left out."""
    cpu = {other: float(model.cpu[service]) for other, service in services.items()}
    core, socket = plain_pressure(topology, placed, cpu, name, model.agg)
    own = services[name]
    return float(model.k1[own] * core + model.k2[own] * socket)


def score_socket(
    topology: Topology,
    placed: Mapping[str, Sequence[int]],
    services: Mapping[str, int],
    model: InterferenceModel,
    socket: int,
) -> float:
    """Predicted rise of a socket's utilization by interference ([0035]), a fraction of it."""
    size = len(topology.vcpus_of(socket))
    existing = [
        name for name, vcpus in placed.items() if vcpus and topology.socket[vcpus[0]] == socket
    ]
    return sum(
        len(placed[name]) * score_instance(topology, placed, services, model, name) / size
        for name in existing
    )


def plain_candidates(
    topology: Topology,
    placed: Mapping[str, Sequence[int]],
    services: Mapping[str, int],
    model: InterferenceModel,
    request: int,
    service: int,
    *,
    delta: bool = False,
    step: int = STEP,
    candidates: str = "ids",
) -> list[tuple[float, int, tuple[int, ...]]]:
    """Every candidate on a host: score, socket, vCPUs; none where the service runs already."""
    if service in services.values():
        return []
    taken = {vcpu for vcpus in placed.values() for vcpu in vcpus}
    results = []
    for socket in topology.sockets.tolist():
        free = [vcpu for vcpu in topology.vcpus_of(socket).tolist() if vcpu not in taken]
        before = score_socket(topology, placed, services, model, socket) if delta else 0.0
        lists = {"cores": by_core(topology, free), "ids": sorted(free)}
        for window in dict.fromkeys(
            tuple(sorted(ids[at : at + request]))
            for name, ids in lists.items()
            if candidates in (name, "both")
            for at in range(0, len(ids) - request + 1, step)
            if request
        ):
            tried = {**placed, "": window}
            score = score_socket(topology, tried, {**services, "": service}, model, socket)
            results.append((round(score - before, DECIMALS), socket, window))
    return results
