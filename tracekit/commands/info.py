"""tracekit info: what is in a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit.base.words import counted, quoted
from tracekit.commands._options import Store
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_lines, right
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.base.facts import Answer
    from tracekit.report.terminal import Column
    from tracekit.store.query.run import StoreInfo


def info(store: Store) -> StoreInfo:
    """What is in a store; see ``tracekit.store.query.run.describe``.

    The catalog of a store that was moved or copied is made anew.
    """
    from tracekit.store.catalog import mend_moved_catalog
    from tracekit.store.folder import open_store
    from tracekit.store.query.run import describe

    opened = open_store(store)
    mend_moved_catalog(opened)
    return describe(opened)


PANEL = Panel.look


def command(call: Call, store: Path, json: JsonOption = False) -> None:
    """Say what is in a store: tables, rows, times, steps, entities, sources.

    Example: tracekit info mystore --json
    """
    from tracekit.answer.caveats import answer_of_trace

    document = call()
    answer = answer_of_trace(document)
    if json:
        facts = [one.document() for one in answer.facts]
        print_json({"schema": "tracekit/info/1", **document, "facts": facts})
        return
    print_lines(_page(store, document, answer))


def _page(store: Path, document: Mapping[str, Any], answer: Answer) -> Iterator[str]:
    """Tables, quantities (recorded, inferred or absent), doubts, and the next command."""
    from tracekit.report.terminal import facts_in_full, item, table, typed

    lost = [one for one in answer.of("records") if one.because == "none_kept"]
    yield from facts_in_full([*answer.of("span"), *lost])
    heads: list[str | Column] = ["table", "rows", *right("span", "step"), "entities"]
    yield from table([_row(name, one) for name, one in document["tables"].items()], heads)
    yield ""
    for how in ("recorded", "inferred", "absent"):
        names = [one.subject for one in answer.of("quantity") if one.value == how]
        if names:
            yield from item(f"{how}: {', '.join(names)}")
    yield from facts_in_full(answer.of("doubt"))
    files = {one["file"] for one in document["sources"] if one["release"] != "derived"}
    yield from item(f"{counted(len(files), 'source file')}; what is wrong with their rows:")
    yield from typed(f"tracekit check {quoted(str(store))}")


def _row(name: str, one: Mapping[str, Any]) -> list[str | int]:
    """A table: its rows, span, step, and the number of each entity."""
    from tracekit.base.units import duration

    entities = ", ".join(
        counted(one[many], many.removesuffix("s"))
        for many in ("traces", "services", "containers", "nodes")
        if one.get(many)
    )
    step = one.get("step_ms")
    return [name, one["rows"], _span(one), duration(step) if step else "-", entities]


def _span(table: Mapping[str, Any]) -> str:
    """The span of a table's times; '-' for one moment, and for times with two origins."""
    from tracekit.base.units import duration, of_two_beginnings

    first, last = table["time_min_ms"] or 0, table["time_max_ms"] or 0
    mixed = of_two_beginnings(first, last)
    return duration(table["span_ms"]) if table["span_ms"] and not mixed else "-"
