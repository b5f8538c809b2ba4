"""Seats: who holds which vCPU, what each feels, and the search for the best free window.

Only sockets that changed are scored again. The score of a window is not summed anew over all
pairs: an instance feels a newcomer either on its cores or on its socket, and both sums are known
before the windows are tried. ``tracekit.replay.vcpus.windows`` is the plain reading.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.fast.jit import compiled

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

MEAN, OCCUPANCY, SUM = 0, 1, 2
#: Agreement to twelve decimals is a tie.
TIE = 1e12
_NOTHING = 1e-12
_NOBODY = 0.5


class Seats(NamedTuple):
    """The state, by place (vCPU of the room), socket, host and instance.

    Parameters
    ----------
    mates : int64, shape (places, threads - 1)
    first, ids : int64
        Places of socket s, ascending: ``ids[first[s] : first[s + 1]]``.
    host : int64, shape (sockets,)
    holder : int64, shape (places,)
        Instance on each place, -1 for none.
    free, seated : int64, shape (sockets,)
        Free vCPUs, and number of instances.
    sitting : int64, shape (sockets, most)
        The instances of a socket.
    slot, size, service : int64, shape (instances,)
        Where an instance stands in ``sitting``, its vCPUs, its service.
    places : int64, shape (instances, widest)
    core, core_weight, felt : float64, shape (instances,)
        What presses from its cores, with its weight; the instance's score.
    total, weight, now : float64, shape (sockets,)
        Sum of vCPUs times profiles, of vCPUs, and the socket's score.
    touched : int64, shape (sockets,)
        Number of the last change.
    on_host : int32, shape (hosts, services)
    cpu, k1, k2 : float64, shape (services,)
    mark, met : int64, shape (places,)
    hits : int64, shape (most,)
    apart, together : float64, shape (most,)
        Room to work in.
    """

    mates: IntArray
    first: IntArray
    ids: IntArray
    host: IntArray
    holder: IntArray
    free: IntArray
    seated: IntArray
    sitting: IntArray
    slot: IntArray
    size: IntArray
    service: IntArray
    places: IntArray
    core: FloatArray
    core_weight: FloatArray
    felt: FloatArray
    total: FloatArray
    weight: FloatArray
    now: FloatArray
    touched: IntArray
    on_host: NDArray[np.int32]
    cpu: FloatArray
    k1: FloatArray
    k2: FloatArray
    mark: IntArray
    met: IntArray
    hits: IntArray
    apart: FloatArray
    together: FloatArray


@compiled
def feel(
    agg: int,
    k1: float,
    k2: float,
    core: float,
    core_weight: float,
    total: float,
    weight: float,
    size: float,
    cpu: float,
    vcpus: float,
) -> float:
    """The score of an instance from the sums of its socket; its own part of them is taken out."""
    rest = total - size * cpu - core
    if abs(rest) < _NOTHING:
        rest = 0.0
    left = (vcpus if agg == OCCUPANCY else weight) - size - core_weight
    if left < _NOBODY:
        rest = 0.0
    elif agg != SUM:
        rest /= left
    if agg != SUM:
        core = core / core_weight if core_weight > _NOBODY else 0.0
    return k1 * core + k2 * rest


@compiled
def _beside(seats: Seats, agg: int, instance: int) -> None:
    """Note what presses on an instance from its own cores."""
    core, weight = 0.0, 0.0
    seats.hits[:] = 0
    for at in range(seats.size[instance]):
        place = seats.places[instance, at]
        for thread in range(seats.mates.shape[1]):
            mate = seats.mates[place, thread]
            if mate < 0 or seats.holder[mate] == instance or seats.met[mate] == -1:
                continue
            seats.met[mate] = -1
            other = seats.holder[mate]
            if agg == OCCUPANCY:
                weight += 1
                if other >= 0:
                    core += seats.cpu[seats.service[other]]
            elif other >= 0 and seats.hits[seats.slot[other]] == 0:
                seats.hits[seats.slot[other]] = 1
                core += seats.size[other] * seats.cpu[seats.service[other]]
                weight += seats.size[other]
    for at in range(seats.size[instance]):
        place = seats.places[instance, at]
        for thread in range(seats.mates.shape[1]):
            if seats.mates[place, thread] >= 0:
                seats.met[seats.mates[place, thread]] = 0
    seats.core[instance], seats.core_weight[instance] = core, weight


@compiled
def refresh(seats: Seats, agg: int, socket: int) -> None:
    """Sum a socket up anew."""
    total, weight = 0.0, 0.0
    for at in range(seats.seated[socket]):
        instance = seats.sitting[socket, at]
        total += seats.size[instance] * seats.cpu[seats.service[instance]]
        weight += seats.size[instance]
        _beside(seats, agg, instance)
    vcpus = seats.first[socket + 1] - seats.first[socket]
    now = 0.0
    for at in range(seats.seated[socket]):
        instance = seats.sitting[socket, at]
        service = seats.service[instance]
        seats.felt[instance] = feel(
            agg,
            seats.k1[service],
            seats.k2[service],
            seats.core[instance],
            seats.core_weight[instance],
            total,
            weight,
            seats.size[instance],
            seats.cpu[service],
            vcpus,
        )
        now += seats.size[instance] * seats.felt[instance] / vcpus
    seats.total[socket], seats.weight[socket], seats.now[socket] = total, weight, now


@compiled
def seat(seats: Seats, agg: int, instance: int, socket: int, places: IntArray, change: int) -> None:
    """Bind an instance to places of a socket."""
    seats.size[instance] = len(places)
    for at in range(len(places)):
        seats.places[instance, at] = places[at]
        seats.holder[places[at]] = instance
    seats.free[socket] -= len(places)
    seats.slot[instance] = seats.seated[socket]
    seats.sitting[socket, seats.seated[socket]] = instance
    seats.seated[socket] += 1
    seats.on_host[seats.host[socket], seats.service[instance]] += 1
    seats.touched[socket] = change
    refresh(seats, agg, socket)


@compiled
def leave(seats: Seats, agg: int, instance: int, socket: int, change: int) -> None:
    """Take an instance off; the others of its socket keep their order."""
    for at in range(seats.size[instance]):
        seats.holder[seats.places[instance, at]] = -1
    seats.free[socket] += seats.size[instance]
    last = seats.seated[socket] - 1
    for at in range(seats.slot[instance], last):
        other = seats.sitting[socket, at + 1]
        seats.sitting[socket, at] = other
        seats.slot[other] = at
    seats.seated[socket] = last
    seats.on_host[seats.host[socket], seats.service[instance]] -= 1
    seats.felt[instance] = 0.0
    seats.touched[socket] = change
    refresh(seats, agg, socket)


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
