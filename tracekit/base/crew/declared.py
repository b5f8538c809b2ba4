"""Default limits of work."""

from tracekit.base.units import BYTES_PER_GIB

#: Memory for all processes of an ingest together.
MEMORY_LIMIT_BYTES = BYTES_PER_GIB
