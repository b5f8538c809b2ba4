"""The vCPUs of a cluster: who is bound where, and the ways to find free ones."""

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
from tracekit.interference.room import Room, make_room
from tracekit.interference.topology import Topology, linux_numbering, read_topologies


def make_occupancy(
    room: Room, model: InterferenceModel, service: IntArray, size: IntArray
) -> Occupancy:
    """No instance on any host of a room."""
    sockets, instances = len(room.socket_vcpus), len(service)
    there = np.flatnonzero(room.socket >= 0)
    order = np.argsort(room.socket[there], kind="stable")
    most = int(room.socket_vcpus.max(initial=1))
    fitting = size[size <= most]

    def ints(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    def floats(*shape: int) -> FloatArray:
        return np.zeros(shape, dtype=np.float64)

    return Occupancy(
        mates=np.ascontiguousarray(room.mates),
        first=np.concatenate([[0], np.cumsum(room.socket_vcpus)]).astype(np.int64),
        ids=there[order].astype(np.int64),
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
    """The vCPUs of each container: its CPU request, rounded up; none for a request of nothing.

    Parameters
    ----------
    request : int64, shape (containers, resources)
    """
    milli = request[:, list(resources).index("cpu_milli")]
    return np.asarray(-(-milli // 1000))


# How the hosts of a workload are built: by a rule, or as a file says.


def room_of(
    workload: Workload, *, sockets: int = SOCKETS, threads_per_core: int = THREADS_PER_CORE
) -> Room:
    """The hosts of a workload, built by Linux's usual rule from their CPU capacity.

    vCPUs that do not divide evenly into sockets and cores are left out.

    Raises
    ------
    TracekitError
        When no node is large enough to have a core on every socket.
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
    """The layout of hosts that ``room_of`` assumes, and how many vCPUs it leaves out."""
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


def room_of_file(workload: Workload, path: Path) -> Room:
    """The hosts of a workload, built as a topology file says.

    Raises
    ------
    TracekitError
        When the file cannot be used, or does not know a node.
    """
    known = read_topologies(path)
    found = {name: known.of(name) for name in workload.nodes.ids}
    lacking = next((name for name, topology in found.items() if topology is None), None)
    if lacking is not None:
        raise TracekitError(
            f"{path.name} does not know node '{lacking}'", hint="a row per node is expected"
        )
    return make_room(workload.nodes.ids, {name: one for name, one in found.items() if one})


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
