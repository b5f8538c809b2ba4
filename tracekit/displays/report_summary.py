"""A report that was written: its key findings, and the page to open."""

from tracekit.report.render import ReportSummary
from tracekit.report.sentences import short
from tracekit.shown import Page
from tracekit.units import size


def page(summary: ReportSummary) -> Page:
    """The page of a report."""
    facts = [one for one in summary.answer.facts if one.weight <= 1]
    return Page(
        title=f"Report {summary.path} ({size(summary.size_bytes)})",
        lines=(*summary.left_out, *(short(one) for one in facts)),
        link=str(summary.path),
    )
