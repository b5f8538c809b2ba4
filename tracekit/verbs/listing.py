"""What there is of a kind: sources, tables, queries, metrics, figures, policies, ..."""

from tracekit.catalogue import listing

__all__ = ["listing"]
