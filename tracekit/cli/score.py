"""tracekit score: explain scheduling decisions from recorded cases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli._output import print_json, print_table
from tracekit.errors import CheckFailedError

if TYPE_CHECKING:
    from tracekit.replay.scoring import Scored


def command(
    case: Annotated[Path, typer.Argument(metavar="CASE.json", help="One case, or many.")],
    policy: Annotated[
        str | None,
        typer.Option(metavar="NAME[param=value,...]", help="Instead of the policy of the file."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with what is expected; 1 when it differs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Score recorded scheduling cases with the code that the replay runs.

    Example: tracekit score case.json --policy 'least_allocated[resources=cpu:1+memory:2]'
    """
    from tracekit.replay.scoring import score_file

    scored = score_file(case, policy)
    if as_json:
        print_json([one.document() for one in scored])
    else:
        for one in scored:
            _show(one)
    if check:
        _check(scored)


def _show(one: Scored) -> None:
    if one.skipped:
        print(f"{one.name}: skipped, {one.skipped}\n")
    elif one.answer.rows:
        columns = [name.replace("_", " ") for name in one.answer.columns]
        print_table(one.name, columns, one.answer.rows, note=one.answer.note)
        print()
    else:
        answer = ", ".join(f"{key} {_text(value)}" for key, value in one.answer.values.items())
        note = f" ({one.answer.note})" if one.answer.note else ""
        print(f"{one.name}\n  {answer}{note}\n")


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{key} {_text(part)}" for key, part in value.items()) + ")"
    return json.dumps(value) if isinstance(value, bool | None) else str(value)


def _check(scored: list[Scored]) -> None:
    wrong = [f"{one.name}: {text}" for one in scored for text in one.differences]
    skipped = sum(1 for one in scored if one.skipped)
    if wrong:
        cases = len({one.name for one in scored if one.differences})
        shown = "\n  ".join(wrong)
        raise CheckFailedError(
            f"{cases} of {len(scored)} cases differ from what is expected\n  {shown}"
        )
    typer.echo(f"{len(scored) - skipped} of {len(scored)} cases agree, {skipped} skipped", err=True)
