"""The report: one self-contained HTML file about a store or a run."""

from tracekit.report.figures import Figure, all_figures
from tracekit.report.findings import Finding, all_findings
from tracekit.report.pages import Page, all_pages
from tracekit.report.render import ReportSummary, render

__all__ = [
    "Figure",
    "Finding",
    "Page",
    "ReportSummary",
    "all_figures",
    "all_findings",
    "all_pages",
    "render",
]
