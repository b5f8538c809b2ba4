"""Assumptions for what a replay needs and a trace lacks, as named parameters.

CTM21 holds no sizes, requests or limits; its use is in fractions of them. Where no source states a
default, it is this project's choice. Every report prints the assumptions beside its results.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from tracekit.base import parameters
from tracekit.base.constants import (
    CONTAINER_CPU_CORES,
    CONTAINER_MEMORY_BYTES,
    NODE_CPU_CORES,
    NODE_DISK_BYTES,
    NODE_MEMORY_BYTES,
    PAPER_ALLOC_FRACTION,
)
from tracekit.base.parameters import About
from tracekit.base.units import BYTES_PER_GIB
from tracekit.cluster import declared
from tracekit.cluster.request_choice import AUTO, Requests, shown
from tracekit.cluster.reserved import OF_TRACE, Reserved


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """Assumptions that make a workload of a trace; ``--assume name=value`` sets one."""

    requests: Requests = AUTO
    node_sizes: Annotated[
        Literal["auto", "assumed"],
        About(
            "auto: those of the store where it records them; assumed: all nodes are of one size."
        ),
    ] = "auto"
    resources: declared.Resources = "all"
    node_cpu_cores: declared.NodeCpuCores = NODE_CPU_CORES
    node_memory_bytes: declared.NodeMemoryBytes = NODE_MEMORY_BYTES
    request_cpu_cores: declared.RequestCpuCores = CONTAINER_CPU_CORES
    request_memory_bytes: declared.RequestMemoryBytes = CONTAINER_MEMORY_BYTES
    limit_factor: declared.LimitFactor = declared.LIMIT_FACTOR
    background: Annotated[
        Literal["keep", "none"],
        About(
            "keep: node use that no container explains stays on its node; none: dedicated nodes,"
            " scaled so that target_alloc_fraction of them is requested."
        ),
    ] = "keep"
    reserved: Reserved = OF_TRACE
    target_alloc_fraction: declared.TargetAllocFraction = PAPER_ALLOC_FRACTION
    start: declared.Start = declared.START
    arrivals: Annotated[
        Literal["spread", "recorded"],
        About(
            "spread: containers there from the start arrive evenly over arrival_span_ms in seeded"
            " order; recorded: every container arrives at its first sample."
        ),
    ] = "spread"
    arrival_span_ms: declared.ArrivalSpanMs = declared.ARRIVAL_SPAN_MS
    network_and_disk: Annotated[
        Literal["none", "modelled"],
        About(
            "modelled: containers also request network, from their call rates, and disk; none:"
            " only what the trace measures, CPU and memory."
        ),
    ] = "none"
    node_net_kbit: Annotated[
        int, About("Network of a node, kbit/s, where it is modelled.", minimum=1)
    ] = 10_000_000
    node_disk_bytes: Annotated[int, About("Disk of a node, where it is modelled.", minimum=1)] = (
        NODE_DISK_BYTES
    )
    request_disk_bytes: Annotated[
        int, About("Disk request of a container, where it is modelled.", minimum=0)
    ] = 20 * BYTES_PER_GIB
    kbit_per_call: Annotated[
        float, About("Network of a call, both ways, where it is modelled.", minimum=0)
    ] = 80.0
    edge_steps: Annotated[
        int,
        About(
            "A container first or last seen within this many steps of the trace's start or end"
            " counts as there before it, or after it; the nearest sample is held meanwhile.",
            minimum=0,
        ),
    ] = 10
    stray_share: Annotated[
        float,
        About(
            "Timestamps more than edge_steps away from the others are left out, with their rows,"
            " when they hold less than this share of every table.",
            minimum=0,
            maximum=1,
        ),
    ] = 0.01

    def __post_init__(self) -> None:
        parameters.check_ranges(self)


def parse_assumptions(settings: Iterable[str]) -> Assumptions:
    """The assumptions with ``name=value`` settings; sizes may end in KiB, MiB, GiB."""
    return parameters.build_from_settings(Assumptions, settings)


def as_values(assumptions: Assumptions) -> dict[str, object]:
    """Every assumption by name, for manifests."""
    return {**dataclasses.asdict(assumptions), "requests": shown(assumptions.requests)}
