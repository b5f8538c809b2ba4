"""What neighbours cost: service by service, with a verdict."""

from tracekit.fit.run import Fit
from tracekit.shown import Page, page_of, table
from tracekit.words import counted

#: What the table shows of a service.
_COLUMNS = ("service", "basis", "rows", "k1", "k1_low", "k1_high", "k2", "verdict", "reason")


def page(fit: Fit) -> Page:
    """The page of a fit."""
    services, pooled = fit.fitted.services, fit.fitted.pooled
    columns, rows = table(services, _COLUMNS)
    over_all = pooled.row(0, named=True)
    verdicts = services["verdict"].value_counts(sort=True).rows() if services.height else []
    return Page(
        title=f"What neighbours cost, {fit.mode}: {counted(fit.rows.height, 'container')}",
        lines=[
            f"all services together: {over_all['verdict']}, {over_all['reason']}",
            *(f"{count:,} services: {verdict}" for verdict, count in verdicts),
            *fit.notes,
        ],
        columns=columns,
        rows=rows,
        rest=[
            f".fitted.services: {counted(services.height, 'row')}",
            *page_of(fit).rest,
        ],
    )
