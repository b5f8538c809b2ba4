"""The floor of a cluster: its seats, and the ways to find free ones."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.binding.known import Kept
from tracekit.binding.model import InterferenceModel
from tracekit.binding.seating import make_seats
from tracekit.binding.seats import MEAN, OCCUPANCY, SUM, leave, seat
from tracekit.binding.vacancy import best_window, decide
from tracekit.jit import Direct
from tracekit.vcpu.room import Room

#: vCPUs are given out in this granularity.
STEP = 2

AGGREGATIONS = {"mean": MEAN, "occupancy": OCCUPANCY, "sum": SUM}


class Floor:
    """Who is bound where, and what each feels.

    Parameters
    ----------
    service, size : int64, shape (instances,)
        Of every instance that may ever come.
    """

    def __init__(
        self, room: Room, model: InterferenceModel, service: IntArray, size: IntArray
    ) -> None:
        self.room, self.model = room, model
        self.seats = make_seats(room, model, service, size)
        self.socket = np.full(len(service), -1, dtype=np.int64)
        self._wanted = size
        self._agg = AGGREGATIONS[model.agg]
        self._change = 0
        widest = int(room.socket_vcpus.max(initial=0))
        self._work = np.empty(max(widest, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
        self._kept = Kept(len(room.socket_vcpus))
        self._decide, self._seat, self._leave = Direct(decide), Direct(seat), Direct(leave)

    @property
    def changes(self) -> int:
        """How often somebody came or left."""
        return self._change

    @property
    def felt(self) -> FloatArray:
        """Score of every instance now, a fraction of its own vCPUs, shape (instances,)."""
        return self.seats.felt

    def hosts_with_room(self, size: int) -> BoolArray:
        """Hosts of which some socket has so many free vCPUs, shape (hosts,)."""
        found = np.zeros(len(self.room.hosts), dtype=np.bool_)
        found[self.seats.host[self.seats.free >= size]] = True
        return found

    def hosts_without(self, instance: int) -> BoolArray:
        """Hosts that run nothing of the instance's service, shape (hosts,)."""
        return np.asarray(self.seats.on_host[:, self.seats.service[instance]] == 0)

    def free_vcpus(self) -> IntArray:
        """Free vCPUs of each host, shape (hosts,)."""
        return np.bincount(self.seats.host, self.seats.free, len(self.room.hosts)).astype(np.int64)

    def least_interference(
        self, instance: int, *, delta: bool = False, step: int = STEP, apart: bool = True
    ) -> tuple[int, IntArray] | None:
        """The socket and places whose score is lowest for the instance; None where none is free.

        Parameters
        ----------
        apart : bool
            Whether hosts that run the instance's service are left out.
        """
        seats, request = self.seats, int(self._wanted[instance])
        service = int(seats.service[instance])
        row = self._kept.row((service, request, delta, step))
        socket, start = self._decide(
            seats, self._agg, delta, step, service, request, apart, row.known, row.scores,
            row.starts, *self._work,
        )  # fmt: skip
        row.known = self._change
        if socket < 0:
            return None
        return int(socket), self.free_places(int(socket))[start : start + request]

    def best_on(self, instance: int, host: int) -> tuple[int, IntArray] | None:
        """As ``least_interference``, of one host's sockets."""
        seats, request = self.seats, int(self._wanted[instance])
        found = []
        for socket in self.sockets_of(host).tolist():
            score, start = best_window(
                seats, self._agg, False, STEP, socket, seats.service[instance], request, *self._work
            )
            if start >= 0:
                found.append((score, socket, start))
        if not found:
            return None
        _, socket, start = min(found)
        return socket, self.free_places(socket)[start : start + request]

    def free_places(self, socket: int) -> IntArray:
        """Free places of a socket, ascending."""
        seats = self.seats
        ids = seats.ids[seats.first[socket] : seats.first[socket + 1]]
        return np.asarray(ids[seats.holder[ids] < 0])

    def sockets_of(self, host: int) -> IntArray:
        """The sockets of a host, ascending."""
        return np.flatnonzero(self.seats.host == host)

    def seat(self, instance: int, socket: int, places: IntArray) -> None:
        """Bind an instance."""
        self._change += 1
        self.socket[instance] = socket
        self._seat(self.seats, self._agg, instance, socket, places, self._change)

    def leave(self, instance: int) -> None:
        """Take an instance off its vCPUs, if it has any."""
        socket = int(self.socket[instance])
        if socket >= 0:
            self._change += 1
            self._leave(self.seats, self._agg, instance, socket, self._change)
            self.socket[instance] = -1

    def vcpus_of(self, instance: int) -> list[int]:
        """The ids of an instance's vCPUs on its host."""
        socket = int(self.socket[instance])
        if socket < 0:
            return []
        places = self.seats.places[instance, : self.seats.size[instance]]
        ids: list[int] = (places - self.room.offset[self.seats.host[socket]]).tolist()
        return ids
