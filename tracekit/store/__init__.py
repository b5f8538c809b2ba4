"""The store: a folder of Parquet that any tool can open."""

from tracekit.store.folder import Store, open_store

__all__ = ["Store", "open_store"]
