"""From trace files to clean rows: whatever the container, in blocks, with rejects apart."""

from tracekit.ingest.discover import TraceFile, discover
from tracekit.ingest.read import Reading, read_file
from tracekit.ingest.validate import CleanBlock

__all__ = ["CleanBlock", "Reading", "TraceFile", "discover", "read_file"]
