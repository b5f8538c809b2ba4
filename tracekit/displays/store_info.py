"""What is in a store: its tables, and how each quantity is known."""

from tracekit.query.describe import StoreInfo
from tracekit.shown import Page
from tracekit.store.manifest import MADE_UP
from tracekit.units import duration
from tracekit.words import counted


def page(found: StoreInfo) -> Page:
    """The page of a store."""
    tables, known = found["tables"], found["quantities"]
    kinds = dict.fromkeys(known.values())
    made_up = [MADE_UP] if found["made_up"] else []
    rows = sum(one["rows"] for one in tables.values())
    return Page(
        title=f"Store: {counted(rows, 'row')} in {counted(len(tables), 'table')}",
        lines=[
            *made_up,
            *(f"{kind}: {', '.join(n for n, k in known.items() if k == kind)}" for kind in kinds),
        ],
        columns=["table", "rows", "rejected", "span", "step"],
        rows=[
            [
                name,
                one["rows"],
                one["rejected"],
                duration(one["span_ms"]),
                duration(one["step_ms"]) if one.get("step_ms") else "-",
            ]
            for name, one in tables.items()
        ],
        rest=[
            f"['tables'], ['quantities'], ['sources']: {counted(len(found['sources']), 'entry')}"
        ],
    )
