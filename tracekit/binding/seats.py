"""Seats: who holds which vCPU, and what each instance feels of the others."""

from __future__ import annotations

from typing import NamedTuple

from tracekit.arrays import FloatArray, Int32Array, IntArray
from tracekit.jit import compiled

MEAN, OCCUPANCY, SUM = 0, 1, 2
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
    on_host: Int32Array
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
