"""Empty occupancy for the hosts of a room, and how many of them a container wants."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.base.units import MILLI_PER_CORE
from tracekit.binding.occupancy import InterferenceModel, Occupancy
from tracekit.cluster.workload import Workload
from tracekit.interference.fit.topology_file import read_topologies
from tracekit.interference.vcpu.declared import SOCKETS, THREADS_PER_CORE
from tracekit.interference.vcpu.room import Room, make_room
from tracekit.interference.vcpu.topology import Topology, linux_numbering


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
