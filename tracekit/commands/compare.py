"""tracekit compare: what changed from one run to another, and whether that is too much."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.commands._options import Argument, Option, ReportedStudy
from tracekit.commands.shell.asked import Asked, JsonOption
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracekit.base.facts import Answer, Fact
    from tracekit.base.study import Study
    from tracekit.replay.runs.thresholds import Threshold


def compare(
    base: Annotated[
        str | Path, Argument("The run to compare with.", metavar="BASE", completes="runs")
    ],
    new: Annotated[
        str | Path | None,
        Argument(
            "The run in question; none where BASE is a store with a shadow's record.",
            metavar="NEW",
            completes="runs",
        ),
    ] = None,
    *,
    fail_if: Annotated[
        Sequence[str],
        Option(
            "Exit with 1 if this holds for a policy, or for one: 'POLICY: ...'; repeatable."
            " A measure is its mean over the orders of arrival, worst(MEASURE) the worst of them,"
            " and 'base' beside it the worst of the base run."
            " Beside 'base' a change of means that chance may explain does not count.",
            metavar="'MEASURE > 1.05 * base'",
            completes="measures",
            setting="thresholds",
        ),
    ] = (),
    out: ReportedStudy = None,
) -> Study:
    """What changed from one run folder to another; see ``answer.comparison.run_compare``.

    Of a store with a shadow's record alone: policies beside production; see
    ``answer.comparison.shadow``.

    The study is written to ``out`` if given, for the report. Runs of different workloads are not
    held to thresholds that speak of ``base``.
    """
    from tracekit.answer.comparison.run_compare import compare_runs
    from tracekit.commands._study import made
    from tracekit.replay.runs.thresholds import parse_threshold

    thresholds = [parse_threshold(text) for text in fail_if]

    def compared(_: object) -> Study:
        if new is None:
            return _shadow(Path(base), thresholds)
        study = compare_runs(Path(base), Path(new), fail_if=thresholds)
        _check_same_workload(study, thresholds)
        return study

    return made(compared, out)


def _shadow(folder: Path, fail_if: Sequence[Threshold]) -> Study:
    from tracekit.answer.comparison.shadow import compare_shadow
    from tracekit.base.errors import TracekitError
    from tracekit.store.folder import open_store

    if fail_if:
        raise TracekitError("--fail-if is of two runs", hint="leave it away, or name NEW too")
    if not (folder / "tables").is_dir():
        raise TracekitError(
            f"{folder} is no store with a shadow's record, and no second run is named",
            hint="tracekit compare BASE NEW",
        )
    return compare_shadow(open_store(folder))


def _check_same_workload(study: Study, fail_if: Sequence[Threshold]) -> None:
    """A threshold beside another workload's base tells of the workload, not of the change."""
    from tracekit.base.errors import TracekitError

    against = next((one.text for one in fail_if if one.speaks_of("base")), None)
    if study.about["other_workload"] and against is not None:
        raise TracekitError(
            f"--fail-if '{against}' compares runs of different workloads",
            hint="replay both runs from the same store, or compare with a number instead of 'base'",
        )


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
    from tracekit.commands.shell import pipelines
    from tracekit.report.sentences import long

    try:
        found = asked()
    except TracekitError as error:
        # a pipeline that shows a list of tests, or a page, is to show there why there is none
        if junit is not None:
            pipelines.write_junit_error(error, junit)
        if markdown is not None:
            pipelines.write_markdown_error(error, markdown)
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
        pipelines.write_junit(found, answer, junit)
    if markdown is not None:
        pipelines.write_markdown(found, answer, markdown)
    if failed:
        more = f", and {len(failed) - 1} more" if failed[1:] else ""
        raise CheckFailedError(f"{long(failed[0])}{more}")


def _page(answer: Answer, *, every: bool) -> Iterator[str]:
    """The verdict, what to know before it is believed, a table for each policy, thresholds."""
    from tracekit.report.computed import HEADS, cells, verdict_of
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
