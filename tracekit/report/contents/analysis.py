"""Tables and sentences of the analytics and the call graphs, for the page templates."""

from collections.abc import Sequence

import polars as pl

from tracekit.analysis.results import all_results
from tracekit.analysis.summary import SummaryTable, summary, verdicts
from tracekit.analysis.work import Analysis
from tracekit.report.cells import Cell, Column, Table, table
from tracekit.report.computed import ANALYSIS, CALLGRAPH
from tracekit.report.data import Data
from tracekit.report.heads import capital
from tracekit.words import MINUS, NBSP, count, percent, spaced

#: Queries that the tables with intervals take counts from.
_QUERIES = (
    "usage/zone_summary",
    "usage/node_cohorts",
    "usage/change_causes",
    "services/demand",
)
_SIZES = ("CPU size", "memory size")
_DEMAND = "calls explain"
#: With fewer idle nodes than this share of the busy ones there is no place for their load.
_ROOM_SHARE = 0.1
#: What the figure of the tail says itself.
_TAIL = "the upper"
#: What the page on claims says.
_CLAIMS = "of the study's"


def confidence(data: Data, name: str) -> Table:
    """One of the tables with intervals; without rows when the store has nothing for it."""
    found = next((one for one in summary(_analysis(data)) if one.name == name), None)
    return Table(caption="", columns=[], rows=[]) if found is None else _as_table(found)


def busy(data: Data) -> str:
    """What the groups of nodes mean, and where load of the busy ones could go, in sentences."""
    frame = data.query("usage/node_cohorts")
    nodes = {} if frame.is_empty() else dict(frame.select("cohort", "nodes").rows())
    high, low = nodes.get("HIGH", 0), nodes.get("LOW", 0)
    meaning = "HIGH nodes have 70 % or more of their CPU in use at the mean, LOW ones below 30 %."
    skewed = (
        "The memory of MEMSKEW nodes lies farthest above their CPU: what room they have is for"
        " containers that want CPU."
    )
    return spaced(" ".join(filter(None, (meaning, _where_to(high, low), skewed))))


def _where_to(high: int, low: int) -> str:
    """Whether the few or many idle nodes could take load of the busy ones; or nothing."""
    if not high:
        return ""
    if low >= _ROOM_SHARE * high:
        return (
            f"Load could go from {count(high, 'HIGH node')} to {count(low, 'LOW node')}, as far as"
            " memory and rules allow."
        )
    few = "no node is LOW" if not low else f"{low:,} {'is' if low == 1 else 'are'} LOW"
    return (
        f"{count(high, 'node')} {'is' if high == 1 else 'are'} HIGH and {few}: hardly any node"
        " could take their load, so that moving containers relieves few of them; more nodes or less"
        " load would."
    )


def sentences(data: Data) -> list[str]:
    """Doubts, tails and trends in words."""
    elsewhere = (*_SIZES, _DEMAND, _TAIL, _CLAIMS)
    return [_sentence(one) for one in verdicts(_analysis(data)) if not one.startswith(elsewhere)]


def sizes(data: Data) -> list[str]:
    """What the trace tells of the sizes of containers, resource by resource."""
    return [_sentence(said) for said in verdicts(_analysis(data)) if said.startswith(_SIZES)]


def alikeness(data: Data) -> Table:
    """How alike the containers of one service are."""
    frame = data.query("services/alikeness")
    name = "services/alikeness"
    return table(frame, "How alike the containers of a service are", query=name)


def hot_services(data: Data, most: int = 12) -> Table:
    """The services that are called most."""
    frame = data.query("calls/hot_services")
    if "service" in frame.columns:
        frame = frame.filter(pl.col("service").is_not_null())
    caption = f"The {most} most called of {count(frame.height, 'service')}"
    return table(frame.head(most), caption, query="calls/hot_services")


def unnamed_calls(data: Data) -> str:
    """A sentence on calls to services that nobody recorded."""
    frame = data.query("calls/hot_services")
    if frame.is_empty():
        return ""
    unnamed = frame.filter(pl.col("service").is_null())
    if unnamed.is_empty():
        return ""
    calls, share = unnamed.select("calls", "call_share").row(0)
    return (
        f"{count(calls, 'call')} more ({percent(share)} of all) go to services that the trace does"
        " not name; the table leaves them out."
    )


def split_traces(data: Data) -> str:
    """A sentence on traces whose calls are in more than one file."""
    ledger = data.query("quality/ledger")
    if ledger.is_empty():
        return ""
    split = ledger.filter(pl.col("defect").str.contains("split"))
    traces = int(split["rows"].sum())
    return f"{count(traces, 'trace')} continue in another file; they were put together." * bool(
        traces
    )


def has_calls(data: Data) -> bool:
    """Whether there are call graphs to show."""
    return not data.result(f"{CALLGRAPH}/shapes").is_empty()


def _analysis(data: Data) -> Analysis:
    frames = {name: data.result(f"{ANALYSIS}/{name}") for name in all_results()}
    frames |= {name: data.query(name) for name in _QUERIES}
    return Analysis(frames={name: one for name, one in frames.items() if not one.is_empty()})


def _sentence(text: str) -> str:
    spaced = text.replace(" %", f"{NBSP}%").replace(" -", f" {MINUS}")
    return f"{spaced[0].upper()}{spaced[1:]}."


def _as_table(found: SummaryTable) -> Table:
    numeric = [_numeric([row[at] for row in found.rows]) for at in range(len(found.columns))]
    columns = [
        Column(
            name=label,
            label=capital(f"{label} [%]" if _interval(found, at) else label),
            kind="number" if number else "text",
        )
        for at, (label, number) in enumerate(zip(found.columns, numeric, strict=True))
    ]
    rows = [[_cell(value) for value in row] for row in found.rows]
    return Table(caption=found.title, columns=columns, rows=rows)


def _interval(found: SummaryTable, at: int) -> bool:
    return any("\u00b1" in str(row[at]) for row in found.rows)


def _numeric(values: Sequence[object]) -> bool:
    return all(not isinstance(value, str) or value[:1] in "-0123456789" for value in values)


def _cell(value: object) -> Cell:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    first = text.replace(",", "").split()[0] if text else ""
    return Cell(text=text.replace("-", MINUS) if first != "-" else "\u2013", sort=first)


__all__ = [
    "alikeness",
    "confidence",
    "has_calls",
    "hot_services",
    "sentences",
    "sizes",
    "split_traces",
    "unnamed_calls",
]
