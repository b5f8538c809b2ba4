"""Call graphs of a store: counts, and what was wrong with their records."""

from tracekit.callgraph.run import CallGraphs
from tracekit.shown import Bar, Page, page_of, table


def page(graphs: CallGraphs) -> Page:
    """The page of call graphs."""
    columns, rows = table(graphs.ledger)
    busiest = graphs.services.head(10)
    return Page(
        title=f"Call graphs: {graphs.counts.get('traces', 0):,} traces",
        lines=[f"{name.replace('_', ' ')}: {count:,}" for name, count in graphs.counts.items()],
        columns=columns,
        rows=rows,
        bars=[
            Bar(name=str(name)[:12], value=calls, strong=True)
            for name, calls in busiest.select("service", "calls").rows()
        ],
        axis="calls of the busiest services",
        rest=page_of(graphs).rest,
    )
