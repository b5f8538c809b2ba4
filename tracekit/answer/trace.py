"""What a store holds, and how far it can be trusted: facts of tables, quantities and defects."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracekit.analysis.callgraph.run import CallGraphs
from tracekit.base.facts import Answer, Fact, answer_of, fact_of

#: Tables whose time is that of the record, the first that has rows.
_TIMED = ("container_usage", "node_usage", "container_amount", "service_rate", "call", "container")
#: So many defects, those of the most rows, are of a fact's usual rank; others are behind them.
_LARGEST = 5
_BEHIND = 3


def answer_of_trace(document: Mapping[str, Any]) -> Answer:
    """What ``describe``, or ``check``, says of a store; what matters most first."""
    return answer_of(
        [
            *facts_of_tables(document["tables"]),
            *facts_of_quantities(document.get("quantities", {})),
            *facts_of_ledger(document.get("ledger", ())),
            *map(fact_of, document.get("doubts", ())),
        ]
    )


def facts_of_tables(tables: Mapping[str, Mapping[str, Any]]) -> Iterator[Fact]:
    """The span of the record, and the rows of each table; a table of which none was kept first."""
    timed = next((tables[one] for one in _TIMED if tables.get(one, {}).get("span_ms")), None)
    if timed is not None:
        many = {
            name: max((int(one.get(name) or 0) for one in tables.values()), default=0) or None
            for name in ("containers", "nodes")
        }
        span = int(timed["span_ms"] or 0) + int(timed.get("step_ms") or 0)
        yield Fact(kind="span", subject="trace", value=span, unit="ms", about=many)
    for name, one in tables.items():
        lost = not one.get("rows") and bool(one.get("rejected"))
        yield Fact(
            kind="records",
            subject=name,
            value=one.get("rows"),
            unit="rows",
            because="none_kept" if lost else "",
            rank=1 if lost else None,
            about={part: one.get(part) for part in ("rejected", "duplicates_dropped", "step_ms")},
        )


def facts_of_quantities(known: Mapping[str, str]) -> Iterator[Fact]:
    """Whether each quantity is recorded, inferred or absent."""
    for name, how in known.items():
        yield Fact(kind="quantity", subject=name, value=how)


def facts_of_ledger(rows: Iterable[Mapping[str, Any]]) -> Iterator[Fact]:
    """The defects of a store, most rows first: rows, and what was done about them."""
    ranked = sorted(rows, key=lambda row: -row["rows"])
    for place, row in enumerate(ranked):
        yield Fact(
            kind="defect",
            subject=row["defect"],
            value=row["rows"],
            unit="rows",
            rank=None if place < _LARGEST else _BEHIND,
            about={
                "table": row["table"],
                "column": row.get("column") or None,
                "share_fraction": row.get("share"),
                "action": row["action"],
            },
        )


def answer_of_call_graphs(graphs: CallGraphs) -> Answer:
    """How many call graphs there are, how many are whole, and what their records lack."""
    counts = graphs.counts
    traces = max(counts["traces"], 1)
    first = Fact(
        kind="call_graphs",
        subject="traces",
        value=counts["traces"],
        rank=1,
        about={
            "broken_fraction": counts["with_missing_calls"] / traces,
            "whole_fraction": counts["connected"] / traces,
            **counts,
        },
    )
    lacks = (
        Fact(
            kind="defect",
            subject=row["defect"],
            value=row["count"],
            unit="events",
            about={"table": "call", "action": row["action"], "traces": row["traces"]},
        )
        for row in graphs.ledger.to_dicts()
    )
    return answer_of([first, *lacks])
