"""tracekit compare: what changed from one run to another, and whether that is too much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_paragraph, print_sentence, print_table
from tracekit.cli._pipelines import (
    change,
    number,
    too_few,
    write_junit,
    write_junit_error,
    write_markdown,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tracekit.study import Study

PANEL = Panel.replay


def command(
    asked: Asked,
    all_measures: Annotated[bool, typer.Option("--all", help="Show what is the same too.")] = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write the thresholds as JUnit XML.", metavar="FILE")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write thresholds and changes as markdown.", metavar="FILE")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare two runs, policy by policy; exit with 1 where a threshold is passed.

    With several orders of arrival in both runs, as by default, every change has an interval,
    paired where the orders are the same, and is judged as one of many (Holm). Where one run placed
    fewer containers, what looks better there is not comparable.

    Example: tracekit compare runs/main runs/mine --fail-if 'imbalance_mean > 1.05 * base'
    """
    from tracekit.errors import CheckFailedError, TracekitError

    try:
        found = asked()
    except TracekitError as error:
        # a pipeline that shows a list of tests is to show there why there is none
        if junit is not None:
            write_junit_error(error, junit)
        raise
    thresholds = found.frames["thresholds"]
    failed = thresholds.filter("failed")
    if json:
        print_json(
            {
                "schema": "tracekit/compare/1",
                **found.about,
                "changes": found.frames["changes"].to_dicts(),
                "thresholds": thresholds.to_dicts(),
                "failed": failed.height,
            }
        )
    else:
        _show(found, all_measures=all_measures)
    if junit is not None:
        write_junit(found, junit)
    if markdown is not None:
        write_markdown(found, markdown)
    if failed.height:
        row = failed.row(0, named=True)
        more = f", and {failed.height - 1} more" if failed.height > 1 else ""
        raise CheckFailedError(
            f"threshold '{row['threshold']}' is exceeded by {row['policy']}:"
            f" {row['measure']} went from {number(row['base'])} to {number(row['new'])}{more}"
        )


def _show(found: Study, *, all_measures: bool) -> None:
    changes, about = found.frames["changes"], found.about
    _warn(about)
    shown = [
        row for row in changes.iter_rows(named=True) if all_measures or row["verdict"] != "same"
    ]
    for policy in dict.fromkeys(row["policy"] for row in shown):
        _show_policy(policy, [row for row in shown if row["policy"] == policy], about)
    same = changes.height - len(shown)
    if same:
        print_sentence(_alike(changes, same))
    for what, names in (("base", about["only_base"]), ("new", about["only_new"])):
        if names:
            print_sentence(f"only in {about[what]}: {', '.join(names)}")
    if (differs := found.frames["settings"]).height:
        print_table(
            "Settings that differ",
            ["setting", "base", "new"],
            [list(row) for row in differs.rows()],
        )
    thresholds = found.frames["thresholds"]
    if thresholds.height:
        print_table(
            "Thresholds",
            ["threshold", "policy", "base", "new", "outcome"],
            [
                [
                    row["threshold"],
                    row["policy"],
                    number(row["base"]),
                    number(row["new"]),
                    "FAILED" if row["failed"] else "ok",
                ]
                for row in thresholds.iter_rows(named=True)
            ],
        )
    if said := too_few(found):
        print_paragraph(said)


def _show_policy(policy: str, rows: Sequence[dict[str, Any]], about: Mapping[str, Any]) -> None:
    """Print a table for each verdict."""
    from tracekit.replay.answer.compared_run import verdict_told

    # a column of verdicts would leave no room for whole names of measures
    verdicts = {row["verdict"]: verdict_told(row, about) for row in rows}
    for verdict, told in sorted(verdicts.items(), key=lambda one: _place(one[0])):
        print_table(
            f"{policy}, {told}: from {about['base']} to {about['new']}",
            ["measure", "base", "new", "95 % of change"],
            [_row(row) for row in rows if row["verdict"] == verdict],
        )


def _warn(about: Mapping[str, Any]) -> None:
    """Print what has to be known before any change is believed."""
    from tracekit.replay.answer.compared_run import warnings_of

    for warning in warnings_of(about):
        print_paragraph(f"{warning}.")


def _alike(changes: Any, same: int) -> str:
    """How much is the same in both runs."""
    policies = changes["policy"].n_unique()
    of = f"{policies:,} {'policy' if policies == 1 else 'policies'}"
    if same == changes.height:
        return f"nothing changed: all measures of {of} are the same in both runs"
    return f"{same:,} of {changes.height:,} values (measures of {of}) are the same in both runs"


def _row(row: dict[str, Any]) -> list[object]:
    values = number(row["base"]), number(row["new"])
    return [row["measure"], *values, change(row)]


def _place(verdict: str) -> tuple[int, str]:
    """Sorts changes: better or worse first, the same last."""
    last = {"not comparable": 1, "within chance": 2, "cannot be told": 3, "same": 4}
    return last.get(verdict, 0), verdict
