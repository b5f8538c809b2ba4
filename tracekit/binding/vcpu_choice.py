"""Ways to take vCPUs of a host that is chosen already.

``whole_cores`` is the habit of kubelet's static CPU manager policy (kubernetes,
pkg/kubelet/cm/cpumanager/cpu_assignment.go): cores of which no thread is taken come first, single
threads only for what does not fill a core, and then threads of cores that are shared already.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tracekit.arrays import IntArray
from tracekit.binding.vcpu_state import VcpuState

Bind = Literal["lowest_free", "random_free", "whole_cores", "least_interference"]
Which = Literal["first", "emptiest"]


def bind_on(
    state: VcpuState,
    instance: int,
    size: int,
    host: int,
    bind: Bind,
    rng: np.random.Generator,
    which: Which = "first",
) -> tuple[int, IntArray] | None:
    """A socket of the host and free places on it; None where no socket has so many.

    Parameters
    ----------
    which : {'first', 'emptiest'}
        Which of the sockets with room; of sockets as empty the first. ``whole_cores`` prefers those
        with enough whole cores, ``random_free`` takes any, ``least_interference`` asks the model.
    """
    if bind == "least_interference":
        return state.best_on(instance, host)
    sockets = state.sockets_of(host)
    sockets = sockets[state.occupancy.free[sockets] >= size]
    if not len(sockets):
        return None
    if bind == "random_free" and which == "first":
        socket = int(sockets[rng.integers(len(sockets))])
    else:
        if bind == "whole_cores":
            sockets = _with_most_cores(state, sockets, size)
        best = np.argmax(state.occupancy.free[sockets]) if which == "emptiest" else 0
        socket = int(sockets[best])
    free = state.free_places(socket)
    if bind == "random_free":
        return socket, np.sort(rng.permutation(free)[:size])
    return socket, whole_cores(state, free, size) if bind == "whole_cores" else free[:size]


def whole_cores(state: VcpuState, free: IntArray, size: int) -> IntArray:
    """``size`` of the free places of a socket, whole cores first; ascending.

    Parameters
    ----------
    free : int64, shape (free places,), ascending
    """
    mates = state.room.mates[free]
    whole = _whole(state, free)
    core = np.min(np.column_stack([free, np.where(mates >= 0, mates, free[:, None])]), axis=1)
    cores, many = np.unique(core[whole], return_counts=True)
    full = np.isin(core, cores[np.cumsum(many) <= size]) & whole
    rest = np.flatnonzero(~full)
    # what is left goes to cores that are shared already, before it breaks a whole one
    rest = rest[np.lexsort((free[rest], whole[rest]))][: size - int(full.sum())]
    return np.sort(np.concatenate([free[full], free[rest]]))


def _whole(state: VcpuState, free: IntArray) -> np.ndarray:
    """Which free places lie on cores of which nobody has a thread."""
    mates = state.room.mates[free]
    taken = (mates >= 0) & (state.occupancy.owner[np.maximum(mates, 0)] >= 0)
    return np.asarray(~taken.any(axis=1))


def _with_most_cores(state: VcpuState, sockets: IntArray, size: int) -> IntArray:
    """The sockets on which most of so many vCPUs would fill whole cores."""
    threads = state.room.mates.shape[1] + 1
    wanted = size - size % threads
    room = [int(_whole(state, state.free_places(int(one))).sum()) for one in sockets]
    enough = np.minimum(room, wanted)
    return np.asarray(sockets[enough == enough.max()])
