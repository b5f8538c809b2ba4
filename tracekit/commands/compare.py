"""tracekit compare: what changed from one run to another, and whether that is too much."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.etree import ElementTree as ET

import typer

from tracekit.commands._options import Argument, Option, ReportedStudy
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_lines
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tracekit.base.errors import TracekitError
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
    """Compare two run folders; see ``answer.comparison.run_compare``.

    ``base`` alone is a store with the record of ``tracekit serve --shadow``, whose policies are
    compared with production; see ``answer.comparison.shadow``.

    Parameters
    ----------
    out : path, optional
        The study is written there, for the report.

    Raises
    ------
    TracekitError
        For a threshold with ``base`` where the two runs replayed different workloads.
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
        raise TracekitError("--fail-if compares two runs", hint="leave it out, or name NEW too")
    if not (folder / "tables").is_dir():
        raise TracekitError(
            f"{folder} is no store with a shadow's record, and NEW is missing",
            hint="tracekit compare BASE NEW",
        )
    return compare_shadow(open_store(folder))


def _check_same_workload(study: Study, fail_if: Sequence[Threshold]) -> None:
    """Refuse thresholds with ``base`` where the two runs replayed different workloads."""
    from tracekit.base.errors import TracekitError

    against = next((one.text for one in fail_if if one.speaks_of("base")), None)
    if study.about["other_workload"] and against is not None:
        raise TracekitError(
            f"--fail-if '{against}' compares runs of different workloads",
            hint="replay both runs from the same store, or compare with a number instead of 'base'",
        )


PANEL = Panel.replay
#: The rank of facts on measures that did not change.
_UNCHANGED = 3
#: Kinds of facts that are printed in full below the tables.
_FURTHER = ("check", "runs_differ")


