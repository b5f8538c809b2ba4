"""tracekit info: what is in a store."""

from __future__ import annotations

from tracekit.cli._options import JsonOption, StoreArgument
from tracekit.cli._output import print_json, print_table


def command(store: StoreArgument, json: JsonOption = False) -> None:
    """Say what is in a store: tables, rows, times, steps, entities, sources.

    Example: tracekit info mystore --json
    """
    import tracekit
    from tracekit.units import duration

    document = tracekit.info(store)
    if json:
        print_json({"schema": "tracekit/info/1", **document})
        return
    rows = []
    for name, table in document["tables"].items():
        step = table.get("step_ms")
        entities = ", ".join(
            f"{table[plural]:,} {plural}"
            for plural in ("traces", "services", "containers", "nodes")
            if plural in table
        )
        rows.append(
            [
                name,
                table["rows"],
                duration(table["span_ms"]),
                duration(step) if step else "-",
                entities,
            ]
        )
    print_table(f"Store {store}", ["table", "rows", "span", "step", "entities"], rows)
    print(f"{len(document['sources'])} source files; data quality: tracekit check {store}")
