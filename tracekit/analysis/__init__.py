"""All analytics of a store in one go: the queries, and what numpy computes from their rows."""

from tracekit.analysis.run import analyze
from tracekit.analysis.work import Analysis

__all__ = ["Analysis", "analyze"]
