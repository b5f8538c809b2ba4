"""The pages of docs/: their code blocks, and the reference generated from the code."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer.main
from click import Context

from tracekit import commands
from tracekit.answer.claims.every import by_experiment, with_all
from tracekit.answer.claims.table import TRACE, all_claims
from tracekit.commands import listing as catalogue
from tracekit.commands.shell import build_app
from tracekit.intake.sources import all_sources
from tracekit.report import sentences, tables

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^(?:#|--) file: (\S+)\n")
#: Texts of an entry that a page of the reference gives, each in a paragraph.
_TOLD = ("description", "formula", "source", "unit", "better", "over_steps", "bound")
_NOTE = "Generated from the code by `make reference`; not to be edited by hand.\n"


_SCHEMAS = (
    "Every `--json` prints one document, and every folder of results has one; each names its form"
    " under `schema` (a store's by `format_version`). These are JSON schemas of them.\n"
)


def pages() -> list[Path]:
    """Pages written by hand."""
    return sorted(page for page in DOCS.rglob("*.md") if page.parent.name != "reference")


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Language and text of each block of code that says what it is written in."""
    for match in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield match[1], match[2]


def file_of(text: str) -> tuple[str, str] | None:
    """The name of the file a block goes to, with its text; None when it is to be run."""
    named = _FILE.match(text)
    return (named[1], text[named.end() :]) if named else None


def typed_commands(text: str) -> list[list[str]]:
    """Arguments of every ``tracekit`` line of a block; raises for another program."""
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    for line in lines:
        if line and line[0] != "tracekit":
            raise ValueError(f"not a tracekit command: {line}")
    return [line[1:] for line in lines if line]


def reference() -> Mapping[str, str]:
    """The pages of docs/reference, by file name."""
    return {
        "commands.md": _commands(),
        "queries.md": _listing("queries", "Queries", ("params", "columns")),
        "policies.md": _listing("policies", "Policies", ("params",)),
        "tables.md": _listing("tables", "Tables", ("columns",)),
        "metrics.md": _listing("metrics", "Metrics", ()),
        "api.md": _api(),
        "schemas.md": _schemas(),
        "sources.md": _sources(),
        "measures.md": _listing("measures", "Measures of a replay", ()),
    }


def _commands() -> str:
    group: Any = typer.main.get_command(build_app())
    parts = ["# Commands\n", _NOTE]
    for name in sorted(group.commands):
        context = Context(group.commands[name], info_name=f"tracekit {name}")
        context.terminal_width = 80
        shown = "\n".join(line.rstrip() for line in context.get_help().splitlines())
        parts.append(f"## tracekit {name}\n\n```text\n{shown}\n```\n")
    return "\n".join(parts)


def _api() -> str:
    """A page that the site fills from docstrings, a section for each verb."""
    parts = ["# The verbs in Python\n", _NOTE]
    parts += [
        f"::: tracekit.commands.{name}.{name}\n"
        for name in commands.function_names()
        if name != "listing"
    ]
    parts.append("::: tracekit.base.errors.TracekitError\n")
    return "\n".join(parts)


def _schemas() -> str:
    """A page that lists the JSON schemas."""
    files = sorted((DOCS / "reference" / "schemas").glob("*.json"))
    rows = [
        {"document": f"`{json.loads(one.read_bytes())['$id'].removesuffix('.json')}`",
         "schema": f"[{one.name}](schemas/{one.name})"}
        for one in files
    ]  # fmt: skip
    return f"# JSON documents\n\n{_NOTE}\n{_SCHEMAS}\n{_table(rows)}"


def _sources() -> str:
    """A page that lists the sources, with a link to the page of each that has one."""
    rows = [
        {"source": f"[{name}](../sources/{name}.md)" if (DOCS / "sources" / f"{name}.md").exists()
         else name, "what it is": source.title}
        for name, source in all_sources().items()
    ]  # fmt: skip
    return f"# Sources\n\n{_NOTE}\n{_table(rows)}"


def _listing(kind: str, title: str, lists: Sequence[str]) -> str:
    parts = [f"# {title}\n", _NOTE]
    for entry in catalogue.listing(kind):
        parts.append(f"## {entry['name']}\n\n{entry['title'].removesuffix('.')}.\n")
        facts = [key for key in _TOLD if entry.get(key)]
        parts += [f"{key.capitalize().replace('_', ' ')}: {entry[key]}\n" for key in facts]
        parts += [_table(entry[key]) for key in lists if entry.get(key)]
    return "\n".join(parts)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = list(rows[0])
    cell: Callable[[object], str] = lambda value: str(value).replace("|", "\\|").replace("\n", " ")  # noqa: E731
    lines = [columns, ["---"] * len(columns), *([cell(row[c]) for c in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


#: Between these stands the table of claims, on the pages that have one.
BEGIN, END = "<!-- claims -->", "<!-- end of claims -->"
CLAIM_PAGES = {DOCS.parent / "README.md": True, DOCS / "claims.md": False}


def with_claims(page: Path) -> str:
    """A page with the tables of claims by the recorded verdicts; the README has the main ones."""
    head, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    made = _main_claims() if CLAIM_PAGES[page] else "".join(_claims())
    return f"{head}{BEGIN}\n{made}{END}{tail}"


def _main_claims() -> str:
    """One table of the main claims, and under it the command that gave each number."""
    main = [one for one in with_all(()) if all_claims()[one.subject].main]
    rows, commands = [], []
    for number, (claim, origin, those) in enumerate(by_experiment(main), 1):
        for row in tables.claim_rows(those):
            claimed = f"{row['claimed']} ({row['measured']})"
            last = {name: row[name] for name in ("printed", "here", "verdict", "samples")}
            rows.append({"claimed": claimed, **last, "command": number})
        command = f"`{sentences.command(claim.followup)}`"
        commit = f"at {origin.about_it('commit')}"
        commands.append(f"{number}. {claim.title} ({claim.source}), {commit}: {command}\n")
    return f"{_table(rows)}\n{''.join(commands)}"


def _claims() -> Iterator[str]:
    """A table of each experiment, under where its numbers are from and the command."""
    for claim, origin, those in by_experiment(with_all(())):
        rows: list[dict[str, str]] = tables.claim_rows(those)
        if claim.experiment == TRACE:
            rows = [
                {**{name: row[name] for name in ("claimed", "measured", "printed")},
                 "needs": f"{one.about_it('fewest')} {one.about_it('of')}",
                 "query": f"`{row['query']}`"}
                for row, one in zip(rows, those, strict=True)
            ]  # fmt: skip
            made = ""
        else:
            made = f"\n```\n{sentences.command(claim.followup)}\n```\n"
        head = f"**{claim.title}** ({claim.source}). {sentences.short(origin)}"
        yield f"{head}\n{made}\n{_table(rows)}\n"


def write_reference() -> None:
    """Write docs/reference anew, and the tables of claims."""
    for page in CLAIM_PAGES:
        page.write_text(with_claims(page), encoding="utf-8")
    folder = DOCS / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in reference().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_reference()
