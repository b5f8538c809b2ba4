"""Which container stands on which node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Room:
    """What nodes have, int64 (nodes, resources), and what services ask for, (services, resources).

    The capacity is that of empty nodes.
    """

    capacity: IntArray
    request: IntArray


def place(
    rng: np.random.Generator, sizes: IntArray, wanted: FloatArray, room: Room
) -> tuple[IntArray, IntArray]:
    """Spread services over nodes that have room, near-evenly, no service twice on a node if can be.

    Where no node has room any more, those with most CPU left take what remains.

    Parameters
    ----------
    sizes : int64, shape (services,)
        Containers of each service.
    wanted : float64, shape (nodes,)
        Containers that each node should get in the end.

    Returns
    -------
    service, node : int64, shape (containers,)
    """
    due = wanted * sizes.sum() / wanted.sum()
    free = room.capacity.copy()
    services, nodes = [], []
    for service in np.argsort(-sizes, kind="stable"):
        left, asked = int(sizes[service]), room.request[service]
        while left:
            chosen = _chosen(rng, due, free, asked)[:left]
            due[chosen] -= 1
            free[chosen] -= asked
            services.append(np.full(len(chosen), service, dtype=np.int64))
            nodes.append(chosen.astype(np.int64))
            left -= len(chosen)
    return np.concatenate(services), np.concatenate(nodes)


def _chosen(rng: np.random.Generator, due: FloatArray, free: IntArray, asked: IntArray) -> IntArray:
    """The nodes with room, those first that want most; the one with most CPU left if none has."""
    fits: BoolArray = np.asarray((free >= asked).all(axis=1))
    order = np.argsort(-(due + rng.random(len(due))), kind="stable")
    with_room = order[fits[order]]
    return np.asarray(with_room if len(with_room) else [np.argmax(free[:, 0])], dtype=np.int64)


def wanted_containers(rng: np.random.Generator, cpu_level: FloatArray, mean: float) -> FloatArray:
    """How many containers each node should get, shape (nodes,).

    Busy nodes get some more, nearly idle ones at most two: what runs there must fit their use.
    """
    centred = (cpu_level - np.median(cpu_level)) / 0.06
    usual = mean + 0.8 * np.clip(centred, -2, 2) + 1.4 * rng.standard_normal(len(cpu_level))
    few = np.minimum(np.floor(cpu_level / 0.05), 2)
    return np.where(cpu_level < 0.3, few + 1e-3, np.maximum(usual, 2.5))
