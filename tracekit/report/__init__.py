"""The report: one self-contained HTML file about a store or a run."""

from tracekit.report.figures import Figure, all_figures
from tracekit.report.pages import Page, all_pages
from tracekit.report.render import ReportSummary, render

__all__ = ["Figure", "Page", "ReportSummary", "all_figures", "all_pages", "render"]
