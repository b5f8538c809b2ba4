"""The floor of a cluster: its seats, and the ways to find free ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.fast.jit import Direct
from tracekit.replay.fast.seats import (
    MEAN,
    OCCUPANCY,
    SUM,
    Seats,
    best_window,
    decide,
    leave,
    seat,
)
from tracekit.replay.vcpus.model import InterferenceModel
from tracekit.replay.vcpus.windows import STEP
from tracekit.vcpu.room import Room

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

AGGREGATIONS = {"mean": MEAN, "occupancy": OCCUPANCY, "sum": SUM}
#: Scores that are kept per kind of container, at most this many in all: 10 bytes each.
MOST_KEPT = 32_000_000


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
        self._kept = _Kept(len(room.socket_vcpus))
        self._decide, self._seat, self._leave = Direct(decide), Direct(seat), Direct(leave)

    @property
    def changes(self) -> int:
        """How often somebody came or left."""
        return self._change

    @property
    def felt(self) -> FloatArray:
        """Score of every instance now, a fraction of its own vCPUs, shape (instances,)."""
        return self.seats.felt

    def hosts_with_room(self, size: int) -> NDArray[np.bool_]:
        """Hosts of which some socket has so many free vCPUs, shape (hosts,)."""
        found = np.zeros(len(self.room.hosts), dtype=np.bool_)
        found[self.seats.host[self.seats.free >= size]] = True
        return found

    def hosts_without(self, instance: int) -> NDArray[np.bool_]:
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


class _Row:
    """What is known of every socket for one kind of container."""

    def __init__(self, sockets: int) -> None:
        self.known = -1
        self.scores = np.full(sockets, np.inf)
        self.starts = np.full(sockets, -1, dtype=np.int64)


class _Kept:
    """Rows by kind of container; the one longest unused goes when there are too many."""

    def __init__(self, sockets: int) -> None:
        self._sockets = sockets
        self._most = max(MOST_KEPT // max(sockets, 1), 8)
        self._rows: dict[tuple[int, int, bool, int], _Row] = {}

    def row(self, kind: tuple[int, int, bool, int]) -> _Row:
        """The kind's row, new if it was not kept."""
        found = self._rows.pop(kind, None) or _Row(self._sockets)
        self._rows[kind] = found
        if len(self._rows) > self._most:
            del self._rows[next(iter(self._rows))]
        return found


def make_seats(room: Room, model: InterferenceModel, service: IntArray, size: IntArray) -> Seats:
    """Empty seats for the hosts of a room."""
    sockets, instances = len(room.socket_vcpus), len(service)
    there = np.flatnonzero(room.socket >= 0)
    order = np.argsort(room.socket[there], kind="stable")
    most = int(room.socket_vcpus.max(initial=1))
    fitting = size[size <= most]

    def ints(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    def floats(*shape: int) -> FloatArray:
        return np.zeros(shape, dtype=np.float64)

    return Seats(
        mates=np.ascontiguousarray(room.mates),
        first=np.concatenate([[0], np.cumsum(room.socket_vcpus)]).astype(np.int64),
        ids=there[order].astype(np.int64),
        host=room.socket_host.copy(),
        holder=np.full(room.places, -1, dtype=np.int64),
        free=room.socket_vcpus.copy(),
        seated=ints(sockets),
        sitting=ints(sockets, most),
        slot=ints(instances),
        size=ints(instances),
        service=service.astype(np.int64),
        places=ints(instances, max(int(fitting.max(initial=1)), 1)),
        core=floats(instances),
        core_weight=floats(instances),
        felt=floats(instances),
        total=floats(sockets),
        weight=floats(sockets),
        now=floats(sockets),
        touched=ints(sockets),
        on_host=np.zeros((len(room.hosts), len(model.cpu)), dtype=np.int32),
        cpu=model.cpu,
        k1=model.k1,
        k2=model.k2,
        mark=ints(room.places),
        met=ints(room.places),
        hits=ints(most),
        apart=floats(most),
        together=floats(most),
    )


def request_vcpus(request: IntArray, resources: Sequence[str]) -> IntArray:
    """The vCPUs of each container: its CPU request, rounded up; none for a request of nothing.

    Parameters
    ----------
    request : int64, shape (containers, resources)
    """
    milli = request[:, list(resources).index("cpu_milli")]
    return np.asarray(-(-milli // 1000))
