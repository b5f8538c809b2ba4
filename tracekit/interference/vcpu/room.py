"""A room: the vCPUs of all hosts as one range of places, so that a whole cluster is one array."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.interference.vcpu.topology import Topology


@dataclass(frozen=True)
class Room:
    """Hosts side by side; the place of vCPU v on host h is ``offset[h] + v``.

    Parameters
    ----------
    hosts : tuple of str
    offset : int64, shape (hosts + 1,)
    socket : int64, shape (places,)
        Sockets are numbered over all hosts; -1 where there is no vCPU.
    mates : int64, shape (places, threads per core - 1)
        Places of the other vCPUs of the same core, -1 for none.
    socket_vcpus : int64, shape (sockets,)
        Number of vCPUs of each socket.
    """

    hosts: tuple[str, ...]
    offset: IntArray
    socket: IntArray
    mates: IntArray
    socket_vcpus: IntArray
    socket_host: IntArray

    @property
    def places(self) -> int:
        """Number of places, with and without a vCPU."""
        return len(self.socket)


def make_room(hosts: Sequence[str], topologies: Mapping[str, Topology]) -> Room:
    """The hosts in the given order, each with its topology."""
    known: dict[int, tuple[IntArray, IntArray]] = {}
    for topology in topologies.values():
        if id(topology) not in known:
            known[id(topology)] = _numbered(topology), _mates(topology)
    threads = max((mates.shape[1] for _, mates in known.values()), default=0)
    offset = np.zeros(len(hosts) + 1, dtype=np.int64)
    sockets, mates, owner = [], [], []
    count = 0
    for at, host in enumerate(hosts):
        socket, mate = known[id(topologies[host])]
        offset[at + 1] = offset[at] + len(socket)
        sockets.append(np.where(socket >= 0, socket + count, -1))
        mates.append(_widened(np.where(mate >= 0, mate + offset[at], -1), threads))
        owner.append(np.full(int(socket.max()) + 1, at, dtype=np.int64))
        count += len(owner[-1])
    socket = np.concatenate(sockets) if sockets else np.empty(0, np.int64)
    return Room(
        hosts=tuple(hosts),
        offset=offset,
        socket=socket,
        mates=np.concatenate(mates) if mates else np.empty((0, 0), np.int64),
        socket_vcpus=np.bincount(socket[socket >= 0], minlength=count).astype(np.int64),
        socket_host=np.concatenate(owner) if owner else np.empty(0, np.int64),
    )


def _numbered(topology: Topology) -> IntArray:
    """Sockets numbered from 0 without gaps; -1 where there is no vCPU."""
    numbers = np.searchsorted(topology.sockets, topology.socket)
    return np.where(topology.socket >= 0, numbers, -1)


def _mates(topology: Topology) -> IntArray:
    lists = [topology.siblings(int(v)) for v in range(len(topology.socket))]
    lists = [mates if topology.socket[v] >= 0 else mates[:0] for v, mates in enumerate(lists)]
    table = np.full((len(lists), max(len(mates) for mates in lists)), -1, dtype=np.int64)
    for vcpu, mates in enumerate(lists):
        table[vcpu, : len(mates)] = mates
    return table


def _widened(table: IntArray, width: int) -> IntArray:
    more = np.full((len(table), width - table.shape[1]), -1, dtype=np.int64)
    return np.concatenate([table, more], axis=1)
