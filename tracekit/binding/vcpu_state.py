"""The vCPUs of a cluster: the present bindings, and searches for free vCPUs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.base.jit import Direct
from tracekit.base.units import MILLI_PER_CORE
from tracekit.binding.occupancy import (
    MEAN,
    OCCUPANCY,
    SUM,
    InterferenceModel,
    Occupancy,
    bind,
    unbind,
)
from tracekit.binding.window_scan import BOTH, CORES, IDS, best_window, decide, fill
from tracekit.cluster.workload import Workload
from tracekit.interference.options import SOCKETS, THREADS_PER_CORE
from tracekit.interference.room import VcpuPlaces, make_room
from tracekit.interference.topology import Topology, linux_numbering, read_topologies


def make_occupancy(
    room: VcpuPlaces, model: InterferenceModel, service: IntArray, size: IntArray
) -> Occupancy:
    """Return an ``Occupancy``, the binding as arrays, in which no instance is bound yet."""
    sockets, instances = len(room.socket_vcpus), len(service)
    places = np.flatnonzero(room.socket >= 0)
    order = np.argsort(room.socket[places], kind="stable")
    most = int(room.socket_vcpus.max(initial=1))
    fitting = size[size <= most]

    def ints(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    def floats(*shape: int) -> FloatArray:
        return np.zeros(shape, dtype=np.float64)

    return Occupancy(
        mates=np.ascontiguousarray(room.mates),
        first=np.concatenate([[0], np.cumsum(room.socket_vcpus)]).astype(np.int64),
        ids=places[order].astype(np.int64),
        host=room.socket_host.copy(),
        owner=np.full(room.places, -1, dtype=np.int64),
        free=room.socket_vcpus.copy(),
        instances=ints(sockets),
        bound=ints(sockets, most),
        slot=ints(instances),
        size=ints(instances),
        service=service.astype(np.int64),
        places=ints(instances, max(int(fitting.max(initial=1)), 1)),
        core=floats(instances),
        core_weight=floats(instances),
        inflation=floats(instances),
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
    """Return the number of vCPUs of each container: its CPU request, rounded up; 0 for no request.

    Parameters
    ----------
    request : int64, shape (containers, resources)
    """
    milli = request[:, list(resources).index("cpu_milli")]
    return np.asarray(-(-milli // 1000))


# The room of a workload's hosts, by Linux's usual rule or from a topology file.


def room_of(
    workload: Workload, *, sockets: int = SOCKETS, threads_per_core: int = THREADS_PER_CORE
) -> VcpuPlaces:
    """Return the vCPUs of a workload's hosts: one for each 1,000 millicores of capacity.

    ``linux_numbering`` numbers them. vCPUs that do not divide evenly into sockets and cores are
    left out.

    Raises
    ------
    TracekitError
        For a node that is too small for a core on every socket.
    """
    unit = sockets * threads_per_core
    vcpus = workload.nodes.capacity[:, 0] // MILLI_PER_CORE // unit * unit
    if not (vcpus > 0).all():
        at = int(np.argmin(vcpus))
        raise TracekitError(
            f"node '{workload.nodes.ids[at]}' has {workload.nodes.capacity[at, 0]:,} millicores,"
            f" too few for {sockets} sockets of cores with {threads_per_core} threads",
            hint="give --sockets 1, --threads 1, or larger nodes",
        )
    made: dict[int, Topology] = {
        int(n): linux_numbering(int(n), sockets, threads_per_core) for n in np.unique(vcpus)
    }
    topologies = {
        name: made[int(n)] for name, n in zip(workload.nodes.ids, vcpus.tolist(), strict=True)
    }
    return make_room(workload.nodes.ids, topologies)


def assumed_hosts(workload: Workload, *, sockets: int, threads_per_core: int) -> Fact:
    """Return a fact on the sockets and threads that ``room_of`` assumes, and on vCPUs left out."""
    vcpus = workload.nodes.capacity[:, 0] // MILLI_PER_CORE
    left_out = int((vcpus % (sockets * threads_per_core)).sum())
    return remark(
        "hosts_assumed",
        sockets,
        "sockets",
        threads=threads_per_core,
        left_out_vcpus=left_out or None,
        every_vcpus=int(vcpus.sum()),
    )


def room_of_file(workload: Workload, path: Path) -> VcpuPlaces:
    """Return the vCPUs of a workload's hosts, with the sockets and cores in a topology file.

    Raises
    ------
    TracekitError
        If the file cannot be used, or lacks a node.
    """
    topologies = read_topologies(path)
    each = {name: topologies.of(name) for name in workload.nodes.ids}
    missing = next((name for name, topology in each.items() if topology is None), None)
    if missing is not None:
        raise TracekitError(
            f"{path.name} does not know node '{missing}'", hint="a row per node is expected"
        )
    return make_room(workload.nodes.ids, {name: one for name, one in each.items() if one})


#: The most cached scores of all kinds of containers, of 16 bytes each.
MOST_KEPT = 32_000_000


class Row:
    """The best score and window of vCPUs on each socket, cached for one kind of container."""

    def __init__(self, sockets: int) -> None:
        self.last_change = -1
        self.scores = np.full(sockets, np.inf)
        self.starts = np.full(sockets, -1, dtype=np.int64)


class RowCache:
    """A cache of rows by kind of container. If full, it drops the row that was unused longest."""

    def __init__(self, sockets: int) -> None:
        self._sockets = sockets
        self._most = max(MOST_KEPT // max(sockets, 1), 8)
        self._rows: dict[tuple[int, int, bool, int, int], Row] = {}

    def row(self, kind: tuple[int, int, bool, int, int]) -> Row:
        """Return the row, cached or new, of a kind (service, vCPUs, delta, step, candidates)."""
        row = self._rows.pop(kind, None) or Row(self._sockets)
        self._rows[kind] = row
        if len(self._rows) > self._most:
            del self._rows[next(iter(self._rows))]
        return row


#: The granularity of allocated vCPUs.
STEP = 2

#: The lists of windows by the values of the parameter.
CANDIDATES = {"ids": IDS, "cores": CORES, "both": BOTH}

AGGREGATIONS = {"mean": MEAN, "occupancy": OCCUPANCY, "sum": SUM}


class VcpuState:
    """The vCPUs that each instance (container) of a replay is bound to now, and its loss.

    Parameters
    ----------
    service, size : int64, shape (instances,)
        Service and number of vCPUs of all instances of the replay.
    """

    def __init__(
        self, room: VcpuPlaces, model: InterferenceModel, service: IntArray, size: IntArray
    ) -> None:
        self.room, self.model = room, model
        self.occupancy = make_occupancy(room, model, service, size)
        self.socket = np.full(len(service), -1, dtype=np.int64)
        self._wanted = size
        self._agg = AGGREGATIONS[model.agg]
        self._change = 0
        widest = int(room.socket_vcpus.max(initial=0))
        self._work = np.empty(max(widest, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
        self._rows = RowCache(len(room.socket_vcpus))
        self._decide, self._bind, self._unbind = Direct(decide), Direct(bind), Direct(unbind)

    @property
    def inflation(self) -> FloatArray:
        """The CPU that neighbours cost each instance now, a fraction of its vCPUs, (instances,)."""
        return self.occupancy.inflation

    def hosts_with_room(self, size: int) -> BoolArray:
        """Return whether each host has a socket with ``size`` free vCPUs, shape (hosts,)."""
        roomy = np.zeros(len(self.room.hosts), dtype=np.bool_)
        roomy[self.occupancy.host[self.occupancy.free >= size]] = True
        return roomy

    def hosts_without(self, instance: int) -> BoolArray:
        """Return whether each host has no instance of this instance's service, shape (hosts,)."""
        return np.asarray(self.occupancy.on_host[:, self.occupancy.service[instance]] == 0)

    def free_vcpus(self) -> IntArray:
        """Return the number of free vCPUs of each host, shape (hosts,)."""
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
        """Return the socket and vCPUs of least predicted loss on any host; None without room.

        Parameters
        ----------
        delta, step, candidates
            See ``window_scan.best_window``.
        apart : bool
            Whether hosts with an instance of the same service are left out.
        """
        occupancy, request = self.occupancy, int(self._wanted[instance])
        service = int(occupancy.service[instance])
        row = self._rows.row((service, request, delta, step, candidates))
        socket, start = self._decide(
            occupancy, self._agg, delta, step, candidates, service, request, apart, row.last_change,
            row.scores, row.starts, *self._work,
        )  # fmt: skip
        row.last_change = self._change
        if socket < 0:
            return None
        return int(socket), self._window(int(socket), int(start), request)

    def best_on(self, instance: int, host: int) -> tuple[int, IntArray] | None:
        """Return the socket and vCPUs of least predicted loss on one host; None without room."""
        occupancy, request = self.occupancy, int(self._wanted[instance])
        windows = []
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
                windows.append((score, socket, start))
        if not windows:
            return None
        _, socket, start = min(windows)
        return socket, self._window(socket, start, request)

    def _window(self, socket: int, start: int, request: int) -> IntArray:
        """The places of a window, ascending, from its start in ``best_window``."""
        free = self._work[0]
        by_core, at = divmod(start, len(free))
        fill(self.occupancy, socket, bool(by_core), free)
        return np.sort(free[at : at + request])

    def free_places(self, socket: int) -> IntArray:
        """Return the free places of a socket, ascending."""
        occupancy = self.occupancy
        ids = occupancy.ids[occupancy.first[socket] : occupancy.first[socket + 1]]
        return np.asarray(ids[occupancy.owner[ids] < 0])

    def sockets_of(self, host: int) -> IntArray:
        """Return the sockets of a host, ascending."""
        return np.flatnonzero(self.occupancy.host == host)

    def bind(self, instance: int, socket: int, places: IntArray) -> None:
        """Bind an instance to places of a socket."""
        self._change += 1
        self.socket[instance] = socket
        self._bind(self.occupancy, self._agg, instance, socket, places, self._change)

    def unbind(self, instance: int) -> None:
        """Unbind an instance, if it is bound."""
        socket = int(self.socket[instance])
        if socket >= 0:
            self._change += 1
            self._unbind(self.occupancy, self._agg, instance, socket, self._change)
            self.socket[instance] = -1

    def vcpus_of(self, instance: int) -> list[int]:
        """Return an instance's vCPU ids on its host; an empty list if it is not bound."""
        socket = int(self.socket[instance])
        if socket < 0:
            return []
        places = self.occupancy.places[instance, : self.occupancy.size[instance]]
        ids: list[int] = (places - self.room.offset[self.occupancy.host[socket]]).tolist()
        return ids
