"""Candidates and scores read from the definitions: what the compiled search is checked against.

Source: patent CN116795487A, [0033]-[0035], [0100]-[0110], as read in the specification's sections
9.6 and 9.7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracekit.binding.model import InterferenceModel
from tracekit.vcpu.neighbours import plain_pressure
from tracekit.vcpu.topology import Topology

#: vCPUs are given out in this granularity.
STEP = 2
#: Scores that agree to so many decimals are equal.
DECIMALS = 12


def windows(free: Sequence[int], request: int, step: int = STEP) -> list[tuple[int, ...]]:
    """Runs of ``request`` free ids, every ``step``-th; ids need not follow each other.

    A tail shorter than the step is not shifted in.
    """
    if request < 1:
        return []
    ids = sorted(free)
    return [tuple(ids[at : at + request]) for at in range(0, len(ids) - request + 1, step)]


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
    there = [
        name for name, vcpus in placed.items() if vcpus and topology.socket[vcpus[0]] == socket
    ]
    return sum(
        len(placed[name]) * score_instance(topology, placed, services, model, name) / size
        for name in there
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
) -> list[tuple[float, int, tuple[int, ...]]]:
    """Every candidate on a host: score, socket, vCPUs; none where the service runs already."""
    if service in services.values():
        return []
    taken = {vcpu for vcpus in placed.values() for vcpu in vcpus}
    found = []
    for socket in topology.sockets.tolist():
        free = [vcpu for vcpu in topology.vcpus_of(socket).tolist() if vcpu not in taken]
        before = score_socket(topology, placed, services, model, socket) if delta else 0.0
        for window in windows(free, request, step):
            tried = {**placed, "": window}
            score = score_socket(topology, tried, {**services, "": service}, model, socket)
            found.append((round(score - before, DECIMALS), socket, window))
    return found
