"""A workload of production size, made up in memory: many services, requests of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracekit.cluster.parts import Containers, Nodes, Use
from tracekit.cluster.workload import Workload

STEP_MS = 30_000
GIB = 2**30
Order = Literal["random", "grouped"]


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a workload is; ``sizes`` of nodes differ by up to a factor of two."""

    containers: int = 96_000
    services: int = 1_300
    nodes: int = 13_000
    steps: int = 240
    sizes: int = 1
    order: Order = "random"


def make_load(size: Size, rng: np.random.Generator) -> Workload:
    """Containers that arrive evenly over all steps and stay; four fifths of the scarcer resource
    are requested in the end. In ``grouped`` order the containers of a service arrive together.
    """
    service = rng.integers(0, size.services, size.containers)
    if size.order == "grouped":
        service = rng.permutation(size.services)[np.sort(service)]
    shape = np.stack(
        [rng.integers(5, 81, size.services) * 100, rng.integers(8, 321, size.services) * GIB // 16],
        axis=1,
    )
    request = shape[service]
    times = np.arange(size.steps, dtype=np.int64) * STEP_MS
    arrival = np.arange(size.containers) * (size.steps * STEP_MS) // size.containers
    usage = _usage(request, size.steps, rng)
    return Workload(
        name="made up",
        use=Use(
            step_ms=STEP_MS,
            times_ms=times,
            values=usage,
            background=np.zeros((2, size.steps, size.nodes), np.float32),
            settled_ms=0,
        ),
        nodes=Nodes(
            ids=tuple(f"node{at}" for at in range(size.nodes)),
            capacity=_capacity(size, request, rng),
        ),
        containers=Containers(
            ids=tuple(f"container{at}" for at in range(size.containers)),
            services=tuple(f"service{at}" for at in service.tolist()),
            recorded_node=np.full(size.containers, -1),
            arrival_ms=arrival,
            departure_ms=np.full(size.containers, size.steps * STEP_MS),
            request=request,
            nonzero_request=request,
            limit=request * 3 // 2,
        ),
    )


def _usage(request: np.ndarray, steps: int, rng: np.random.Generator) -> np.ndarray:
    usage = np.empty((2, steps, len(request)), np.float32)
    level = rng.uniform(0.1, 0.6, (2, len(request))).astype(np.float32)
    for step in range(steps):
        usage[:, step] = level * request.T * rng.uniform(0.5, 1.5, level.shape)
    return usage


def _capacity(size: Size, request: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    factor = np.linspace(1, 2, size.sizes)[rng.integers(0, size.sizes, size.nodes)]
    nodes = np.array([104_000, 384 * GIB]) * factor[:, None]
    scale = (request.sum(axis=0) / nodes.sum(axis=0)).max() / 0.8
    return np.asarray(np.ceil(nodes * scale), dtype=np.int64)
