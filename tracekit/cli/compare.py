"""tracekit compare: what changed from one run to another, and whether that is too much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracekit.base.facts import Answer, Fact

PANEL = Panel.replay
#: Facts of this rank are of what did not change.
_UNCHANGED = 3
#: Kinds of facts that are printed in full.
_FURTHER = ("check", "runs_differ")


def command(
    asked: Asked,
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

    Of a store with the record of tracekit serve --shadow, name that alone: every policy is compared
    with production, decision by decision, with intervals over hours.

    Example: tracekit compare runs/main runs/mine --fail-if 'imbalance_mean > 1.05 * base'
    """
    from tracekit.answer.comparison.facts import answer_of_comparison
    from tracekit.base.errors import CheckFailedError, TracekitError
    from tracekit.cli import _pipelines
    from tracekit.report.sentences import long

    try:
        found = asked()
    except TracekitError as error:
        # a pipeline that shows a list of tests, or a page, is to show there why there is none
        if junit is not None:
            _pipelines.write_junit_error(error, junit)
        if markdown is not None:
            _pipelines.write_markdown_error(error, markdown)
        raise
    answer = answer_of_comparison(found)
    failed = [one for one in answer.of("check") if one.verdict == "does_not_hold"]
    if json:
        print_json(
            {
                "schema": "tracekit/compare/1",
                **found.about,
                "changes": found.frames["changes"].to_dicts(),
                "thresholds": found.frames["thresholds"].to_dicts(),
                "failed": len(failed),
                "facts": [one.document() for one in answer.facts],
            }
        )
    else:
        print_lines(_page(answer, every=all_measures))
    if junit is not None:
        _pipelines.write_junit(found, answer, junit)
    if markdown is not None:
        _pipelines.write_markdown(found, answer, markdown)
    if failed:
        more = f", and {len(failed) - 1} more" if failed[1:] else ""
        raise CheckFailedError(f"{long(failed[0])}{more}")


def _page(answer: Answer, *, every: bool) -> Iterator[str]:
    """The verdict, what to know before it is believed, a table for each policy, thresholds."""
    from tracekit.report.comparison import HEADS, cells, verdict_of
    from tracekit.report.terminal import Column, facts_in_full, summary, table

    yield from summary(answer, lines=0)
    columns = [
        Column(name="measure", whole=True),
        *(Column(name=name, right=True) for name in HEADS[2:-1]),
    ]
    groups: dict[tuple[str, str], list[Fact]] = {}
    for one in answer.of("run_changed"):
        if every or one.weight < _UNCHANGED:
            groups.setdefault((one.subject, verdict_of(one)), []).append(one)
    for (subject, verdict), some in groups.items():
        yield from ("", f"{subject}, {verdict}:")
        yield from table([cells(one)[1:-1] for one in some], columns)
    if further := [one for one in answer.facts if one.kind in _FURTHER and one.weight]:
        yield from ("", *facts_in_full(further))
    if not every:
        yield from ("", "All values: --all shows them, --json has them.")
