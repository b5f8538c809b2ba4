"""The ingest: trace files into a store, sorted and checked, one transaction per file."""

from tracekit.ingest.summary import IngestSummary
from tracekit.ingest.write import ingest

__all__ = ["IngestSummary", "ingest"]
