"""The vCPUs of one socket under every policy, for a figure."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.facts import Fact, remark
from tracekit.binding.choosers import RECORDED
from tracekit.binding.loop import VcpuOutcome
from tracekit.cluster.workload import Workload
from tracekit.interference.room import Room

SOCKET_SCHEMA = {
    "policy": pl.String,
    "node": pl.String,
    "socket": pl.Int64,
    "core": pl.Int64,
    "thread": pl.Int64,
    "vcpu": pl.Int64,
    "container": pl.String,
    "service": pl.String,
    "inflation_fraction": pl.Float64,
}


def drawn_socket(
    load: Workload, room: Room, outcomes: Sequence[tuple[str, VcpuOutcome]]
) -> pl.DataFrame:
    """Every vCPU of one socket at the end of the replay, policy by policy.

    It is the first socket with the highest loss under the last policy. A free vCPU has no
    container.
    """
    last = outcomes[-1][1]
    lost = np.bincount(
        np.maximum(last.socket, 0),
        np.where(_there(load, last), np.nan_to_num(last.inflation) * _sizes(last), 0.0),
        len(room.socket_vcpus),
    )
    socket = int(np.argmax(np.round(lost, 9)))
    parts = [_rows(load, room, socket, name, outcome) for name, outcome in outcomes]
    return pl.concat(parts) if parts else pl.DataFrame(schema=SOCKET_SCHEMA)


def _sizes(outcome: VcpuOutcome) -> IntArray:
    return np.array([len(vcpus) for vcpus in outcome.vcpus], dtype=np.int64)


def _there(load: Workload, outcome: VcpuOutcome) -> BoolArray:
    """Containers bound somewhere when the replay ends."""
    return np.asarray(
        (outcome.socket >= 0) & (load.containers.departure_ms > load.use.times_ms[-1])
    )


def _rows(load: Workload, room: Room, socket: int, name: str, outcome: VcpuOutcome) -> pl.DataFrame:
    host = int(room.socket_host[socket])
    places = np.flatnonzero(room.socket == socket)
    owner = dict.fromkeys((places - room.offset[host]).tolist(), -1)
    for at in np.flatnonzero(_there(load, outcome) & (outcome.socket == socket)).tolist():
        owner |= dict.fromkeys(outcome.vcpus[at], at)
    cores = _cores(room, places)
    rows = []
    for place, (core, thread) in zip(places.tolist(), cores, strict=True):
        vcpu = place - int(room.offset[host])
        at = owner[vcpu]
        rows.append(
            {
                "policy": name,
                "node": room.hosts[host],
                "socket": socket - int(np.searchsorted(room.socket_host, host)),
                "core": core,
                "thread": thread,
                "vcpu": vcpu,
                "container": load.containers.ids[at] if at >= 0 else None,
                "service": load.containers.services[at] if at >= 0 else None,
                "inflation_fraction": float(outcome.inflation[at]) if at >= 0 else None,
            }
        )
    return pl.DataFrame(rows, schema=SOCKET_SCHEMA)


def _cores(room: Room, places: IntArray) -> list[tuple[int, int]]:
    """Core and thread of each place, with cores numbered in the order of their first vCPU."""
    number: dict[int, int] = {}
    cores = []
    for place in places.tolist():
        mates = [place, *(int(mate) for mate in room.mates[place] if mate >= 0)]
        core = number.setdefault(min(mates), len(number))
        cores.append((core, sorted(mates).index(place)))
    return cores


#: The relative difference of vCPUs from which loads are different.
_SAME = 0.05


def unlike_recorded(vcpus: Mapping[str, float]) -> Iterator[Fact]:
    """A fact if the recorded binding has another load than the other ways.

    The other ways bind the requested number of vCPUs; the recorded number may differ.

    Parameters
    ----------
    vcpus : mapping of str to float
        The mean number of bound vCPUs over time of each way.
    """
    others = [bound for name, bound in vcpus.items() if name != RECORDED]
    ours = vcpus.get(RECORDED)
    if ours and others and abs(max(others) / ours - 1) >= _SAME:
        yield remark("recorded_of_other_load", round(ours), "vCPUs", other_vcpus=round(max(others)))
