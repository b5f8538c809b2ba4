"""Download the archives of a trace release."""

from tracekit.fetch.run import fetch

__all__ = ["fetch"]
