"""The ingest: trace files into a store, sorted and checked, one transaction per file."""

from tracekit.intake.ingest.summary import IngestSummary
from tracekit.intake.ingest.write import ingest

__all__ = ["IngestSummary", "ingest"]
