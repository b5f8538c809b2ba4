"""Which container stands on which node."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray, IntArray


def place(
    rng: np.random.Generator, sizes: IntArray, wanted: FloatArray
) -> tuple[IntArray, IntArray]:
    """Spread services over nodes, near-evenly, no service twice on a node unless it must.

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
    room = wanted * sizes.sum() / wanted.sum()
    services, nodes = [], []
    for service in np.argsort(-sizes, kind="stable"):
        left = int(sizes[service])
        while left:
            chosen = np.argsort(-(room + rng.random(len(room))), kind="stable")[:left]
            room[chosen] -= 1
            services.append(np.full(len(chosen), service, dtype=np.int64))
            nodes.append(chosen.astype(np.int64))
            left -= len(chosen)
    return np.concatenate(services), np.concatenate(nodes)


def wanted_containers(rng: np.random.Generator, cpu_level: FloatArray, mean: float) -> FloatArray:
    """How many containers each node should get, shape (nodes,).

    Busy nodes get some more, nearly idle ones at most two: what runs there must fit their use.
    """
    centred = (cpu_level - np.median(cpu_level)) / 0.06
    usual = mean + 0.8 * np.clip(centred, -2, 2) + 1.4 * rng.standard_normal(len(cpu_level))
    few = np.minimum(np.floor(cpu_level / 0.05), 2)
    return np.where(cpu_level < 0.3, few + 1e-3, np.maximum(usual, 2.5))
