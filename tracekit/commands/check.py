"""tracekit check: the data-quality ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracekit.base.files.places import place
from tracekit.base.words import counted
from tracekit.commands._options import Option, Store
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import (
    print_json,
    print_lines,
    print_sentence,
    print_table,
    right,
)
from tracekit.commands.shell.signature import Call, JsonOption
from tracekit.commands.shell.streams import visible

if TYPE_CHECKING:
    from tracekit.store.query.run import StoreCheck


_COUNTS = ("rows_read", "lines_read", "rows", "rejected", "duplicates_dropped")


def check(
    store: Store,
    *,
    verify: Annotated[
        bool,
        Option(
            "Read every file of a store or result; exit with 1 if one changed.", names="--verify"
        ),
    ] = False,
    subset: Annotated[
        str | None, Option("Verify one of so many shares of the files, e.g. 1/7.", metavar="N/OF")
    ] = None,
) -> StoreCheck:
    """Return the data-quality ledger.

    It is ``{"tables": {name: {rows_read, ...}}, "ledger": [...], "doubts": [...]}``. The doubts are
    facts on contradictions in the tables.

    Parameters
    ----------
    verify : read every file instead, and compare it with its checksum: ``{"verified": count,
        "without_checksums": [source file, ...], "damaged": [{path, kind, found, source_file}, ...],
        "stale": [outdated derived file, ...], "unfinished": whether the last ingest was cut
        short}``. The folder may also be a result, or contain stores and results
    subset : verify only one share of the files: ``2/7`` is the second, ninth, ... in order of paths
    """
    from tracekit.store.folder import open_store
    from tracekit.store.query import run
    from tracekit.store.query.run import StoreCheck, describe

    if verify or subset is not None:
        from tracekit.commands._verify import Subset, verified

        share = Subset.parsed(subset) if subset is not None else Subset()
        return StoreCheck(verified(place(store), share).document())
    opened = open_store(store)
    ledger = run(opened, "quality/ledger").to_dicts()
    document = describe(opened)
    tables = {
        name: {key: table[key] for key in _COUNTS} for name, table in document["tables"].items()
    }
    return StoreCheck(tables=tables, ledger=ledger, doubts=document["doubts"])


PANEL = Panel.look


def command(
    call: Call,
    store: Path,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 when there is any defect.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show every kind of defect, how many rows it touches, what was done.

    Broken rows themselves: SELECT * FROM reject, in STORE/catalog.duckdb.

    Example: tracekit check mystore --strict
    """
    from tracekit.answer.caveats import answer_of_trace
    from tracekit.base.errors import CheckFailedError
    from tracekit.report.sentences import short
    from tracekit.report.terminal import facts_in_full

    document = call()
    if "verified" in document:
        _verify(store, document, json=json)
        return
    answer, ledger = answer_of_trace(document), document["ledger"]
    doubts = answer.of("doubt")
    if json:
        facts = [one.document() for one in answer.facts]
        print_json({"schema": "tracekit/check/1", **document, "facts": facts})
    else:
        _show(store, document)
        print_lines(facts_in_full(doubts))
    if strict and (ledger or doubts):
        raise CheckFailedError(
            f"{len(ledger) + len(doubts)} kinds of defect in {store}, --strict allows none",
            hint="each row's fate is in the table above" if ledger else short(doubts[0]),
        )


def _verify(store: object, document: Mapping[str, Any], *, json: bool) -> None:
    from tracekit.base.errors import CheckFailedError

    damaged, unknown = document["damaged"], document["without_checksums"]
    if json:
        print_json({"schema": "tracekit/verify/1", **document})
    else:
        for one in damaged:
            mend = f"; to mend it, ingest {one['source_file']} again" if one["source_file"] else ""
            print(f"{one['path']} is damaged: {one['found']}{mend}")
        if unknown:
            print(f"not verified, taken in before checksums were kept: {', '.join(unknown)}")
        for path in document["stale"]:
            print(
                f"{path} is not what would be written here today: the store was moved, another"
                " version wrote it, or it is damaged; any ingest makes it anew"
            )
        if document["unfinished"]:
            print("the last ingest was cut short: run it again to go on")
        print(f"{counted(document['verified'], 'file')} read, {len(damaged)} damaged")
    if damaged:
        raise CheckFailedError(
            f"{len(damaged)} of {document['verified']:,} files in {store} are damaged;"
            f" the first: {damaged[0]['path']}",
            hint="a store is mended by an ingest of the same files, a result is made again",
        )


def _show(store: object, document: Mapping[str, Any]) -> None:
    from tracekit.base.units import percent

    for table, counts in document["tables"].items():
        ledger = [row for row in document["ledger"] if row["table"] == table]
        rows = [
            [_named(row), row["rows"], percent(row["share"], 3), row["action"]] for row in ledger
        ]
        title = f"{table}: {counted(counts['rows'], 'row')} in {store}"
        if rows:
            print_table(title, ["defect", *right("rows", "share"), "what was done"], rows)
            _first_of(ledger)
        else:
            print(f"{title}, no defects found")


def _first_of(ledger: Sequence[Mapping[str, Any]]) -> None:
    """Print the first row of each defect, except for dropped duplicates."""
    from tracekit.store.folder import REJECTED

    for row in ledger:
        if row["action"] == REJECTED or row["defect"] == "missing_name":
            print_sentence(visible(f"{_named(row)}, the first: {row['example']}"))


def _named(row: Mapping[str, Any]) -> str:
    """A defect with its column."""
    return " ".join(part for part in (row["defect"], row["column"]) if part)
