"""A comparison of sizing policies."""

from tracekit.shown import Page, page_of, table
from tracekit.sizing.study import Study
from tracekit.words import counted


def page(study: Study) -> Page:
    """The page of a sizing run."""
    columns, rows = table(study.summary)
    return Page(
        title=f"Sizing of containers by {counted(len(study.policies), 'policy')}",
        columns=columns,
        rows=rows,
        rest=page_of(study).rest,
    )
