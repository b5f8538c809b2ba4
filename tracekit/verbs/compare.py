"""What changed from one run to another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.verbs._options import Argument, Option, ReportedStudy

if TYPE_CHECKING:
    from tracekit.base.study import Study


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
    from tracekit.verbs._study import made

    def compared(_: object) -> Study:
        if new is None:
            return _shadow(Path(base), fail_if)
        study = compare_runs(Path(base), Path(new), fail_if=fail_if)
        _check_same_workload(study, fail_if)
        return study

    return made(compared, out)


def _shadow(folder: Path, fail_if: Sequence[str]) -> Study:
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


def _check_same_workload(study: Study, fail_if: Sequence[str]) -> None:
    """A threshold beside another workload's base tells of the workload, not of the change."""
    from tracekit.base.errors import TracekitError
    from tracekit.replay.runs.thresholds import parse_threshold

    against = next((text for text in fail_if if parse_threshold(text).speaks_of("base")), None)
    if study.about["other_workload"] and against is not None:
        raise TracekitError(
            f"--fail-if '{against}' compares runs of different workloads",
            hint="replay both runs from the same store, or compare with a number instead of 'base'",
        )
