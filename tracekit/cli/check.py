"""tracekit check: the data-quality ledger."""

from __future__ import annotations

from typing import Annotated

import typer

from tracekit.cli._options import JsonOption, StoreArgument
from tracekit.cli._output import print_json, print_table


def command(
    store: StoreArgument,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 when there is any defect.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show every kind of defect, how many rows it touches, what was done.

    Broken rows themselves: SELECT * FROM reject, in STORE/catalog.duckdb.

    Example: tracekit check mystore --strict
    """
    import tracekit
    from tracekit.errors import CheckFailedError
    from tracekit.units import percent

    document = tracekit.check(store)
    ledger = document["ledger"]
    if json:
        print_json({"schema": "tracekit/check/1", **document})
    elif ledger:
        rows = [
            [
                row["table"],
                f"{row['defect']} {row['column']}".strip(),
                row["rows"],
                percent(row["share"], 2),
                row["action"],
            ]
            for row in ledger
        ]
        print_table(
            f"Data quality of {store}", ["table", "defect", "rows", "share", "action"], rows
        )
    else:
        print(f"{store}: no defects found")
    if strict and ledger:
        raise CheckFailedError(
            f"{len(ledger)} kinds of defect in {store}, --strict allows none",
            hint="each row's fate is in the table above",
        )
