"""The analytics of a store: zones, what can be told, and every frame."""

from tracekit.analysis.plain import head
from tracekit.analysis.summary import summary, verdicts
from tracekit.analysis.work import Analysis
from tracekit.shown import Bar, Page, frames_in
from tracekit.words import counted


def page(analysis: Analysis) -> Page:
    """The page of all analytics."""
    table, said = head(analysis)
    first = table or next(iter(summary(analysis)), None)
    zones = analysis.frames.get("usage/zone_summary")
    return Page(
        title=f"Analytics of a store: {counted(len(analysis.frames), 'result')}",
        lines=[*said, *verdicts(analysis)],
        columns=list(first.columns) if first else (),
        rows=list(first.rows) if first else (),
        bars=[
            Bar(name=f"correlation zone {zone}", value=nodes, strong=True)
            for zone, nodes in zones.select("zone", "nodes").rows()
        ]
        if zones is not None
        else (),
        axis="nodes",
        rest=frames_in(".frames", analysis.frames),
    )
