"""From trace files to clean rows: whatever the container, in blocks, with rejects apart."""

from tracekit.read.discover import TraceFile, discover
from tracekit.read.table_file import Reading, read_file
from tracekit.read.validate import CleanBlock

__all__ = ["CleanBlock", "Reading", "TraceFile", "discover", "read_file"]
