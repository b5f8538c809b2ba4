"""A report that was written: its key findings, and the page to open."""

from tracekit.report import ReportSummary
from tracekit.shown import Page
from tracekit.units import size


def page(summary: ReportSummary) -> Page:
    """The page of a report."""
    return Page(
        title=f"Report {summary.path} ({size(summary.size_bytes)})",
        lines=(*summary.left_out, *summary.findings),
        link=str(summary.path),
    )
