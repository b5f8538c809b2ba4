"""The store: a folder of Parquet that any tool can open, and the ingest that fills it."""

from tracekit.store.folder import Store, open_store
from tracekit.store.write import IngestSummary, ingest

__all__ = ["IngestSummary", "Store", "ingest", "open_store"]
