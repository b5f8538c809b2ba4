"""The ingest: trace files into a store, sorted and checked, one transaction per file."""

from tracekit.ingest.write import IngestSummary, ingest

__all__ = ["IngestSummary", "ingest"]
