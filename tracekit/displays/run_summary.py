"""Everything in one call: the key findings, and where each part is."""

from typing import Any

from tracekit.shown import Page


def page(summary: Any) -> Page:
    """The page of a whole run, whose class lies above this package."""
    rest = [f"tracekit.connect({str(summary.store)!r}): its store"]
    if summary.replay is not None:
        rest.append(f"{summary.replay}: its replays")
    return Page(
        title=f"Everything about {summary.out}",
        lines=[*summary.findings, *(f"left out: {reason}" for reason in summary.skipped)],
        link=str(summary.report),
        rest=rest,
    )
