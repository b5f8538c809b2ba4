"""Assumptions for what a replay needs and a trace lacks, as named parameters.

``--assume name=value`` sets one. CTM21 holds no sizes, requests or limits; its use is in fractions
of them. Where no source states a default, it is this project's choice. Every report prints the
assumptions beside its results.
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
from tracekit.cluster.declared import (
    ARRIVAL_SPAN_MS,
    AUTO,
    LIMIT_FACTOR,
    START,
    ArrivalSpanMs,
    LimitFactor,
    NodeCpuCores,
    NodeMemoryBytes,
    RequestCpuCores,
    RequestMemoryBytes,
    Requests,
    Resources,
    Start,
    StepMs,
    TargetAllocFraction,
    UsedShare,
    shown,
)
from tracekit.cluster.resources import NONE, OF_TRACE, Reserved


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """The assumptions that turn a trace of use in fractions into a workload.

    ``--assume name=value`` sets one.
    """

    requests: Requests = AUTO
    node_sizes: Annotated[
        Literal["auto", "assumed"],
        About(
            "auto: those of the store where it records them; assumed: all nodes are of one size."
        ),
    ] = "auto"
    resources: Resources = "all"
    node_cpu_cores: NodeCpuCores = NODE_CPU_CORES
    node_memory_bytes: NodeMemoryBytes = NODE_MEMORY_BYTES
    request_cpu_cores: RequestCpuCores = CONTAINER_CPU_CORES
    request_memory_bytes: RequestMemoryBytes = CONTAINER_MEMORY_BYTES
    limit_factor: LimitFactor = LIMIT_FACTOR
    background: Annotated[
        Literal["keep", "none"],
        About(
            "keep: node use that no container explains stays on its node; none: dedicated nodes,"
            " scaled so that target_alloc_fraction of them is requested."
        ),
    ] = "keep"
    reserved: Reserved = OF_TRACE
    target_alloc_fraction: TargetAllocFraction = PAPER_ALLOC_FRACTION
    start: Start = START
    arrivals: Annotated[
        Literal["spread", "recorded"],
        About(
            "spread: containers there from the start arrive evenly over arrival_span_ms in seeded"
            " order; recorded: every container arrives at its first sample."
        ),
    ] = "spread"
    arrival_span_ms: ArrivalSpanMs = ARRIVAL_SPAN_MS
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
    """Return the assumptions with ``name=value`` settings; sizes may end in KiB, MiB, GiB."""
    return parameters.build_from_settings(Assumptions, settings)


def as_values(assumptions: Assumptions) -> dict[str, object]:
    """Return every assumption by name, for manifests."""
    return {**dataclasses.asdict(assumptions), "requests": shown(assumptions.requests)}


@dataclass(frozen=True, kw_only=True)
class SizedAssumptions:
    """The assumptions that turn a store with recorded sizes into a workload."""

    requests: Requests = AUTO
    request_cpu_cores: RequestCpuCores = CONTAINER_CPU_CORES
    request_memory_bytes: RequestMemoryBytes = CONTAINER_MEMORY_BYTES
    limit_factor: LimitFactor = LIMIT_FACTOR
    start: Start = START
    arrival_span_ms: ArrivalSpanMs = ARRIVAL_SPAN_MS
    arrivals: Annotated[
        Literal["auto", "recorded", "before"],
        About(
            "before: all that runs at the last arrival was there at the beginning, as in a list of"
            " what runs; auto: before where no use is recorded, it is known who ran where, and"
            " fewer than half depart."
        ),
    ] = "auto"
    waiting: Annotated[
        Literal["auto", "leave_out", "place"],
        About(
            "Containers that never had a node in production. leave_out: no policy places them."
            " auto: leave_out if start=empty, kubectl listed them, and most others run."
        ),
    ] = "auto"
    order: Annotated[
        Literal["auto", "seeded", "listed"],
        About(
            "Order of what was there at the beginning: seeded draws it, listed takes that of the"
            " source; auto: seeded where it is known who ran where."
        ),
    ] = "auto"
    departures: Annotated[
        Literal["recorded", "none"],
        About("none: everything stays, as in studies of how many nodes are needed."),
    ] = "recorded"
    step_ms: StepMs = 0
    used_share: UsedShare = 1.0
    resources: Resources = "all"
    disk_io: Annotated[
        Literal["none", "recorded"],
        About(
            "recorded: disk IO that is recorded as a share of a node's counts; a container requests"
            " its mean."
        ),
    ] = "none"
    cells: Annotated[
        Literal["keep", "none"], About("keep: room is per NUMA cell where cells are recorded.")
    ] = "keep"
    groups: Annotated[
        Literal["keep", "none"],
        About("keep: rules on apart, together and sharing, and host ports, filter nodes."),
    ] = "keep"
    selectors: Annotated[
        Literal["keep", "none"], About("keep: selectors and taints are a filter.")
    ] = "keep"
    full_cpu_cores: Annotated[
        float, About("Cores of 1.0, where a source gives fractions.", minimum=1e-3)
    ] = NODE_CPU_CORES
    full_memory_bytes: Annotated[
        int, About("Memory of 1.0, where a source gives fractions.", minimum=1)
    ] = NODE_MEMORY_BYTES
    full_disk_bytes: Annotated[
        int, About("Disk of 1.0, where a source gives fractions.", minimum=1)
    ] = NODE_DISK_BYTES
    nodes: Annotated[
        int, About("Nodes of one size, where a source records none.", minimum=0, maximum=1e6)
    ] = 0
    node_cpu_cores: NodeCpuCores = NODE_CPU_CORES
    node_memory_bytes: NodeMemoryBytes = NODE_MEMORY_BYTES
    background: Annotated[
        Literal["keep", "none"],
        About("keep: node use that no container explains stays on its node."),
    ] = "keep"
    reserved: Reserved = NONE

    def __post_init__(self) -> None:
        parameters.check_ranges(self)
