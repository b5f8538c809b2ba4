"""Assumptions for a store with sizes; ``--assume name=value`` sets one."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tracekit.base import parameters
from tracekit.base.constants import (
    CONTAINER_CPU_CORES,
    CONTAINER_MEMORY_BYTES,
    NODE_CPU_CORES,
    NODE_DISK_BYTES,
    NODE_MEMORY_BYTES,
)
from tracekit.base.parameters import About
from tracekit.cluster import declared
from tracekit.cluster.request_choice import AUTO, Requests
from tracekit.cluster.reserved import NONE, Reserved


@dataclass(frozen=True, kw_only=True)
class SizedAssumptions:
    """Assumptions that make a workload of recorded sizes."""

    requests: Requests = AUTO
    request_cpu_cores: declared.RequestCpuCores = CONTAINER_CPU_CORES
    request_memory_bytes: declared.RequestMemoryBytes = CONTAINER_MEMORY_BYTES
    limit_factor: declared.LimitFactor = declared.LIMIT_FACTOR
    start: declared.Start = declared.START
    arrival_span_ms: declared.ArrivalSpanMs = declared.ARRIVAL_SPAN_MS
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
    step_ms: declared.StepMs = 0
    used_share: declared.UsedShare = 1.0
    resources: declared.Resources = "all"
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
    node_cpu_cores: declared.NodeCpuCores = NODE_CPU_CORES
    node_memory_bytes: declared.NodeMemoryBytes = NODE_MEMORY_BYTES
    background: Annotated[
        Literal["keep", "none"],
        About("keep: node use that no container explains stays on its node."),
    ] = "keep"
    reserved: Reserved = NONE

    def __post_init__(self) -> None:
        parameters.check_ranges(self)
