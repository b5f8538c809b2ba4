"""What a store holds, as facts: computed from its document and its queries."""

from collections.abc import Iterator

from tracekit.answer.facts import Fact, Followup
from tracekit.report.data import Data

#: Tables whose time is that of the record, the first that has rows.
_TIMED = ("container_usage", "node_usage", "container_amount", "service_rate", "call", "container")
#: Zones that have a correlation.
_ZONES = ("A", "B", "C")


def facts_of_store(data: Data) -> Iterator[Fact]:
    """The span first, then tables, use, zones, defects and call graphs."""
    if not data.has_store:
        return
    tables = (data.info or {}).get("tables", {})
    yield from _span(tables)
    for name, one in tables.items():
        yield Fact(kind="records", subject=name, value=one.get("rows"), unit="rows")
    for row in data.query("usage/node_vs_container").iter_rows(named=True):
        if row["level"] == "node" and row["mean"] is not None:
            yield Fact(
                kind="utilization",
                subject="nodes",
                value=row["mean"],
                high=row["peak"],
                unit="fraction",
                about={"resource": {"cpu": "CPU"}.get(row["resource"], row["resource"])},
            )
    for row in data.query("usage/zone_summary").iter_rows(named=True):
        if row["zone"] in _ZONES:
            yield Fact(kind="zone", subject=row["zone"], value=row["node_share"], unit="fraction")
    for row in data.query("quality/ledger").iter_rows(named=True):
        yield Fact(
            kind="defect",
            subject=str(row["defect"]).replace("_", " "),
            value=row["rows"],
            unit="rows",
            about={"table": row["table"], "action": row["action"]},
        )


def _span(tables: dict[str, dict[str, int | None]]) -> Iterator[Fact]:
    timed = next((tables[one] for one in _TIMED if tables.get(one, {}).get("rows")), None)
    if timed is None:
        return
    many = {
        name: max((int(one.get(name) or 0) for one in tables.values()), default=0) or None
        for name in ("containers", "nodes")
    }
    span = int(timed.get("span_ms") or 0) + int(timed.get("step_ms") or 0)
    yield Fact(kind="span", subject="trace", value=span, unit="ms", about=many)


def next_of_store(data: Data) -> Iterator[Followup]:
    """What to do with a store, or with a replay of it, that nothing was decided on."""
    if data.has_store:
        yield Followup(
            question="run", command="run", arguments={"SRC": data.paths.store, "out": "out"}
        )
