"""tracekit info: what is in a store."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_sentence, print_table
from tracekit.words import counted

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
            f"{table[plural]:,} {plural if table[plural] != 1 else plural.removesuffix('s')}"
            for plural in ("traces", "services", "containers", "nodes")
            if table.get(plural)
        )
        rows.append(
            [
                name,
                table["rows"],
                _span(table),
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
    print(f"{counted(len(files), 'source file')}; data quality: tracekit check {store}")


def _span(table: Mapping[str, Any]) -> str:
    """From the first to the last time; of a moment, and of times of two beginnings, none."""
    from tracekit.units import duration, of_two_beginnings

    first, last = table["time_min_ms"] or 0, table["time_max_ms"] or 0
    mixed = of_two_beginnings(first, last)
    return duration(table["span_ms"]) if table["span_ms"] and not mixed else "-"
