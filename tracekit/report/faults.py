"""Faults of tracekit's in a page of a report: the page says so, and the others are whole."""

import os

import jinja2

from tracekit.report.pages import Page

#: What a fault in a page's own code raises; damage and refusals of the system have other types.
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    jinja2.TemplateError,
)


def page_fault(page: Page, error: Exception) -> str:
    """What is said of a page that has a fault of tracekit's; raises it with TRACEKIT_DEBUG."""
    if os.environ.get("TRACEKIT_DEBUG"):
        raise error
    reason = next(iter(str(error).splitlines()), "")
    return (
        f"The page '{page.title}' could not be made: {type(error).__name__}: {reason}. The other"
        " pages are whole. This is a bug; run 'tracekit --debug report ...' and report what it"
        " prints."
    )
