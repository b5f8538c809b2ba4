"""Tianchi 2018: applications with curves of demand, machines, anti-affinity, a first placement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.arrays import Float32Array, FloatArray, IntArray
from tracekit.parameters import About
from tracekit.replay.workload.constraints.constraints import Constraints
from tracekit.replay.workload.constraints.sharing import Sharing, broken_rules
from tracekit.replay.workload.declared import ARRIVAL_SPAN_MS
from tracekit.replay.workload.loaders import WorkloadLoader, values
from tracekit.replay.workload.loaders._csv import csv_files
from tracekit.replay.workload.loaders._shape import spread_slots
from tracekit.replay.workload.loaders._tianchi18_files import kind_of, read_tables
from tracekit.replay.workload.rests_on import ASSUMED
from tracekit.replay.workload.workload import Workload
from tracekit.store.quantities import INFERRED, RECORDED

#: What is known of each quantity: requests are worked out of the curves of use.
_QUANTITIES = {
    **dict.fromkeys(("node sizes", "use of containers", "placement"), RECORDED),
    "requests": INFERRED,
    "arrivals": ASSUMED,
}


@dataclass(frozen=True, kw_only=True)
class Tianchi18(WorkloadLoader):
    """Containers follow their application's curve; the release states no request and no times."""

    title: ClassVar[str] = "Tianchi 2018 (B): 68,224 containers with demand curves, 6,000 nodes"
    source: ClassVar[str] = "Alibaba Tianchi scheduling contest 2018, preliminary round, data B"
    files: ClassVar[str] = (
        "app_resources, instance_deploy, machine_resources and app_interference as CSVs or a zip"
    )
    licence: ClassVar[str] = "none stated upstream"

    containers: Annotated[
        Literal["all", "placed"],
        About("all: also those without a recorded node; placed: only those with one."),
    ] = "all"
    request: Annotated[
        Literal["peak", "mean"], About("A container's request: the peak or mean of its curve.")
    ] = "peak"
    anti_affinity: Annotated[
        Literal["keep", "none"], About("keep: the rules on which applications may share a node.")
    ] = "keep"
    arrival: Annotated[
        Literal["spread", "start"],
        About("spread: containers arrive evenly over arrival_span_ms; start: all at once."),
    ] = "spread"
    arrival_span_ms: Annotated[
        int, About("Span of spread arrivals; at most half of the curves is used.", minimum=0)
    ] = ARRIVAL_SPAN_MS
    step_ms: Annotated[
        int, About("Time between two points of a curve; the release does not say.", minimum=1)
    ] = 900_000

    def load(self, path: Path, rng: np.random.Generator) -> Workload:
        """Read the four files; containers arrive in an order drawn from ``rng``."""
        tables = read_tables(path)
        if self.containers == "placed":
            tables = tables.only_placed()
        order = rng.permutation(tables.containers.height)
        recorded, app = tables.recorded_node[order], tables.app[order]
        points = tables.curves.shape[1]
        span = min(self.arrival_span_ms, points * self.step_ms // 2)
        arrival = spread_slots(len(order), span if self.arrival == "spread" else 0)
        usage = _by_container(tables.curves, app)
        columns = tables.sizes(np.max if self.request == "peak" else np.mean)
        requests = columns.request[app]
        broken = broken_rules(tables.rules, app, recorded)
        return Workload(
            name="tianchi18",
            step_ms=self.step_ms,
            times_ms=np.arange(points, dtype=np.int64) * self.step_ms,
            node_ids=tuple(tables.nodes["node"]),
            capacity=columns.capacity,
            container_ids=tuple(tables.containers["container"].gather(order)),
            services=tuple(tables.containers["app"].gather(order)),
            recorded_node=recorded,
            arrival_ms=arrival,
            departure_ms=np.full(len(order), points * self.step_ms, dtype=np.int64),
            request=requests,
            nonzero_request=requests,
            limit=np.zeros_like(requests),
            usage=usage,
            background=np.zeros((2, points, tables.nodes.height), dtype=np.float32),
            settled_ms=int(arrival.max(initial=0)),
            resources=columns.resources,
            exchangeable=np.ones(len(order), dtype=np.bool_),
            constraints=Constraints(parts=(Sharing(limits=tables.rules, service=app),))
            if self.anti_affinity == "keep"
            else None,
            quantities=_QUANTITIES,
            assumptions=values(self),
            facts={
                "containers_without_recorded_node": int((recorded < 0).sum()),
                "anti_affinity_rules": len(tables.rules.rules),
                "anti_affinity_broken_by_recorded": broken,
            },
        )

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Whether some CSV there starts with a row of application curves."""
        return any(kind_of(file) == "app_resources" for file in csv_files(path))


def _by_container(curves: FloatArray, app: IntArray) -> Float32Array:
    """Curves of applications, shape (2, points, apps), as usage, (2, points, containers)."""
    return np.take(curves.astype(np.float32), app, axis=2)
