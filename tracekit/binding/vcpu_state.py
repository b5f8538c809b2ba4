"""The vCPUs of a cluster: who is bound where, and the ways to find free ones."""

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import Direct
from tracekit.binding.empty import make_occupancy
from tracekit.binding.occupancy import MEAN, OCCUPANCY, SUM, InterferenceModel, bind, unbind
from tracekit.binding.window_scan import BOTH, CORES, IDS, best_window, decide, fill
from tracekit.interference.vcpu.room import Room

#: Scores that are kept per kind of container, at most this many in all: 16 bytes each.
MOST_KEPT = 32_000_000


class Row:
    """What is known of every socket for one kind of container."""

    def __init__(self, sockets: int) -> None:
        self.known = -1
        self.scores = np.full(sockets, np.inf)
        self.starts = np.full(sockets, -1, dtype=np.int64)


class Kept:
    """Rows by kind of container; the one longest unused goes when there are too many."""

    def __init__(self, sockets: int) -> None:
        self._sockets = sockets
        self._most = max(MOST_KEPT // max(sockets, 1), 8)
        self._rows: dict[tuple[int, int, bool, int, int], Row] = {}

    def row(self, kind: tuple[int, int, bool, int, int]) -> Row:
        """The kind's row, new if it was not kept."""
        found = self._rows.pop(kind, None) or Row(self._sockets)
        self._rows[kind] = found
        if len(self._rows) > self._most:
            del self._rows[next(iter(self._rows))]
        return found


#: vCPUs are given out in this granularity.
STEP = 2

#: Where windows are cut from, by the names of the parameter.
CANDIDATES = {"ids": IDS, "cores": CORES, "both": BOTH}

AGGREGATIONS = {"mean": MEAN, "occupancy": OCCUPANCY, "sum": SUM}


class VcpuState:
    """The binding of each container, and its loss.

    Parameters
    ----------
    service, size : int64, shape (instances,)
        Of every instance that may ever come.
    """

    def __init__(
        self, room: Room, model: InterferenceModel, service: IntArray, size: IntArray
    ) -> None:
        self.room, self.model = room, model
        self.occupancy = make_occupancy(room, model, service, size)
        self.socket = np.full(len(service), -1, dtype=np.int64)
        self._wanted = size
        self._agg = AGGREGATIONS[model.agg]
        self._change = 0
        widest = int(room.socket_vcpus.max(initial=0))
        self._work = np.empty(max(widest, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
        self._kept = Kept(len(room.socket_vcpus))
        self._decide, self._bind, self._unbind = Direct(decide), Direct(bind), Direct(unbind)

    @property
    def inflation(self) -> FloatArray:
        """Score of every instance now, a fraction of its own vCPUs, shape (instances,)."""
        return self.occupancy.inflation

    def hosts_with_room(self, size: int) -> BoolArray:
        """Hosts of which some socket has so many free vCPUs, shape (hosts,)."""
        found = np.zeros(len(self.room.hosts), dtype=np.bool_)
        found[self.occupancy.host[self.occupancy.free >= size]] = True
        return found

    def hosts_without(self, instance: int) -> BoolArray:
        """Hosts that run nothing of the instance's service, shape (hosts,)."""
        return np.asarray(self.occupancy.on_host[:, self.occupancy.service[instance]] == 0)

    def free_vcpus(self) -> IntArray:
        """Free vCPUs of each host, shape (hosts,)."""
        return np.bincount(self.occupancy.host, self.occupancy.free, len(self.room.hosts)).astype(
            np.int64
        )

    def least_interference(
        self,
        instance: int,
        *,
        delta: bool = False,
        step: int = STEP,
        candidates: int = IDS,
        apart: bool = True,
    ) -> tuple[int, IntArray] | None:
        """The socket and places whose score is lowest for the instance; None where none is free.

        Parameters
        ----------
        candidates : int
            See ``window_scan.best_window``.
        apart : bool
            Whether hosts that run the instance's service are left out.
        """
        occupancy, request = self.occupancy, int(self._wanted[instance])
        service = int(occupancy.service[instance])
        row = self._kept.row((service, request, delta, step, candidates))
        socket, start = self._decide(
            occupancy, self._agg, delta, step, candidates, service, request, apart, row.known,
            row.scores, row.starts, *self._work,
        )  # fmt: skip
        row.known = self._change
        if socket < 0:
            return None
        return int(socket), self._window(int(socket), int(start), request)

    def best_on(self, instance: int, host: int) -> tuple[int, IntArray] | None:
        """As ``least_interference``, of one host's sockets."""
        occupancy, request = self.occupancy, int(self._wanted[instance])
        found = []
        for socket in self.sockets_of(host).tolist():
            score, start = best_window(
                occupancy,
                self._agg,
                False,
                STEP,
                IDS,
                socket,
                occupancy.service[instance],
                request,
                *self._work,
            )
            if start >= 0:
                found.append((score, socket, start))
        if not found:
            return None
        _, socket, start = min(found)
        return socket, self._window(socket, start, request)

    def _window(self, socket: int, start: int, request: int) -> IntArray:
        """The places of a window, ascending, by its start as ``best_window`` gives it."""
        free = self._work[0]
        by_core, at = divmod(start, len(free))
        fill(self.occupancy, socket, bool(by_core), free)
        return np.sort(free[at : at + request])

    def free_places(self, socket: int) -> IntArray:
        """Free places of a socket, ascending."""
        occupancy = self.occupancy
        ids = occupancy.ids[occupancy.first[socket] : occupancy.first[socket + 1]]
        return np.asarray(ids[occupancy.owner[ids] < 0])

    def sockets_of(self, host: int) -> IntArray:
        """The sockets of a host, ascending."""
        return np.flatnonzero(self.occupancy.host == host)

    def bind(self, instance: int, socket: int, places: IntArray) -> None:
        """Bind an instance."""
        self._change += 1
        self.socket[instance] = socket
        self._bind(self.occupancy, self._agg, instance, socket, places, self._change)

    def unbind(self, instance: int) -> None:
        """Take an instance off its vCPUs, if it has any."""
        socket = int(self.socket[instance])
        if socket >= 0:
            self._change += 1
            self._unbind(self.occupancy, self._agg, instance, socket, self._change)
            self.socket[instance] = -1

    def vcpus_of(self, instance: int) -> list[int]:
        """The ids of an instance's vCPUs on its host."""
        socket = int(self.socket[instance])
        if socket < 0:
            return []
        places = self.occupancy.places[instance, : self.occupancy.size[instance]]
        ids: list[int] = (places - self.room.offset[self.occupancy.host[socket]]).tolist()
        return ids
