"""tracekit list: what there is of a kind."""

from __future__ import annotations

from typing import Annotated

import typer

from tracekit.cli._options import JsonOption
from tracekit.cli._output import print_json, print_table


def command(
    kind: Annotated[
        str,
        typer.Argument(
            help="sources, tables, queries, metrics, figures, policies, reports or presets."
        ),
    ],
    json: JsonOption = False,
) -> None:
    """List what there is of a kind: queries, policies, figures, ...

    Example: tracekit list policies
    """
    import tracekit

    entries = tracekit.listing(kind)
    if json:
        print_json({"schema": "tracekit/list/1", "kind": kind, "entries": entries})
        return
    print_table("", ["name", "what it is"], [[entry["name"], entry["title"]] for entry in entries])
    if any(entry.get("params") for entry in entries):
        print(f"parameters with defaults and sources: tracekit list {kind} --json")
