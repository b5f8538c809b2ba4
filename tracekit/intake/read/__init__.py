"""From trace files to clean rows: whatever the container, in blocks, with rejects apart."""

from tracekit.intake.read.discover import TraceFile, discover
from tracekit.intake.read.table_file import Reading, read_file
from tracekit.intake.read.validate import CleanBlock

__all__ = ["CleanBlock", "Reading", "TraceFile", "discover", "read_file"]
