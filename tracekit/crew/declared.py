"""What work may take, where nobody says it."""

from __future__ import annotations

#: Memory for all processes of an ingest together.
MEMORY_LIMIT_BYTES = 2**30
