"""Sizes that a trace does not state: as its sources or papers give them, or read here."""

from tracekit.units import BYTES_PER_GIB

#: A node: two sockets of 52 vCPU (the hosts of the patent); its memory is read here.
NODE_CPU_CORES, NODE_MEMORY_BYTES = 104.0, 384 * BYTES_PER_GIB
#: Its disk is read here too.
NODE_DISK_BYTES = 3600 * BYTES_PER_GIB
#: A container: at most 4 cores (the study of the trace); its memory is read here.
CONTAINER_CPU_CORES, CONTAINER_MEMORY_BYTES = 4.0, 4 * BYTES_PER_GIB
#: The experiment of the TBESK paper (Geng and Wang 2023, section 5.2); the fill is read here.
PAPER_NODES, PAPER_CONTAINERS, PAPER_ALLOC_FRACTION = 31, 1800, 0.75
#: Time between two samples of use in the trace; what is taken for it where nothing tells.
STEP_MS = 30_000