def command(
    call: Call,
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

    With several orders of arrival in both runs, as by default, every change has an interval. The
    interval is paired where the orders are the same, and corrected for many comparisons (Holm).
    With fewer than six orders in either run no change is called better or worse. A threshold is
    held against the mean of the orders; worst(MEASURE) is the worst order, and base beside it the
    base run's worst order. Where one run placed fewer containers, by more than chance, its
    measures are not comparable, and a threshold that compares with the base fails.

    A store with the record of tracekit serve --shadow is named alone: every policy is compared
    with production, decision by decision, with intervals over hours.

    Example: tracekit compare runs/main runs/mine --fail-if 'imbalance_mean > 1.05 * base'
    """
    from tracekit.answer.comparison.facts import answer_of_comparison
    from tracekit.base.errors import CheckFailedError, TracekitError
    from tracekit.report.sentences import long

    try:
        study = call()
    except TracekitError as error:
        # a pipeline shows the error in its list of tests, or on its page
        if junit is not None:
            _write_junit_error(error, junit)
        if markdown is not None:
            hint = [error.hint] if error.hint else []
            _write_lines(["## Nothing was compared", "", error.what, *hint], markdown)
        raise
    answer = answer_of_comparison(study)
    failed = [one for one in answer.of("check") if one.verdict == "does_not_hold"]
    if json:
        print_json(
            {
                "schema": "tracekit/compare/1",
                **study.about,
                "changes": study.frames["changes"].to_dicts(),
                "thresholds": study.frames["thresholds"].to_dicts(),
                "failed": len(failed),
                "facts": [one.document() for one in answer.facts],
            }
        )
    else:
        print_lines(_page(answer, every=all_measures))
    if junit is not None:
        _write_junit(study, answer, junit)
    if markdown is not None:
        _write_lines(_markdown(study, answer), markdown)
    if failed:
        more = f", and {len(failed) - 1} more" if failed[1:] else ""
        raise CheckFailedError(f"{long(failed[0])}{more}")


def _page(answer: Answer, *, every: bool) -> Iterator[str]:
    """The verdict, its caveats, a table for each policy, and the thresholds."""
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


def _write_junit(study: Study, answer: Answer, path: Path) -> None:
    """Write a test case for each threshold and policy; without thresholds, one for each policy."""
    from tracekit.report.sentences import long

    checks, policies = answer.of("check"), study.about["policies"]
    failed, skipped = (
        [one for one in checks if one.verdict == verdict]
        for verdict in ("does_not_hold", "cannot_tell")
    )
    suite = ET.Element(
        "testsuite",
        name=f"tracekit compare {study.about['base']} {study.about['new']}",
        tests=str(len(checks) or len(policies)),
        failures=str(len(failed)),
        errors="0",
        skipped=str(len(skipped)),
    )
    if caveats := [one for one in answer.facts if one.weight == 1 and one.kind != "check"]:
        properties = ET.SubElement(suite, "properties")
        for one in caveats:
            ET.SubElement(properties, "property", name="warning", value=long(one))
    for one in checks:
        policy = str(one.about_it("policy"))
        case = ET.SubElement(suite, "testcase", classname=policy, name=one.subject)
        if one.verdict == "does_not_hold":
            ET.SubElement(case, "failure", message=long(one)).text = _changes_of(answer, policy)
        elif one.verdict == "cannot_tell":
            ET.SubElement(case, "skipped", message=long(one))
        else:
            ET.SubElement(case, "system-out").text = long(one)
    for policy in () if checks else policies:
        case = ET.SubElement(suite, "testcase", classname=policy, name="compared")
        ET.SubElement(case, "system-out").text = _changes_of(answer, policy)
    _write(suite, path)


def _changes_of(answer: Answer, policy: str) -> str:
    """The changes under a policy, one a line."""
    from tracekit.report.sentences import short

    changes = (one for one in answer.of("run_changed") if one.subject == policy)
    return "\n".join(short(one) for one in changes if one.verdict != "same")


def _write_junit_error(error: TracekitError, path: Path) -> None:
    """Write the error of a comparison as one test case."""
    suite = ET.Element("testsuite", name="tracekit compare", tests="1", failures="0", errors="1")
    suite.set("skipped", "0")
    case = ET.SubElement(suite, "testcase", classname="tracekit compare", name="compared")
    ET.SubElement(case, "error", message=error.what).text = error.hint or ""
    _write(suite, path)


def _write(suite: ET.Element, path: Path) -> None:
    from tracekit.base.files.replacing import replaced_file

    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    with replaced_file(path) as made:
        ET.ElementTree(suites).write(made, encoding="utf-8", xml_declaration=True)


def _markdown(study: Study, answer: Answer) -> Iterator[str]:
    """The verdict, its caveats, the thresholds and the changes, as lines of markdown."""
    from tracekit.report.computed import HEADS, cells
    from tracekit.report.sentences import headline, long

    yield f"## {_cell(study.about['new'])} compared with {_cell(study.about['base'])}"
    yield f"\n{_cell(headline(answer))}"
    checks = answer.of("check")
    for one in answer.facts:
        if one.weight == 1 and one.kind != "check":
            yield f"\n**{_cell(long(one))}**"
    if checks:
        yield "\n### Thresholds\n"
        yield from _rows(
            ("threshold", "policy", "outcome", ""),
            [
                (f"`{c.subject}`", str(c.about_it("policy")), str(c.about_it("outcome")), long(c))
                for c in checks
            ],
        )
    if changes := [one for one in answer.of("run_changed") if one.verdict != "same"]:
        yield "\n### What changed\n"
        yield from _rows(HEADS, [cells(one) for one in changes])


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(_cell(text) for text in row)} |"


def _cell(text: str) -> str:
    """A text as one cell of a table: names of folders and policies may hold anything."""
    plain = text.replace("|", "\\|")
    return " ".join((plain if plain.startswith("`") else plain.replace("<", "&lt;")).split())


def _write_lines(lines: Iterable[str], path: Path) -> None:
    from tracekit.base.files.replacing import replaced_file

    with replaced_file(path) as made:
        made.write_text("\n".join(lines) + "\n", encoding="utf-8")
