"""A room, which numbers the vCPUs of all hosts as places, and the pressure of neighbours.

The formulas of patent CN116795487A, [0019]-[0023], are lost. As in section 9.4 of the
specification, pressure is the mean of the neighbours' service profiles weighted by their vCPUs.
Alternatives are ``occupancy``, the mean over neighbouring vCPUs with 0 for an idle one, and
``sum``, the number of busy vCPUs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.interference.options import AGGREGATION, Aggregation
from tracekit.interference.topology import Topology


@dataclass(frozen=True)
class VcpuPlaces:
    """The vCPUs of all hosts in one numbering: vCPU v of host h is place ``offset[h] + v``.

    Parameters
    ----------
    hosts : tuple of str
    offset : int64, shape (hosts + 1,)
    socket : int64, shape (places,)
        The socket of each place, numbered over all hosts; -1 for a place without a vCPU.
    mates : int64, shape (places, threads per core - 1)
        The places of the other vCPUs of the same core, -1 for none.
    socket_vcpus : int64, shape (sockets,)
        The number of vCPUs of each socket.
    socket_host : int64, shape (sockets,)
        The host of each socket.
    """

    hosts: tuple[str, ...]
    offset: IntArray
    socket: IntArray
    mates: IntArray
    socket_vcpus: IntArray
    socket_host: IntArray

    @property
    def places(self) -> int:
        """The number of places, including those of ids without a vCPU."""
        return len(self.socket)


def make_room(hosts: Sequence[str], topologies: Mapping[str, Topology]) -> VcpuPlaces:
    """Return the vCPUs of ``hosts``, in this order. ``topologies`` has each host's topology."""
    tables: dict[int, tuple[IntArray, IntArray]] = {}
    for topology in topologies.values():
        if id(topology) not in tables:
            tables[id(topology)] = _numbered(topology), _mates_of(topology)
    threads = max((mates.shape[1] for _, mates in tables.values()), default=0)
    offset = np.zeros(len(hosts) + 1, dtype=np.int64)
    sockets, mates, owner = [], [], []
    count = 0
    for at, host in enumerate(hosts):
        socket, mate = tables[id(topologies[host])]
        offset[at + 1] = offset[at] + len(socket)
        sockets.append(np.where(socket >= 0, socket + count, -1))
        mates.append(_widened(np.where(mate >= 0, mate + offset[at], -1), threads))
        owner.append(np.full(int(socket.max()) + 1, at, dtype=np.int64))
        count += len(owner[-1])
    socket = np.concatenate(sockets) if sockets else np.empty(0, np.int64)
    return VcpuPlaces(
        hosts=tuple(hosts),
        offset=offset,
        socket=socket,
        mates=np.concatenate(mates) if mates else np.empty((0, 0), np.int64),
        socket_vcpus=np.bincount(socket[socket >= 0], minlength=count).astype(np.int64),
        socket_host=np.concatenate(owner) if owner else np.empty(0, np.int64),
    )


def _numbered(topology: Topology) -> IntArray:
    """Sockets numbered from 0 without gaps; -1 for an id without a vCPU."""
    numbers = np.searchsorted(topology.sockets, topology.socket)
    return np.where(topology.socket >= 0, numbers, -1)


def _mates_of(topology: Topology) -> IntArray:
    lists = [topology.siblings(int(v)) for v in range(len(topology.socket))]
    lists = [mates if topology.socket[v] >= 0 else mates[:0] for v, mates in enumerate(lists)]
    table = np.full((len(lists), max(len(mates) for mates in lists)), -1, dtype=np.int64)
    for vcpu, mates in enumerate(lists):
        table[vcpu, : len(mates)] = mates
    return table


def _widened(table: IntArray, width: int) -> IntArray:
    more = np.full((len(table), width - table.shape[1]), -1, dtype=np.int64)
    return np.concatenate([table, more], axis=1)


def sums(group: IntArray, amounts: FloatArray, groups: int) -> FloatArray:
    """Return the sum of the amounts of each group, added in order, shape (groups,)."""
    return np.asarray(np.bincount(group, amounts, groups), dtype=np.float64)


#: Smaller sums of profiles are rounding errors.
NOTHING = 1e-12


@dataclass(frozen=True)
class Bound:
    """The vCPUs of instances, as pairs of instance and place.

    Parameters
    ----------
    owner : int64, shape (bound vCPUs,)
        The instance of each place in ``place``.
    place : int64, shape (bound vCPUs,)
        Places of a ``VcpuPlaces``, each at most once; those of one instance are on one socket.
    instances : int
        The number of instances.
    """

    owner: IntArray
    place: IntArray
    instances: int


