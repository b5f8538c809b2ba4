"""The changes of assumptions that are tried when none are given, by what a workload states."""

from tracekit.base.constants import (
    CONTAINER_CPU_CORES,
    CONTAINER_MEMORY_BYTES,
    NODE_CPU_CORES,
    NODE_MEMORY_BYTES,
)
from tracekit.base.units import BYTES_PER_GIB

#: Changes that are tried when none are given: half and double sizes, and the other readings.
CHANGES = (
    *(
        f"{name}={size * times / unit:g}{spelled}"
        for name, size, unit, spelled in (
            ("node_cpu_cores", NODE_CPU_CORES, 1, ""),
            ("node_memory_bytes", NODE_MEMORY_BYTES, BYTES_PER_GIB, "GiB"),
            ("request_cpu_cores", CONTAINER_CPU_CORES, 1, ""),
            ("request_memory_bytes", CONTAINER_MEMORY_BYTES, BYTES_PER_GIB, "GiB"),
        )
        for times in (0.5, 2)
    ),
    "background=none",
    "reserved=none",
    "arrival=trace",
    "network_and_disk=modelled",
)
#: The same for a store with sizes: there is less to assume.
SIZED_CHANGES = (
    "used_share=0.5",
    "order=listed",
    "arrival_span_ms=0",
    "departures=none",
    "background=none",
    "groups=none",
    "selectors=none",
    "cells=none",
    "resources=cpu+memory",
)
#: The same for a trace beside which sizes are recorded.
RECORDED_CHANGES = (
    "requests=uniform",
    "node_sizes=assumed",
    "resources=cpu+memory",
    "background=none",
    "reserved=none",
    "arrival=trace",
)
