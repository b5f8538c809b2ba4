"""The search for the free window that costs least.

Only sockets that changed are scored again. The score of a window is not summed anew over all
pairs: an instance feels a newcomer either on its cores or on its socket, and both sums are known
before the windows are tried.
"""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.binding.seats import OCCUPANCY, Seats, feel
from tracekit.jit import compiled

#: Agreement to twelve decimals is a tie.
TIE = 1e12


@compiled
def _before_windows(seats: Seats, agg: int, socket: int, cpu: float, request: int) -> float:
    """What each instance feels of a newcomer beside it and on its cores; the sum if beside all."""
    vcpus = seats.first[socket + 1] - seats.first[socket]
    total = seats.total[socket] + request * cpu
    weight = seats.weight[socket] + request
    whole = 0.0
    for at in range(seats.seated[socket]):
        a = seats.sitting[socket, at]
        own = seats.service[a]
        k1, k2, own_cpu, size = seats.k1[own], seats.k2[own], seats.cpu[own], seats.size[a]
        core, core_weight = seats.core[a], seats.core_weight[a]
        seats.apart[at] = feel(agg, k1, k2, core, core_weight, total, weight, size, own_cpu, vcpus)
        if agg != OCCUPANCY:
            core, core_weight = core + request * cpu, core_weight + request
        seats.together[at] = feel(
            agg, k1, k2, core, core_weight, total, weight, size, own_cpu, vcpus
        )
        whole += size * seats.apart[at]
    return whole


@compiled
def _shared(seats: Seats, agg: int, window: IntArray, token: int) -> tuple[float, float]:
    """Whose cores a window shares, into ``hits``; what presses from there, with its weight."""
    core, weight = 0.0, 0.0
    for at in range(len(window)):
        seats.mark[window[at]] = token
    for at in range(len(window)):
        place = window[at]
        for thread in range(seats.mates.shape[1]):
            mate = seats.mates[place, thread]
            if mate < 0 or seats.mark[mate] == token:
                continue
            other = seats.holder[mate]
            if agg == OCCUPANCY and seats.met[mate] != token:
                seats.met[mate] = token
                weight += 1
                if other >= 0:
                    core += seats.cpu[seats.service[other]]
            if other < 0 or _counted(seats, place, thread, other):
                continue
            slot = seats.slot[other]
            if agg != OCCUPANCY and seats.hits[slot] == 0:
                core += seats.size[other] * seats.cpu[seats.service[other]]
                weight += seats.size[other]
            seats.hits[slot] += 1
    return core, weight


@compiled
def _fill(seats: Seats, socket: int, free: IntArray) -> int:
    """Write a socket's free places into ``free``, ascending; how many there are."""
    many = 0
    for at in range(seats.first[socket], seats.first[socket + 1]):
        if seats.holder[seats.ids[at]] < 0:
            free[many] = seats.ids[at]
            many += 1
    return many


@compiled
def _sharing(seats: Seats, agg: int, socket: int, cpu: float, total: float, weight: float) -> float:
    """What those whose cores a window shares feel more than if it were beside them."""
    more = 0.0
    vcpus = seats.first[socket + 1] - seats.first[socket]
    for slot in range(seats.seated[socket]):
        if seats.hits[slot] == 0:
            continue
        a = seats.sitting[socket, slot]
        felt = seats.together[slot]
        if agg == OCCUPANCY:
            own = seats.service[a]
            felt = feel(
                agg,
                seats.k1[own],
                seats.k2[own],
                seats.core[a] + seats.hits[slot] * cpu,
                seats.core_weight[a],
                total,
                weight,
                seats.size[a],
                seats.cpu[own],
                vcpus,
            )
        more += seats.size[a] * (felt - seats.apart[slot])
    return more


@compiled
def _counted(seats: Seats, place: int, thread: int, other: int) -> bool:
    """Whether an earlier thread of the place's core is the same instance's."""
    for earlier in range(thread):
        mate = seats.mates[place, earlier]
        if mate >= 0 and seats.holder[mate] == other:
            return True
    return False


@compiled
def best_window(
    seats: Seats,
    agg: int,
    delta: bool,
    step: int,
    socket: int,
    service: int,
    request: int,
    free: IntArray,
    tokens: IntArray,
) -> tuple[float, int]:
    """The lowest score of a newcomer's windows on a socket, and where in ``free`` it starts.

    Parameters
    ----------
    free : int64, shape (vCPUs of the widest socket,)
        Filled with the socket's free places.
    tokens : int64, shape (1,)
        Counts the windows that were ever tried.
    """
    many = _fill(seats, socket, free)
    best, start = np.inf, -1
    if many < request:
        return best, start
    if seats.seated[socket] == 0:
        return 0.0, 0
    cpu, k1, k2 = seats.cpu[service], seats.k1[service], seats.k2[service]
    vcpus = seats.first[socket + 1] - seats.first[socket]
    total = seats.total[socket] + request * cpu
    weight = seats.weight[socket] + request
    whole = _before_windows(seats, agg, socket, cpu, request)
    seated = seats.seated[socket]
    for at in range(0, many - request + 1, step):
        tokens[0] += 1
        seats.hits[:seated] = 0
        core, core_weight = _shared(seats, agg, free[at : at + request], tokens[0])
        score = whole
        score += _sharing(seats, agg, socket, cpu, total, weight)
        own_felt = feel(agg, k1, k2, core, core_weight, total, weight, request, cpu, vcpus)
        score = (score + request * own_felt) / vcpus
        if delta:
            score -= seats.now[socket]
        score = np.rint(score * TIE) / TIE
        if score < best:
            best, start = score, at
    return best, start


@compiled
def decide(
    seats: Seats,
    agg: int,
    delta: bool,
    step: int,
    service: int,
    request: int,
    apart: bool,
    known: int,
    scores: FloatArray,
    starts: IntArray,
    free: IntArray,
    tokens: IntArray,
) -> tuple[int, int]:
    """The socket with the lowest score, and where its window starts; -1 for none.

    Parameters
    ----------
    apart : bool
        Whether hosts that run the service are left out.
    known : int
        Number of the last change that ``scores`` know of; -1 for none.
    scores, starts : float64 and int64, shape (sockets,)
        What was found for such a container before; brought up to date.
    """
    best, chosen = np.inf, -1
    for socket in range(len(scores)):
        if seats.touched[socket] > known:
            if seats.free[socket] < request:
                scores[socket], starts[socket] = np.inf, -1
            else:
                scores[socket], starts[socket] = best_window(
                    seats, agg, delta, step, socket, service, request, free, tokens
                )
        if scores[socket] < best:
            if apart and seats.on_host[seats.host[socket], service] > 0:
                continue
            best, chosen = scores[socket], socket
    return chosen, (starts[chosen] if chosen >= 0 else -1)