def pressure(
    room: VcpuPlaces, bound: Bound, cpu: FloatArray, agg: Aggregation = AGGREGATION
) -> tuple[FloatArray, FloatArray]:
    """Return how much CPU the neighbours of each instance use: ``cpu_sc`` and ``cpu_ss``.

    Parameters
    ----------
    cpu : float64, shape (instances,)
        The profile of each instance's service: its mean CPU as a fraction of own vCPUs.
    agg : {'mean', 'occupancy', 'sum'}
        mean: the mean profile of neighbours, weighted by their vCPUs. occupancy: the mean over
        neighbouring vCPUs of the profile of their owner, 0 for an idle vCPU. sum: the number of
        busy neighbouring vCPUs.

    Returns
    -------
    two of float64, shape (instances,)
        The pressure from the same cores (``cpu_sc``), and from the rest of the same socket
        (``cpu_ss``); 0 without neighbours. A fraction, or for ``sum`` a number of vCPUs.
    """
    count = bound.instances
    size = np.bincount(bound.owner, minlength=count).astype(np.float64)
    socket = np.full(count, -1, dtype=np.int64)
    socket[bound.owner] = room.socket[bound.place]
    holder = np.full(room.places, -1, dtype=np.int64)
    holder[bound.place] = bound.owner
    sockets = len(room.socket_vcpus)
    placed = socket >= 0
    total = sums(socket[placed], (size * cpu)[placed], sockets)
    pairs = _mates(room, bound, holder)
    if agg == "occupancy":
        return _occupancy(room, size, socket, total, holder, pairs, cpu)
    weight = sums(socket[placed], size[placed], sockets)
    own, other = _distinct(pairs[0], holder[pairs[1]], count)
    core = sums(own, (size * cpu)[other], count)
    core_weight = sums(own, size[other], count)
    rest_weight = np.where(placed, weight[socket] - size - core_weight, 0)
    rest = np.where(rest_weight > 0, total[socket] - size * cpu - core, 0.0)
    rest[np.abs(rest) < NOTHING] = 0.0
    if agg == "sum":
        return core, rest
    return _over(core, core_weight), _over(rest, rest_weight)


def other_sockets(
    room: VcpuPlaces, bound: Bound, cpu: FloatArray, agg: Aggregation = AGGREGATION
) -> FloatArray:
    """Return the pressure on each instance from other sockets of its host, shape (instances,).

    The parameters are those of ``pressure``. Every instance must have a vCPU.
    """
    size = np.bincount(bound.owner, minlength=bound.instances).astype(np.float64)
    first = np.unique(bound.owner, return_index=True)[1]
    socket = room.socket[bound.place[first]]
    host = room.socket_host[socket]

    def beyond(amounts: FloatArray) -> FloatArray:
        """Sums over the host minus sums over the socket."""
        by_socket = sums(socket, amounts, len(room.socket_vcpus))
        return sums(host, amounts, len(room.hosts))[host] - by_socket[socket]

    busy = beyond(size * cpu)
    busy[np.abs(busy) < NOTHING] = 0.0
    if agg == "sum":
        return busy
    whole = sums(room.socket_host, room.socket_vcpus.astype(np.float64), len(room.hosts))
    rest = whole[host] - room.socket_vcpus[socket] if agg == "occupancy" else beyond(size)
    return _over(busy, rest)


def _mates(room: VcpuPlaces, bound: Bound, holder: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of an instance and a foreign place on its cores, each pair once."""
    beside = room.mates[bound.place]
    owner = np.repeat(bound.owner, beside.shape[1])
    place = beside.reshape(-1)
    owner, place = owner[place >= 0], place[place >= 0]
    foreign = holder[place] != owner
    return _distinct(owner[foreign], place[foreign], room.places)


def _distinct(first: IntArray, second: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """The pairs with a second that is at least 0, each once."""
    some = second >= 0
    pairs = np.sort(first[some] * max(size, 1) + second[some])
    # numpy.unique hashes, at ten times the cost for few pairs
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return pairs // max(size, 1), pairs % max(size, 1)


def _occupancy(  # noqa: PLR0917 - the sums of one pass, in its order
    room: VcpuPlaces,
    size: FloatArray,
    socket: IntArray,
    total: FloatArray,
    holder: IntArray,
    pairs: tuple[IntArray, IntArray],
    cpu: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    own, place = pairs
    count = len(size)
    held = holder[place] >= 0
    core = sums(own[held], cpu[holder[place[held]]], count)
    beside = np.bincount(own, minlength=count).astype(np.float64)
    placed = socket >= 0
    rest = np.where(placed, total[socket] - size * cpu - core, 0.0)
    rest[np.abs(rest) < NOTHING] = 0.0
    left = np.where(placed, room.socket_vcpus[socket] - size - beside, 0.0)
    return _over(core, beside), _over(rest, left)


def _over(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def service_profile(service: IntArray, cpu: FloatArray, services: int) -> FloatArray:
    """Return the mean CPU over the instances of each service, shape (services,); NaN for none.

    Parameters
    ----------
    service : int64, shape (instances,)
    cpu : float64, shape (instances,)
        The mean CPU of each instance over time, as a fraction of its own vCPUs.
    """
    many = np.bincount(service, minlength=services)
    total = np.bincount(service, cpu, services)
    mean = np.divide(total, many, out=np.full(services, np.nan), where=many > 0)
    return np.asarray(mean)
