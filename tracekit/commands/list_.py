"""tracekit list: the entries of a kind."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.completion import completer
from tracekit.commands.shell.output import print_json, print_paragraph, print_table
from tracekit.commands.shell.signature import JsonOption

PANEL = Panel.tell


def command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="For example policies; without it, every kind.",
            autocompletion=completer("kinds"),
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One of the kind, with its parameters and source."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the entries of a kind: queries, policies, figures, ...; or explain one of them.

    Example: tracekit list policies
    """
    import tracekit
    from tracekit.commands.listing import KINDS, entry

    if kind is None:
        entries: list[Any] = [{"name": one, "count": len(tracekit.listing(one))} for one in KINDS]
        columns = ["kind", "how many"]
    else:
        entries = [entry(kind, name)] if name else list(tracekit.listing(kind))
        columns = ["name", "what it is"]
    if json:
        print_json({"schema": "tracekit/list/1", "kind": kind, "entries": entries})
    elif kind and name:
        _print_entry(entries[0])
    else:
        print_table("", columns, [list(one.values())[:2] for one in entries])
        print(f"more: tracekit list {kind or 'KIND'}{' NAME' if kind else ''}, or --json")


def _print_entry(entry: Mapping[str, Any]) -> None:
    """Print one entry: its texts as paragraphs, its lists as tables."""
    for key, value in entry.items():
        if isinstance(value, str):
            print_paragraph(value if key in {"title", "description"} else f"{key}: {value}")
    for key, value in entry.items():
        rows = value if isinstance(value, list) else []
        if rows and all(isinstance(row, Mapping) for row in rows):
            print_table(key, list(rows[0]), [list(row.values()) for row in rows])
        elif value and not isinstance(value, str):
            print_paragraph(f"{key}: {_spelled(value)}")


def _spelled(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} ({of})" for key, of in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
