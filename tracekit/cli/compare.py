"""tracekit compare: what changed from one run to another, and whether that is too much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_paragraph, print_sentence, print_table
from tracekit.cli._pipelines import (
    outcome,
    went,
    write_junit,
    write_junit_error,
    write_markdown,
    write_markdown_error,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tracekit.study import Study

PANEL = Panel.replay


def command(
    asked: Asked,
    out: Path | None = None,
    all_measures: Annotated[
        bool, typer.Option("--all", help="Show what is the same, alike or within chance, too.")
    ] = False,
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
    paired where the orders are the same, and is judged as one of many (Holm). With fewer than six
    orders in either run no change is called better or worse. A threshold is held against the mean
    of the orders; worst(MEASURE) is of the worst one, and base beside it of the base run's worst,
    whatever chance may explain of the means. Where one run placed
    fewer containers, by more than chance, what looks better there is not comparable, and a
    threshold that compares with the base fails.

    Example: tracekit compare runs/main runs/mine --fail-if 'imbalance_mean > 1.05 * base'
    """
    from tracekit.errors import CheckFailedError, TracekitError

    try:
        found = asked()
    except TracekitError as error:
        # a pipeline that shows a list of tests, or a page, is to show there why there is none
        if junit is not None:
            write_junit_error(error, junit)
        if markdown is not None:
            write_markdown_error(error, markdown)
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
        _show(found, out, all_measures=all_measures)
    if junit is not None:
        write_junit(found, junit)
    if markdown is not None:
        write_markdown(found, markdown)
    if failed.height:
        row = failed.row(0, named=True)
        more = f", and {failed.height - 1} more" if failed.height > 1 else ""
        raise CheckFailedError(f"threshold '{row['threshold']}' {went(row)}{more}")


def _show(found: Study, out: Path | None, *, all_measures: bool) -> None:
    from tracekit.answer.comparison.compared_run import CHANCE, UNCHANGED
    from tracekit.answer.comparison.words import quiet, too_few

    changes, about = found.frames["changes"], found.about
    _warn(about)
    shown = [
        row
        for row in changes.iter_rows(named=True)
        if all_measures or row["verdict"] not in {*UNCHANGED, CHANCE}
    ]
    for policy in dict.fromkeys(row["policy"] for row in shown):
        _show_policy(policy, [row for row in shown if row["policy"] == policy], about)
    _show_thresholds(found)
    if len(shown) < changes.height:
        for said in quiet(found):
            print_sentence(said)
        kept = f", {out / 'changes.parquet'} keeps them" if out else ""
        print_sentence(f"all values: --all shows them, --json has them{kept}")
    for what, names in (("base", about["only_base"]), ("new", about["only_new"])):
        if names:
            print_sentence(f"only in {about[what]}: {', '.join(names)}")
    if (differs := found.frames["settings"]).height:
        print_table(
            "Settings that differ",
            ["setting", "base", "new"],
            [list(row) for row in differs.rows()],
        )
    if said := too_few(found):
        print_paragraph(said)


def _show_thresholds(found: Study) -> None:
    """Print what became of each threshold, where any was asked for."""
    from tracekit.answer.comparison.words import held, judged_value

    thresholds = found.frames["thresholds"]
    if thresholds.height:
        print_table(
            "Thresholds",
            ["threshold", "policy", "base", "new", "outcome"],
            [
                [
                    row["threshold"],
                    row["policy"],
                    judged_value(row, "base"),
                    judged_value(row, "new"),
                    outcome(row),
                ]
                for row in thresholds.iter_rows(named=True)
            ],
        )
    for said in held(found):
        print_sentence(said)


def _show_policy(policy: str, rows: Sequence[dict[str, Any]], about: Mapping[str, Any]) -> None:
    """Print a table for each verdict."""
    from tracekit.answer.comparison.compared_run import verdict_told
    from tracekit.answer.comparison.words import HEADS, cells, place

    # a column of verdicts would leave no room for whole names of measures
    verdicts = {row["verdict"]: verdict_told(row, about) for row in rows}
    for verdict, told in sorted(verdicts.items(), key=lambda one: place(one[0])):
        print_table(
            f"{policy}, {told}: from {about['base']} to {about['new']}",
            HEADS[1:-1],
            [cells(row, about)[1:-1] for row in rows if row["verdict"] == verdict],
        )


def _warn(about: Mapping[str, Any]) -> None:
    """Print what has to be known before any change is believed."""
    from tracekit.answer.comparison.compared_run import warnings_of

    for warning in warnings_of(about):
        print_paragraph(f"{warning}.")
