"""The vCPUs that containers had, as one of the ways to bind: the others are measured by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.base.files.parquet import read_frame
from tracekit.binding.vcpu_state import VcpuState
from tracekit.cluster.workload import Workload
from tracekit.interference.vcpu.room import Room
from tracekit.interference.vcpu.topology import parse_cpu_list
from tracekit.store.folder import Store
from tracekit.store.query.run import open_database

#: For each container the node where it ran, and its vCPUs as Linux writes them.
Bindings = Mapping[str, tuple[str, str]]
_NOWHERE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Hosts and vCPUs where containers were.

    A container has as many vCPUs as it had then, whatever it asks for (``size``). It stays unbound
    on its host where somebody else has one of them, or where they lie across sockets.

    Parameters
    ----------
    host : int64, shape (containers,)
        -1 for one whose host is not known.
    places : sequence of int64 arrays
    """

    host: IntArray
    places: Sequence[IntArray]

    def size(self, wanted: IntArray) -> IntArray:
        """How many vCPUs each container had, or wants where that is not known."""
        had = np.array([len(places) for places in self.places], dtype=np.int64)
        return np.where(had > 0, had, wanted)

    def choose(
        self,
        state: VcpuState,
        instance: int,
        size: int,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[int, int, IntArray] | None:
        """The recorded host, with the recorded vCPUs if they can be had."""
        host, places = int(self.host[instance]), self.places[instance]
        if host < 0:
            return None
        sockets = state.room.socket[places]
        free = len(places) == size > 0 and bool((state.occupancy.owner[places] < 0).all())
        if not free or not on_one_socket(state.room, places):
            return host, -1, _NOWHERE
        return host, int(sockets[0]), places


def on_one_socket(room: Room, places: IntArray) -> bool:
    """Whether there are places, all of one socket."""
    return len(np.unique(room.socket[places])) == 1


def recorded_bindings(store: Store) -> dict[str, tuple[str, str]]:
    """Node and vCPUs of every container of which both are recorded; empty without any."""
    if not store.manifest.parts("container"):
        return {}
    with open_database(store) as database:
        found = database.frame(
            "SELECT container, node, vcpus FROM container"
            " WHERE vcpus IS NOT NULL AND node IS NOT NULL ORDER BY container",
            {},
        )
    return {container: (node, vcpus) for container, node, vcpus in found.iter_rows()}


def bindings_of_fit(folder: Path) -> dict[str, tuple[str, str]]:
    """As ``recorded_bindings``, from the rows that a fit was made from; empty of a proxy."""
    try:
        found = read_frame(folder / "bindings.parquet").select("container", "node", "vcpus")
    except (OSError, pl.exceptions.PolarsError):
        return {}
    return {container: (node, vcpus) for container, node, vcpus in found.iter_rows()}


def recorded_chooser(load: Workload, room: Room, bindings: Bindings) -> Recorded:
    """The way to bind that repeats what was, for the containers of a workload."""
    at = {name: number for number, name in enumerate(room.hosts)}
    hosts, places = [], []
    for container in load.containers.ids:
        node, vcpus = bindings.get(container, ("", ""))
        host = at.get(node, -1)
        hosts.append(host)
        places.append(_places(room, host, vcpus))
    return Recorded(host=np.array(hosts, dtype=np.int64), places=places)


def _places(room: Room, host: int, vcpus: str) -> IntArray:
    """Places of vCPUs on a host; none where the host has not all of them."""
    try:
        ids = np.array(sorted(parse_cpu_list(vcpus)), dtype=np.int64)
    except ValueError:
        return _NOWHERE
    if host < 0 or ids[-1] >= room.offset[host + 1] - room.offset[host]:
        return _NOWHERE
    places = room.offset[host] + ids
    return places if (room.socket[places] >= 0).all() else _NOWHERE
