"""tracekit info: what is in a store."""

from __future__ import annotations

from pathlib import Path

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._output import print_json, print_sentence, print_table
from tracekit.cli._panels import Panel

PANEL = Panel.look


def command(asked: Asked, store: Path, json: JsonOption = False) -> None:
    """Say what is in a store: tables, rows, times, steps, entities, sources.

    Example: tracekit info mystore --json
    """
    from tracekit.units import duration

    document = asked()
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
    for kind in ("recorded", "inferred", "absent"):
        names = [name for name, found in document["quantities"].items() if found == kind]
        if names:
            print_sentence(f"{kind}: {', '.join(names)}")
    for sentence in document["doubts"]:
        print_sentence(sentence)
    files = {one["file"] for one in document["sources"] if one["release"] != "derived"}
    print(
        f"{len(files)} source file{'s' * (len(files) != 1)}; data quality: tracekit check {store}"
    )
