"""Empty occupancy for the hosts of a room, and how many of them a container wants."""

from collections.abc import Sequence

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.binding.model import InterferenceModel
from tracekit.binding.occupancy import Occupancy
from tracekit.interference.vcpu.room import Room


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
