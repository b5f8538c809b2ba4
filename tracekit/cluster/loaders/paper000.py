"""paper000: the size of the evaluation in the TBESK paper, made up because its tables are lost."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.constants import PAPER_ALLOC_FRACTION, PAPER_CONTAINERS, PAPER_NODES, STEP_MS
from tracekit.base.parameters import About
from tracekit.base.seeds import stream
from tracekit.base.units import BYTES_PER_GIB, MILLI_PER_CORE
from tracekit.cluster.declared import ARRIVAL_SPAN_MS, ArrivalSpanMs, TargetAllocFraction
from tracekit.cluster.loaders import WorkloadLoader, values
from tracekit.cluster.loaders._shape import sizes, spread_slots
from tracekit.cluster.provenance import ASSUMED
from tracekit.cluster.series import steps_between
from tracekit.cluster.workload import Workload

_RESOURCES = ("cpu_milli", "memory_bytes", "net_kbit", "disk_bytes")
_UNITS = np.array([MILLI_PER_CORE, BYTES_PER_GIB, 1000, BYTES_PER_GIB], dtype=np.float64)

#: Node types: cores, GiB, Mbit/s, GiB.
_NODES = np.array(
    [[32, 64, 1000, 1000], [48, 96, 2000, 1500], [64, 128, 2000, 2000], [64, 192, 1500, 3000]],
    dtype=np.float64,
)

#: Kinds of containers: what they ask for, over the mean, per resource.
_KINDS = {
    "compressible": (1.5, 0.5, 1.5, 0.5),
    "incompressible": (0.5, 1.5, 0.5, 1.5),
    "balanced": (1.0, 1.0, 1.0, 1.0),
}


@dataclass(frozen=True, kw_only=True)
class Paper000(WorkloadLoader):
    """Nodes of four types and containers of three kinds; a container uses what it requests."""

    title: ClassVar[str] = "31 nodes, 1,800 containers, four resources: the size of paper 000"
    source: ClassVar[str] = (
        "substitute for the lost tables 3 and 4 of Geng & Wang, C.S.A. 2023 32(4) 187-196;"
        " rule: tracekit's own"
    )

    seed: Annotated[int, About("Which draw of nodes and containers.", minimum=0)] = 0
    nodes: Annotated[int, About("Number of nodes.", minimum=1, maximum=1e6)] = PAPER_NODES
    containers: Annotated[int, About("Number of containers.", minimum=1, maximum=1e7)] = (
        PAPER_CONTAINERS
    )
    target_alloc_fraction: TargetAllocFraction = PAPER_ALLOC_FRACTION
    arrival_span_ms: ArrivalSpanMs = ARRIVAL_SPAN_MS
    step_ms: Annotated[int, About("Time between two samples.", minimum=1)] = STEP_MS

    def load(self, path: Path, rng: np.random.Generator) -> Workload:  # noqa: ARG002
        """Draw nodes and containers from ``seed``, and the order of arrival from ``rng``."""
        return self.drawn(rng)

    def drawn(self, rng: np.random.Generator) -> Workload:
        """As ``load``; there is no file to read."""
        capacity, kinds, request = self._drawn(stream(self.seed, "paper000"))
        order = rng.permutation(self.containers)
        columns = sizes(_columns(capacity), _columns(request[order]))
        arrival = spread_slots(self.containers, self.arrival_span_ms)
        settled = int(arrival.max(initial=0))
        times = steps_between(0, settled + 10 * self.step_ms - 1, self.step_ms)
        use = columns.request[:, :2].T.astype(np.float32)
        return Workload(
            name="paper000",
            step_ms=self.step_ms,
            times_ms=times,
            node_ids=tuple(f"node-{at:02}" for at in range(self.nodes)),
            capacity=columns.capacity,
            container_ids=tuple(f"container-{at:04}" for at in order),
            services=tuple(kinds[at] for at in order),
            recorded_node=np.full(self.containers, -1, dtype=np.int64),
            arrival_ms=arrival,
            departure_ms=np.full(self.containers, times[-1] + self.step_ms, dtype=np.int64),
            request=columns.request,
            nonzero_request=columns.request,
            limit=np.zeros_like(columns.request),
            usage=np.repeat(use[:, None], len(times), axis=1),
            background=np.zeros((2, len(times), self.nodes), dtype=np.float32),
            settled_ms=settled,
            resources=columns.resources,
            exchangeable=np.ones(self.containers, dtype=np.bool_),
            quantities=dict.fromkeys(
                ("node sizes", "requests", "use of containers", "arrivals"), ASSUMED
            ),
            assumptions=values(self),
        )

    def _drawn(self, rng: np.random.Generator) -> tuple[FloatArray, list[str], FloatArray]:
        """Capacities, kinds of containers and requests, in the small units."""
        capacity = _NODES[rng.integers(len(_NODES), size=self.nodes)] * _UNITS
        kinds = rng.choice(list(_KINDS), size=self.containers).tolist()
        mean = capacity.sum(axis=0) * self.target_alloc_fraction / self.containers
        factors = np.array([_KINDS[kind] for kind in kinds])
        return capacity, kinds, mean * factors * rng.uniform(0.5, 1.5, factors.shape)


def _columns(amounts: FloatArray) -> dict[str, FloatArray]:
    return dict(zip(_RESOURCES, amounts.T, strict=True))
