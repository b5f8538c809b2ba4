"""Downloads the archives of a trace release: resumable, parallel, checked to the last byte."""

from tracekit.intake.fetch.http import Retries
from tracekit.intake.fetch.run import FetchSummary, fetch

__all__ = ["FetchSummary", "Retries", "fetch"]
