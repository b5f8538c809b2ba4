"""What a store holds, as facts: computed from its document and its queries."""

from collections.abc import Iterator

from tracekit.answer.facts import Fact, Followup
from tracekit.answer.trace import facts_of_ledger, facts_of_tables
from tracekit.report.data import Data

#: Zones that have a correlation.
_ZONES = ("A", "B", "C")


def facts_of_store(data: Data) -> Iterator[Fact]:
    """The span first, then tables, use, zones, defects and call graphs."""
    if not data.has_store:
        return
    yield from facts_of_tables((data.info or {}).get("tables", {}))
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
    yield from facts_of_ledger(data.query("quality/ledger").iter_rows(named=True))


def next_of_store(data: Data) -> Iterator[Followup]:
    """What to do with a store, or with a replay of it, that nothing was decided on."""
    if data.has_store:
        yield Followup(
            question="run", command="run", arguments={"SRC": data.paths.store, "out": "out"}
        )
